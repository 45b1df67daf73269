package graphql

import (
	"context"
	"time"

	"tenon/internal/base/markdown"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/timelog"
	"tenon/internal/transport/graphql/exec"
)

// placeIssues is the arguments of issues of a project.
type placeIssues struct {
	issueFilter
	HealthStatus *string
}

// issues binds issues.
func (b *binder) issues() {
	exec.Root(b.Schema, "issue", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*issue.View, error) {
		return byID(ctx, c.As, c.Args.ID, b.issuesByIDs)
	})
	exec.Root(b.Schema, "issues", func(ctx context.Context, c *exec.Call[struct {
		paging
		issueFilter
		IncludeArchived bool
	}],
	) (*exec.Page[*issue.View], error) {
		if c.Args.issueFilter.empty() {
			return nil, argumentError("You must provide at least one filter argument for this query")
		}
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		f.NonArchived = !c.Args.IncludeArchived
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[issue.Issue], error) {
			f.Range = r
			return b.Issues.List(ctx, c.As, issue.Place{}, f)
		}, b.issueViews(c.As))
	})
	exec.Batch(b.Schema, "Project.issues", func(ctx context.Context, c *exec.Call[struct {
		paging
		placeIssues
	}], of []*project.Project,
	) ([]*exec.Page[*issue.View], error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[issue.Issue], error) {
			f := f
			f.Range = r
			return b.Issues.List(ctx, c.As, issue.Place{Project: p}, f)
		}, b.issueViews(c.As))
	})
	exec.Batch(b.Schema, "Project.issue", func(ctx context.Context, c *exec.Call[placeIssues], of []*project.Project) ([]*issue.View, error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		return firsts(ctx, b, of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[issue.Issue], error) {
			f := f
			f.Range = r
			return b.Issues.List(ctx, c.As, issue.Place{Project: p}, f)
		}, b.issueViews(c.As))
	}, exec.Costly)
	b.issueFields()
	b.issueTexts()
	b.issueRelations()
	b.issueMutations()
	exec.Connection[*issue.View](b.Schema, "Issue")
	exec.Struct[*issue.View](b.Schema, "Issue")
}

// issueViews gives issues as the caller may see them, one for each row: nil where the project is
// gone by now.
func (b *binder) issueViews(as authz.Actor) func(ctx context.Context, rows []issue.Issue) ([]*issue.View, error) {
	return func(ctx context.Context, rows []issue.Issue) ([]*issue.View, error) {
		views, err := b.Issues.Views(ctx, as, rows, issue.ViewOptions{Subscribed: true})
		if err != nil {
			return nil, err
		}
		ids := make([]issue.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		return aligned(ids, views, func(v *issue.View) issue.ID { return v.ID }), nil
	}
}

// issuesByIDs gives the issues that the caller may read.
func (b *binder) issuesByIDs(ctx context.Context, as authz.Actor, ids []issue.ID) (map[issue.ID]*issue.View, error) {
	found, err := b.Issues.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]issue.Issue, 0, len(found))
	for _, id := range ids {
		if i := found[id]; i != nil {
			rows = append(rows, *i)
		}
	}
	views, err := b.issueViews(as)(ctx, rows)
	out := make(map[issue.ID]*issue.View, len(views))
	for _, v := range views {
		if v != nil {
			out[v.ID] = v
		}
	}
	return out, err
}

func (b *binder) issueFields() {
	value(b, "Issue.id", func(i *issue.View) string { return gid("Issue", i.ID) })
	value(b, "Issue.discussionLocked", func(i *issue.View) bool { return i.Locked() })
	value(b, "Issue.emailsDisabled", func(i *issue.View) bool { return !i.Project.EmailsEnabled })
	value(b, "Issue.dueDate", func(i *issue.View) *time.Time { return day(i.DueDate) })
	value(b, "Issue.hasEpic", func(i *issue.View) bool { return i.Epic != nil })
	value(b, "Issue.healthStatus", func(i *issue.View) *string { return health(i.Health) })
	value(b, "Issue.hidden", func(*issue.View) bool { return false }) // what banned users made is left out of answers
	value(b, "Issue.moved", func(i *issue.View) bool { return i.Related.MovedTo != nil })
	exec.ValueWith(b.Schema, "Issue.reference", func(i *issue.View, a full) string { return a.of(i.Project.FullPath, i.IID.Reference()) })
	value(b, "Issue.relativePosition", func(i *issue.View) int64 { return i.Position })
	value(b, "Issue.severity", func(i *issue.View) issue.Severity { return i.ShownSeverity() })
	value(b, "Issue.subscribed", func(i *issue.View) bool { return zeroOr(i.Subscribed) })
	value(b, "Issue.upvotes", func(i *issue.View) int64 { return i.Related.Upvotes })
	value(b, "Issue.downvotes", func(i *issue.View) int64 { return i.Related.Downvotes })
	value(b, "Issue.blockingCount", func(i *issue.View) int64 { return i.Related.Blocking })
	value(b, "Issue.mergeRequestsCount", func(i *issue.View) int64 { return i.Related.Requests })
	value(b, "Issue.userNotesCount", func(i *issue.View) int64 { return i.UserNotes })
	value(b, "Issue.webUrl", func(i *issue.View) string { return i.URL })
	value(b, "Issue.webPath", func(i *issue.View) string { return b.URLs.Path(i.URL) })
	value(b, "Issue.timeEstimate", func(i *issue.View) int64 { return i.Totals.Estimate })
	value(b, "Issue.totalTimeSpent", func(i *issue.View) int64 { return i.Totals.Spent })
	value(b, "Issue.humanTimeEstimate", func(i *issue.View) *string { return spoken(i.Totals.Estimate) })
	value(b, "Issue.humanTotalTimeSpent", func(i *issue.View) *string { return spoken(i.Totals.Spent) })
	value(b, "Issue.taskCompletionStatus", func(i *issue.View) tasks { return tasksOf(i.Description) })
	exec.Struct[tasks](b.Schema, "TaskCompletionStatus")
}

// full asks for a reference that names the project or group too.
type full struct{ Full bool }

func (a full) of(path, short string) string {
	if a.Full {
		return path + short
	}
	return short
}

// tasks is how many tasks of a description are done.
type tasks struct{ Count, CompletedCount int }

func tasksOf(description *string) (out tasks) {
	for _, t := range markdown.Tasks(zeroOr(description)) {
		out.Count++
		if t.Done {
			out.CompletedCount++
		}
	}
	return out
}

// day gives the beginning of a day, nil for none.
func day(date *string) *time.Time {
	if date == nil {
		return nil
	}
	t, err := time.Parse(time.DateOnly, *date)
	if err != nil {
		return nil
	}
	return &t
}

// health gives a health status as enum: on_track is onTrack.
func health(h *issue.Health) *string {
	if h == nil {
		return nil
	}
	name := map[issue.Health]string{issue.OnTrack: "onTrack", issue.NeedsAttention: "needsAttention", issue.AtRisk: "atRisk"}[*h]
	return text(name)
}

func (b *binder) issueTexts() {
	rendered(b, "Issue.descriptionHtml", func(i *issue.View) (reference.Place, *string) { return reference.Of(i.Project), i.Description })
	renderedTitle(b, "Issue.titleHtml", func(i *issue.View) (reference.Place, *string) { return reference.Of(i.Project), &i.Title })
}

func (b *binder) issueRelations() {
	kept(b, "Issue.assignees", func(i *issue.View) []*account.Summary { return i.Assignees })
	kept(b, "Issue.labels", func(i *issue.View) []*label.Label { return pointers(i.Labels) })
	value(b, "Issue.milestone", func(i *issue.View) *milestone.Milestone { return i.Milestone })
	value(b, "Issue.iteration", func(i *issue.View) *iteration.Iteration { return i.Iteration })
	one(b, "Issue.movedTo", "issues", func(i *issue.View) issue.ID { return zeroOr(i.Related.MovedTo) }, b.issuesByIDs)
	one(b, "Issue.closedAsDuplicateOf", "issues", func(i *issue.View) issue.ID {
		if i.Related.DuplicateOf == nil {
			return 0
		}
		return i.Related.DuplicateOf.ID
	}, b.issuesByIDs)
	one(b, "Issue.epic", "epics", func(i *issue.View) epic.ID {
		if i.Epic == nil {
			return 0
		}
		return epic.ID(i.Epic.ID)
	}, b.Epics.ByIDs)
}

// spoken writes seconds as people do, nil for none.
func spoken(seconds int64) *string {
	if seconds == 0 {
		return nil
	}
	return text(timelog.Human(seconds))
}
