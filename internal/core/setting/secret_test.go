package setting_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

func newBox(t *testing.T) *secret.Box {
	t.Helper()
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// A secret is in no row and in no event, and is lost with the key; the server starts all the same.
func TestService_Update_secret(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		bus, box, policy := &event.Bus{}, newBox(t), authz.New(d, time.Now)
		store := setting.New(d, time.Now).Sealed(box)
		s := setting.NewService(setting.Deps{Store: store, Policy: policy, Bus: bus})
		events := ""
		event.On(bus, "test", func(_ context.Context, e setting.Changed) error {
			if e.Name == "local_markdown_version" {
				return nil
			}
			from, to := e.From.(*string), e.To.(*string)
			events += fmt.Sprintf("%s %t %s; ", e.Name, from != nil, *to)
			return nil
		})
		const key = "6Ldno-one-may-read-this"
		got, err := s.Update(t.Context(), authz.System(), map[string]any{"recaptcha_private_key": key, "asset_proxy_secret_key": key})
		if err != nil || got.RecaptchaPrivateKey == nil || *got.RecaptchaPrivateKey != key || *got.AssetProxySecretKey != key {
			t.Fatalf("got %v, %v", got.RecaptchaPrivateKey, err)
		}
		if want := "asset_proxy_secret_key false [MASKED]; recaptcha_private_key false [MASKED]; "; events != want {
			t.Errorf("events %s, want %s", events, want)
		}
		stored, err := db.Select[string](t.Context(), d, "SELECT value FROM settings ORDER BY name")
		if err != nil || len(stored) < 2 || strings.Contains(strings.Join(stored, " "), key) {
			t.Errorf("stored %v, %v", stored, err)
		}
		again := setting.New(d, time.Now).Sealed(box)
		if err := again.Open(t.Context()); err != nil || again.Current().RecaptchaPrivateKey == nil || *again.Current().RecaptchaPrivateKey != key {
			t.Errorf("read again: %v", err)
		}
		other := setting.New(d, time.Now).Sealed(newBox(t))
		if err := other.Open(t.Context()); err != nil || other.Current().RecaptchaPrivateKey != nil || len(other.Current().Broken()) != 2 {
			t.Errorf("with another key: %v, %v", other.Current().Broken(), err)
		}
		if _, err := setting.NewService(setting.Deps{Store: setting.New(d, time.Now), Policy: policy, Bus: bus}).
			Update(t.Context(), authz.System(), map[string]any{"akismet_api_key": key}); err == nil {
			t.Error("a secret was stored without a key")
		}
	})
}

// What this release does not take is not in force, and does not keep the server from starting.
func TestStore_Open_broken(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, value := range map[string]string{
			"default_projects_limit": `"many"`, "deletion_adjourned_period": "900", "no_longer_there": "1", "can_create_group": "false",
		} {
			if _, err := db.InsertRow(t.Context(), d, "settings", db.Values{"name": name, "value": value, "updated_at": time.Now()}, ""); err != nil {
				t.Fatal(err)
			}
		}
		store := setting.New(d, time.Now)
		if err := store.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := store.Current()
		if now.DefaultProjectsLimit != 100_000 || now.DeletionAdjournedPeriod != 7 || now.CanCreateGroup {
			t.Errorf("in force: %d, %d, %t", now.DefaultProjectsLimit, now.DeletionAdjournedPeriod, now.CanCreateGroup)
		}
		const want = "[{default_projects_limit is of another type} {deletion_adjourned_period must be less than or equal to 90}]"
		if got := fmt.Sprint(now.Broken()); got != want {
			t.Errorf("broken: %s, want %s", got, want)
		}
	})
}

// Settings that contradict each other since before a rule came keep no other from being changed; no new contradiction is stored.
func TestService_Update_earlier_conflict(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := setting.New(d, time.Now)
		for name, value := range map[string]bool{"delayed_group_deletion": false, "delayed_project_deletion": true} {
			if err := store.Set(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
		s := setting.NewService(setting.Deps{Store: store, Policy: authz.New(d, time.Now), Bus: &event.Bus{}})
		if got, err := s.Update(t.Context(), authz.System(), map[string]any{"default_projects_limit": 7}); err != nil || got.DefaultProjectsLimit != 7 {
			t.Errorf("another setting: %v", err)
		}
		if _, err := s.Update(t.Context(), authz.System(), map[string]any{"enforce_terms": true}); err == nil {
			t.Error("a new contradiction was stored")
		}
	})
}
