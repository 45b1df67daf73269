package account

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Counts is how much open work waits for a user, as far as the user may still see it.
type Counts struct {
	AssignedIssues        int `db:"assigned_issues"`
	AssignedMergeRequests int `db:"assigned_merge_requests"`
	ReviewRequested       int `db:"review_requested"`
}

// Count gives the actor's counts in one statement.
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
