package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.Issue }

// Referred returns those of the issues that texts refer to which the actor may read, in one
// statement.
func (s *Service) Referred(ctx context.Context, as authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	type row struct {
		ID           int64        `db:"id"`
		IID          int64        `db:"iid"`
		ProjectID    project.ID   `db:"project_id"`
		Title        string       `db:"title"`
		State        State        `db:"state"`
		Type         Type         `db:"issue_type"`
		AuthorID     authz.UserID `db:"author_id"`
		Confidential bool         `db:"confidential"`
		Assigned     bool         `db:"assigned"`
	}
	cond, args := sought.ByNumber("i.project_id", "i.iid")
	rows, err := db.Select[row](ctx, s.DB, `SELECT i.id, i.iid, i.project_id, i.title, i.state, i.issue_type, i.author_id, i.confidential,
			EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id AND ia.user_id = ?) AS assigned
		FROM issues i WHERE `+cond, append([]any{as.UserID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("issues that texts refer to: %w", err)
	}
	out := make(map[reference.Key]*reference.Target, len(rows))
	for _, r := range rows {
		p := sought.Projects[r.ProjectID]
		subject := p.Subject()
		subject.Own, subject.Confidential = r.Assigned || as.Is(r.AuthorID), r.Confidential
		may, err := s.Policy.Can(ctx, as, authz.ReadIssue, subject)
		if err != nil {
			return nil, fmt.Errorf("issues that texts refer to: %w", err)
		}
		if !may {
			continue
		}
		t := &reference.Target{
			Kind: reference.Issue, ID: r.ID, ProjectID: p.ID, Path: p.FullPath, Number: r.IID, Title: r.Title, State: string(r.State),
			URL: r.Type.URL(s.URLs, p.FullPath, IID(r.IID)),
		}
		out[reference.Key{Project: p.ID, Number: r.IID}] = t
	}
	return out, nil
}
