package notify

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/todo"
)

// movedProject is the event that a project has another path.
const movedProject = "moved_project"

// projectMoved tells the members of a project of its new path.
func (s *Service) projectMoved(ctx context.Context, f project.Fact) error {
	if f.Before == nil || f.Before.FullPath == f.Row().FullPath {
		return nil
	}
	return s.mail(ctx, Mailing{Event: movedProject, On: todo.OfProject, Target: int64(f.Row().ID), By: f.By.UserID, Path: f.Before.FullPath})
}

// groupMoved tells the members of the projects that are in a group of their new paths.
func (s *Service) groupMoved(ctx context.Context, f namespace.GroupFact) error {
	if f.Before == nil || f.Before.FullPath == f.Row().FullPath {
		return nil
	}
	return s.mail(ctx, Mailing{Event: movedProject, On: todo.OfGroup, Target: int64(f.Row().ID), By: f.By.UserID, Path: f.Before.FullPath})
}

// spread enqueues the mails about the projects of a group that has moved. What is enqueued once more has the same id.
func (s *Service) spread(ctx context.Context, m Mailing) error {
	type row struct {
		ID   project.ID `db:"id"`
		Path string     `db:"path"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT id, path FROM projects WHERE parent_id = ? AND NOT pending_delete AND id > ? ORDER BY id LIMIT ?", m.Target, m.Project, batch)
	if err != nil {
		return fmt.Errorf("read projects of a group that has moved: %w", err)
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, r := range rows {
			one := Mailing{
				ID: fmt.Sprintf("%s-%d", m.ID, r.ID), Event: m.Event, On: todo.OfProject, Target: int64(r.ID), By: m.By, Path: m.Path + "/" + r.Path,
			}
			if err := s.Jobs.Enqueue(ctx, one); err != nil {
				return err
			}
			m.Project = int64(r.ID)
		}
		if len(rows) < batch {
			return nil
		}
		return s.Jobs.Enqueue(ctx, m)
	})
}

// inactiveProject is the event that a project will be deleted unless there is activity in it.
const inactiveProject = "inactive_project"

// projectInactive warns the maintainers of a project without activity.
func (s *Service) projectInactive(ctx context.Context, e project.Inactive) error {
	return s.mail(ctx, Mailing{Event: inactiveProject, On: todo.OfProject, Target: int64(e.Row().ID), Day: e.DeletesOn})
}

// findProject reads a project that mail is about, nil where it is gone.
func (s *Service) findProject(ctx context.Context, ref noteable.Ref) (*topic, error) {
	p, err := s.project(ctx, project.ID(ref.ID))
	if p == nil || err != nil {
		return nil, err
	}
	return &topic{
		MailContent: noteable.MailContent{Place: p.Place(), URL: s.URLs.Project(p.FullPath), Due: p.LastActivityAt.UTC().Format(time.DateOnly)},
		ref:         ref, noun: "project", references: reference.Of(p),
	}, nil
}

// findGroup reads a group, nil where it no longer exists.
func (s *Service) findGroup(ctx context.Context, ref noteable.Ref) (*topic, error) {
	groups, err := s.Namespaces.Load(ctx, []namespace.ID{namespace.ID(ref.ID)})
	g := groups[namespace.ID(ref.ID)]
	if g == nil || err != nil {
		return nil, err
	}
	return &topic{
		MailContent: noteable.MailContent{Place: g.Place(), URL: s.URLs.Group(g.FullPath)}, ref: ref, noun: "group", references: scopeOf(g.Place()),
	}, nil
}

// remotes are the commands that tell a clone where a project is now.
func (s *Service) remotes(path string) []string {
	var out []string
	for _, remote := range []string{s.URLs.SSHRepository(path), s.URLs.HTTPRepository(path)} {
		if remote != "" {
			out = append(out, "git remote set-url origin "+remote)
		}
	}
	return out
}

// members adds the members of the place of a thing, and of what is above it, from an access level on.
func (s *Service) members(ctx context.Context, a *audience, t *topic, from authz.Level) error {
	for last := authz.UserID(0); !a.cut; {
		users, err := db.Select[authz.UserID](ctx, s.DB, `SELECT DISTINCT m.user_id FROM members m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
			WHERE a.namespace_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?) AND m.user_id > ? ORDER BY m.user_id LIMIT ?`,
			t.Place.Namespace, from, s.Now().UTC().Format(time.DateOnly), last, batch)
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
