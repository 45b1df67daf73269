package subscription

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// ofCommit selects the ids of those who wrote comments on a commit or are mentioned in one, some
// more than once, and names the rows s of users with a choice. The arguments are for both, in this order.
func ofCommit(of noteable.Ref) (query, chosen string, args []any) {
	return `SELECT n.author_id AS user_id FROM notes n WHERE n.noteable_type = ? AND n.project_id = ? AND n.commit_id = ? AND NOT n.system
			UNION ALL SELECT m.user_id FROM commit_participants m WHERE m.project_id = ? AND m.commit_id = ? AND m.mentioned`,
		"commit_participants s WHERE s.project_id = ? AND s.commit_id = ? AND s.subscribed IS NOT NULL",
		[]any{of.Kind, of.Project, of.Commit, of.Project, of.Commit, of.Project, of.Commit}
}

// chooseCommit writes what a user chose for a commit; NotModified where it is so already. Without a choice a user is not subscribed.
func (s *Service) chooseCommit(ctx context.Context, user authz.UserID, of noteable.Ref, want bool) error {
	n, err := db.InsertRow(ctx, s.DB, "commit_participants", db.Values{
		"project_id": of.Project, "commit_id": of.Commit, "user_id": user, "mentioned": false, "subscribed": want,
	}, "ON CONFLICT (project_id, commit_id, user_id) DO UPDATE SET subscribed = excluded.subscribed WHERE commit_participants.subscribed IS NULL OR commit_participants.subscribed <> excluded.subscribed")
	if err != nil {
		return fmt.Errorf("change subscription to commit: %w", err)
	}
	if n == 0 {
		return errs.New(errs.NotModified, "")
	}
	return nil
}

// mentionOnCommit writes down who was mentioned in a comment on a commit, in the caller's transaction.
func (s *Service) mentionOnCommit(ctx context.Context, of noteable.Ref, users []authz.UserID) error {
	const row = "(?, ?, ?, ?)"
	args := make([]any, 0, 4*len(users))
	for _, id := range users {
		args = append(args, of.Project, of.Commit, id, true)
	}
	_, err := s.DB.Exec(ctx, "INSERT INTO commit_participants (project_id, commit_id, user_id, mentioned) VALUES "+
		strings.Repeat(row+", ", len(users)-1)+row+" ON CONFLICT (project_id, commit_id, user_id) DO UPDATE SET mentioned = excluded.mentioned", args...)
	if err != nil {
		return fmt.Errorf("write mentions on commit: %w", err)
	}
	return nil
}
