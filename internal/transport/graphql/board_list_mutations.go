package graphql

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/transport/graphql/exec"
)

// boardListPayload is what mutations of lists of boards give.
type boardListPayload struct{ List *column }

// boardListMutations binds what is done with lists of boards, and with the issues in them.
func (b *binder) boardListMutations() {
	exec.Mutation(b.Schema, "boardListCreate", b.createBoardList)
	type moved struct {
		ListID   string
		Position *int64
	}
	exec.Mutation(b.Schema, "updateBoardList", func(ctx context.Context, c *exec.Call[moved]) (boardListPayload, error) {
		return b.changeBoardList(ctx, c.As, c.Args.ListID, board.ListChanges{Position: c.Args.Position})
	})
	type limited struct {
		LimitMetric                   *string
		ListID                        string
		MaxIssueCount, MaxIssueWeight *int64
	}
	exec.Mutation(b.Schema, "boardListUpdateLimitMetrics", func(ctx context.Context, c *exec.Call[limited]) (boardListPayload, error) {
		in := c.Args
		return b.changeBoardList(ctx, c.As, in.ListID, board.ListChanges{MaxIssueCount: in.MaxIssueCount, MaxIssueWeight: in.MaxIssueWeight, LimitMetric: in.LimitMetric})
	})
	exec.Mutation(b.Schema, "destroyBoardList", func(ctx context.Context, c *exec.Call[struct{ ListID string }]) (boardListPayload, error) {
		x, err := b.listOfBoard(ctx, c.As, c.Args.ListID)
		if err != nil {
			return boardListPayload{}, err
		}
		return boardListPayload{}, b.Boards.DeleteList(ctx, c.As, x.Board.Place, x.Board.ID, x.List.ID)
	})
	exec.Mutation(b.Schema, "issueMoveList", b.dragIssue)
}

func (b *binder) createBoardList(ctx context.Context, c *exec.Call[struct {
	AssigneeID, IterationID, LabelID, MilestoneID *globalID
	Backlog                                       bool
	BoardID                                       globalID
}],
) (boardListPayload, error) {
	l, err := needed(ctx, c.As, c.Args.BoardID, b.Boards.ByIDs)
	if err != nil {
		return boardListPayload{}, err
	}
	in := c.Args
	given := 0
	for _, is := range []bool{in.AssigneeID != nil, in.IterationID != nil, in.LabelID != nil, in.MilestoneID != nil, in.Backlog} {
		if is {
			given++
		}
	}
	if given != 1 {
		return boardListPayload{}, errOneList
	}
	if in.Backlog { // every board has that: it can only be shown
		shown, err := b.Boards.Update(ctx, c.As, l.Place, l.ID, board.Changes{HideBacklogList: new(false)})
		if err != nil {
			return boardListPayload{}, err
		}
		return boardListPayload{&column{Column: board.Column{Board: &board.Located{Board: *shown, Place: l.Place}, Kind: board.Backlog}}}, nil
	}
	made, err := b.Boards.CreateList(ctx, c.As, l.Place, l.ID, board.ListInput{
		AssigneeID: numbered[authz.UserID](in.AssigneeID), IterationID: numbered[iteration.ID](in.IterationID), LabelID: numbered[label.ID](in.LabelID),
		MilestoneID: numbered[milestone.ID](in.MilestoneID),
	})
	if err != nil {
		return boardListPayload{}, err
	}
	return boardListPayload{&column{Column: l.Column(made)}}, nil
}

const errOneList argumentError = "One and only one of [backlog, labelId, milestoneId, iterationId, assigneeId] arguments is required."

// numbered returns the number of a global id, nil for none.
func numbered[T ~int64](id *globalID) *T {
	if id == nil {
		return nil
	}
	return new(T(id.ID))
}

// listOfBoard finds a list: the columns without one cannot be changed.
func (b *binder) listOfBoard(ctx context.Context, as authz.Actor, id string) (*board.Column, error) {
	x, err := b.columnOf(ctx, as, id)
	if err == nil && x.List == nil {
		err = errs.Missing("")
	}
	return x, err
}

func (b *binder) changeBoardList(ctx context.Context, as authz.Actor, id string, change board.ListChanges) (boardListPayload, error) {
	x, err := b.listOfBoard(ctx, as, id)
	if err != nil {
		return boardListPayload{}, err
	}
	changed, err := b.Boards.UpdateList(ctx, as, x.Board.Place, x.Board.ID, x.List.ID, change)
	if err != nil {
		return boardListPayload{}, err
	}
	return boardListPayload{&column{Column: x.Board.Column(changed)}}, nil
}

func (b *binder) dragIssue(ctx context.Context, c *exec.Call[struct {
	issueRef
	BoardID                                         globalID
	EpicID                                          exec.Opt[globalID]
	FromListID, ToListID, MoveAfterID, MoveBeforeID *string
	PositionInList                                  *int64
}],
) (issued, error) {
	in := c.Args
	l, err := needed(ctx, c.As, in.BoardID, b.Boards.ByIDs)
	if err != nil {
		return issued{}, err
	}
	p, i, err := b.issueOf(ctx, c.As, in.issueRef)
	if err != nil {
		return issued{}, err
	}
	d := issue.Drag{At: in.PositionInList, Between: issue.Move{After: issue.ID(numberOr(in.MoveBeforeID)), Before: issue.ID(numberOr(in.MoveAfterID))}}
	for _, end := range []struct {
		id *string
		to **board.Column
	}{{in.FromListID, &d.From}, {in.ToListID, &d.To}} {
		if given(end.id) == "" {
			continue
		}
		if *end.to, err = b.columnOf(ctx, c.As, *end.id); err == nil && (*end.to).Board.ID != l.ID {
			err = errNoPlace
		}
		if err != nil {
			return issued{}, err
		}
	}
	if in.EpicID.Set {
		d.Epic = &issue.EpicChoice{ID: zeroOr(in.EpicID.Value).ID}
	}
	if err := b.neighbours(ctx, c.As, d.Between); err != nil {
		return issued{}, err
	}
	changed, err := b.Issues.Drag(ctx, c.As, p, i.IID, d)
	return b.issued(ctx, c.As, changed, err)
}
