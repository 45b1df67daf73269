package reference

import (
	"context"
	"fmt"
	"path"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// places are the projects and groups of references that the actor may read.
type places struct {
	projects map[project.ID]*project.Project
	groups   map[authz.NamespaceID]string // full paths
	byPath   map[string]*project.Project  // by folded path
	groupBy  map[string]authz.NamespaceID // by folded path
}

// path returns the full path of the place of a reference.
func (r *Reference) path(in Scope) string {
	if r.Full || in == (Scope{}) {
		return r.Place
	}
	if strings.Contains(r.Place, "/") || r.Kind == Epic { // groups are named in full
		return r.Place
	}
	if in.Project != nil {
		return path.Join(path.Dir(in.Project.FullPath), r.Place)
	}
	return path.Join(in.GroupPath, r.Place)
}

// inGroup reports whether things of a kind are sought in the group of a text.
func (k Kind) inGroup() bool { return k == Epic || k == Label || k == Milestone }

// key names what a reference leads to; ok is false where its place is not to be read.
func (f *places) key(in Scope, ref *Reference) (key Key, ok bool) {
	key = Key{Number: ref.Number, Name: ref.Name}
	if ref.Place == "" {
		switch {
		case ref.Kind == Snippet && ref.URL: // of a user
			return key, true
		case ref.Kind == Epic && in.Project != nil:
			key.Group = in.Project.ParentID
			_, ok = f.groups[key.Group]
			return key, ok
		case in.Project != nil:
			key.Project = in.Project.ID
			return key, f.projects[key.Project] != nil
		}
		key.Group = in.Group
		_, ok = f.groups[key.Group]
		return key, ok && ref.Kind.inGroup()
	}
	fold := db.Fold(ref.path(in))
	if p := f.byPath[fold]; p != nil && ref.Kind != Epic {
		key.Project = p.ID
		return key, true
	}
	key.Group, ok = f.groupBy[fold]
	return key, ok && ref.Kind.inGroup()
}

// places reads the projects and groups of references, in three statements at most.
func (s *Service) places(ctx context.Context, as authz.Actor, in Scope, refs []Reference) (*places, error) {
	f := &places{
		projects: map[project.ID]*project.Project{}, groups: map[authz.NamespaceID]string{},
		byPath: map[string]*project.Project{}, groupBy: map[string]authz.NamespaceID{},
	}
	var ids []project.ID
	folds, own, above := sought(in, refs)
	routes, err := s.routes(ctx, as, in, folds, above)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		if r.Project != 0 {
			ids = append(ids, r.Project)
		} else {
			f.groups[r.Namespace], f.groupBy[r.Fold] = r.Path, r.Namespace
		}
	}
	if own && in.Project != nil {
		ids = append(ids, in.Project.ID)
	}
	if len(ids) == 0 {
		return f, nil
	}
	if f.projects, err = s.Projects.ByIDs(ctx, as, ids); err != nil {
		return nil, err
	}
	for _, r := range routes {
		if p := f.projects[r.Project]; p != nil {
			f.byPath[r.Fold] = p
		}
	}
	return f, nil
}

// sought returns the folded paths that references name, and whether some name none: then they mean
// the place of the text, or also the groups above it.
func sought(in Scope, refs []Reference) (folds []string, own, above bool) {
	seen := map[string]bool{}
	for i := range refs {
		ref := &refs[i]
		switch {
		case ref.Kind == Mention:
		case ref.Place == "":
			own, above = true, above || ref.Kind.inGroup()
		case len(folds) < maxPlaces:
			if fold := db.Fold(ref.path(in)); !seen[fold] {
				seen[fold] = true
				folds = append(folds, fold)
			}
		}
	}
	return folds, own, above
}

// route is a path that a reference names.
type route struct {
	Fold      string            `db:"path_fold"`
	Path      string            `db:"path"`
	Namespace authz.NamespaceID `db:"namespace_id"`
	Project   project.ID        `db:"project_id"` // 0 for a group
}

// routes reads what is at folded paths, and the group of a place where above says so.
func (s *Service) routes(ctx context.Context, as authz.Actor, in Scope, folds []string, above bool) ([]route, error) {
	if len(folds) == 0 && !above {
		return nil, nil
	}
	visible, args := s.Policy.VisibleGroupsSQL(as, "n")
	marks, values := db.Marks(append(folds, ""))
	var w db.Where
	group := in.Group
	if in.Project != nil {
		group = in.Project.ParentID
	}
	w.And("(r.path_fold IN ("+marks+") OR r.namespace_id = ?)", append(values, group)...)
	w.And("(p.id IS NOT NULL OR n.kind = 'group' AND "+visible+")", args...)
	routes, err := db.Select[route](ctx, s.DB, `SELECT r.path_fold, r.path, r.namespace_id, COALESCE(p.id, 0) AS project_id
		FROM routes r JOIN namespaces n ON n.id = r.namespace_id
		LEFT JOIN projects p ON p.namespace_id = n.id AND NOT p.pending_delete`+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("places of references: %w", err)
	}
	return routes, nil
}
