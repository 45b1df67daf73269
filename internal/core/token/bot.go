package token

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// BotInput is a bot that acts for one access token.
type BotInput struct {
	Prefix string // of the username, "project_7_bot_"
	Kind   Kind
	Input
}

// CheckBotToken refuses what cannot be the token of a bot with a BadRequest, and trims
// its name. A token may expire today: it is of no use from the beginning then.
func (s *Service) CheckBotToken(in *Input) error {
	if err := s.checkToken(in); err != nil {
		return errs.Bad(err.Error())
	}
	if in.ExpiresOn != nil && *in.ExpiresOn < s.Now().UTC().Format(time.DateOnly) {
		return errs.Bad("Expires at cannot be a date in the past")
	}
	return nil
}

// CreateBot makes a bot with an access token, in the caller's transaction. The second
// result is the secret. It validates nothing and asks for no permission.
func (s *Service) CreateBot(ctx context.Context, as authz.Actor, in BotInput) (*Token, string, error) {
	t := s.token(in.Kind, 0, in.Name, in.Scopes)
	t.Description, t.ExpiresOn = in.Description, in.ExpiresOn
	key := s.newSecret()
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if t.UserID, err = s.Accounts.CreateBot(ctx, as, in.Prefix, in.Name); err != nil {
			return err
		}
		kept, err := s.keep(ctx, as, t, key)
		t.ID = kept.ID
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return &t, key, nil
}

// RotateBotToken is Rotate for the token of a bot. It asks for no permission.
func (s *Service) RotateBotToken(ctx context.Context, as authz.Actor, old *Token, day *string) (*Token, string, error) {
	return s.rotate(ctx, as, old, day)
}

// RetireBots is RetireBot for all whose usernames begin so.
func (s *Service) RetireBots(ctx context.Context, as authz.Actor, prefix string) error {
	ids, err := s.Accounts.Bots(ctx, prefix)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.RetireBot(ctx, as, id); err != nil {
			return err
		}
	}
	return nil
}

// RetireBot makes all tokens of a bot useless, bars it and enqueues the end of its
// account, in the caller's transaction: what it made goes to the ghost. It asks for no
// permission.
func (s *Service) RetireBot(ctx context.Context, as authz.Actor, id authz.UserID) error {
	tokens, err := db.Select[Token](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+" FROM access_tokens t WHERE t.user_id = ? AND NOT t.revoked ORDER BY t.id", id)
	if err != nil {
		return fmt.Errorf("tokens of bot: %w", err)
	}
	for i := range tokens {
		if _, err := s.revoke(ctx, as, &tokens[i]); err != nil {
			return fmt.Errorf("revoke token of bot: %w", err)
		}
	}
	return s.Accounts.RetireBot(ctx, as, id)
}

// Refresh puts the last use of a token in that is not written down yet.
func (s *Service) Refresh(t *Token) { s.refreshed(t) }
