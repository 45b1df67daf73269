package project

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// Purge is the job that removes what is left of a deleted project.
type Purge struct {
	ProjectID ID `json:"project_id"`
}

// Kind names the job.
func (Purge) Kind() string { return "project_purge" }

// PurgeGroup is the job that deletes a group with everything in it.
type PurgeGroup struct {
	GroupID namespace.ID `json:"group_id"`
	By      authz.UserID `json:"by"`
	Marked  bool         `json:"marked,omitempty"` // only while it is marked for deletion: it may be restored before the job runs
}

// Kind names the job.
func (PurgeGroup) Kind() string { return "group_purge" }

// PurgeMarked is the periodic job that deletes the groups and projects whose grace
// period is over.
type PurgeMarked struct{}

// Kind names the job.
func (PurgeMarked) Kind() string { return "marked_purge" }

// CodeWrongPath is the error of a full path that is not the one of the project.
const CodeWrongPath errs.Code = "project_wrong_path"

// Delete deletes a marked project before its time; fullPath confirms which one.
func (s *Service) Delete(ctx context.Context, as authz.Actor, ref, fullPath string) error {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteProject, p.Subject()); err != nil {
		return err
	}
	if err := s.mayDelete(as); err != nil {
		return err
	}
	if err := s.Namespaces.MayPurgeNow(as); err != nil {
		return err
	}
	switch {
	case p.MarkedForDeletionOn == nil:
		return errs.Plain("Project must be marked for deletion first.")
	case fullPath != p.FullPath:
		return errs.Coded(errs.Invalid, CodeWrongPath, "the full path is not the one of the project")
	}
	return s.remove(ctx, as, p)
}

// Remove deletes a project that was being deleted when its backup was made, as Delete does
// but whether or not it is marked. It asks for no permission.
func (s *Service) Remove(ctx context.Context, p *Project) error {
	return s.remove(ctx, authz.System(), p)
}

// remove makes a project disappear at once and frees its path; the rest happens in the
// background. One that was marked for deletion or restored since p was read stays.
func (s *Service) remove(ctx context.Context, as authz.Actor, p *Project) error {
	seen := deref(p.MarkedForDeletionOn)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, s.lock(p.ID).Provided(as.UnmodifiedAt), func(ctx context.Context, p *Project) error {
			if p.PendingDelete || deref(p.MarkedForDeletionOn) != seen {
				return nil
			}
			was := *p
			if p.MarkedForDeletionOn == nil {
				p.Path, p.Name = p.Path+namespace.Suffix(int64(p.ID)), p.Name+namespace.Suffix(int64(p.ID))
			}
			p.PendingDelete = true
			return s.follow(ctx, p, &was)
		})
		if errs.Is(err, errs.NotFound) || err == nil && !out.Any() {
			return nil
		}
		if err != nil {
			return err
		}
		p := &out.Before
		if _, err := s.leaveNetwork(ctx, p.ID); err != nil {
			return err
		}
		if err := s.cancelImport(ctx, p.ID); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Unforked{Fact: change.About(as, s.Now(), p.Place(), p), Deleted: true}); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), p)}); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, Purge{ProjectID: p.ID})
	})
	if err != nil {
		return fmt.Errorf("delete project: %w", err)
	}
	return nil
}

// RegisterJobs says how deletions, imports and measures of projects are done.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Touch, job.Unique(), job.Low())
	job.Register(r, s.Purge)
	job.Register(r, s.PurgeGroup)
	job.Register(r, s.PurgeMarked, job.Unique(), job.Low())
	job.Every(r, 24*time.Hour, PurgeMarked{})
	job.Register(r, s.DeleteInactive, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, DeleteInactive{})
	job.Register(r, s.StartImports, job.Unique())
	job.Every(r, time.Hour, StartImports{})
}

// Purge removes the repository and the rows of a deleted project. Doing it twice is
// harmless.
func (s *Service) Purge(ctx context.Context, args Purge) error {
	found, err := db.Get[row](ctx, s.DB, "SELECT "+columns+", 0 AS actor_level"+from+" WHERE p.pending_delete AND p.id = ?", args.ProjectID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find deleted project: %w", err)
	}
	p := found.bare()
	if err := s.above.Repositories.Remove(ctx, p); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	if err := s.emptyPlace(ctx, p.NamespaceID); err != nil {
		return err
	}
	tables, err := s.DB.Dependents(ctx, table)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := s.empty(ctx, p.ID, t); err != nil {
			return err
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.unlink(ctx, p.ID); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, s.removing(p.ID, table, []int64{int64(p.ID)})); err != nil {
			return err
		}
		if _, err := db.Drop(ctx, s.DB, s.lock(p.ID)); err != nil {
			return fmt.Errorf("remove project: %w", err)
		}
		return s.Namespaces.Uproot(ctx, p.NamespaceID)
	})
}

// emptyPlace deletes what others keep of a group or project, in pieces.
func (s *Service) emptyPlace(ctx context.Context, of namespace.ID) error {
	for _, e := range s.above.Emptiers {
		if err := e.Empty(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// purgePiece is how many rows of one table a transaction deletes.
const purgePiece = 500

// empty deletes the rows of a table that go with a deleted project.
func (s *Service) empty(ctx context.Context, id ID, t db.Dependent) error {
	for more := true; more; {
		ids, err := t.FirstIDs(ctx, s.DB, int64(id), purgePiece)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			if err := s.Bus.Publish(ctx, s.removing(id, t.Table, ids)); err != nil {
				return err
			}
			return t.Delete(ctx, s.DB, ids)
		})
		if err != nil {
			return fmt.Errorf("empty project: %w", err)
		}
		more = len(ids) == purgePiece
	}
	return nil
}

func (s *Service) removing(id ID, table string, ids []int64) Removing {
	return Removing{ProjectID: id, Table: table, IDs: ids, Stamp: authz.System().Stamp(s.Now())}
}

// MarkGroup schedules a group for deletion; where the instance grants no grace period,
// it is deleted now.
func (s *Service) MarkGroup(ctx context.Context, as authz.Actor, ref string) error {
	g, err := s.Namespaces.Mark(ctx, as, ref)
	if err != nil {
		return err
	}
	if !s.Namespaces.Grace().None {
		return nil
	}
	return s.enqueueGroup(ctx, as, g.ID)
}

// DeleteGroup deletes a marked subgroup before its time; fullPath confirms which one.
func (s *Service) DeleteGroup(ctx context.Context, as authz.Actor, ref, fullPath string) error {
	g, err := s.Namespaces.MayPurge(ctx, as, ref, fullPath)
	if err != nil {
		return err
	}
	return s.enqueueGroup(ctx, as, g.ID)
}

func (s *Service) enqueueGroup(ctx context.Context, as authz.Actor, id namespace.ID) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM namespaces WHERE id = ?", id); err != nil { // no row changes here
			return err
		}
		return s.Jobs.Enqueue(ctx, PurgeGroup{GroupID: id, By: as.UserID, Marked: true})
	})
}

// errRestored says that a user restored a group while it was being deleted.
var errRestored = errors.New("the group is not marked for deletion any more")

// PurgeGroup deletes a group, its subgroups and its projects. Doing it twice is
// harmless. Where it waited for this marked, every step looks whether it still is: a
// restored group keeps what is left of it.
func (s *Service) PurgeGroup(ctx context.Context, args PurgeGroup) error {
	err := s.purgeGroup(ctx, args)
	if errors.Is(err, errRestored) {
		return nil
	}
	return err
}

func (s *Service) purgeGroup(ctx context.Context, args PurgeGroup) error {
	by := authz.Actor{UserID: args.By, Admin: true}
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", 0 AS actor_level"+from+
		` JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id = ? ORDER BY p.id`, args.GroupID)
	if err != nil {
		return fmt.Errorf("projects of group: %w", err)
	}
	for i := range rows {
		p := rows[i].bare()
		if !p.PendingDelete {
			if err := s.whileMarked(ctx, args, func(ctx context.Context) error { return s.remove(ctx, by, p) }); err != nil {
				return err
			}
		}
		if err := s.Purge(ctx, Purge{ProjectID: p.ID}); err != nil {
			return err
		}
	}
	groups, err := s.Namespaces.Tree(ctx, args.GroupID)
	if err != nil {
		return err
	}
	for _, id := range groups {
		if err := s.whileMarked(ctx, args, func(context.Context) error { return nil }); err != nil {
			return err
		}
		if err := s.emptyPlace(ctx, id); err != nil {
			return err
		}
		if err := s.whileMarked(ctx, args, func(ctx context.Context) error { return s.Namespaces.Remove(ctx, by, id) }); err != nil {
			return err
		}
	}
	return nil
}

// whileMarked does a step of the deletion of a group in a transaction of its own, unless
// the group was restored since.
func (s *Service) whileMarked(ctx context.Context, args PurgeGroup, step func(ctx context.Context) error) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if args.Marked {
			marked, err := s.Namespaces.HoldMark(ctx, args.GroupID)
			if err != nil {
				return err
			}
			if !marked {
				return errRestored
			}
		}
		return step(ctx)
	})
}

// PurgeMarked deletes every project whose grace period is over, and enqueues the
// deletion of every such group.
func (s *Service) PurgeMarked(ctx context.Context, _ PurgeMarked) error {
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", 0 AS actor_level"+from+
		" WHERE NOT p.pending_delete AND p.marked_for_deletion_on <= ? ORDER BY p.id", s.Namespaces.Grace().Over)
	if err != nil {
		return fmt.Errorf("projects to delete: %w", err)
	}
	for i := range rows {
		if err := s.remove(ctx, authz.System(), rows[i].bare()); err != nil {
			return err
		}
	}
	due, err := s.Namespaces.Due(ctx)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, id := range due {
			if err := s.Jobs.Enqueue(ctx, PurgeGroup{GroupID: id, Marked: true}); err != nil {
				return err
			}
		}
		return nil
	})
}
