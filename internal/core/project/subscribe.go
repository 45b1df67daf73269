package project

import (
	"context"

	"tenon/internal/base/event"
)

// Subscribe registers what happens with projects when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "visibility of forks", s.GroupTransferred)
}

// Touch asks for the time of a project's last activity to be brought up to date. Comments
// come in by the thousand; one update per poll of the queue is enough for all of a project's.
type Touch struct {
	ProjectID ID `json:"project_id"`
}

// Kind names the job.
func (Touch) Kind() string { return "project_touch" }

// Touch does the job.
func (s *Service) Touch(ctx context.Context, args Touch) error {
	return s.RecordPush(ctx, args.ProjectID, "", s.now())
}
