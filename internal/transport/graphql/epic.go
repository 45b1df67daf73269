package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/epic"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// epics binds epics and the lists of groups.
func (b *binder) epics() {
	b.targetKinds = append(b.targetKinds, targetKind{noteable.Epic, "EPIC", b.epicTargets})
	value(b, "Epic.id", func(e *epic.Epic) string { return gid("Epic", e.ID) })
	value(b, "Epic.textColor", (*epic.Epic).TextColor)
	value(b, "Epic.webUrl", func(e *epic.Epic) string { return b.URLs.Epic(e.Path, int64(e.IID)) })
	value(b, "Epic.webPath", func(e *epic.Epic) string { return b.URLs.Path(b.URLs.Epic(e.Path, int64(e.IID))) })
	value(b, "Epic.hasParent", func(e *epic.Epic) bool { return e.Parent != nil })
	value(b, "Epic.relativePosition", func(e *epic.Epic) int64 { return e.Position })
	exec.ValueWith(b.Schema, "Epic.reference", func(e *epic.Epic, a full) string { return a.of(e.Path, e.IID.Reference()) })
	b.epicDates()
	b.epicTexts()
	b.epicRelations()
	exec.Struct[*epic.Epic](b.Schema, "Epic")
	exec.Connection[*epic.Epic](b.Schema, "Epic")
	b.epicIssues()
	b.epicBlocks()
	b.epicPeople()
	b.epicLists()
	b.epicMutations()
}

// epicDates binds the first and the last day: those that count, the fixed and the inherited ones.
func (b *binder) epicDates() {
	for field, of := range map[string]func(e *epic.Epic) *string{
		"startDate": func(e *epic.Epic) *string { return e.Dates().Start }, "dueDate": func(e *epic.Epic) *string { return e.Dates().Due },
		"startDateFixed": func(e *epic.Epic) *string { return e.StartFixed }, "dueDateFixed": func(e *epic.Epic) *string { return e.DueFixed },
		"startDateFromInheritedSource": func(e *epic.Epic) *string { return e.Inherited.Start },
		"dueDateFromInheritedSource":   func(e *epic.Epic) *string { return e.Inherited.Due },
		"startDateFromMilestones":      func(e *epic.Epic) *string { return e.Inherited.Start },
		"dueDateFromMilestones":        func(e *epic.Epic) *string { return e.Inherited.Due },
	} {
		value(b, "Epic."+field, of)
	}
	value(b, "Epic.startDateIsFixed", func(e *epic.Epic) bool { return e.StartIsFixed })
	value(b, "Epic.dueDateIsFixed", func(e *epic.Epic) bool { return e.DueIsFixed })
}

// epicTexts binds what is rendered.
func (b *binder) epicTexts() {
	in := func(e *epic.Epic) reference.Scope { return reference.Scope{Group: e.GroupID, GroupPath: e.Path} }
	renderedTitle(b, "Epic.titleHtml", func(e *epic.Epic) (reference.Scope, *string) { return in(e), &e.Title })
	rendered(b, "Epic.descriptionHtml", func(e *epic.Epic) (reference.Scope, *string) { return in(e), e.Description })
}

// epicRelations binds what stands elsewhere, each for all epics of a level in one look.
func (b *binder) epicRelations() {
	one(b, "Epic.author", "users", func(e *epic.Epic) authz.UserID { return e.AuthorID }, b.usersByIDs)
	one(b, "Epic.group", "groups", func(e *epic.Epic) namespace.ID { return e.GroupID }, b.Namespaces.ByIDs)
	one(b, "Epic.parent", "epics", func(e *epic.Epic) epic.ID {
		if e.Parent == nil {
			return 0
		}
		return e.Parent.ID
	}, b.Epics.ByIDs)
	kept(b, "Epic.labels", func(e *epic.Epic) []*label.Label { return pointers(e.Labels) })
	kin := func(field string, of func(k epic.Kin) bool) {
		exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], list []*epic.Epic) ([]bool, error) {
			found, err := exec.LoadEach(ctx, c, "kin of epics", list, func(e *epic.Epic) epic.ID { return e.ID }, func(ctx context.Context, ids []epic.ID) (map[epic.ID]epic.Kin, error) {
				return b.Epics.KinOf(ctx, c.As, ids)
			})
			out := make([]bool, len(list))
			for i, k := range found {
				out[i] = of(k)
			}
			return out, err
		})
	}
	kin("Epic.hasChildren", func(k epic.Kin) bool { return k.Children > 0 })
	kin("Epic.hasIssues", func(k epic.Kin) bool { return k.Issues > 0 })
	votes := func(field string, of func(v award.Votes) int64) {
		exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], list []*epic.Epic) ([]int64, error) {
			found, err := exec.LoadEach(ctx, c, "votes of epics", list, func(e *epic.Epic) int64 { return int64(e.ID) }, func(ctx context.Context, ids []int64) (map[int64]award.Votes, error) {
				return b.Awards.ForTargets(ctx, noteable.Epic, ids)
			})
			out := make([]int64, len(list))
			for i, v := range found {
				out[i] = of(v)
			}
			return out, err
		})
	}
	votes("Epic.upvotes", func(v award.Votes) int64 { return v.Up })
	votes("Epic.downvotes", func(v award.Votes) int64 { return v.Down })
	exec.Batch(b.Schema, "Epic.subscribed", func(ctx context.Context, c *exec.Call[exec.None], of []*epic.Epic) ([]bool, error) {
		refs := make([]noteable.Ref, len(of))
		for i, e := range of {
			refs[i] = noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)}
		}
		found, err := b.Subscriptions.Of(ctx, c.As, refs...)
		out := make([]bool, len(of))
		for i, r := range refs {
			out[i] = found[r]
		}
		return out, err
	})
}

// epicFilter is the arguments of lists of epics.
type epicFilter struct {
	IID                         *string
	IIDs, LabelName             []string
	AuthorUsername, Sort, State string
	epic.Selection
	TopLevelHierarchyOnly bool
	Not                   *struct {
		AuthorUsername, MyReactionEmoji string
		LabelName                       []*string
	}
}

func (a *epicFilter) filter() epic.Filter {
	in := a
	f := epic.Filter{
		Labels: in.LabelName, Author: filter.Person{Username: in.AuthorUsername}, TopLevel: in.TopLevelHierarchyOnly, Selection: in.Selection,
	}
	if in.State != "all" {
		f.State = epic.State(in.State)
	}
	if in.IID != nil {
		in.IIDs = append(in.IIDs, *in.IID)
	}
	f.IIDs = iids[epic.IID](in.IIDs)
	if in.Not != nil {
		f.Not = filter.Not{Author: filter.Person{Username: in.Not.AuthorUsername}, Reaction: in.Not.MyReactionEmoji, Labels: present(in.Not.LabelName)}
	}
	f.OrderBy, f.Asc = page.Sorted(in.Sort)
	return f
}

func (b *binder) epicLists() {
	type many struct {
		paging
		epicFilter
	}
	list := func(ctx context.Context, c *exec.Call[many], from func(f epic.Filter) (page.Page[epic.Epic], error)) (*exec.Page[*epic.Epic], error) {
		f := c.Args.filter()
		return read(c, c.Args.paging, maxPage, func(r page.Range) (page.Page[*epic.Epic], error) {
			f.Range = r
			found, err := from(f)
			return page.Pointers(found), err
		})
	}
	exec.Batch(b.Schema, "Group.epics", func(ctx context.Context, c *exec.Call[many], of []*namespace.Group) ([]*exec.Page[*epic.Epic], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*exec.Page[*epic.Epic], error) {
			return list(ctx, c, func(f epic.Filter) (page.Page[epic.Epic], error) { return b.Epics.List(ctx, c.As, g, f) })
		})
	})
	exec.Batch(b.Schema, "Epic.children", func(ctx context.Context, c *exec.Call[many], of []*epic.Epic) ([]*exec.Page[*epic.Epic], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, e *epic.Epic) (*exec.Page[*epic.Epic], error) {
			return list(ctx, c, func(f epic.Filter) (page.Page[epic.Epic], error) { return b.Epics.ChildrenOf(ctx, c.As, e, f) })
		})
	})
	exec.Batch(b.Schema, "Group.epic", func(ctx context.Context, c *exec.Call[epicFilter], of []*namespace.Group) ([]*epic.Epic, error) {
		f := c.Args.filter()
		return firsts(ctx, b, of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[epic.Epic], error) {
			f := f
			f.Range = r
			return b.Epics.List(ctx, c.As, g, f)
		}, func(_ context.Context, rows []epic.Epic) ([]*epic.Epic, error) { return pointers(rows), nil })
	})
}

// onEpics finds the groups of epics; an epic whose group is hidden has no notes.
func (b *binder) onEpics(ctx context.Context, as authz.Actor, epics []*epic.Epic) ([]spot, error) {
	ids := make([]namespace.ID, len(epics))
	for i, e := range epics {
		ids[i] = e.GroupID
	}
	groups, err := b.Namespaces.ByIDs(ctx, as, ids)
	out := make([]spot, len(epics))
	for i, e := range epics {
		on := note.On{Kind: noteable.Epic, Key: noteable.Key{IID: int64(e.IID)}, Anonymous: true}
		if g := groups[e.GroupID]; g != nil {
			on.Place = g.Place()
		}
		out[i] = spot{on: on, url: b.URLs.Epic(e.Path, int64(e.IID))}
	}
	return out, err
}
