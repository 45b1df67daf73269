package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// groupMember is a membership of a group.
type groupMember struct {
	*namespace.Member
	group *namespace.Group
}

// projectMember is a membership of a project, or of the personal namespace that it is in.
type projectMember struct {
	*namespace.Member
	project *project.Project
}

// memberFilter is the arguments of lists of members.
type memberFilter struct {
	paging
	Relations    []string
	Search, Sort *string
}

// filter makes the filter of core, with the relations of a kind of place.
func (f *memberFilter) filter(relations map[string][]namespace.Way) namespace.MemberFilter {
	out := namespace.MemberFilter{Query: searched(f.Search), Ways: []namespace.Way{}}
	for _, name := range f.Relations {
		out.Ways = append(out.Ways, relations[name]...)
	}
	by, asc := page.Sorted(zeroOr(f.Sort))
	out.OrderBy, out.Desc = strings.ReplaceAll(by, "user_full_name", "name"), by != "" && !asc
	return out
}

// members binds who belongs to groups and projects.
func (b *binder) members() {
	type ofGroup struct {
		memberFilter
		AccessLevels []string
	}
	exec.Batch(b.Schema, "Group.groupMembers", func(ctx context.Context, c *exec.Call[ofGroup], of []*namespace.Group) ([]*exec.Page[*groupMember], error) {
		f := c.Args.filter(map[string][]namespace.Way{
			"DIRECT": {namespace.DirectMember}, "INHERITED": {namespace.InheritedMember}, "DESCENDANTS": {namespace.DescendantMember},
			"SHARED_FROM_GROUPS": {namespace.InvitedMember, namespace.InvitedAbove},
		})
		for _, name := range c.Args.AccessLevels {
			if level, ok := authz.LevelNamed(name); ok {
				f.Levels = append(f.Levels, level)
			}
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[namespace.Member], error) {
			f := f
			f.Range = r
			return b.Namespaces.Members(ctx, c.As, g.Place(), f)
		}, b.groupMembers(c.As))
	}, exec.Costly)
	exec.Batch(b.Schema, "Project.projectMembers", func(ctx context.Context, c *exec.Call[memberFilter], of []*project.Project) ([]*exec.Page[any], error) {
		f := c.Args.filter(map[string][]namespace.Way{
			"DIRECT": {namespace.DirectMember}, "INHERITED": {namespace.InheritedMember}, "INVITED_GROUPS": {namespace.InvitedMember},
			"SHARED_INTO_ANCESTORS": {namespace.InvitedAbove},
		})
		at := map[namespace.ID]*project.Project{}
		for _, p := range of {
			at[p.NamespaceID] = p
			if p.Personal {
				at[p.ParentID] = p
			}
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[namespace.Member], error) {
			f := f
			f.Range = r
			return b.Namespaces.Members(ctx, c.As, p.Place(), f)
		}, func(ctx context.Context, rows []namespace.Member) ([]any, error) {
			return b.eitherMembers(ctx, c.As, at, rows)
		})
	}, exec.Costly)
	ofUsers(b, "groupMemberships", namespace.GroupKind, b.groupMembers)
	ofUsers(b, "projectMemberships", namespace.ProjectKind, b.projectMembers)

	memberFields(b, "GroupMember", func(m *groupMember) *namespace.Member { return m.Member })
	value(b, "GroupMember.group", func(m *groupMember) *namespace.Group { return m.group })
	exec.Batch(b.Schema, "GroupMember.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*groupMember) ([]groupPermissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, m *groupMember) (groupPermissions, error) {
			return b.groupPermissions(ctx, c.As, m.group)
		})
	})
	memberFields(b, "ProjectMember", func(m *projectMember) *namespace.Member { return m.Member })
	value(b, "ProjectMember.project", func(m *projectMember) *project.Project { return m.project })
	exec.Batch(b.Schema, "ProjectMember.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*projectMember) ([]permitted, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, m *projectMember) (permitted, error) {
			return b.permitted(ctx, c.As, m.project)
		})
	})
	exec.Connection[any](b.Schema, "MemberInterface")
	exec.Connection[*groupMember](b.Schema, "GroupMember")
	exec.Connection[*projectMember](b.Schema, "ProjectMember")
	value(b, "AccessLevel.integerValue", func(l authz.Level) int { return int(l) })
	value(b, "AccessLevel.stringValue", func(l authz.Level) *string { return text(strings.ReplaceAll(strings.ToUpper(l.Name()), " ", "_")) })
}

// memberFields binds what memberships of both kinds have.
func memberFields[P any](b *binder, typ string, of func(member P) *namespace.Member) {
	value(b, typ+".id", func(m P) string { return gid(typ, of(m).ID) })
	value(b, typ+".accessLevel", func(m P) authz.Level { return of(m).Level })
	value(b, typ+".createdAt", func(m P) any { return of(m).CreatedAt })
	value(b, typ+".updatedAt", func(m P) any { return of(m).UpdatedAt })
	value(b, typ+".expiresAt", func(m P) any { return day(of(m).ExpiresOn) })
	one(b, typ+".user", "users", func(m P) authz.UserID { return of(m).UserID }, b.usersByIDs)
	exec.Batch(b.Schema, typ+".mergeRequestInteraction", func(ctx context.Context, c *exec.Call[struct{ ID globalID }], members []P) ([]*party, error) {
		out := make([]*party, len(members))
		m, err := byID(ctx, c.As, c.Args.ID, b.requestsByIDs)
		if m == nil {
			return out, err
		}
		users, err := exec.LoadEach(ctx, c, "users", members, func(m P) authz.UserID { return of(m).UserID }, func(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*user, error) {
			return b.usersByIDs(ctx, c.As, ids)
		})
		for i, u := range users {
			if u != nil {
				out[i] = &party{u, m}
			}
		}
		return out, err
	}, exec.Costly)
	one(b, typ+".createdBy", "users", func(m P) authz.UserID { return zeroOr(of(m).CreatedByID) }, b.usersByIDs)
}

// ofUsers binds the memberships that users have themselves.
func ofUsers[V any](b *binder, field string, kind namespace.Kind, views func(as authz.Actor) func(ctx context.Context, rows []namespace.Member) ([]V, error)) {
	exec.Batch(b.Schema, "User."+field, func(ctx context.Context, c *exec.Call[paging], of []*user) ([]*exec.Page[V], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[namespace.Member], error) {
			return b.Namespaces.MembersOfUser(ctx, c.As, u.ID, kind, r)
		}, views(c.As))
	})
}

// groupMembers returns memberships with their groups: those of hidden groups have none.
func (b *binder) groupMembers(as authz.Actor) func(ctx context.Context, rows []namespace.Member) ([]*groupMember, error) {
	return func(ctx context.Context, rows []namespace.Member) ([]*groupMember, error) {
		ids := make([]namespace.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].NamespaceID
		}
		groups, err := b.Namespaces.ByIDs(ctx, as, ids)
		out := make([]*groupMember, len(rows))
		for i := range rows {
			out[i] = &groupMember{&rows[i], groups[rows[i].NamespaceID]}
		}
		return out, err
	}
}

// projectMembers returns memberships with their projects.
func (b *binder) projectMembers(as authz.Actor) func(ctx context.Context, rows []namespace.Member) ([]*projectMember, error) {
	return func(ctx context.Context, rows []namespace.Member) ([]*projectMember, error) {
		ids := make([]namespace.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].NamespaceID
		}
		projects, err := b.Projects.ByNamespaces(ctx, as, ids)
		out := make([]*projectMember, len(rows))
		for i := range rows {
			out[i] = &projectMember{&rows[i], projects[rows[i].NamespaceID]}
		}
		return out, err
	}
}

// eitherMembers returns memberships of projects at the namespaces of at, and of groups that count there.
func (b *binder) eitherMembers(ctx context.Context, as authz.Actor, at map[namespace.ID]*project.Project, rows []namespace.Member) ([]any, error) {
	groups, err := b.groupMembers(as)(ctx, rows)
	out := make([]any, len(rows))
	for i, m := range groups {
		out[i] = m
		if p := at[m.NamespaceID]; p != nil {
			out[i] = &projectMember{m.Member, p}
		}
	}
	return out, err
}
