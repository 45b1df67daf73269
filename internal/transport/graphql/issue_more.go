package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

func issueRefOf(i *issue.View) noteable.Ref {
	return noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}
}

// subscribed reports which things the caller is subscribed to.
func (b *binder) subscribed(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]bool, error) {
	return b.Subscriptions.Of(ctx, as, refs...)
}

// issueBlocks binds the open issues that block issues.
func (b *binder) issueBlocks(typ string) {
	id := func(i *issue.View) issue.ID { return i.ID }
	exec.Batch(b.Schema, typ+".blocked", func(ctx context.Context, c *exec.Call[exec.None], of []*issue.View) ([]bool, error) {
		found, err := loaded(ctx, c, "blockers of issues", of, id, b.Issues.Blockers)
		return mapped(found, func(ids []issue.ID) bool { return len(ids) > 0 }), err
	})
	exec.Batch(b.Schema, typ+".blockedByCount", func(ctx context.Context, c *exec.Call[exec.None], of []*issue.View) ([]int, error) {
		found, err := loaded(ctx, c, "blockers of issues", of, id, b.Issues.Blockers)
		return mapped(found, func(ids []issue.ID) int { return len(ids) }), err
	})
	exec.Batch(b.Schema, typ+".blockedByIssues", func(ctx context.Context, c *exec.Call[paging], of []*issue.View) ([]*exec.Page[*issue.View], error) {
		found, err := loaded(ctx, c, "blockers of issues", of, id, b.Issues.Blockers)
		if err != nil {
			return nil, err
		}
		out, err := pagesOf(ctx, c, c.Args, found, b.issuesByIDs)
		if err != nil {
			return nil, err
		}
		return out, add(ctx, b, c, "weight", out, func(ctx context.Context, i int) (int64, error) { return b.Issues.WeightOf(ctx, c.As, found[i]) })
	})
}

// loaded is exec.LoadEach with a reader.
func loaded[A, P any, K comparable, V any](ctx context.Context, c *exec.Call[A], name string, of []P, id func(parent P) K, read reader[K, V]) ([]V, error) {
	return exec.LoadEach(ctx, c, name, of, id, func(ctx context.Context, ids []K) (map[K]V, error) { return read(ctx, c.As, ids) })
}

// mapped makes something of each element of a list.
func mapped[V, R any](list []V, as func(v V) R) []R {
	out := make([]R, len(list))
	for i, v := range list {
		out[i] = as(v)
	}
	return out
}

// pagesOf returns a page of the things with the ids of each parent, which the caller may see.
func pagesOf[A any, K comparable, V any](ctx context.Context, c *exec.Call[A], p paging, ids [][]K, read reader[K, V]) ([]*exec.Page[V], error) {
	out, parts := make([]*exec.Page[V], len(ids)), make([]*exec.Page[K], len(ids))
	var all []K
	for i, list := range ids {
		var err error
		if parts[i], err = listOf(p, maxPage, list); err != nil {
			return nil, err
		}
		all = append(all, parts[i].Items...)
	}
	found, err := read(ctx, c.As, all)
	for i, part := range parts {
		out[i] = &exec.Page[V]{Cursors: part.Cursors, HasNext: part.HasNext, HasPrevious: part.HasPrevious, Count: part.Count, Items: make([]V, len(part.Items))}
		for k, id := range part.Items {
			out[i].Items[k] = found[id]
		}
	}
	return out, err
}

// issuePeople binds who has to do with issues, what they may do, and the merge requests that name
// issues.
func (b *binder) issuePeople(typ string) {
	commentersOf(b, typ, issueRefOf)
	discussionsCount(b, typ, issueRefOf)
	peopleOn(b, typ+".participants", func(ctx context.Context, as authz.Actor, i *issue.View, r page.Range) (page.Page[authz.UserID], error) {
		return b.Subscriptions.Participants(ctx, as, issueRefOf(i), i.Project.Subject(), r)
	})
	one(b, typ+".userPermissions", "permissions of issues", func(i *issue.View) issue.ID { return i.ID }, b.Issues.Permissions)
	exec.Batch(b.Schema, typ+".relatedMergeRequests", func(ctx context.Context, c *exec.Call[paging], of []*issue.View) ([]*exec.Page[*mergerequest.View], error) {
		return requestLists(ctx, part(b, c, c.Args, maxPage), of, func(i *issue.View) (authz.Place, mergerequest.Filter) {
			return authz.Place{}, mergerequest.Filter{Issue: int64(i.ID), Asc: true}
		})
	})
	todosOn(b, typ, issueRefOf)
}

// issueCounts binds how many issues of projects there are by state.
func (b *binder) issueCounts() {
	exec.Batch(b.Schema, "Project.issueStatusCounts", func(ctx context.Context, c *exec.Call[issueChoice], of []*project.Project) ([]*issue.Statistics, error) {
		in := issueFilter{issueChoice: c.Args}
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*issue.Statistics, error) {
			n, err := b.Issues.Statistics(ctx, c.As, p.Place(), f)
			return &n, err
		})
	})
	value(b, "IssueStatusCountsType.all", func(n *issue.Statistics) int64 { return n.Opened + n.Closed })
	exec.Struct[*issue.Statistics](b.Schema, "IssueStatusCountsType")
}

// noDesigns answers what the caller may do with the designs of an issue, which has none.
func noDesigns(issue.Permissions) bool { return false }

// issuePermissions binds what the caller may do with issues.
func (b *binder) issuePermissions() {
	for field, of := range map[string]func(may issue.Permissions) bool{
		"adminIssue": func(may issue.Permissions) bool { return may.Metadata }, "createNote": func(may issue.Permissions) bool { return may.Comment },
		"readIssue":    func(issue.Permissions) bool { return true }, // or it is not shown
		"createDesign": noDesigns, "readDesign": noDesigns, "destroyDesign": noDesigns,
		"reopenIssue": func(may issue.Permissions) bool { return may.Update }, "updateIssue": func(may issue.Permissions) bool { return may.Update },
	} {
		value(b, "IssuePermissions."+field, of)
	}
}

// issueTargets reads issues as targets.
func (b *binder) issueTargets(ctx context.Context, as authz.Actor, ids []int64) (map[int64]*target, error) {
	found, err := b.issuesByIDs(ctx, as, typed[issue.ID](ids))
	out := make(map[int64]*target, len(found))
	for id, i := range found {
		out[int64(id)] = &target{onIssue(i), exec.As("Issue", i), i.Title}
	}
	return out, err
}
