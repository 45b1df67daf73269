// Package stats keeps figures of how projects deliver, and returns the DORA metrics of projects and groups.
package stats

import (
	"context"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Now    func() time.Time
}

// Service keeps figures and answers with them. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Subscribe marks the months whose figures an event changes.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "DORA metrics"
	event.On(b, name, func(ctx context.Context, e deploy.DeploymentCreated) error {
		return s.onDeployment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e deploy.DeploymentUpdated) error {
		return s.onDeployment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e deploy.DeploymentDeleted) error {
		return s.onDeployment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e deploy.Linked) error {
		return s.mark(ctx, e.ProjectID, MonthOf(e.FinishedAt))
	})
	event.On(b, name, func(ctx context.Context, e deploy.EnvironmentCreated) error {
		return s.onEnvironment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e deploy.EnvironmentUpdated) error {
		return s.onEnvironment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e deploy.EnvironmentDeleted) error {
		return s.onEnvironment(ctx, e.Before, e.After)
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Deleted) error { return s.onMergeRequest(ctx, e.Row()) })
	event.On(b, name, func(ctx context.Context, e issue.Created) error { return s.onIssue(ctx, e.Before, e.After) })
	event.On(b, name, func(ctx context.Context, e issue.Updated) error { return s.onIssue(ctx, e.Before, e.After) })
	event.On(b, name, func(ctx context.Context, e issue.Closed) error { return s.onIssue(ctx, e.Before, e.After) })
	event.On(b, name, func(ctx context.Context, e issue.Reopened) error { return s.onIssue(ctx, e.Before, e.After) })
	event.On(b, name, func(ctx context.Context, e issue.Duplicated) error { return s.onIssue(ctx, e.Before, e.After) })
	event.On(b, name, func(ctx context.Context, e issue.Deleted) error { return s.onIssue(ctx, e.Row(), nil) })
}

// RegisterJobs says how figures are counted again.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Refresh, job.Unique(), job.Timeout(5*time.Minute))
	job.Every(r, refreshEvery, Refresh{})
}

// all is the month of a mark of a whole project.
const all Month = 0

// mark is a month of a project whose figures no longer hold.
type mark struct {
	ProjectID project.ID `db:"project_id"`
	Month     Month      `db:"month"` // all for every month
}

// mark marks months of a project, each once, in the transaction of what changes their figures.
func (s *Service) mark(ctx context.Context, id project.ID, months ...Month) error {
	rows := make([]mark, 0, len(months))
	for _, m := range sorted(months) {
		rows = append(rows, mark{id, m})
	}
	return db.InsertRows(ctx, s.DB, "dora_marks", rows, "")
}

func (s *Service) onDeployment(ctx context.Context, before, after *deploy.Deployment) error {
	was, is := counted(before), counted(after)
	if len(was) == len(is) && (len(was) == 0 || before.FinishedAt.Equal(after.FinishedAt.Time)) {
		return nil
	}
	d := before
	if d == nil {
		d = after
	}
	return s.mark(ctx, d.ProjectID, append(was, is...)...)
}

// counted are the months that count a deployment: one or none.
func counted(d *deploy.Deployment) []Month {
	if d == nil || d.State != deploy.Success || d.FinishedAt == nil {
		return nil
	}
	return []Month{MonthOf(*d.FinishedAt)}
}

// onEnvironment marks all months of a project whose deployments change their tier, and whose incidents begin or cease to count: they count
// while the project has an environment of production.
func (s *Service) onEnvironment(ctx context.Context, before, after *deploy.Environment) error {
	switch {
	case before == nil && after.Tier != deploy.Production:
		return nil
	case before != nil && after != nil && before.Tier == after.Tier:
		return nil
	case before == nil:
		return s.mark(ctx, after.ProjectID, all)
	}
	return s.mark(ctx, before.ProjectID, all)
}

// onIssue marks the months that count an incident.
func (s *Service) onIssue(ctx context.Context, before, after *issue.Issue) error {
	var months []Month
	of := before
	if of == nil {
		of = after
	}
	was, is := incidentOf(before), incidentOf(after)
	if !was.opened.Equal(is.opened.Time) || !was.closed.Equal(is.closed.Time) {
		for _, at := range []db.Time{was.opened, was.closed, is.opened, is.closed} {
			if !at.IsZero() {
				months = append(months, MonthOf(at))
			}
		}
	}
	return s.mark(ctx, of.ProjectID, months...)
}

// times are when an issue counts as an incident; zero where it does not.
type times struct {
	opened, closed db.Time
}

func incidentOf(i *issue.Issue) times {
	var out times
	if i == nil || i.Type != issue.Incident {
		return out
	}
	if i.DuplicatedToID == nil {
		out.opened = i.CreatedAt
	}
	if i.State == issue.StateClosed && i.ClosedAt != nil {
		out.closed = *i.ClosedAt
	}
	return out
}

// onMergeRequest marks all months of a project whose merge request was deleted, with its links to deployments.
func (s *Service) onMergeRequest(ctx context.Context, m *mergerequest.MergeRequest) error {
	if m.State != mergerequest.StateMerged {
		return nil
	}
	return s.mark(ctx, m.ProjectID, all)
}
