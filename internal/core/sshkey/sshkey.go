// Package sshkey keeps the public keys that people sign on to git over SSH with.
package sshkey

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a key of any kind.
type ID int64

// Kind says what a key stands for.
type Kind string

// The kinds of keys. A user's key acts as the user; a deploy key acts for itself in the
// projects that it is enabled in.
const (
	UserKey   Kind = "user"
	DeployKey Kind = "deploy"
)

// Usage says what a key is good for.
type Usage string

// The usages of the contract. A key for Signing does not sign on.
const (
	AuthAndSigning Usage = "auth_and_signing"
	Auth           Usage = "auth"
	Signing        Usage = "signing"
)

// Key is a public key.
type Key struct {
	ID         ID            `db:"id"`
	Kind       Kind          `db:"kind"`
	UserID     *authz.UserID `db:"user_id"`       // whose it is; nil for a deploy key
	MakerID    *authz.UserID `db:"created_by_id"` // of a deploy key, nil where the maker is gone
	Public     bool          `db:"public"`        // a deploy key that every project may enable
	Title      string        `db:"title"`
	PublicKey  string        `db:"public_key"` // algorithm and base64, without a comment
	Comment    string        `db:"comment"`    // as it was sent
	Usage      Usage         `db:"usage_type"`
	MD5        string        `db:"fingerprint_md5"`    // sixteen pairs of digits, joined by colons
	SHA256     string        `db:"fingerprint_sha256"` // SHA256: and base64 without padding
	ExpiresAt  *db.Time      `db:"expires_at"`         // nil is never
	LastUsedAt *db.Time      `db:"last_used_at"`
	CreatedAt  db.Time       `db:"created_at"`
	UpdatedAt  db.Time       `db:"updated_at"`

	OwnerName     string `db:"owner_name,readonly"`     // of the user, "" for a deploy key
	OwnerUsername string `db:"owner_username,readonly"` // likewise
}

// Expired reports whether the key's time is over.
func (k *Key) Expired(now time.Time) bool { return k.ExpiresAt != nil && !k.ExpiresAt.After(now) }

// Line is the key as answers show it. The comment that came with a user's key is never
// shown; the owner's name and the server's stand in its place.
func (k *Key) Line(host string) string {
	switch {
	case k.Kind == UserKey:
		return k.PublicKey + " " + k.OwnerName + " (" + host + ")"
	case k.Comment != "":
		return k.PublicKey + " " + k.Comment
	default:
		return k.PublicKey
	}
}

// Added is published when a key was added to an account.
type Added struct{ change.Of[Key] }

// Removed is published when a key of an account was deleted.
type Removed struct{ change.Of[Key] }

// About names it for events.
func (k Key) About() change.Subject {
	return change.Subject{Type: "Key", ID: int64(k.ID), Title: k.SHA256}
}
