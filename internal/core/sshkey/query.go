package sshkey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

const tables = "ssh_keys k LEFT JOIN users u ON u.id = k.user_id"

func keyColumns() string {
	return db.Columns[Key]("k") + ", COALESCE(u.name, '') AS owner_name, COALESCE(u.username, '') AS owner_username"
}

// load reads one key or answers that there is none.
func (s *Service) load(ctx context.Context, condition string, args ...any) (*Key, error) {
	k, err := db.Get[Key](ctx, s.DB, "SELECT "+keyColumns()+" FROM "+tables+" WHERE "+condition, args...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Key")
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return s.refreshed(&k), nil
}

// ListOwn returns the actor's own keys, oldest first.
func (s *Service) ListOwn(ctx context.Context, as authz.Actor, r page.Range) (page.Page[*Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return page.Page[*Key]{}, err
	}
	return s.list(ctx, as.UserID, r)
}

// None reports whether the actor has no key to sign on with.
func (s *Service) None(ctx context.Context, as authz.Actor) (bool, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return false, err
	}
	some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM ssh_keys WHERE user_id = ? AND kind = ? AND usage_type <> ?)", as.UserID, UserKey, Signing)
	if err != nil {
		return false, fmt.Errorf("look for keys: %w", err)
	}
	return !some, nil
}

// FindOwn returns one of the actor's own keys.
func (s *Service) FindOwn(ctx context.Context, as authz.Actor, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ? AND k.user_id = ? AND k.kind = ?", id, as.UserID, UserKey)
}

// List returns the keys of the user with this number or username, to anybody.
func (s *Service) List(ctx context.Context, as authz.Actor, user string, r page.Range) (page.Page[*Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserKeys, authz.Subject{}); err != nil {
		return page.Page[*Key]{}, err
	}
	if s.Accounts.Hidden(as) {
		return page.Page[*Key]{}, errs.Missing("User")
	}
	id, err := s.owner(ctx, user)
	if err != nil {
		return page.Page[*Key]{}, err
	}
	return s.list(ctx, id, r)
}

// Find returns one of the keys of the user with this number or username, to anybody.
func (s *Service) Find(ctx context.Context, as authz.Actor, user string, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserKeys, authz.Subject{}); err != nil {
		return nil, err
	}
	if s.Accounts.Hidden(as) {
		return nil, errs.Missing("User")
	}
	owner, err := s.owner(ctx, user)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ? AND k.user_id = ? AND k.kind = ?", id, owner, UserKey)
}

// ByID returns a key of any kind. Only administrators may.
func (s *Service) ByID(ctx context.Context, as authz.Actor, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.LookUpKey, authz.Subject{}); err != nil {
		return nil, err
	}
	k, err := s.load(ctx, "k.id = ?", id)
	if errs.Is(err, errs.NotFound) {
		return nil, errs.Missing("")
	}
	return k, err
}

// ByFingerprint returns the key with this fingerprint, of the form SHA256:base64 or of
// sixteen pairs of digits. Only administrators may. A fingerprint of neither form is
// Invalid.
func (s *Service) ByFingerprint(ctx context.Context, as authz.Actor, fingerprint string) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.LookUpKey, authz.Subject{}); err != nil {
		return nil, err
	}
	column, value, ok := readFingerprint(fingerprint)
	if !ok {
		return nil, errs.Plain("Failed to return the key")
	}
	return s.load(ctx, "k."+column+" = ? ORDER BY k.id LIMIT 1", value)
}

func (s *Service) list(ctx context.Context, user authz.UserID, r page.Range) (page.Page[*Key], error) {
	var w db.Where
	w.And("k.user_id = ? AND k.kind = ?", user, UserKey)
	return s.page(ctx, w, r)
}

// page reads a page of keys k by id.
func (s *Service) page(ctx context.Context, w db.Where, r page.Range) (page.Page[*Key], error) {
	list, err := page.Select[Key](ctx, s.DB, page.Query{Columns: keyColumns(), From: tables, Where: w, Order: page.Order{page.ID("k.id")}}, r)
	if err != nil {
		return page.Page[*Key]{}, fmt.Errorf("list keys: %w", err)
	}
	return page.With(list, s.refreshedAll(list.Items)), nil
}

// owner finds a user by number or username.
func (s *Service) owner(ctx context.Context, ref string) (authz.UserID, error) {
	condition, arg := "username_fold = ?", any(db.Fold(ref))
	if digits := strings.TrimPrefix(ref, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			n = 0 // beyond every number there is
		}
		condition, arg = "id = ?", any(authz.UserID(n))
	}
	id, err := db.Get[authz.UserID](ctx, s.DB, "SELECT id FROM users WHERE "+condition, arg)
	if errors.Is(err, db.ErrNotFound) {
		return 0, errs.Missing("User")
	}
	if err != nil {
		return 0, fmt.Errorf("find user: %w", err)
	}
	return id, nil
}

// known answers NotFound where there is no such user.
func (s *Service) known(ctx context.Context, id authz.UserID) error {
	_, err := s.owner(ctx, strconv.FormatInt(int64(id), 10))
	return err
}
