package project

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Marked says that a project will be deleted when its grace period is over, or, where
// Restored, that it will not.
type Marked struct {
	ProjectID ID
	Name      string
	FullPath  string // before the change
	Restored  bool
	By        authz.Actor
}

// Mark schedules a project for deletion: it is read-only under a path with a suffix
// until the instance's grace period is over, and its old path is free. Unless the
// instance lets projects wait, the project is deleted now.
func (s *Service) Mark(ctx context.Context, as authz.Actor, ref string) error {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return err
	}
	if err := s.policy.Require(ctx, as, authz.DeleteProject, p.Subject()); err != nil {
		return err
	}
	if p.MarkedForDeletionOn != nil {
		return errs.Plain("Project has already been marked for deletion")
	}
	grace := s.namespaces.ProjectGrace()
	if grace.None {
		return s.remove(ctx, as, p)
	}
	marked := *p
	marked.Path, marked.Name = p.Path+namespace.Suffix(int64(p.ID)), p.Name+namespace.Suffix(int64(p.ID))
	marked.MarkedForDeletionOn, marked.ArchivedSelf = &grace.Today, true
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if err := s.storeMark(ctx, &marked, p); err != nil {
			return err
		}
		return s.bus.Publish(ctx, Marked{ProjectID: p.ID, Name: p.Name, FullPath: p.FullPath, By: as})
	})
	if err != nil {
		return fmt.Errorf("mark project: %w", err)
	}
	return nil
}

// Restore takes a project's mark away, makes it writable and gives it its name and path
// back; see namespace.Service.Original.
func (s *Service) Restore(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.DeleteProject, p.Subject()); err != nil {
		return nil, err
	}
	if p.MarkedForDeletionOn == nil {
		return nil, errs.Plain("Project has not been marked for deletion")
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		restored := *p
		var err error
		restored.Path, restored.Name, err = s.namespaces.Original(ctx, &namespace.Namespace{
			ID: p.NamespaceID, Kind: namespace.ProjectKind, ParentID: &p.ParentID, Path: p.Path, Name: p.Name, FullPath: p.FullPath,
		}, int64(p.ID))
		if err != nil {
			return err
		}
		restored.MarkedForDeletionOn, restored.ArchivedSelf = nil, false
		if err := s.storeMark(ctx, &restored, p); err != nil {
			return err
		}
		return s.bus.Publish(ctx, Marked{ProjectID: p.ID, Name: restored.Name, FullPath: p.FullPath, Restored: true, By: as})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("restore project: %w", err)
	}
	return s.FindByID(ctx, as, p.ID)
}

// storeMark writes what marking and restoring change, unless somebody did it since old
// was read.
func (s *Service) storeMark(ctx context.Context, p, old *Project) error {
	changed, err := s.db.Exec(ctx, `UPDATE projects SET marked_for_deletion_on = ?, archived = ?, name = ?, name_fold = ?, path = ?, updated_at = ?
		WHERE id = ? AND NOT pending_delete AND COALESCE(marked_for_deletion_on, '') = ?`,
		p.MarkedForDeletionOn, p.ArchivedSelf, p.Name, db.Fold(p.Name), p.Path, db.At(s.now()), p.ID, deref(old.MarkedForDeletionOn))
	if err != nil {
		return fmt.Errorf("store mark: %w", err)
	}
	if changed == 0 {
		return errs.New(errs.Conflict, "Project was changed meanwhile")
	}
	return s.namespaces.Rename(ctx, p.NamespaceID, p.Path, p.Name)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
