package snippet

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.Snippet }

// Referred returns the snippets that texts refer to by their ids and the actor may read: those of
// a project where it is named, personal ones where none is. It takes two statements.
func (s *Service) Referred(ctx context.Context, as authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	var ids []ID
	for _, key := range sought.Keys {
		ids = append(ids, ID(key.Number))
	}
	out := map[reference.Key]*reference.Target{}
	err := s.each(ctx, as, ids, func(sn *Snippet, _ authz.Subject) {
		t := &reference.Target{
			Kind: reference.Snippet, ID: int64(sn.ID), Path: sn.ProjectPath, Number: int64(sn.ID), Title: sn.Title,
			URL: s.URLs.Snippet(sn.ProjectPath, int64(sn.ID)),
		}
		if sn.ProjectID != nil {
			t.ProjectID = *sn.ProjectID
		}
		out[reference.Key{Project: t.ProjectID, Number: t.ID}] = t
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
