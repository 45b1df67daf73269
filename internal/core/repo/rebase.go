package repo

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// maxRebase bounds the commits that a rebase makes again.
const maxRebase = 1000

// ErrRebase is what a rebase comes to that git cannot do by itself: a conflict, too many
// commits, or histories that have nothing in common.
var ErrRebase = errors.New("cannot be rebased")

// RebaseInput says which branch is put on top of what.
type RebaseInput struct {
	Branch  string
	Onto    gitstore.ObjectID
	Options []string         // of the push, as a user gives them to git push
	Of      *project.Project // whose repository has Onto; nil is the branch's own

	// Before is told the new tip before the branch moves there; nil for nothing.
	Before func(ctx context.Context, head gitstore.ObjectID) error
}

// Rebase makes the commits of a branch again on top of another commit, as if they had been
// begun there: authors, their times and messages stay, the actor commits. Merges are left
// out, and so is what is there already. A branch that is on that commit stays as it is.
// Forbidden where the actor may not push over the branch, NotFound where it is gone.
func (s *Service) Rebase(ctx context.Context, as authz.Actor, p *project.Project, in RebaseInput) error {
	if err := s.MayCommit(ctx, as, p, in.Branch); err != nil {
		return err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	by, err := s.signature(ctx, as)
	if err != nil {
		return err
	}
	_, err = s.oneByOne(p, in.Branch, func() (*gitstore.Commit, error) { return s.rebaseOnce(ctx, as, p, r, by, in) })
	return err
}

func (s *Service) rebaseOnce(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, by gitstore.Signature, in RebaseInput) (*gitstore.Commit, error) {
	ref, err := gitstore.BranchRef(in.Branch)
	if err != nil {
		return nil, errs.Missing("Branch")
	}
	tip, err := r.Ref(ctx, ref)
	if err != nil {
		return nil, missing(err, "Branch")
	}
	quarantine, err := r.Quarantine(ctx)
	if err != nil {
		return nil, fmt.Errorf("open quarantine: %w", err)
	}
	defer func() { _ = quarantine.Discard() }() // housekeeping removes what is left
	if in.Of != nil && in.Of.ID != p.ID {
		from, err := s.Open(ctx, in.Of)
		if err != nil {
			return nil, err
		}
		if _, err := quarantine.Copy(ctx, from, []gitstore.ObjectID{in.Onto}); err != nil {
			return nil, fmt.Errorf("bring commits: %w", err)
		}
	}
	stands, err := quarantine.IsAncestor(ctx, in.Onto, tip)
	if err != nil || stands {
		return nil, err
	}
	head, err := Replay(ctx, quarantine, tip, in.Onto, by)
	if err != nil {
		return nil, err
	}
	if in.Before != nil {
		if err := in.Before(ctx, head); err != nil {
			return nil, err
		}
	}
	return s.landWith(ctx, as, p, quarantine, landing{ByAPI, RefChange{Ref: ref, Old: tip, New: head}, in.Options})
}

// Replay makes the commits of tip that onto does not have again on top of it, and returns the
// last of them. What git cannot do by itself is ErrRebase. It asks for no permission.
func Replay(ctx context.Context, q *gitcmd.Quarantine, tip, onto gitstore.ObjectID, by gitstore.Signature) (gitstore.ObjectID, error) {
	if _, err := q.MergeBase(ctx, tip, onto); errors.Is(err, gitstore.ErrNotFound) {
		return onto, fmt.Errorf("no common history: %w", ErrRebase)
	} else if err != nil {
		return onto, fmt.Errorf("find merge base: %w", err)
	}
	commits, err := q.LogCommits(ctx, gitcmd.LogOptions{
		From: []gitstore.ObjectID{tip}, Not: []gitstore.ObjectID{onto}, NoMerges: true, Order: gitcmd.OrderTopo, Limit: maxRebase + 1, Reverse: true,
	})
	if err != nil {
		return onto, fmt.Errorf("list commits: %w", err)
	}
	if len(commits) > maxRebase {
		return onto, fmt.Errorf("more than %d commits: %w", maxRebase, ErrRebase)
	}
	on, err := q.Repo.Commit(ctx, onto)
	if err != nil {
		return onto, fmt.Errorf("read commit: %w", err)
	}
	head, tree := onto, on.Tree
	for _, c := range commits {
		merged, err := q.MergeTreeFrom(ctx, firstParent(c), tree, c.ID)
		switch {
		case err != nil:
			return onto, fmt.Errorf("merge trees: %w", err)
		case !merged.Clean:
			return onto, fmt.Errorf("commit %s: conflict: %w", c.ID, ErrRebase)
		case merged.Tree == tree:
			empty, err := changesNothing(ctx, q, c)
			if err != nil {
				return onto, err
			}
			if !empty {
				continue // it is there already
			}
		}
		tree = merged.Tree
		again := c.Again()
		again.Tree, again.Parents, again.Committer = tree, []gitstore.ObjectID{head}, by
		if head, err = q.CommitTree(ctx, again); err != nil {
			return onto, fmt.Errorf("write commit: %w", err)
		}
	}
	return head, nil
}

// changesNothing reports whether a commit was made without a change, which it may say with
// its message alone.
func changesNothing(ctx context.Context, q *gitcmd.Quarantine, c *gitstore.Commit) (bool, error) {
	if len(c.Parents) == 0 {
		return c.Tree == gitstore.EmptyTree(), nil
	}
	parent, err := q.Repo.Commit(ctx, c.Parents[0])
	if err != nil {
		return false, fmt.Errorf("read commit: %w", err)
	}
	return c.Tree == parent.Tree, nil
}
