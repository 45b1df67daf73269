package importexport

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/scratch"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// selfRelation is what a source calls the group or project itself.
const selfRelation = "self"

// without are the words of a list that are not in another one.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// fill writes what was fetched, as an archive of the same would be.
func (r *entityRun) fill(ctx context.Context) (err error) {
	s := r.s
	dir, err := scratch.Make(s.Scratch, "transfer-")
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	if err := os.Mkdir(dir.Path+"/archive", 0o700); err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	root, err := os.OpenRoot(dir.Path + "/archive")
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	at := projectLayout
	if r.e.Kind == groupEntity {
		at = layoutOf(*r.e.SourceID)
	}
	if err := r.compose(ctx, root, at); err != nil {
		return err
	}
	if err := r.members(ctx, root, at); err != nil {
		return err
	}
	if r.e.Kind == projectEntity {
		return r.fillProject(ctx, root)
	}
	return r.fillGroup(ctx, root, at)
}

// compose lays the files of the relations out as an archive has them.
func (r *entityRun) compose(ctx context.Context, root *os.Root, at layout) error {
	type have struct {
		Relation string `db:"relation"`
		Object   string `db:"object"`
	}
	there, err := db.Select[have](ctx, r.s.DB, "SELECT relation, object FROM bulk_import_files WHERE entity_id = ? AND object <> '' ORDER BY id", r.e.ID)
	if err != nil {
		return fmt.Errorf("files of entity: %w", err)
	}
	u := bounded(root, r.s.Settings.Current())
	u.joined = map[string]bool{}
	for _, f := range there {
		if !strings.HasSuffix(f.Relation, ".bundle") {
			f.Relation, _, _ = strings.Cut(f.Relation, "/") // of batches
		}
		err := r.lay(ctx, u, at, f.Relation, f.Object)
		u.joined[at.of(file{name: f.Relation})], u.joined[largeObjects] = true, true
		if broken, ok := errors.AsType[failure](err); ok {
			err = r.s.DB.InTx(ctx, func(ctx context.Context) error { return r.s.noteFailure(ctx, r.e.ID, f.Relation, "extractor", broken) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// largeObjects is the list of large objects in an archive, of which each batch has one.
const largeObjects = "lfs-objects.json"

// lay lays out a file of a relation.
func (r *entityRun) lay(ctx context.Context, u *unpacking, at layout, relation, key string) (err error) {
	object, err := r.s.Objects.Open(ctx, key)
	if err != nil {
		return fmt.Errorf("open file of %s: %w", relation, err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if strings.HasSuffix(relation, ".bundle") {
		return unreadable(ctx, u.file(relation, u.counted(ctx, object)))
	}
	if p, known := portableOf(r.e.Kind == groupEntity, relation); known && p.tar {
		of := r.carried(relation)
		u.rename = func(name string) string { return archiveName(of, name) }
		return unpack(ctx, object, u)
	}
	name := at.path
	if relation != selfRelation {
		name = at.of(file{name: relation})
	}
	zip, err := gzip.NewReader(object)
	if err != nil {
		return failure{invalidFile}
	}
	return unreadable(ctx, u.file(name, u.counted(ctx, zip)))
}

// carried are the files that a relation has.
func (r *entityRun) carried(relation string) (out []tree.Files) {
	for _, c := range r.s.Carriers() {
		for _, f := range c.Moving() {
			if f.Relation == relation && (f.RelationIn == tree.Both || f.RelationIn == r.tree()) {
				out = append(out, f)
			}
		}
	}
	return out
}

// designBundle is the repository of designs in an archive, which no package takes.
const designBundle = "project.design.bundle"

// archiveName is the name in an archive of a file in the file of a relation.
func archiveName(of []tree.Files, name string) string {
	if name == "design.bundle" {
		return designBundle
	}
	for _, f := range of {
		for inArchive, inRelation := range f.Replace {
			if name == inRelation {
				return inArchive
			}
		}
	}
	for _, f := range of {
		if f.Prefix != "" && !ofFormat(name) {
			return f.Prefix + name
		}
	}
	return name
}

// sourceMember is a member at the source.
type sourceMember struct {
	CreatedAt   *string `json:"created_at"`
	UpdatedAt   *string `json:"updated_at"`
	ExpiresAt   *string `json:"expires_at"`
	AccessLevel struct {
		Value int64 `json:"integer_value"`
	} `json:"access_level"`
	User *struct {
		ID     string `json:"user_gid"`
		Public string `json:"public_email"`
		Name   string `json:"username"`
	} `json:"user"`
}

// others is the file of those who are members above a group or project that moves with what it is in.
const others = "others.ndjson"

// members asks the source for the members, and writes them as an archive has them. Where the group above moves as well, those who are
// members there have a file of their own, as authors.
func (r *entityRun) members(ctx context.Context, root *os.Root, at layout) error {
	name := "members"
	if r.e.Kind == projectEntity {
		name = "project_members"
	}
	own := at.of(file{name: name})
	if r.e.ParentID == nil && !r.e.NoMembers {
		return r.membersOf(ctx, root, "DIRECT INHERITED", own)
	}
	if r.e.NoMembers {
		return r.membersOf(ctx, root, "DIRECT INHERITED", others)
	}
	if err := r.membersOf(ctx, root, "DIRECT", own); err != nil {
		return err
	}
	return r.membersOf(ctx, root, "INHERITED", others)
}

func (r *entityRun) membersOf(ctx context.Context, root *os.Root, relations, full string) error {
	kind, list := "group", "groupMembers"
	if r.e.Kind == projectEntity {
		kind, list = "project", "projectMembers"
	}
	query := `query($full_path: ID!, $cursor: String, $per_page: Int) { portable: ` + kind + `(fullPath: $full_path) { members: ` + list + `(relations: [` + relations +
		`], first: $per_page, after: $cursor) { page_info: pageInfo { next_page: endCursor has_next_page: hasNextPage } nodes { created_at: createdAt updated_at: updatedAt ` +
		`expires_at: expiresAt access_level: accessLevel { integer_value: integerValue } user { user_gid: id public_email: publicEmail username } } } } }`
	var out bytes.Buffer
	variables := map[string]any{"full_path": r.e.SourcePath, "per_page": sourcePage, "cursor": nil}
	for range maxPages {
		var got struct {
			Portable *struct {
				Members struct {
					Page  sourcePaging   `json:"page_info"`
					Nodes []sourceMember `json:"nodes"`
				} `json:"members"`
			} `json:"portable"`
		}
		if err := r.from.graphql(ctx, query, variables, &got); err != nil {
			return sourceError{err}
		}
		if got.Portable == nil {
			break
		}
		for _, m := range got.Portable.Members.Nodes {
			if err := m.write(&out); err != nil {
				return err
			}
		}
		page := got.Portable.Members.Page
		if !page.HasNext || page.Next == nil {
			break
		}
		variables["cursor"] = *page.Next
	}
	if err := root.MkdirAll(path.Dir(full), 0o700); err != nil {
		return fmt.Errorf("members of the source: %w", err)
	}
	if err := root.WriteFile(full, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("members of the source: %w", err)
	}
	return nil
}

// write writes a member as a line of an archive.
func (m *sourceMember) write(to io.Writer) error {
	if m.User == nil {
		return nil
	}
	id := (&sourceGroup{ID: m.User.ID}).number()
	line := map[string]any{
		"access_level": m.AccessLevel.Value, "user_id": id, "expires_at": m.ExpiresAt,
		"user": map[string]any{"id": id, "public_email": m.User.Public, "username": m.User.Name},
	}
	for key, at := range map[string]*string{"created_at": m.CreatedAt, "updated_at": m.UpdatedAt} {
		if at != nil {
			line[key] = *at
		}
	}
	if err := json.NewEncoder(to).Encode(line); err != nil {
		return fmt.Errorf("members of the source: %w", err)
	}
	return nil
}

// writing is what writes the entity.
func (r *entityRun) writing(ctx context.Context, root *os.Root, of tree.Trees, place authz.Place, members string) (*tree.Writing, error) {
	all, err := r.s.Catalogue(of)
	if err != nil {
		return nil, err
	}
	w := &tree.Writing{DB: r.s.DB, As: r.as, At: place, All: all, Now: db.At(r.s.Now()), Log: r.s.Log, Head: headOf(root), Transfer: true}
	if w.Users, w.Names, err = r.s.people(ctx, w, root, []string{members, others}); err != nil {
		return nil, err
	}
	to, err := r.rewriter(ctx, w.Names, w.Users)
	if err != nil {
		return nil, err
	}
	w.Rewrite = to.text
	return w, nil
}

func (r *entityRun) fillProject(ctx context.Context, root *os.Root) error {
	s := r.s
	p, err := s.Projects.FindByID(ctx, r.as, *r.e.ProjectID)
	if errs.Is(err, errs.NotFound) {
		return failure{"The project was deleted."}
	}
	if err != nil {
		return err
	}
	row, err := db.Get[importRow](ctx, s.DB, "SELECT "+importColumns+" FROM file_imports WHERE project_id = ?", p.ID)
	if err != nil {
		return fmt.Errorf("import of project: %w", err)
	}
	w, err := r.writing(ctx, root, tree.Projects, p.Place(), projectLayout.of(file{name: "project_members"}))
	if err != nil {
		return err
	}
	f := &filling{Writing: w, s: s, from: root, tree: projectLayout, of: &row.progress, store: s.storeProgress(&row)}
	if err := f.keepAround(ctx, f.all); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.finishImport(ctx, r.as, &row, f); err != nil {
			return err
		}
		return r.finish(ctx, "file_import_items i WHERE i.project_id = ?", int64(p.ID), nil)
	})
}

func (r *entityRun) fillGroup(ctx context.Context, root *os.Root, at layout) error {
	s := r.s
	g, err := s.Namespaces.FindByID(ctx, r.as, *r.e.NamespaceID)
	if errs.Is(err, errs.NotFound) {
		return failure{"The group was deleted."}
	}
	if err != nil {
		return err
	}
	part, err := db.Get[importedGroup](ctx, s.DB, "SELECT "+db.Columns[importedGroup]("g")+" FROM imported_groups g WHERE g.namespace_id = ?", g.ID)
	if err != nil {
		return fmt.Errorf("import of group: %w", err)
	}
	w, err := r.writing(ctx, root, tree.Groups, g.Place(), at.of(file{name: "members"}))
	if err != nil {
		return err
	}
	w.Number = *r.e.SourceID
	if w.Groups, err = r.groups(ctx); err != nil {
		return err
	}
	f := &filling{Writing: w, s: s, from: root, tree: at, of: &part.progress, store: s.storeGroup(&part)}
	if err := f.keepAround(ctx, f.group); err != nil {
		return err
	}
	children, err := r.children(ctx, g)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := f.show(ctx, authz.Visibility(r.e.Visibility), authz.Public); err != nil {
			return err
		}
		return r.finish(ctx, "imported_group_items i WHERE i.namespace_id = ?", int64(g.ID), children)
	})
}

// groups are the groups of the transfer that are there, by their numbers at the source.
func (r *entityRun) groups(ctx context.Context) (map[int64]namespace.ID, error) {
	type pair struct {
		Source int64        `db:"source_id"`
		Here   namespace.ID `db:"namespace_id"`
	}
	found, err := db.Select[pair](ctx, r.s.DB, `SELECT source_id, namespace_id FROM bulk_import_entities WHERE bulk_import_id = ? AND source_id IS NOT NULL AND namespace_id IS NOT NULL
		ORDER BY id LIMIT ?`, r.e.BulkID, maxGroups)
	if err != nil {
		return nil, fmt.Errorf("groups of transfer: %w", err)
	}
	out := map[int64]namespace.ID{}
	for _, p := range found {
		out[p.Source] = p.Here
	}
	return out, nil
}

// children are the groups and projects in a group at the source.
func (r *entityRun) children(ctx context.Context, into *namespace.Group) ([]Entity, error) {
	now := db.At(r.s.Now())
	var out []Entity
	seen := map[string]bool{} // lists that change while they are read may have one twice
	add := func(kind string, id int64, slug, full string) {
		key := strings.ToLower(slug)
		if seen[key] {
			return
		}
		seen[key] = true
		out = append(out, Entity{
			ParentID: &r.e.ID, Kind: kind, SourcePath: full, SourceID: &id, Slug: slug, Destination: into.FullPath, Status: BulkCreated, NoProjects: r.e.NoProjects,
			NoMembers: r.e.NoMembers, CreatedAt: now, UpdatedAt: now,
		})
	}
	err := r.from.pages(ctx, r.from.at(r.e)+"/subgroups", func(text json.RawMessage) error {
		var g struct {
			ID       int64  `json:"id"`
			Path     string `json:"path"`
			FullPath string `json:"full_path"`
		}
		if json.Unmarshal(text, &g) != nil || g.ID == 0 || g.Path == "" || len(out) >= maxGroups {
			return errAnswer
		}
		add(groupEntity, g.ID, g.Path, g.FullPath)
		return nil
	})
	if err != nil {
		return nil, sourceError{err}
	}
	if r.e.NoProjects {
		return out, nil
	}
	const query = `query($full_path: ID!, $cursor: String, $per_page: Int) { group(fullPath: $full_path) { projects(includeSubgroups: false, first: $per_page, after: $cursor) {
		page_info: pageInfo { next_page: endCursor has_next_page: hasNextPage } nodes { id name path full_path: fullPath } } } }`
	variables := map[string]any{"full_path": r.e.SourcePath, "per_page": sourcePage, "cursor": nil}
	for range maxPages {
		var got struct {
			Group *struct {
				Projects struct {
					Page  sourcePaging  `json:"page_info"`
					Nodes []sourceGroup `json:"nodes"`
				} `json:"projects"`
			} `json:"group"`
		}
		if err := r.from.graphql(ctx, query, variables, &got); err != nil {
			return nil, sourceError{err}
		}
		if got.Group == nil {
			break
		}
		for i := range got.Group.Projects.Nodes {
			p := &got.Group.Projects.Nodes[i]
			if len(out) >= maxGroups {
				return nil, failure{fmt.Sprintf("The group has more than %d groups and projects.", maxGroups)}
			}
			add(projectEntity, p.number(), p.Path, p.FullPath)
		}
		page := got.Group.Projects.Page
		if !page.HasNext || page.Next == nil {
			break
		}
		variables["cursor"] = *page.Next
	}
	return out, nil
}
