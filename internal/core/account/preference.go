package account

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Preferences are changes of what the actor likes; nil leaves alone.
type Preferences struct {
	FileByFile     *bool `db:"view_diffs_file_by_file"`
	ShowWhitespace *bool `db:"show_whitespace_in_diffs"`
	PassIdentities *bool `db:"pass_user_identities_to_ci_jwt"`
}

// Prefer changes the actor's own preferences and gives the account.
func (s *Service) Prefer(ctx context.Context, as authz.Actor, p Preferences) (*User, error) {
	if err := s.policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{}); err != nil {
		return nil, err
	}
	row := s.userAt(as.UserID)
	row.Now = nil
	_, err := db.Update(ctx, s.db, row, func(_ context.Context, u *userRow) error {
		db.Assign(u, &p)
		return as.UnmodifiedAt(u.UpdatedAt.Time)
	})
	if err != nil {
		return nil, fmt.Errorf("change preferences: %w", err)
	}
	return s.load(ctx, "u.id = ?", as.UserID)
}
