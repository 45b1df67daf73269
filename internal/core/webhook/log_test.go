package webhook_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/webhook"
)

// count counts the rows of a table.
func (w *world) count(table string) int {
	w.T.Helper()
	n, err := db.Get[int](w.T.Context(), w.DB, "SELECT COUNT(*) FROM "+table)
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// calm works until no hook is called any more, also by calls for which the workers did not wait.
func (w *world) calm() {
	w.T.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		w.work()
		if n, err := db.Get[int](w.T.Context(), w.DB, "SELECT (SELECT COUNT(*) FROM webhooks WHERE leased_until IS NOT NULL) + (SELECT COUNT(*) FROM webhook_deliveries)"); err != nil {
			w.T.Fatal(err)
		} else if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.T.Fatal("hooks are called for a minute")
		}
		select {
		case <-w.T.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// clean does the job that deletes attempts.
func (w *world) clean() {
	w.T.Helper()
	n, err := w.DB.Exec(w.T.Context(), "UPDATE river_job SET state = 'available', scheduled_at = ? WHERE kind = 'clean_hook_log' AND state = 'scheduled'", time.Now().Add(-time.Second))
	if err != nil || n != 1 {
		w.T.Fatalf("%d jobs clean the log, %v", n, err)
	}
	w.work()
}

// Attempts are kept for a week and within the limit, the oldest go first, and bodies go with the last attempt that names them. An attempt whose
// delivery waits for its repeat stays.
func TestService_clean(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec, shop := newReceiver(t, nil), w.shop()
		one := w.create(webhook.Changes{URL: to(rec.URL + "/one")})
		two := w.create(webhook.Changes{URL: to(rec.URL + "/two")})
		push := func() {
			noise := make([]byte, 1000)
			for i := range noise {
				noise[i] = byte('a' + rand.IntN(26))
			}
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: fmt.Appendf(nil, "%q", noise)})
			w.calm()
		}
		for range 3 {
			push()
		}
		w.pass(6 * 24 * time.Hour)
		push()
		w.pass(2 * 24 * time.Hour)
		if shown := w.attempts(shop, one.ID); len(shown) != 1 {
			t.Errorf("%d attempts of the last week are shown, want 1", len(shown))
		}
		w.clean()
		if attempts, bodies := w.count("webhook_attempts"), w.count("webhook_bodies"); attempts != 2 || bodies != 1 {
			t.Errorf("after a week: %d attempts, %d bodies", attempts, bodies)
		}
		for range 30 {
			push()
		}
		w.set("webhook_log_size_limit", 16*10_000)
		w.clean()
		first, second := w.attempts(shop, one.ID), w.attempts(shop, two.ID)
		if n := w.count("webhook_attempts"); n != len(first)+len(second) || len(first) < 3 || len(first) > 10 || len(second) < 3 {
			t.Errorf("within the limit of each hook: %d attempts, %d and %d", n, len(first), len(second))
		}
		if err := w.hooks.Delete(t.Context(), w.maintainer, shop, two.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.hooks.Delete(t.Context(), w.maintainer, shop, one.ID); err != nil {
			t.Fatal(err)
		}
		w.later.Add(int64(8 * 24 * time.Hour))
		w.clean()
		if n := w.count("webhook_bodies"); n != 0 {
			t.Errorf("%d bodies of deleted hooks are left", n)
		}
	})
}

// A template decides what is sent. One whose result is no JSON sends nothing.
func TestService_template(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	w.rules.Local = true
	rec, shop := newReceiver(t, nil), w.shop()
	for _, tt := range []struct{ template, sent, failure string }{
		{`{"text": "{{user.name}} pushed {{count}}", "all": {{user}}}`, `{"text": "Ann \"A\" pushed 2", "all": {"name":"Ann \"A\""}}`, ""},
		{`{"text": "{{commits.0}}{{never}}"}`, `{"text": ""}`, ""},
		{`{"text": {{never}}}`, "", "Error while parsing rendered custom webhook template: the result is no JSON"},
		{`plain {{count}}`, "", "Error while parsing rendered custom webhook template: the result is no JSON"},
	} {
		h := w.create(webhook.Changes{URL: &rec.URL, Attributes: webhook.Attributes{Template: &tt.template}})
		w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: []byte(`{"user":{"name":"Ann \"A\""},"count":2,"commits":["a"]}`)})
		w.work()
		var sent []string
		for _, c := range rec.got() {
			sent = append(sent, c.body)
		}
		if got := strings.Join(sent, ""); got != tt.sent {
			t.Errorf("%s: sent %s, want %s", tt.template, got, tt.sent)
		}
		if log := w.attempts(shop, h.ID); len(log) != 1 || tt.failure != "" && log[0].ResponseBody != tt.failure {
			t.Errorf("%s: %+v", tt.template, log)
		}
		if err := w.hooks.Delete(t.Context(), w.maintainer, shop, h.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// What may not be sent any more is asked when it is sent: a project that has left the group, a user who was blocked, a hook that was deleted.
func TestService_meanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec, shop := newReceiver(t, nil), w.shop()
		gone := w.create(webhook.Changes{URL: to(rec.URL + "/gone")})
		w.create(webhook.Changes{URL: to(rec.URL + "/own")})
		if _, err := w.hooks.Create(t.Context(), w.owner, w.group, webhook.Changes{URL: to(rec.URL + "/group")}); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"1", "2"} {
			m := payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: []byte(body), By: w.dev.UserID}
			if body == "2" {
				m.By = w.maintainer.UserID
			}
			w.receive(m)
		}
		ctx := context.WithoutCancel(t.Context())
		for _, query := range []string{
			fmt.Sprintf("UPDATE users SET state = 'blocked' WHERE id = %d", w.dev.UserID),
			fmt.Sprintf("DELETE FROM namespace_ancestors WHERE namespace_id = %d AND ancestor_id = %d", shop.Namespace, w.group.Namespace),
			fmt.Sprintf("DELETE FROM webhooks WHERE id = %d", gone.ID),
		} {
			if _, err := d.Exec(ctx, query); err != nil {
				t.Fatal(err)
			}
		}
		w.work()
		if got := paths(rec.got()); got != "/own2" {
			t.Errorf("called %s", got)
		}
	})
}

// Mia tries a hook that is disabled: a call that succeeds enables it. Five tries a minute are enough.
func TestService_Test(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec, shop := newReceiver(t, nil), w.shop()
		h := w.create(webhook.Changes{URL: &rec.URL})
		if _, err := d.Exec(t.Context(), "UPDATE webhooks SET failures = 40, disabled = ?, disabled_reason = 'x' WHERE id = ?", true, h.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.hooks.Test(t.Context(), w.maintainer, shop, h.ID, payload.Issue); fmt.Sprint(err) != "Ensure the project has issues." {
			t.Errorf("nothing to make the event of: %v", err)
		}
		if _, err := w.hooks.Test(t.Context(), w.maintainer, shop, h.ID, payload.MergeRequest); err != nil {
			t.Fatal(err)
		}
		calls := rec.got()
		if len(calls) != 1 || calls[0].body != `{"object_kind":"sample"}` || calls[0].header.Get("X-Gitlab-Event") != "Merge Request Hook" || calls[0].header.Get("X-Gitlab-Event-UUID") == "" {
			t.Errorf("called %+v", calls)
		}
		if got, err := w.hooks.Find(t.Context(), w.maintainer, shop, h.ID); err != nil || got.Status != webhook.Executable {
			t.Errorf("after a success: %+v, %v", got, err)
		}
		rec.Close()
		if _, err := w.hooks.Test(t.Context(), w.maintainer, shop, h.ID, payload.Push); !errs.Is(err, errs.Unprocessable) || strings.Contains(err.Error(), rec.URL) {
			t.Errorf("no answer: %v", err)
		}
		for range 2 {
			_, _ = w.hooks.Test(t.Context(), w.maintainer, shop, h.ID, payload.Push)
		}
		if _, err := w.hooks.Test(t.Context(), w.maintainer, shop, h.ID, payload.Push); !errs.Is(err, errs.TooMany) {
			t.Errorf("the sixth: %v", err)
		}
		system, err := w.hooks.Create(t.Context(), w.admin, authz.Place{}, webhook.Changes{URL: to(newReceiver(t, nil).URL)})
		if err != nil {
			t.Fatal(err)
		}
		if sent, err := w.hooks.Probe(t.Context(), w.admin, system.ID); err != nil || !strings.Contains(string(sent), `"event_name":"project_create"`) {
			t.Errorf("sample of the instance: %s, %v", sent, err)
		}
	})
}

// log copies the attempts of the first hook, and their bodies, so many times.
func (w *world) log(many int) {
	w.T.Helper()
	bodies := "place_id, maker_id, chain, event, at, content, size, bytes, created_at"
	attempts := "idempotency_key, url, request_headers, status, response_headers, response_body, duration, bytes, created_at"
	for _, query := range []string{
		"INSERT INTO webhook_bodies (" + bodies + ") WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT " + bodies + " FROM n, webhook_bodies b WHERE b.id = 1",
		"INSERT INTO webhook_attempts (webhook_id, body_id, " + attempts + ") SELECT t.webhook_id, b.id, " + "t." + strings.ReplaceAll(attempts, ", ", ", t.") +
			" FROM webhook_bodies b, webhook_attempts t WHERE t.webhook_id = 1 AND b.id <> 1 AND b.id <= ? + 1",
	} {
		if _, err := w.DB.Exec(w.T.Context(), query, many); err != nil {
			w.T.Fatal(err)
		}
	}
}

// A hook with a large log is deleted in pieces, so that no transaction keeps the writer for long. A hook that was changed meanwhile keeps its log.
func TestService_Delete_log(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec := newReceiver(t, nil)
		shop := w.shop()
		large, other := w.create(webhook.Changes{URL: &rec.URL}), w.create(webhook.Changes{URL: &rec.URL})
		w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main"})
		w.work()
		const many = 1000
		ctx := t.Context()
		w.log(many)
		count := func(table, cond string, args ...any) int {
			n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM "+table+" WHERE "+cond, args...)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		logged := count("webhook_attempts", "webhook_id = ?", large.ID)
		if logged < many {
			t.Fatalf("%d attempts are logged", logged)
		}
		early := w.maintainer
		early.UnmodifiedSince = time.Now().Add(-time.Hour)
		if err := w.hooks.Delete(ctx, early, shop, large.ID); !errs.Is(err, errs.PreconditionFailed) || count("webhook_attempts", "webhook_id = ?", large.ID) != logged {
			t.Errorf("a hook that was changed meanwhile: %v, %d attempts are left", err, count("webhook_attempts", "webhook_id = ?", large.ID))
		}
		all := dbtest.Transactions(t, d, func() {
			if err := w.hooks.Delete(ctx, w.maintainer, shop, large.ID); err != nil {
				t.Error(err)
			}
		})
		_, rows := dbtest.Largest(all)
		sum := int64(0)
		for _, one := range all {
			sum += one.Rows
		}
		if rows > 400 || sum < int64(logged) {
			t.Errorf("one transaction deleted %d rows, all of them %d of %d", rows, sum, logged)
		}
		if n := count("webhook_attempts", "webhook_id = ?", large.ID); n != 0 {
			t.Errorf("%d attempts of the hook are left", n)
		}
		if len(w.attempts(shop, other.ID)) != 1 {
			t.Error("another hook has lost its log")
		}
		if n := count("webhook_bodies", "1 = 1"); n != 1 {
			t.Errorf("%d bodies are left, want the one of the other hook", n)
		}
	})
}
