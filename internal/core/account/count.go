package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Counts is how much open work waits for a user, as far as the user may still see it.
type Counts struct {
	AssignedIssues        int `db:"assigned_issues"`
	AssignedMergeRequests int `db:"assigned_merge_requests"`
	ReviewRequested       int `db:"review_requested"`
}

// Count returns the actor's counts in one statement.
func (s *Service) Count(ctx context.Context, as authz.Actor) (Counts, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnUser, authz.Subject{}); err != nil {
		return Counts{}, err
	}
	visible, args := s.Policy.VisibleProjectsSQL(as, "n")
	args = append([]any{as.UserID}, args...)
	requests := func(table string) string {
		return `FROM ` + table + ` a JOIN merge_requests m ON m.id = a.merge_request_id
		JOIN projects p ON p.id = m.target_project_id AND p.merge_requests_access > 0 JOIN namespaces n ON n.id = p.namespace_id
		WHERE a.user_id = ? AND m.state = 'opened' AND ` + visible
	}
	c, err := db.Get[Counts](ctx, s.DB, `SELECT
		(SELECT COUNT(*) FROM issue_assignees a JOIN issues i ON i.id = a.issue_id
			JOIN projects p ON p.id = i.project_id AND p.issues_access > 0 JOIN namespaces n ON n.id = p.namespace_id
			WHERE a.user_id = ? AND i.state = 'opened' AND `+visible+`) AS assigned_issues,
		(SELECT COUNT(*) `+requests("merge_request_assignees")+`) AS assigned_merge_requests,
		(SELECT COUNT(*) `+requests("merge_request_reviewers")+`) AS review_requested`,
		slices.Concat(args, args, args)...)
	if err != nil {
		return Counts{}, fmt.Errorf("count a user's work: %w", err)
	}
	return c, nil
}

// Associations is how much a user belongs to and made.
type Associations struct {
	Groups        int `db:"groups_count"`
	Projects      int `db:"projects_count"`
	Issues        int `db:"issues_count"`
	MergeRequests int `db:"merge_requests_count"`
}

// CountAssociations counts what a user is a direct member of and what the user wrote, for
// the user and administrators.
func (s *Service) CountAssociations(ctx context.Context, as authz.Actor, id authz.UserID) (Associations, error) {
	if err := s.Policy.Require(ctx, as, authz.CountOfUser, authz.Subject{Own: as.Is(id)}); err != nil {
		return Associations{}, err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	if err != nil {
		return Associations{}, err
	}
	day := s.Now().UTC().Format(time.DateOnly)
	a, err := db.Get[Associations](ctx, s.DB, `SELECT
		(SELECT COUNT(*) FROM members m JOIN namespaces n ON n.id = m.namespace_id AND n.kind = 'group'
			WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)) AS groups_count,
		(SELECT COUNT(*) FROM projects p WHERE NOT p.pending_delete AND (p.parent_id = ? OR p.namespace_id IN (SELECT m.namespace_id
			FROM members m WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)))) AS projects_count,
		(SELECT COUNT(*) FROM issues i WHERE i.author_id = ?) AS issues_count,
		(SELECT COUNT(*) FROM merge_requests m WHERE m.author_id = ?) AS merge_requests_count`,
		id, day, u.NamespaceID, id, day, id, id)
	if err != nil {
		return Associations{}, fmt.Errorf("count a user's associations: %w", err)
	}
	return a, nil
}

// Activity is the day on which a user last did something.
type Activity struct {
	Username string `db:"username"`
	Day      string `db:"last_activity_on"` // YYYY-MM-DD
}

// Activities returns the people who did something on a day or later, longest ago first. Only
// administrators may.
func (s *Service) Activities(ctx context.Context, as authz.Actor, from string, r page.Range) (page.Page[Activity], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadActivities, authz.Subject{}); err != nil {
		return page.Page[Activity]{}, err
	}
	q := page.Query{
		Columns: "u.username, u.last_activity_on", From: "users u",
		Order: page.Order{page.Text("last_activity_on", "u.last_activity_on"), page.ID("u.id")},
	}
	q.Where.And("u.last_activity_on >= ?", from)
	list, err := page.Select[Activity](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list activities: %w", err)
	}
	return list, nil
}
