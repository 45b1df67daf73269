package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.MergeRequest }

// Referred returns those of the merge requests that texts refer to which the actor may read,
// in one statement.
func (s *Service) Referred(ctx context.Context, as authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	type row struct {
		ID        int64      `db:"id"`
		IID       int64      `db:"iid"`
		ProjectID project.ID `db:"target_project_id"`
		Title     string     `db:"title"`
		State     string     `db:"state"`
	}
	cond, args := sought.ByNumber("m.target_project_id", "m.iid")
	rows, err := db.Select[row](ctx, s.DB, "SELECT m.id, m.iid, m.target_project_id, m.title, m.state FROM merge_requests m WHERE "+cond, args...)
	if err != nil {
		return nil, fmt.Errorf("merge requests that texts refer to: %w", err)
	}
	out := make(map[reference.Key]*reference.Target, len(rows))
	for _, r := range rows {
		p := sought.Projects[r.ProjectID]
		may, err := s.Policy.Can(ctx, as, authz.ReadMergeRequest, p.Subject())
		if err != nil {
			return nil, fmt.Errorf("merge requests that texts refer to: %w", err)
		}
		if may {
			out[reference.Key{Project: p.ID, Number: r.IID}] = &reference.Target{
				Kind: reference.MergeRequest, ID: r.ID, ProjectID: p.ID, Path: p.FullPath, Number: r.IID, Title: r.Title, State: r.State,
				URL: s.URLs.MergeRequest(p.FullPath, r.IID),
			}
		}
	}
	return out, nil
}
