package resourceevent

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Writers says how changes are imported. Those whose user was not found are the importing user's.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("resource_label_events", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedLabel]) error {
			return importAll(ctx, s, w, rows, Label, func(v *exportedLabel, e *Event) string {
				if v.LabelID == nil {
					return "its label is missing"
				}
				e.Action, e.UserID, e.CreatedAt, e.LabelID = Action(v.Action), (*authz.UserID)(v.UserID), v.CreatedAt, (*label.ID)(v.LabelID)
				return ""
			})
		}),
		tree.Write("resource_milestone_events", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedMilestone]) error {
			return importAll(ctx, s, w, rows, Milestone, func(v *exportedMilestone, e *Event) string {
				if v.Milestone == nil {
					return "its milestone is missing"
				}
				e.Action, e.UserID, e.CreatedAt, e.State, e.MilestoneID = Action(v.Action), (*authz.UserID)(v.UserID), v.CreatedAt, v.State, (*milestone.ID)(v.Milestone)
				return ""
			})
		}),
		tree.Write("resource_state_events", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedState]) error {
			return importAll(ctx, s, w, rows, State, func(v *exportedState, e *Event) string {
				if v.State == nil {
					return "state is missing"
				}
				e.UserID, e.CreatedAt, e.State = (*authz.UserID)(v.UserID), v.CreatedAt, v.State
				if v.SourceCommit != nil {
					if _, err := gitstore.ParseObjectID(*v.SourceCommit); err == nil {
						e.SourceCommit = v.SourceCommit
					}
				}
				return ""
			})
		}),
		tree.Write("resource_iteration_events", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedIteration]) error {
			return importAll(ctx, s, w, rows, Iteration, func(v *exportedIteration, e *Event) string {
				if v.IterationID == nil {
					return "its iteration is missing"
				}
				e.Action, e.UserID, e.CreatedAt, e.IterationID = Action(v.Action), (*authz.UserID)(v.UserID), v.CreatedAt, (*iteration.ID)(v.IterationID)
				return ""
			})
		}),
	}
}

// importAll writes the changes of a kind, which fill reads; it returns why there can be no such change.
func importAll[T any](ctx context.Context, s *Service, w *tree.Writing, rows []*tree.Row[T], kind Kind, fill func(v *T, e *Event) string) error {
	var out []Event
	for _, r := range rows {
		e := Event{Kind: kind, Type: noteable.Kind(r.Of), TargetID: r.Parent}
		if w.At.Group {
			e.GroupID = &w.At.Namespace
		} else {
			e.ProjectID = new(project.ID(w.At.ID))
		}
		if reason := fill(r.Value, &e); reason != "" {
			r.Lose(reason)
			continue
		}
		if e.UserID != nil && r.Unmatched("user_id") {
			r.Change(r.NotFound("the user", "user_id"))
		}
		out = append(out, e)
	}
	if _, err := db.InsertAll(ctx, s.DB, "resource_events", out); err != nil {
		return fmt.Errorf("insert changes of %s: %w", kind, err)
	}
	return nil
}
