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
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// placeIssues is the arguments of issues of a project.
type placeIssues struct {
	issueFilter
	HealthStatus *string
}

// filter makes the filter of core. The health status has two arguments.
func (f *placeIssues) filter() (issue.Filter, error) {
	if f.HealthStatusFilter == nil {
		f.HealthStatusFilter = f.HealthStatus
	}
	return f.issueFilter.filter()
}

// issues binds issues.
func (b *binder) issues() {
	b.targetKinds = append(b.targetKinds, targetKind{noteable.Issue, "ISSUE", b.issueTargets})
	exec.Root(b.Schema, "issue", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*issue.View, error) {
		return byID(ctx, c.As, c.Args.ID, b.issuesByIDs)
	})
	exec.Root(b.Schema, "issues", func(ctx context.Context, c *exec.Call[struct {
		paging
		issueFilter
		IncludeArchived bool
	}],
	) (*exec.Page[*issue.View], error) {
		if !c.GivenBeside("after", "before", "first", "last", "sort", "includeArchived") {
			return nil, argumentError("You must provide at least one filter argument for this query")
		}
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		f.NonArchived = !c.Args.IncludeArchived
		return issueList(ctx, part(b, c, c.Args.paging, maxPage), f, authz.Place{})
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
		return issueLists(ctx, part(b, c, c.Args.paging, maxPage), f, of, func(p *project.Project) authz.Place { return p.Place() })
	})
	exec.Batch(b.Schema, "Group.issues", func(ctx context.Context, c *exec.Call[struct {
		paging
		placeIssues
		IncludeArchived, IncludeSubgroups bool
	}], of []*namespace.Group,
	) ([]*exec.Page[*issue.View], error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		f.NonArchived, f.DirectOnly = !c.Args.IncludeArchived, !c.Args.IncludeSubgroups
		return issueLists(ctx, part(b, c, c.Args.paging, maxPage), f, of, func(g *namespace.Group) authz.Place { return g.Place() })
	})
	exec.Batch(b.Schema, "Project.issue", func(ctx context.Context, c *exec.Call[placeIssues], of []*project.Project) ([]*issue.View, error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		return firsts(ctx, b, of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[issue.Issue], error) {
			f := f
			f.Range = r
			return b.Issues.List(ctx, c.As, p.Place(), f)
		}, b.issueViews(c.As))
	}, exec.Costly)
	value(b, "Issue.relativePosition", func(i *issue.View) int64 { return i.Position })
	b.issuePermissions()
	b.issueType("Issue")
	exec.Connection[*issue.View](b.Schema, "Issue")
	value(b, "IssueConnection.weight", func(p *exec.Page[*issue.View]) int64 { return p.Sum })
	exec.Struct[tasks](b.Schema, "TaskCompletionStatus")
	b.issueMutations()
	b.issueCounts()
}

// issueType binds the fields that issues have, and issues of epics as well.
func (b *binder) issueType(typ string) {
	b.issueFields(typ)
	b.issueTexts(typ)
	b.issueRelations(typ)
	b.issueBlocks(typ)
	b.issuePeople(typ)
	exec.Struct[*issue.View](b.Schema, typ)
}

// issueLists reads lists of issues in places, with the sums of their weights.
func issueLists[A, P any](ctx context.Context, a asked[A], f issue.Filter, of []P, in func(parent P) authz.Place) ([]*exec.Page[*issue.View], error) {
	out, err := lists(ctx, a, of, func(ctx context.Context, parent P, r page.Range) (page.Page[issue.Issue], error) {
		f := f
		f.Range = r
		return a.binder.Issues.List(ctx, a.As, in(parent), f)
	}, a.binder.issueViews(a.As))
	if err != nil {
		return nil, err
	}
	return out, add(ctx, a.binder, a.Call, "weight", out, func(ctx context.Context, i int) (int64, error) {
		return a.binder.Issues.Weight(ctx, a.As, in(of[i]), f)
	})
}

// issueList is issueLists for one place.
func issueList[A any](ctx context.Context, a asked[A], f issue.Filter, in authz.Place) (*exec.Page[*issue.View], error) {
	out, err := issueLists(ctx, a, f, []authz.Place{in}, func(in authz.Place) authz.Place { return in })
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// add reads what a field of whole lists adds up, where the request asks for it.
func add[A, V any](ctx context.Context, b *binder, c *exec.Call[A], field string, pages []*exec.Page[V], sum func(ctx context.Context, i int) (int64, error)) error {
	if !c.Wants(field) {
		return nil
	}
	return b.Together(ctx, len(pages), func(ctx context.Context, i int) (err error) {
		pages[i].Sum, err = sum(ctx, i)
		return hidden(err)
	})
}

// issueViews returns issues as the caller may see them, one for each row: nil where the project is
// gone by now.
func (b *binder) issueViews(as authz.Actor) func(ctx context.Context, rows []issue.Issue) ([]*issue.View, error) {
	return func(ctx context.Context, rows []issue.Issue) ([]*issue.View, error) {
		views, err := b.Issues.Views(ctx, as, rows, issue.ViewOptions{})
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

// issuesByIDs returns the issues that the caller may read.
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

func (b *binder) issueFields(typ string) {
	value(b, typ+".id", func(i *issue.View) string { return gid("Issue", i.ID) })
	value(b, typ+".discussionLocked", func(i *issue.View) bool { return i.Locked() })
	value(b, typ+".emailsDisabled", func(i *issue.View) bool { return !i.Project.EmailsEnabled })
	value(b, typ+".dueDate", func(i *issue.View) *time.Time { return day(i.DueDate) })
	value(b, typ+".hasEpic", func(i *issue.View) bool { return i.Epic != nil })
	value(b, typ+".healthStatus", func(i *issue.View) *string { return health(i.Health) })
	value(b, typ+".hidden", func(i *issue.View) bool { return i.Author != nil && i.Author.State == account.Banned })
	value(b, typ+".moved", func(i *issue.View) bool { return i.Related.MovedTo != nil })
	exec.ValueWith(b.Schema, typ+".reference", func(i *issue.View, a full) string { return a.of(i.Project.FullPath, i.IID.Reference()) })
	value(b, typ+".severity", func(i *issue.View) issue.Severity { return i.ShownSeverity() })
	one(b, typ+".subscribed", "subscriptions", issueRefOf, b.subscribed)
	one(b, typ+".updatedBy", "users", func(i *issue.View) authz.UserID { return zeroOr(i.UpdatedByID) }, b.usersByIDs)
	value(b, typ+".createNoteEmail", func(*issue.View) *string { return nil })
	value(b, typ+".upvotes", func(i *issue.View) int64 { return i.Related.Upvotes })
	value(b, typ+".downvotes", func(i *issue.View) int64 { return i.Related.Downvotes })
	value(b, typ+".blockingCount", func(i *issue.View) int64 { return i.Related.Blocking })
	value(b, typ+".mergeRequestsCount", func(i *issue.View) int64 { return i.Related.MergeRequests })
	value(b, typ+".userNotesCount", func(i *issue.View) int64 { return i.UserNotes })
	value(b, typ+".webUrl", func(i *issue.View) string { return i.URL })
	value(b, typ+".webPath", func(i *issue.View) string { return b.URLs.Path(i.URL) })
	value(b, typ+".timeEstimate", func(i *issue.View) int64 { return i.Totals.Estimate })
	value(b, typ+".totalTimeSpent", func(i *issue.View) int64 { return i.Totals.Spent })
	value(b, typ+".humanTimeEstimate", func(i *issue.View) *string { return b.Times.HumanPtr(i.Totals.Estimate) })
	value(b, typ+".humanTotalTimeSpent", func(i *issue.View) *string { return b.Times.HumanPtr(i.Totals.Spent) })
	value(b, typ+".taskCompletionStatus", func(i *issue.View) tasks { return tasksOf(i.Description) })
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

// day returns the beginning of a day, nil for none.
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

// health returns a health status as enum: on_track is onTrack.
func health(h *issue.Health) *string {
	if h == nil {
		return nil
	}
	name := map[issue.Health]string{issue.OnTrack: "onTrack", issue.NeedsAttention: "needsAttention", issue.AtRisk: "atRisk"}[*h]
	return text(name)
}

func (b *binder) issueTexts(typ string) {
	rendered(b, typ+".descriptionHtml", func(i *issue.View) (reference.Scope, *string) { return reference.Of(i.Project), i.Description })
	renderedTitle(b, typ+".titleHtml", func(i *issue.View) (reference.Scope, *string) { return reference.Of(i.Project), &i.Title })
}

func (b *binder) issueRelations(typ string) {
	kept(b, typ+".assignees", func(i *issue.View) []*account.Summary { return i.Assignees })
	kept(b, typ+".labels", func(i *issue.View) []*label.Label { return pointers(i.Labels) })
	value(b, typ+".milestone", func(i *issue.View) *milestone.Milestone { return i.Milestone })
	value(b, typ+".iteration", func(i *issue.View) *iteration.Iteration { return i.Iteration })
	one(b, typ+".movedTo", "issues", func(i *issue.View) issue.ID { return zeroOr(i.Related.MovedTo) }, b.issuesByIDs)
	one(b, typ+".closedAsDuplicateOf", "issues", func(i *issue.View) issue.ID {
		if i.Related.DuplicateOf == nil {
			return 0
		}
		return i.Related.DuplicateOf.ID
	}, b.issuesByIDs)
	one(b, typ+".epic", "epics", func(i *issue.View) epic.ID {
		if i.Epic == nil {
			return 0
		}
		return epic.ID(i.Epic.ID)
	}, b.Epics.ByIDs)
}

// onIssue names an issue for its notes.
func onIssue(i *issue.View) spot {
	on := note.On{Place: i.Project.Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}, Anonymous: true}
	return spot{on, i.URL, exec.As("Issue", i)}
}
