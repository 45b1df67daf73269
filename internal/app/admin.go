package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/admin"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
)

// The commands of "tenon admin".
const (
	AdminUserCreate   = "user create"
	AdminUserPassword = "user password"
	AdminUserPromote  = "user promote"
	AdminUserDemote   = "user demote"
	AdminUserUnlock   = "user unlock"
	AdminUserList     = "user list"
	AdminTokenCreate  = "token create"
	AdminCheck        = "check"
	AdminRepoCheck    = "repo check"
)

// Administer has a command carried out, by the server that runs on the data of c or, where
// none does, right here. result is decoded into; tell gets lines of progress.
func Administer(ctx context.Context, c *config.Config, log *slog.Logger, build Build, o Order) (err error) {
	err = admin.Call(ctx, filepath.Join(c.Data, "run"), o.Command, o.Args, o.Result, o.Tell)
	if !errors.Is(err, admin.ErrNotRunning) {
		return err
	}
	a := &App{config: c, build: build, log: log, now: time.Now}
	defer func() { err = a.startError(errors.Join(err, a.Close(context.WithoutCancel(ctx)))) }()
	if err := a.alone(ctx); err != nil {
		return err
	}
	args, err := json.Marshal(o.Args)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	out, err := a.adminCommands()[o.Command](ctx, args, o.Tell)
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return json.Unmarshal(text, o.Result)
}

// Order is a command with what it needs and where its result goes.
type Order struct {
	Command string
	Args    any
	Result  any // a pointer
	Tell    func(line string)
}

// alone opens the data without serving anybody, and keeps servers from starting meanwhile.
func (a *App) alone(ctx context.Context) error {
	a.baseURL = "http://" + a.config.HTTP
	if a.config.ExternalURL != nil {
		a.baseURL = a.config.ExternalURL.String()
	}
	if err := a.inhabited(ctx); err != nil {
		return err
	}
	if err := a.claim(ctx); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	if err := a.services(); err != nil {
		return err
	}
	a.react()
	if err := a.work(); err != nil {
		return err
	}
	if err := a.core.Settings.Load(ctx); err != nil {
		return err
	}
	return a.firstStart(ctx)
}

// adminCommands says what each command does. Whoever may reach the data or the socket is
// the operator: nobody's permission is asked for.
func (a *App) adminCommands() map[string]admin.Handler {
	return map[string]admin.Handler{
		AdminUserCreate:   handle(a.adminUserCreate),
		AdminUserPassword: handle(a.adminUserPassword),
		AdminUserPromote: handle(func(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
			return a.setAdmin(ctx, in, true)
		}),
		AdminUserDemote: handle(func(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
			return a.setAdmin(ctx, in, false)
		}),
		AdminUserUnlock: handle(func(ctx context.Context, in UserRef, _ func(string)) (AdminUser, error) {
			return a.unlock(ctx, in)
		}),
		AdminUserList:    handle(a.adminUserList),
		AdminTokenCreate: handle(a.adminTokenCreate),
		AdminCheck:       handle(a.adminCheck),
		AdminRepoCheck:   handle(a.adminRepoCheck),
	}
}

func handle[A, R any](fn func(ctx context.Context, args A, tell func(string)) (R, error)) admin.Handler {
	return func(ctx context.Context, text json.RawMessage, tell func(string)) (any, error) {
		var args A
		if err := json.Unmarshal(text, &args); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		return fn(ctx, args, tell)
	}
}

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
}

func (a *App) shown(u *account.User) AdminUser {
	return AdminUser{
		ID: u.ID, Username: u.Username, Name: u.Name, Email: u.Email, State: string(u.State), Locked: a.core.Accounts.Locked(u), Admin: u.Admin, Auditor: u.Auditor,
	}
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
	out := a.shown(u)
	out.Password = made
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
	return a.shown(u), nil
}

func (a *App) unlock(ctx context.Context, in UserRef) (AdminUser, error) {
	who, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return AdminUser{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	u, err := a.core.Accounts.Unlock(ctx, authz.System(), who.UserID)
	if err != nil {
		return AdminUser{}, fmt.Errorf("unlock user %q: %w", in.User, err)
	}
	return a.shown(u), nil
}

// UserListInput selects users.
type UserListInput struct {
	Admins  bool `json:"admins"`
	Blocked bool `json:"blocked"`
	Bots    bool `json:"bots"` // too
}

func (a *App) adminUserList(ctx context.Context, in UserListInput, _ func(string)) ([]AdminUser, error) {
	out := []AdminUser{}
	f := account.Filter{Admins: in.Admins, Blocked: in.Blocked, Humans: !in.Bots, Ascending: true, Range: page.Range{Limit: 100, Keyset: true}}
	for {
		list, err := a.core.Accounts.List(ctx, authz.System(), f)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		for _, u := range list.Items {
			out = append(out, a.shown(u))
		}
		if f.Cursor = list.Next(); f.Cursor == "" {
			return out, nil
		}
	}
}

// TokenInput is what an access token is made of.
type TokenInput struct {
	User    string   `json:"user"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Expires string   `json:"expires"` // YYYY-MM-DD, "" is a year from now
}

// MadeToken is a new access token.
type MadeToken struct {
	ID        account.TokenID `json:"id"`
	Token     string          `json:"token"`
	ExpiresAt *string         `json:"expires_at"`
}

func (a *App) adminTokenCreate(ctx context.Context, in TokenInput, _ func(string)) (MadeToken, error) {
	owner, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return MadeToken{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	token := account.TokenInput{Name: in.Name}
	for _, s := range in.Scopes {
		token.Scopes = append(token.Scopes, authz.Scope(s))
	}
	if in.Expires != "" {
		token.ExpiresOn = &in.Expires
	}
	t, key, err := a.core.Accounts.CreateToken(ctx, authz.System(), owner.UserID, token)
	if err != nil {
		return MadeToken{}, fmt.Errorf("create token: %w", err)
	}
	return MadeToken{ID: t.ID, Token: key, ExpiresAt: t.ExpiresOn}, nil
}

// OpenAPI gives the description of the REST interface, which comes from the routes alone.
func OpenAPI() []byte {
	server := &rest.Server{}
	return api.New(api.Config{Title: "Tenon", Version: rest.Level}, server.Routes()).Document()
}
