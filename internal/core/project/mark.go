package project

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Mark schedules a project for deletion: it is read-only under a path with a suffix
// until the instance's grace period is over, and its old path is free. Unless the
// instance lets projects wait, the project is deleted now.
func (s *Service) Mark(ctx context.Context, as authz.Actor, ref string) error {
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
	if p.MarkedForDeletionOn != nil {
		return errs.Plain("Project has already been marked for deletion")
	}
	return s.mark(ctx, as, p)
}

// mark is Mark for callers that have asked.
func (s *Service) mark(ctx context.Context, as authz.Actor, p *Project) error {
	grace := s.Namespaces.ProjectGrace()
	if grace.None {
		return s.remove(ctx, as, p)
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.update(ctx, as, p.ID, func(_ context.Context, p *Project) error {
			if p.MarkedForDeletionOn != nil {
				return errs.Plain("Project has already been marked for deletion")
			}
			p.Path, p.Name = p.Path+namespace.Suffix(int64(p.ID)), p.Name+namespace.Suffix(int64(p.ID))
			p.MarkedForDeletionOn, p.ArchivedSelf = &grace.Today, true
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.cancelImport(ctx, p.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Marked{Fact: s.fact(as, &out)})
	})
	return errs.Wrap(err, "mark project")
}

// Restore takes a project's mark away, makes it writable and gives it its name and path
// back; see namespace.Service.Original.
func (s *Service) Restore(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteProject, p.Subject()); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.update(ctx, as, p.ID, func(ctx context.Context, p *Project) error {
			if p.MarkedForDeletionOn == nil {
				return errs.Plain("Project has not been marked for deletion")
			}
			var err error
			p.Path, p.Name, err = s.Namespaces.Original(ctx, &namespace.Namespace{
				ID: p.NamespaceID, Kind: namespace.ProjectKind, ParentID: &p.ParentID, Path: p.Path, Name: p.Name, FullPath: p.FullPath,
			}, int64(p.ID))
			p.MarkedForDeletionOn, p.ArchivedSelf = nil, false
			return err
		})
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Marked{s.fact(as, &out), true})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, errs.Wrap(err, "restore project")
	}
	return s.FindByID(ctx, as, p.ID)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// mayDelete refuses where the settings leave the deletion of projects to administrators.
func (s *Service) mayDelete(as authz.Actor) error {
	if s.Settings.Current().DefaultProjectDeletionProtection && !as.Admin {
		return errs.Denied("Only administrators delete projects on this instance")
	}
	return nil
}
