package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Taking makes the branches of merge requests from forks, and finds the issues that merge requests name.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "branches of forks", After: true, Take: s.takeForks}, {Name: "issues of merge requests", After: true, Take: s.takeIssues}}
}

// importedFork is an imported merge request whose source was another project.
type importedFork struct {
	ID     ID     `db:"id"`
	Source string `db:"source_branch"`
	Target string `db:"target_branch"`
	Head   string `db:"head_sha"`
	Start  string `db:"start_sha"`
	State  State  `db:"state"`
}

// forksAtOnce bounds the merge requests of one transaction.
const forksAtOnce = 100

// takeForks makes the project itself the source of imported merge requests from forks. Their branches are made where they are absent and the
// repository has their commits; without them the merge requests are as readable as before. Of several that are open between branches of the same names one
// has a source, and an open one between two branches of one name has none. Neither has one that is not merged and whose branch is another one here.
func (s *Service) takeForks(ctx context.Context, w *tree.Writing, _ *os.Root) error {
	p := project.Of(w.At)
	for after := ID(0); ; {
		found, err := db.Select[importedFork](ctx, s.DB, `SELECT id, source_branch, target_branch, head_sha, start_sha, state FROM merge_requests
			WHERE target_project_id = ? AND source_project_id IS NULL AND id > ? ORDER BY id LIMIT ?`, p.ID, after, forksAtOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		after = found[len(found)-1].ID
		r, err := s.Repos.Open(ctx, p)
		if err != nil {
			return err
		}
		var own []importedFork
		for _, m := range found {
			if err := errors.Join(makeAbsent(ctx, r, m.Source, m.Head), makeAbsent(ctx, r, m.Target, m.Start)); err != nil {
				return fmt.Errorf("branches of merge request: %w", err)
			}
			at, err := branchAt(ctx, r, m.Source)
			if err != nil {
				return fmt.Errorf("branches of merge request: %w", err)
			}
			if m.State == StateMerged || at == "" || at == m.Head {
				own = append(own, m)
			}
		}
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			for _, m := range own {
				_, err := s.DB.Exec(ctx, `UPDATE merge_requests SET source_project_id = ? WHERE id = ? AND NOT (state IN ('opened', 'locked') AND (source_branch = target_branch OR EXISTS (SELECT 1 FROM merge_requests o
					WHERE o.source_project_id = ? AND o.target_project_id = ? AND o.state IN ('opened', 'locked') AND o.source_branch = merge_requests.source_branch
					AND o.target_branch = merge_requests.target_branch)))`, p.ID, m.ID, p.ID, p.ID)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("sources of merge requests: %w", err)
		}
	}
}

// makeAbsent makes a branch at a commit that the repository has, unless there is one of the name, or one that it cannot stand beside.
func makeAbsent(ctx context.Context, r *gitcmd.Repo, name, at string) error {
	id, err := gitstore.ParseObjectID(at)
	if err != nil || !gitstore.ValidBranchName(name) {
		return nil // there is none to make
	}
	ref, err := gitstore.BranchRef(name)
	if err == nil {
		_, err = r.Commit(ctx, id)
	}
	if err == nil {
		err = r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: ref, New: id}})
	}
	for _, harmless := range []error{gitstore.ErrNotFound, gitstore.ErrWrongKind, gitstore.ErrRefMoved, gitstore.ErrRefConflict} {
		if errors.Is(err, harmless) {
			return nil
		}
	}
	return err
}

// branchAt is the commit of a branch, "" where there is none.
func branchAt(ctx context.Context, r *gitcmd.Repo, name string) (string, error) {
	ref, err := gitstore.BranchRef(name)
	if err != nil {
		return "", nil // no branch has such a name
	}
	at, err := r.Ref(ctx, ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return "", nil
	}
	return at.String(), err
}
