package wiki

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/charset"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/markdown"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/weburl"
)

// Contents says whether pages are read with what they hold.
type Contents int

// The two ways to list.
const (
	WithoutContents Contents = iota
	WithContents
)

var errMany = errors.New("too many pages")

func bytesText(n int) string { return quota.Bytes(int64(n)) }

// files lists the pages of a commit by path.
func files(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID) ([]gitcmd.PathEntry, error) {
	var out []gitcmd.PathEntry
	err := r.Walk(ctx, commit, "", func(e gitcmd.PathEntry) error {
		if e.Mode != gitstore.ModeFile && e.Mode != gitstore.ModeExecutable || formatOf(e.Path) == "" {
			return nil
		}
		if len(out) == maxPages {
			return errMany
		}
		out = append(out, e)
		return nil
	})
	if err != nil && !errors.Is(err, errMany) {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	return out, nil
}

// tip opens the repository of a wiki and returns the commit of its default branch, zero for none.
func (s *Service) tip(ctx context.Context, w *Wiki) (*gitcmd.Repo, gitstore.ObjectID, error) {
	r, err := s.Repos.OpenAttached(ctx, s.attached(w))
	if err != nil {
		return nil, gitstore.ObjectID{}, err
	}
	at, err := r.Branch(ctx, w.Branch)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, at, fmt.Errorf("read branch of wiki: %w", err)
	}
	return r, at, nil
}

// pages lists the pages of the default branch by path, without contents.
func (s *Service) pages(ctx context.Context, w *Wiki) (*gitcmd.Repo, []Page, error) {
	r, tip, err := s.tip(ctx, w)
	if err != nil || tip.IsZero() {
		return r, nil, err
	}
	if w.CommitID != tip.String() { // the process was killed after a push
		if err := s.sync(ctx, authz.Actor{}, w.ID, nil); err != nil {
			return nil, nil, err
		}
	}
	entries, err := files(ctx, r, tip)
	if err != nil {
		return nil, nil, err
	}
	ids, err := s.ids(ctx, w.ID)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Page, len(entries))
	for i, e := range entries {
		out[i] = pageOf(e.Path, e.ID.String(), ids[e.Path])
	}
	return r, out, nil
}

// ids returns the ids of pages by their paths.
func (s *Service) ids(ctx context.Context, id ID) (map[string]PageID, error) {
	type row struct {
		ID   PageID `db:"id"`
		Path string `db:"path"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT id, path FROM wiki_pages WHERE wiki_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	out := make(map[string]PageID, len(rows))
	for _, r := range rows {
		out[r.Path] = r.ID
	}
	return out, nil
}

// Load returns those of the pages with these ids that are there, without contents. It asks for no
// permission.
func (s *Service) Load(ctx context.Context, ids []PageID) (map[PageID]*Page, error) {
	var w db.Where
	w.In("id", ids)
	rows, err := db.Select[pageRow](ctx, s.DB, "SELECT "+db.Columns[pageRow]("")+" FROM wiki_pages"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("load pages: %w", err)
	}
	out := make(map[PageID]*Page, len(rows))
	for _, row := range rows {
		p := pageOf(row.Path, row.BlobID, row.ID)
		out[row.ID] = &p
	}
	return out, nil
}

// List returns the pages of a wiki by path. It requires ReadWiki, or ReadGroupWiki.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, contents Contents) ([]Page, error) {
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return nil, err
	}
	w, err := s.find(ctx, at)
	if err != nil || w == nil {
		return []Page{}, err
	}
	r, out, err := s.pages(ctx, w)
	if err != nil || contents == WithoutContents {
		return out, err
	}
	var texts budget.Sum
	for i := range out {
		if err := load(ctx, r, &out[i]); err != nil {
			return nil, err
		}
		if err := texts.Add(len(out[i].raw)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byPath is the order of List.
var byPath = page.Order{page.Text("path", "path")}

// Index returns a part of List, without contents.
func (s *Service) Index(ctx context.Context, as authz.Actor, at authz.Place, part page.Range) (page.Page[Page], error) {
	all, err := s.List(ctx, as, at, WithoutContents)
	if err != nil {
		return page.None[Page](part), err
	}
	return page.Slice(all, part, byPath, func(p *Page) []any { return []any{p.Path} })
}

// load reads what a page holds.
func load(ctx context.Context, r *gitcmd.Repo, p *Page) error {
	id, err := gitstore.ParseObjectID(p.blob)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	raw, err := r.Blob(ctx, id, maxShown)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return errs.New(errs.TooLarge, "")
	}
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	if err := budget.Of(ctx).Take(ctx, int64(len(raw))); err != nil {
		return err
	}
	p.raw = charset.Text(raw, "")
	p.Front, p.Content = cutFront(p.raw)
	return nil
}

// maxShown is how large a page that came by git may be to be shown, in bytes.
const maxShown = 50 << 20

// Find returns a page by its slug, at a commit where version names one. It requires ReadWiki, or
// ReadGroupWiki.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, slug, version string) (*Page, error) {
	p, _, err := s.FindAmong(ctx, as, at, slug, version)
	return p, err
}

// FindAmong is Find, and returns the pages that List gives without contents as well.
func (s *Service) FindAmong(ctx context.Context, as authz.Actor, at authz.Place, slug, version string) (*Page, []Page, error) {
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return nil, nil, err
	}
	w, err := s.known(ctx, at, "Wiki Page")
	if err != nil {
		return nil, nil, err
	}
	return s.page(ctx, w, slug, version)
}

// page reads a page, at a commit where version names one, and lists the pages of today.
func (s *Service) page(ctx context.Context, w *Wiki, slug, version string) (*Page, []Page, error) {
	r, now, err := s.pages(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	list := now
	if version != "" {
		if list, err = s.pagesAt(ctx, r, now, version); err != nil {
			return nil, nil, err
		}
	}
	for i := range list {
		if sameSlug(list[i].Path, slug) {
			return &list[i], now, load(ctx, r, &list[i])
		}
	}
	return nil, nil, errs.Missing("Wiki Page")
}

// pagesAt lists the pages of a commit, with the ids of those that are still there.
func (s *Service) pagesAt(ctx context.Context, r *gitcmd.Repo, now []Page, version string) ([]Page, error) {
	rev, err := r.Resolve(ctx, version)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return nil, errs.Missing("Wiki Page")
	}
	if err != nil {
		return nil, fmt.Errorf("resolve version: %w", err)
	}
	entries, err := files(ctx, r, rev.Commit)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]PageID, len(now))
	for i := range now {
		ids[now[i].Path] = now[i].ID
	}
	out := make([]Page, len(entries))
	for i, e := range entries {
		out[i] = pageOf(e.Path, e.ID.String(), ids[e.Path])
	}
	return out, nil
}

// Open opens a file of a wiki at a ref, "" for the default branch: an attachment, or whatever
// came by git. It requires ReadWiki, or ReadGroupWiki. Close its Blob.
func (s *Service) Open(ctx context.Context, as authz.Actor, at authz.Place, ref, file string) (*repo.File, error) {
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return nil, err
	}
	w, err := s.known(ctx, at, "File")
	if err != nil {
		return nil, err
	}
	return s.Repos.AttachedFile(ctx, as, s.attached(w), ref, file)
}

// History lists the commits that changed a page of the default branch, newest first. It
// requires ReadWiki, or ReadGroupWiki.
func (s *Service) History(ctx context.Context, as authz.Actor, at authz.Place, slug string, part page.Range) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](part)
	none.Total = -1
	p, err := s.Find(ctx, as, at, slug, "")
	if err != nil {
		return none, err
	}
	begin, err := part.Place()
	if err != nil {
		return none, err
	}
	w, err := s.find(ctx, at)
	if err != nil || w == nil {
		return none, err
	}
	r, tip, err := s.tip(ctx, w)
	if err != nil || tip.IsZero() {
		return none, err
	}
	opts := gitcmd.LogOptions{From: []gitstore.ObjectID{tip}, Path: p.Path, Skip: begin.Offset}
	if begin.Of != "" {
		if opts.From[0], err = gitstore.ParseObjectID(begin.Of); err != nil {
			return none, page.ErrCursor
		}
	}
	if begin.Limit > 0 {
		opts.Limit = begin.Limit + 1
	}
	commits, err := r.LogCommits(ctx, opts)
	if err != nil {
		return none, fmt.Errorf("history of page: %w", err)
	}
	more := begin.Limit > 0 && len(commits) > begin.Limit
	if more {
		commits = commits[:begin.Limit]
	}
	return page.Part(commits, opts.From[0].String(), begin, more, -1), nil
}

// URL is where the wiki of a place is read.
func URL(urls *weburl.Site, at authz.Place) string {
	if at.Group {
		return urls.GroupWiki(at.Path)
	}
	return urls.Wiki(at.Path)
}

// links returns where the relative links of a page lead on a site.
func (p *Page) links(urls *weburl.Site, at authz.Place) func(address string) string {
	root := URL(urls, at)
	return func(address string) string {
		if strings.HasPrefix(address, "/") {
			return urls.Root() + address
		}
		folder := p.inFolder
		if strings.HasPrefix(address, uploads+"/") {
			folder = ""
		}
		return root + path.Clean("/"+folder+"/"+address)
	}
}

// pages returns the addresses of pages by their names, in which a space is a dash.
func pages(urls *weburl.Site, at authz.Place) func(name string) string {
	root := URL(urls, at)
	return func(name string) string {
		name, anchor, found := strings.Cut(name, "#")
		if name == "" {
			return "#" + url.PathEscape(anchor)
		}
		address := (&url.URL{Path: path.Clean("/" + strings.ReplaceAll(name, " ", "-"))}).EscapedPath()
		if found {
			address += "#" + url.PathEscape(anchor)
		}
		return root + address
	}
}

// Rendered formats a page for a reader as other texts are: what it refers to and the reader may
// not read stays text. Pages in another format than Markdown stay text as a whole. It requires
// ReadWiki, or ReadGroupWiki.
func (s *Service) Rendered(ctx context.Context, as authz.Actor, urls *weburl.Site, at authz.Place, p *Page) (string, error) {
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return "", err
	}
	if p.Format != Markdown {
		return markdown.Plain(p.Content), nil
	}
	in := reference.Scope{Project: project.Of(at), Base: &reference.Base{Folder: URL(urls, at) + "/" + p.inFolder, Link: p.links(urls, at), Page: pages(urls, at)}}
	if at.Group {
		in.Group, in.GroupPath = at.Namespace, at.Path
	}
	out, err := s.References.HTML(ctx, as, in, p.Content)
	if err != nil {
		return "", fmt.Errorf("format page: %w", err)
	}
	return out[0], nil
}
