package sshkey

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/lastuse"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Accounts *account.Service
	Now      func() time.Time
	Log      *slog.Logger // nil discards
}

// Service keeps keys. It is safe for concurrent use.
type Service struct {
	Deps

	used     lastuse.Times[ID]
	flushing lastuse.Loop
}

// New builds the service. Call Start to have the use of keys written down.
func New(d Deps) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Deps: d}
}

// Input is what a key is made of.
type Input struct {
	Title     string
	Key       string // one line as ssh-keygen writes it
	Usage     Usage  // "" is AuthAndSigning
	ExpiresAt *time.Time
}

const maxTitle = 255

// Create adds a key to the actor's own account, which is no bot's. Whatever is wrong with
// it is Invalid with a map.
func (s *Service) Create(ctx context.Context, as authz.Actor, in Input) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AddOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.create(ctx, as, as.UserID, in)
}

// CreateFor adds a key to a user's account. Only administrators may.
func (s *Service) CreateFor(ctx context.Context, as authz.Actor, user authz.UserID, in Input) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	if err := s.known(ctx, user); err != nil {
		return nil, err
	}
	return s.create(ctx, as, user, in)
}

func (s *Service) create(ctx context.Context, as authz.Actor, user authz.UserID, in Input) (*Key, error) {
	k, err := s.build(UserKey, in)
	if err != nil {
		return nil, err
	}
	k.UserID = &user
	var made *Key
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.insert(ctx, k); err != nil {
			return err
		}
		if made, err = s.load(ctx, "k.id = ?", k.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Added{change.Created(as, s.Now(), authz.Place{}, made)})
	})
	if db.Duplicate(err, "ssh_keys") { // another request was first
		return nil, ErrTaken()
	}
	if err != nil {
		return nil, fmt.Errorf("add key: %w", err)
	}
	return made, nil
}

// build makes a key that is not stored yet.
func (s *Service) build(kind Kind, in Input) (*Key, error) {
	now := db.At(s.Now())
	k := &Key{Kind: kind, Title: strings.TrimSpace(in.Title), Usage: in.Usage, CreatedAt: now, UpdatedAt: now}
	if k.Usage == "" {
		k.Usage = AuthAndSigning
	}
	if in.ExpiresAt != nil {
		at := db.At(*in.ExpiresAt)
		k.ExpiresAt = &at
	}
	return k, s.fill(k, in.Key)
}

// insert stores a key, in the caller's transaction. No two keys have one fingerprint,
// whatever their kinds.
func (s *Service) insert(ctx context.Context, k *Key) error {
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM ssh_keys WHERE fingerprint_sha256 = ?)", k.SHA256)
	if err != nil {
		return err
	}
	if taken {
		return ErrTaken()
	}
	return db.Create(ctx, s.DB, "ssh_keys", k)
}

// ErrTaken is what a key is refused with that a user has already.
func ErrTaken() error {
	var f errs.Fields
	f.Add("fingerprint_sha256", "has already been taken")
	return f.Err()
}

// fill reads the text of a key into k and collects everything that is wrong with k.
func (s *Service) fill(k *Key, text string) error {
	var f errs.Fields
	checkTitle(&f, k.Title)
	f.Check(!k.Expired(s.Now()), "key", "has expired")
	if k.Kind == UserKey {
		s.checkLifetime(&f, k)
	}
	switch p, err := parse(text); {
	case strings.TrimSpace(text) == "":
		f.Add("key", "can't be blank")
		f.Add("key", "is invalid")
		f.Add("fingerprint_sha256", "cannot be generated")
	case utf8.RuneCountInString(text) > maxText:
		f.Add("key", "is too long (maximum is 5000 characters)")
	case err != nil:
		f.Add("key", "is invalid")
		f.Add("fingerprint_sha256", "cannot be generated")
	default:
		p.check(&f, s.Settings.Current())
		k.PublicKey, k.Comment = p.line(), p.comment
		k.MD5, k.SHA256 = ssh.FingerprintLegacyMD5(p.key), ssh.FingerprintSHA256(p.key)
	}
	return f.Err()
}

func checkTitle(f *errs.Fields, title string) {
	f.Check(title != "", "title", "can't be blank")
	f.Check(utf8.RuneCountInString(title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
}

// checkLifetime holds a key of a user against the longest life that the settings allow.
func (s *Service) checkLifetime(f *errs.Fields, k *Key) {
	days := s.Settings.Current().MaxSSHKeyLifetime
	if days == nil || *days <= 0 {
		return
	}
	last := s.Now().AddDate(0, 0, *days)
	switch {
	case k.ExpiresAt == nil:
		f.Add("key", "has no expiration date but an expiration date is required for SSH keys on this instance. Contact the instance administrator.")
	case k.ExpiresAt.After(last):
		f.Add("key", "must expire before "+last.AddDate(0, 0, 1).UTC().Format(time.DateOnly))
	}
}

// Delete removes one of the actor's own keys.
func (s *Service) Delete(ctx context.Context, as authz.Actor, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return err
	}
	return s.remove(ctx, as, as.UserID, id)
}

// DeleteFor removes a key of a user. Only administrators may.
func (s *Service) DeleteFor(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return err
	}
	if err := s.known(ctx, user); err != nil {
		return err
	}
	return s.remove(ctx, as, user, id)
}

func (s *Service) remove(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	if _, err := s.load(ctx, "k.id = ? AND k.user_id = ? AND k.kind = ?", id, user, UserKey); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := db.Row{Table: "ssh_keys", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Key")}
		was, err := db.Delete[Key](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Removed{change.Deleted(as, s.Now(), authz.Place{}, &was)})
	})
	if err != nil {
		return fmt.Errorf("delete key: %w", err)
	}
	return nil
}
