package hookevent_test

import (
	"context"
	"errors"
	"testing"

	"tenon/internal/base/event"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

// TestService_pipelineStatements changes pipelines with 3 and with 30 jobs in one transaction each: who listens is asked once, whatever the
// number of jobs, and the job that hands events on is enqueued once.
func TestService_pipelineStatements(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.As(w.Developer)
		w.drain()
		count := func(jobs int, triggers ...payload.Trigger) int {
			w.listener.triggers = triggers
			of := ci.Pipeline{ID: 1, IID: 1, ProjectID: p.ID, Ref: "main"}
			all := []event.Event{ci.PipelineChanged{Of: change.Created(w.Developer, w.Now(), p.Place(), &of), Project: p}}
			for i := range jobs {
				j := &ci.Job{Status: ci.Status{ID: ci.StatusID(i + 1), PipelineID: of.ID, ProjectID: p.ID, Kind: ci.JobKind, Name: "test"}}
				all = append(all, ci.JobChanged{Of: change.Created(w.Developer, w.Now(), p.Place(), j), Pipeline: of, Project: p})
			}
			before := w.DB.Statements()
			w.publish(all...)
			return int(w.DB.Statements() - before)
		}
		w.connect(w.listener)
		few, many := count(3), count(30)
		approvaltest.Equal(t, "statements of 30 jobs that no recipient listens to", many, few)
		few, many = count(3, payload.Pipeline), count(30, payload.Pipeline)
		approvaltest.Equal(t, "statements of 30 jobs where the pipeline is listened to", many, few)
		few, many = count(3, payload.Job), count(30, payload.Job)
		approvaltest.Equal(t, "statements of 30 jobs that are listened to", many-few, 27) // a row for each
	})
}

// TestService_savepoint hands on what a transaction has recorded after it undid an earlier event by a savepoint.
func TestService_savepoint(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.As(w.Developer)
		w.drain()
		w.listener.take()
		w.listener.triggers = []payload.Trigger{payload.Project}
		undone := errors.New("undone")
		publish := func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Updated{Fact: change.Between(w.Developer, w.Now(), p.Place(), p, p)})
		}
		approvaltest.Check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
			err := w.DB.InSavepoint(ctx, func(ctx context.Context) error { return errors.Join(publish(ctx), undone) })
			if !errors.Is(err, undone) {
				return errors.Join(err, errors.New("the savepoint was not undone"))
			}
			return publish(ctx)
		}))
		w.drain()
		approvaltest.Equal(t, "received", len(w.listener.take()), 1)
	})
}
