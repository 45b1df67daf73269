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
	"tenon/internal/core/change"
)

// LinkLife is how long a link to choose a password is good.
const LinkLife = 72 * time.Hour

// linkPrefix opens the secrets of links, so that a scanner of logs and texts knows them.
const linkPrefix = "tnlk-"

// linkRow is a link as the table has it.
type linkRow struct {
	UserID    authz.UserID `db:"user_id"`
	Digest    string       `db:"digest"`
	ExpiresAt db.Time      `db:"expires_at"`
	CreatedAt db.Time      `db:"created_at"`
}

// PasswordLink makes the secret of a link with which a person chooses a password once,
// until LinkLife has passed; one that was made before ends. Only administrators may. The
// secret is not kept. A bot has no password: it is Invalid.
func (s *Service) PasswordLink(ctx context.Context, as authz.Actor, id authz.UserID) (key string, expires time.Time, err error) {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return "", time.Time{}, err
	case !u.Person():
		return "", time.Time{}, errs.Plain("Only people have passwords")
	}
	now := s.Now()
	key, expires = secret.NewToken(linkPrefix), now.Add(LinkLife)
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.InsertRow(ctx, s.DB, "password_links", linkRow{id, secret.Digest(key), db.At(expires), db.At(now)},
			"ON CONFLICT (user_id) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at, created_at = excluded.created_at")
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, PasswordLinked{change.About(as, now, authz.Place{}, u)})
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make password link: %w", err)
	}
	return key, expires, nil
}

// errNoLink is the one answer to links that are unknown, used or expired.
var errNoLink = errs.Missing("Link")

// LinkedUser returns the user whose password a link sets, by its secret. A link that is
// unknown, was used or is too old is NotFound.
func (s *Service) LinkedUser(ctx context.Context, key string) (*User, error) {
	id, err := s.linked(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, "u.id = ?", id)
}

// linked returns the user of a link that is good.
func (s *Service) linked(ctx context.Context, key string) (authz.UserID, error) {
	if key == "" || len(key) > secret.MaxToken {
		return 0, errNoLink
	}
	id, err := db.Get[authz.UserID](ctx, s.DB, "SELECT user_id FROM password_links WHERE digest = ? AND expires_at > ?", secret.Digest(key), s.Now())
	if errors.Is(err, db.ErrNotFound) {
		return 0, errNoLink
	}
	if err != nil {
		return 0, fmt.Errorf("read password link: %w", err)
	}
	return id, nil
}

// UseLink gives the user of a link, who asks from an address, a password and ends the link. What is wrong with the
// password is Invalid with a map, and the link stays good.
func (s *Service) UseLink(ctx context.Context, key, password, from string) error {
	u, err := s.LinkedUser(ctx, key)
	if err != nil {
		return err
	}
	var f errs.Fields
	checkPassword(&f, s.Settings.Current(), password, u.Username, u.Name, u.Email)
	if err := f.Err(); err != nil {
		return err
	}
	hash, err := s.Hasher.Hash(ctx, password)
	if err != nil {
		return fmt.Errorf("hash password: %w", err)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := s.DB.Exec(ctx, "DELETE FROM password_links WHERE user_id = ? AND digest = ?", u.ID, secret.Digest(key))
		if err != nil {
			return err
		}
		if n == 0 {
			return errNoLink // used meanwhile
		}
		return s.setPassword(ctx, u.from(from), u.ID, hash, func(*userRow) error { return nil })
	})
	return errs.Wrap(err, "use password link")
}

// dropLink ends the link of a user whose password changes.
func (s *Service) dropLink(ctx context.Context, id authz.UserID) error {
	_, err := s.DB.Exec(ctx, "DELETE FROM password_links WHERE user_id = ?", id)
	return err
}
