package snippet

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// MayCreate reports whether the actor may create personal snippets.
func (s *Service) MayCreate(ctx context.Context, as authz.Actor) (bool, error) {
	err := s.mayCreate(ctx, as, nil)
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Unauthorized, errs.Forbidden:
		return false, nil
	}
	return err == nil, err
}

// Permissions are what the actor may do with a snippet that it may read.
type Permissions struct {
	Update     bool
	AwardEmoji bool
	CreateNote bool // never on snippets without a project, which have no comments
}

// Permissions returns what the actor may do with those of the snippets with these ids that it may read.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Permissions, error) {
	subjects := make(map[ID]authz.Subject, len(ids))
	personal := map[ID]bool{}
	err := s.each(ctx, as, ids, func(sn *Snippet, subject authz.Subject) {
		subjects[sn.ID], personal[sn.ID] = subject, sn.ProjectID == nil
	})
	if err != nil {
		return nil, err
	}
	out := make(map[ID]*Permissions, len(subjects))
	for id, subject := range subjects {
		p := &Permissions{}
		for _, may := range []struct {
			ability authz.Ability
			to      *bool
		}{{authz.UpdateSnippet, &p.Update}, {authz.AwardEmoji, &p.AwardEmoji}, {authz.CreateNote, &p.CreateNote}} {
			if *may.to, err = s.Policy.Can(ctx, as, may.ability, subject); err != nil {
				return nil, err
			}
		}
		p.CreateNote = p.CreateNote && !personal[id]
		p.AwardEmoji = p.AwardEmoji && !personal[id]
		out[id] = p
	}
	return out, nil
}
