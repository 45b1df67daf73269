package app

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
)

// CreateToken makes a personal access token for a user, by name or id, and gives its
// secret. The day of expiry may be "".
func (a *App) CreateToken(ctx context.Context, user, name string, scopes []string, expires string) (string, error) {
	owner, err := a.accounts.ActorFor(ctx, user)
	if err != nil {
		return "", fmt.Errorf("find user %q: %w", user, err)
	}
	in := account.TokenInput{Name: name}
	for _, s := range scopes {
		in.Scopes = append(in.Scopes, authz.Scope(s))
	}
	if expires != "" {
		in.ExpiresOn = &expires
	}
	_, key, err := a.accounts.CreateToken(ctx, authz.System(), owner.UserID, in)
	if err != nil {
		return "", fmt.Errorf("create token: %w", err)
	}
	return key, nil
}

// OpenAPI gives the description of the REST interface, which comes from the routes alone.
func OpenAPI() []byte {
	server := &rest.Server{}
	return api.New(api.Config{Title: "Tenon", Version: rest.Level}, server.Routes()).Document()
}
