package snippet

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Describe says what snippets are to others.
func (s *Service) Describe() noteable.Description {
	return noteable.Description{
		Kind: noteable.Snippet, Noun: "snippet", An: "a snippet", Path: "snippets", Mark: "$", Reference: "snippet", Code: 4,
		Table: "snippets", Project: "project_id", Read: authz.ReadSnippet,
		Awards: true, Searched: true,
	}
}

// Locate finds a snippet of the project for those who comment on it. It requires ReadSnippet.
func (s *Service) Locate(ctx context.Context, as authz.Actor, at authz.Place, key noteable.Key) (noteable.Target, error) {
	if !at.IsProject() {
		return noteable.Target{}, errs.Missing("Snippet")
	}
	sn, p, err := s.find(ctx, as, project.Of(at), ID(key.Number), authz.ReadSnippet)
	if err != nil {
		return noteable.Target{}, err
	}
	t := noteable.Target{
		Ref: noteable.Ref{Kind: noteable.Snippet, ID: int64(sn.ID)}, Title: sn.Title, AuthorID: sn.AuthorID, Subject: sn.subject(as, p),
		ProjectID: int64(p.ID), ProjectPath: p.FullPath, Notes: sn.NotesCount, PublicNotes: sn.PublicNotes,
	}
	t.Subject.Feature = authz.Snippets
	return t, nil
}

// ByIDs returns those of the snippets with these ids that the actor may read, in two statements.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Snippet, error) {
	out := make(map[ID]*Snippet, len(ids))
	err := s.each(ctx, as, ids, func(sn *Snippet, _ authz.Subject) { out[sn.ID] = sn })
	return out, err
}

// Subjects returns the permission subjects of those of the snippets that the actor may read, in
// two statements.
func (s *Service) Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	ids := make([]ID, len(refs))
	for i, ref := range refs {
		ids[i] = ID(ref.ID)
	}
	out := make(map[noteable.Ref]authz.Subject, len(refs))
	err := s.each(ctx, as, ids, func(sn *Snippet, subject authz.Subject) {
		out[noteable.Ref{Kind: noteable.Snippet, ID: int64(sn.ID)}] = subject
	})
	return out, err
}

// each gives take the snippets with these ids that the actor may read.
func (s *Service) each(ctx context.Context, as authz.Actor, ids []ID, take func(*Snippet, authz.Subject)) error {
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.In("s.id", ids)
	rows, err := db.Select[Snippet](ctx, s.DB, "SELECT "+columns+from+w.SQL(), w.Args()...)
	if err != nil {
		return fmt.Errorf("snippets by id: %w", err)
	}
	var of []project.ID
	for i := range rows {
		if rows[i].ProjectID != nil {
			of = append(of, *rows[i].ProjectID)
		}
	}
	projects, err := s.Projects.ByIDs(ctx, as, of)
	if err != nil {
		return err
	}
	for i := range rows {
		sn := &rows[i]
		var p *project.Project
		if sn.ProjectID != nil {
			if p = projects[*sn.ProjectID]; p == nil {
				continue
			}
		}
		subject := sn.subject(as, p)
		may, err := s.Policy.Can(ctx, as, authz.ReadSnippet, subject)
		if err != nil {
			return fmt.Errorf("snippets by id: %w", err)
		}
		if may {
			take(sn, subject)
		}
	}
	return nil
}

// ReadableSQL is a condition that holds where the actor may read the snippet whose id is in
// column. The names of tables in it must not hide the one in column: s, p, n, r.
func (s *Service) ReadableSQL(as authz.Actor, column string) (cond string, args []any) {
	readable, args := s.readable(as)
	return "EXISTS (SELECT 1" + from + " WHERE s.id = " + column + " AND " + readable + ")", args
}

// CountNotes changes a snippet's counters of comments and the time of its last change in the
// caller's transaction, and returns the counters as they are then.
func (s *Service) CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error) {
	return noteable.CountComments(ctx, s.DB, "UPDATE snippets", on, by, at)
}
