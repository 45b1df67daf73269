package token

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies an access token of any kind.
type ID int64

// Kind says what an access token stands for.
type Kind string

// The kinds of access tokens. Project and group tokens act as bots of their own; a deploy
// token acts as no user, and is read as a DeployToken.
const (
	Personal      Kind = "personal"
	Impersonation Kind = "impersonation"
	Project       Kind = "project"
	Group         Kind = "group"
	deployToken   Kind = "deploy"
)

// Token is an access token as it is kept: without its secret.
type Token struct {
	ID          ID           `db:"id"`
	Kind        Kind         `db:"kind"`
	UserID      authz.UserID `db:"user_id"`
	Name        string       `db:"name"`
	Description *string      `db:"description"`
	ScopeText   string       `db:"scopes"` // see Scopes
	Revoked     bool         `db:"revoked"`
	ExpiresOn   *string      `db:"expires_on"` // YYYY-MM-DD, the first day on which it is of no use; nil is never
	FamilyID    *ID          `db:"family_id"`  // the first token of a chain of rotations, nil for that one
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
func (t *Token) family() ID {
	if t.FamilyID != nil {
		return *t.FamilyID
	}
	return t.ID
}

// tokenRow is a token as the table has it.
type tokenRow struct {
	Token
	NameFold string `db:"name_fold"`
	Digest   string `db:"digest"`
}

// token makes a token that is not kept yet; it never expires.
func (s *Service) token(kind Kind, user authz.UserID, name string, scopes authz.Scopes) Token {
	now := db.At(s.Now())
	return Token{Kind: kind, UserID: user, Name: name, ScopeText: scopes.String(), CreatedAt: now, UpdatedAt: now}
}

// keep stores a token under the digest of its secret, in the caller's transaction.
func (s *Service) keep(ctx context.Context, as authz.Actor, t Token, key string, bounds ...db.Bound) (Token, error) {
	row := tokenRow{t, db.Fold(t.Name), secret.Digest(key)}
	if err := db.Create(ctx, s.DB, "access_tokens", &row, bounds...); err != nil {
		return Token{}, fmt.Errorf("store token: %w", err)
	}
	err := s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), authz.Place{}, &row.Token)})
	return row.Token, err
}

// Good reports whether a token of any kind, deploy tokens too, is there and neither
// revoked nor past its last day. It asks for no permission.
func (s *Service) Good(ctx context.Context, id ID) (bool, error) {
	good, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM access_tokens WHERE id = ? AND NOT revoked AND (expires_on IS NULL OR expires_on > ?))",
		id, s.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return false, fmt.Errorf("look at token: %w", err)
	}
	return good, nil
}
