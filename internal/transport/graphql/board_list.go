package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/transport/graphql/exec"
)

// column is a column of a board, with what else its issues have to be.
type column struct {
	board.Column

	filters *boardIssueInput
}

// boardIssueInput selects issues of a board.
type boardIssueInput struct {
	issueChoice
	AssigneeUsername []*string
	MilestoneTitle   *string
	Not              *boardIssueNot
}

// boardIssueNot leaves out issues of a board.
type boardIssueNot struct {
	issueNot
	AssigneeUsername []*string
	MilestoneTitle   *string
}

// filter makes the filter of core.
func (i *boardIssueInput) filter() (issue.Filter, error) {
	if i == nil {
		return issue.Filter{}, nil
	}
	f := issueFilter{issueChoice: i.issueChoice}
	f.AssigneeUsernames = present(i.AssigneeUsername)
	if i.MilestoneTitle != nil {
		f.MilestoneTitle = []*string{i.MilestoneTitle}
	}
	if n := i.Not; n != nil {
		f.Not = &n.issueNot
		f.Not.AssigneeUsernames = present(n.AssigneeUsername)
		if n.MilestoneTitle != nil {
			f.Not.MilestoneTitle = []string{*n.MilestoneTitle}
		}
	}
	return f.filter()
}

// issues selects the issues of a column, in their order: by hand, and closed ones by the time of
// closing.
func (c *column) issues(in *boardIssueInput) (authz.Place, issue.Filter, error) {
	if in == nil {
		in = c.filters
	}
	f, err := in.filter()
	f.Board = &issue.OnBoard{Column: c.Column}
	f.OrderBy, f.Asc, f.NonArchived = "relative_position", true, true
	if c.Kind == board.Closed {
		f.OrderBy, f.Asc = "closed_at", false
	}
	return c.Board.Place, f, err
}

// boardLists binds the lists of boards, and their issues.
func (b *binder) boardLists() {
	exec.Root(b.Schema, "boardList", func(ctx context.Context, c *exec.Call[struct {
		ID           string
		IssueFilters *boardIssueInput
	}],
	) (*column, error) {
		found, err := b.columnOf(ctx, c.As, c.Args.ID)
		if found == nil || err != nil {
			return nil, hidden(err)
		}
		return &column{*found, c.Args.IssueFilters}, nil
	})
	exec.Batch(b.Schema, "Board.lists", func(_ context.Context, c *exec.Call[struct {
		paging
		ID           *string
		IssueFilters *boardIssueInput
	}], of []*board.Located,
	) ([]*exec.Page[*column], error) {
		out := make([]*exec.Page[*column], len(of))
		for i, l := range of {
			var all []*column
			for _, found := range l.Columns() {
				x := &column{found, c.Args.IssueFilters}
				if c.Args.ID == nil || *c.Args.ID == columnGID(x) {
					all = append(all, x)
				}
			}
			var err error
			if out[i], err = listOf(c.Args.paging, maxPage, all); err != nil {
				return nil, err
			}
		}
		return out, nil
	}, exec.Costly)
	value(b, "BoardList.id", columnGID)
	value(b, "BoardList.listType", func(c *column) string { return string(c.Kind) })
	value(b, "BoardList.position", ofList(func(l *board.List) *int64 { return &l.Position }))
	value(b, "BoardList.limitMetric", ofList(func(l *board.List) *string { return l.LimitMetric }))
	value(b, "BoardList.maxIssueCount", ofList(func(l *board.List) *int64 { return &l.MaxIssueCount }))
	value(b, "BoardList.maxIssueWeight", ofList(func(l *board.List) *int64 { return &l.MaxIssueWeight }))
	b.boardListSubjects()
	b.boardListIssues()
	exec.Connection[*column](b.Schema, "BoardList")
}

// ofList takes a field from the list of a column: null where there is none.
func ofList[R any](of func(l *board.List) *R) func(c *column) *R {
	return func(c *column) *R {
		if c.List == nil {
			return nil
		}
		return of(c.List)
	}
}

// boardListSubjects binds what lists are of, and their titles, which are of that too.
func (b *binder) boardListSubjects() {
	labelOf := func(c *column) label.ID { return zeroOr(zeroOr(c.List).LabelID) }
	milestoneOf := func(c *column) milestone.ID { return zeroOr(zeroOr(c.List).MilestoneID) }
	assigneeOf := func(c *column) authz.UserID { return zeroOr(zeroOr(c.List).AssigneeID) }
	iterationOf := func(c *column) iteration.ID { return zeroOr(zeroOr(c.List).IterationID) }
	one(b, "BoardList.label", "labels by id", labelOf, b.Labels.ByIDs)
	one(b, "BoardList.milestone", "milestones", milestoneOf, b.Milestones.ByIDs)
	one(b, "BoardList.assignee", "users", assigneeOf, b.usersByIDs)
	one(b, "BoardList.iteration", "iterations", iterationOf, b.Iterations.ByIDs)
	exec.Batch(b.Schema, "BoardList.title", func(ctx context.Context, c *exec.Call[exec.None], of []*column) ([]string, error) {
		out := make([]string, len(of))
		for i, x := range of {
			out[i] = map[board.Kind]string{board.Backlog: "Open", board.Closed: "Closed"}[x.Kind]
		}
		to := columnTitles{of, out}
		return out, titles(
			func() error {
				return titled(ctx, c, to, things[label.ID, label.Label]{"labels by id", labelOf, b.Labels.ByIDs}, func(l *label.Label) string { return l.Title })
			},
			func() error {
				return titled(ctx, c, to, things[milestone.ID, milestone.Milestone]{"milestones", milestoneOf, b.Milestones.ByIDs}, func(m *milestone.Milestone) string { return m.Title })
			},
			func() error {
				return titled(ctx, c, to, things[authz.UserID, account.Summary]{"users", assigneeOf, b.usersByIDs}, func(u *account.Summary) string { return "@" + u.Username })
			},
			func() error {
				return titled(ctx, c, to, things[iteration.ID, iteration.Iteration]{"iterations", iterationOf, b.Iterations.ByIDs}, (*iteration.Iteration).Name)
			})
	})
}

// titles runs reads one after the other.
func titles(reads ...func() error) error {
	for _, read := range reads {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// columnTitles is columns with the title of each.
type columnTitles struct {
	of  []*column
	out []string
}

// things are what columns of one kind are of.
type things[K comparable, V any] struct {
	name string
	id   func(c *column) K
	read reader[K, *V]
}

// titled writes the titles of those columns that are of one kind of things.
func titled[A any, K comparable, V any](ctx context.Context, c *exec.Call[A], to columnTitles, are things[K, V], title func(v *V) string) error {
	found, err := exec.LoadEach(ctx, c, are.name, to.of, are.id, func(ctx context.Context, ids []K) (map[K]*V, error) { return are.read(ctx, c.As, ids) })
	for i, v := range found {
		if v != nil {
			to.out[i] = title(v)
		}
	}
	return err
}

func (b *binder) boardListIssues() {
	exec.Batch(b.Schema, "BoardList.issues", func(ctx context.Context, c *exec.Call[struct {
		paging
		Filters *boardIssueInput
	}], of []*column,
	) ([]*exec.Page[*issue.View], error) {
		out, err := lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, x *column, r page.Range) (page.Page[issue.Issue], error) {
			in, f, err := x.issues(c.Args.Filters)
			if err != nil {
				return page.Page[issue.Issue]{}, err
			}
			f.Range = r
			return b.Issues.List(ctx, c.As, in, f)
		}, b.issueViews(c.As))
		if err != nil {
			return nil, err
		}
		return out, add(ctx, b, c, "weight", out, func(ctx context.Context, i int) (int64, error) {
			return b.columnWeight(ctx, c.As, of[i], c.Args.Filters)
		})
	}, exec.Costly)
	exec.Batch(b.Schema, "BoardList.issuesCount", func(ctx context.Context, c *exec.Call[exec.None], of []*column) ([]int64, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, x *column) (int64, error) {
			in, f, err := x.issues(nil)
			if err != nil {
				return 0, err
			}
			n, err := b.Issues.Statistics(ctx, c.As, in, f)
			return n.Opened + n.Closed, err
		})
	}, exec.Costly)
	for _, field := range []string{"totalIssueWeight", "totalWeight"} {
		exec.Batch(b.Schema, "BoardList."+field, func(ctx context.Context, c *exec.Call[exec.None], of []*column) ([]int64, error) {
			return forEach(ctx, b, c, of, func(ctx context.Context, x *column) (int64, error) { return b.columnWeight(ctx, c.As, x, nil) })
		}, exec.Costly)
	}
}

func (b *binder) columnWeight(ctx context.Context, as authz.Actor, x *column, filters *boardIssueInput) (int64, error) {
	in, f, err := x.issues(filters)
	if err != nil {
		return 0, err
	}
	return b.Issues.Weight(ctx, as, in, f)
}
