// Package idtoken signs the ID tokens with which jobs prove to other systems what they are, and returns the
// public keys with which those systems verify them.
package idtoken

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
)

// Algorithm is the one that every token is signed with.
const Algorithm = jose.RS256

const (
	keyBits = 2048
	seal    = "key of ID tokens"
)

// Deps is what a Service is made of.
type Deps struct {
	DB  *db.DB
	Box *secret.Box
	Now func() time.Time
}

// keptFor is how long the public part of a key is told after another took its place. No token is valid for so long.
const keptFor = 35 * 24 * time.Hour

// Service signs ID tokens with a key that all servers on one database share. The key is made when the first
// token or the keys are asked for. It is safe for concurrent use.
type Service struct {
	Deps

	mu   sync.Mutex
	read map[int64]*jose.JSONWebKey // keys that were opened
}

// stored is a row of a key.
type stored struct {
	ID        int64    `db:"id"`
	Sealed    string   `db:"sealed"`
	Current   bool     `db:"current"`
	CreatedAt db.Time  `db:"created_at"`
	RetiredAt *db.Time `db:"retired_at"` // when another took its place
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, read: map[int64]*jose.JSONWebKey{}}
}

// Sign makes a token of claims: a struct with JSON tags, or a map[string]any.
func (s *Service) Sign(ctx context.Context, claims any) (string, error) {
	key, err := s.signingKey(ctx)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: Algorithm, Key: *key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign ID token: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign ID token: %w", err)
	}
	return token, nil
}

// Keys returns the public keys of the tokens: first the one that signs, then those that signed before and whose tokens may still be valid. One
// that cannot be read, because the key of the server was replaced, is left out.
func (s *Service) Keys(ctx context.Context) (jose.JSONWebKeySet, error) {
	if _, err := s.current(ctx); err != nil {
		return jose.JSONWebKeySet{}, err
	}
	rows, err := db.Select[stored](ctx, s.DB, "SELECT "+columns+" FROM id_token_keys k WHERE k.current OR k.retired_at > ? ORDER BY k.id DESC", db.At(s.Now().Add(-keptFor)))
	if err != nil {
		return jose.JSONWebKeySet{}, fmt.Errorf("keys of ID tokens: %w", err)
	}
	out := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for i := range rows {
		if key, err := s.open(&rows[i]); err == nil {
			out.Keys = append(out.Keys, key.Public())
		}
	}
	return out, nil
}

// Rotate makes another key, which signs from now on, and returns its id. Tokens that the old one signed stay valid: its public part is told for 35 days
// more. It asks for no permission: operators of the server call it.
func (s *Service) Rotate(ctx context.Context) (keyID string, err error) {
	row, err := s.newKey()
	if err != nil {
		return "", err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		now := s.Now()
		if _, err := s.DB.Exec(ctx, "UPDATE id_token_keys SET current = false, retired_at = ? WHERE current", db.At(now)); err != nil {
			return fmt.Errorf("retire key: %w", err)
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM id_token_keys WHERE retired_at < ?", db.At(now.Add(-keptFor))); err != nil {
			return fmt.Errorf("delete old keys: %w", err)
		}
		if err := db.Create(ctx, s.DB, "id_token_keys", row); err != nil {
			return fmt.Errorf("write key: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", errs.Wrap(err, "rotate key of ID tokens")
	}
	key, err := s.open(row)
	if err != nil {
		return "", err
	}
	return key.KeyID, nil
}

var columns = db.Columns[stored]("k")

// signingKey reads the key that signs, and makes it where there is none.
func (s *Service) signingKey(ctx context.Context) (*jose.JSONWebKey, error) {
	row, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.open(row)
}

// current finds the row of the key that signs, and makes it where there is none. Another server may have made another since the last time.
func (s *Service) current(ctx context.Context) (*stored, error) {
	const query = " FROM id_token_keys k WHERE k.current"
	row, err := db.Get[stored](ctx, s.DB, "SELECT "+columns+query)
	if errors.Is(err, db.ErrNotFound) {
		if err = s.makeKey(ctx); err == nil {
			row, err = db.Get[stored](ctx, s.DB, "SELECT "+columns+query)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
	}
	return &row, nil
}

// open decrypts a key, once.
func (s *Service) open(row *stored) (*jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := s.read[row.ID]; key != nil {
		return key, nil
	}
	text, err := s.Box.Open(seal, row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens (\"tenon admin key rotate\" makes another): %w", err)
	}
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
	}
	private, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
	}
	key := &jose.JSONWebKey{Key: private, Algorithm: string(Algorithm), Use: "sig"}
	thumb, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumb)
	s.read[row.ID] = key
	return key, nil
}

// newKey makes a key that is not stored yet.
func (s *Service) newKey() (*stored, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(private))
	return &stored{Sealed: s.Box.Seal(seal, text), Current: true, CreatedAt: db.At(s.Now())}, nil
}

// makeKey writes the first key, unless another server was faster.
func (s *Service) makeKey(ctx context.Context) error {
	made, err := s.newKey()
	if err != nil {
		return err
	}
	_, err = db.InsertRow(ctx, s.DB, "id_token_keys", db.Values{
		"sealed": made.Sealed, "current": true, "created_at": made.CreatedAt,
	}, "ON CONFLICT (current) WHERE current DO NOTHING")
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
