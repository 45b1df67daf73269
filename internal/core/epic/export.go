package epic

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exportedIssue is the place of an issue in an epic as it moves.
type exportedIssue struct {
	Position  int64   `db:"relative_position" tree:"relative_position"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	EpicID    int64   `db:"epic_id" child:"epic"`
}

// exported is an epic of an issue as it moves.
type exported struct {
	IID              int64    `db:"iid" tree:"iid"`
	GroupID          int64    `db:"group_id" tree:"group_id,group"`
	AuthorID         int64    `db:"author_id" tree:"author_id,user"`
	Title            string   `db:"title" tree:"title,max=255"`
	Description      *string  `db:"description" tree:"description,markdown"`
	State            string   `db:"state" tree:"state,names=opened|closed"`
	Confidential     bool     `db:"confidential" tree:"confidential"`
	Color            string   `db:"color" tree:"color"`
	StartDateIsFixed bool     `db:"start_date_is_fixed" tree:"start_date_is_fixed"`
	StartDateFixed   *string  `db:"start_date_fixed" tree:"start_date_fixed,date"`
	DueDateIsFixed   bool     `db:"due_date_is_fixed" tree:"due_date_is_fixed"`
	DueDateFixed     *string  `db:"due_date_fixed" tree:"due_date_fixed,date"`
	Position         int64    `db:"relative_position" tree:"relative_position"`
	ClosedAt         *db.Time `db:"closed_at" tree:"closed_at"`
	ClosedByID       *int64   `db:"closed_by_id" tree:"closed_by_id,user"`
	CreatedAt        db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt        db.Time  `db:"updated_at" tree:"updated_at"`
}

// exportedOfGroup is an epic of a group as it moves, with its number, which its children name.
type exportedOfGroup struct {
	ID int64 `db:"id" tree:"id"`
	exported
	ParentID  *int64  `db:"parent_id" tree:"parent_id" child:"parent_epic"`
	StartDate *string `db:"start_date" tree:"start_date,date"`
	EndDate   *string `db:"end_date" tree:"end_date,date"`
}

const exportedColumns = `e.iid, e.group_id, e.author_id, e.title, e.description, e.state, e.confidential, e.color, e.start_date_is_fixed, e.start_date_fixed,
	e.due_date_is_fixed, e.due_date_fixed, e.relative_position, e.closed_at, e.closed_by_id, e.created_at, e.updated_at`

const exportedFrom = "epics e JOIN namespaces n ON n.id = e.group_id"

// fillExported adds the dates that count.
func (s *Service) fillExported(ctx context.Context, r *tree.Reading, rows []exportedOfGroup) error {
	epics := make([]Epic, len(rows))
	for i := range rows {
		x := &rows[i]
		epics[i] = Epic{ID: ID(x.ID), StartIsFixed: x.StartDateIsFixed, StartFixed: x.StartDateFixed, DueIsFixed: x.DueDateIsFixed, DueFixed: x.DueDateFixed}
	}
	if err := s.inherit(ctx, r.As, epics); err != nil {
		return err
	}
	for i := range rows {
		of := epics[i].Dates()
		rows[i].StartDate, rows[i].EndDate = of.Start, of.Due
	}
	return nil
}

// Relations describes the epics of a group, and those of issues, as far as the reader may see them.
func (s *Service) Relations() []tree.Relation {
	where := func(_ context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		w := &db.Where{}
		cond, args := s.Policy.ReadableEpicsSQL(r.As, "e", "n")
		w.And(cond, args...)
		return w, nil
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "epic_issue", Single: true, Children: []string{"epic"}, Tables: []string{"epic_issues"}}, tree.Query[exportedIssue]{
			Columns: "x.relative_position, x.created_at, x.updated_at, x.epic_id", From: "epic_issues x JOIN epics e ON e.id = x.epic_id JOIN namespaces n ON n.id = e.group_id",
			ID: "x.id", Parent: "x.issue_id", Where: where,
		}),
		tree.Rows(tree.Relation{Name: "epic", Single: true, Tables: []string{"epics"}}, tree.Query[exported]{
			Columns: exportedColumns, From: exportedFrom, ID: "e.id", Parent: "e.id", Where: where,
		}),
		tree.Rows(tree.Relation{Name: "parent_epic", Key: "parent", Single: true}, tree.Query[exported]{
			Columns: exportedColumns, From: exportedFrom, ID: "e.id", Parent: "e.id", Where: where,
		}),
		tree.Rows(tree.Relation{
			Name: "epics", Parts: true, In: tree.Groups, Kind: string(noteable.Epic), Children: []string{"parent_epic", "award_emoji", "events", "label_links", "notes", "resource_state_events"},
			Absent: []string{
				"external_key", "updated_by_id", "last_edited_at", "last_edited_by_id", "lock_version", "start_date_sourcing_milestone_id", "due_date_sourcing_milestone_id",
				"start_date_sourcing_epic_id", "due_date_sourcing_epic_id",
			},
		}, tree.Query[exportedOfGroup]{
			Columns: exportedColumns + ", e.id, e.parent_id", From: exportedFrom, ID: "e.id",
			Where: func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
				w, err := where(ctx, r, of)
				w.And("e.group_id = ?", r.At.ID)
				return w, err
			},
			Fill: s.fillExported,
		}),
	}
}
