package project

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// ForkLinked says that a user declared a project to be a fork of another one.
type ForkLinked struct {
	Fact

	Source *Project
}

// Unforked says that a project has left its network of forks.
type Unforked struct {
	Fact

	Deleted bool // because it was deleted, whether or not it had forks or was one
}

// Root names the network of forks that the project belongs to: the project in which it
// began, which may be gone.
func (p *Project) Root() ID {
	if p.ForkRootID != nil {
		return *p.ForkRootID
	}
	return p.ID
}

// Related reports whether both projects belong to one network of forks.
func Related(a, b *Project) bool { return a.Root() == b.Root() }

// node is a project as its network of forks sees it.
type node struct {
	ID         ID               `db:"id"`
	Forked     *ID              `db:"forked_from_id"`
	Root       *ID              `db:"fork_root_id"`
	Gone       bool             `db:"pending_delete"`
	Visibility authz.Visibility `db:"visibility"`
}

// hold locks the projects that a condition on projects selects, in the order of their
// ids, until the transaction of ctx ends, and returns what they are then. A change
// of one project's place in a network, or of its visibility, locks its source; a change of a
// whole network locks all projects in it. So no project joins a network that is changing.
func (s *Service) hold(ctx context.Context, where string, args ...any) (map[ID]node, error) {
	_, err := db.Select[ID](ctx, s.DB, "SELECT id FROM projects WHERE "+where+" ORDER BY id"+s.DB.Dialect().ForUpdate(), args...)
	if err != nil {
		return nil, fmt.Errorf("hold forks: %w", err)
	}
	rows, err := db.Select[node](ctx, s.DB, `SELECT p.id, p.forked_from_id, p.fork_root_id, p.pending_delete, n.visibility
		FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id IN (SELECT id FROM projects WHERE `+where+")", args...)
	if err != nil {
		return nil, fmt.Errorf("read forks: %w", err)
	}
	out := make(map[ID]node, len(rows))
	for _, n := range rows {
		out[n.ID] = n
	}
	return out, nil
}

// orSource selects a project, given twice, and what it was forked from.
const orSource = "id = ? OR id IN (SELECT forked_from_id FROM projects WHERE id = ?)"

func (n node) network() ID {
	if n.Root != nil {
		return *n.Root
	}
	return n.ID
}

// join makes a new project a fork of its source, in the transaction that makes it. A
// source that was deleted since is not found, and one that fewer people see by now
// hides its fork from the others as well.
func (s *Service) join(ctx context.Context, fork *Project, source ID) error {
	held, err := s.hold(ctx, "id = ?", source)
	if err != nil {
		return err
	}
	from, there := held[source]
	if !there || from.Gone {
		return errs.Missing("Project")
	}
	if fork.Visibility > from.Visibility {
		if err := s.Namespaces.Show(ctx, fork.NamespaceID, from.Visibility); err != nil {
			return err
		}
		fork.Visibility = from.Visibility
	}
	root := from.network()
	if _, err := s.DB.Exec(ctx, "UPDATE projects SET forked_from_id = ?, fork_root_id = ? WHERE id = ?", source, root, fork.ID); err != nil {
		return fmt.Errorf("join network: %w", err)
	}
	fork.ForkedFromID, fork.ForkRootID = &source, &root
	return s.countForks(ctx, source)
}

// countForks recounts the forks of a project; the caller holds it.
func (s *Service) countForks(ctx context.Context, id ID) error {
	_, err := s.DB.Exec(ctx, `UPDATE projects SET forks_count =
		(SELECT COUNT(*) FROM projects f WHERE f.forked_from_id = projects.id AND NOT f.pending_delete) WHERE id = ?`, id)
	if err != nil {
		return fmt.Errorf("count forks: %w", err)
	}
	return nil
}

// Unfork ends the relation of a fork with its source and the network. It asks for the
// owner; NotModified where the project is no fork.
func (s *Service) Unfork(ctx context.Context, as authz.Actor, ref string) error {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.RemoveForkLink, p.Subject()); err != nil {
		return err
	}
	if p.ForkRootID == nil {
		return errs.New(errs.NotModified, "")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM projects WHERE id = ?", p.ID); err != nil {
			return err
		}
		left, err := s.leaveNetwork(ctx, p.ID)
		if err != nil {
			return err
		}
		if !left { // another request was first
			return errs.New(errs.NotModified, "")
		}
		now := *p
		now.ForkedFromID, now.ForkRootID, now.ForksCount = nil, nil, 0
		return s.Bus.Publish(ctx, Unforked{Fact: change.Between(as, s.Now(), p.Place(), p, &now)})
	})
	if err != nil {
		return fmt.Errorf("unfork project: %w", err)
	}
	return nil
}

// leaveNetwork makes a project one of its own, in the transaction of ctx, and reports
// whether it was a fork. Its forks stay in the network without a source of their own.
func (s *Service) leaveNetwork(ctx context.Context, id ID) (left bool, err error) {
	held, err := s.hold(ctx, orSource+" OR forked_from_id = ?", id, id, id)
	if err != nil {
		return false, err
	}
	if _, err := s.DB.Exec(ctx, "UPDATE projects SET forked_from_id = NULL WHERE forked_from_id = ?", id); err != nil {
		return false, fmt.Errorf("let go of forks: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "UPDATE projects SET forked_from_id = NULL, fork_root_id = NULL, forks_count = 0 WHERE id = ?", id); err != nil {
		return false, fmt.Errorf("leave network: %w", err)
	}
	was := held[id]
	if was.Forked != nil {
		if err := s.countForks(ctx, *was.Forked); err != nil {
			return false, err
		}
	}
	return was.Root != nil, nil
}

// MakeFork says that a project is a fork of another one, without touching repositories.
// It asks for the owner of the first, who must be allowed to fork the other. A fork is a
// Conflict.
func (s *Service) MakeFork(ctx context.Context, as authz.Actor, ref, of string) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.RemoveForkLink, p.Subject()); err != nil {
		return nil, err
	}
	source, err := s.Find(ctx, as, of)
	if err == nil {
		err = s.requireFork(ctx, as, source)
	}
	if errs.Is(err, errs.NotFound) {
		return nil, errs.Missing("Source Project")
	}
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.linkFork(ctx, p.ID, source.ID); err != nil {
			return err
		}
		root, now := source.Root(), *p
		now.ForkedFromID, now.ForkRootID, now.UpdatedAt = &source.ID, &root, db.At(s.Now())
		return s.Bus.Publish(ctx, ForkLinked{Fact: change.Between(as, s.Now(), p.Place(), p, &now), Source: source})
	})
	if err != nil {
		return nil, fmt.Errorf("make fork: %w", err)
	}
	return s.FindByID(ctx, as, p.ID)
}

// linkFork puts a project with all that was forked from it into the network of another
// one, in the transaction of ctx.
func (s *Service) linkFork(ctx context.Context, id, source ID) error {
	held, err := s.hold(ctx, "id IN (?, ?) OR fork_root_id = ?", id, source, id)
	if err != nil {
		return err
	}
	p, there := held[id]
	from, seen := held[source]
	switch {
	case !there || p.Gone:
		return errs.Missing("Project")
	case !seen || from.Gone:
		return errs.Missing("Source Project")
	case p.Root != nil || p.network() == from.network():
		return errs.New(errs.Conflict, "Project already forked")
	case p.Visibility > from.Visibility:
		var f errs.Fields
		f.Add("visibility_level", lowerSource(p.Visibility))
		return f.Err()
	}
	// Its forks come along.
	if _, err := s.DB.Exec(ctx, "UPDATE projects SET fork_root_id = ? WHERE fork_root_id = ? OR id = ?", from.network(), id, id); err != nil {
		return fmt.Errorf("join network: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "UPDATE projects SET forked_from_id = ?, updated_at = ? WHERE id = ?", source, db.At(s.Now()), id); err != nil {
		return fmt.Errorf("join network: %w", err)
	}
	return s.countForks(ctx, source)
}

func lowerSource(v authz.Visibility) string {
	return v.String() + " is not allowed since the fork source project has lower visibility."
}

// show gives a project another visibility, in the transaction of ctx. A fork is never
// seen by more people than its source; forks are lowered together with theirs.
func (s *Service) show(ctx context.Context, p *Project) error {
	held, err := s.holdNetwork(ctx, p.ID)
	if err != nil {
		return err
	}
	if source := held[p.ID].Forked; source != nil {
		if from, there := held[*source]; there && p.Visibility > from.Visibility {
			var f errs.Fields
			f.Add("visibility_level", lowerSource(p.Visibility))
			return f.Err()
		}
	}
	if err := s.Namespaces.Show(ctx, p.NamespaceID, p.Visibility); err != nil {
		return err
	}
	return s.lowerForks(ctx, p.NamespaceID)
}

// holdNetwork holds a project, its source and all forks of their network.
func (s *Service) holdNetwork(ctx context.Context, id ID) (map[ID]node, error) {
	return s.hold(ctx, orSource+" OR fork_root_id IN (SELECT COALESCE(fork_root_id, id) FROM projects WHERE id = ?)", id, id, id)
}

// GroupTransferred lowers the forks of what a group holds that is in a place now
// which fewer people see.
func (s *Service) GroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.lowerForks(ctx, e.Row().ID)
}

// lowerForks lowers what was forked from the projects in a place, directly or not, to
// their visibility, in the transaction of ctx.
func (s *Service) lowerForks(ctx context.Context, place authz.NamespaceID) error {
	type lowered struct {
		ID authz.NamespaceID `db:"id"`
		To authz.Visibility  `db:"most"`
	}
	higher, err := db.Select[lowered](ctx, s.DB, `WITH RECURSIVE forks (id, namespace_id, most) AS (
			SELECT f.id, f.namespace_id, n.visibility FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN namespaces n ON n.id = p.namespace_id JOIN projects f ON f.forked_from_id = p.id WHERE a.ancestor_id = ?
			UNION
			SELECT p.id, p.namespace_id, f.most FROM projects p JOIN forks f ON p.forked_from_id = f.id
		) SELECT n.id, MIN(f.most) AS most FROM forks f JOIN namespaces n ON n.id = f.namespace_id
		WHERE n.visibility > f.most GROUP BY n.id ORDER BY n.id`, place)
	if err != nil {
		return fmt.Errorf("look for forks: %w", err)
	}
	for _, fork := range higher {
		if err := s.Namespaces.Show(ctx, fork.ID, fork.To); err != nil {
			return err
		}
	}
	return nil
}
