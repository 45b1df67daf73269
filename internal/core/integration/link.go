package integration

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/project"
)

// link stores in a project what its pages, texts and jobs have of an integration, so that they read no integrations. Settings that are
// nil are those of one that is disabled.
func (s *Service) link(ctx context.Context, at authz.Place, k *kind.Kind, all kind.Values) error {
	if !at.IsProject() || k.Tracker == nil && k.Wiki == nil && k.Jobs == nil {
		return nil
	}
	variables := all != nil
	if k.Jobs != nil && !variables {
		var err error
		if variables, err = s.others(ctx, at, k, func(other *kind.Kind) bool { return other.Jobs != nil }); err != nil {
			return err
		}
	}
	return s.Projects.SetExternal(ctx, project.ID(at.ID), func(e *project.External) {
		switch {
		case k.Jobs != nil:
			e.Variables = variables
		case k.Tracker != nil && all != nil:
			t := k.Tracker(all)
			t.Title, t.Kind = k.Title, k.Slug
			e.Tracker = &t
		case k.Wiki != nil && all != nil:
			e.Wiki = &project.Link{Title: k.Title, URL: k.Wiki(all), Kind: k.Slug}
		case e.Tracker != nil && k.Tracker != nil && e.Tracker.Title == k.Title:
			e.Tracker = nil
		case e.Wiki != nil && k.Wiki != nil && e.Wiki.Title == k.Title:
			e.Wiki = nil
		}
	})
}

// JobVariables returns the variables that jobs of a project get from its active integrations: those of protected branches and tags as
// well where the pipeline is of one. It takes no statement where the project has no such integration, and asks for no permission.
func (s *Service) JobVariables(ctx context.Context, p *project.Project, protected bool) ([]ci.Variable, error) {
	if !p.External().Variables {
		return nil, nil
	}
	at := p.Place()
	var w db.Where
	within(&w, at)
	s.active(&w)
	rows, err := s.read(ctx, at, w)
	if err != nil {
		return nil, fmt.Errorf("variables of integrations: %w", err)
	}
	var out []ci.Variable
	for _, i := range rows {
		if i.Kind.Jobs == nil {
			continue
		}
		all, err := s.all(at, i)
		if err != nil {
			return nil, err
		}
		for _, v := range i.Kind.Jobs(all) {
			if protected || !v.Protected {
				out = append(out, ci.Variable{Key: v.Key, Value: v.Value, Public: !v.Masked, Masked: v.Masked, Raw: true})
			}
		}
	}
	return out, nil
}
