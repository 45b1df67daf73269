package graphql

import (
	"context"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// requestFilter is the arguments of lists of merge requests, but for the page.
type requestFilter struct {
	AssigneeUsername, AuthorUsername, ReviewerUsername *string
	filter.Times
	MergedAfter, MergedBefore                        *time.Time
	Draft                                            *bool
	IIDs, In, Labels, SourceBranches, TargetBranches []string
	LabelName                                        []*string
	MilestoneTitle, MilestoneWildcardID              *string
	Not                                              *struct {
		Labels         []string
		MilestoneTitle *string
	}
	Approved               *bool
	Or                     *union
	Sort, State            *string
	mergerequest.Selection `exec:"some"`
}

// union is what a thing has one of.
type union struct{ AssigneeUsernames, AuthorUsernames, LabelNames []string }

// filter makes that of core.
func (u *union) filter() filter.Or {
	if u == nil {
		return filter.Or{}
	}
	return filter.Or{Authors: u.AuthorUsernames, Assignees: u.AssigneeUsernames, Labels: u.LabelNames}
}

// requests binds merge requests. Callers who are not signed in see none.
func (b *binder) requests() {
	b.targetKinds = append(b.targetKinds, targetKind{noteable.MergeRequest, "MERGEREQUEST", b.requestTargets})
	exec.Root(b.Schema, "mergeRequest", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*mergerequest.View, error) {
		return byID(ctx, c.As, c.Args.ID, b.requestsByIDs)
	})
	type numbered struct{ IID string }
	exec.Batch(b.Schema, "Project.mergeRequest", func(ctx context.Context, c *exec.Call[numbered], of []*project.Project) ([]*mergerequest.View, error) {
		return firsts(ctx, b, of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*mergerequest.MergeRequest], error) {
			f := mergerequest.Filter{IIDs: iids[mergerequest.IID]([]string{c.Args.IID}), Range: r}
			return b.MergeRequests.List(ctx, c.As, p.Place(), f)
		}, b.requestViews(c.As))
	}, exec.Costly)
	exec.Batch(b.Schema, "Project.mergeRequests", func(ctx context.Context, c *exec.Call[struct {
		paging
		requestFilter
	}], of []*project.Project,
	) ([]*exec.Page[*mergerequest.View], error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		return requestLists(ctx, part(b, c, c.Args.paging, maxPage), of, func(p *project.Project) (authz.Place, mergerequest.Filter) {
			return p.Place(), f
		})
	})
	exec.Batch(b.Schema, "Group.mergeRequests", func(ctx context.Context, c *exec.Call[struct {
		paging
		requestFilter
		IncludeArchived, IncludeSubgroups bool
	}], of []*namespace.Group,
	) ([]*exec.Page[*mergerequest.View], error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		f.NonArchived, f.DirectOnly = !c.Args.IncludeArchived, !c.Args.IncludeSubgroups
		return requestLists(ctx, part(b, c, c.Args.paging, maxPage), of, func(g *namespace.Group) (authz.Place, mergerequest.Filter) {
			return g.Place(), f
		})
	})
	b.requestFields()
	b.requestCommits()
	b.requestPeople()
	exec.Connection[*mergerequest.View](b.Schema, "MergeRequest")
	value(b, "MergeRequestConnection.totalTimeToMerge", func(p *exec.Page[*mergerequest.View]) *float64 {
		if p.Sum == 0 {
			return nil
		}
		return new(float64(p.Sum) / microseconds)
	})
	exec.Struct[*mergerequest.View](b.Schema, "MergeRequest")
}

// microseconds are those of a second, which times to merge are summed up in.
const microseconds = 1e6

// requestLists reads lists of merge requests: in gives the place and the filter for each parent. With them comes how long the merges
// took, where the request asks for that.
func requestLists[A, P any](ctx context.Context, a asked[A], of []P, in func(parent P) (authz.Place, mergerequest.Filter)) ([]*exec.Page[*mergerequest.View], error) {
	out, err := lists(ctx, a, of, func(ctx context.Context, parent P, r page.Range) (page.Page[*mergerequest.MergeRequest], error) {
		place, f := in(parent)
		f.Range = r
		return a.binder.MergeRequests.List(ctx, a.As, place, f)
	}, a.binder.requestViews(a.As))
	if err != nil {
		return nil, err
	}
	return out, add(ctx, a.binder, a.Call, "totalTimeToMerge", out, func(ctx context.Context, i int) (int64, error) {
		place, f := in(of[i])
		sum, err := a.binder.MergeRequests.TimeToMerge(ctx, a.As, place, f)
		return int64(zeroOr(sum) * microseconds), err
	})
}

// requestViews returns merge requests as the caller may see them, one for each row: nil where the
// project is gone by now.
func (b *binder) requestViews(as authz.Actor) func(ctx context.Context, rows []*mergerequest.MergeRequest) ([]*mergerequest.View, error) {
	return func(ctx context.Context, rows []*mergerequest.MergeRequest) ([]*mergerequest.View, error) {
		views, err := b.MergeRequests.Views(ctx, as, rows, mergerequest.ViewOptions{})
		if err != nil {
			return nil, err
		}
		ids := make([]mergerequest.ID, len(rows))
		for i, m := range rows {
			ids[i] = m.ID
		}
		return aligned(ids, views, func(v *mergerequest.View) mergerequest.ID { return v.ID }), nil
	}
}

// filter makes the filter of core.
func (f *requestFilter) filter() (mergerequest.Filter, error) {
	out := mergerequest.Filter{
		IIDs: iids[mergerequest.IID](f.IIDs), Author: named(f.AuthorUsername), Assignee: named(f.AssigneeUsername), Reviewer: named(f.ReviewerUsername),
		Labels: append(present(f.LabelName), f.Labels...), Selection: f.Selection, In: lower[string](f.In), Draft: f.Draft, Times: f.Times,
		MergedAfter: f.MergedAfter, MergedBefore: f.MergedBefore, SourceBranches: f.SourceBranches, TargetBranches: f.TargetBranches,
		Approved: f.Approved, Or: f.Or.filter(),
	}
	if err := oneOf(map[string]bool{"milestoneTitle": f.MilestoneTitle != nil, "milestoneWildcardId": f.MilestoneWildcardID != nil}); err != nil {
		return out, err
	}
	if len(f.In) > 0 && out.Search == "" {
		return out, argumentError("`search` should be present when including the `in` argument")
	}
	out.Milestone = milestoneOf(nil, f.MilestoneWildcardID)
	out.Milestone.Title = zeroOr(f.MilestoneTitle)
	if f.Not != nil {
		out.Not.Labels, out.Not.Milestone.Title = f.Not.Labels, zeroOr(f.Not.MilestoneTitle)
	}
	if state := zeroOr(f.State); state != "all" {
		out.State = mergerequest.State(state)
	}
	out.OrderBy, out.Asc = page.Sorted(zeroOr(f.Sort))
	return out, nil
}

// named selects by a username, all where there is none.
func named(username *string) filter.Person { return filter.Person{Username: zeroOr(username)} }

func (b *binder) requestFields() {
	value(b, "MergeRequest.id", func(m *mergerequest.View) string { return gid("MergeRequest", m.ID) })
	value(b, "MergeRequest.webUrl", func(m *mergerequest.View) string { return m.URL })
	value(b, "MergeRequest.webPath", func(m *mergerequest.View) string { return b.URLs.Path(m.URL) })
	exec.ValueWith(b.Schema, "MergeRequest.reference", func(m *mergerequest.View, a full) string { return a.of(m.Project.FullPath, m.IID.Reference()) })
	value(b, "MergeRequest.project", func(m *mergerequest.View) *project.Project { return m.Project })
	value(b, "MergeRequest.targetProject", func(m *mergerequest.View) *project.Project { return m.Project })
	value(b, "MergeRequest.targetProjectId", func(m *mergerequest.View) int64 { return int64(m.ProjectID) })
	one(b, "MergeRequest.sourceProject", "projects", func(m *mergerequest.View) project.ID { return zeroOr(m.SourceProjectID) }, b.Projects.ByIDs)
	value(b, "MergeRequest.discussionLocked", func(m *mergerequest.View) bool { return zeroOr(m.DiscussionLocked) })
	value(b, "MergeRequest.mergeStatus", func(m *mergerequest.View) string { return string(m.Status) })
	value(b, "MergeRequest.mergeStatusEnum", func(m *mergerequest.View) string { return string(m.Status) })
	value(b, "MergeRequest.detailedMergeStatus", func(m *mergerequest.View) string { return m.Detailed })
	value(b, "MergeRequest.mergeable", func(m *mergerequest.View) bool { return m.Detailed == "mergeable" })
	value(b, "MergeRequest.conflicts", func(m *mergerequest.View) bool { return m.Status == mergerequest.CannotBeMerged })
	value(b, "MergeRequest.autoMergeEnabled", func(m *mergerequest.View) bool { return m.MergeWhenPipelineSucceeds })
	value(b, "MergeRequest.preparedAt", func(m *mergerequest.View) time.Time { return m.CreatedAt.Time })
	value(b, "MergeRequest.forceRemoveSourceBranch", func(m *mergerequest.View) *bool { return m.ForceRemoveSource })
	value(b, "MergeRequest.shouldRemoveSourceBranch", func(m *mergerequest.View) *bool { return m.ShouldRemoveSource })
	value(b, "MergeRequest.squashReadOnly", func(m *mergerequest.View) bool { return m.Project.SquashFixed() })
	value(b, "MergeRequest.diffHeadSha", func(m *mergerequest.View) *string { return text(m.HeadSHA) })
	value(b, "MergeRequest.diffRefs", func(m *mergerequest.View) *diffRefs {
		if m.HeadSHA == "" {
			return nil
		}
		return &diffRefs{m.BaseSHA, m.HeadSHA, m.StartSHA}
	})
	exec.Struct[*diffRefs](b.Schema, "DiffRefs")
	value(b, "MergeRequest.commitCount", func(m *mergerequest.View) int64 { return m.CommitsCount })
	value(b, "MergeRequest.userNotesCount", func(m *mergerequest.View) int64 { return m.VisibleNotes })
	value(b, "MergeRequest.resolvableDiscussionsCount", func(m *mergerequest.View) int64 { return m.Threads })
	value(b, "MergeRequest.resolvedDiscussionsCount", func(m *mergerequest.View) int64 { return m.Threads - m.UnresolvedThreads })
	value(b, "MergeRequest.rebaseCommitSha", func(m *mergerequest.View) *string { return m.RebaseSHA })
	value(b, "MergeRequest.timeEstimate", func(m *mergerequest.View) int64 { return m.Totals.Estimate })
	value(b, "MergeRequest.totalTimeSpent", func(m *mergerequest.View) int64 { return m.Totals.Spent })
	value(b, "MergeRequest.humanTimeEstimate", func(m *mergerequest.View) *string { return b.Times.HumanPtr(m.Totals.Estimate) })
	value(b, "MergeRequest.humanTotalTimeSpent", func(m *mergerequest.View) *string { return b.Times.HumanPtr(m.Totals.Spent) })
	value(b, "MergeRequest.taskCompletionStatus", func(m *mergerequest.View) tasks { return tasksOf(m.Description) })
	rendered(b, "MergeRequest.descriptionHtml", func(m *mergerequest.View) (reference.Scope, *string) { return reference.Of(m.Project), m.Description })
	renderedTitle(b, "MergeRequest.titleHtml", func(m *mergerequest.View) (reference.Scope, *string) { return reference.Of(m.Project), &m.Title })
}

// diffRefs are the three commits that a diff is made of.
type diffRefs struct{ BaseSHA, HeadSHA, StartSHA string }

// requestRef names a merge request as something that has notes, awards and subscribers.
func requestRef(m *mergerequest.View) noteable.Ref {
	return noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}
}

func (b *binder) requestPeople() {
	one(b, "MergeRequest.subscribed", "subscriptions", requestRef, b.subscribed)
	value(b, "MergeRequest.mergeUser", func(m *mergerequest.View) *user { return m.MergeUser })
	kept(b, "MergeRequest.labels", func(m *mergerequest.View) []*label.Label { return pointers(m.Labels) })
	value(b, "MergeRequest.milestone", func(m *mergerequest.View) *milestone.Milestone { return m.Milestone })
}

// requestsByIDs returns the merge requests that the caller may read.
func (b *binder) requestsByIDs(ctx context.Context, as authz.Actor, ids []mergerequest.ID) (map[mergerequest.ID]*mergerequest.View, error) {
	found, err := b.MergeRequests.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]*mergerequest.MergeRequest, 0, len(found))
	for _, id := range ids {
		if m := found[id]; m != nil {
			rows = append(rows, m)
		}
	}
	views, err := b.requestViews(as)(ctx, rows)
	out := make(map[mergerequest.ID]*mergerequest.View, len(views))
	for _, v := range views {
		if v != nil {
			out[v.ID] = v
		}
	}
	return out, err
}

// requestTargets reads merge requests as targets.
func (b *binder) requestTargets(ctx context.Context, as authz.Actor, ids []int64) (map[int64]*target, error) {
	found, err := b.requestsByIDs(ctx, as, typed[mergerequest.ID](ids))
	out := make(map[int64]*target, len(found))
	for id, m := range found {
		out[int64(id)] = &target{onRequest(m), exec.As("MergeRequest", m), m.Title}
	}
	return out, err
}

// onRequest names a merge request for its notes.
func onRequest(m *mergerequest.View) spot {
	on := note.On{Place: m.Project.Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(m.IID)}}
	return spot{on, m.URL, exec.As("MergeRequest", m)}
}
