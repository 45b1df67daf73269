package epic

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Permissions is what an actor may do with an epic that it may read.
type Permissions struct {
	Update  bool
	Create  bool // another one in its group
	Award   bool // an emoji to it
	Link    bool // with issues, and with other epics
	Delete  bool
	Comment bool
}

// Permissions tells what the actor may do with those of the epics with these ids that it may read. It takes
// the statements of ByIDs, and those for the groups.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Permissions, error) {
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var groups []namespace.ID
	for _, e := range found {
		groups = append(groups, e.GroupID)
	}
	places, err := s.Namespaces.ByIDs(ctx, as, groups)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]Permissions, len(found))
	for id, e := range found {
		g := places[e.GroupID]
		if g == nil {
			continue
		}
		var may Permissions
		for ability, to := range map[authz.Ability]*bool{
			authz.UpdateEpic: &may.Update, authz.CreateEpic: &may.Create, authz.AwardEmoji: &may.Award, authz.LinkEpic: &may.Link, authz.DeleteEpic: &may.Delete, authz.CreateNote: &may.Comment,
		} {
			if *to, err = s.Policy.Can(ctx, as, ability, e.subject(as, g)); err != nil {
				return nil, err
			}
		}
		out[id] = may
	}
	return out, nil
}
