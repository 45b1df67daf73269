package snippet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

var columns = db.Columns[Snippet]("s") + ", COALESCE(r.path, '') AS project_path"

const from = " FROM snippets s LEFT JOIN projects p ON p.id = s.project_id LEFT JOIN namespaces n ON n.id = p.namespace_id" +
	" LEFT JOIN routes r ON r.namespace_id = p.namespace_id"

// row names a snippet for an update.
func (s *Service) row(id ID) db.Row {
	return db.Row{Table: "snippets", ID: id, Now: s.Now, Columns: columns, From: from[len(" FROM "):], Alias: "s", Missing: errs.Missing("Snippet")}
}

// Scope says which snippets a list has, of those that the actor may read.
type Scope int

// The scopes.
const (
	Own    Scope = iota // of the actor
	Public              // public ones of users
	All                 // every one
)

// Filter selects from a list of snippets.
type Filter struct {
	Scope         Scope
	CreatedAfter  *time.Time // this moment included
	CreatedBefore *time.Time // as CreatedAfter
	Storage       string     // "" is any; only administrators select by it

	IDs        []ID              // nil for any
	AuthorID   authz.UserID      // 0 for any
	Kind       Kind              // "" for both
	Visibility *authz.Visibility // nil for any
	page.Range
}

// Kind says whether snippets belong to projects or users.
type Kind string

// The kinds.
const (
	Personal  Kind = "personal"
	OfProject Kind = "project"
)

// where adds what the filter selects by beside its scope.
func (f Filter) where(w *db.Where) {
	if f.IDs != nil {
		w.In("s.id", f.IDs)
	}
	if f.AuthorID != 0 {
		w.And("s.author_id = ?", f.AuthorID)
	}
	switch f.Kind {
	case Personal:
		w.Raw("s.project_id IS NULL")
	case OfProject:
		w.Raw("s.project_id IS NOT NULL")
	}
	if f.Visibility != nil {
		w.And("s.visibility = ?", *f.Visibility)
	}
}

var order = page.Order{page.ID("s.id").Desc()}

// List returns the snippets of users and projects that the actor may read, the latest first.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[Snippet], error) {
	if err := s.Policy.Require(ctx, as, authz.ListSnippets, authz.Subject{}); err != nil {
		return page.Page[Snippet]{}, err
	}
	var w db.Where
	switch f.Scope {
	case Own:
		w.And("s.author_id = ?", as.UserID)
	case Public:
		w.And("s.project_id IS NULL AND s.visibility = ?", authz.Public)
	case All:
	}
	w.Since("s.created_at", f.CreatedAfter)
	w.Until("s.created_at", f.CreatedBefore)
	f.where(&w)
	if as.Admin && f.Storage != "" && f.Storage != storage {
		w.Raw("false")
	}
	if f.Scope != Public {
		cond, args := s.readable(as)
		w.And(cond, args...)
	}
	return s.list(ctx, w, f.Range)
}

// readable is the condition for snippets that the actor may read; it says what Policy.Require
// says of ReadSnippet.
func (s *Service) readable(as authz.Actor) (cond string, args []any) {
	const feature = "NOT p.pending_delete AND p.snippets_access "
	if as.Admin || as.Auditor {
		var w db.Where
		s.Policy.Within(as, "p.namespace_id", &w)
		return "(s.project_id IS NULL OR " + feature + "> 0" + w.AndSQL() + ")", w.Args()
	}
	open := authz.Internal
	if as.External || !as.SignedIn() {
		open = authz.Public
	}
	visible, args := s.Policy.VisibleProjectsSQL(as, "n")
	level, more := s.Policy.LevelSQL(as, "p.namespace_id")
	cond = "(s.project_id IS NULL AND (s.visibility >= ? OR s.author_id = ?)" +
		" OR s.project_id IS NOT NULL AND " + visible + " AND " + feature + "> 0" +
		" AND (" + feature + "> 10 AND s.visibility >= ? OR " + level + " >= 10))"
	args = append([]any{open, as.UserID}, args...)
	return cond, append(append(args, open), more...)
}

// ListOf returns the snippets of a project that the actor may read, the latest first.
func (s *Service) ListOf(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Snippet], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadSnippet, p.Subject()); err != nil {
		return page.Page[Snippet]{}, err
	}
	level, err := s.Policy.Level(ctx, as, p.Subject())
	if err != nil {
		return page.Page[Snippet]{}, err
	}
	var w db.Where
	w.And("s.project_id = ?", p.ID)
	f.where(&w)
	switch {
	case as.Admin, as.Auditor, level >= authz.Guest:
	case as.SignedIn() && !as.External:
		w.And("s.visibility >= ?", authz.Internal)
	default:
		w.And("s.visibility >= ?", authz.Public)
	}
	return s.list(ctx, w, f.Range)
}

func (s *Service) list(ctx context.Context, w db.Where, r page.Range) (page.Page[Snippet], error) {
	out, err := page.Select[Snippet](ctx, s.DB, page.Query{Columns: columns, From: from[len(" FROM "):], Where: w, Order: order}, r)
	if err != nil {
		return out, fmt.Errorf("list snippets: %w", err)
	}
	return out, nil
}

// Find returns a snippet of the project, or any one where the project is nil. It requires
// ReadSnippet.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Snippet, error) {
	sn, _, err := s.find(ctx, as, p, id, authz.ReadSnippet)
	return sn, err
}

// find finds a snippet and requires an ability. It returns the project of the snippet, too.
func (s *Service) find(ctx context.Context, as authz.Actor, p *project.Project, id ID, ability authz.Ability) (*Snippet, *project.Project, error) {
	if p != nil {
		// Who may not use the snippets of a project does not learn which there are.
		if err := s.Policy.Require(ctx, as, authz.ReadSnippet, p.Subject()); err != nil {
			return nil, nil, err
		}
	}
	sn, err := s.load(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if p == nil && sn.ProjectID != nil {
		p, err = s.Projects.FindByID(ctx, as, *sn.ProjectID)
		if errs.Is(err, errs.NotFound) {
			return nil, nil, errs.Missing("Snippet")
		}
		if err != nil {
			return nil, nil, err
		}
	} else if p != nil && (sn.ProjectID == nil || *sn.ProjectID != p.ID) {
		return nil, nil, errs.Missing("Snippet")
	}
	subject := sn.subject(as, p)
	if err := s.Policy.Require(ctx, as, authz.ReadSnippet, subject); err != nil {
		return nil, nil, err
	}
	if ability == authz.ReadSnippet {
		return sn, p, nil
	}
	return sn, p, s.Policy.Require(ctx, as, ability, subject)
}

func (s *Service) load(ctx context.Context, id ID) (*Snippet, error) {
	sn, err := db.Get[Snippet](ctx, s.DB, "SELECT "+columns+from+" WHERE s.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Snippet")
	}
	if err != nil {
		return nil, fmt.Errorf("find snippet: %w", err)
	}
	return &sn, nil
}

// UserAgent returns the client that created a snippet, and its address. It requires
// ReadUserAgent.
func (s *Service) UserAgent(ctx context.Context, as authz.Actor, p *project.Project, id ID) (agent, address string, err error) {
	sn, _, err := s.find(ctx, as, p, id, authz.ReadSnippet)
	if err != nil {
		return "", "", err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadUserAgent, authz.Subject{}); err != nil {
		return "", "", err
	}
	if sn.Agent == "" {
		return "", "", errs.Missing("UserAgentDetail")
	}
	return sn.Agent, sn.Address, nil
}

// Open opens a file of a snippet at a ref; "" is the first file, and the latest commit. Close
// its Blob.
func (s *Service) Open(ctx context.Context, as authz.Actor, p *project.Project, id ID, ref, path string) (*repo.File, error) {
	sn, _, err := s.find(ctx, as, p, id, authz.ReadSnippet)
	if err != nil {
		return nil, err
	}
	if path == "" {
		files := sn.Files()
		if len(files) == 0 {
			return nil, errs.Missing("File")
		}
		path = files[0]
	}
	return s.Repos.AttachedFile(ctx, as, s.attached(sn), ref, path)
}

// Content is what a file of a snippet holds.
type Content struct {
	Path string
	Mode gitstore.Mode
	Size int64  // bytes
	Data []byte // nil where the file is larger than was asked for
}

// Contents returns a snippet with what its files hold now: of each as much as most bytes leave,
// of all together. It requires ReadSnippet.
func (s *Service) Contents(ctx context.Context, as authz.Actor, p *project.Project, id ID, most int64) (*Snippet, []Content, error) {
	sn, _, err := s.find(ctx, as, p, id, authz.ReadSnippet)
	if err != nil {
		return nil, nil, err
	}
	out := []Content{}
	for _, path := range sn.Files() {
		c, err := s.content(ctx, as, sn, path, most)
		if errs.Is(err, errs.NotFound) {
			continue // a push has removed it since
		}
		if err != nil {
			return nil, nil, err
		}
		most -= int64(len(c.Data))
		out = append(out, c)
	}
	return sn, out, nil
}

// Name names a file of a snippet.
type Name struct {
	ID   ID
	Path string
}

// Files returns what files of snippets hold that the actor may read; take says of each whether it is
// read, by its bytes. What is not there, or hidden, is left out.
func (s *Service) Files(ctx context.Context, as authz.Actor, names []Name, take func(size int64) bool) (map[Name]*Content, error) {
	ids := make([]ID, len(names))
	for i, n := range names {
		ids[i] = n.ID
	}
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[Name]*Content, len(names))
	for _, n := range names {
		sn := found[n.ID]
		if sn == nil {
			continue
		}
		c, err := s.file(ctx, as, sn, n.Path, take)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[n] = &c
	}
	return out, nil
}

func (s *Service) content(ctx context.Context, as authz.Actor, sn *Snippet, path string, most int64) (Content, error) {
	return s.file(ctx, as, sn, path, func(size int64) bool { return size <= most })
}

func (s *Service) file(ctx context.Context, as authz.Actor, sn *Snippet, path string, take func(size int64) bool) (Content, error) {
	f, err := s.Repos.AttachedFile(ctx, as, s.attached(sn), "", path)
	if err != nil {
		return Content{}, err
	}
	defer f.Blob.Close()
	out := Content{Path: path, Mode: f.Mode, Size: f.Blob.Size}
	if !take(out.Size) {
		return out, nil
	}
	out.Data = make([]byte, out.Size)
	if _, err := io.ReadFull(f.Blob, out.Data); err != nil {
		return Content{}, fmt.Errorf("read file of snippet: %w", err)
	}
	return out, nil
}
