// Package board holds the issue boards of projects and groups and their lists.
package board

import (
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
)

// ID identifies a board.
type ID int64

// ListID identifies a list of a board.
type ListID int64

const (
	maxName   = 255
	maxBoards = 500 // of one project or group
	maxLists  = 100 // of one board
)

// Board is one issue board. Milestone, assignee, weight and labels are the scope of its
// issues.
type Board struct {
	ID              ID                `db:"id"`
	NamespaceID     authz.NamespaceID `db:"namespace_id"` // of the project or group
	Name            string            `db:"name" fold:"name_fold"`
	HideBacklogList bool              `db:"hide_backlog_list"`
	HideClosedList  bool              `db:"hide_closed_list"`
	MilestoneID     *milestone.ID     `db:"milestone_id"`
	AssigneeID      *authz.UserID     `db:"assignee_id"`
	Weight          *int64            `db:"weight"`
	CreatedAt       db.Time           `db:"created_at"`
	UpdatedAt       db.Time           `db:"updated_at"`

	Labels []label.ID `db:"-" change:"labels"` // by id
	Lists  []List     `db:"-"`                 // by position
}

// List is one list of a board: of a label, a milestone, an assignee or an iteration.
type List struct {
	ID          ListID        `db:"id"`
	BoardID     ID            `db:"board_id"`
	LabelID     *label.ID     `db:"label_id"`
	MilestoneID *milestone.ID `db:"milestone_id"`
	AssigneeID  *authz.UserID `db:"assignee_id"`
	IterationID *iteration.ID `db:"iteration_id"`
	Position    int64         `db:"position"` // from 0, without gaps
	Limits
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// Limits say how many issues a list should hold; clients warn beyond.
type Limits struct {
	MaxIssueCount  int64   `db:"max_issue_count"` // 0 for no limit
	MaxIssueWeight int64   `db:"max_issue_weight"`
	LimitMetric    *string `db:"limit_metric"` // all_metrics, issue_count, issue_weights
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Name            *string
	HideBacklogList *bool
	HideClosedList  *bool
	MilestoneID     *milestone.ID // 0 clears, as for the next
	AssigneeID      *authz.UserID
	Weight          *int64
	ClearWeight     bool
	Labels          *[]string // titles; those that the place cannot use are left out
}

// ListInput is what a new list is made of: exactly one of the first four is set.
type ListInput struct {
	LabelID     *label.ID
	MilestoneID *milestone.ID
	AssigneeID  *authz.UserID
	IterationID *iteration.ID
	Limits
}

// Filter selects boards.
type Filter struct{ page.Range }

// Created is published when a board was made.
type Created struct{ change.Of[Board] }

// Updated is published when a board got other attributes or another scope.
type Updated struct{ change.Of[Board] }

// Deleted is published when a board was deleted with its lists.
type Deleted struct{ change.Of[Board] }

// check collects what is wrong with a board as it will be stored.
func (b *Board) check() error {
	var bad errs.Fields
	b.Name = strings.TrimSpace(b.Name)
	bad.Check(b.Name != "", "name", "can't be blank")
	bad.Check(utf8.RuneCountInString(b.Name) <= maxName, "name", "is too long (maximum is 255 characters)")
	bad.Check(b.Weight == nil || *b.Weight >= 0, "weight", "must be greater than or equal to 0")
	return bad.Err()
}

// check collects what is wrong with limits.
func (l Limits) check() error {
	var bad errs.Fields
	bad.Check(l.MaxIssueCount >= 0, "max_issue_count", "must be greater than or equal to 0")
	bad.Check(l.MaxIssueWeight >= 0, "max_issue_weight", "must be greater than or equal to 0")
	if l.LimitMetric != nil {
		switch *l.LimitMetric {
		case "all_metrics", "issue_count", "issue_weights":
		default:
			bad.Add("limit_metric", "is not included in the list")
		}
	}
	return bad.Err()
}

// About names it for events.
func (b Board) About() change.Subject {
	return change.Subject{Type: "Board", ID: int64(b.ID), Title: b.Name}
}
