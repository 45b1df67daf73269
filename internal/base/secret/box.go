// Package secret keeps what must not be read: it seals stored secrets with a key from
// the data folder, makes and digests tokens, and hashes passwords.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the number of bytes of a sealing key: AES-256.
const KeySize = 32

// version opens every sealed text, so that a later scheme can live beside this one.
const version = "v1."

// ErrSealed reports a text that cannot be opened: damaged, sealed for another place or
// with another key. The three causes look alike.
var ErrSealed = errors.New("sealed text cannot be opened with this key and context")

// Box seals and opens secrets with one key. It is safe for concurrent use.
//
// AES-GCM with random nonces allows some four thousand million seals per key, far more
// than an instance stores.
type Box struct {
	aead   cipher.AEAD
	signer *Signer
}

// NewBox makes a box from a key of KeySize bytes.
func NewBox(key []byte) (*Box, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("sealing key has %d bytes, want %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	signer, err := newSigner(key)
	if err != nil {
		return nil, err
	}
	return &Box{aead: aead, signer: signer}, nil
}

// Signer returns the signer whose key comes from the same secret.
func (b *Box) Signer() *Signer { return b.signer }

// Seal encrypts a text for one place, such as "webhooks.token:17". The context is not
// stored; [Box.Open] needs the same one, so that a sealed text copied to another row
// opens nothing there. The answer is ASCII and fits a text column.
func (b *Box) Seal(context, text string) string {
	sealed := b.aead.Seal(nil, nil, []byte(text), additional(context))
	return version + base64.RawStdEncoding.EncodeToString(sealed)
}

// Open decrypts what Seal made for the same context; otherwise it fails with ErrSealed.
func (b *Box) Open(context, sealed string) (string, error) {
	body, ok := strings.CutPrefix(sealed, version)
	if !ok {
		return "", fmt.Errorf("%w: unknown version", ErrSealed)
	}
	raw, err := base64.RawStdEncoding.Strict().DecodeString(body)
	if err != nil {
		return "", fmt.Errorf("%w: not base64", ErrSealed)
	}
	text, err := b.aead.Open(nil, nil, raw, additional(context))
	if err != nil {
		return "", ErrSealed
	}
	return string(text), nil
}

// Try is Open, where what was sealed with another key counts as lost: it returns false for that.
func (b *Box) Try(context, sealed string) (text string, ok bool) {
	text, err := b.Open(context, sealed)
	return text, err == nil
}

// additional binds the version as well, so that a text cannot be passed off as another scheme's.
func additional(context string) []byte { return []byte("tenon " + version + context) }

// NewKey makes a sealing key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // ends the program rather than fail
	return key
}
