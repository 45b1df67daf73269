package main

import (
	"context"
	"fmt"
	"os"

	"tenon/internal/app"
)

type adminCommand struct {
	Token struct {
		Create tokenCreateCommand `cmd:"" help:"Make a personal access token and print it."`
	} `cmd:"" help:"Access tokens."`
}

type tokenCreateCommand struct {
	User    string   `required:"" help:"Username or id of the token's owner."`
	Name    string   `required:"" help:"Name of the token."`
	Scopes  []string `required:"" help:"Scopes, separated by commas."`
	Expires string   `help:"Day of expiry, YYYY-MM-DD; a year from now if absent."`
}

// Run makes the token in the data itself, whether or not a server runs on it.
func (t tokenCreateCommand) Run(ctx context.Context, f *flags) error {
	f.HTTP, f.SSH = "127.0.0.1:0", "off" // nobody is served
	return f.with(ctx, func(a *app.App) error {
		key, err := a.CreateToken(ctx, t.User, t.Name, t.Scopes, t.Expires)
		if err != nil {
			return err //nolint:wrapcheck // it says what is wrong
		}
		_, err = fmt.Fprintln(os.Stdout, key)
		return err //nolint:wrapcheck // nothing to add
	})
}
