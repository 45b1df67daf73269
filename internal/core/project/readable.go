package project

import (
	"context"
	"fmt"
	"maps"

	"tenon/internal/core/authz"
)

// Found is a row that the actor may read, and what permissions on it are asked about.
type Found[T any] struct {
	Row     *T
	Project *Project // with the actor's level
	Subject authz.Subject
}

// Rule says which project a row of a table belongs to, and which ability reads it.
type Rule[T any] struct {
	Project func(row *T) ID
	Needs   func(row *T, p *Project) (authz.Ability, authz.Subject)
	Known   map[ID]*Project // those that were read for the actor before; nil reads them
}

// Readable returns those of the rows that the actor may read. It takes one statement, for the
// projects with the actor's levels.
func Readable[T any](ctx context.Context, s *Service, as authz.Actor, rows []T, rule Rule[T]) ([]Found[T], error) {
	ids := make([]ID, len(rows))
	for i := range rows {
		ids[i] = rule.Project(&rows[i])
	}
	projects, err := rule.Known, error(nil)
	if projects == nil {
		projects, err = s.ByIDs(ctx, as, ids)
	}
	if err != nil {
		return nil, err
	}
	out := make([]Found[T], 0, len(rows))
	for i := range rows {
		p := projects[ids[i]]
		if p == nil {
			continue
		}
		ability, subject := rule.Needs(&rows[i], p)
		may, err := s.Policy.Can(ctx, as, ability, subject)
		if err != nil {
			return nil, fmt.Errorf("readable rows: %w", err)
		}
		if may {
			out = append(out, Found[T]{&rows[i], p, subject})
		}
	}
	return out, nil
}

// ByIDsWith returns those of the projects with these ids on which the actor has an ability,
// with its level there, in one statement.
func (s *Service) ByIDsWith(ctx context.Context, as authz.Actor, ids []ID, ability authz.Ability) (map[ID]*Project, error) {
	return s.Among(ctx, as, nil, ids, ability)
}

// Among is ByIDsWith where the projects were read for the actor before; nil reads them.
func (s *Service) Among(ctx context.Context, as authz.Actor, known map[ID]*Project, ids []ID, ability authz.Ability) (map[ID]*Project, error) {
	projects, err := maps.Clone(known), error(nil)
	if projects == nil {
		projects, err = s.ByIDs(ctx, as, ids)
	}
	if err != nil {
		return nil, err
	}
	for id, p := range projects {
		may, err := s.Policy.Can(ctx, as, ability, p.Subject())
		if err != nil {
			return nil, fmt.Errorf("projects by id: %w", err)
		}
		if !may {
			delete(projects, id)
		}
	}
	return projects, nil
}
