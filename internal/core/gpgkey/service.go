package gpgkey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Accounts *account.Service
	Now      func() time.Time
}

// Service keeps keys. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Create adds a key to the actor's own account, which is no bot's. Whatever is wrong with
// it is Invalid with a map.
func (s *Service) Create(ctx context.Context, as authz.Actor, text string) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AddOwnKey, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.create(ctx, as, as.UserID, text)
}

// CreateFor adds a key to a user's account. Only administrators may.
func (s *Service) CreateFor(ctx context.Context, as authz.Actor, user authz.UserID, text string) (*Key, error) {
	if err := s.known(ctx, as, user); err != nil {
		return nil, err
	}
	return s.create(ctx, as, user, text)
}

func (s *Service) create(ctx context.Context, as authz.Actor, user authz.UserID, text string) (*Key, error) {
	text = strings.TrimSpace(text)
	now := db.At(s.Now())
	k := Key{UserID: user, PublicKey: text, CreatedAt: now, UpdatedAt: now}
	subkeys, err := k.fill()
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.taken(ctx, &k); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "gpg_keys", &k); err != nil {
			return err
		}
		for _, sub := range subkeys {
			if _, err := db.InsertRow(ctx, s.DB, "gpg_subkeys", db.Values{"gpg_key_id": k.ID, "key_id": sub.keyID, "fingerprint": sub.fingerprint}, ""); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Added{change.Created(as, s.Now(), authz.Place{}, &k)})
	})
	if db.Duplicate(err, "gpg_keys") || db.Duplicate(err, "gpg_subkeys") { // another request was first
		if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.taken(ctx, &k) }); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("add OpenPGP key: %w", err)
	}
	return &k, nil
}

// fill reads the text of the key and collects everything that is wrong with it.
func (k *Key) fill() ([]part, error) {
	var f errs.Fields
	switch {
	case k.PublicKey == "":
		f.Add("key", "can't be blank")
		f.Add("key", malformed)
		return nil, f.Err()
	case len(k.PublicKey) > maxText:
		f.Add("key", fmt.Sprintf("is too long (maximum is %d characters)", maxText))
		return nil, f.Err()
	case !wellFormed(k.PublicKey):
		f.Add("key", malformed)
		return nil, f.Err()
	}
	entity, err := Entity(k.PublicKey)
	if err != nil {
		f.Add("fingerprint", "can't be blank")
		f.Add("primary_keyid", "can't be blank")
		return nil, f.Err()
	}
	primary := partOf(entity.PrimaryKey)
	k.KeyID, k.Fingerprint = primary.keyID, primary.fingerprint
	subkeys := make([]part, len(entity.Subkeys))
	for i, sub := range entity.Subkeys {
		subkeys[i] = partOf(sub.PublicKey)
	}
	return subkeys, nil
}

const malformed = "is invalid. A valid public GPG key begins with '" + prefix + "' and ends with '" + suffix + "'"

// taken refuses a key that a user has.
func (s *Service) taken(ctx context.Context, k *Key) error {
	other, err := db.Get[Key](ctx, s.DB, "SELECT "+db.Columns[Key]("k")+` FROM gpg_keys k
		WHERE k.fingerprint = ? OR k.key_id = ? ORDER BY k.id LIMIT 1`, k.Fingerprint, k.KeyID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var f errs.Fields
	if other.PublicKey == k.PublicKey {
		f.Add("key", "has already been taken")
		return f.Err()
	}
	f.Check(other.Fingerprint != k.Fingerprint, "fingerprint", "has already been taken")
	f.Check(other.KeyID != k.KeyID, "primary_keyid", "has already been taken")
	return f.Err()
}

// Delete removes one of the actor's own keys. What it signed counts as signed by an
// unknown key from then on.
func (s *Service) Delete(ctx context.Context, as authz.Actor, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnKey, authz.Subject{}); err != nil {
		return err
	}
	return s.remove(ctx, as, as.UserID, id)
}

// DeleteFor removes a key of a user. Only administrators may.
func (s *Service) DeleteFor(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	if err := s.known(ctx, as, user); err != nil {
		return err
	}
	return s.remove(ctx, as, user, id)
}

func (s *Service) remove(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	if _, err := s.load(ctx, "k.id = ? AND k.user_id = ?", id, user); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Key](ctx, s.DB, db.Row{Table: "gpg_keys", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("GPG Key")}, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Removed{change.Deleted(as, s.Now(), authz.Place{}, &was)})
	})
	if err != nil {
		return fmt.Errorf("delete OpenPGP key: %w", err)
	}
	return nil
}
