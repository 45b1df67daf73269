package graphql

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/transport/graphql/exec"
)

// linkedItem is a work item that another one is related to.
type linkedItem struct {
	id            int64
	LinkType      string // seen from the other one
	LinkCreatedAt time.Time
	LinkUpdatedAt time.Time
	to            epic.Item
	WorkItem      *workItem
}

// linkTypes are the ways of being related by their enum values. Issues and epics have the same ones.
var linkTypes = map[string]issue.LinkType{"BLOCKED_BY": issue.BlockedBy, "BLOCKS": issue.Blocks, "RELATED": issue.RelatesTo}

// linkedItemsWidget binds what work items are related to.
func (b *binder) linkedItemsWidget() {
	const typ = "WorkItemWidgetLinkedItems."
	count := func(of []linkedItem, kind issue.LinkType) (n int) {
		for _, l := range of {
			if l.LinkType == string(kind) && l.open() {
				n++
			}
		}
		return n
	}
	ofLinks(b, typ+"blocked", func(links []linkedItem) bool { return count(links, issue.BlockedBy) > 0 })
	ofLinks(b, typ+"blockedByCount", func(links []linkedItem) int { return count(links, issue.BlockedBy) })
	ofLinks(b, typ+"blockingCount", func(links []linkedItem) int { return count(links, issue.Blocks) })
	exec.Batch(b.Schema, typ+"linkedItems", func(ctx context.Context, c *exec.Call[struct {
		paging
		Filter string
	}], of []*widget,
	) ([]*exec.Page[*linkedItem], error) {
		links, err := linksOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*linkedItem], len(of))
		var shown []*linkedItem
		for i, w := range of {
			var chosen []*linkedItem
			for _, l := range links[w.key()] {
				if c.Args.Filter == "" || l.LinkType == string(linkTypes[c.Args.Filter]) {
					chosen = append(chosen, &l)
				}
			}
			if out[i], err = listOf(c.Args.paging, maxPage, chosen); err != nil {
				return nil, err
			}
			shown = append(shown, out[i].Items...)
		}
		return out, b.viewLinks(ctx, c.As, shown)
	})
	value(b, "LinkedWorkItemType.linkId", func(l *linkedItem) string { return gid("WorkItems::RelatedWorkItemLink", l.id) })
	exec.Struct[*linkedItem](b.Schema, "LinkedWorkItemType")
	exec.Connection[*linkedItem](b.Schema, "LinkedWorkItemType")
}

// open reports whether work on the related item goes on.
func (l *linkedItem) open() bool {
	if l.to.Epic != nil {
		return l.to.Epic.State == epic.StateOpened
	}
	return l.to.Issue.State == issue.StateOpened
}

// ofLinks binds a field that follows from what work items are related to.
func ofLinks[R any](b *binder, field string, of func(links []linkedItem) R) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], list []*widget) ([]R, error) {
		links, err := linksOf(ctx, b, c, list)
		out := make([]R, len(list))
		for i, w := range list {
			out[i] = of(links[w.key()])
		}
		return out, err
	})
}

// linksOf reads what work items are related to, as far as the caller may read it, the oldest relation first.
func linksOf[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*widget) (map[workItemKey][]linkedItem, error) {
	items, keys := map[workItemKey]*widget{}, make([]workItemKey, len(of))
	for i, w := range of {
		keys[i] = w.key()
		items[keys[i]] = w
	}
	return exec.Load(ctx, c, "links of work items", keys, func(ctx context.Context, keys []workItemKey) (map[workItemKey][]linkedItem, error) {
		found := make([][]linkedItem, len(keys))
		err := b.Together(ctx, len(keys), func(ctx context.Context, i int) (err error) {
			found[i], err = b.linksFrom(ctx, c.As, items[keys[i]].workItem)
			return hidden(err)
		})
		out := make(map[workItemKey][]linkedItem, len(keys))
		for i, k := range keys {
			out[k] = found[i]
		}
		return out, err
	})
}

// linksFrom is linksOf for one work item.
func (b *binder) linksFrom(ctx context.Context, as authz.Actor, w *workItem) ([]linkedItem, error) {
	var out []linkedItem
	if w.issue != nil {
		links, err := b.Issues.Links(ctx, as, w.issue.Project, w.issue.IID)
		for _, l := range links {
			out = append(out, linkedItem{id: int64(l.ID), LinkType: string(l.Type), LinkCreatedAt: l.CreatedAt, LinkUpdatedAt: l.UpdatedAt, to: epic.Item{Issue: l.Target}})
		}
		return sortedLinks(out), err
	}
	g, err := b.Namespaces.FindByID(ctx, as, w.epic.GroupID)
	if err != nil {
		return nil, err
	}
	links, err := b.Epics.Related(ctx, as, g, w.epic.IID)
	for _, l := range links {
		out = append(out, linkedItem{id: int64(l.ID), LinkType: string(l.Type), LinkCreatedAt: l.CreatedAt, LinkUpdatedAt: l.UpdatedAt, to: epic.Item{Epic: l.Target}})
	}
	return sortedLinks(out), err
}

func sortedLinks(links []linkedItem) []linkedItem {
	slices.SortFunc(links, func(a, b linkedItem) int { return cmp.Compare(a.id, b.id) })
	return links
}

// viewLinks reads what the related work items of lists show, with the statements of one.
func (b *binder) viewLinks(ctx context.Context, as authz.Actor, links []*linkedItem) error {
	rows := make([]epic.Item, len(links))
	for i, l := range links {
		rows[i] = l.to
	}
	views, err := b.workItemViews(as)(ctx, rows)
	for i, v := range views {
		links[i].WorkItem = v
	}
	return err
}

// key names the work item.
func (w *workItem) key() workItemKey { return w.item().Key() }
