package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Comparison is what lies between two commits.
type Comparison struct {
	From, To gitstore.ObjectID // as compared: From is the merge base unless the comparison is straight
	Commit   *gitstore.Commit  // the newest of Commits, nil where there are none
	Commits  []*gitstore.Commit
	Older    int // how many commits there are before those, within maxComparedCommits
	Diff     *gitcmd.Diff
	SameRef  bool
}

// maxComparedCommits bounds the commits of a comparison.
const maxComparedCommits = 10_000

// CompareInput says what to compare.
type CompareInput struct {
	From, To    string     // branches, tags or commits
	Straight    bool       // from the first to the second, not from their merge base
	FromProject project.ID // where From is looked for; zero is the project itself
	Commits     int        // how many to give, the newest; zero is as many as there may be
}

// Compare returns the commits that To has and From has not, oldest first, and the diff
// between them: from their merge base, or straight from the first to the second.
func (s *Service) Compare(ctx context.Context, as authz.Actor, p *project.Project, in CompareInput) (*Comparison, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	there, source := r, p
	if in.FromProject != 0 && in.FromProject != p.ID {
		if there, source, err = s.relative(ctx, as, p, in.FromProject); err != nil {
			return nil, err
		}
	}
	first, err := resolveGiven(ctx, there, source, in.From)
	if err != nil {
		return nil, err
	}
	second, err := resolveGiven(ctx, r, p, in.To)
	if err != nil {
		return nil, err
	}
	if there != r {
		r = r.With(there)
		defer r.CloseView()
	}
	out := &Comparison{From: first, To: second, SameRef: in.From == in.To && source == p}
	if err := out.list(ctx, r, in.Commits); err != nil {
		return nil, fmt.Errorf("list compared commits: %w", err)
	}
	if n := len(out.Commits); n > 0 {
		out.Commit = out.Commits[n-1]
	}
	start := first
	if !in.Straight {
		base, err := r.MergeBase(ctx, first, second)
		switch {
		case errors.Is(err, gitstore.ErrNotFound):
			start = gitstore.EmptyTree()
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

// list reads the commits between the two, the newest most of them; 0 is all.
func (c *Comparison) list(ctx context.Context, r *gitcmd.Repo, most int) error {
	ids, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c.To}, Not: []gitstore.ObjectID{c.From}, Reverse: true, Limit: maxComparedCommits})
	if err != nil {
		return err
	}
	if most > 0 && len(ids) > most {
		c.Older = len(ids) - most
		ids = ids[c.Older:]
	}
	c.Commits, err = r.Commits(ctx, ids)
	return err
}

// relative opens another project of the network of forks that p belongs to.
func (s *Service) relative(ctx context.Context, as authz.Actor, p *project.Project, id project.ID) (*gitcmd.Repo, *project.Project, error) {
	other, err := s.Projects.FindByID(ctx, as, id)
	var r *gitcmd.Repo
	if err == nil {
		r, err = s.Read(ctx, as, other)
	}
	switch {
	case errs.Is(err, errs.NotFound), errs.Is(err, errs.Forbidden), errs.Is(err, errs.Unauthorized):
		return nil, nil, errs.Denied("You don't have access to this fork's parent project")
	case err != nil:
		return nil, nil, err
	}
	if !project.Related(p, other) {
		return nil, nil, errs.Plain(fmt.Sprintf("Target project id:%d is not a fork of project id:%d", id, p.ID))
	}
	return r, other, nil
}

func resolveGiven(ctx context.Context, r *gitcmd.Repo, p *project.Project, name string) (gitstore.ObjectID, error) {
	if name == "" {
		return gitstore.ObjectID{}, errs.Missing("Ref")
	}
	rev, err := resolve(ctx, r, p, name, "Ref")
	return rev.Commit, err
}

// MergeBase returns the best common ancestor of two or more refs.
func (s *Service) MergeBase(ctx context.Context, as authz.Actor, p *project.Project, refs []string) (*gitstore.Commit, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if len(refs) < 2 {
		return nil, errs.Plain("Provide at least 2 refs")
	}
	ids := make([]gitstore.ObjectID, 0, len(refs))
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
