package account

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// TokenID identifies an access token of any kind.
type TokenID int64

// Kind says what an access token stands for.
type Kind string

// The kinds of access tokens. Project and group tokens act as bots of their own.
const (
	PersonalToken      Kind = "personal"
	ImpersonationToken Kind = "impersonation"
	ProjectToken       Kind = "project"
	GroupToken         Kind = "group"
)

// Token is an access token as it is kept: without its secret.
type Token struct {
	ID          TokenID      `db:"id"`
	Kind        Kind         `db:"kind"`
	UserID      authz.UserID `db:"user_id"`
	Name        string       `db:"name"`
	Description *string      `db:"description"`
	ScopeText   string       `db:"scopes"` // see Scopes
	Revoked     bool         `db:"revoked"`
	ExpiresOn   *string      `db:"expires_on"` // YYYY-MM-DD, the first day on which it is of no use; nil is never
	FamilyID    *TokenID     `db:"family_id"`  // the first token of a chain of rotations, nil for that one
	LastUsedAt  *db.Time     `db:"last_used_at"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// Scopes is what the token permits.
func (t *Token) Scopes() authz.Scopes { return authz.ParseScopes(t.ScopeText) }

// Expired reports whether the token's last day is past.
func (t *Token) Expired(now time.Time) bool {
	return t.ExpiresOn != nil && *t.ExpiresOn <= now.UTC().Format(time.DateOnly)
}

// Active reports whether the token may be used.
func (t *Token) Active(now time.Time) bool { return !t.Revoked && !t.Expired(now) }

// family is the id that the whole chain of rotations shares.
func (t *Token) family() TokenID {
	if t.FamilyID != nil {
		return *t.FamilyID
	}
	return t.ID
}
