package issue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Describe says what issues are to others.
func (s *Service) Describe() noteable.Description {
	return noteable.Description{
		Kind: noteable.Issue, Noun: "issue", An: "an issue", Path: "issues", Mark: "#", Reference: "issue", Code: 1,
		Table: "issues", Project: "project_id", Read: authz.ReadIssue,
		Assignees: noteable.Users{Table: "issue_assignees", Of: "issue_id"},
		Open:      true, History: true, Replies: true, Confidential: true, Awards: true, Labels: true, Milestones: true, Todos: true, Searched: true, Numbered: true,
	}
}

// Locate finds the issue with a number for those who comment on it. It requires
// ReadIssue.
func (s *Service) Locate(ctx context.Context, as authz.Actor, at authz.Place, key noteable.Key) (noteable.Target, error) {
	p, iid := project.Of(at), key.Number
	if err := s.Policy.Require(ctx, as, authz.ReadIssue, p.Subject()); err != nil {
		return noteable.Target{}, err
	}
	type row struct {
		ID           int64        `db:"id"`
		Title        string       `db:"title"`
		AuthorID     authz.UserID `db:"author_id"`
		Confidential bool         `db:"confidential"`
		Locked       bool         `db:"locked"`
		Notes        int64        `db:"notes_count"`
		PublicNotes  int64        `db:"public_notes_count"`
		Assigned     bool         `db:"assigned"`
	}
	r, err := db.Get[row](ctx, s.DB, `SELECT i.id, i.title, i.author_id, i.confidential, COALESCE(i.discussion_locked, false) AS locked,
			i.notes_count, i.public_notes_count,
			EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id AND ia.user_id = ?) AS assigned
		FROM issues i WHERE i.project_id = ? AND i.iid = ?`, as.UserID, p.ID, iid)
	if errors.Is(err, db.ErrNotFound) {
		return noteable.Target{}, errs.Missing("")
	}
	if err != nil {
		return noteable.Target{}, fmt.Errorf("locate issue: %w", err)
	}
	t := noteable.Target{
		Ref: noteable.Ref{Kind: noteable.Issue, ID: r.ID}, IID: &iid, ProjectID: int64(p.ID), ProjectPath: p.FullPath,
		Title: r.Title, AuthorID: r.AuthorID, Subject: p.Subject(), Locked: r.Locked, HasInternal: true,
		Notes: r.Notes, PublicNotes: r.PublicNotes,
	}
	t.Subject.Own = r.Assigned || as.Is(r.AuthorID)
	t.Subject.Confidential = r.Confidential
	if err := s.Policy.Require(ctx, as, authz.ReadIssue, t.Subject); err != nil {
		return noteable.Target{}, err
	}
	return t, nil
}

// CountNotes changes an issue's counters of comments and the time of its last change in
// the caller's transaction, and returns the counters as they are then.
func (s *Service) CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error) {
	return noteable.CountComments(ctx, s.DB, "UPDATE issues", on, by, at)
}
