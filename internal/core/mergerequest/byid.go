package mergerequest

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// ByIDs returns those of the merge requests with these ids that the actor may read. It takes
// as many statements for one as for many.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*MergeRequest, error) {
	return s.byIDs(ctx, as, ids, s.columns, label.Known{})
}

// ShortByIDs is ByIDs for merge requests that stand inside other things, with descriptions cut by [budget.Cut]. Labels and the
// projects, with the actor's level, were read before.
func (s *Service) ShortByIDs(ctx context.Context, as authz.Actor, ids []ID, known label.Known) (map[ID]*MergeRequest, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := s.byIDs(ctx, as, ids, strings.Replace(s.columns, "m.description", budget.CutColumn("m.description"), 1), known)
	for _, m := range out {
		m.Description = budget.CutAt(m.Description)
	}
	return out, err
}

func (s *Service) byIDs(ctx context.Context, as authz.Actor, ids []ID, columns string, known label.Known) (map[ID]*MergeRequest, error) {
	out := make(map[ID]*MergeRequest, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("m.id", ids)
	rows, err := s.rowsOf(ctx, columns, w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("merge requests by id: %w", err)
	}
	projects, err := s.Projects.Among(ctx, as, known.Projects, projectsOf(rows), authz.ReadMergeRequest)
	if err != nil {
		return nil, err
	}
	var found []*MergeRequest
	for _, m := range rows {
		p := projects[m.ProjectID]
		if p == nil {
			continue
		}
		if err := s.countNotes(ctx, as, p, []*MergeRequest{m}); err != nil {
			return nil, err
		}
		out[m.ID], found = m, append(found, m)
	}
	if known.Labels == nil {
		err = s.attach(ctx, found)
	} else {
		err = s.attachWith(ctx, found, known.Labels[noteable.MergeRequest])
	}
	if err != nil {
		return nil, err
	}
	return out, s.readStatus(ctx, found, projects)
}

// Subjects returns the permission subjects of those of the merge requests that the actor may
// read, in two statements.
func (s *Service) Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("m.id", noteable.IDs(refs))
	type row struct {
		ID        int64        `db:"id"`
		ProjectID project.ID   `db:"target_project_id"`
		AuthorID  authz.UserID `db:"author_id"`
		Assigned  bool         `db:"assigned"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT m.id, m.target_project_id, m.author_id,
			EXISTS (SELECT 1 FROM merge_request_assignees a WHERE a.merge_request_id = m.id AND a.user_id = ?) AS assigned
		FROM merge_requests m`+w.SQL(), append([]any{as.UserID}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("subjects of merge requests: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[row]{
		Project: func(r *row) project.ID { return r.ProjectID },
		Needs: func(r *row, p *project.Project) (authz.Ability, authz.Subject) {
			subject := p.Subject()
			subject.Feature = authz.MergeRequests
			subject.Own = r.Assigned || as.Is(r.AuthorID)
			return authz.ReadMergeRequest, subject
		},
	})
	out := make(map[noteable.Ref]authz.Subject, len(rows))
	for _, found := range readable {
		out[noteable.Ref{Kind: noteable.MergeRequest, ID: found.Row.ID}] = found.Subject
	}
	return out, err
}
