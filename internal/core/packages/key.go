package packages

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

const (
	signingKeyBits = 4096

	// The user id of signing keys is that of other servers of this interface.
	signingKeyName    = "GitLab Debian repository"
	signingKeyComment = "GitLab Debian repository automatic signing key"
)

// signingKey is a row of a key that signs the Release files of a distribution.
type signingKey struct {
	ID           int64          `db:"id"`
	Distribution DistributionID `db:"distribution_id"`
	Fingerprint  string         `db:"fingerprint"`
	Public       string         `db:"public_key"` // armored
	Sealed       string         `db:"sealed"`
	CreatedAt    db.Time        `db:"created_at"`
	RetireAt     *db.Time       `db:"retire_at"` // of one that was replaced: when it does not sign any more
}

// sealedFor is the context that the private key of a distribution is encrypted in.
func sealedFor(id DistributionID) string {
	return fmt.Sprintf("debian_distribution_keys.sealed:%d", id)
}

// makeKey is the job that makes the signing key of a distribution.
type makeKey struct {
	Distribution DistributionID `json:"distribution"`
}

// Kind names the job.
func (makeKey) Kind() string { return "debian_signing_key" }

// makeKey makes the signing key of a distribution that has none. Doing it twice is harmless.
func (s *Service) makeKey(ctx context.Context, args makeKey) error {
	needs, err := s.needsKey(ctx, args.Distribution)
	if err != nil || !needs {
		return err
	}
	key, err := s.newKey(args.Distribution)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if needs, err := s.needsKey(ctx, args.Distribution); err != nil || !needs {
			return err
		}
		if err := db.Create(ctx, s.DB, "debian_distribution_keys", key); err != nil {
			return err
		}
		return s.republish(ctx, args.Distribution)
	})
	if db.Duplicate(err, "debian_distribution_keys") {
		return nil
	}
	return errs.Wrap(err, "write signing key")
}

// needsKey reports whether a distribution is there and has no signing key.
func (s *Service) needsKey(ctx context.Context, id DistributionID) (bool, error) {
	needs, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM debian_distributions d WHERE d.id = ?
		AND NOT EXISTS (SELECT 1 FROM debian_distribution_keys k WHERE k.distribution_id = d.id))`, id)
	if err != nil {
		return false, fmt.Errorf("look for signing key: %w", err)
	}
	return needs, nil
}

// newKey makes a key that signs, and does not expire. It is not stored yet.
func (s *Service) newKey(id DistributionID) (*signingKey, error) {
	bits := s.KeyBits
	if bits == 0 {
		bits = signingKeyBits
	}
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	now := s.Now()
	primary := packet.NewRSAPrivateKey(now, private)
	e := &openpgp.Entity{PrimaryKey: &primary.PublicKey, PrivateKey: primary, Identities: map[string]*openpgp.Identity{}}
	config := &packet.Config{Time: func() time.Time { return now }}
	if err := e.AddUserId(signingKeyName, signingKeyComment, s.Email, config); err != nil {
		return nil, fmt.Errorf("name signing key: %w", err)
	}
	public, err := armored(openpgp.PublicKeyType, e.Serialize)
	if err != nil {
		return nil, err
	}
	secret, err := armored(openpgp.PrivateKeyType, func(w io.Writer) error { return e.SerializePrivate(w, config) })
	if err != nil {
		return nil, err
	}
	return &signingKey{
		Distribution: id, Fingerprint: hex.EncodeToString(e.PrimaryKey.Fingerprint), Public: public,
		Sealed: s.Box.Seal(sealedFor(id), secret), CreatedAt: db.At(now),
	}, nil
}

// armored returns what a function writes, as an armored block.
func armored(kind string, write func(w io.Writer) error) (string, error) {
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err == nil {
		err = errors.Join(write(w), w.Close())
	}
	if err != nil {
		return "", fmt.Errorf("write key: %w", err)
	}
	return b.String() + "\n", nil
}

// DistributionKey returns the public keys that sign the Release files of a distribution, as an armored block: one, or for a while two where it
// was replaced. It is NotFound until a job has made it.
func (s *Service) DistributionKey(ctx context.Context, as authz.Actor, at authz.Place, codename string) (*Distribution, string, error) {
	if err := s.readDistributions(ctx, as, at); err != nil {
		return nil, "", err
	}
	d, err := s.distribution(ctx, at, codename)
	if err != nil {
		return nil, "", err
	}
	public, err := db.Select[string](ctx, s.DB, "SELECT k.public_key FROM debian_distribution_keys k WHERE k.distribution_id = ? ORDER BY k.id DESC", d.ID)
	if err != nil {
		return nil, "", fmt.Errorf("read signing key: %w", err)
	}
	if len(public) == 0 {
		return nil, "", errs.Missing("Distribution key")
	}
	text, err := keyring(public)
	return d, text, err
}
