package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// groups binds groups.
func (b *binder) groups() {
	exec.Root(b.Schema, "group", func(ctx context.Context, c *exec.Call[struct{ FullPath string }]) (*namespace.Group, error) {
		g, err := b.group(ctx, c.As, c.Args.FullPath)
		return g, hidden(err)
	})
	type search struct {
		paging
		Search *string
	}
	exec.Root(b.Schema, "groups", func(ctx context.Context, c *exec.Call[search]) (*exec.Page[*namespace.Group], error) {
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*namespace.Group], error) {
			return b.groupPage(ctx, c.As, namespace.GroupFilter{Search: searched(c.Args.Search), Range: r})
		}, same)
	})
	exec.Connection[*namespace.Group](b.Schema, "Group")
	b.groupFields()
	b.groupLists()
	b.groupCounts()
	exec.Struct[*namespace.Group](b.Schema, "Group")
}

// groupPage lists groups with the level of the caller in each.
func (b *binder) groupPage(ctx context.Context, as authz.Actor, f namespace.GroupFilter) (page.Page[*namespace.Group], error) {
	f.Levels = true
	found, err := b.Namespaces.List(ctx, as, f)
	return page.Map(found, func(g *namespace.Group) *namespace.Group { return g }), err
}

// searched returns the text that a list is searched for, "" for none.
func searched(text *string) string { return strings.TrimSpace(zeroOr(text)) }

func (b *binder) groupFields() {
	value(b, "Group.id", func(g *namespace.Group) string { return gid("Group", g.ID) })
	value(b, "Group.webUrl", func(g *namespace.Group) string { return b.URLs.Group(g.FullPath) })
	value(b, "Group.avatarUrl", func(g *namespace.Group) *string { return b.avatar("group", int64(g.ID), g.Avatar) })
	value(b, "Group.descriptionHtml", func(g *namespace.Group) *string { return b.described(inGroup(g), g.Description) })
	value(b, "Group.emailsDisabled", func(g *namespace.Group) bool { return !g.EmailsEnabled })
	value(b, "Group.requireTwoFactorAuthentication", func(g *namespace.Group) bool { return g.RequireTwoFactor })
	value(b, "Group.visibility", func(g *namespace.Group) string { return g.Visibility.String() })
	one(b, "Group.parent", "groups", func(g *namespace.Group) namespace.ID { return zeroOr(g.ParentID) }, b.Namespaces.ByIDs)
	one(b, "Group.rootStorageStatistics", "root sizes", func(g *namespace.Group) namespace.ID { return g.ID }, b.rootSizes)
	exec.Batch(b.Schema, "Group.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*namespace.Group) ([]groupPermissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (groupPermissions, error) {
			return b.groupPermissions(ctx, c.As, g)
		})
	})
	exec.Struct[groupPermissions](b.Schema, "GroupPermissions")
}

// groupPermissions is what the caller may do in a group.
type groupPermissions struct{ CreateProjects, ReadGroup bool }

// groupPermissions says what the caller may do in a group: nothing in one that is hidden.
func (b *binder) groupPermissions(ctx context.Context, as authz.Actor, g *namespace.Group) (may groupPermissions, err error) {
	if g == nil {
		return may, nil
	}
	if may.ReadGroup, err = b.Namespaces.May(ctx, as, g, authz.ReadGroup); err == nil {
		may.CreateProjects, err = b.Projects.MayCreateIn(ctx, as, g)
	}
	return may, err
}

// described renders the description of a project, group or topic, nil for none.
func (b *binder) described(in reference.Scope, text *string) *string {
	if text == nil {
		return nil
	}
	html := b.References.Description(in, *text)
	return &html
}

// inGroup is the place of the texts of a group.
func inGroup(g *namespace.Group) reference.Scope {
	return reference.Scope{Group: g.ID, GroupPath: g.FullPath}
}

func (b *binder) groupLists() {
	type below struct {
		paging
		IncludeParentDescendants, Owned *bool
		Search                          *string
	}
	exec.Batch(b.Schema, "Group.descendantGroups", func(ctx context.Context, c *exec.Call[below], of []*namespace.Group) ([]*exec.Page[*namespace.Group], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[*namespace.Group], error) {
			f := namespace.GroupFilter{Search: searched(c.Args.Search), Owned: zeroOr(c.Args.Owned), Range: r}
			if zeroOr(c.Args.IncludeParentDescendants) {
				f.Ancestor = &g.ID
			} else {
				f.Parent = &g.ID
			}
			return b.groupPage(ctx, c.As, f)
		}, same)
	}, exec.Costly)
	projectsIn(b, "Group", func(g *namespace.Group) namespace.ID { return g.ID })
}

// projectsIn binds the projects of places.
func projectsIn[P any](b *binder, typ string, id func(place P) namespace.ID) {
	type filter struct {
		paging
		IDs                                         []string
		IncludeSubgroups, NotAimedForDeletion       *bool
		WithIssuesEnabled, WithMergeRequestsEnabled *bool
		Search, Sort                                *string
	}
	orders := map[string]string{"ACTIVITY_DESC": "last_activity_at", "SIMILARITY": "similarity", "STORAGE": "storage_size"}
	exec.Batch(b.Schema, typ+".projects", func(ctx context.Context, c *exec.Call[filter], of []P) ([]*exec.Page[*project.Project], error) {
		f := project.Filter{
			Search: searched(c.Args.Search), Subgroups: zeroOr(c.Args.IncludeSubgroups), Unmarked: zeroOr(c.Args.NotAimedForDeletion),
			Issues: zeroOr(c.Args.WithIssuesEnabled), MergeRequests: zeroOr(c.Args.WithMergeRequestsEnabled), OrderBy: orders[zeroOr(c.Args.Sort)],
		}
		var err error
		if f.IDs, err = idsOf[project.ID]("Project", c.Args.IDs); err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, place P, r page.Range) (page.Page[*project.Project], error) {
			f, parent := f, id(place)
			f.Parent, f.Range = &parent, r
			return b.Projects.List(ctx, c.As, f)
		}, same)
	}, exec.Costly)
}

// groupCounts binds how much is in groups, as far as the caller sees it.
func (b *binder) groupCounts() {
	counted(b, "Group.descendantGroupsCount", func(ctx context.Context, as authz.Actor, g *namespace.Group, r page.Range) (int, error) {
		found, err := b.Namespaces.List(ctx, as, namespace.GroupFilter{Parent: &g.ID, Range: r})
		return found.Total, err
	})
	counted(b, "Group.projectsCount", func(ctx context.Context, as authz.Actor, g *namespace.Group, r page.Range) (int, error) {
		found, err := b.Projects.List(ctx, as, project.Filter{Parent: &g.ID, Range: r})
		return found.Total, err
	})
	counted(b, "Group.groupMembersCount", func(ctx context.Context, as authz.Actor, g *namespace.Group, r page.Range) (int, error) {
		found, err := b.Namespaces.Members(ctx, as, g.Place(), namespace.MemberFilter{Range: r})
		return found.Total, err
	})
}

// counted binds the number of rows of a list that belongs to each parent.
func counted[P any](b *binder, field string, count func(ctx context.Context, as authz.Actor, of P, r page.Range) (int, error)) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], of []P) ([]int, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p P) (int, error) { return count(ctx, c.As, p, page.Range{Limit: 1}) })
	})
}
