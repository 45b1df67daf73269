package account

import (
	"time"

	"tenon/internal/core/authz"
)

// UserCreated is published when an account was made. By is System for the first one.
type UserCreated struct {
	UserID   authz.UserID
	Username string
	Name     string
	By       authz.Actor

	// ResetPassword says that the user is to be sent a link to choose a password.
	ResetPassword bool
}

// UserUpdated is published when an administrator or the user changed an account.
type UserUpdated struct {
	UserID   authz.UserID
	Username string // the new one
	Was      string // the username before
	By       authz.Actor

	User   User // as it is now; handlers do not change what it points to
	Before User
	At     time.Time

	Promoted, Demoted bool // to administrator, from there
	NewPassword       bool
}

// UserStateChanged is published when an account may act again or no more.
type UserStateChanged struct {
	UserID   authz.UserID
	Username string
	From, To State
	User     User // as it is now; handlers do not change what it points to
	Before   User
	By       authz.Actor
	At       time.Time
}

// AccessLocked is published when there were too many wrong passwords for an account.
type AccessLocked struct {
	UserID   authz.UserID
	Username string
}

// AccessUnlocked is published when somebody ended that before its time.
type AccessUnlocked struct {
	UserID   authz.UserID
	Username string
	By       authz.Actor
}

// UserRemoved is published when the deletion of an account began. The user can do
// nothing from then on; the rows go in the background.
type UserRemoved struct {
	UserID   authz.UserID
	Username string
	Name     string
	Rejected bool // the user was waiting for approval
	By       authz.Actor
}

// TokenCreated is published when an access token was made, by rotation too.
type TokenCreated struct {
	TokenID TokenID
	Kind    Kind
	Name    string
	UserID  authz.UserID // whose it is
	By      authz.Actor
}

// TokenRevoked is published when an access token was made useless.
type TokenRevoked struct {
	TokenID TokenID
	Kind    Kind
	Name    string
	UserID  authz.UserID
	By      authz.Actor
}

// AddressAdded says that a user has one more address.
type AddressAdded struct {
	UserID    authz.UserID
	Email     string
	Confirmed bool
	By        authz.Actor
}
