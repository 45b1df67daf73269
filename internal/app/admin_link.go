package app

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/core/authz"
)

// AdminUserLink is the command that makes a link with which a user chooses a password.
const AdminUserLink = "user link"

// AdminLink is a link as "tenon admin" shows it.
type AdminLink struct {
	AdminUser
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// adminUserLink makes a link to choose a password once; the operator hands it over.
func (a *App) adminUserLink(ctx context.Context, in UserRef, _ func(string)) (AdminLink, error) {
	who, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return AdminLink{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	key, expires, err := a.core.Accounts.PasswordLink(ctx, authz.System(), who.UserID)
	if err != nil {
		return AdminLink{}, fmt.Errorf("make link for %q: %w", in.User, err)
	}
	u, err := a.core.Accounts.Find(ctx, authz.System(), who.UserID)
	if err != nil {
		return AdminLink{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	shown, err := a.shownOne(ctx, u)
	if err != nil {
		return AdminLink{}, err
	}
	return AdminLink{AdminUser: shown, URL: a.core.URLs.ChoosePassword(key), ExpiresAt: expires.UTC()}, nil
}
