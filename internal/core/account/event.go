package account

import "tenon/internal/core/authz"

// UserCreated is published when an account was made. By is System for the first one.
type UserCreated struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
	Name     string

	// ResetPassword says that the user is to be sent a link to choose a password.
	ResetPassword bool
}

// UserUpdated is published when an administrator or the user changed an account.
type UserUpdated struct {
	authz.Stamp

	UserID   authz.UserID
	Username string // the new one
	Was      string // the username before

	User   User // as it is now; handlers do not change what it points to
	Before User

	Promoted, Demoted bool // to administrator, from there
	NewPassword       bool
}

// UserStateChanged is published when an account may act again or no more.
type UserStateChanged struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
	From, To State
	User     User // as it is now; handlers do not change what it points to
	Before   User
}

// AccessLocked is published when there were too many wrong passwords for an account. By is
// System.
type AccessLocked struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
}

// AccessUnlocked is published when somebody ended that before its time.
type AccessUnlocked struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
}

// UserRemoved is published when the deletion of an account began. The user can do
// nothing from then on; the rows go in the background.
type UserRemoved struct {
	authz.Stamp

	UserID   authz.UserID
	Username string
	Name     string
	Rejected bool // the user was waiting for approval
}

// TokenCreated is published when an access token was made, by rotation too.
type TokenCreated struct {
	authz.Stamp

	TokenID TokenID
	Kind    Kind
	Name    string
	UserID  authz.UserID // whose it is
}

// TokenRevoked is published when an access token was made useless.
type TokenRevoked struct {
	authz.Stamp

	TokenID TokenID
	Kind    Kind
	Name    string
	UserID  authz.UserID
}

// AddressAdded says that a user has one more address.
type AddressAdded struct {
	authz.Stamp

	UserID    authz.UserID
	Email     string
	Confirmed bool
}
