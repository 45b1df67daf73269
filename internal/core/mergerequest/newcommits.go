package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
)

// maxListedCommits is how many commits of a new version are named one by one.
const maxListedCommits = 10

// maxDraftLook is how many new commits are searched for one that makes the request a draft.
const maxDraftLook = 1000

// draftCommit finds the newest commit of the source branch that makes the request a draft and was not there before.
func (l look) draftCommit(ctx context.Context, old string) (string, error) {
	opts := gitcmd.LogOptions{From: []gitstore.ObjectID{l.source}, Limit: maxDraftLook}
	for _, id := range []gitstore.ObjectID{idOf(old), l.target} {
		if !id.IsZero() {
			opts.Not = append(opts.Not, id)
		}
	}
	commits, err := l.repo.LogCommits(ctx, opts)
	if err != nil {
		return "", fmt.Errorf("list new commits: %w", err)
	}
	for _, c := range commits {
		if IsDraftCommit(c.Title()) {
			return c.ID.Short(), nil
		}
	}
	return "", nil
}

// newCommits finds the commits of the source branch that were not there before: its own, and those
// that came from the target branch, whose last one is base.
func (l look) newCommits(ctx context.Context, m *MergeRequest, base string) (NewVersion, error) {
	var out NewVersion
	if l.source.IsZero() {
		return out, nil
	}
	old := m.HeadSHA
	if hexOf(l.source) != old && !m.Draft {
		var err error
		if out.draft, err = l.draftCommit(ctx, old); err != nil {
			return out, err
		}
	}
	if old == "" {
		return out, nil
	}
	opts := gitcmd.LogOptions{From: []gitstore.ObjectID{l.source}, Not: []gitstore.ObjectID{idOf(old)}}
	all, err := l.repo.Count(ctx, opts)
	if err != nil {
		return out, fmt.Errorf("count new commits: %w", err)
	}
	out.CommitsCount = all
	if !l.target.IsZero() {
		opts.Not = append(opts.Not, l.target)
		if out.CommitsCount, err = l.repo.Count(ctx, opts); err != nil {
			return out, fmt.Errorf("count new commits: %w", err)
		}
	}
	if out.FromTarget = all - out.CommitsCount; out.FromTarget > 0 {
		out.TargetSHA = idOf(base).Short()
	}
	opts.Limit = maxListedCommits
	commits, err := l.repo.LogCommits(ctx, opts)
	if err != nil {
		return out, fmt.Errorf("list new commits: %w", err)
	}
	for _, c := range commits {
		out.Commits = append(out.Commits, CommitLine{SHA: c.ID.Short(), Title: c.Title()})
	}
	if out.CommitsCount <= maxListedCommits {
		return out, nil
	}
	for at, sha := range map[int]*string{out.CommitsCount - 1: &out.EarlierFirst, maxListedCommits: &out.EarlierLast} {
		opts.Skip, opts.Limit = at, 1
		one, err := l.repo.Log(ctx, opts)
		if err != nil {
			return out, fmt.Errorf("list new commits: %w", err)
		}
		if len(one) == 1 {
			*sha = one[0].Short()
		}
	}
	return out, nil
}
