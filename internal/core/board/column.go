package board

import (
	"tenon/internal/base/db"
	"tenon/internal/core/noteable"
)

// Kind says what the issues of a column have in common.
type Kind string

// The kinds. Every board begins with its open issues that are in no list, and ends with the closed
// ones.
const (
	Backlog     Kind = "backlog"
	OfLabel     Kind = "label"
	OfMilestone Kind = "milestone"
	OfAssignee  Kind = "assignee"
	OfIteration Kind = "iteration"
	Closed      Kind = "closed"
)

// Kind says what a list is of.
func (l *List) Kind() Kind {
	switch {
	case l.LabelID != nil:
		return OfLabel
	case l.MilestoneID != nil:
		return OfMilestone
	case l.AssigneeID != nil:
		return OfAssignee
	default:
		return OfIteration
	}
}

// Column is what a board shows beside each other: one of its lists, or the issues in none.
type Column struct {
	Board *Located
	Kind  Kind
	List  *List // nil for Backlog and Closed
}

// Columns returns the columns that a board shows, from left to right.
func (l *Located) Columns() []Column {
	var out []Column
	if !l.HideBacklogList {
		out = append(out, Column{Board: l, Kind: Backlog})
	}
	for i := range l.Lists {
		out = append(out, l.Column(&l.Lists[i]))
	}
	if !l.HideClosedList {
		out = append(out, Column{Board: l, Kind: Closed})
	}
	return out
}

// Column returns the column of a list of the board.
func (l *Located) Column(list *List) Column { return Column{Board: l, Kind: list.Kind(), List: list} }

const (
	labelled = "EXISTS (SELECT 1 FROM label_links bl WHERE bl.target_type = ? AND bl.target_id = i.id AND bl.label_id = ?)"
	assigned = "EXISTS (SELECT 1 FROM issue_assignees ba WHERE ba.issue_id = i.id AND ba.user_id = ?)"
)

// Where adds that an issue (i) is in the column, for what the board is about included.
func (c Column) Where(w *db.Where) {
	b := c.Board
	if b.MilestoneID != nil {
		w.And("i.milestone_id = ?", *b.MilestoneID)
	}
	if b.AssigneeID != nil {
		w.And(assigned, *b.AssigneeID)
	}
	if b.Weight != nil {
		w.And("i.weight = ?", *b.Weight)
	}
	for _, id := range b.Labels {
		w.And(labelled, noteable.Issue, id)
	}
	if c.Kind == Closed {
		w.Raw("i.state = 'closed'")
		return
	}
	w.Raw("i.state = 'opened'")
	if c.Kind == Backlog {
		c.without(w)
		return
	}
	switch l := c.List; c.Kind {
	case OfLabel:
		w.And(labelled, noteable.Issue, *l.LabelID)
	case OfMilestone:
		w.And("i.milestone_id = ?", *l.MilestoneID)
	case OfAssignee:
		w.And(assigned, *l.AssigneeID)
	case OfIteration:
		w.And("i.iteration_id = ?", *l.IterationID)
	}
}

// without adds that an issue (i) is in none of the lists.
func (c Column) without(w *db.Where) {
	for i := range c.Board.Lists {
		switch l := &c.Board.Lists[i]; l.Kind() {
		case OfLabel:
			w.And("NOT "+labelled, noteable.Issue, *l.LabelID)
		case OfMilestone:
			w.And("(i.milestone_id IS NULL OR i.milestone_id <> ?)", *l.MilestoneID)
		case OfAssignee:
			w.And("NOT "+assigned, *l.AssigneeID)
		case OfIteration:
			w.And("(i.iteration_id IS NULL OR i.iteration_id <> ?)", *l.IterationID)
		}
	}
}
