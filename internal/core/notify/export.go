package notify

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/todo"
)

// Events of exports, for the user who asked for one.
const (
	exportedProject = "exported_project"
	failedExport    = "failed_project_export"
)

// ProjectExported enqueues the mail about an export of a project that ended; failure is "" where it can be downloaded.
func (s *Service) ProjectExported(ctx context.Context, p project.ID, user authz.UserID, failure string) error {
	m := Mailing{Event: exportedProject, On: todo.OfProject, Target: int64(p), Users: []authz.UserID{user}}
	if failure != "" {
		m.Event, m.Failure = failedExport, failure
	}
	if s.Settings.Current().SilentAdminExportsEnabled {
		users, err := s.Accounts.Load(ctx, m.Users)
		if err != nil {
			return err
		}
		if u := users[user]; u != nil && u.Admin {
			return nil
		}
	}
	return s.mail(ctx, m)
}

// exportLead says in a sentence how an export ended.
func exportLead(m Mailing, t *topic) string {
	if m.Event == exportedProject {
		return "Project " + t.Place.FullName + " was exported. The archive can be downloaded for 24 hours."
	}
	return "Project " + t.Place.FullName + " could not be exported: " + m.Failure
}
