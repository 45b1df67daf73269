package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// maxHolding is how many merge requests are looked at for a commit, the newest first.
const maxHolding = 500

// OfCommit lists the merge requests of a project that brought a commit: it is one of
// their commits, their merge commit or their squashed one. Of the filter, everything but
// the numbers counts.
func (s *Service) OfCommit(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit, f Filter) (page.Page[*MergeRequest], error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return page.Page[*MergeRequest]{}, err
	}
	iids, err := s.introducing(ctx, p, c.ID)
	if err != nil {
		return page.Page[*MergeRequest]{}, err
	}
	if len(iids) == 0 {
		return page.None[*MergeRequest](f.Range), nil
	}
	f.IIDs = iids
	return s.listWithin(ctx, as, p, f)
}

// introducing returns the numbers of the merge requests that brought a commit.
func (s *Service) introducing(ctx context.Context, p *project.Project, commit gitstore.ObjectID) ([]IID, error) {
	iids, err := db.Select[IID](ctx, s.DB, `SELECT iid FROM merge_requests
		WHERE target_project_id = ? AND (merge_commit_sha = ? OR squash_commit_sha = ?) ORDER BY iid`, p.ID, commit, commit)
	if err != nil {
		return nil, fmt.Errorf("look for merge of commit: %w", err)
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	refs, err := r.RefsContaining(ctx, commit, "refs/merge-requests/")
	if err != nil {
		return nil, fmt.Errorf("look for commit in merge requests: %w", err)
	}
	var numbers []IID
	for _, ref := range refs {
		number, isHead := strings.CutSuffix(strings.TrimPrefix(string(ref), "refs/merge-requests/"), "/head")
		if n, err := strconv.ParseInt(number, 10, 64); isHead && err == nil {
			numbers = append(numbers, IID(n))
		}
	}
	if len(numbers) == 0 {
		return iids, nil
	}
	slices.Sort(numbers)
	marks, args := db.Marks(numbers[max(0, len(numbers)-maxHolding):])
	type base struct {
		IID  IID    `db:"iid"`
		Base string `db:"base_sha"`
	}
	rows, err := db.Select[base](ctx, s.DB, "SELECT iid, base_sha FROM merge_requests WHERE target_project_id = ? AND iid IN ("+
		marks+") ORDER BY iid DESC", append([]any{p.ID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read merge requests of commit: %w", err)
	}
	for _, row := range rows {
		id, err := gitstore.ParseObjectID(row.Base)
		if err != nil {
			continue // no version yet
		}
		// Whatever the target had already was not brought by the request.
		before, err := r.IsAncestor(ctx, commit, id)
		if err != nil {
			return nil, fmt.Errorf("look for commit in merge requests: %w", err)
		}
		if !before {
			iids = append(iids, row.IID)
		}
	}
	return iids, nil
}

// maxMerges bounds the merge requests whose commits are looked through by Introducing.
const maxMerges = 2000

// Introducing says for each wanted commit which merge request brought it, of those that
// were merged within a range of commits. It asks for no permission.
func (s *Service) Introducing(ctx context.Context, p *project.Project, within, wanted map[gitstore.ObjectID]bool) (map[gitstore.ObjectID]int64, error) {
	type merged struct {
		IID    int64             `db:"iid"`
		Base   gitstore.ObjectID `db:"base_sha"`
		Head   gitstore.ObjectID `db:"head_sha"`
		Merge  *string           `db:"merge_commit_sha"`
		Squash *string           `db:"squash_commit_sha"`
	}
	rows, err := db.Select[merged](ctx, s.DB, `SELECT iid, base_sha, head_sha, merge_commit_sha, squash_commit_sha
		FROM merge_requests WHERE target_project_id = ? AND state = 'merged' AND head_sha <> '' ORDER BY iid`, p.ID)
	if err != nil {
		return nil, fmt.Errorf("read merged requests: %w", err)
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	out := map[gitstore.ObjectID]int64{}
	found := func(id gitstore.ObjectID, iid int64) {
		if _, known := out[id]; !known && wanted[id] {
			out[id] = iid
		}
	}
	looked := 0
	for _, m := range rows {
		here := within[m.Head]
		for _, sha := range []*string{m.Merge, m.Squash} {
			if sha == nil {
				continue
			}
			if id, err := gitstore.ParseObjectID(*sha); err == nil {
				here = here || within[id]
				found(id, m.IID)
			}
		}
		if !here || looked == maxMerges {
			continue
		}
		looked++
		ids, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{m.Head}, Not: []gitstore.ObjectID{m.Base}, Limit: len(within) + 1})
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // the commits are gone
		}
		if err != nil {
			return nil, fmt.Errorf("list commits of merge request: %w", err)
		}
		for _, id := range ids {
			found(id, m.IID)
		}
	}
	return out, nil
}
