package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	maxContextAtOnce = 20  // commits of one call
	maxContext       = 500 // of one merge request
)

var errContextSHA = errs.Plain("One or more context commits' sha is not valid.")

// contextCommit is a commit that a request shows beside its own.
type contextCommit struct {
	ID        int64   `db:"id"`
	RequestID ID      `db:"merge_request_id"`
	SHA       string  `db:"sha"`
	Authored  db.Time `db:"authored_at"`
}

// ContextCommits lists the commits that a request shows beside its own, the newest first.
func (s *Service) ContextCommits(ctx context.Context, as authz.Actor, p *project.Project, iid IID, part page.Range) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](part)
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return none, err
	}
	q := page.Query{
		Columns: db.Columns[contextCommit]("c"), From: "merge_request_context_commits c",
		Order: page.Order{page.Time("authored_at", "c.authored_at"), page.ID("c.id")}.Desc(),
	}
	q.Where.And("c.merge_request_id = ?", m.ID)
	rows, err := page.Select[contextCommit](ctx, s.DB, q, part)
	if err != nil {
		return none, fmt.Errorf("list context commits: %w", err)
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return none, err
	}
	ids := make([]gitstore.ObjectID, len(rows.Items))
	for i, row := range rows.Items {
		ids[i] = idOf(row.SHA)
	}
	commits, err := r.Commits(ctx, ids)
	if err != nil {
		return none, fmt.Errorf("read context commits: %w", err)
	}
	at := 0
	return page.Map(rows, func(*contextCommit) *gitstore.Commit { at++; return commits[at-1] }), nil
}

// AddContextCommits has a request show commits of its project beside its own, at most 20 in one
// call. It returns those that were added.
func (s *Service) AddContextCommits(ctx context.Context, as authz.Actor, p *project.Project, iid IID, shas []string) ([]*gitstore.Commit, error) {
	m, err := s.changeContext(ctx, as, p, iid, shas)
	if err != nil {
		return nil, err
	}
	var commits []*gitstore.Commit
	seen := map[gitstore.ObjectID]bool{}
	for _, sha := range shas {
		c, err := s.Repos.FindCommit(ctx, as, p, sha)
		if errs.Is(err, errs.NotFound) {
			return nil, errContextSHA
		}
		if err != nil {
			return nil, err
		}
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if err := s.Repos.KeepAround(ctx, p, c.ID); err != nil {
			return nil, err
		}
		commits = append(commits, c)
	}
	var added []*gitstore.Commit
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		added = nil
		for _, c := range commits {
			n, err := db.InsertRow(ctx, s.DB, "merge_request_context_commits", db.Values{
				"merge_request_id": m.ID, "sha": c.ID.String(), "authored_at": db.At(c.Author.When),
			}, "ON CONFLICT (merge_request_id, sha) DO NOTHING")
			if err != nil {
				return err
			}
			if n > 0 {
				added = append(added, c)
			}
		}
		full := errs.Plain(fmt.Sprintf("The merge request has more than %d context commits", maxContext))
		most := db.Bound{Table: "merge_request_context_commits", Most: maxContext, Full: full}
		most.Of.And("merge_request_id = ?", m.ID)
		return s.DB.Room(ctx, most, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("add context commits: %w", err)
	}
	return added, nil
}

// RemoveContextCommits has a request no longer show commits that it shows beside its own. It
// refuses all where one of them is not shown.
func (s *Service) RemoveContextCommits(ctx context.Context, as authz.Actor, p *project.Project, iid IID, shas []string) error {
	m, err := s.changeContext(ctx, as, p, iid, shas)
	if err != nil {
		return err
	}
	full := map[string]bool{}
	for _, sha := range shas {
		c, err := s.Repos.FindCommit(ctx, as, p, sha)
		if errs.Is(err, errs.NotFound) {
			return errContextSHA
		}
		if err != nil {
			return err
		}
		full[c.ID.String()] = true
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		for sha := range full {
			n, err := s.DB.Exec(ctx, "DELETE FROM merge_request_context_commits WHERE merge_request_id = ? AND sha = ?", m.ID, sha)
			if err != nil {
				return err
			}
			if n == 0 {
				return errContextSHA
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errContextSHA) {
		return fmt.Errorf("remove context commits: %w", err)
	}
	return err
}

// changeContext finds a request whose context commits an actor may change.
func (s *Service) changeContext(ctx context.Context, as authz.Actor, p *project.Project, iid IID, shas []string) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireOn(ctx, as, authz.UpdateMergeRequest, p, m); err != nil {
		return nil, err
	}
	if len(shas) > maxContextAtOnce {
		return nil, errs.Plain(fmt.Sprintf("Context commits array size should not be more than %d", maxContextAtOnce))
	}
	return m, nil
}
