package account

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Events carry users as the single reads give them. Handlers do not change what they point to.

// UserCreated is published when an account was created. By is System for the first one.
type UserCreated struct {
	change.Of[User]

	ResetPassword bool // the user is to be sent a link to choose a password
}

// UserUpdated is published when an administrator or the user changed an account.
type UserUpdated struct {
	change.Of[User]

	Promoted, Demoted bool // to administrator, from administrator
	NewPassword       bool
}

// UserStateChanged is published when the state of an account changed.
type UserStateChanged struct{ change.Of[User] }

// AccessLocked is published when there were too many wrong passwords for an account. By is
// System.
type AccessLocked struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
}

// AccessUnlocked is published when an administrator unlocked an account before its time.
type AccessUnlocked struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
}

// UserRemoved is published when the deletion of an account began. The user can do
// nothing from then on; the rows are deleted in the background.
type UserRemoved struct {
	change.Of[User]

	Rejected bool // the user was waiting for approval
}

// SignedOn is published when By began a session with a password.
type SignedOn struct{ authz.Stamp }

// SignOnFailed is published when a password did not fit, whichever way it came. By is the user of the name that was
// tried; the zero actor where no user has it.
type SignOnFailed struct{ authz.Stamp }

// PasswordLinked is published when an administrator made a link with which a user chooses a password.
type PasswordLinked struct{ change.Of[User] }

// AddressAdded is published when a user has one more email address.
type AddressAdded struct {
	authz.Stamp

	ID        int64 // of the address
	UserID    authz.UserID
	Username  string
	Email     string
	Confirmed bool
}

// AddressRemoved is published when an email address was taken from a user.
type AddressRemoved struct {
	authz.Stamp

	ID       int64 // of the address
	UserID   authz.UserID
	Username string
	Email    string
}

// About names it for events.
func (u User) About() change.Subject {
	return change.Subject{Type: "User", ID: int64(u.ID), Title: u.Name}
}
