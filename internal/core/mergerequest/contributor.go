package mergerequest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// contributors are the addresses of authors and committers of a version, folded, with the
// users who had them when the commits were pushed.
type contributors struct {
	emails map[string]bool
	owners map[string][]authz.UserID
	all    bool // of the whole version rather than of commits that came to it
}

// contributorsOf finds who wrote the commits of the version that m's fields describe, or of
// those that came since old, the head of the version before, where nothing else changed.
func (s *Service) contributorsOf(ctx context.Context, l look, source *project.Project, m *MergeRequest, old string) (contributors, error) {
	out := contributors{emails: map[string]bool{}, all: true}
	if m.BaseSHA == "" {
		return out, nil
	}
	opts := gitcmd.LogOptions{From: []gitstore.ObjectID{idOf(m.HeadSHA)}, Not: []gitstore.ObjectID{idOf(m.StartSHA)}}
	if old != "" {
		grown, err := contains(ctx, l.repo, idOf(m.HeadSHA), idOf(old))
		if err != nil {
			return out, err
		}
		if out.all = !grown; grown {
			opts.Not = append(opts.Not, idOf(old))
		}
	}
	ids, err := l.repo.Log(ctx, opts)
	if err != nil {
		return out, fmt.Errorf("list commits of version: %w", err)
	}
	for chunk := range slices.Chunk(ids, 500) {
		commits, err := l.repo.Commits(ctx, chunk)
		if err != nil {
			return out, fmt.Errorf("read commits of version: %w", err)
		}
		for _, c := range commits {
			out.emails[db.Fold(c.Author.Email)], out.emails[db.Fold(c.Committer.Email)] = true, true
		}
	}
	places := []project.ID{m.ProjectID} // that the commits were pushed to
	if source != nil && source.ID != m.ProjectID {
		places = append(places, source.ID)
	}
	out.owners, err = s.Repos.AddressOwners(ctx, places, slices.Sorted(maps.Keys(out.emails)))
	return out, err
}

// storeContributors records who wrote the commits of a request. An address keeps the users it
// had when its commits came until no commit has it any more.
func (s *Service) storeContributors(ctx context.Context, id ID, c contributors) error {
	if c.all {
		known, err := db.Select[string](ctx, s.DB, "SELECT DISTINCT email_fold FROM merge_request_contributors WHERE merge_request_id = ?", id)
		if err != nil {
			return fmt.Errorf("read contributors: %w", err)
		}
		known = slices.DeleteFunc(known, func(email string) bool { return c.emails[email] })
		for chunk := range slices.Chunk(known, db.MaxArgs/2) {
			marks, args := db.Marks(chunk)
			if _, err := s.DB.Exec(ctx, "DELETE FROM merge_request_contributors WHERE merge_request_id = ? AND email_fold IN ("+marks+")",
				append([]any{id}, args...)...); err != nil {
				return fmt.Errorf("drop contributors: %w", err)
			}
		}
	}
	var args []any
	for _, email := range slices.Sorted(maps.Keys(c.owners)) {
		for _, user := range c.owners[email] {
			args = append(args, id, email, user)
		}
	}
	for chunk := range slices.Chunk(args, 3*500) {
		if _, err := s.DB.Exec(ctx, "INSERT INTO merge_request_contributors (merge_request_id, email_fold, user_id) VALUES "+
			strings.Repeat("(?, ?, ?), ", len(chunk)/3-1)+"(?, ?, ?) ON CONFLICT DO NOTHING", chunk...); err != nil {
			return fmt.Errorf("record contributors: %w", err)
		}
	}
	return nil
}

// Contributors returns the users who wrote commits of requests, by their ids. The requests have been read
// for the actor.
func (s *Service) Contributors(ctx context.Context, ids []ID) (map[ID][]authz.UserID, error) {
	out := make(map[ID][]authz.UserID, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	type row struct {
		ID     ID           `db:"merge_request_id"`
		UserID authz.UserID `db:"user_id"`
	}
	var w db.Where
	w.In("merge_request_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT DISTINCT merge_request_id, user_id FROM merge_request_contributors"+w.SQL()+" ORDER BY merge_request_id, user_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read contributors: %w", err)
	}
	for _, r := range rows {
		out[r.ID] = append(out[r.ID], r.UserID)
	}
	return out, nil
}

// RebasingOf returns those of the merge requests that have a rebase waiting or running.
func (s *Service) RebasingOf(ctx context.Context, ids []ID) (map[ID]bool, error) {
	out := make(map[ID]bool, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("merge_request_id", ids)
	list, err := db.Select[ID](ctx, s.DB, "SELECT merge_request_id FROM merge_request_rebases"+w.SQL()+" ORDER BY merge_request_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("look for rebases: %w", err)
	}
	for _, id := range list {
		out[id] = true
	}
	return out, nil
}
