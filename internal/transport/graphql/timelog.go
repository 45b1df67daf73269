package graphql

import (
	"context"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/transport/graphql/exec"
)

// timelogFilter is the arguments of lists of time spent.
type timelogFilter struct {
	paging
	StartDate, StartTime, EndDate, EndTime *time.Time
	GroupID, ProjectID                     *globalID
	Sort, Username                         string
}

const (
	errTwoStarts argumentError = "Provide either a start date or time, but not both"
	errTwoEnds   argumentError = "Provide either an end date or time, but not both"
	errStart     argumentError = "Start argument must be before End argument"
	errNoTimelog argumentError = "Provide at least one argument"
)

func (a *timelogFilter) filter() (timelog.Filter, error) {
	f := timelog.Filter{Username: a.Username, From: a.StartTime, To: a.EndTime}
	switch {
	case a.StartDate != nil && a.StartTime != nil:
		return f, errTwoStarts
	case a.EndDate != nil && a.EndTime != nil:
		return f, errTwoEnds
	}
	if a.StartDate != nil {
		f.From = new(a.StartDate.UTC().Truncate(24 * time.Hour))
	}
	if a.EndDate != nil {
		f.To = new(a.EndDate.UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Microsecond))
	}
	if f.From != nil && f.To != nil && f.From.After(*f.To) {
		return f, errStart
	}
	if a.GroupID != nil {
		f.Group = authz.NamespaceID(a.GroupID.ID)
	}
	if a.ProjectID != nil {
		f.ProjectID = project.ID(a.ProjectID.ID)
	}
	f.OrderBy, f.Asc = page.Sorted(a.Sort)
	return f, nil
}

// narrow selects the entries of one thing among those of a filter: false where there can be none.
type narrow[P any] func(f *timelog.Filter, thing P) bool

// timelogs binds time that users spent.
func (b *binder) timelogs() {
	exec.Root(b.Schema, "timelogs", func(ctx context.Context, c *exec.Call[timelogFilter]) (*exec.Page[*timelog.Located], error) {
		in := c.Args
		if in.StartDate == nil && in.StartTime == nil && in.EndDate == nil && in.EndTime == nil && in.GroupID == nil && in.ProjectID == nil && in.Username == "" {
			return nil, errNoTimelog
		}
		out, err := timelogLists(ctx, b, c, in, []exec.RootValue{{}}, func(*timelog.Filter, exec.RootValue) bool { return true })
		if err != nil {
			return nil, err
		}
		return out[0], nil
	})
	ofIssue := func(f *timelog.Filter, i *issue.View) bool { f.IssueID = int64(i.ID); return true }
	timelogsOn(b, "Issue", ofIssue)
	timelogsOn(b, "EpicIssue", ofIssue)
	timelogsOn(b, "MergeRequest", func(f *timelog.Filter, m *mergerequest.View) bool { f.RequestID = int64(m.ID); return true })
	timelogsOf(b, "User", func(f *timelog.Filter, u *user) bool { f.UserID = u.ID; return true })
	timelogsOf(b, "Project", func(f *timelog.Filter, p *project.Project) bool {
		same := f.ProjectID == 0 || f.ProjectID == p.ID
		f.ProjectID = p.ID
		return same
	})
	timelogsOf(b, "Group", func(f *timelog.Filter, g *namespace.Group) bool {
		same := f.Group == 0 || f.Group == g.ID
		f.Group = g.ID
		return same
	})
	value(b, "TimelogConnection.totalSpentTime", func(p *exec.Page[*timelog.Located]) int64 { return p.Sum })
	exec.Connection[*timelog.Located](b.Schema, "Timelog")
	b.timelogFields()
	b.timelogMutations()
}

// timelogsOf binds the time that was spent on things of one type, or by them.
func timelogsOf[P any](b *binder, typ string, narrow narrow[P]) {
	exec.Batch(b.Schema, typ+".timelogs", func(ctx context.Context, c *exec.Call[timelogFilter], of []P) ([]*exec.Page[*timelog.Located], error) {
		return timelogLists(ctx, b, c, c.Args, of, narrow)
	}, exec.Costly)
}

// timelogsOn binds the time that was spent on things of one type, the first time first.
func timelogsOn[P any](b *binder, typ string, narrow narrow[P]) {
	exec.Batch(b.Schema, typ+".timelogs", func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*timelog.Located], error) {
		return timelogLists(ctx, b, c, timelogFilter{paging: c.Args, Sort: "SPENT_AT_ASC"}, of, narrow)
	}, exec.Costly)
}

func timelogLists[A, P any](ctx context.Context, b *binder, c *exec.Call[A], in timelogFilter, of []P, narrow narrow[P]) ([]*exec.Page[*timelog.Located], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	out, err := lists(ctx, part(b, c, in.paging, maxPage), of, func(ctx context.Context, thing P, r page.Range) (page.Page[*timelog.Located], error) {
		f := f
		f.Range = r
		if !narrow(&f, thing) {
			return page.None[*timelog.Located](r), nil
		}
		list, err := b.Times.List(ctx, c.As, f)
		return page.Pointers(list), err
	}, same)
	if err != nil || !c.Wants("totalSpentTime") {
		return out, err
	}
	return out, b.Together(ctx, len(of), func(ctx context.Context, i int) (err error) {
		f := f
		if narrow(&f, of[i]) {
			out[i].Sum, err = b.Times.Spent(ctx, c.As, f)
		}
		return err
	})
}

// timelogPermissions are what the caller may do with an entry.
type timelogPermissions struct{ AdminTimelog bool }

func (b *binder) timelogFields() {
	value(b, "Timelog.id", func(t *timelog.Located) string { return gid("Timelog", t.ID) })
	value(b, "Timelog.timeSpent", func(t *timelog.Located) int64 { return t.Spent })
	one(b, "Timelog.user", "users", func(t *timelog.Located) authz.UserID { return t.UserID }, b.usersByIDs)
	one(b, "Timelog.project", "projects", func(t *timelog.Located) project.ID { return t.ProjectID }, b.Projects.ByIDs)
	one(b, "Timelog.issue", "issues", func(t *timelog.Located) issue.ID { return issue.ID(zeroOr(t.IssueID)) }, b.issuesByIDs)
	one(b, "Timelog.mergeRequest", "merge requests", func(t *timelog.Located) mergerequest.ID { return mergerequest.ID(zeroOr(t.RequestID)) }, b.requestsByIDs)
	exec.Batch(b.Schema, "Timelog.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*timelog.Located) ([]timelogPermissions, error) {
		projects, err := exec.LoadEach(ctx, c, "projects", of, func(t *timelog.Located) project.ID { return t.ProjectID }, func(ctx context.Context, ids []project.ID) (map[project.ID]*project.Project, error) {
			return b.Projects.ByIDs(ctx, c.As, ids)
		})
		out := make([]timelogPermissions, len(of))
		for i, p := range projects {
			if p == nil {
				continue
			}
			if out[i].AdminTimelog, err = b.Times.MayDelete(ctx, c.As, p, &of[i].Entry); err != nil {
				return nil, err
			}
		}
		return out, err
	})
	exec.Struct[timelogPermissions](b.Schema, "TimelogPermissions")
	exec.Struct[*timelog.Located](b.Schema, "Timelog")
}

// timelogPayload is what mutations of time give.
type timelogPayload struct{ Timelog *timelog.Located }

func (b *binder) timelogMutations() {
	exec.Mutation(b.Schema, "timelogCreate", func(ctx context.Context, c *exec.Call[struct {
		IssuableID         globalID
		SpentAt            time.Time
		Summary, TimeSpent string
	}],
	) (timelogPayload, error) {
		in := c.Args
		var made timelog.ID
		change := timelog.Change{Spend: in.TimeSpent, Summary: in.Summary, SpentAt: &in.SpentAt, Made: &made}
		if in.TimeSpent == "" {
			return timelogPayload{}, errs.Sentences(errs.Invalid, "Time spent can't be blank")
		}
		switch in.IssuableID.Model {
		case "Issue", "WorkItem":
			i, err := needed(ctx, c.As, in.IssuableID, b.issuesByIDs)
			if err == nil {
				_, err = b.Issues.TrackTime(ctx, c.As, i.Project, i.IID, change)
			}
			if err != nil {
				return timelogPayload{}, err
			}
		case "MergeRequest":
			m, err := needed(ctx, c.As, in.IssuableID, b.requestsByIDs)
			if err == nil {
				_, err = b.MergeRequests.TrackTime(ctx, c.As, m.Project, m.IID, change)
			}
			if err != nil {
				return timelogPayload{}, err
			}
		default:
			return timelogPayload{}, errNoPlace
		}
		found, err := b.Times.ByIDs(ctx, c.As, []timelog.ID{made})
		return timelogPayload{found[made]}, err
	})
	exec.Mutation(b.Schema, "timelogDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (timelogPayload, error) {
		t, err := needed(ctx, c.As, c.Args.ID, b.Times.ByIDs)
		if err != nil {
			return timelogPayload{}, err
		}
		if t.IssueID != nil {
			i, err := needed(ctx, c.As, globalID{ID: *t.IssueID}, b.issuesByIDs)
			if err == nil {
				_, err = b.Issues.DeleteTime(ctx, c.As, i.Project, i.IID, &t.Entry)
			}
			return timelogPayload{t}, err
		}
		m, err := needed(ctx, c.As, globalID{ID: zeroOr(t.RequestID)}, b.requestsByIDs)
		if err == nil {
			_, err = b.MergeRequests.DeleteTime(ctx, c.As, m.Project, m.IID, &t.Entry)
		}
		return timelogPayload{t}, err
	})
}
