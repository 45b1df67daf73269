package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CommitFilter selects commits; the zero value selects those of the default branch.
type CommitFilter struct {
	Ref         string // a branch, tag or commit, or a range "a..b"
	Path        string
	Author      string
	Since       time.Time
	Until       time.Time
	All         bool // of every branch and tag
	FirstParent bool
	Topo        bool
	Offset      int
	Limit       int
}

// Commits lists commits, newest first, and says whether more follow.
func (s *Service) Commits(ctx context.Context, as authz.Actor, p *project.Project, f CommitFilter) (commits []*gitcmd.Commit, more bool, err error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, false, err
	}
	opts := gitcmd.LogOptions{
		All: f.All, Path: f.Path, Author: f.Author, Since: f.Since, Until: f.Until, FirstParent: f.FirstParent,
		Skip: f.Offset, Limit: f.Limit + 1,
	}
	if f.Topo {
		opts.Order = gitcmd.OrderTopo
	}
	if !f.All {
		if p.DefaultBranch == nil && f.Ref == "" {
			return nil, false, nil
		}
		if err := s.commitRange(ctx, r, p, f.Ref, &opts); err != nil {
			return nil, false, err
		}
	}
	commits, err = r.LogCommits(ctx, opts)
	if err != nil {
		return nil, false, fmt.Errorf("list commits: %w", err)
	}
	if len(commits) > f.Limit {
		return commits[:f.Limit], true, nil
	}
	return commits, false, nil
}

// commitRange reads a ref or a range into the options. A range excludes its first part.
func (s *Service) commitRange(ctx context.Context, r *gitcmd.Repo, p *project.Project, ref string, opts *gitcmd.LogOptions) error {
	from, to, ranged := strings.Cut(ref, "..")
	if !ranged || strings.HasPrefix(to, ".") {
		from, to = "", ref
	}
	if ranged && from != "" {
		rev, err := resolve(ctx, r, p, from, "Commit")
		if err != nil {
			return err
		}
		opts.Not = []gitcmd.ObjectID{rev.Commit}
	}
	rev, err := resolve(ctx, r, p, to, "Commit")
	if err != nil {
		return err
	}
	opts.From = []gitcmd.ObjectID{rev.Commit}
	return nil
}

// FindCommit gives one commit by branch, tag or id.
func (s *Service) FindCommit(ctx context.Context, as authz.Actor, p *project.Project, ref string) (*gitcmd.Commit, error) {
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

// Stats counts the lines that a commit adds and takes away.
type Stats struct {
	Additions int
	Deletions int
}

// CommitStats counts the lines of a commit against its first parent.
func (s *Service) CommitStats(ctx context.Context, as authz.Actor, p *project.Project, c *gitcmd.Commit) (Stats, error) {
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
func (s *Service) CommitDiff(ctx context.Context, as authz.Actor, p *project.Project, c *gitcmd.Commit) (*gitcmd.Diff, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	from := gitcmd.EmptyTree()
	if len(c.Parents) > 0 {
		from = c.Parents[0]
	}
	return s.diff(ctx, r, from, c.ID)
}

// diff compares two commits or trees within the instance's limits.
func (s *Service) diff(ctx context.Context, r *gitcmd.Repo, from, to gitcmd.ObjectID) (*gitcmd.Diff, error) {
	d, err := r.Diff(ctx, from, to, s.diffOptions())
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return d, nil
}

func (s *Service) diffOptions() gitcmd.DiffOptions {
	set := s.settings.Current()
	return gitcmd.DiffOptions{MaxFiles: set.DiffMaxFiles, MaxFileBytes: set.DiffMaxPatchBytes}
}

// Comparison is what lies between two commits.
type Comparison struct {
	From, To gitcmd.ObjectID // as compared: From is the merge base unless the comparison is straight
	Commit   *gitcmd.Commit  // the newest of Commits, nil where there are none
	Commits  []*gitcmd.Commit
	Diff     *gitcmd.Diff
	SameRef  bool
}

// maxComparedCommits bounds the commits of a comparison.
const maxComparedCommits = 10_000

// Compare gives the commits that to has and from has not, oldest first, and the diff
// between them: from their merge base, or straight from the first to the second.
func (s *Service) Compare(ctx context.Context, as authz.Actor, p *project.Project, from, to string, straight bool) (*Comparison, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	first, err := resolveGiven(ctx, r, p, from)
	if err != nil {
		return nil, err
	}
	second, err := resolveGiven(ctx, r, p, to)
	if err != nil {
		return nil, err
	}
	out := &Comparison{From: first, To: second, SameRef: from == to}
	out.Commits, err = r.LogCommits(ctx, gitcmd.LogOptions{
		From: []gitcmd.ObjectID{second}, Not: []gitcmd.ObjectID{first}, Reverse: true, Limit: maxComparedCommits,
	})
	if err != nil {
		return nil, fmt.Errorf("list compared commits: %w", err)
	}
	if n := len(out.Commits); n > 0 {
		out.Commit = out.Commits[n-1]
	}
	start := first
	if !straight {
		base, err := r.MergeBase(ctx, first, second)
		switch {
		case errors.Is(err, gitcmd.ErrNotFound):
			start = gitcmd.EmptyTree()
		case err != nil:
			return nil, fmt.Errorf("find merge base: %w", err)
		default:
			start, out.From = base, base
		}
	}
	if out.Diff, err = s.diff(ctx, r, start, second); err != nil {
		return nil, err
	}
	return out, nil
}

func resolveGiven(ctx context.Context, r *gitcmd.Repo, p *project.Project, name string) (gitcmd.ObjectID, error) {
	if name == "" {
		return gitcmd.ObjectID{}, errs.Missing("Ref")
	}
	rev, err := resolve(ctx, r, p, name, "Ref")
	return rev.Commit, err
}

// MergeBase gives the best common ancestor of two or more refs (facts-1 §6.7).
func (s *Service) MergeBase(ctx context.Context, as authz.Actor, p *project.Project, refs []string) (*gitcmd.Commit, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if len(refs) < 2 {
		return nil, errs.Plain("Provide at least 2 refs")
	}
	ids := make([]gitcmd.ObjectID, 0, len(refs))
	var unknown []string
	for _, name := range refs {
		id, err := resolveGiven(ctx, r, p, name)
		switch {
		case errs.Is(err, errs.NotFound):
			unknown = append(unknown, name)
		case err != nil:
			return nil, err
		}
		ids = append(ids, id)
	}
	switch len(unknown) {
	case 0:
	case 1:
		return nil, errs.Plain("Could not find ref: " + unknown[0])
	default:
		return nil, errs.Plain("Could not find refs: " + strings.Join(unknown, ", "))
	}
	id, err := r.MergeBase(ctx, ids...)
	if err != nil {
		return nil, missing(err, "Merge Base")
	}
	c, err := r.Commit(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read merge base: %w", err)
	}
	return c, nil
}
