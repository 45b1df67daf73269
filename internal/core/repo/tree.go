package repo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TreeFilter selects the entries of a listing.
type TreeFilter struct {
	Ref       string // "" is the default branch
	Path      string // a folder, "" for the root
	Recursive bool   // everything below, depth first
	Offset    int
	Limit     int
	Keyset    bool   // start after the entry that After names, in git's order
	After     string // an object id, or what TreePage.Next gave
}

// TreePage is a part of a listing.
type TreePage struct {
	Entries []gitcmd.PathEntry
	Total   int
	Next    string // token of the next page of a keyset listing, "" at the end
}

// maxTreeEntries bounds a recursive listing.
const maxTreeEntries = 1_000_000

// Tree lists a folder. Within a page folders come first, then files, then submodules,
// each in git's order. A folder that does not exist is an empty listing (facts-1 §6.1).
func (s *Service) Tree(ctx context.Context, as authz.Actor, p *project.Project, f TreeFilter) (TreePage, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return TreePage{}, err
	}
	rev, err := resolve(ctx, r, p, f.Ref, "Tree")
	if err != nil {
		return TreePage{}, err
	}
	entries, err := listing(ctx, r, rev.Commit, f)
	if err != nil {
		return TreePage{}, err
	}
	page := TreePage{Total: len(entries)}
	if f.Keyset {
		entries = entries[startAfter(entries, f.After):]
		if f.Limit > 0 && len(entries) > f.Limit {
			entries = entries[:f.Limit]
			page.Next = pathToken(entries[f.Limit-1].Path)
		}
		page.Entries = foldersFirst(entries)
		return page, nil
	}
	page.Entries = window(foldersFirst(entries), f.Offset, f.Limit)
	return page, nil
}

func listing(ctx context.Context, r *gitcmd.Repo, commit gitcmd.ObjectID, f TreeFilter) ([]gitcmd.PathEntry, error) {
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
	if errors.Is(err, gitcmd.ErrNotFound) || errors.Is(err, gitcmd.ErrWrongKind) {
		return nil, nil
	}
	if errors.Is(err, gitcmd.ErrTooLarge) {
		return nil, errs.Bad("the tree is nested too deeply to be listed whole")
	}
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	return entries, nil
}

// encodedToken begins a token that holds its path in base64.
const encodedToken = "b64:"

// pathToken names a path in an address: as it is, unless that is no text, which no
// request may hold, or could be taken for something else.
func pathToken(path string) string {
	_, err := gitcmd.ParseObjectID(path)
	if utf8.ValidString(path) && !strings.HasPrefix(path, encodedToken) && err != nil {
		return path
	}
	return encodedToken + base64.RawURLEncoding.EncodeToString([]byte(path))
}

// startAfter finds where a keyset page begins: behind the path, or behind the last
// entry with the object id (ruling 34).
func startAfter(entries []gitcmd.PathEntry, after string) int {
	if after == "" {
		return 0
	}
	if code, ok := strings.CutPrefix(after, encodedToken); ok {
		if path, err := base64.RawURLEncoding.DecodeString(code); err == nil {
			after = string(path)
		}
	}
	last := 0
	for i, e := range entries {
		if e.Path == after {
			return i + 1
		}
		if e.ID.String() == after {
			last = i + 1
		}
	}
	return last
}

// foldersFirst orders a page: folders, files, submodules, each kind as it was.
func foldersFirst(entries []gitcmd.PathEntry) []gitcmd.PathEntry {
	rank := map[gitcmd.Kind]int{gitcmd.KindTree: 0, gitcmd.KindBlob: 1, gitcmd.KindCommit: 2}
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
	id, err := gitcmd.ParseObjectID(sha)
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
// reader likes: nobody gets so many that others get none.
func (s *Service) openBlob(ctx context.Context, as authz.Actor, r *gitcmd.Repo, id gitcmd.ObjectID) (*gitcmd.BlobReader, error) {
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
	Mode       gitcmd.Mode
	BlobID     gitcmd.ObjectID
	CommitID   gitcmd.ObjectID
	LastCommit gitcmd.ObjectID // the last one that touched the path; zero where it was not asked for
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
	if entry.Kind() != gitcmd.KindBlob {
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
func lastCommit(ctx context.Context, r *gitcmd.Repo, tip gitcmd.ObjectID, path string) (gitcmd.ObjectID, error) {
	ids, err := r.Log(ctx, gitcmd.LogOptions{From: []gitcmd.ObjectID{tip}, Path: path, Limit: 1})
	if err != nil {
		return gitcmd.ObjectID{}, fmt.Errorf("last commit of path: %w", err)
	}
	if len(ids) == 0 {
		return tip, nil
	}
	return ids[0], nil
}
