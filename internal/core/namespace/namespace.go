// Package namespace holds the places where projects stand: groups and personal
// namespaces, their paths, their members and the numbers that count in them.
package namespace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
)

// ID identifies a namespace; the id of a group is the id of its namespace.
type ID = authz.NamespaceID

// Kind says what a namespace belongs to.
type Kind string

// The kinds.
const (
	UserKind    Kind = "user"
	GroupKind   Kind = "group"
	ProjectKind Kind = "project" // the twin of a project; never listed
)

// Namespace is the place of a user, group or project in the tree.
type Namespace struct {
	ID         ID               `db:"id"`
	Kind       Kind             `db:"kind"`
	ParentID   *ID              `db:"parent_id"`
	Path       string           `db:"path"`
	Name       string           `db:"name"`
	Visibility authz.Visibility `db:"visibility"`
	FullPath   string           `db:"full_path"`
	FullName   string           `db:"full_name"`
	Avatar     string           `db:"avatar"`   // stored file name of a group's or user's picture, "" for none
	OwnerID    *authz.UserID    `db:"owner_id"` // the user of a personal namespace
}

// Place is that of a group whose row is not at hand.
func (n *Namespace) Place() authz.Place {
	return authz.Place{
		Namespace: n.ID, Parent: n.ParentID, Group: true, ID: int64(n.ID), Name: n.Name, Path: n.FullPath, FullName: n.FullName,
		Subject: authz.Subject{Noun: "Group", Namespace: n.ID, Visibility: n.Visibility},
	}
}

const namespaceColumns = `n.id, n.kind, n.parent_id, n.path, n.name, n.visibility, r.path AS full_path, r.name AS full_name,
	COALESCE(g.avatar, u.avatar, '') AS avatar, u.id AS owner_id`

const namespaceTables = `namespaces n JOIN routes r ON r.namespace_id = n.id
	LEFT JOIN groups g ON g.namespace_id = n.id
	LEFT JOIN users u ON n.kind = 'user' AND u.namespace_id = n.id`

// Deps are what the service is built on.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Settings   *setting.Store
	Attributes *attribute.Service
	Limits     *limit.Service
	Now        func() time.Time
	Log        *slog.Logger // nil discards
}

// Service reads and changes groups, personal namespaces and members.
type Service struct {
	Deps

	above Above
}

// New builds the service.
func New(d Deps) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Deps: d}
}

// Load returns the namespaces with these ids in one statement. It asks for no permission and
// is for core.
func (s *Service) Load(ctx context.Context, ids []ID) (map[ID]*Namespace, error) {
	out := make(map[ID]*Namespace, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("n.id", ids)
	rows, err := db.Select[Namespace](ctx, s.DB, "SELECT "+namespaceColumns+" FROM "+namespaceTables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("namespaces by id: %w", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

// Names returns the names of namespaces, which every caller may see beside what refers to them.
func (s *Service) Names(ctx context.Context, ids []ID) (map[ID]string, error) {
	found, err := s.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]string, len(found))
	for id, n := range found {
		out[id] = n.Name
	}
	return out, nil
}

// FindNamespace returns the user's or group's namespace that ref names, an id in
// digits or a full path. Personal namespaces show themselves to their user and to
// administrators, groups to callers who may read them.
func (s *Service) FindNamespace(ctx context.Context, as authz.Actor, ref string) (*Namespace, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadNamespace, authz.Subject{}); err != nil {
		return nil, err
	}
	cond, arg := byRef(ref)
	n, err := db.Get[Namespace](ctx, s.DB, "SELECT "+namespaceColumns+" FROM "+namespaceTables+" WHERE n.kind <> 'project' AND "+cond, arg)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, errs.Missing("Namespace")
	case err != nil:
		return nil, fmt.Errorf("find namespace: %w", err)
	}
	if n.Kind == UserKind {
		if as.Admin || as.Owns(n.OwnerID) {
			return &n, nil
		}
		return nil, errs.Missing("Namespace")
	}
	seen, err := s.Policy.Can(ctx, as, authz.ReadGroup, authz.Subject{Noun: "Namespace", Namespace: n.ID, Visibility: n.Visibility})
	if err != nil {
		return nil, err
	}
	if !seen {
		return nil, errs.Missing("Namespace")
	}
	return &n, nil
}

// NamespaceFilter selects from a list of namespaces.
type NamespaceFilter struct {
	Search         string
	FullPathSearch bool // look in the full path as well
	OwnedOnly      bool
	TopLevelOnly   bool
	page.Range
}

// Namespaces lists the actor's own namespace and the groups it is a member of, for
// administrators all, by id.
func (s *Service) Namespaces(ctx context.Context, as authz.Actor, f NamespaceFilter) (page.Page[Namespace], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadNamespace, authz.Subject{}); err != nil {
		return page.Page[Namespace]{}, err
	}
	var w db.Where
	w.Raw("n.kind <> 'project'")
	if !as.Admin || f.OwnedOnly {
		least := authz.Minimal
		if f.OwnedOnly {
			least = authz.Owner
		}
		reach, args := s.Policy.ReachSQL(as, least)
		w.And("((n.kind = 'user' AND u.id = ?) OR (n.kind = 'group' AND n.id IN ("+reach+")))", append([]any{as.UserID}, args...)...)
	}
	if f.TopLevelOnly {
		w.Raw("n.parent_id IS NULL")
	}
	if f.Search != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Search)) + "%"
		switch {
		case f.FullPathSearch:
			w.And(`(r.path_fold LIKE ? ESCAPE '\' OR n.name_fold LIKE ? ESCAPE '\')`, pattern, pattern)
		default:
			w.And(`(LOWER(n.path) LIKE ? ESCAPE '\' OR n.name_fold LIKE ? ESCAPE '\')`, pattern, pattern)
		}
	}
	list, err := page.Select[Namespace](ctx, s.DB, page.Query{
		Columns: namespaceColumns, From: namespaceTables, Where: w, Order: page.Order{page.ID("n.id")},
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list namespaces: %w", err)
	}
	return list, nil
}

// Exists reports whether a user or group holds the path below parent, nil for the top
// level, and if so suggests one that is free.
func (s *Service) Exists(ctx context.Context, as authz.Actor, path string, parent *ID) (taken bool, suggestion string, err error) {
	if err := s.Policy.Require(ctx, as, authz.ReadNamespace, authz.Subject{}); err != nil {
		return false, "", err
	}
	prefix := ""
	if parent != nil {
		above, err := s.Load(ctx, []ID{*parent})
		if err != nil {
			return false, "", err
		}
		if above[*parent] == nil {
			return false, "", nil
		}
		prefix = above[*parent].FullPath + "/"
	}
	var w db.Where
	w.And(`(path_fold = ? OR path_fold LIKE ? ESCAPE '\')`, db.Fold(prefix+path), db.LikePattern(db.Fold(prefix+path))+"%")
	held, err := db.Select[string](ctx, s.DB, "SELECT path_fold FROM routes"+w.SQL()+" ORDER BY path_fold LIMIT 5000", w.Args()...)
	if err != nil {
		return false, "", fmt.Errorf("look for path: %w", err)
	}
	all := make(map[string]bool, len(held))
	for _, p := range held {
		all[p] = true
	}
	if !all[db.Fold(prefix+path)] {
		return false, "", nil
	}
	for i := 1; ; i++ {
		suggestion = path + strconv.Itoa(i)
		if !all[db.Fold(prefix+suggestion)] {
			return true, suggestion, nil
		}
	}
}

// byRef returns the condition on namespaceTables or groupTables for an id in digits or a full path.
func byRef(ref string) (cond string, arg any) {
	digits := strings.TrimPrefix(ref, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "r.path_fold = ?", db.Fold(ref)
	}
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		id = 0
	}
	return "n.id = ?", id
}

type someone struct {
	ID          authz.UserID `db:"id"`
	NamespaceID *ID          `db:"namespace_id"`
}

// Personal returns the namespace of the user that ref names, by number or username.
func (s *Service) Personal(ctx context.Context, as authz.Actor, ref string) (ID, error) {
	if err := s.Policy.Require(ctx, as, authz.ListProjects, authz.Subject{}); err != nil {
		return 0, err
	}
	u, err := s.someone(ctx, ref)
	if err != nil || u.NamespaceID == nil {
		return 0, err // a bot has none, and so no projects
	}
	return *u.NamespaceID, nil
}

// User returns the number of the user that ref names, by number or username.
func (s *Service) User(ctx context.Context, as authz.Actor, ref string) (authz.UserID, error) {
	if err := s.Policy.Require(ctx, as, authz.ListProjects, authz.Subject{}); err != nil {
		return 0, err
	}
	u, err := s.someone(ctx, ref)
	return u.ID, err
}

func (s *Service) someone(ctx context.Context, ref string) (someone, error) {
	cond, arg := "username_fold = ?", any(db.Fold(ref))
	if digits := strings.TrimPrefix(ref, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		id, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			return someone{}, errs.Missing("User")
		}
		cond, arg = "id = ?", id
	}
	u, err := db.Get[someone](ctx, s.DB, "SELECT id, namespace_id FROM users WHERE "+cond, arg)
	if errors.Is(err, db.ErrNotFound) {
		return someone{}, errs.Missing("User")
	}
	if err != nil {
		return someone{}, fmt.Errorf("find user: %w", err)
	}
	return u, nil
}

// Counts says how much is in a group.
type Counts struct {
	ID       ID    `db:"id"`
	Members  int64 `db:"members"`  // different users, with those of subgroups and projects
	Projects int64 `db:"projects"` // with those of subgroups
	Size     int64 `db:"size"`     // bytes of their repositories
}

// repositorySize is the SQL for the bytes of all repositories in the namespace n.
const repositorySize = `(SELECT COALESCE(SUM(d.repository_size), 0) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
	JOIN project_measures d ON d.project_id = p.id WHERE a.ancestor_id = n.id AND NOT p.pending_delete)`

// Sizes says how many bytes the things in a group and below it have.
type Sizes struct {
	ID         ID    `db:"id"`
	Repository int64 `db:"repository"` // of the projects
	LFS        int64 `db:"lfs"`        // their large files
	Uploads    int64 `db:"uploads"`    // of the projects and of the groups
	Wiki       int64 `db:"wiki"`       // as Uploads
	Snippets   int64 `db:"snippets"`   // of the projects
	Artifacts  int64 `db:"artifacts"`  // of their jobs
	Packages   int64 `db:"packages"`   // of the projects
}

// Total adds them up.
func (s Sizes) Total() int64 {
	return s.Repository + s.LFS + s.Uploads + s.Wiki + s.Snippets + s.Artifacts + s.Packages
}

// Sizes measures each group of ids. It asks for no permission: the sums count projects
// that not everybody sees.
func (s *Service) Sizes(ctx context.Context, ids []ID) (map[ID]Sizes, error) {
	out := make(map[ID]Sizes, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("n.id", ids)
	rows, err := db.Select[Sizes](ctx, s.DB, "SELECT n.id, "+repositorySize+` AS repository,
		(SELECT COALESCE(SUM(o.size), 0) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN lfs_links l ON l.project_id = p.id JOIN lfs_objects o ON o.id = l.object_id
			WHERE a.ancestor_id = n.id AND NOT p.pending_delete) AS lfs,
		(SELECT COALESCE(SUM(u.size), 0) FROM namespace_ancestors a JOIN uploads u ON u.namespace_id = a.namespace_id
			WHERE a.ancestor_id = n.id) AS uploads,
		(SELECT COALESCE(SUM(r.size), 0) FROM namespace_ancestors a LEFT JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN wikis w ON w.project_id = p.id OR w.group_id = a.namespace_id JOIN attached_repositories r ON r.name = w.repository
			WHERE a.ancestor_id = n.id AND (p.id IS NULL OR NOT p.pending_delete)) AS wiki,
		(SELECT COALESCE(SUM(r.size), 0) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN snippets x ON x.project_id = p.id JOIN attached_repositories r ON r.name = x.repository
			WHERE a.ancestor_id = n.id AND NOT p.pending_delete) AS snippets,
		(SELECT COALESCE(SUM(x.size), 0) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN job_artifacts x ON x.project_id = p.id WHERE a.ancestor_id = n.id AND NOT p.pending_delete) AS artifacts,
		(SELECT COALESCE(SUM(x.size), 0) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			JOIN package_files x ON x.project_id = p.id WHERE a.ancestor_id = n.id AND NOT p.pending_delete) AS packages
		FROM namespaces n`+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("measure groups: %w", err)
	}
	for _, size := range rows {
		out[size.ID] = size
	}
	return out, nil
}

// OwnCounts counts in those groups of ids that the actor owns.
func (s *Service) OwnCounts(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Counts, error) {
	out := map[ID]Counts{}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.Raw("n.kind = 'group'")
	w.In("n.id", ids)
	if !as.Admin {
		own, args := s.Policy.ReachSQL(as, authz.Owner)
		w.And("n.id IN ("+own+")", args...)
	}
	rows, err := db.Select[Counts](ctx, s.DB, `SELECT n.id,
		(SELECT COUNT(DISTINCT m.user_id) FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.namespace_id
			WHERE a.ancestor_id = n.id) AS members,
		(SELECT COUNT(*) FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id
			WHERE a.ancestor_id = n.id AND NOT p.pending_delete) AS projects,
		`+repositorySize+` AS size
		FROM namespaces n`+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count in groups: %w", err)
	}
	for _, c := range rows {
		out[c.ID] = c
	}
	return out, nil
}
