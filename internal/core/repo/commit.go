package repo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CommitFilter selects commits; the zero value selects those of the default branch.
type CommitFilter struct {
	Ref         string // a branch, tag or commit, or a range "a..b" or "a...b"
	Path        string
	Author      string
	Message     string // holds this text, in any case; it takes searchPatience at most
	Since       time.Time
	Until       time.Time
	All         bool // of every branch and tag
	FirstParent bool
	Topo        bool
	page.Range  // never counted; with All without Keyset only
}

// Commits lists commits, newest first. A cursor goes on from the commits that its list began
// with, wherever the branch has gone since.
func (s *Service) Commits(ctx context.Context, as authz.Actor, p *project.Project, f CommitFilter) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](f.Range)
	none.Total = -1
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return none, err
	}
	at, err := f.Place()
	if err == nil && f.All && f.Keyset { // references move, and nothing says where they were
		err = page.ErrOrder
	}
	if err != nil {
		return none, err
	}
	if strings.ContainsAny(f.Author+f.Message, "\n\x00") {
		return none, nil // no user is called so, and messages are searched line by line
	}
	opts := gitcmd.LogOptions{
		All: f.All, Path: f.Path, Author: f.Author, Message: f.Message, Since: f.Since, Until: f.Until, FirstParent: f.FirstParent,
		Skip: at.Offset,
	}
	if at.Limit > 0 {
		opts.Limit = at.Limit + 1
	}
	if f.Topo {
		opts.Order = gitcmd.OrderTopo
	}
	if at.Of != "" {
		f.Ref = at.Of
	}
	if !f.All {
		if p.DefaultBranch == nil && f.Ref == "" {
			return none, nil
		}
		if err := s.commitRange(ctx, r, p, f.Ref, &opts); err != nil {
			return none, err
		}
	}
	if f.Message != "" {
		patient, cancel := patience(ctx)
		defer cancel()
		ctx = patient
	}
	commits, err := r.LogCommits(ctx, opts)
	if err != nil {
		return none, fmt.Errorf("list commits: %w", err)
	}
	more := at.Limit > 0 && len(commits) > at.Limit
	if more {
		commits = commits[:at.Limit]
	}
	return page.Part(commits, rangeOf(opts), at, more, -1), nil
}

// rangeOf names the commits that options select, as commitRange reads it.
func rangeOf(opts gitcmd.LogOptions) string {
	if len(opts.From) == 0 {
		return ""
	}
	if len(opts.From) == 2 {
		return opts.From[0].String() + "..." + opts.From[1].String()
	}
	if len(opts.Not) == 0 {
		return opts.From[0].String()
	}
	return opts.Not[0].String() + ".." + opts.From[0].String()
}

// commitRange reads a ref or a range into the options. A..B are the commits of B that A lacks, A...B those that one
// of them has and the other lacks.
func (s *Service) commitRange(ctx context.Context, r *gitcmd.Repo, p *project.Project, ref string, opts *gitcmd.LogOptions) error {
	from, to, ranged := strings.Cut(ref, "..")
	both := false
	if !ranged {
		from, to = "", ref
	} else {
		to, both = strings.CutPrefix(to, ".")
	}
	rev, err := resolve(ctx, r, p, to, "Commit")
	if err != nil {
		return err
	}
	opts.From = []gitstore.ObjectID{rev.Commit}
	if !ranged || from == "" && !both {
		return nil
	}
	if rev, err = resolve(ctx, r, p, from, "Commit"); err != nil {
		return err
	}
	if !both {
		opts.Not = []gitstore.ObjectID{rev.Commit}
		return nil
	}
	// In the order of git, which decides between commits of one time.
	if opts.From = append([]gitstore.ObjectID{rev.Commit}, opts.From...); opts.From[1] == rev.Commit {
		opts.Not = opts.From[:1]
		return nil
	}
	if opts.Not, err = r.MergeBases(ctx, opts.From[0], opts.From[1]); err != nil {
		return fmt.Errorf("find merge bases: %w", err)
	}
	return nil
}

// FindCommit returns one commit by branch, tag or id.
func (s *Service) FindCommit(ctx context.Context, as authz.Actor, p *project.Project, ref string) (*gitstore.Commit, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		return nil, errs.Missing("Commit")
	}
	rev, err := resolve(ctx, r, p, ref, "Commit")
	if err != nil {
		return nil, err
	}
	c, err := r.Commit(ctx, rev.Commit)
	if err != nil {
		return nil, missing(err, "Commit")
	}
	return c, nil
}

// FindCommitIn returns the commit that a path begins with, by branch, tag or id, how the path
// names it, and what follows: the path of a file or folder, "" for none. A branch stands
// before the tag of the same name, which tags/x names.
func (s *Service) FindCommitIn(ctx context.Context, as authz.Actor, p *project.Project, path string) (ref, file string, c *gitstore.Commit, err error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return "", "", nil, err
	}
	ref, file, rev, err := r.Split(ctx, path)
	if err != nil {
		return "", "", nil, missing(err, "Commit")
	}
	if c, err = r.Commit(ctx, rev.Commit); err != nil {
		return "", "", nil, missing(err, "Commit")
	}
	return ref, file, c, nil
}

// Stats counts the lines that a commit adds and takes away.
type Stats struct {
	Additions int
	Deletions int
}

// CommitStats counts the lines of a commit against its first parent.
func (s *Service) CommitStats(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit) (Stats, error) {
	diff, err := s.CommitDiff(ctx, as, p, c)
	if err != nil {
		return Stats{}, err
	}
	var out Stats
	for _, f := range diff.Files {
		out.Additions += f.Additions
		out.Deletions += f.Deletions
	}
	return out, nil
}

// CommitDiff compares a commit with its first parent, the first one with nothing.
func (s *Service) CommitDiff(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit) (*gitcmd.Diff, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	from := gitstore.EmptyTree()
	if len(c.Parents) > 0 {
		from = c.Parents[0]
	}
	return s.diff(ctx, r, from, c.ID)
}

// CommitDiffs lists the changed files of CommitDiff. Cursors name the commit.
func (s *Service) CommitDiffs(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit, part page.Range) (page.Page[gitcmd.FileDiff], error) {
	d, err := s.CommitDiff(ctx, as, p, c)
	if err != nil {
		return page.Page[gitcmd.FileDiff]{}, err
	}
	return page.Snapshot(d.Files, c.ID.String(), part)
}

// diff compares two commits or trees within the instance's limits.
func (s *Service) diff(ctx context.Context, r *gitcmd.Repo, from, to gitstore.ObjectID) (*gitcmd.Diff, error) {
	d, err := r.Diff(ctx, from, to, s.diffOptions())
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return d, nil
}

func (s *Service) diffOptions() gitcmd.DiffOptions {
	set := s.Settings.Current()
	return gitcmd.DiffOptions{MaxFiles: set.DiffMaxFiles, MaxLines: set.DiffMaxLines, MaxFileBytes: set.DiffMaxPatchBytes}
}
