package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"tenon/internal/base/secret"
	"tenon/internal/core/token"
)

// credentialsFile holds what the first administrator signs on with, until the operator
// deletes it.
const credentialsFile = "initial_root_credentials"

// firstStart makes the administrator where there is no user yet. What it makes up is kept in
// a file, and shown once on a terminal; what the operator gave is neither shown nor kept.
func (a *App) firstStart(ctx context.Context) error {
	in := token.RootInput{Password: string(a.config.Root.Password), Token: string(a.config.Root.Token)}
	made := ""
	if in.Password == "" {
		in.Password = rand.Text()
		made += "password: " + in.Password + "\n"
	}
	if in.Token == "" {
		in.Token = secret.NewToken(secret.AccessTokenPrefix)
		made += "token: " + in.Token + "\n"
	}
	isNew, err := a.core.Tokens.EnsureRoot(ctx, in)
	if err != nil {
		return fmt.Errorf("make the first administrator: %w", err)
	}
	if !isNew {
		return nil
	}
	if a.brief {
		return nil // who made it gave both
	}
	a.hashed = true
	if made == "" {
		a.log.Info("the first administrator was created with the given password and access token", "user", "root")
		return nil
	}
	name := filepath.Join(a.config.Data, credentialsFile)
	text := "user: root\n" + made
	if err := renameio.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	a.log.Info("the first administrator was created", "user", "root", "credentials_file", name)
	if terminal(os.Stderr) { // what collects the log must not have them
		_, _ = fmt.Fprintf(os.Stderr, "\nThe administrator was created. This is shown once; it also stands in %s.\n\n%s\n", name, text)
	}
	return nil
}

// terminal reports whether a file is a terminal.
func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
