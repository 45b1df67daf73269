package app

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

// TokenInput is what an access token is made of.
type TokenInput struct {
	User    string   `json:"user"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Expires string   `json:"expires"` // YYYY-MM-DD, "" is a year from now
}

// MadeToken is a new access token.
type MadeToken struct {
	ID        token.ID `json:"id"`
	Token     string   `json:"token"`
	ExpiresAt *string  `json:"expires_at"`
}

func (a *App) adminTokenCreate(ctx context.Context, in TokenInput, _ func(string)) (MadeToken, error) {
	owner, err := a.core.Accounts.ActorFor(ctx, in.User)
	if err != nil {
		return MadeToken{}, fmt.Errorf("find user %q: %w", in.User, err)
	}
	token := token.Input{Name: in.Name}
	for _, s := range in.Scopes {
		token.Scopes = append(token.Scopes, authz.Scope(s))
	}
	if in.Expires != "" {
		token.ExpiresOn = &in.Expires
	}
	t, key, err := a.core.Tokens.Create(ctx, authz.System(), owner.UserID, token)
	if err != nil {
		return MadeToken{}, fmt.Errorf("create token: %w", err)
	}
	return MadeToken{ID: t.ID, Token: key, ExpiresAt: t.ExpiresOn}, nil
}

// AdminToken is an access token as "tenon admin" shows it, without its secret.
type AdminToken struct {
	ID         token.ID     `json:"id"`
	UserID     authz.UserID `json:"user_id"`
	Username   string       `json:"username"`
	Name       string       `json:"name"`
	Kind       string       `json:"kind"`
	Scopes     []string     `json:"scopes"`
	State      string       `json:"state"` // active, expired or revoked
	ExpiresAt  *string      `json:"expires_at"`
	LastUsedAt *string      `json:"last_used_at"`
	CreatedAt  string       `json:"created_at"`
}

// TokenListInput selects access tokens.
type TokenListInput struct {
	User string `json:"user"` // username or id; "" is all
	All  bool   `json:"all"`  // revoked and expired ones too
}

func (a *App) adminTokenList(ctx context.Context, in TokenListInput, _ func(string)) ([]AdminToken, error) {
	f := token.Filter{Active: !in.All, Range: page.Range{Limit: 100, Keyset: true}}
	if in.User != "" {
		who, err := a.core.Accounts.ActorFor(ctx, in.User)
		if err != nil {
			return nil, fmt.Errorf("find user %q: %w", in.User, err)
		}
		f.UserID = &who.UserID
	}
	out := []AdminToken{}
	for {
		list, err := a.core.Tokens.List(ctx, authz.System(), f)
		if err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		some, err := a.shownTokens(ctx, list.Items)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		if f.Cursor = list.Next(); f.Cursor == "" {
			return out, nil
		}
	}
}

func (a *App) shownTokens(ctx context.Context, list []*token.Token) ([]AdminToken, error) {
	ids := make([]authz.UserID, len(list))
	for i, t := range list {
		ids[i] = t.UserID
	}
	users, err := a.core.Accounts.Load(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find users: %w", err)
	}
	now, out := a.now(), make([]AdminToken, len(list))
	for i, t := range list {
		k := AdminToken{ID: t.ID, UserID: t.UserID, Name: t.Name, Kind: string(t.Kind), Scopes: []string{}, State: "active", ExpiresAt: t.ExpiresOn, CreatedAt: t.CreatedAt.Format(time.RFC3339)}
		if u := users[t.UserID]; u != nil {
			k.Username = u.Username
		}
		for _, s := range t.Scopes() {
			k.Scopes = append(k.Scopes, string(s))
		}
		switch {
		case t.Revoked:
			k.State = "revoked"
		case t.Expired(now):
			k.State = "expired"
		}
		if t.LastUsedAt != nil {
			at := t.LastUsedAt.Format(time.RFC3339)
			k.LastUsedAt = &at
		}
		out[i] = k
	}
	return out, nil
}

// TokenRef names an access token.
type TokenRef struct {
	ID int64 `json:"id"`
}

func (a *App) adminTokenRevoke(ctx context.Context, in TokenRef, _ func(string)) (AdminToken, error) {
	t, err := a.core.Tokens.Find(ctx, authz.System(), token.ID(in.ID))
	if err != nil {
		return AdminToken{}, fmt.Errorf("find token %d: %w", in.ID, err)
	}
	if err := a.core.Tokens.Revoke(ctx, authz.System(), t.ID); err != nil {
		return AdminToken{}, fmt.Errorf("revoke token %d: %w", in.ID, err)
	}
	t.Revoked = true
	out, err := a.shownTokens(ctx, []*token.Token{t})
	if err != nil {
		return AdminToken{}, err
	}
	return out[0], nil
}

// Scope is what an access token may permit.
type Scope struct {
	Name    string
	Permits string
}

// Scopes lists what a personal access token may permit.
func Scopes() []Scope {
	permits := map[authz.Scope]string{
		authz.ScopeAPI:             "everything the user may do over the API, and git",
		authz.ScopeReadAPI:         "reading over the API",
		authz.ScopeReadUser:        "reading the user's own account",
		authz.ScopeSudo:            "acting as other users, for administrators",
		authz.ScopeAdminMode:       "administration, where the instance wants it named",
		authz.ScopeCreateRunner:    "making runners",
		authz.ScopeManageRunner:    "changing runners",
		authz.ScopeReadRepository:  "clone and fetch over HTTP, and reading files",
		authz.ScopeWriteRepository: "push over HTTP as well",
		authz.ScopeReadRegistry:    "reading container images",
		authz.ScopeWriteRegistry:   "writing container images",
		authz.ScopeK8sProxy:        "calls to Kubernetes through an agent",
		authz.ScopeSelfRotate:      "rotating this token itself",
		authz.ScopeServicePing:     "reading figures of use",
	}
	var out []Scope
	for _, s := range authz.AllScopes() {
		out = append(out, Scope{Name: string(s), Permits: permits[s]})
	}
	return out
}
