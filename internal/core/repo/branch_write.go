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

// CreateBranch makes a branch at what ref names. In an empty repository a first commit
// is made and the branch points to it.
func (s *Service) CreateBranch(ctx context.Context, as authz.Actor, p *project.Project, name, from string) (*Branch, error) {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return nil, err
	}
	ref, err := gitstore.BranchRef(name)
	if err != nil || !gitstore.ValidBranchName(name) {
		return nil, errs.Plain("Branch name is invalid")
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.DefaultBranch == nil {
		if p, err = s.firstCommit(ctx, as, p); err != nil {
			return nil, err
		}
		from = *p.DefaultBranch
		if from == name {
			return s.FindBranch(ctx, as, p, name)
		}
	}
	if _, err := r.Ref(ctx, ref); err == nil {
		return nil, errs.Plain("Branch already exists")
	}
	rev, err := resolve(ctx, r, p, from, "Ref")
	if errs.Is(err, errs.NotFound) || from == "" {
		return nil, errs.Plain(fmt.Sprintf("Failed to create branch '%s': invalid reference name '%s'", name, from))
	}
	if err != nil {
		return nil, err
	}
	change := RefChange{Ref: ref, New: rev.Commit}
	if err := s.moveJudged(ctx, as, p, r, change); err != nil {
		if errors.Is(err, ErrMoved) {
			return nil, errs.Plain("Branch already exists")
		}
		if errors.Is(err, gitstore.ErrRefConflict) {
			return nil, errs.Plain(fmt.Sprintf("Failed to create branch '%s': it conflicts with another branch", name))
		}
		return nil, plainRefusal(err)
	}
	return s.FindBranch(ctx, as, p, name)
}

// moveJudged asks whether the actor may make a change through the API and makes it.
func (s *Service) moveJudged(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, changes ...RefChange) error {
	if err := s.Judge(ctx, as, p, ByAPI, r, changes); err != nil {
		return err
	}
	return s.MoveRefs(ctx, as, p, ByAPI, changes)
}

// DeleteBranch deletes a branch. What the protection forbids is Invalid with its text.
func (s *Service) DeleteBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	id, err := r.Branch(ctx, name)
	if err != nil {
		return missing(err, "Branch")
	}
	ref, err := gitstore.BranchRef(name)
	if err != nil {
		return errs.Missing("Branch")
	}
	if !as.UnmodifiedSince.IsZero() {
		tip, err := r.Commit(ctx, id)
		if err != nil {
			return missing(err, "Branch")
		}
		if err := as.UnmodifiedAt(tip.Committer.When); err != nil {
			return err
		}
	}
	return plainRefusal(s.moveJudged(ctx, as, p, r, RefChange{Ref: ref, Old: id}))
}

// plainRefusal is what the API says of a reference that may not move, or of a commit or tag that is too large to be read: 400 with the text
// that a push would show.
func plainRefusal(err error) error {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return errs.Plain(refused.Text)
	}
	if errors.Is(err, gitstore.ErrTooLarge) {
		return errs.Plain(textTooLarge)
	}
	return err
}

// DeleteMerged deletes the branches whose commits the default branch holds. Those that a
// rule protects stay, and those that open merge requests come from or go to.
func (s *Service) DeleteMerged(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return err
	}
	for try := 0; ; try++ {
		changes, err := s.mergedBranches(ctx, as, p)
		if err != nil {
			return err
		}
		err = s.MoveRefs(ctx, as, p, ByAPI, changes)
		if errors.Is(err, ErrMoved) && try < 3 {
			continue // a user pushed to one of them, which is merged no more, or deleted it
		}
		return err
	}
}

// mergedBranches returns the deletions of DeleteMerged.
func (s *Service) mergedBranches(ctx context.Context, as authz.Actor, p *project.Project) ([]RefChange, error) {
	branches, err := s.Branches(ctx, as, p, BranchFilter{})
	if err != nil {
		return nil, err
	}
	wanted, err := s.above.MergeRequests.Requested(ctx, p.ID)
	if err != nil {
		return nil, fmt.Errorf("look for merge requests of branches: %w", err)
	}
	var changes []RefChange
	for _, b := range branches.Items {
		if !b.Merged || b.Protected || b.Default || wanted[b.Name] {
			continue
		}
		ref, err := gitstore.BranchRef(b.Name)
		if err != nil {
			return nil, fmt.Errorf("merged branch: %w", err)
		}
		changes = append(changes, RefChange{Ref: ref, Old: b.Tip.ID})
	}
	return changes, nil
}

// SetHead makes a branch the one that HEAD names; NotFound where there is no such branch.
func (s *Service) SetHead(ctx context.Context, p *project.Project, branch string) error {
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	if _, err := r.Branch(ctx, branch); err != nil {
		return missing(err, "Branch")
	}
	ref, err := gitstore.BranchRef(branch)
	if err != nil {
		return errs.Missing("Branch")
	}
	if err := r.SetHead(ctx, ref); err != nil {
		return fmt.Errorf("set default branch: %w", err)
	}
	return nil
}
