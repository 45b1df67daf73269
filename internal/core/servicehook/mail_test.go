package servicehook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/appearance"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/payload"
	"tenon/internal/core/servicehook"
	"tenon/internal/core/weburl"
)

// writer has the project group/shop with a repository, and a server that takes mail.
type writer struct {
	*approvaltest.World
	hooks        *servicehook.Service
	integrations *integration.Service
	inbox        *mailtest.Server
}

func eachWriter(t *testing.T, fn func(t *testing.T, w *writer)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &writer{World: approvaltest.New(t, d), inbox: mailtest.New(t, mailtest.Options{})}
		box, err := secret.NewBox(secret.NewKey())
		check(t, err)
		dialer := &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{} }}
		w.integrations = integration.New(integration.Deps{DB: d, Policy: w.Policy, Projects: w.Projects, Bus: w.Bus, Settings: w.Settings, Box: box, Now: w.Now, Outbound: dialer})
		w.hooks = servicehook.New(servicehook.Deps{
			DB: d, Settings: w.Settings, Integrations: w.integrations, Outbound: dialer, Accounts: w.Accounts, Projects: w.Projects, Repos: w.Repos, CI: w.CI,
			Appearance: appearance.New(appearance.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Sender: mail.New(w.inbox.Config()),
			URLs: weburl.New(&url.URL{Scheme: "http", Host: "git.example.com"}, ""), Jobs: job.EnqueuerFunc(w.Enqueue), Log: slog.New(slog.DiscardHandler),
		})
		w.Start(w.hooks.RegisterJobs)
		fn(t, w)
	})
}

func (w *writer) set(t *testing.T, slug string, v kind.Values) {
	t.Helper()
	_, err := w.integrations.Set(t.Context(), w.Maintainer, w.As(w.Maintainer).Place(), slug, integration.Input{Settings: v})
	check(t, err)
}

// tell hands an event to integrations and returns the mails that it leads to.
func (w *writer) tell(t *testing.T, trigger payload.Trigger, body string) []mailtest.Mail {
	t.Helper()
	w.receive(t, trigger, body)
	check(t, w.Jobs.Drain(t.Context()))
	return w.inbox.Take()
}

func (w *writer) receive(t *testing.T, trigger payload.Trigger, body string) {
	t.Helper()
	p := w.As(w.Maintainer)
	check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
		return w.hooks.Receive(ctx, &payload.Message{Trigger: trigger, At: w.Now(), Namespace: p.NamespaceID, Project: p, JSON: []byte(body)})
	}))
}

func (w *writer) pushed(ref, before, after string) string {
	return fmt.Sprintf(`{"object_kind":"push","user_id":%d,"ref":%q,"before":%q,"after":%q,"user_name":"Dave","user_username":"dave",
		"project":{"name":"Shop","namespace":"Group","path_with_namespace":"group/shop","default_branch":"main"}}`, w.Developer.UserID, ref, before, after)
}

// TestService_mail writes to two people about pushes: with the diff, without it, of a rewritten branch, of a new one and of one that was deleted.
func TestService_mail(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		first := w.Push("topic", "main", approvaltest.Files{"b": "one\n"}, "dave")
		second := w.Push("topic", "", approvaltest.Files{"b": "two\n", "c": "new\n"}, "dave")
		const topic = "refs/heads/topic"
		to := kind.Values{"recipients": "ann@example.org nobody bob@example.org", "branches_to_be_notified": "all"}
		w.set(t, "emails-on-push", to)

		got := w.tell(t, payload.Push, w.pushed(topic, first, second))
		if len(got) != 2 || got[0].To != "ann@example.org" || got[1].To != "bob@example.org" || got[0].Get("Message-Id") == got[1].Get("Message-Id") {
			t.Fatalf("mails: %+v", got)
		}
		one := got[0]
		for name, want := range map[string]string{
			"Subject": "[Git][group/shop][topic] Change topic", "X-GitLab-Author": "dave", "X-GitLab-Project-Path": "group/shop",
			"From": `"Dave (dave)" <` + w.inbox.Config().From.Address + ">", "Reply-To": "",
		} {
			if one.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, one.Get(name), want)
			}
		}
		for _, want := range []string{"Dave pushed to branch topic at Group / Shop", second[:8] + " by dave", "2 changed files", "  b\n", "+ c\n", "-one\n+two", "/-/compare/" + first + "..." + second} {
			if !strings.Contains(strings.ReplaceAll(one.Text, "\r", ""), want) {
				t.Errorf("the mail lacks %q:\n%s", want, one.Text)
			}
		}

		to["disable_diffs"], to["send_from_committer_email"] = true, true
		w.set(t, "emails-on-push", to)
		got = w.tell(t, payload.Push, w.pushed(topic, second, first))
		if len(got) != 2 || got[0].Get("Subject") != "[Git][group/shop][topic] Deleted 1 commit: Change topic" || strings.Contains(got[0].Text, "+two") {
			t.Errorf("a rewritten branch: %+v", got)
		}
		if len(got) == 2 && (got[0].Get("From") != `"Dave (dave)" <dave@example.com>` || got[0].From != w.inbox.Config().From.Address) {
			t.Errorf("from %q, in the envelope %q", got[0].Get("From"), got[0].From)
		}

		for subject, body := range map[string]string{
			"[Git][group/shop] Pushed new branch topic": w.pushed(topic, zero, first),
			"[Git][group/shop] Deleted branch topic":    w.pushed(topic, first, zero),
		} {
			if got := w.tell(t, payload.Push, body); len(got) != 2 || got[0].Get("Subject") != subject {
				t.Errorf("%s: %+v", subject, got)
			}
		}
		if got := w.tell(t, payload.Push, w.pushed(topic, first, first)); len(got) > 0 {
			t.Errorf("a push without commits: %+v", got)
		}

		failed := false
		w.inbox.Refuse(func(to string) error {
			if to == "bob@example.org" && !failed {
				failed = true
				return fmt.Errorf("later")
			}
			return nil
		})
		w.receive(t, payload.Push, w.pushed(topic, zero, first))
		if err := w.Jobs.Drain(t.Context()); err == nil {
			t.Error("a mail that fails is no error")
		}
		before := w.inbox.Take()
		w.Exec("UPDATE river_job SET state = 'available', scheduled_at = ? WHERE state IN ('available', 'retryable')", db.At(time.Now().Add(-time.Hour)))
		check(t, w.Jobs.Drain(t.Context()))
		after := w.inbox.Take()
		if len(before) != 1 || before[0].To != "ann@example.org" || len(after) != 1 || after[0].To != "bob@example.org" {
			t.Errorf("with a failure: %d mails, then %d", len(before), len(after))
		}

		w.Exec("UPDATE projects SET emails_enabled = ? WHERE id = ?", false, w.ID)
		if got := w.tell(t, payload.Push, w.pushed(topic, zero, first)); len(got) > 0 {
			t.Errorf("a project without mail: %+v", got)
		}
	})
}

// TestService_pipelineMail writes about a pipeline that failed.
func TestService_pipelineMail(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		w.set(t, "pipelines-email", kind.Values{"recipients": "ann@example.org,bob@example.org"})
		got := w.tell(t, payload.Pipeline, `{"object_kind":"pipeline","user":{"name":"Dave","username":"dave"},
			"project":{"name":"Shop","namespace":"Group","path_with_namespace":"group/shop","default_branch":"main"},
			"object_attributes":{"id":9,"ref":"main","sha":"abcdef0123456789","status":"failed","duration":61},
			"builds":[{"stage":"test","name":"unit","status":"failed"},{"stage":"test","name":"lint","status":"failed","allow_failure":true}]}`)
		if len(got) != 2 || got[0].Get("Subject") != "shop | Failed pipeline for main | abcdef01" || got[0].Get("X-GitLab-Pipeline-Status") != "failed" {
			t.Fatalf("mails: %+v", got)
		}
		if !strings.Contains(got[0].Text, "Failed job: unit") || strings.Contains(got[0].Text, "lint") {
			t.Errorf("the mail says:\n%s", got[0].Text)
		}
	})
}
