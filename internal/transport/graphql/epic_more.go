package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

func epicRefOf(e *epic.Epic) noteable.Ref {
	return noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)}
}

// epicIssues binds the issues of epics: issues with their place in the epic.
func (b *binder) epicIssues() {
	value(b, "EpicIssue.epicIssueId", func(i *issue.View) string { return gid("EpicIssue", zeroOr(i.Epic).LinkID) })
	value(b, "EpicIssue.relativePosition", func(i *issue.View) int64 { return zeroOr(i.Epic).Position })
	notesOf(b, "EpicIssue", each(onIssue))
	b.issueType("EpicIssue")
	exec.Connection[*issue.View](b.Schema, "EpicIssue")
	value(b, "EpicIssueConnection.weight", func(p *exec.Page[*issue.View]) int64 { return p.Sum })
	exec.Batch(b.Schema, "Epic.issues", func(ctx context.Context, c *exec.Call[paging], of []*epic.Epic) ([]*exec.Page[*issue.View], error) {
		groups, err := exec.LoadEach(ctx, c, "groups", of, func(e *epic.Epic) namespace.ID { return e.GroupID }, func(ctx context.Context, ids []namespace.ID) (map[namespace.ID]*namespace.Group, error) {
			return b.Namespaces.ByIDs(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		type place struct {
			*epic.Epic
			in *namespace.Group
		}
		places := make([]place, len(of))
		for i, e := range of {
			places[i] = place{e, groups[i]}
		}
		out, err := lists(ctx, part(b, c, c.Args, maxPage), places, func(ctx context.Context, e place, r page.Range) (page.Page[issue.Issue], error) {
			if e.in == nil {
				return page.None[issue.Issue](r), nil
			}
			return b.Issues.InEpic(ctx, c.As, e.in.Subject(), int64(e.IID), r)
		}, b.issueViews(c.As))
		if err != nil {
			return nil, err
		}
		return out, add(ctx, b, c, "weight", out, func(ctx context.Context, i int) (int64, error) {
			if places[i].in == nil {
				return 0, nil
			}
			return b.Issues.WeightInEpic(ctx, c.As, places[i].in.Subject(), int64(places[i].IID))
		})
	})
}

// epicBlocks binds the open epics that block epics, and those above them.
func (b *binder) epicBlocks() {
	id := func(e *epic.Epic) epic.ID { return e.ID }
	const name = "blocking epics"
	exec.Batch(b.Schema, "Epic.blocked", func(ctx context.Context, c *exec.Call[exec.None], of []*epic.Epic) ([]bool, error) {
		found, err := loaded(ctx, c, name, of, id, b.Epics.Blockings)
		return mapped(found, func(x epic.Blocking) bool { return len(x.By) > 0 }), err
	})
	exec.Batch(b.Schema, "Epic.blockedByCount", func(ctx context.Context, c *exec.Call[exec.None], of []*epic.Epic) ([]int, error) {
		found, err := loaded(ctx, c, name, of, id, b.Epics.Blockings)
		return mapped(found, func(x epic.Blocking) int { return len(x.By) }), err
	})
	exec.Batch(b.Schema, "Epic.blockingCount", func(ctx context.Context, c *exec.Call[exec.None], of []*epic.Epic) ([]int, error) {
		found, err := loaded(ctx, c, name, of, id, b.Epics.Blockings)
		return mapped(found, func(x epic.Blocking) int { return len(x.Of) }), err
	})
	exec.Batch(b.Schema, "Epic.blockedByEpics", func(ctx context.Context, c *exec.Call[paging], of []*epic.Epic) ([]*exec.Page[*epic.Epic], error) {
		found, err := loaded(ctx, c, name, of, id, b.Epics.Blockings)
		if err != nil {
			return nil, err
		}
		return pagesOf(ctx, c, c.Args, mapped(found, func(x epic.Blocking) []epic.ID { return x.By }), b.Epics.ByIDs)
	})
	exec.Batch(b.Schema, "Epic.ancestors", func(ctx context.Context, c *exec.Call[struct {
		paging
		epicFilter
	}], of []*epic.Epic,
	) ([]*exec.Page[*epic.Epic], error) {
		ids := make([]epic.ID, len(of))
		for i, e := range of {
			ids[i] = e.ID
		}
		found, err := b.Epics.AncestorsOf(ctx, c.As, ids, c.Args.filter())
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*epic.Epic], len(of))
		for i, id := range ids {
			if out[i], err = listOf(c.Args.paging, maxPage, found[id]); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// epicPeople binds who has to do with epics, and what the caller may do.
func (b *binder) epicPeople() {
	commentersOf(b, "Epic", epicRefOf)
	discussionsCount(b, "Epic", epicRefOf)
	one(b, "Epic.userNotesCount", "counts of comments of Epic", epicRefOf, b.Notes.CountComments)
	exec.Batch(b.Schema, "Epic.participants", func(ctx context.Context, c *exec.Call[paging], of []*epic.Epic) ([]*exec.Page[*user], error) {
		spots, err := b.onEpics(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args, maxPage), spots, func(ctx context.Context, at spot, r page.Range) (page.Page[authz.UserID], error) {
			t, err := b.noteable(ctx, c.As, at)
			if err != nil {
				return page.None[authz.UserID](r), err
			}
			return b.Subscriptions.Participants(ctx, c.As, t.Ref, t.Subject, r)
		}, b.usersOfPage)
	})
	one(b, "Epic.userPermissions", "permissions of epics", func(e *epic.Epic) epic.ID { return e.ID }, b.Epics.Permissions)
	for field, of := range map[string]func(may epic.Permissions) bool{
		"adminEpic": func(may epic.Permissions) bool { return may.Update }, "updateEpic": func(may epic.Permissions) bool { return may.Update },
		"createEpic": func(may epic.Permissions) bool { return may.Create }, "destroyEpic": func(may epic.Permissions) bool { return may.Delete },
		"awardEmoji": func(may epic.Permissions) bool { return may.Award }, "createNote": func(may epic.Permissions) bool { return may.Comment },
		"readEpic": func(epic.Permissions) bool { return true }, "readEpicIid": func(epic.Permissions) bool { return true }, // or it is not shown
	} {
		value(b, "EpicPermissions."+field, of)
	}
}

// epicTargets reads epics as targets: one whose group is hidden is none.
func (b *binder) epicTargets(ctx context.Context, as authz.Actor, ids []int64) (map[int64]*target, error) {
	found, err := b.Epics.ByIDs(ctx, as, typed[epic.ID](ids))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var list []*epic.Epic
	for _, e := range found {
		list = append(list, e)
	}
	spots, err := b.onEpics(ctx, as, list)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]*target, len(list))
	for i, e := range list {
		if spots[i].on.Place.Group {
			out[int64(e.ID)] = &target{spots[i], exec.As("Epic", e), e.Title}
		}
	}
	return out, nil
}
