package repo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TreeFilter selects the entries of a listing.
type TreeFilter struct {
	Ref       string // "" is the default branch
	Path      string // a folder, "" for the root
	Recursive bool   // everything below, depth first
	After     string // with Keyset, in place of Cursor: what TreePage.Next gave, an object id or a path
	page.Range
}

// TreePage is a part of a listing.
type TreePage struct {
	page.Page[gitcmd.PathEntry]
	Token string // of the page that follows in a keyset listing, for After; "" at the end
}

// maxTreeEntries bounds a recursive listing.
const maxTreeEntries = 1_000_000

// Tree lists a folder. Within a page folders come first, then files, then submodules,
// each in git's order. A folder that does not exist is an empty listing. The tokens of a
// keyset listing go on in the commit that it began with.
func (s *Service) Tree(ctx context.Context, as authz.Actor, p *project.Project, f TreeFilter) (TreePage, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return TreePage{}, err
	}
	rev, err := resolve(ctx, r, p, f.Ref, "Tree")
	if err != nil {
		return TreePage{}, err
	}
	if f.Keyset {
		return treeByToken(ctx, r, rev.Commit, f)
	}
	entries, err := listing(ctx, r, rev.Commit, f)
	if err != nil {
		return TreePage{}, err
	}
	part, err := page.Snapshot(foldersFirst(entries), rev.Commit.String(), f.Range)
	return TreePage{Page: part}, err
}

func listing(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID, f TreeFilter) ([]gitcmd.PathEntry, error) {
	var entries []gitcmd.PathEntry
	var err error
	if f.Recursive {
		err = r.Walk(ctx, commit, f.Path, func(e gitcmd.PathEntry) error {
			if len(entries) == maxTreeEntries {
				return errs.Plain("The tree has too many entries")
			}
			entries = append(entries, e)
			return nil
		})
	} else {
		entries, err = r.List(ctx, commit, f.Path)
	}
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrWrongKind) {
		return nil, nil
	}
	if errors.Is(err, gitstore.ErrTooLarge) {
		return nil, errs.Bad("the tree is nested too deeply to be listed whole")
	}
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	return entries, nil
}

// treeTokens are the cursors of a listing: a commit and the path, in base64, of the last
// entry in git's order. Paths need not be text.
var treeTokens = page.Order{page.Text("commit", ""), page.Text("path", "")}

var errTreeToken = errs.Bad("page_token is invalid")

// treeByToken returns a page of a keyset listing.
func treeByToken(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID, f TreeFilter) (TreePage, error) {
	if f.After == "" {
		f.After = f.Cursor
	}
	path, commit, exact, err := readTreeToken(ctx, r, commit, f.After)
	if err != nil {
		return TreePage{}, err
	}
	entries, err := listing(ctx, r, commit, f)
	if err != nil {
		return TreePage{}, err
	}
	from := 0
	if f.After != "" {
		from = slices.IndexFunc(entries, func(e gitcmd.PathEntry) bool { return e.Path == path }) + 1
		if from == 0 && !exact {
			from = endOfPage(entries, f.After, f.Limit)
		}
		if from == 0 {
			return TreePage{}, errTreeToken
		}
	}
	at := page.Range{Limit: f.Limit, Offset: from, Uncounted: true}
	part, err := page.Snapshot(entries, commit.String(), at)
	if err != nil {
		return TreePage{}, err
	}
	out := TreePage{Page: part}
	if n := len(part.Items); part.HasNext && n > 0 {
		out.Token = treeTokens.Cursor(commit.String(), base64.RawURLEncoding.EncodeToString([]byte(part.Items[n-1].Path)))
	}
	out.Keyset, out.Items = true, foldersFirst(part.Items)
	return out, nil
}

// readTreeToken returns the path that a token names and the commit in which it does. Exact
// says that it came from TreePage; anything else may be a path or an object id.
func readTreeToken(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID, token string) (path string, in gitstore.ObjectID, exact bool, err error) {
	values, err := treeTokens.Values(token)
	if err != nil {
		return token, commit, false, nil
	}
	if in, err = gitstore.ParseObjectID(values[0].(string)); err != nil {
		return "", in, true, errTreeToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(values[1].(string))
	if err != nil {
		return "", in, true, errTreeToken
	}
	if _, err := r.Commit(ctx, in); err != nil {
		if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrWrongKind) {
			err = errTreeToken
		}
		return "", in, true, err
	}
	return string(raw), in, true, nil
}

// endOfPage finds the end of the page that showed an object id last, and was not the last
// page itself. Of several such pages it takes the last, so that a walk ends. Where there is
// none, it is the place behind the last occurrence, and 0 for an id that does not occur.
func endOfPage(entries []gitcmd.PathEntry, id string, limit int) int {
	last, ended := 0, 0
	for i, e := range entries {
		if e.ID.String() == id {
			last = i + 1
		}
	}
	if last == 0 || limit <= 0 {
		return last
	}
	for end := limit; end < len(entries); end += limit {
		shown := foldersFirst(entries[end-limit : end])
		if shown[limit-1].ID.String() == id {
			ended = end
		}
	}
	if ended > 0 {
		return ended
	}
	return last
}

// foldersFirst orders a page: folders, files, submodules, each kind as it was.
func foldersFirst(entries []gitcmd.PathEntry) []gitcmd.PathEntry {
	rank := map[gitstore.Kind]int{gitstore.KindTree: 0, gitstore.KindBlob: 1, gitstore.KindCommit: 2}
	out := slices.Clone(entries)
	slices.SortStableFunc(out, func(a, b gitcmd.PathEntry) int { return rank[a.Kind()] - rank[b.Kind()] })
	return out
}

// Blob opens a blob by its full id.
func (s *Service) Blob(ctx context.Context, as authz.Actor, p *project.Project, sha string) (*gitcmd.BlobReader, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	id, err := gitstore.ParseObjectID(sha)
	if err != nil {
		return nil, errs.Missing("Blob")
	}
	blob, err := s.openBlob(ctx, as, r, id)
	if err != nil {
		return nil, missing(err, "Blob")
	}
	return blob, nil
}

// openBlob opens a blob. One that a process streams holds that process for as long as its
// reader likes: no user gets so many that others get none.
func (s *Service) openBlob(ctx context.Context, as authz.Actor, r *gitcmd.Repo, id gitstore.ObjectID) (*gitcmd.BlobReader, error) {
	streams, err := r.Streams(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !streams:
		return r.OpenBlob(ctx, id)
	}
	leave, err := s.streams.enter(ctx, as)
	if err != nil {
		return nil, err
	}
	blob, err := r.OpenBlob(ctx, id)
	if err != nil {
		leave()
		return nil, err
	}
	blob.Then(leave)
	return blob, nil
}

// streamLimits bound the large files that are being sent.
var streamLimits = FetchLimits{Running: 60}

// File is a file at one commit.
type File struct {
	Path       string
	Ref        string // as it was asked for
	Mode       gitstore.Mode
	BlobID     gitstore.ObjectID
	CommitID   gitstore.ObjectID
	LastCommit gitstore.ObjectID // the last one that touched the path; zero where it was not asked for
	Blob       *gitcmd.BlobReader
}

// Name is the last part of the path.
func (f *File) Name() string { return f.Path[strings.LastIndexByte(f.Path, '/')+1:] }

// File opens a file at a ref; HEAD and "" are the default branch. Close its Blob. With
// history it also finds the last commit that touched the file.
func (s *Service) File(ctx context.Context, as authz.Actor, p *project.Project, path, ref string, history History) (*File, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if ref == "HEAD" {
		ref = ""
	}
	rev, err := resolve(ctx, r, p, ref, "Commit")
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, "/") {
		return nil, errs.Missing("File") // a folder at best
	}
	entry, err := r.Entry(ctx, rev.Commit, path)
	if err != nil {
		return nil, missing(err, "File")
	}
	if entry.Kind() != gitstore.KindBlob {
		return nil, errs.Missing("File")
	}
	out := &File{Path: path, Ref: ref, Mode: entry.Mode, BlobID: entry.ID, CommitID: rev.Commit}
	if ref == "" {
		out.Ref = *p.DefaultBranch
	}
	if history == WithLastCommit {
		if out.LastCommit, err = lastCommit(ctx, r, rev.Commit, path); err != nil {
			return nil, err
		}
	}
	if out.Blob, err = s.openBlob(ctx, as, r, entry.ID); err != nil {
		return nil, missing(err, "File")
	}
	return out, nil
}

// History says whether File looks for the last commit of the path, which costs a walk
// the first time.
type History int

// The two kinds of look.
const (
	WithoutHistory History = iota
	WithLastCommit
)

// lastCommit finds the newest commit reachable from tip that touched a path.
func lastCommit(ctx context.Context, r *gitcmd.Repo, tip gitstore.ObjectID, path string) (gitstore.ObjectID, error) {
	ids, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{tip}, Path: path, Limit: 1})
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("last commit of path: %w", err)
	}
	if len(ids) == 0 {
		return tip, nil
	}
	return ids[0], nil
}
