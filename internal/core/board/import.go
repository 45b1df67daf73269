package board

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/tree"
)

// importedList is a list of a board of an archive. One without a position is broken.
type importedList struct {
	ListType       string  `tree:"list_type"`
	Position       *int64  `tree:"position"`
	CreatedAt      db.Time `tree:"created_at"`
	UpdatedAt      db.Time `tree:"updated_at"`
	UserID         *int64  `tree:"user_id,user"`
	MaxIssueCount  int64   `tree:"max_issue_count"`
	MaxIssueWeight int64   `tree:"max_issue_weight"`
	LimitMetric    *string `tree:"limit_metric"`
	LabelID        *int64  `child:"label"`
	MilestoneID    *int64  `child:"milestone"`
	IterationID    *int64  `child:"iteration"`
}

// Writers says how boards are imported with their lists.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("boards", s.importAll), tree.Write("lists", s.importLists)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	there, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM boards WHERE namespace_id = ?", w.At.Namespace)
	if err != nil {
		return fmt.Errorf("count boards: %w", err)
	}
	var made []Board
	var of []*tree.Row[exported]
	for _, r := range rows {
		v := r.Value
		b := Board{
			NamespaceID: w.At.Namespace, Name: v.Name, HideBacklogList: v.HideBacklogList, HideClosedList: v.HideClosedList, Weight: v.Weight,
			MilestoneID: (*milestone.ID)(v.MilestoneID), CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		}
		if b.Weight != nil && *b.Weight < 0 { // any weight, and none
			b.Weight = nil
		}
		if err := b.check(); err != nil {
			r.Fail(err.Error())
			continue
		}
		if there++; there > maxBoards {
			r.Lose("there are too many boards")
			continue
		}
		made, of = append(made, b), append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "boards", made)
	if err != nil {
		return fmt.Errorf("insert boards: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importLists writes lists in the order of the archive. What every board has is no row here.
func (s *Service) importLists(ctx context.Context, _ *tree.Writing, rows []*tree.Row[importedList]) error {
	positions := map[int64]int64{}
	var made []List
	for _, r := range rows {
		v := r.Value
		l := List{
			BoardID: ID(r.Parent), Position: positions[r.Parent], Limits: Limits{v.MaxIssueCount, v.MaxIssueWeight, v.LimitMetric}, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		}
		switch {
		case v.ListType == "backlog" || v.ListType == "closed":
			r.Merge(0)
			continue
		case v.Position == nil:
			r.Fail("position is missing")
			continue
		case v.LabelID != nil:
			l.LabelID = (*label.ID)(v.LabelID)
		case v.MilestoneID != nil:
			l.MilestoneID = (*milestone.ID)(v.MilestoneID)
		case v.IterationID != nil:
			l.IterationID = (*iteration.ID)(v.IterationID)
		case v.UserID != nil && !r.Unmatched("user_id"):
			l.AssigneeID = (*authz.UserID)(v.UserID)
		default:
			r.Lose(r.NotFound("what it lists", "user_id"))
			continue
		}
		if err := l.Limits.check(); err != nil {
			r.Fail(err.Error())
			continue
		}
		if l.Position == maxLists {
			r.Lose("the board has too many lists")
			continue
		}
		positions[r.Parent]++
		made = append(made, l)
	}
	if err := db.InsertRows(ctx, s.DB, "board_lists", made, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert lists: %w", err)
	}
	return nil
}
