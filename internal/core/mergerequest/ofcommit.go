package mergerequest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// maxHolding is how many merge requests are looked at for a commit, the newest first.
const maxHolding = 500

// OfCommit lists the merge requests of a project that brought a commit: it is one of
// their commits, their merge commit or their squashed one. Of the filter, everything but
// the numbers counts.
func (s *Service) OfCommit(ctx context.Context, as authz.Actor, p *project.Project, c *gitcmd.Commit, f Filter) (*Page, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	iids, err := s.introducing(ctx, p, c.ID)
	if err != nil {
		return nil, err
	}
	if len(iids) == 0 {
		return &Page{Projects: map[project.ID]*project.Project{p.ID: p}}, nil
	}
	f.IIDs = iids
	return s.List(ctx, as, p, f)
}

// introducing gives the numbers of the merge requests that brought a commit.
func (s *Service) introducing(ctx context.Context, p *project.Project, commit gitcmd.ObjectID) ([]IID, error) {
	iids, err := db.Select[IID](ctx, s.db, `SELECT iid FROM merge_requests
		WHERE target_project_id = ? AND (merge_commit_sha = ? OR squash_commit_sha = ?) ORDER BY iid`, p.ID, commit, commit)
	if err != nil {
		return nil, fmt.Errorf("look for merge of commit: %w", err)
	}
	r, err := s.repos.Open(ctx, p)
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
	rows, err := db.Select[base](ctx, s.db, "SELECT iid, base_sha FROM merge_requests WHERE target_project_id = ? AND iid IN ("+
		marks+") ORDER BY iid DESC", append([]any{p.ID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read merge requests of commit: %w", err)
	}
	for _, row := range rows {
		id, err := gitcmd.ParseObjectID(row.Base)
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
