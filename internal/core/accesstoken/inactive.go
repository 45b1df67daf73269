package accesstoken

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

// Inactive asks for bots without an active token to be deleted, after the time that the settings say.
type Inactive struct{}

// Kind names the job.
func (Inactive) Kind() string { return "delete_inactive_token_bots" }

// mostInactive is how many bots one job deletes.
const mostInactive = 1000

// RegisterJobs says how bots without an active token are deleted.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.DeleteInactive, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, 24*time.Hour, Inactive{})
}

// DeleteInactive does the job: it deletes the bots of projects and groups whose tokens are all revoked or expired for so many days.
// What a bot made goes to the ghost.
func (s *Service) DeleteInactive(ctx context.Context, _ Inactive) error {
	since := s.Now().UTC().AddDate(0, 0, -s.Settings.Current().InactiveResourceAccessTokensDeleteAfterDays)
	ids, err := db.Select[authz.UserID](ctx, s.DB, `SELECT u.id FROM users u WHERE u.user_type = ? AND u.state = ? AND u.created_at < ?
		AND EXISTS (SELECT 1 FROM access_tokens t WHERE t.user_id = u.id AND t.kind IN (?, ?))
		AND NOT EXISTS (SELECT 1 FROM access_tokens t WHERE t.user_id = u.id AND NOT (t.revoked AND t.updated_at < ?)
			AND (t.expires_on IS NULL OR t.expires_on > ?))
		ORDER BY u.id LIMIT ?`,
		account.Bot, account.Active, db.At(since), token.Project, token.Group, db.At(since), since.Format(time.DateOnly), mostInactive)
	if err != nil {
		return fmt.Errorf("find bots without an active token: %w", err)
	}
	for _, id := range ids {
		err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.Accounts.RetireBot(ctx, authz.System(), id) })
		if err != nil {
			return fmt.Errorf("delete bot %d: %w", id, err)
		}
	}
	return nil
}
