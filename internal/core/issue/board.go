package issue

import (
	"context"
	"errors"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// OnBoard selects the issues in a column of a board, but for one of them.
type OnBoard struct {
	board.Column
	Except ID // 0 for none
}

// Drag says where an issue goes on a board.
type Drag struct {
	From, To *board.Column // nil where the issue stays in its column
	Between  Move
	At       *int64 // place in the column that it goes to, from 0; a negative one is its end
	Epic     *EpicChoice
}

// CodeStays is the error of a drag that goes nowhere.
const CodeStays errs.Code = "issue_stays"

// Drag moves an issue to another column of a board, which gives it what the column is of and takes
// what the one that it leaves is of, and to a place in it. It requires UpdateIssue, or
// SetIssueMetadata for more than the place and the state.
func (s *Service) Drag(ctx context.Context, as authz.Actor, p *project.Project, iid IID, d Drag) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	if (d.From == nil || d.To == nil) && d.Between == (Move{}) && d.At == nil {
		return nil, errs.Coded(errs.Invalid, CodeStays, "neither another column nor another place is named")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		c, err := d.changes(i)
		if err == nil && d.From != nil && d.To != nil && d.To.Kind == board.OfLabel {
			c.Labels.Add, err = s.Labels.TitlesByIDs(ctx, as, p.Place(), []label.ID{*d.To.List.LabelID})
		}
		if err == nil {
			_, err = s.Update(ctx, as, p, iid, c)
		}
		if err != nil {
			return err
		}
		between, err := s.beside(ctx, as, i, d)
		if err != nil || between == (Move{}) {
			return err
		}
		_, err = s.Reorder(ctx, as.Unconditional(), p, iid, between)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, iid)
}

// changes are those of an issue that goes from column to column.
func (d Drag) changes(i *Issue) (Changes, error) {
	c := Changes{Epic: d.Epic, Strict: true}
	if d.From == nil || d.To == nil {
		return c, nil
	}
	from, to := d.From, d.To
	if from.Board.ID != to.Board.ID {
		return c, errors.New("columns of two boards")
	}
	switch {
	case to.Kind == from.Kind && to.List == nil:
		return c, nil
	case to.Kind == board.Closed:
		c.StateEvent = "close"
		return c, nil
	case from.Kind == board.Closed:
		c.StateEvent = "reopen"
	}
	people := i.Assignees
	if from.List != nil && (to.Kind == board.Backlog || to.Kind == from.Kind) {
		switch from.Kind {
		case board.OfLabel:
			c.Labels.Remove = []string{strconv.FormatInt(int64(*from.List.LabelID), 10)}
		case board.OfMilestone:
			c.MilestoneID = new(milestone.ID(0))
		case board.OfIteration:
			c.IterationID = new(iteration.ID(0))
		case board.OfAssignee:
			people = without(people, []authz.UserID{*from.List.AssigneeID})
			c.AssigneeIDs = &people
		}
	}
	switch to.Kind {
	case board.OfMilestone:
		c.MilestoneID = to.List.MilestoneID
	case board.OfIteration:
		c.IterationID = to.List.IterationID
	case board.OfAssignee:
		people = append(without(people, []authz.UserID{*to.List.AssigneeID}), *to.List.AssigneeID)
		c.AssigneeIDs = &people
	}
	return c, nil
}

// beside returns the issues that one goes between: those that were named, or those at a place of the
// column.
func (s *Service) beside(ctx context.Context, as authz.Actor, i *Issue, d Drag) (Move, error) {
	column := d.To
	if column == nil {
		column = d.From
	}
	if d.Between != (Move{}) || d.At == nil || column == nil {
		return d.Between, nil
	}
	f := Filter{Board: &OnBoard{*column, i.ID}, OrderBy: "relative_position", Asc: *d.At >= 0, Range: page.Range{Limit: 1, Uncounted: true}}
	f.Offset = int(max(*d.At, 0))
	found, err := s.List(ctx, as, column.Board.Place, f)
	if err != nil {
		return Move{}, err
	}
	if len(found.Items) == 0 && f.Asc && f.Offset > 0 { // beyond the end
		d.At = new(int64(-1))
		return s.beside(ctx, as, i, d)
	}
	switch {
	case len(found.Items) == 0:
		return Move{}, nil
	case f.Asc:
		return Move{Before: found.Items[0].ID}, nil
	}
	return Move{After: found.Items[0].ID}, nil
}

// labelled returns the candidates of a column of a label.
func (o *OnBoard) labelled() (query string, args []any, ok bool) {
	if o == nil || o.Kind != board.OfLabel {
		return "", nil, false
	}
	return "SELECT target_id AS id FROM label_links WHERE target_type = ? AND label_id = ?", []any{noteable.Issue, *o.List.LabelID}, true
}
