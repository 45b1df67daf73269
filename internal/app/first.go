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

// firstStart makes the administrator where there is no user yet, and says once how to
// sign on.
func (a *App) firstStart(ctx context.Context) error {
	in := account.RootInput{Password: string(a.config.Root.Password), Token: string(a.config.Root.Token)}
	if in.Password == "" {
		in.Password = rand.Text()
	}
	if in.Token == "" {
		in.Token = secret.NewToken(secret.AccessTokenPrefix)
	}
	made, err := a.core.Accounts.EnsureRoot(ctx, in)
	if err != nil {
		return fmt.Errorf("make the first administrator: %w", err)
	}
	if !made {
		return nil
	}
	name := filepath.Join(a.config.Data, credentialsFile)
	text := fmt.Sprintf("user: root\npassword: %s\ntoken: %s\n", in.Password, in.Token)
	if err := renameio.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, _ = fmt.Fprintf(os.Stderr, "\nThe administrator was created. This is shown once; it also stands in %s.\n\n%s\n", name, text)
	debug.FreeOSMemory() // hashing the password took 19 MiB
	return nil
}
