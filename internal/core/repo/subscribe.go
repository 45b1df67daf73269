package repo

import (
	"context"
	"slices"
	"time"

	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/project"
)

// measureAfter is how long a repository is left alone after a push before it is measured,
// so that many pushes in a row cost one look.
const measureAfter = 2 * time.Second

// Subscribe registers what happens with repositories when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Forked) error {
		return s.Jobs.Enqueue(ctx, CopyFork{ProjectID: e.Row().ID, SourceID: e.Source.ID, Branch: e.Branch})
	})
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Templated) error {
		return s.Jobs.Enqueue(ctx, CopyFork{ProjectID: e.ProjectID, SourceID: e.SourceID})
	})
	event.On(b, "large objects of forks", func(ctx context.Context, e ForkCopied) error {
		return s.LFS.LinkAll(ctx, e.SourceID, e.ProjectID)
	})
	event.On(b, "objects of its own", func(ctx context.Context, e project.Unforked) error {
		if e.Deleted {
			return nil // its repository goes as a whole
		}
		return s.Jobs.Enqueue(ctx, PoolLeaving{ProjectID: e.Row().ID})
	})
	event.On(b, "housekeeping", func(ctx context.Context, e Pushed) error {
		if !s.Due(e.ProjectID) {
			return nil
		}
		return s.Jobs.Enqueue(ctx, Housekeeping{ProjectID: e.ProjectID})
	})
	const measures = "measures of the project"
	event.On(b, measures, func(ctx context.Context, e Pushed) error {
		return s.Jobs.Enqueue(ctx, Measuring{ProjectID: e.ProjectID}, job.At(s.Now().Add(measureAfter)))
	})
	event.On(b, measures, func(ctx context.Context, e project.Updated) error {
		if !slices.Contains(e.Attributes, "default_branch") {
			return nil
		}
		return s.Jobs.Enqueue(ctx, Measuring{ProjectID: e.Row().ID})
	})
}
