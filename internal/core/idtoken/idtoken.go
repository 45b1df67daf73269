// Package idtoken signs the ID tokens with which jobs prove to other systems what they are, and gives the
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

// Service signs ID tokens with a key that all servers on one database share. The key is made when the first
// token or the keys are asked for. It is safe for concurrent use.
type Service struct {
	db  *db.DB
	box *secret.Box
	now func() time.Time

	mu  sync.Mutex
	key *jose.JSONWebKey // nil until it was read
}

// New builds the service.
func New(d Deps) *Service { return &Service{db: d.DB, box: d.Box, now: d.Now} }

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

// Keys gives the public keys of the tokens.
func (s *Service) Keys(ctx context.Context) (jose.JSONWebKeySet, error) {
	key, err := s.signingKey(ctx)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}}, nil
}

// signingKey reads the key, and makes it where there is none.
func (s *Service) signingKey(ctx context.Context) (*jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	sealed, err := s.stored(ctx)
	if errors.Is(err, db.ErrNotFound) {
		if err = s.makeKey(ctx); err == nil {
			sealed, err = s.stored(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
	}
	text, err := s.box.Open(seal, sealed)
	if err != nil {
		return nil, fmt.Errorf("key of ID tokens: %w", err)
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
	s.key = key
	return key, nil
}

func (s *Service) stored(ctx context.Context) (string, error) {
	return db.Get[string](ctx, s.db, "SELECT k.sealed FROM id_token_keys k ORDER BY k.id LIMIT 1")
}

// makeKey writes a new key, unless another server was faster.
func (s *Service) makeKey(ctx context.Context) error {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	row := struct {
		Sealed    string  `db:"sealed"`
		Current   bool    `db:"current"`
		CreatedAt db.Time `db:"created_at"`
	}{s.box.Seal(seal, base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(private))), true, db.At(s.now())}
	if _, err := db.InsertRow(ctx, s.db, "id_token_keys", &row, "ON CONFLICT (current) DO NOTHING"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
