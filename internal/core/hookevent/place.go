package hookevent

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

// projectEvent is an event about a project itself, as it was at the time.
type projectEvent struct {
	Name    string
	Project *project.Project
	OldPath string `json:",omitzero"` // full, of one that was renamed or transferred
	System  bool   `json:",omitzero"` // for hooks of the instance
}

func (projectEvent) kind() string { return "project" }

func (e *projectEvent) fill(ctx context.Context, s *Service, m *payload.Message) error {
	body, err := s.Payloads.ProjectEvent(ctx, e.Project, payload.ProjectEvent{Name: e.Name, OldPath: e.OldPath, At: db.At(m.At), System: e.System})
	m.Body = body
	return err
}

// groupEvent is an event about a group itself, as it was at the time.
type groupEvent struct {
	Name   string
	Group  *namespace.Group
	Old    *namespace.Group `json:",omitempty"` // before it was renamed
	System bool             `json:",omitzero"`  // for hooks of the instance
}

func (groupEvent) kind() string { return "group" }

func (e *groupEvent) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if e.System {
		m.Body = s.Payloads.Group(e.Name, e.Group, e.Old, db.At(m.At))
		return nil
	}
	body, err := s.Payloads.Subgroup(ctx, e.Name, e.Group, db.At(m.At))
	return setBody(m, body, err)
}

func (s *Service) subscribePlaces(b *event.Bus) {
	on(b, func(ctx context.Context, e project.Created) error { return s.project(ctx, e.Fact, "project_create") })
	on(b, func(ctx context.Context, e project.Deleted) error { return s.project(ctx, e.Fact, "project_destroy") })
	on(b, func(ctx context.Context, e project.Transferred) error {
		return s.project(ctx, e.Fact, "project_transfer")
	})
	on(b, func(ctx context.Context, e project.Updated) error {
		if e.Before != nil && e.Before.Path != e.Row().Path {
			return s.project(ctx, e.Fact, "project_rename")
		}
		return s.project(ctx, e.Fact, "project_update")
	})
	on(b, func(ctx context.Context, e namespace.GroupCreated) error {
		return s.group(ctx, e.GroupFact, "group_create", "subgroup_create")
	})
	on(b, func(ctx context.Context, e namespace.GroupDeleted) error {
		return s.group(ctx, e.GroupFact, "group_destroy", "subgroup_destroy")
	})
	on(b, func(ctx context.Context, e namespace.GroupUpdated) error {
		if e.Before == nil || e.Before.Path == e.Row().Path {
			return nil
		}
		return s.group(ctx, e.GroupFact, "group_rename", "")
	})
}

// project records what became of a project, for hooks of the instance and of the groups that it is in.
func (s *Service) project(ctx context.Context, e project.Fact, name string) error {
	p := e.Row()
	old := ""
	if name == "project_rename" || name == "project_transfer" {
		old = e.Before.FullPath
	}
	of := func(system bool) func() source {
		return func() source { return &projectEvent{Name: name, Project: p, OldPath: old, System: system} }
	}
	// The project may be going, with what says which groups it is in: those who listen are asked for above it.
	above := authz.Place{Group: true, ID: int64(p.ParentID), Namespace: p.ParentID}
	return s.record(ctx, above, e.Stamp, candidate{payload.System, of(true)}, candidate{payload.Project, of(false)})
}

// group records what became of a group, for hooks of the instance, and of the groups that it is in where they are notified.
func (s *Service) group(ctx context.Context, e namespace.GroupFact, name, inGroup string) error {
	g := e.Row()
	out := groupEvent{Name: name, Group: g, System: true}
	if name == "group_rename" {
		out.Old = e.Before
	}
	candidates := []candidate{{payload.System, func() source { return &out }}}
	in := authz.Place{}
	if g.ParentID != nil {
		in = authz.Place{Group: true, ID: int64(*g.ParentID), Namespace: *g.ParentID}
		if inGroup != "" {
			candidates = append(candidates, candidate{payload.Subgroup, func() source { return &groupEvent{Name: inGroup, Group: g} }})
		}
	}
	return s.record(ctx, in, e.Stamp, candidates...)
}
