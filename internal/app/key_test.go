package app

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/config"
	"tenon/internal/base/secret"
	"tenon/internal/core/project"
)

// TestKey_lost takes the key away from an instance with users: it does not start until
// the operator has brought it back or replaced it.
func TestKey_lost(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		ctx := context.WithoutCancel(t.Context())
		for id, sealed := range map[project.ID]string{901: "v1.sealed", 902: "", 903: "v1.sealed"} {
			if err := s.jobs.Enqueue(ctx, project.Import{ProjectID: id, URL: "http://127.0.0.1:1/x", Sealed: sealed}); err != nil {
				t.Fatal(err)
			}
		}
		shop := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "shop"}), "id")
		for name, shared := range map[string]string{"signed": "s3cret", "plain": ""} {
			s.do("admin", "POST", shop+"/external_status_checks", obj{"name": name, "external_url": "https://checks.invalid/" + name, "shared_secret": shared})
		}
		log := slog.New(slog.DiscardHandler)
		if _, err := ReplaceKey(ctx, s.config, log); err == nil || !strings.Contains(err.Error(), "another server runs") {
			t.Errorf("while a server runs: got %v, want a refusal", err)
		}
		if err := s.App.Close(ctx); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(s.data, secret.KeyFile)
		key, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		start := func() (*App, error) { return New(ctx, s.config, log, s.build) }
		_, err = start()
		if err == nil {
			t.Fatal("a server starts without the key of its users")
		}
		for _, part := range []string{name, "1 users", "restore it from a backup", "tenon admin key replace"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %q, want it to say %q", err, part)
			}
		}
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("a key was made silently: %v", err)
		}

		replaced, err := ReplaceKey(ctx, s.config, log)
		if err != nil {
			t.Fatal(err)
		}
		if want := (ReplacedKey{Users: 1, Imports: 2, Checks: 1, Minutes: 30}); *replaced != want {
			t.Errorf("got %+v, want %+v", *replaced, want)
		}
		if now, err := os.ReadFile(name); err != nil || string(now) == string(key) {
			t.Errorf("the key is not another one: %v", err)
		}
		again, err := start()
		if err != nil {
			t.Fatalf("with another key: %v", err)
		}
		if _, _, err := again.core.Tokens.Authenticate(ctx, rootToken); err != nil {
			t.Errorf("a token after that: %v", err)
		}
		if err := again.Close(ctx); err != nil {
			t.Fatal(err)
		}

		// The right key comes back from a backup.
		if err := os.WriteFile(name, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err = start(); err != nil {
			t.Fatalf("with the old key: %v", err)
		}
		if err := again.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestKey_new(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := &config.Config{Data: data, Database: "sqlite:" + filepath.Join(data, "tenon.db"), ExternalURL: &url.URL{}}
	if _, err := ReplaceKey(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no instance of Tenon") {
		t.Errorf("a folder without an instance: got %v, want a refusal", err)
	}
}
