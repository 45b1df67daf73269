package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
)

// maxNews is how many commits of a new version are named one by one.
const maxNews = 10

// news finds the commits of the source branch that were not there before: its own, and those
// that came from the target branch, whose last one is base.
func (l look) news(ctx context.Context, old, base string) (NewVersion, error) {
	var out NewVersion
	if old == "" || l.source.IsZero() {
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
	opts.Limit = maxNews
	commits, err := l.repo.LogCommits(ctx, opts)
	if err != nil {
		return out, fmt.Errorf("list new commits: %w", err)
	}
	for _, c := range commits {
		out.Commits = append(out.Commits, CommitLine{SHA: c.ID.Short(), Title: c.Title()})
	}
	if out.CommitsCount <= maxNews {
		return out, nil
	}
	for at, sha := range map[int]*string{out.CommitsCount - 1: &out.EarlierFirst, maxNews: &out.EarlierLast} {
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
