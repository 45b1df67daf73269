package mergerequest

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

// Describe says what merge requests are to others.
func (s *Service) Describe() noteable.Description {
	return noteable.Description{
		Kind: noteable.MergeRequest, Noun: "merge request", An: "a merge request", Path: "merge_requests", Mark: "!", Reference: "merge_request", Code: 2,
		Table: "merge_requests", Project: "target_project_id", Read: authz.ReadMergeRequest,
		Assignees: noteable.Users{Table: "merge_request_assignees", Of: "merge_request_id"},
		Reviewers: noteable.Users{Table: "merge_request_reviewers", Of: "merge_request_id"},
		History:   true, Replies: true, Threads: true, Diffs: true, Awards: true, Labels: true, Milestones: true, Todos: true, Searched: true, Numbered: true,
	}
}

// Locate finds the request with a number for those who comment on it. It requires
// ReadMergeRequest.
func (s *Service) Locate(ctx context.Context, as authz.Actor, at authz.Place, key noteable.Key) (noteable.Target, error) {
	p, iid := project.Of(at), key.Number
	if err := s.requireRead(ctx, as, p); err != nil {
		return noteable.Target{}, hidden(err)
	}
	type row struct {
		ID          int64        `db:"id"`
		Title       string       `db:"title"`
		AuthorID    authz.UserID `db:"author_id"`
		Locked      bool         `db:"locked"`
		Notes       int64        `db:"notes_count"`
		PublicNotes int64        `db:"public_notes_count"`
		Assigned    bool         `db:"assigned"`
	}
	r, err := db.Get[row](ctx, s.DB, `SELECT m.id, m.title, m.author_id, COALESCE(m.discussion_locked, false) AS locked,
			m.notes_count, m.public_notes_count,
			EXISTS (SELECT 1 FROM merge_request_assignees a WHERE a.merge_request_id = m.id AND a.user_id = ?) AS assigned
		FROM merge_requests m WHERE m.target_project_id = ? AND m.iid = ?`, as.UserID, p.ID, iid)
	if errors.Is(err, db.ErrNotFound) {
		return noteable.Target{}, errs.Missing("")
	}
	if err != nil {
		return noteable.Target{}, fmt.Errorf("locate merge request: %w", err)
	}
	t := noteable.Target{
		Ref: noteable.Ref{Kind: noteable.MergeRequest, ID: r.ID}, IID: &iid, ProjectID: int64(p.ID), ProjectPath: p.FullPath,
		Title: r.Title, AuthorID: r.AuthorID, Subject: p.Subject(), Locked: r.Locked, Resolvable: true,
		Notes: r.Notes, PublicNotes: r.PublicNotes,
	}
	t.Subject.Feature = authz.MergeRequests
	t.Subject.Own = r.Assigned || as.Is(r.AuthorID)
	return t, nil
}

// CountNotes changes a request's counters of comments and threads and the time of its last
// change in the caller's transaction, and returns the counters as they are then.
func (s *Service) CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error) {
	n, err := db.Get[noteable.Counts](ctx, s.DB, `UPDATE merge_requests SET notes_count = notes_count + ?,
		public_notes_count = public_notes_count + ?, resolvable_discussions_count = resolvable_discussions_count + ?,
		unresolved_discussions_count = unresolved_discussions_count + ?, updated_at = COALESCE(?, updated_at) WHERE id = ?
		RETURNING notes_count, public_notes_count, resolvable_discussions_count, unresolved_discussions_count`,
		by.Notes, by.PublicNotes, by.Threads, by.Unresolved, noteable.ChangedAt(at), on.ID)
	if errors.Is(err, db.ErrNotFound) {
		return n, errs.Missing("")
	}
	if err != nil {
		return n, fmt.Errorf("count notes of merge request: %w", err)
	}
	if by.Unresolved < 0 && n.Unresolved == 0 {
		return n, s.Unblock(ctx, ID(on.ID))
	}
	return n, nil
}

// Unblock has a request merged that is set to merge by itself and waited for something else
// than its pipeline, which may be met in the caller's transaction.
func (s *Service) Unblock(ctx context.Context, id ID) error {
	m, err := s.load(ctx, "m.id = ?", id)
	if err != nil || !m.MergeWhenPipelineSucceeds {
		return err
	}
	return s.lookAgain(ctx, m)
}

// UnblockAll is Unblock for all requests of a project.
func (s *Service) UnblockAll(ctx context.Context, id project.ID) error {
	type source struct {
		ProjectID *project.ID `db:"source_project_id"`
		Branch    string      `db:"source_branch"`
	}
	waiting, err := db.Select[source](ctx, s.DB, `SELECT DISTINCT m.source_project_id, m.source_branch FROM merge_requests m
		WHERE m.target_project_id = ? AND m.state = 'opened' AND m.merge_when_pipeline_succeeds ORDER BY m.source_project_id, m.source_branch`, id)
	if err != nil {
		return fmt.Errorf("read automatic merges: %w", err)
	}
	for _, w := range waiting {
		if err := s.enqueueDue(ctx, w.ProjectID, w.Branch); err != nil {
			return err
		}
	}
	return nil
}

// Standing reads a request as events say of it, with its status, and its project, for work that
// no user waits for. Both are nil where the request is gone or the project is being deleted. It
// asks for no permission.
func (s *Service) Standing(ctx context.Context, id ID) (*project.Project, *MergeRequest, error) {
	p, m, err := s.still(ctx, id)
	if err != nil || m == nil {
		return nil, nil, err
	}
	if err := s.attach(ctx, []*MergeRequest{m}); err != nil {
		return nil, nil, err
	}
	return p, m, s.readStatus(ctx, []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p})
}

// Locked reads a request as events say of it and locks its row until the caller's transaction
// ends. It asks for no permission.
func (s *Service) Locked(ctx context.Context, id ID) (*MergeRequest, error) {
	m, err := db.ForUpdate[MergeRequest](ctx, s.DB, s.row(id))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("lock merge request: %w", err)
	}
	return &m, s.attach(ctx, []*MergeRequest{&m})
}
