package resourceevent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Notes         *note.Service
	MergeRequests MergeRequests
}

// MergeRequests are the merge requests that close issues.
type MergeRequests interface {
	// Subjects returns the permission subjects of those that the actor may read.
	Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error)
}

// Service records and lists resource events.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[Event]("e")

// where selects the events of a kind on a thing. Those of labels, milestones and iterations that the place
// of the thing does not have are left out: they are of groups that the project has left.
func where(t noteable.Target, kind Kind) db.Where {
	var w db.Where
	w.And("e.resource_type = ? AND e.resource_id = ? AND e.kind = ?", t.Kind, t.ID, kind)
	if kind == Label {
		w.And(`(e.label_id IS NULL OR EXISTS (SELECT 1 FROM labels l JOIN namespace_ancestors a ON a.ancestor_id = l.namespace_id
			WHERE l.id = e.label_id AND a.namespace_id = ?))`, t.Subject.Namespace)
	}
	switch kind {
	case Milestone:
		w.And(`EXISTS (SELECT 1 FROM milestones m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
			WHERE m.id = e.milestone_id AND a.namespace_id = ?)`, t.Subject.Namespace)
	case Iteration:
		w.And(`EXISTS (SELECT 1 FROM iterations m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
			WHERE m.id = e.iteration_id AND a.namespace_id = ?)`, t.Subject.Namespace)
	}
	return w
}

// show takes out of events what the actor may not read of what closed an issue.
func (s *Service) show(ctx context.Context, as authz.Actor, t noteable.Target, events []Event) error {
	code := t.Subject
	code.Confidential, code.Feature = false, authz.NoFeature
	var refs []noteable.Ref
	commits := false
	for i := range events {
		if id := events[i].SourceRequestID; id != nil {
			refs = append(refs, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(*id)})
		}
		commits = commits || events[i].SourceCommit != nil
	}
	var readable map[noteable.Ref]authz.Subject
	var err error
	if len(refs) > 0 {
		if readable, err = s.MergeRequests.Subjects(ctx, as, refs); err != nil {
			return err
		}
	}
	reads := false
	if commits {
		if reads, err = s.Policy.Can(ctx, as, authz.ReadCode, code); err != nil {
			return err
		}
	}
	for i := range events {
		e := &events[i]
		if e.SourceRequestID != nil {
			if _, ok := readable[noteable.Ref{Kind: noteable.MergeRequest, ID: int64(*e.SourceRequestID)}]; !ok {
				e.SourceRequestID = nil
			}
		}
		if !reads {
			e.SourceCommit = nil
		}
	}
	return nil
}

// List returns a page of the events of a kind on a thing that the actor may read, the oldest
// first, and the thing.
func (s *Service) List(ctx context.Context, as authz.Actor, on note.On, kind Kind, r page.Range) (page.Page[Event], noteable.Target, error) {
	t, err := s.Notes.Target(ctx, as, on)
	if err != nil {
		return page.Page[Event]{}, t, err
	}
	list, err := page.Select[Event](ctx, s.DB, page.Query{
		Columns: columns, From: "resource_events e", Where: where(t, kind), Order: page.Order{page.ID("e.id")},
	}, r)
	if err != nil {
		return list, t, fmt.Errorf("list resource events: %w", err)
	}
	return list, t, s.show(ctx, as, t, list.Items)
}

// Find returns one event of a kind on a thing.
func (s *Service) Find(ctx context.Context, as authz.Actor, on note.On, kind Kind, id ID) (*Event, noteable.Target, error) {
	t, err := s.Notes.Target(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	w := where(t, kind)
	w.And("e.id = ?", id)
	e, err := db.Get[Event](ctx, s.DB, "SELECT "+columns+" FROM resource_events e"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, t, errs.Missing("")
	}
	if err != nil {
		return nil, t, fmt.Errorf("find resource event: %w", err)
	}
	one := []Event{e}
	return &one[0], t, s.show(ctx, as, t, one)
}

// atOnce is how many events one statement writes.
const atOnce = 500

// record writes events in the caller's transaction.
func (s *Service) record(ctx context.Context, events ...Event) error {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	for chunk := range slices.Chunk(events, atOnce) {
		args := make([]any, 0, 15*len(chunk))
		for i := range chunk {
			e := &chunk[i]
			args = append(args, e.Kind, e.Type, e.TargetID, e.ProjectID, e.GroupID, e.UserID, e.Action, e.State, e.LabelID, e.MilestoneID,
				e.IterationID, e.Weight, e.SourceCommit, e.SourceRequestID, e.CreatedAt)
		}
		_, err := s.DB.Exec(ctx, `INSERT INTO resource_events (kind, resource_type, resource_id, project_id, group_id, user_id, action, state, label_id,
			milestone_id, iteration_id, weight, source_commit, source_merge_request_id, created_at) VALUES `+
			strings.Repeat(row+", ", len(chunk)-1)+row, args...)
		if err != nil {
			return fmt.Errorf("record resource events: %w", err)
		}
	}
	return nil
}

// clear removes the events of a thing that is being deleted, in the caller's transaction.
func (s *Service) clear(ctx context.Context, of noteable.Ref) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM resource_events WHERE resource_type = ? AND resource_id = ?", of.Kind, of.ID); err != nil {
		return fmt.Errorf("clear resource events: %w", err)
	}
	return nil
}
