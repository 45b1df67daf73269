package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrSigned reports a text that this signer did not sign, that was signed for something
// else, or that is too old.
var ErrSigned = errors.New("signature is not valid")

// Signer makes texts that only the server can have made, for a while: what is handed to
// a client, to be brought back. The text can be read by a client that has it. It is safe for
// concurrent use.
type Signer struct{ key []byte }

// newSigner derives the key of signatures from the one that seals.
func newSigner(key []byte) (*Signer, error) {
	own, err := hkdf.Key(sha256.New, key, nil, "tenon signatures", KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive key of signatures: %w", err)
	}
	return &Signer{key: own}, nil
}

// Sign signs a text for one purpose, such as "lfs.transfer", until a time. The answer is
// ASCII and fits a URL or a header.
func (s *Signer) Sign(purpose, text string, until time.Time) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	body = append(body, text...)
	return base64.RawURLEncoding.EncodeToString(body) + "." + base64.RawURLEncoding.EncodeToString(s.sum(purpose, body))
}

// Open returns the text of what Sign made for the same purpose, until its time is over;
// otherwise it fails with ErrSigned.
func (s *Signer) Open(purpose, signed string, now time.Time) (string, error) {
	first, second, ok := strings.Cut(signed, ".")
	if !ok {
		return "", ErrSigned
	}
	body, err := base64.RawURLEncoding.Strict().DecodeString(first)
	if err != nil {
		return "", ErrSigned
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(second)
	if err != nil || !hmac.Equal(sum, s.sum(purpose, body)) || len(body) < 8 {
		return "", ErrSigned
	}
	if until := int64(binary.BigEndian.Uint64(body)); now.Unix() >= until {
		return "", ErrSigned
	}
	return string(body[8:]), nil
}

// Sum proves for good that the server has seen body, for one purpose. It is hexadecimal.
func (s *Signer) Sum(purpose string, body []byte) string {
	return hex.EncodeToString(s.sum(purpose, body))
}

func (s *Signer) sum(purpose string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(purpose))))
	mac.Write([]byte(purpose))
	mac.Write(body)
	return mac.Sum(nil)
}
