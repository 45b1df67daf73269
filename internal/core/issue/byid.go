package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// ByIDs returns those of the issues with these ids that the actor may read. It takes one
// statement each for the issues, their projects with the actor's levels, labels and
// assignees.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Issue, error) {
	out := make(map[ID]*Issue, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("i.id", ids)
	rows, err := db.Select[Issue](ctx, s.db, "SELECT "+columns+", i.public_notes_count AS user_notes_count FROM issues i"+w.SQL(), w.Args()...)
	if err == nil {
		err = s.fill(ctx, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("issues by id: %w", err)
	}
	of := make([]project.ID, len(rows))
	for i := range rows {
		of[i] = rows[i].ProjectID
	}
	projects, err := s.projects.ByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		found, p := &rows[i], projects[rows[i].ProjectID]
		if p == nil {
			continue
		}
		may, err := s.policy.Can(ctx, as, authz.ReadIssue, found.subject(as, p))
		if err != nil {
			return nil, fmt.Errorf("issues by id: %w", err)
		}
		if !may {
			continue
		}
		if authz.SeesConfidential(as, p.Subject()) { // planners read internal notes as well
			found.UserNotes = found.NotesCount
		}
		out[found.ID] = found
	}
	return out, nil
}

// Subjects gives the permission subjects of those of the issues that the actor may read, in
// two statements.
func (s *Service) Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("i.id", noteable.IDs(refs))
	type row struct {
		ID           int64        `db:"id"`
		ProjectID    project.ID   `db:"project_id"`
		AuthorID     authz.UserID `db:"author_id"`
		Confidential bool         `db:"confidential"`
		Assigned     bool         `db:"assigned"`
	}
	rows, err := db.Select[row](ctx, s.db, `SELECT i.id, i.project_id, i.author_id, i.confidential,
			EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id AND ia.user_id = ?) AS assigned
		FROM issues i`+w.SQL(), append([]any{as.UserID}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("subjects of issues: %w", err)
	}
	of := make([]project.ID, len(rows))
	for i, r := range rows {
		of[i] = r.ProjectID
	}
	projects, err := s.projects.ByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	out := make(map[noteable.Ref]authz.Subject, len(rows))
	for _, r := range rows {
		p := projects[r.ProjectID]
		if p == nil {
			continue
		}
		subject := p.Subject()
		subject.Own, subject.Confidential = as.SignedIn() && (r.Assigned || r.AuthorID == as.UserID), r.Confidential
		may, err := s.policy.Can(ctx, as, authz.ReadIssue, subject)
		if err != nil {
			return nil, fmt.Errorf("subjects of issues: %w", err)
		}
		if may {
			out[noteable.Ref{Kind: noteable.Issue, ID: r.ID}] = subject
		}
	}
	return out, nil
}
