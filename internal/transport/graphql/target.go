package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
	"tenon/internal/transport/graphql/exec"
)

// target is something that people comment on and have to-do items about: an issue, a merge request
// or an epic.
type target struct {
	spot

	value any // of the field that gives it
	title string
}

// On names the target for those who subscribe to it and add to-do items.
func (t *target) On() subscription.On {
	return subscription.On{Place: noteable.Place{Project: t.on.Project, Group: t.on.Group}, Kind: t.on.Kind, Key: t.on.Key}
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

// targets reads things that the caller may see, those of each kind together.
func (b *binder) targets(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]*target, error) {
	var issues []issue.ID
	var requests []mergerequest.ID
	var epics []epic.ID
	for _, r := range refs {
		switch r.Kind {
		case noteable.Issue:
			issues = append(issues, issue.ID(r.ID))
		case noteable.MergeRequest:
			requests = append(requests, mergerequest.ID(r.ID))
		case noteable.Epic:
			epics = append(epics, epic.ID(r.ID))
		}
	}
	out := make(map[noteable.Ref]*target, len(refs))
	foundIssues, err := b.issuesByIDs(ctx, as, issues)
	if err != nil {
		return nil, err
	}
	for id, i := range foundIssues {
		out[noteable.Ref{Kind: noteable.Issue, ID: int64(id)}] = &target{onIssue(i), exec.As("Issue", i), i.Title}
	}
	foundRequests, err := b.requestsByIDs(ctx, as, requests)
	if err != nil {
		return nil, err
	}
	for id, m := range foundRequests {
		out[noteable.Ref{Kind: noteable.MergeRequest, ID: int64(id)}] = &target{onRequest(m), exec.As("MergeRequest", m), m.Title}
	}
	return out, b.epicTargets(ctx, as, epics, out)
}

// epicTargets is targets for epics.
func (b *binder) epicTargets(ctx context.Context, as authz.Actor, ids []epic.ID, out map[noteable.Ref]*target) error {
	found, err := b.Epics.ByIDs(ctx, as, ids)
	if err != nil || len(found) == 0 {
		return err
	}
	var list []*epic.Epic
	for _, e := range found {
		list = append(list, e)
	}
	spots, err := b.onEpics(ctx, as, list)
	for i, e := range list {
		if err == nil && spots[i].on.Group != nil {
			out[noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)}] = &target{spots[i], exec.As("Epic", e), e.Title}
		}
	}
	return err
}

// targetOf reads the thing that a global id names.
func (b *binder) targetOf(ctx context.Context, as authz.Actor, id globalID) (*target, noteable.Ref, error) {
	ref := noteable.Ref{Kind: noteable.Kind(id.Model), ID: id.ID}
	if id.Model == "WorkItem" {
		ref.Kind = noteable.Issue
	}
	found, err := b.targets(ctx, as, []noteable.Ref{ref})
	t := found[ref]
	if err == nil && t == nil {
		err = errNoPlace
	}
	return t, ref, err
}
