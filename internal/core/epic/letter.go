package epic

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// Letter returns what mails say about an epic.
func (s *Service) Letter(ctx context.Context, ref noteable.Ref) (*noteable.Letter, error) {
	found, err := s.ByIDs(ctx, authz.System(), []ID{ID(ref.ID)})
	e := found[ID(ref.ID)]
	if err != nil || e == nil {
		return nil, err
	}
	groups, err := s.Namespaces.Load(ctx, []namespace.ID{e.GroupID})
	g := groups[e.GroupID]
	if err != nil || g == nil {
		return nil, err
	}
	out := noteable.Letter{
		Place: g.Place(), Number: int64(e.IID), URL: s.URLs.Epic(e.Path, int64(e.IID)), Title: e.Title, State: string(e.State),
		Confidential: e.Confidential, Labels: label.ForLetter(e.Labels),
	}
	if e.Description != nil {
		out.Description = *e.Description
	}
	return &out, nil
}
