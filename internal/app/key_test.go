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
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/schedule"
	"tenon/internal/core/variable"
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
		s.do("admin", "POST", shop+"/variables", obj{"key": "TOKEN", "value": "s3cret"})
		s.do("admin", "POST", shop+"/triggers", obj{"description": "nightly"})
		s.do("admin", "POST", shop+"/repository/commits", obj{
			"branch": "main", "commit_message": "Begin", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "build: {script: x}\n"}},
		})
		schedule := shop + "/pipeline_schedules/" + number(s.do("admin", "POST", shop+"/pipeline_schedules", obj{"description": "nightly", "ref": "main", "cron": "0 1 * * *"}), "id")
		s.do("admin", "POST", schedule+"/variables", obj{"key": "WHEN", "value": "night"})
		s.do("admin", "POST", shop+"/pipeline", obj{"ref": "main", "variables": []obj{{"key": "WHY", "value": "asked"}}})
		s.do("admin", "POST", shop+"/deploy_tokens", obj{"name": "gitlab-deploy-token", "scopes": []string{"read_repository"}})
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
		if want := (ReplacedKey{Users: 1, Imports: 2, Checks: 1, Variables: 1, ScheduleVariables: 1, PipelineVariables: 1, Triggers: 1, Registrations: 1, DeployTokens: 1, Minutes: 30}); *replaced != want {
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
		lostVariable(t, again)
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

// lostVariable sets a variable again whose value was lost with the key, and reads what else was.
func lostVariable(t *testing.T, a *App) {
	t.Helper()
	ctx := t.Context()
	root, _, err := a.core.Tokens.Authenticate(ctx, rootToken)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.core.Projects.Find(ctx, root, "root/shop")
	if err != nil {
		t.Fatal(err)
	}
	at := p.Place()
	if v, err := a.core.Variables.Find(ctx, root, at, "TOKEN", variable.Filter{}); err != nil || v.Value != nil {
		t.Errorf("a variable that was lost: got %+v, %v, want no value", v, err)
	}
	value := "another"
	if v, err := a.core.Variables.Update(ctx, root, at, "TOKEN", variable.Filter{}, variable.Changes{Value: &value}); err != nil || v.Value == nil || *v.Value != value {
		t.Errorf("set again: got %+v, %v", v, err)
	}
	schedules, err := a.core.Schedules.List(ctx, root, p, schedule.Filter{Range: page.Range{Limit: 10}})
	if err != nil || len(schedules.Items) != 1 {
		t.Fatalf("schedules: got %+v, %v", schedules.Items, err)
	}
	nightly := &schedules.Items[0]
	if vars, err := a.core.Schedules.Variables(ctx, root, p, nightly); err != nil || len(vars) != 1 || vars[0].Key != "WHEN" || vars[0].Value != "" {
		t.Errorf("variables of a schedule: got %+v, %v, want one without a value", vars, err)
	}
	if v, err := a.core.Schedules.UpdateVariable(ctx, root, p, nightly.ID, "WHEN", schedule.VariableChanges{Value: &value}); err != nil || v.Value != value {
		t.Errorf("set again: got %+v, %v", v, err)
	}
	if token, _, err := a.core.Tokens.DeployTokenOfJobs(ctx, p.NamespaceID); err != nil || token != nil {
		t.Errorf("deploy token of jobs: got %+v, %v, want none", token, err)
	}
	triggers, err := a.core.Triggers.List(ctx, root, p, page.Range{Limit: 10})
	if err != nil || len(triggers.Items) != 1 || triggers.Items[0].Token != "" {
		t.Errorf("triggers: got %+v, %v, want one without its token", triggers.Items, err)
	}
	tokens, err := a.core.Runners.RegistrationTokens(ctx, root, []authz.Place{p.Place()})
	if err != nil || len(tokens) != 0 {
		t.Errorf("registration tokens: got %v, %v, want none until it is reset", tokens, err)
	}
}
