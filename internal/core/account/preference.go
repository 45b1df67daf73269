package account

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Preferences are changes of what the actor likes; nil leaves alone.
type Preferences struct {
	FileByFile     *bool
	ShowWhitespace *bool
	PassIdentities *bool
}

// Prefer changes the actor's own preferences and gives the account.
func (s *Service) Prefer(ctx context.Context, as authz.Actor, p Preferences) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{}); err != nil {
		return nil, err
	}
	set := &db.Set{}
	put(set, "view_diffs_file_by_file", p.FileByFile)
	put(set, "show_whitespace_in_diffs", p.ShowWhitespace)
	put(set, "pass_user_identities_to_ci_jwt", p.PassIdentities)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM users WHERE id = ?", as.UserID); err != nil || set.Empty() {
			return err
		}
		_, err := s.DB.Exec(ctx, "UPDATE users"+set.SQL()+" WHERE id = ?", append(set.Args(), as.UserID)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change preferences: %w", err)
	}
	return s.load(ctx, "u.id = ?", as.UserID)
}
