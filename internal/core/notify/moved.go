package notify

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/todo"
)

// movedProject is the event that a project has another path.
const movedProject = "moved_project"

// projectMoved tells the members of a project of its new path.
func (s *Service) projectMoved(ctx context.Context, f project.Fact) error {
	if f.Before == nil || f.Before.FullPath == f.Project.FullPath {
		return nil
	}
	return s.mail(ctx, Mailing{Event: movedProject, On: todo.OfProject, Target: int64(f.Project.ID), By: f.By.UserID, Path: f.Before.FullPath})
}

// findProject reads a project that mail is about, nil where it is gone.
func (s *Service) findProject(ctx context.Context, ref noteable.Ref) (*thing, error) {
	p, err := s.project(ctx, project.ID(ref.ID))
	if p == nil || err != nil {
		return nil, err
	}
	t := &thing{ref: ref, place: ofProject(p), noun: "project", url: s.urls.Project(p.FullPath)}
	for _, remote := range []string{s.urls.SSHRepository(p.FullPath), s.urls.HTTPRepository(p.FullPath)} {
		if remote != "" {
			t.rows = append(t.rows, "git remote set-url origin "+remote)
		}
	}
	return t, nil
}

// members adds the members of the place of a thing, and of what is above it.
func (s *Service) members(ctx context.Context, a *audience, t *thing) error {
	for last := authz.UserID(0); !a.cut; {
		users, err := db.Select[authz.UserID](ctx, s.db, `SELECT DISTINCT m.user_id FROM members m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
			WHERE a.namespace_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?) AND m.user_id > ? ORDER BY m.user_id LIMIT ?`,
			t.place.namespace, authz.Guest, s.now().UTC().Format(time.DateOnly), last, batch)
		if err != nil {
			return fmt.Errorf("find members: %w", err)
		}
		a.add(member, "", users...)
		if len(users) < batch {
			return nil
		}
		last = users[len(users)-1]
	}
	return nil
}
