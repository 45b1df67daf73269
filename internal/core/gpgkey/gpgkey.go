// Package gpgkey keeps the OpenPGP keys that people sign commits and tags with.
package gpgkey

import (
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a key.
type ID int64

// Key is a public key of a user.
type Key struct {
	ID          ID           `db:"id"`
	UserID      authz.UserID `db:"user_id"`
	PublicKey   string       `db:"public_key"` // armoured, as it was sent
	KeyID       string       `db:"key_id"`     // sixteen digits, of the primary key
	Fingerprint string       `db:"fingerprint"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// Added is published when a key was added to an account.
type Added struct{ change.Of[Key] }

// Removed is published when a key of an account was deleted or revoked.
type Removed struct{ change.Of[Key] }

// About names it for events.
func (k Key) About() change.Subject {
	return change.Subject{Type: "GpgKey", ID: int64(k.ID), Title: k.Fingerprint}
}
