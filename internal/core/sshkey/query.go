package sshkey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

const tables = `ssh_keys k LEFT JOIN users u ON u.id = k.user_id`

func keyColumns() string { return db.Columns[Key]("k") + ", COALESCE(u.name, '') AS owner_name" }

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

// Page is a part of a list of keys.
type Page struct {
	Keys  []*Key
	Total int
}

// ListOwn gives the actor's own keys, oldest first; a limit of zero is 20.
func (s *Service) ListOwn(ctx context.Context, as authz.Actor, limit, offset int) (*Page, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.list(ctx, as.UserID, limit, offset)
}

// FindOwn gives one of the actor's own keys.
func (s *Service) FindOwn(ctx context.Context, as authz.Actor, id ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ? AND k.user_id = ? AND k.kind = ?", id, as.UserID, UserKey)
}

// List gives the keys of the user with this number or username, to anybody.
func (s *Service) List(ctx context.Context, as authz.Actor, user string, limit, offset int) (*Page, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserKeys, authz.Subject{}); err != nil {
		return nil, err
	}
	if s.Accounts.Hidden(as) {
		return nil, errs.Missing("User")
	}
	id, err := s.owner(ctx, user)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, id, limit, offset)
}

// Find gives one of the keys of the user with this number or username, to anybody.
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

// ByID gives a key of any kind. Only administrators may.
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

// ByFingerprint gives the key with this fingerprint, of the form SHA256:base64 or of
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

func (s *Service) list(ctx context.Context, user authz.UserID, limit, offset int) (*Page, error) {
	if limit <= 0 {
		limit = 20
	}
	total, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM ssh_keys WHERE user_id = ? AND kind = ?", user, UserKey)
	if err != nil {
		return nil, fmt.Errorf("count keys: %w", err)
	}
	rows, err := db.Select[Key](ctx, s.DB, "SELECT "+keyColumns()+" FROM "+tables+
		" WHERE k.user_id = ? AND k.kind = ? ORDER BY k.id LIMIT ? OFFSET ?", user, UserKey, limit, offset)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return &Page{Total: total, Keys: s.refreshedAll(rows)}, nil
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
