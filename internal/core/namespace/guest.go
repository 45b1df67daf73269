package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// RequireMoreThanGuest refuses, where the settings say so, users who are Guests at most wherever they are members: they make no
// groups and no projects of their own. It asks nothing of administrators.
func (s *Service) RequireMoreThanGuest(ctx context.Context, as authz.Actor) error {
	if as.Admin || s.Settings.Current().AllowProjectCreationForGuestAndBelow {
		return nil
	}
	more, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM members m JOIN namespaces n ON n.id = m.namespace_id AND n.kind <> 'user'
		WHERE m.user_id = ? AND m.access_level > ? AND (m.expires_on IS NULL OR m.expires_on > ?))`, as.UserID, authz.Guest, s.today())
	if err != nil {
		return fmt.Errorf("read the highest role of a user: %w", err)
	}
	if !more {
		return errs.Denied("")
	}
	return nil
}
