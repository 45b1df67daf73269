package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// Why a known token is refused. Each is the cause of an Unauthorized error.
var (
	ErrTokenExpired       = errors.New("token is expired")
	ErrTokenRevoked       = errors.New("token was revoked")
	ErrTokenImpersonation = errors.New("impersonation is off")
)

// maxSecret is the longest secret that is looked up, in bytes.
const maxSecret = 512

// bearer is a token together with what decides whether its user may act.
type bearer struct {
	Token
	user standing
	at   time.Time // when it was read
}

// standing is the part of a user that every request needs.
type standing struct {
	Username        string  `db:"username"`
	State           State   `db:"state"`
	Type            Type    `db:"user_type"`
	Admin           bool    `db:"admin"`
	Auditor         bool    `db:"auditor"`
	External        bool    `db:"external"`
	PasswordExpired bool    `db:"password_expired"`
	Confirmed       bool    `db:"confirmed"`
	LastActivityOn  *string `db:"last_activity_on"`
}

const standingColumns = `u.username, u.state, u.user_type, u.admin, u.auditor, u.external, u.password_expired,
	u.last_activity_on, (e.confirmed_at IS NOT NULL OR e.id IS NULL) AS confirmed`

// Authenticate gives the actor that a token's secret stands for. An unknown secret is
// Unauthorized, and so are tokens refused for one of the reasons above; a user who may
// not act is Forbidden with the reason. It may be ten seconds behind another process.
func (s *Service) Authenticate(ctx context.Context, key string) (authz.Actor, Token, error) {
	if key == "" || len(key) > maxSecret {
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
	s.usage.note(b.ID, b.UserID, now)
	return authz.Actor{
		UserID: b.UserID, Username: b.user.Username, Admin: b.user.Admin, Auditor: b.user.Auditor,
		External: b.user.External, Bot: b.user.Type != Human, TokenID: int64(b.ID), Scopes: b.Scopes(),
	}, b.Token, nil
}

// bearer reads the token with this digest and its user.
func (s *Service) bearer(ctx context.Context, digest string) (*bearer, error) {
	type row struct {
		Token
		standing
	}
	r, err := db.Get[row](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+", "+standingColumns+`
		FROM access_tokens t JOIN users u ON u.id = t.user_id
		LEFT JOIN emails e ON e.user_id = u.id AND e.is_primary
		WHERE t.digest = ?`, digest)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return &bearer{Token: r.Token, user: r.standing}, nil
}

// judge says why the bearer may not act, nil where it may.
func (s *Service) judge(b *bearer, now time.Time) error {
	switch {
	case b.Revoked:
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrTokenRevoked}
	case b.Expired(now):
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrTokenExpired}
	case b.Kind == ImpersonationToken && s.NoImpersonation:
		return &errs.Error{Kind: errs.Unauthorized, Err: ErrTokenImpersonation}
	}
	return s.barred(&b.user)
}

// barred says why an account may not act at all.
func (s *Service) barred(a *standing) error {
	switch {
	case a.Type == Internal || a.Type == Ghost:
		return errs.Denied("This action cannot be performed by internal users")
	case a.State == PendingApproval:
		return errs.Denied("Your account is pending approval from your administrator and hence blocked.")
	case a.State == Deactivated:
		return errs.Denied("Your account has been deactivated by your administrator. " +
			"Please log back in from a web browser to reactivate your account at " + s.URLs.Root())
	case a.State != Active:
		return errs.Denied("Your account has been blocked.")
	case !a.Confirmed && a.Type == Human && s.Settings.Current().EmailConfirmationSetting == "hard":
		return errs.Denied("Your primary email address is not confirmed. " +
			"Follow the link in the message sent to it, or ask for another one at " + s.URLs.Confirmation())
	case a.PasswordExpired && a.Type == Human:
		return errs.Denied("Your password expired. Please access GitLab from a web browser to update your password.")
	}
	return nil
}
