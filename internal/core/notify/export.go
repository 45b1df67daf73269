package notify

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/todo"
)

// Events of exports, for the user who asked for one.
const (
	exportedProject   = "exported_project"
	failedExport      = "failed_project_export"
	exportedGroup     = "exported_group"
	failedGroupExport = "failed_group_export"
)

// ProjectExported enqueues the mail about an export of a project that ended; failure is "" where it can be downloaded.
func (s *Service) ProjectExported(ctx context.Context, p project.ID, user authz.UserID, failure string) error {
	m := Mailing{Event: exportedProject, On: todo.OfProject, Target: int64(p), Users: []authz.UserID{user}}
	if failure != "" {
		m.Event, m.Failure = failedExport, failure
	}
	return s.exported(ctx, m)
}

// GroupExported is ProjectExported for a group.
func (s *Service) GroupExported(ctx context.Context, g namespace.ID, user authz.UserID, failure string) error {
	m := Mailing{Event: exportedGroup, On: todo.OfGroup, Target: int64(g), Users: []authz.UserID{user}}
	if failure != "" {
		m.Event, m.Failure = failedGroupExport, failure
	}
	return s.exported(ctx, m)
}

// refusedPackage is the event of a package that could not be published, for the user who uploaded it.
const refusedPackage = "refused_package"

// PackageRefused enqueues the mail about a package that a user uploaded and that could not be published; failure begins with the name of the file.
func (s *Service) PackageRefused(ctx context.Context, p project.ID, user authz.UserID, failure string) error {
	return s.mail(ctx, Mailing{Event: refusedPackage, On: todo.OfProject, Target: int64(p), Users: []authz.UserID{user}, Failure: failure})
}

// exported enqueues the mail about an export, for administrators only where they want it.
func (s *Service) exported(ctx context.Context, m Mailing) error {
	if s.Settings.Current().SilentAdminExportsEnabled {
		users, err := s.Accounts.Load(ctx, m.Users)
		if err != nil {
			return err
		}
		if u := users[m.Users[0]]; u != nil && u.Admin {
			return nil
		}
	}
	return s.mail(ctx, m)
}

// exportLead says in a sentence how an export ended.
func exportLead(m Mailing, t *topic) string {
	of := "Project "
	if t.Place.Group {
		of = "Group "
	}
	if m.Failure == "" {
		return of + t.Place.FullName + " was exported. The archive can be downloaded for 24 hours."
	}
	return of + t.Place.FullName + " could not be exported: " + m.Failure
}
