package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/config"
)

// TestFirstStart_credentials keeps what was made up, and nothing of what was given.
func TestFirstStart_credentials(t *testing.T) {
	t.Parallel()
	const password, token = "given-from-outside-1", "glpat-given-from-outside"
	for _, tt := range []struct {
		name string
		root config.Root
		want string // of the file; "" for none
	}{
		{"nothing given", config.Root{}, `^user: root\npassword: [A-Z2-7]{26}\ntoken: glpat-[A-Za-z0-9_-]{20,}\n$`},
		{"password given", config.Root{Password: password}, `^user: root\ntoken: glpat-[A-Za-z0-9_-]{20,}\n$`},
		{"token given", config.Root{Token: token}, `^user: root\npassword: [A-Z2-7]{26}\n$`},
		{"both given", config.Root{Password: password, Token: token}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			a, err := New(t.Context(), &config.Config{
				Data: data, HTTP: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(data, "tenon.db"), Root: tt.root,
			}, slog.New(slog.DiscardHandler), Build{Version: "test", Revision: "unknown"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = a.Close(context.WithoutCancel(t.Context())) })
			text, err := os.ReadFile(filepath.Join(data, credentialsFile))
			switch {
			case tt.want == "" && !os.IsNotExist(err):
				t.Errorf("got %q, %v, want no file", text, err)
			case tt.want != "" && !regexp.MustCompile(tt.want).Match(text):
				t.Errorf("got %q, %v, want %s", text, err, tt.want)
			}
			if tt.root.Token != "" {
				if _, _, err := a.core.Tokens.Authenticate(t.Context(), token); err != nil {
					t.Errorf("the token that was given: %v", err)
				}
			}
			for _, name := range []string{"tenon.db", "tenon.db-wal", credentialsFile} {
				kept, _ := os.ReadFile(filepath.Join(data, name)) // there may be none
				if strings.Contains(string(kept), password) || strings.Contains(string(kept), token) {
					t.Errorf("%s has what was given in clear", name)
				}
			}
		})
	}
}
