package issue

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/core/tree"
)

// Writers says how issues are imported, with their numbers.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("issues", s.importAll), tree.Write("issue_assignees", s.importAssignees)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	taken, err := s.takenNumbers(ctx, w, rows)
	if err != nil {
		return err
	}
	var made []Issue
	var of []*tree.Row[exported]
	var open, public int64
	highest := int64(0)
	for _, r := range rows {
		i := r.Value.issue(w)
		i.Spent = timelog.Spent(r.State)
		if err := i.validate(); err != nil {
			r.Fail(err.Error())
			continue
		}
		if i.IID <= 0 || taken[i.IID] {
			r.Fail("iid has already been taken")
			continue
		}
		taken[i.IID] = true
		highest = max(highest, int64(i.IID))
		if r.Unmatched("author_id") {
			r.Change(r.NotFound("its author", "author_id"))
		}
		if i.State == StateOpened {
			open++
			if !i.Confidential {
				public++
			}
		}
		made, of = append(made, i), append(of, r)
	}
	if len(made) == 0 {
		return nil
	}
	if err := namespace.RaiseIID(ctx, s.DB, w.At.Namespace, namespace.KindIssue, highest); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, s.DB, "issues", made)
	if err != nil {
		return fmt.Errorf("insert issues: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return s.Projects.CountIssues(ctx, project.ID(w.At.ID), open, public)
}

// takenNumbers returns those of the numbers of some rows that issues of the project have.
func (s *Service) takenNumbers(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) (map[IID]bool, error) {
	iids := make([]IID, len(rows))
	for i, r := range rows {
		iids[i] = IID(r.Value.IID)
	}
	slices.Sort(iids)
	var where db.Where
	where.And("project_id = ?", w.At.ID)
	where.In("iid", slices.Compact(iids))
	found, err := db.Select[IID](ctx, s.DB, "SELECT iid FROM issues"+where.SQL()+" ORDER BY iid", where.Args()...)
	if err != nil {
		return nil, fmt.Errorf("numbers of issues: %w", err)
	}
	out := make(map[IID]bool, len(found))
	for _, iid := range found {
		out[iid] = true
	}
	return out, nil
}

// issue is the issue that a row describes.
func (e *exported) issue(w *tree.Writing) Issue {
	i := Issue{
		IID: IID(e.IID), ProjectID: project.ID(w.At.ID), AuthorID: authz.UserID(e.AuthorID), Title: e.Title, Description: e.Description, State: State(e.State),
		Type: Type(e.Type), Confidential: e.Confidential, DiscussionLocked: e.DiscussionLocked, DueDate: e.DueDate, Weight: e.Weight, Severity: SeverityUnknown,
		Health: (*Health)(e.Health), Position: e.Position, MilestoneID: (*milestone.ID)(e.MilestoneID), IterationID: (*iteration.ID)(e.IterationID),
		Totals: timelog.Totals{Estimate: max(0, e.TimeEstimate)}, UpdatedByID: (*authz.UserID)(e.UpdatedByID), LastEditedAt: e.LastEditedAt, CreatedAt: e.CreatedAt,
		UpdatedAt: e.UpdatedAt, Origin: w.Origin(),
	}
	if e.WorkItem != nil && slices.Contains([]Type{Plain, Incident, TestCase, Task}, Type(e.WorkItem.BaseType)) {
		i.Type = Type(e.WorkItem.BaseType)
	}
	if i.Position == 0 {
		i.Position = positionAt(e.CreatedAt.Time)
	}
	if i.LastEditedAt != nil {
		i.LastEditedByID = (*authz.UserID)(e.LastEditedByID)
	}
	if i.State == StateClosed {
		i.ClosedAt, i.ClosedByID = e.ClosedAt, (*authz.UserID)(e.ClosedByID)
		if i.ClosedAt == nil {
			i.ClosedAt = &i.UpdatedAt
		}
	}
	return i
}

func (s *Service) importAssignees(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedAssignee]) error {
	type assignee struct {
		IssueID int64 `db:"issue_id"`
		UserID  int64 `db:"user_id"`
	}
	var out []assignee
	for _, r := range rows {
		if r.Unmatched("user_id") {
			r.Change(r.NotFound("the user", "user_id"))
		}
		out = append(out, assignee{r.Parent, r.Value.UserID})
	}
	if err := db.InsertRows(ctx, s.DB, "issue_assignees", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert assignees: %w", err)
	}
	return nil
}
