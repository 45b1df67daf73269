package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/google/renameio/v2"

	"tenon/internal/base/secret"
	"tenon/internal/core/account"
)

// credentialsFile holds what the first administrator signs on with, until the operator
// deletes it.
const credentialsFile = "initial_root_credentials"

// firstStart makes the administrator where there is no user yet. What it makes up is
// shown once and kept in a file; what the operator gave is neither shown nor kept.
func (a *App) firstStart(ctx context.Context) error {
	in := account.RootInput{Password: string(a.config.Root.Password), Token: string(a.config.Root.Token)}
	made := ""
	if in.Password == "" {
		in.Password = rand.Text()
		made += "password: " + in.Password + "\n"
	}
	if in.Token == "" {
		in.Token = secret.NewToken(secret.AccessTokenPrefix)
		made += "token: " + in.Token + "\n"
	}
	isNew, err := a.core.Accounts.EnsureRoot(ctx, in)
	if err != nil {
		return fmt.Errorf("make the first administrator: %w", err)
	}
	if !isNew {
		return nil
	}
	if a.brief {
		return nil // who made it gave both
	}
	debug.FreeOSMemory() // hashing the password took 19 MiB
	if made == "" {
		_, _ = fmt.Fprint(os.Stderr, "\nThe administrator root was created with the password and the token that were given.\n\n")
		return nil
	}
	name := filepath.Join(a.config.Data, credentialsFile)
	text := "user: root\n" + made
	if err := renameio.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, _ = fmt.Fprintf(os.Stderr, "\nThe administrator was created. This is shown once; it also stands in %s.\n\n%s\n", name, text)
	return nil
}
