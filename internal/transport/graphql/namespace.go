package graphql

import (
	"context"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// namespaces binds groups, projects and the places of users as places in the tree.
func (b *binder) namespaces() {
	exec.Root(b.Schema, "namespace", func(ctx context.Context, c *exec.Call[struct{ FullPath string }]) (*namespace.Namespace, error) {
		n, err := b.namespace(ctx, c.As, c.Args.FullPath)
		return n, hidden(err)
	})
	models := map[namespace.Kind]string{namespace.GroupKind: "Group", namespace.UserKind: "Namespaces::UserNamespace", namespace.ProjectKind: "Namespaces::ProjectNamespace"}
	value(b, "Namespace.id", func(n *namespace.Namespace) string { return gid(models[n.Kind], n.ID) })
	value(b, "Namespace.visibility", func(n *namespace.Namespace) string { return n.Visibility.String() })
	ofGroup(b, "description", func(g *namespace.Group) *string { return g.Description })
	ofGroup(b, "descriptionHtml", func(g *namespace.Group) *string { return b.described(inGroup(g), g.Description) })
	ofGroup(b, "lfsEnabled", func(g *namespace.Group) *bool { return &g.LFSEnabled })
	ofGroup(b, "requestAccessEnabled", func(g *namespace.Group) *bool { return &g.RequestAccessEnabled })
	ofGroup(b, "sharedRunnersSetting", func(g *namespace.Group) *string { return &g.SharedRunnersSetting })
	projectsIn(b, "Namespace", func(n *namespace.Namespace) namespace.ID { return n.ID })
	one(b, "Namespace.rootStorageStatistics", "root sizes", func(n *namespace.Namespace) namespace.ID { return n.ID }, b.rootSizes)
	exec.Struct[*namespace.Namespace](b.Schema, "Namespace")

	for field, of := range map[string]func(s namespace.Sizes) int64{
		"lfsObjectsSize": func(s namespace.Sizes) int64 { return s.LFS }, "repositorySize": func(s namespace.Sizes) int64 { return s.Repository },
		"snippetsSize": func(s namespace.Sizes) int64 { return s.Snippets }, "uploadsSize": func(s namespace.Sizes) int64 { return s.Uploads },
		"wikiSize": func(s namespace.Sizes) int64 { return s.Wiki }, "storageSize": namespace.Sizes.Total,
		"buildArtifactsSize": func(s namespace.Sizes) int64 { return s.Artifacts },
	} {
		value(b, "RootStorageStatistics."+field, func(s *namespace.Sizes) float64 { return float64(of(*s)) })
	}
}

// namespace finds a group, a project or the place of a user by its path.
func (b *binder) namespace(ctx context.Context, as authz.Actor, path string) (*namespace.Namespace, error) {
	id := namespace.ID(0)
	g, err := b.group(ctx, as, path)
	if err == nil {
		id = g.ID
	} else if hidden(err) != nil {
		return nil, err
	}
	if id == 0 {
		p, err := b.project(ctx, as, path)
		if err == nil {
			id = p.NamespaceID
		} else if hidden(err) != nil {
			return nil, err
		}
	}
	if id == 0 {
		if strings.Trim(path, "0123456789") == "" {
			return nil, errNoPlace
		}
		return b.Namespaces.FindNamespace(ctx, as, path)
	}
	found, err := b.Namespaces.PlacesByIDs(ctx, as, []namespace.ID{id})
	return found[id], err
}

// ofGroup binds a field of namespaces that groups have: it is null for all others.
func ofGroup[R any](b *binder, field string, of func(g *namespace.Group) *R) {
	exec.Batch(b.Schema, "Namespace."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*namespace.Namespace) ([]*R, error) {
		groups, err := exec.LoadEach(ctx, c, "groups", list, func(n *namespace.Namespace) namespace.ID {
			if n.Kind != namespace.GroupKind {
				return 0
			}
			return n.ID
		}, func(ctx context.Context, ids []namespace.ID) (map[namespace.ID]*namespace.Group, error) {
			return b.Namespaces.ByIDs(ctx, c.As, ids)
		})
		out := make([]*R, len(list))
		for i, g := range groups {
			if g != nil {
				out[i] = of(g)
			}
		}
		return out, err
	})
}

// rootSizes measures the places that parents name.
func (b *binder) rootSizes(ctx context.Context, as authz.Actor, ids []namespace.ID) (map[namespace.ID]*namespace.Sizes, error) {
	found, err := b.Namespaces.RootSizes(ctx, as, ids)
	return held(found), err
}

// held returns pointers to the values of a map.
func held[K comparable, V any](values map[K]V) map[K]*V {
	out := make(map[K]*V, len(values))
	for k, v := range values {
		out[k] = &v
	}
	return out
}

// placesOfProjects binds where projects stand.
func (b *binder) placesOfProjects() {
	one(b, "Project.group", "groups", func(p *project.Project) namespace.ID {
		if p.Personal {
			return 0
		}
		return p.ParentID
	}, b.Namespaces.ByIDs)
	one(b, "Project.namespace", "places", func(p *project.Project) namespace.ID { return p.ParentID }, b.Namespaces.PlacesByIDs)
}
