package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// commits makes, durably but named by nothing, the commits of a merge onto tip, and says
// what the merge would move.
func (s *Service) commits(ctx context.Context, a *attempt, tip gitstore.ObjectID) (lease, error) {
	q := a.kept
	if a.kept = nil; q == nil {
		var err error
		if q, err = a.repo.Quarantine(ctx); err != nil {
			return lease{}, fmt.Errorf("merge: %w", err)
		}
	}
	l, err := s.commitsIn(ctx, a, q, tip)
	if err != nil {
		return lease{}, errors.Join(err, q.Discard())
	}
	if err := s.judge(ctx, a, q.Repo, &l); err != nil {
		return lease{}, errors.Join(err, q.Discard())
	}
	if err := q.Commit(ctx); err != nil {
		return lease{}, errors.Join(fmt.Errorf("keep merged objects: %w", err), q.Discard())
	}
	return l, nil
}

// judge asks whether the target branch may move to what was made. What the rules for
// pushed commits say is why the merge fails.
func (s *Service) judge(ctx context.Context, a *attempt, r *gitcmd.Repo, l *lease) error {
	change := repo.RefChange{Ref: gitstore.RefName(gitstore.Branches + a.m.TargetBranch), Old: idOf(l.TargetOldSHA), New: idOf(l.TargetNewSHA)}
	err := s.Repos.Judge(ctx, a.as, a.p, repo.ByMerge, r, []repo.RefChange{change})
	if refused, ok := errors.AsType[*repo.Refusal](err); ok {
		return &refusal{reason: refused.Text}
	}
	return err
}

func (s *Service) commitsIn(ctx context.Context, a *attempt, q *gitcmd.Quarantine, tip gitstore.ObjectID) (lease, error) {
	head := idOf(a.m.HeadSHA)
	l := lease{
		RequestID: a.m.ID, UserID: a.as.UserID, TargetOldSHA: hexOf(tip), RemoveSource: a.remove, CreatedAt: s.stamp(),
		closes: a.messages.issues,
	}
	base, err := q.MergeBase(ctx, tip, head)
	switch {
	case errors.Is(err, gitstore.ErrNotFound):
		return lease{}, &refusal{reason: errorMerging}
	case err != nil:
		return lease{}, fmt.Errorf("merge base: %w", err)
	case base == head:
		return lease{}, &refusal{reason: errorMerging} // a user merged it by hand meanwhile
	case a.method != project.MergeCommit && base != tip && !a.in.train:
		return lease{}, &refusal{reason: errorNotForward}
	}
	theirs := head
	if rebases := a.method != project.MergeCommit && base != tip; rebases && !a.squash {
		switch theirs, err = repo.Replay(ctx, q, head, tip, a.merger); {
		case errors.Is(err, repo.ErrRebase), err == nil && theirs == tip:
			return lease{}, &refusal{reason: errorMerging}
		case err != nil:
			return lease{}, err
		}
	}
	if a.squash {
		if theirs, err = s.squashed(ctx, a, q, tip); err != nil {
			return lease{}, err
		}
		text := hexOf(theirs)
		l.SquashCommitSHA = &text
	}
	if a.method == project.MergeFF {
		l.TargetNewSHA = hexOf(theirs)
		return l, nil
	}
	tree, err := merged(ctx, q, tip, theirs)
	if err != nil {
		return lease{}, err
	}
	message := a.in.MergeMessage
	if message == "" {
		message = a.messages.message(template(a.p.MergeCommitTemplate, defaultMergeTemplate))
	}
	id, err := q.CommitTree(ctx, gitstore.CommitInput{
		Tree: tree, Parents: []gitstore.ObjectID{tip, theirs}, Author: a.merger, Committer: a.merger, Message: message,
	})
	if err != nil {
		return lease{}, fmt.Errorf("write merge commit: %w", err)
	}
	l.TargetNewSHA = hexOf(id)
	l.MergeCommitSHA = &l.TargetNewSHA
	return l, nil
}

// squashed makes the one commit that stands for all of the request. It starts from the
// target as it was when the newest version was made; where that is not in the target any
// more, where it would be in conflict there, or where the target shall move to the
// commit itself, it starts from the target's tip.
func (s *Service) squashed(ctx context.Context, a *attempt, q *gitcmd.Quarantine, tip gitstore.ObjectID) (gitstore.ObjectID, error) {
	message := a.in.SquashMessage
	if message == "" {
		message = a.messages.message(template(a.p.SquashCommitTemplate, defaultSquashTemplate))
	}
	head := idOf(a.m.HeadSHA)
	if a.m.CommitsCount == 1 && (!a.in.train || a.method == project.MergeCommit) {
		only, err := q.Repo.Commit(ctx, head)
		if err != nil {
			return gitstore.ObjectID{}, fmt.Errorf("read commit: %w", err)
		}
		if len(only.Parents) == 1 && strings.TrimSpace(only.Quote()) == strings.TrimSpace(message) {
			return head, nil
		}
	}
	parent := tip
	if start := idOf(a.m.StartSHA); a.method == project.MergeCommit && start != tip {
		inside, err := q.IsAncestor(ctx, start, tip)
		if err != nil {
			return gitstore.ObjectID{}, fmt.Errorf("look for start of squash: %w", err)
		}
		if inside {
			parent = start
		}
	}
	tree, err := merged(ctx, q, parent, head)
	var why *refusal
	if errors.As(err, &why) && parent != tip {
		parent = tip
		tree, err = merged(ctx, q, parent, head)
	}
	if errors.As(err, &why) {
		return gitstore.ObjectID{}, &refusal{reason: errorSquash}
	}
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	author, committer := a.author, a.merger
	id, err := q.CommitTree(ctx, gitstore.CommitInput{
		Tree: tree, Parents: []gitstore.ObjectID{parent}, Author: author, Committer: committer, Message: message,
	})
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("write squash commit: %w", err)
	}
	return id, nil
}

// merged returns the tree of a merge of two commits; a conflict is a refusal.
func merged(ctx context.Context, q *gitcmd.Quarantine, ours, theirs gitstore.ObjectID) (gitstore.ObjectID, error) {
	result, err := q.MergeTree(ctx, ours, theirs)
	switch {
	case errors.Is(err, gitstore.ErrNotFound), err == nil && !result.Clean:
		return gitstore.ObjectID{}, &refusal{reason: errorMerging}
	case err != nil:
		return gitstore.ObjectID{}, fmt.Errorf("merge: %w", err)
	}
	return result.Tree, nil
}

// template returns the project's template or the standard one.
func template(own *string, standard string) string {
	if own == nil || strings.TrimSpace(*own) == "" {
		return standard
	}
	return *own
}
