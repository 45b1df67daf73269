package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Why a known token is refused. Each is the cause of an Unauthorized error.
var (
	ErrExpired         = errors.New("token is expired")
	ErrRevoked         = errors.New("token was revoked")
	ErrNoImpersonation = errors.New("impersonation is off")
)

// bearer is a token together with what decides whether its user may act.
type bearer struct {
	Token
	user account.Standing
	at   time.Time // when it was read
}

// Authenticate returns the actor that a token's secret stands for. An unknown secret is
// Unauthorized, and so are tokens refused for one of the reasons above; a user who may
// not act is Forbidden with the reason. It may be ten seconds behind another process.
func (s *Service) Authenticate(ctx context.Context, key string) (authz.Actor, Token, error) {
	if key == "" || len(key) > secret.MaxToken {
		return authz.Actor{}, Token{}, errs.New(errs.Unauthorized, "")
	}
	digest, now := secret.Digest(key), s.Now()
	b := s.cache.get(digest, now)
	if b == nil {
		seen := s.cache.generation()
		var err error
		if b, err = s.bearer(ctx, digest); err != nil {
			return authz.Actor{}, Token{}, err
		}
		b.at = now
		s.cache.put(digest, b, seen)
	}
	if err := s.judge(b, now); err != nil {
		return authz.Actor{}, Token{}, err
	}
	s.used.Note(b.ID, now)
	s.Accounts.NoteActive(b.UserID, now)
	return authz.Actor{
		UserID: b.UserID, Username: b.user.Username, Admin: b.user.Admin, Auditor: b.user.Auditor,
		External: b.user.External, Bot: b.user.Type != account.Human, TokenID: int64(b.ID), Scopes: b.Scopes(),
	}, b.Token, nil
}

// bearer reads the token with this digest and its user.
func (s *Service) bearer(ctx context.Context, digest string) (*bearer, error) {
	type row struct {
		Token
		account.Standing
	}
	r, err := db.Get[row](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+", "+account.StandingColumns+`
		FROM access_tokens t JOIN users u ON u.id = t.user_id
		LEFT JOIN emails e ON e.user_id = u.id AND e.is_primary
		WHERE t.digest = ?`, digest)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return &bearer{Token: r.Token, user: r.Standing}, nil
}

// judge says why the bearer may not act, nil where it may.
func (s *Service) judge(b *bearer, now time.Time) error {
	switch {
	case b.Revoked:
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrRevoked}
	case b.Expired(now):
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrExpired}
	case b.Kind == Impersonation && s.NoImpersonation:
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrNoImpersonation}
	case b.Kind == Personal && !b.user.Admin && s.Settings.Current().DisablePersonalAccessTokens:
		return errs.Denied(messageDisabled) // administrators turn it off again with theirs
	}
	return s.Accounts.Barred(&b.user)
}
