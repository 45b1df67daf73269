package project

import (
	"context"
	"time"

	"tenon/internal/base/event"
)

// Subscribe registers what happens with projects when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "visibility of forks", s.GroupTransferred)
}

// Rested reports whether the last activity that is noted is a minute old: more often comments do
// not change it.
func (p *Project) Rested(at time.Time) bool { return at.Sub(p.LastActivityAt.Time) >= time.Minute }

// Touch asks for the time of a project's last activity to be brought up to date. Comments
// come in by the thousand; one update for those that the queue holds at once is enough.
type Touch struct {
	ProjectID ID `json:"project_id"`
}

// Kind names the job.
func (Touch) Kind() string { return "project_touch" }

// Touch does the job.
func (s *Service) Touch(ctx context.Context, args Touch) error {
	return s.RecordPush(ctx, args.ProjectID, "", s.Now())
}
