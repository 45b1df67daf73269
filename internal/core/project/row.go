package project

import (
	"context"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// lock names the row of a project for db.Update and db.ForUpdate.
func (s *Service) lock(id ID) db.Row {
	return db.Row{Table: "projects", ID: id, Now: s.Now, Columns: columns, From: tables, Alias: "p", Missing: errs.Missing("Project")}
}

// update is db.Update for a project, which keeps its place in the tree and its topics in
// step. A project that is being deleted is not found.
func (s *Service) update(ctx context.Context, as authz.Actor, id ID, change func(ctx context.Context, p *Project) error) (db.Change[Project], error) {
	return db.Update(ctx, s.DB, s.lock(id).Provided(as.UnmodifiedAt), func(ctx context.Context, p *Project) error {
		if p.PendingDelete {
			return errs.Missing("Project")
		}
		was := *p
		if err := change(ctx, p); err != nil {
			return err
		}
		return s.follow(ctx, p, &was)
	})
}

// fact is what events say of a change.
func (s *Service) fact(as authz.Actor, c *db.Change[Project]) Fact {
	return change.Updated(as, s.Now(), c.After.Place(), c)
}

// follow changes what hangs on a project's topics, name, path and visibility.
func (s *Service) follow(ctx context.Context, p, was *Project) error {
	if p.TopicsJSON != was.TopicsJSON {
		topics, err := s.spell(ctx, p)
		if err != nil {
			return err
		}
		if err := s.link(ctx, p.ID, topics); err != nil {
			return err
		}
	}
	if p.Path != was.Path || p.Name != was.Name {
		if err := s.Namespaces.Rename(ctx, p.NamespaceID, p.Path, p.Name); err != nil {
			return err
		}
		p.FullPath = strings.TrimSuffix(was.FullPath, was.Path) + p.Path
		p.FullName = strings.TrimSuffix(was.FullName, was.Name) + p.Name
	}
	if p.Visibility == was.Visibility {
		return nil
	}
	p.UpdatedAt = db.At(s.Now())
	return s.show(ctx, p)
}
