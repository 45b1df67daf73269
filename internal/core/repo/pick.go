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

// PickInput says where to put the change of a commit again.
type PickInput struct {
	Branch  string
	Message string // "" is the one git would write
	DryRun  bool   // only look whether it can be done
}

// PickError is the cause of the Invalid error of a cherry-pick or revert that cannot be
// done by itself.
type PickError struct {
	Text string
	Code string // conflict, or empty where nothing is left to change
}

// Error returns the text.
func (e *PickError) Error() string { return e.Text }

// CherryPick makes the change of a commit once more on a branch, under the name of its
// author. A merge is taken as its change to the first parent. Nothing but a check is
// done, and the commit is nil, in a dry run.
func (s *Service) CherryPick(ctx context.Context, as authz.Actor, p *project.Project, ref string, in PickInput) (*gitstore.Commit, error) {
	return s.pick(ctx, as, p, ref, in, picking{"cherry-pick", func(c *gitstore.Commit, _ gitstore.Signature) (base, theirs gitstore.ObjectID, commit gitstore.CommitInput) {
		if in.Message != "" {
			return firstParent(c), c.ID, c.AgainWith(in.Message)
		}
		commit = c.Again()
		commit.Message = strings.TrimRight(commit.Message, "\n") + "\n\n(cherry picked from commit " + c.ID.String() + ")"
		return firstParent(c), c.ID, commit
	}})
}

// Revert undoes the change of a commit on a branch; otherwise it is like CherryPick.
func (s *Service) Revert(ctx context.Context, as authz.Actor, p *project.Project, ref string, in PickInput) (*gitstore.Commit, error) {
	return s.pick(ctx, as, p, ref, in, picking{"revert", func(c *gitstore.Commit, by gitstore.Signature) (base, theirs gitstore.ObjectID, commit gitstore.CommitInput) {
		message := in.Message
		if message == "" {
			message = "Revert \"" + c.QuoteTitle() + "\"\n\nThis reverts commit " + c.ID.String()
		}
		return c.ID, firstParent(c), gitstore.CommitInput{Author: by, Message: message}
	}})
}

// firstParent is zero, which stands for the empty tree, for a commit without parents.
func firstParent(c *gitstore.Commit) gitstore.ObjectID {
	if len(c.Parents) == 0 {
		return gitstore.EmptyTree()
	}
	return c.Parents[0]
}

// picking says which change is made, and author and message of its commit.
type picking struct {
	verb string // in messages
	how  func(c *gitstore.Commit, by gitstore.Signature) (base, theirs gitstore.ObjectID, commit gitstore.CommitInput)
}

func (s *Service) pick(ctx context.Context, as authz.Actor, p *project.Project, ref string, in PickInput, change picking) (*gitstore.Commit, error) {
	if err := s.MayCommit(ctx, as, p, in.Branch); err != nil {
		return nil, err
	}
	r, err := s.Open(ctx, p)
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
	by, err := s.signature(ctx, as)
	if err != nil {
		return nil, err
	}
	made, err := s.oneByOne(p, in.Branch, func() (*gitstore.Commit, error) {
		base, theirs, commit := change.how(c, by)
		commit.Committer = by
		return s.pickOnce(ctx, as, p, r, in, side{base, theirs, commit})
	})
	if code, ok := errors.AsType[pickCode](err); ok {
		text := "Commit " + change.verb + " failed: Can't perform this action automatically. It may have already been done, " +
			"or a more recent commit may have updated some of this content. Please perform this action locally."
		return nil, &errs.Error{Kind: errs.Invalid, Message: text, Err: &PickError{Text: text, Code: string(code)}}
	}
	return made, err
}

// pickCode says why a change cannot be made.
type pickCode string

// Error returns the code.
func (c pickCode) Error() string { return string(c) }

// side is the change that is brought onto a branch, and the commit to be.
type side struct {
	base, theirs gitstore.ObjectID
	commit       gitstore.CommitInput // without tree and parents
}

func (s *Service) pickOnce(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, in PickInput, d side) (*gitstore.Commit, error) {
	ref, err := gitstore.BranchRef(in.Branch)
	if err != nil {
		return nil, errs.Missing("Branch")
	}
	tip, err := r.Ref(ctx, ref)
	if err != nil {
		return nil, missing(err, "Branch")
	}
	on, err := r.Commit(ctx, tip)
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	quarantine, err := r.Quarantine(ctx)
	if err != nil {
		return nil, fmt.Errorf("open quarantine: %w", err)
	}
	defer func() { _ = quarantine.Discard() }()
	merged, err := quarantine.MergeTreeFrom(ctx, d.base, tip, d.theirs)
	switch {
	case err != nil:
		return nil, fmt.Errorf("merge trees: %w", err)
	case !merged.Clean:
		return nil, pickCode("conflict")
	case merged.Tree == on.Tree:
		return nil, pickCode("empty")
	case in.DryRun:
		return nil, nil
	}
	d.commit.Tree, d.commit.Parents = merged.Tree, []gitstore.ObjectID{tip}
	id, err := quarantine.CommitTree(ctx, d.commit)
	if err != nil {
		return nil, fmt.Errorf("write commit: %w", err)
	}
	return s.land(ctx, as, p, quarantine, ByAPI, RefChange{Ref: ref, Old: tip, New: id})
}
