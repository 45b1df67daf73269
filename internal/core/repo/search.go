package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	searchPatience = 15 * time.Second // of a search in one repository
	maxFound       = 1000             // hits of a search
	headLines      = 5                // of a file that is found by its path
	headBytes      = 4 << 10
	largestHead    = 1 << 20 // bytes of a file whose first lines are shown
)

// errPatience is the end of a search that takes too long.
var errPatience = errs.New(errs.Unavailable, "The search takes too long. Look for it in fewer files, or in a branch with fewer commits.")

// patience bounds a search.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, searchPatience, errPatience)
}

// FileSearch says what is looked for in files.
type FileSearch struct {
	Text string                 // in any case; "" finds all files that Path chooses
	Path func(path string) bool // chooses files; nil is every file
	Key  string                 // says what Path chooses
	Ref  string                 // branch, tag or commit; "" is the default branch
	page.Range
}

// Found is a file that a search finds: some of its lines.
type Found struct {
	Path string
	Line int // of the first line of Data, from 1
	Data string
}

// SearchFiles finds files by their paths, and places in the others by what they hold: 1,000 at
// most, those found by path first. A ref that is not there has no files. It requires ReadCode.
func (s *Service) SearchFiles(ctx context.Context, as authz.Actor, p *project.Project, f FileSearch) (page.Page[Found], error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return page.Page[Found]{}, err
	}
	rev, err := resolve(ctx, r, p, f.Ref, "Reference")
	return search(ctx, r, rev.Commit, err, f)
}

// SearchAttached is SearchFiles for the repository of a wiki. It asks for no permission.
func (s *Service) SearchAttached(ctx context.Context, a *Attached, f FileSearch) (page.Page[Found], error) {
	r, err := s.OpenAttached(ctx, a)
	if err != nil {
		return page.Page[Found]{}, err
	}
	name := f.Ref
	if name == "" {
		name = gitstore.Branches + a.Branch
	}
	rev, err := r.Resolve(ctx, name)
	return search(ctx, r, rev.Commit, missing(err, "Reference"), f)
}

// search looks into a commit, unless resolving it failed.
func search(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID, err error, f FileSearch) (page.Page[Found], error) {
	if errs.Is(err, errs.NotFound) {
		return page.None[Found](f.Range), nil
	}
	if err != nil {
		return page.Page[Found]{}, fmt.Errorf("resolve revision: %w", err)
	}
	ctx, cancel := patience(ctx)
	defer cancel()
	hits, err := r.Search(ctx, commit, gitcmd.SearchOptions{Text: f.Text, Path: f.Path, Key: f.Key, Most: maxFound})
	if err != nil {
		return page.Page[Found]{}, fmt.Errorf("search files: %w", err)
	}
	part, err := page.Snapshot(hits, commit.String(), f.Range)
	if err != nil {
		return page.Page[Found]{}, err
	}
	found := make([]Found, len(part.Items))
	for i, hit := range part.Items {
		found[i] = Found{Path: hit.Path, Line: max(hit.Line, 1), Data: hit.Data}
		if !hit.Named {
			continue
		}
		if found[i].Data, err = firstLines(ctx, r, hit.Blob); err != nil {
			return page.Page[Found]{}, err
		}
	}
	return page.With(part, found), nil
}

// firstLines returns the first lines of a file of text that is not large.
func firstLines(ctx context.Context, r *gitcmd.Repo, id gitstore.ObjectID) (string, error) {
	content, err := r.Blob(ctx, id, largestHead)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read file: %w", err)
	}
	if charset.Binary(content) {
		return "", nil
	}
	text := charset.Text(content, "")
	text = text[:min(len(text), headBytes)]
	lines := strings.SplitAfterN(text, "\n", headLines+1)
	return strings.ToValidUTF8(strings.Join(lines[:min(len(lines), headLines)], ""), "\uFFFD"), nil
}
