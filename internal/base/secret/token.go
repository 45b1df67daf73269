package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// AccessTokenPrefix opens personal, group and project access tokens unless the settings
// name another.
const AccessTokenPrefix = "glpat-"

// DeployTokenPrefix opens deploy tokens.
const DeployTokenPrefix = "gldt-"

// MaxToken is the longest token in bytes that is looked up; there is no longer one.
const MaxToken = 512

// NewToken makes a token: the prefix and 20 random characters of the URL-safe base64
// alphabet, 120 bits.
func NewToken(prefix string) string {
	var raw [15]byte
	_, _ = rand.Read(raw[:]) // ends the program rather than fail
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// random is how many characters NewToken adds to the prefix.
const random = 20

// Has reports whether a text looks like a token of a type, whose prefix may follow the prefix of an instance.
func Has(token, prefix string) bool {
	if strings.HasPrefix(token, prefix) {
		return true
	}
	own := len(token) - random
	return own > 0 && strings.HasSuffix(token[:own], "-"+prefix)
}

// Digest returns the form in which a token is stored and looked up: SHA-256 in hex, 64
// characters. Tokens are long and random, so a fast digest without salt suffices.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
