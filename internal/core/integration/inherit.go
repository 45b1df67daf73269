package integration

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// CodeNoDefault says that no group above has an integration whose settings could be inherited.
const CodeNoDefault errs.Code = "integration_without_default"

// inherit is the job that brings what the projects and groups of a place inherit up to date.
type inherit struct {
	Namespace authz.NamespaceID `json:"namespace_id"`
}

// Kind names the job.
func (inherit) Kind() string { return "inherit_integrations" }

const (
	inheritBatch   = 100
	inheritTimeout = time.Hour
)

// RegisterJobs says how integrations are inherited.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.inherit, job.On(job.Maintenance), job.Unique(), job.Timeout(inheritTimeout))
}

// Subscribe registers what changes who inherits.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "inherited integrations"
	event.On(b, name, func(ctx context.Context, e project.Created) error { return s.created(ctx, e.Place) })
	event.On(b, name, func(ctx context.Context, e namespace.GroupCreated) error { return s.created(ctx, e.Place) })
	event.On(b, name, func(ctx context.Context, e project.Transferred) error {
		return s.Jobs.Enqueue(ctx, inherit{e.Place.Namespace})
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupTransferred) error {
		return s.Jobs.Enqueue(ctx, inherit{e.Place.Namespace})
	})
}

// created has a new place inherit, where there is something to inherit.
func (s *Service) created(ctx context.Context, at authz.Place) error {
	found, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM integrations i WHERE i.active AND i.namespace_id IN "+namespace.AboveSQL+")", at.Namespace)
	if err != nil {
		return fmt.Errorf("find integrations to inherit: %w", err)
	}
	if !found {
		return nil
	}
	return s.Jobs.Enqueue(ctx, inherit{at.Namespace})
}

// spread has what is below a group inherit a change of it.
func (s *Service) spread(ctx context.Context, at authz.Place) error {
	if !at.Group {
		return nil
	}
	return s.Jobs.Enqueue(ctx, inherit{at.Namespace})
}

// inherit does the job: a transaction for each project and group.
func (s *Service) inherit(ctx context.Context, j inherit) error {
	for last := authz.NamespaceID(0); ; {
		type row struct {
			ID      authz.NamespaceID `db:"id"`
			Project *project.ID       `db:"project_id"`
		}
		rows, err := db.Select[row](ctx, s.DB, `SELECT n.id, p.id AS project_id FROM namespaces n LEFT JOIN projects p ON p.namespace_id = n.id
			WHERE n.id IN `+namespace.InsideSQL+` AND n.id > ? AND (n.kind = 'group' OR p.id IS NOT NULL) ORDER BY n.id LIMIT ?`, j.Namespace, last, inheritBatch)
		if err != nil {
			return fmt.Errorf("read who inherits integrations: %w", err)
		}
		for _, r := range rows {
			at := authz.Place{Namespace: r.ID, Group: r.Project == nil, ID: int64(r.ID)}
			if r.Project != nil {
				at.ID = int64(*r.Project)
			}
			if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.settle(ctx, at) }); err != nil {
				return fmt.Errorf("inherit integrations: %w", err)
			}
			last = r.ID
		}
		if len(rows) < inheritBatch {
			return nil
		}
	}
}

// settle makes the integrations that a place inherits what those above it are now.
func (s *Service) settle(ctx context.Context, at authz.Place) error {
	if err := s.lockPlace(ctx, at); err != nil {
		return err
	}
	defaults, err := s.defaults(ctx, at)
	if err != nil {
		return err
	}
	var w db.Where
	within(&w, at)
	own, err := s.read(ctx, at, w)
	if err != nil {
		return err
	}
	have := map[string]*Integration{}
	for _, i := range own {
		have[i.Slug] = i
		if d := defaults[i.Slug]; i.InheritedID != nil && (d == nil || !d.Active) {
			if err := s.forget(ctx, at, i); err != nil {
				return err
			}
		}
	}
	for _, k := range kind.All() { // in an order that stays
		d, mine := defaults[k.Slug], have[k.Slug]
		if d == nil || !d.Active || k.ProjectsOnly && !at.IsProject() || mine != nil && mine.InheritedID == nil {
			continue
		}
		if k.Class.Exclusive() {
			if taken, err := s.others(ctx, at, k, func(other *kind.Kind) bool { return other.Class == k.Class }); err != nil || taken {
				if err != nil {
					return err
				}
				continue
			}
		}
		if _, err := s.copy(ctx, at, mine, d); err != nil {
			return err
		}
	}
	return nil
}

// defaults returns the integration of the nearest group above a place, or of the instance, for each kind: those that have settings of their own.
func (s *Service) defaults(ctx context.Context, at authz.Place) (map[string]*Integration, error) {
	rows, err := db.Select[Integration](ctx, s.DB, "SELECT "+columns+` FROM integrations i LEFT JOIN namespace_ancestors a ON a.ancestor_id = i.namespace_id AND a.namespace_id = ?
		WHERE (i.namespace_id IS NULL OR a.depth > 0) AND i.inherit_from_id IS NULL ORDER BY i.namespace_id IS NULL, a.depth, i.id`, at.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read integrations above: %w", err)
	}
	out := map[string]*Integration{}
	for i := range rows {
		if out[rows[i].Slug] != nil {
			continue
		}
		if err := s.open(placeOf(&rows[i]), &rows[i]); err != nil {
			return nil, err
		}
		if rows[i].Kind != nil {
			out[rows[i].Slug] = &rows[i]
		}
	}
	return out, nil
}

// placeOf is the place of an integration as far as its secrets are sealed for it.
func placeOf(i *Integration) authz.Place {
	if i.NamespaceID == nil {
		return authz.Place{}
	}
	return authz.Place{Namespace: *i.NamespaceID}
}

// copy gives a place the settings of an integration above it. Before is what it has of the kind, nil for nothing.
func (s *Service) copy(ctx context.Context, at authz.Place, before, from *Integration) (*Integration, error) {
	all, err := s.all(placeOf(from), from)
	if err != nil {
		return nil, err
	}
	if err := s.link(ctx, at, from.Kind, all); err != nil {
		return nil, err
	}
	if before == nil {
		now := db.At(s.Now())
		i := &Integration{
			NamespaceID: &at.Namespace, Slug: from.Slug, Kind: from.Kind, Active: true, InheritedID: &from.ID, Flags: from.Flags, CreatedAt: now, UpdatedAt: now,
		}
		if err := s.store(at, i, all); err != nil {
			return nil, err
		}
		return i, db.Create(ctx, s.DB, "integrations", i)
	}
	out, err := db.Update(ctx, s.DB, s.row(authz.System(), before.ID), func(_ context.Context, i *Integration) error {
		sealed := i.Sealed
		i.Kind, i.Active, i.InheritedID, i.Flags = from.Kind, true, &from.ID, from.Flags
		if err := s.store(at, i, all); err != nil {
			return err
		}
		same, err := s.sameSecrets(at, before, i)
		if same {
			i.Sealed = sealed
		}
		return err
	})
	return &out.After, err
}

// forget deletes an integration that is inherited no more.
func (s *Service) forget(ctx context.Context, at authz.Place, i *Integration) error {
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "integrations", ID: i.ID}); err != nil {
		return fmt.Errorf("delete inherited integration: %w", err)
	}
	return s.link(ctx, at, i.Kind, nil)
}

// follow gives a place the settings of the nearest integration of the kind above it.
func (s *Service) follow(ctx context.Context, at authz.Place, k *kind.Kind, before *Integration) (*Integration, error) {
	defaults, err := s.defaults(ctx, at)
	if err != nil {
		return nil, err
	}
	d := defaults[k.Slug]
	if d == nil || !d.Active {
		return nil, errs.Coded(errs.Invalid, CodeNoDefault, "Default integration not found.")
	}
	if k.Class.Exclusive() {
		var f errs.Fields
		if err := s.alone(ctx, at, k, &f); err != nil {
			return nil, err
		}
		if len(f) > 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Code: CodeInvalid, Fields: f}
		}
	}
	return s.copy(ctx, at, before, d)
}
