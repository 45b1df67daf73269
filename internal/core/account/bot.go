package account

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// CreateBot makes a bot, in the caller's transaction, whose username begins with a prefix
// such as "project_7_bot_". It may see no more than its maker, and no user can sign on as it
// with a password. It validates nothing and asks for no permission.
func (s *Service) CreateBot(ctx context.Context, as authz.Actor, prefix, name string) (authz.UserID, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return 0, fmt.Errorf("name of bot: %w", err)
	}
	none, no := int64(0), false
	user := Input{Username: prefix + hex.EncodeToString(random), Name: name, ProjectsLimit: &none, CanCreateGroup: &no, External: &as.External}
	user.Email = user.Username + "@noreply." + s.URLs.Host()
	row := s.row(as, &user)
	row.Type = Bot
	if err := db.Create(ctx, s.DB, "users", row); err != nil {
		return 0, fmt.Errorf("create bot: %w", err)
	}
	mail := emailRow{
		UserID: row.ID, Email: user.Email, EmailFold: db.Fold(user.Email), Primary: true, ConfirmedAt: &row.CreatedAt,
		CreatedAt: row.CreatedAt, UpdatedAt: row.CreatedAt,
	}
	if err := db.Create(ctx, s.DB, "emails", &mail); err != nil {
		return 0, fmt.Errorf("create bot: %w", err)
	}
	if err := s.settle(ctx, row.ID, user.Username, name); err != nil {
		return 0, fmt.Errorf("create bot: %w", err)
	}
	return row.ID, nil
}

// Bots returns the bots whose usernames begin with a prefix.
func (s *Service) Bots(ctx context.Context, prefix string) ([]authz.UserID, error) {
	after := prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
	ids, err := db.Select[authz.UserID](ctx, s.DB, "SELECT id FROM users WHERE user_type = ? AND username_fold >= ? AND username_fold < ? ORDER BY id",
		Bot, prefix, after)
	if err != nil {
		return nil, fmt.Errorf("find bots: %w", err)
	}
	return ids, nil
}

// RetireBot bars a bot and enqueues the end of its account, in the caller's transaction:
// what it made goes to the ghost. It asks for no permission.
func (s *Service) RetireBot(ctx context.Context, as authz.Actor, id authz.UserID) error {
	_, err := s.change(ctx, s.userAt(id), func(_ context.Context, row *userRow) error {
		if row.Type == Bot {
			row.State = Blocked
		}
		return nil
	})
	if err != nil && !errs.Is(err, errs.NotFound) {
		return fmt.Errorf("bar bot: %w", err)
	}
	return s.Jobs.Enqueue(ctx, Departure{UserID: id, By: as.UserID})
}
