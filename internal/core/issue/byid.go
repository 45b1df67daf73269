package issue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// ByIDs returns those of the issues with these ids that the actor may read. It takes one
// statement each for the issues, their projects with the actor's levels, labels and
// assignees.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Issue, error) {
	return s.byIDs(ctx, as, ids, columns, label.Known{})
}

// ShortByIDs is ByIDs for issues that stand inside other things, with descriptions cut by [budget.Cut]. Labels and the projects,
// with the actor's level, were read before.
func (s *Service) ShortByIDs(ctx context.Context, as authz.Actor, ids []ID, known label.Known) (map[ID]*Issue, error) {
	out, err := s.byIDs(ctx, as, ids, short, known)
	for _, i := range out {
		i.Description = budget.CutAt(i.Description)
	}
	return out, err
}

func (s *Service) byIDs(ctx context.Context, as authz.Actor, ids []ID, columns string, known label.Known) (map[ID]*Issue, error) {
	out := make(map[ID]*Issue, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("i.id", ids)
	rows, err := db.Select[Issue](ctx, s.DB, "SELECT "+columns+", i.public_notes_count AS user_notes_count FROM issues i"+w.SQL(), w.Args()...)
	if err == nil {
		if known.Labels == nil {
			err = s.fill(ctx, as, rows)
		} else {
			err = s.fillWith(ctx, as, rows, known.Labels[noteable.Issue])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("issues by id: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Issue]{
		Project: func(i *Issue) project.ID { return i.ProjectID },
		Needs: func(i *Issue, p *project.Project) (authz.Ability, authz.Subject) {
			return authz.ReadIssue, i.subject(as, p)
		},
		Known: known.Projects,
	})
	for _, found := range readable {
		i := found.Row
		if authz.SeesInternal(as, found.Project.Level) {
			i.UserNotes = i.NotesCount
		}
		out[i.ID] = i
	}
	return out, err
}

// Among returns a page of those of the issues with these ids that the actor may read, by id.
func (s *Service) Among(ctx context.Context, as authz.Actor, ids []ID, r page.Range) (page.Page[Issue], error) {
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return page.Page[Issue]{}, err
	}
	readable := make([]Issue, 0, len(found))
	for _, i := range found {
		readable = append(readable, *i)
	}
	slices.SortFunc(readable, func(a, b Issue) int { return cmp.Compare(a.ID, b.ID) })
	return page.Slice(readable, r, page.Order{page.ID("id")}, func(i *Issue) []any { return []any{int64(i.ID)} })
}

// Subjects returns the permission subjects of those of the issues that the actor may read, in
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
	rows, err := db.Select[row](ctx, s.DB, `SELECT i.id, i.project_id, i.author_id, i.confidential,
			EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id AND ia.user_id = ?) AS assigned
		FROM issues i`+w.SQL(), append([]any{as.UserID}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("subjects of issues: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[row]{
		Project: func(r *row) project.ID { return r.ProjectID },
		Needs: func(r *row, p *project.Project) (authz.Ability, authz.Subject) {
			subject := p.Subject()
			subject.Own, subject.Confidential = r.Assigned || as.Is(r.AuthorID), r.Confidential
			return authz.ReadIssue, subject
		},
	})
	out := make(map[noteable.Ref]authz.Subject, len(rows))
	for _, found := range readable {
		out[noteable.Ref{Kind: noteable.Issue, ID: found.Row.ID}] = found.Subject
	}
	return out, err
}
