package gpgkey

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// load reads one key or answers that there is none.
func (s *Service) load(ctx context.Context, condition string, args ...any) (*Key, error) {
	k, err := db.Get[Key](ctx, s.DB, "SELECT "+db.Columns[Key]("k")+" FROM gpg_keys k WHERE "+condition, args...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("GPG Key")
	}
	if err != nil {
		return nil, fmt.Errorf("read OpenPGP key: %w", err)
	}
	return &k, nil
}

// known asks for the right to a user's keys and answers NotFound where there is no such user.
func (s *Service) known(ctx context.Context, as authz.Actor, user authz.UserID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return err
	}
	known, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", user)
	if err != nil {
		return fmt.Errorf("look for user: %w", err)
	}
	if !known {
		return errs.Missing("User")
	}
	return nil
}

// ListOwn returns the actor's own keys, oldest first.
func (s *Service) ListOwn(ctx context.Context, as authz.Actor, r page.Range) (page.Page[Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return page.Page[Key]{}, err
	}
	return s.list(ctx, as.UserID, r)
}

// FindOwn returns one of the actor's own keys.
func (s *Service) FindOwn(ctx context.Context, as authz.Actor, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ? AND k.user_id = ?", id, as.UserID)
}

// List returns the keys of the user with this number or username, to anybody.
func (s *Service) List(ctx context.Context, as authz.Actor, user string, r page.Range) (page.Page[Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserKeys, authz.Subject{}); err != nil {
		return page.Page[Key]{}, err
	}
	if s.Accounts.Hidden(as) {
		return page.Page[Key]{}, errs.Missing("User")
	}
	owner, err := s.Accounts.ActorFor(ctx, user)
	if err != nil {
		return page.Page[Key]{}, err
	}
	return s.list(ctx, owner.UserID, r)
}

// Find returns one of the keys of the user with this number or username, to anybody.
func (s *Service) Find(ctx context.Context, as authz.Actor, user string, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserKeys, authz.Subject{}); err != nil {
		return nil, err
	}
	if s.Accounts.Hidden(as) {
		return nil, errs.Missing("User")
	}
	owner, err := s.Accounts.ActorFor(ctx, user)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ? AND k.user_id = ?", id, owner.UserID)
}

func (s *Service) list(ctx context.Context, user authz.UserID, r page.Range) (page.Page[Key], error) {
	q := page.Query{Columns: db.Columns[Key]("k"), From: "gpg_keys k", Order: page.Order{page.ID("k.id")}}
	q.Where.And("k.user_id = ?", user)
	list, err := page.Select[Key](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list OpenPGP keys: %w", err)
	}
	return list, nil
}

// Signer is a key together with the part of it that signed.
type Signer struct {
	Key
	SubkeyID *int64 `db:"subkey_id"` // nil where the primary key signed
}

// ByKeyID returns the keys with an id of sixteen digits, as the primary one or as a subkey.
// There is hardly ever more than one; a caller who verifies tries all. It asks for no
// permission: a user who reads a signature may know whose it is.
func (s *Service) ByKeyID(ctx context.Context, keyID string) ([]Signer, error) {
	list, err := db.Select[Signer](ctx, s.DB, "SELECT "+db.Columns[Key]("k")+`, p.id AS subkey_id FROM gpg_keys k
		LEFT JOIN gpg_subkeys p ON p.gpg_key_id = k.id AND p.key_id = ?
		WHERE k.key_id = ? OR k.id IN (SELECT o.gpg_key_id FROM gpg_subkeys o WHERE o.key_id = ?) ORDER BY k.id LIMIT 10`,
		keyID, keyID, keyID)
	if err != nil {
		return nil, fmt.Errorf("look for OpenPGP key: %w", err)
	}
	return list, nil
}
