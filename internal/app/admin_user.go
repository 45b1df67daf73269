package app

import (
	"context"
	"crypto/rand"
	"fmt"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// UserRef names a user by username or number.
type UserRef struct {
	User string `json:"user"`
}

// AdminUser is a user as "tenon admin" shows it.
type AdminUser struct {
	ID       authz.UserID `json:"id"`
	Username string       `json:"username"`
	Name     string       `json:"name"`
	Email    string       `json:"email"`
	State    string       `json:"state"`
	Locked   bool         `json:"locked"` // takes no password for a while, after too many wrong ones
	Admin    bool         `json:"admin"`
	Auditor  bool         `json:"auditor"`
	Password string       `json:"password,omitempty"` // that was made, where none was given
	Token    string       `json:"token,omitempty"`    // that was made, where it was asked for

	NoPassword bool `json:"no_password"` // a person who cannot sign on with one
}

// shown is users as they are shown.
func (a *App) shown(ctx context.Context, users ...*account.User) ([]AdminUser, error) {
	ids := make([]authz.UserID, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	without, err := a.core.Accounts.WithoutPassword(ctx, authz.System(), ids)
	if err != nil {
		return nil, err
	}
	out := make([]AdminUser, len(users))
	for i, u := range users {
		out[i] = AdminUser{
			ID: u.ID, Username: u.Username, Name: u.Name, Email: u.Email, State: string(u.State), Locked: a.core.Accounts.Locked(u),
			Admin: u.Admin, Auditor: u.Auditor, NoPassword: without[u.ID],
		}
	}
	return out, nil
}

func (a *App) shownOne(ctx context.Context, u *account.User) (AdminUser, error) {
	all, err := a.shown(ctx, u)
	if err != nil {
		return AdminUser{}, err
	}
	return all[0], nil
}

// UserInput is what a user is made of.
type UserInput struct {
	Username string `json:"username"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Password string `json:"password"` // "" has one made
	Admin    bool   `json:"admin"`
	Auditor  bool   `json:"auditor"`
	External bool   `json:"external"`

	Token  bool     `json:"token"`  // make an access token too
	Scopes []string `json:"scopes"` // of the token
}

func (a *App) adminUserCreate(ctx context.Context, in UserInput, _ func(string)) (AdminUser, error) {
	made := ""
	if in.Password == "" {
		made = rand.Text()
		in.Password = made
	}
	if in.Name == "" {
		in.Name = in.Username
	}
	u, err := a.core.Accounts.Create(ctx, authz.System(), account.Input{
		Username: in.Username, Email: in.Email, Name: in.Name, Password: in.Password, Admin: in.Admin, Auditor: in.Auditor,
		External: &in.External, SkipConfirmation: true,
	})
	if err != nil {
		return AdminUser{}, fmt.Errorf("create user %q: %w", in.Username, err)
	}
	out, err := a.shownOne(ctx, u)
	if err != nil {
		return AdminUser{}, err
	}
	out.Password = made
	if in.Token {
		token, err := a.adminTokenCreate(ctx, TokenInput{User: in.Username, Name: "made with the user", Scopes: in.Scopes}, nil)
		if err != nil {
			return AdminUser{}, fmt.Errorf("the user %q was made, its token was not: %w", in.Username, err)
		}
		out.Token = token.Token
	}
	return out, nil
}

// PasswordInput is a user's new password.
type PasswordInput struct {
	UserRef
	Password string `json:"password"` // "" has one made
}

func (a *App) adminUserPassword(ctx context.Context, in PasswordInput, _ func(string)) (AdminUser, error) {
	made := ""
	if in.Password == "" {
		made = rand.Text()
		in.Password = made
	}
	out, err := a.change(ctx, in.UserRef, account.Changes{Password: &in.Password, KeepPassword: true})
	out.Password = made
	return out, err
}

func (a *App) setAdmin(ctx context.Context, in UserRef, admin bool) (AdminUser, error) {
	return a.change(ctx, in, account.Changes{Admin: &admin})
}

func (a *App) change(ctx context.Context, in UserRef, c account.Changes) (AdminUser, error) {
	who, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return AdminUser{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	if who.Bot {
		return AdminUser{}, fmt.Errorf("%q is a bot", in.User)
	}
	u, err := a.core.Accounts.Update(ctx, authz.System(), who.UserID, c)
	if err != nil {
		return AdminUser{}, fmt.Errorf("change user %q: %w", in.User, err)
	}
	return a.shownOne(ctx, u)
}

// moderate does something to a user and shows the user as it is then.
func (a *App) moderate(ctx context.Context, in UserRef, verb string, fn func(id authz.UserID) error) (AdminUser, error) {
	who, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return AdminUser{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	if err := fn(who.UserID); err != nil {
		return AdminUser{}, fmt.Errorf("%s user %q: %w", verb, in.User, err)
	}
	u, err := a.core.Accounts.Find(ctx, authz.System(), who.UserID)
	if err != nil {
		return AdminUser{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	return a.shownOne(ctx, u)
}

func (a *App) adminUserUnlock(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
	return a.moderate(ctx, in, "unlock", func(id authz.UserID) error {
		_, err := a.core.Accounts.Unlock(ctx, authz.System(), id)
		return err
	})
}

func (a *App) adminUserBlock(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
	return a.moderate(ctx, in, "block", func(id authz.UserID) error {
		_, err := a.core.Accounts.Block(ctx, authz.System(), id)
		return err
	})
}

func (a *App) adminUserUnblock(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
	return a.moderate(ctx, in, "unblock", func(id authz.UserID) error {
		_, err := a.core.Accounts.Unblock(ctx, authz.System(), id)
		return err
	})
}

// DeleteInput is a user who goes.
type DeleteInput struct {
	UserRef
	Hard bool `json:"hard"` // with all that the user made
}

// adminUserDelete keeps a user out; the account is removed by a job, now or when the server
// runs again.
func (a *App) adminUserDelete(ctx context.Context, in DeleteInput, tell func(string)) (AdminUser, error) {
	out, err := a.moderate(ctx, in.UserRef, "delete", func(id authz.UserID) error {
		return a.core.Accounts.Delete(ctx, authz.System(), id, account.Removal{Hard: in.Hard})
	})
	if err == nil && !a.serving.Load() {
		tell("the account is removed when the server runs")
	}
	return out, err
}

// UserListInput selects users.
type UserListInput struct {
	Admins  bool `json:"admins"`
	Blocked bool `json:"blocked"`
	Bots    bool `json:"bots"` // too
}

func (a *App) adminUserList(ctx context.Context, in UserListInput, _ func(string)) ([]AdminUser, error) {
	out := []AdminUser{}
	f := account.Filter{Admins: in.Admins, Blocked: in.Blocked, Humans: !in.Bots, Asc: true, Range: page.Range{Limit: 100, Keyset: true}}
	for {
		list, err := a.core.Accounts.List(ctx, authz.System(), f)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		part, err := a.shown(ctx, list.Items...)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		out = append(out, part...)
		if f.Cursor = list.Next(); f.Cursor == "" {
			return out, nil
		}
	}
}
