package sshkey

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Recognize returns the key with this fingerprint (SHA256:base64) where it is good for
// signing on, expired or not; otherwise it is Unauthorized. A user who asks has not proved
// anything yet.
func (s *Service) Recognize(ctx context.Context, key ssh.PublicKey) (ID, error) {
	id, err := db.Get[ID](ctx, s.DB, "SELECT id FROM ssh_keys WHERE fingerprint_sha256 = ? AND usage_type <> ?",
		ssh.FingerprintSHA256(key), Signing)
	if errors.Is(err, db.ErrNotFound) {
		return 0, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return 0, fmt.Errorf("look for key: %w", err)
	}
	return id, nil
}

// SignOn returns the actor behind a key that has proved itself, and notes its use: a
// user, or the deploy key itself. A key that is gone is Unauthorized; one that expired or is
// of a kind that the settings forbid, and a user who may not act, are Forbidden with the
// reason.
func (s *Service) SignOn(ctx context.Context, id ID) (authz.Actor, error) {
	k, err := s.load(ctx, "k.id = ? AND k.usage_type <> ?", id, Signing)
	switch {
	case errs.Is(err, errs.NotFound):
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	case err != nil:
		return authz.Actor{}, err
	}
	now := s.Now()
	if k.Expired(now) {
		return authz.Actor{}, errs.Denied("Your SSH key has expired.")
	}
	if problem := s.restriction(k); problem != "" {
		return authz.Actor{}, errs.Denied("Your SSH key " + problem + ".")
	}
	as := authz.Actor{Deploy: authz.Deploy{KeyID: int64(id)}}
	if k.Kind == UserKey {
		if as, err = s.Accounts.Admit(ctx, *k.UserID); err != nil {
			return authz.Actor{}, err
		}
	}
	s.used.Note(id, now)
	return as, nil
}

// restriction says what the settings have against a key that was good when it was added, ""
// for nothing.
func (s *Service) restriction(k *Key) string {
	p, err := parse(k.PublicKey)
	if err != nil {
		return "is invalid"
	}
	var f errs.Fields
	p.check(&f, s.Settings.Current())
	if len(f) == 0 {
		return ""
	}
	return f[0].Messages[0]
}

// Good reports whether a key is there, signs people on and has not expired. It asks for no
// permission.
func (s *Service) Good(ctx context.Context, id ID) (bool, error) {
	good, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM ssh_keys WHERE id = ? AND usage_type <> ? AND (expires_at IS NULL OR expires_at > ?))",
		id, Signing, s.Now())
	if err != nil {
		return false, fmt.Errorf("look at key: %w", err)
	}
	return good, nil
}

// ForSigning returns the user's key with a fingerprint (SHA256:base64) that is good for
// signing commits, expired or not; otherwise it is NotFound. It asks for no permission:
// a user who reads a signature may know whose it is.
func (s *Service) ForSigning(ctx context.Context, fingerprint string) (*Key, error) {
	return s.load(ctx, "k.fingerprint_sha256 = ? AND k.kind = ? AND k.usage_type <> ?", fingerprint, UserKey, Auth)
}
