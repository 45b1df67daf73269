package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/webhook"
)

// call is a request that a receiver got.
type call struct {
	path, body string
	header     http.Header
	at         time.Time
}

// receiver is another server. Its answer depends on the path, by a function of the test.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rec.mu.Lock()
		rec.calls = append(rec.calls, call{r.URL.RequestURI(), string(body), r.Header.Clone(), time.Now()})
		rec.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(rec.Close)
	return rec
}

// got returns what came since it was asked last.
func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.calls
	r.calls = nil
	return out
}

func paths(calls []call) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.path+c.body)
	}
	return strings.Join(out, " ")
}

// receive hands an event over, as core/hookevent does.
func (w *world) receive(m payload.Message) {
	w.T.Helper()
	if m.Chain == "" {
		m.Chain = fmt.Sprintf("chain %d", w.now().UnixNano())
	}
	if m.At.IsZero() {
		m.At = w.now()
	}
	if m.JSON == nil {
		m.JSON = []byte(`{}`)
	}
	if err := w.DB.InTx(w.T.Context(), func(ctx context.Context) error { return w.hooks.Receive(ctx, &m) }); err != nil {
		w.T.Fatal(err)
	}
}

// listening asks whether anybody wants to be notified.
func (w *world) listening(trigger payload.Trigger, in authz.NamespaceID) bool {
	w.T.Helper()
	query, args := w.hooks.Listening(payload.Audience{Trigger: trigger, Namespace: in})
	if query == "" {
		return false
	}
	out, err := db.Get[bool](w.T.Context(), w.DB, "SELECT EXISTS ("+query+")", args...)
	if err != nil {
		w.T.Fatal(err)
	}
	return out
}

func (w *world) attempts(at authz.Place, id webhook.ID, statuses ...string) []webhook.Attempt {
	w.T.Helper()
	list, err := w.hooks.Attempts(w.T.Context(), w.admin, at, id, webhook.AttemptFilter{Statuses: statuses, Range: page.Range{Limit: 20}})
	if err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// Pushes to the shop are told to the hooks of the shop, of its group and of the instance that ask for them, in their order, with the
// headers of the contract; what was sent can be read and sent again.
func TestService_Receive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec := newReceiver(t, nil)
		ctx, shop := t.Context(), w.shop()
		own := w.create(webhook.Changes{
			URL: to(strings.Replace(rec.URL, "http://", "http://mia:pw@", 1) + "/own/{who}"), Token: to("s3cret"), Variables: map[string]string{"who": "s3cret-who"},
			Headers: map[string]string{"x-own": "s3cret-header", "user-agent": "mine"},
		})
		if w.listening(payload.Issue, shop.Namespace) || !w.listening(payload.Push, shop.Namespace) || w.listening(payload.Push, w.group.Namespace) {
			t.Error("the hook of the shop wants pushes to the shop alone")
		}
		for _, h := range []struct {
			at authz.Place
			c  webhook.Changes
		}{
			{w.group, webhook.Changes{URL: to(rec.URL + "/group"), Attributes: webhook.Attributes{BranchFilter: to("release/*")}}},
			{w.group, webhook.Changes{URL: to(rec.URL + "/issues"), CodeChanges: webhook.CodeChanges{Push: to(false)}, PlaceChanges: webhook.PlaceChanges{Issues: to(true)}}},
			{authz.Place{}, webhook.Changes{URL: to(rec.URL + "/system"), CodeChanges: webhook.CodeChanges{Push: to(true)}, Attributes: webhook.Attributes{Strategy: to("regex"), BranchFilter: to("^(main|release/1)$")}}},
		} {
			if _, err := w.hooks.Create(ctx, w.admin, h.at, h.c); err != nil {
				t.Fatal(err)
			}
		}
		push := func(ref, body string) payload.Message {
			return payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/" + ref, JSON: []byte(body)}
		}
		w.receive(push("main", `{"n":1}`))
		w.receive(push("release/1", `{"n":2}`))
		w.receive(push("feature", `{"n":3}`))
		w.set("silent_mode_enabled", true)
		w.receive(push("main", `{"n":5}`))
		w.set("silent_mode_enabled", false)
		w.work()
		calls := rec.got()
		for path, want := range map[string]string{
			"/own/": `/own/s3cret-who{"n":1} /own/s3cret-who{"n":2} /own/s3cret-who{"n":3}`, "/group": `/group{"n":2}`,
			"/system": `/system{"n":1} /system{"n":2}`, "/issues": "",
		} {
			if got := paths(slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return !strings.HasPrefix(c.path, path) })); got != want {
				t.Errorf("%s got %s, want %s", path, got, want)
			}
		}
		var first call
		for _, c := range calls {
			if c.path == "/system" && c.header.Get("X-Gitlab-Event") != "System Hook" {
				t.Errorf("a hook of the instance is called for %s", c.header.Get("X-Gitlab-Event"))
			}
			if strings.HasPrefix(c.path, "/own") && first.path == "" {
				first = c
			}
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "User-Agent": "GitLab/16.0.0-ee", "X-Gitlab-Event": "Push Hook", "X-Gitlab-Instance": "https://tenon.example.com", "X-Gitlab-Token": "s3cret",
			"X-Own": "s3cret-header", "Authorization": "Basic bWlhOnB3",
		} {
			if got := first.header.Get(name); got != want {
				t.Errorf("header %s: got %q, want %q", name, got, want)
			}
		}
		log := w.attempts(shop, own.ID)
		if len(log) != 3 || string(log[2].RequestData) != `{"n":1}` || log[2].Status != 200 || log[2].Trigger != "push_hooks" || log[2].URL != own.URL ||
			log[2].RequestHeaders["Idempotency-Key"] != first.header.Get("Idempotency-Key") || log[2].RequestHeaders["X-Gitlab-Webhook-Uuid"] == "" {
			t.Fatalf("logged %+v", log)
		}
		if text, _ := json.Marshal(log); strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "mia") {
			t.Errorf("the log names a secret: %s", text)
		}

		// The third is sent again with its key, and with another id of its own.
		status, err := w.hooks.Resend(ctx, w.maintainer, shop, own.ID, log[0].ID)
		again := rec.got()
		if err != nil || status != 200 || len(again) != 1 || again[0].body != `{"n":3}` || again[0].header.Get("Idempotency-Key") != log[0].RequestHeaders["Idempotency-Key"] ||
			again[0].header.Get("X-Gitlab-Webhook-Uuid") == log[0].RequestHeaders["X-Gitlab-Webhook-Uuid"] {
			t.Errorf("resent: %d, %v, %+v", status, err, again)
		}
		for _, refused := range []struct {
			as   authz.Actor
			at   authz.Place
			kind errs.Kind
		}{{w.admin, w.group, errs.NotFound}, {w.admin, authz.Place{}, errs.NotFound}} {
			if _, err := w.hooks.Resend(ctx, refused.as, refused.at, own.ID, log[0].ID); !errs.Is(err, refused.kind) {
				t.Errorf("resent from %q: %v", refused.at.Path, err)
			}
			if _, err := w.hooks.Attempt(ctx, refused.as, refused.at, own.ID, log[0].ID); !errs.Is(err, refused.kind) {
				t.Errorf("read from %q: %v", refused.at.Path, err)
			}
		}
		for range 4 {
			_, err = w.hooks.Resend(ctx, w.maintainer, shop, own.ID, log[0].ID)
		}
		if _, more := w.hooks.Resend(ctx, w.maintainer, shop, own.ID, log[0].ID); err != nil || !errs.Is(more, errs.TooMany) {
			t.Errorf("the fifth: %v, the sixth: %v", err, more)
		}
	})
}

// A receiver that fails gets each delivery three times, with one key; four deliveries that fail have the hook pause, ever longer, and the
// fortieth disables it. What happens meanwhile is not sent later. A success forgets all of it.
func TestService_failures(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		status := 503
		rec := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) })
		shop := w.shop()
		h := w.create(webhook.Changes{URL: &rec.URL})
		push := func(n int) {
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: fmt.Appendf(nil, `{"n":%d}`, n)})
			w.work()
		}
		find := func() *webhook.Hook {
			found, err := w.hooks.Find(t.Context(), w.maintainer, shop, h.ID)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		push(1)
		for range 4 {
			w.pass(3 * time.Minute)
		}
		calls := rec.got()
		if len(calls) != 3 || calls[0].header.Get("Idempotency-Key") != calls[2].header.Get("Idempotency-Key") || find().Failures != 1 {
			t.Fatalf("one delivery had %d calls, %d failures", len(calls), find().Failures)
		}
		status = 404 // is not repeated
		push(2)
		push(3)
		if got := find(); got.Failures != 3 || got.Status != webhook.Executable {
			t.Errorf("three failures: %+v", got)
		}
		if len(w.warned) != 0 {
			t.Errorf("a warning too early: %s", w.warned)
		}
		push(4)
		got := find()
		if pause := got.DisabledUntil.V.Sub(w.now()); got.Status != webhook.TemporarilyDisabled || pause > time.Minute || pause < 50*time.Second || *got.Reason != "The receiver answered 404" {
			t.Errorf("after four failures: %+v", got)
		}
		w.later.Add(int64(2 * time.Minute))
		if got := find(); got.Status != webhook.Executable || got.Reason != nil {
			t.Errorf("after the pause: %+v", got)
		}
		w.later.Add(int64(-2 * time.Minute))
		if want := fmt.Sprint(h.ID, " temporarily_disabled"); !slices.Equal(w.warned, []string{want}) {
			t.Errorf("warned of %q, want %q", w.warned, want)
		}
		rec.got()
		push(5)
		w.pass(2 * time.Minute)
		if calls := rec.got(); len(calls) != 0 {
			t.Errorf("what happened during the pause was sent: %s", paths(calls))
		}
		for n := 6; n <= 41; n++ {
			w.pass(25 * time.Hour)
			push(n)
		}
		if got := find(); got.Status != webhook.DisabledForGood || got.Failures != 40 || w.listening(payload.Push, shop.Namespace) {
			t.Errorf("after forty failures: %+v", got)
		}
		if want := []string{fmt.Sprint(h.ID, " temporarily_disabled"), fmt.Sprint(h.ID, " disabled")}; !slices.Equal(w.warned, want) {
			t.Errorf("warned of %q, want %q", w.warned, want)
		}
		status = 200
		log := w.attempts(shop, h.ID, webhook.ClientFailure)
		if len(log) == 0 || len(w.attempts(shop, h.ID, "200")) != 0 {
			t.Fatalf("%d failures are logged", len(log))
		}
		if _, err := w.hooks.Resend(t.Context(), w.maintainer, shop, h.ID, log[0].ID); err != nil {
			t.Fatal(err)
		}
		if got := find(); got.Status != webhook.Executable || got.Failures != 0 || got.Reason != nil {
			t.Errorf("after a success: %+v", got)
		}
	})
}

// Why a hook failed is shown without what is secret: a server that a variable names, and values.
func TestService_reason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	w.rules.Local = true
	shop := w.shop()
	for _, tt := range []struct {
		url, want string
		variables map[string]string
	}{
		{"http://{host}/", "lookup {host}: no such host", map[string]string{"host": "s3cret.example.org"}},
		{"http://a.example.com{end}/", "lookup a.example.com{end}: no such host", map[string]string{"end": ".s3"}},
		{"http://127.0.0.1:{port}/", "dial tcp 127.0.0.1:{port}: connect: connection refused", map[string]string{"port": "1"}},
	} {
		h := w.create(webhook.Changes{URL: to(tt.url), Variables: tt.variables})
		for range 4 {
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main"})
			w.work()
			w.pass(2 * time.Minute)
			w.pass(6 * time.Minute)
		}
		w.later.Add(int64(-6 * time.Minute))
		found, err := w.hooks.Find(t.Context(), w.maintainer, shop, h.ID)
		if err != nil || found.Reason == nil || !strings.Contains(*found.Reason, tt.want) {
			t.Errorf("%s: %+v %v", tt.url, found, err)
		}
		for _, a := range w.attempts(shop, h.ID) {
			if !strings.Contains(a.ResponseBody, tt.want) {
				t.Errorf("%s is logged as %q", tt.url, a.ResponseBody)
			}
		}
		if err := w.hooks.Delete(t.Context(), w.maintainer, shop, h.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits for what happens without a job.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(20 * time.Second); !done(); <-look.C {
		if time.Now().After(end) {
			t.Fatal("it did not happen in 20 seconds")
		}
	}
}

// A worker that is killed while it calls a hook leaves the delivery: it is made again with the same key, when the lease of the worker has
// ended, and those after it come later. A worker that finds the hook leased makes no second call beside.
func TestService_killed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		killed, kill := context.WithCancel(t.Context())
		first := true
		rec := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
			if first {
				first = false
				kill()
				<-r.Context().Done()
			}
		})
		shop := w.shop()
		w.create(webhook.Changes{URL: &rec.URL})
		for n := range 3 {
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		if err := w.jobs.Drain(killed); err == nil {
			t.Error("the worker was not killed")
		}
		before := rec.got()
		if _, err := d.Exec(t.Context(), "UPDATE webhooks SET leased_until = ?", db.At(w.now().Add(30*time.Second))); err != nil { // as kill -9 leaves it
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), "UPDATE river_job SET state = 'available' WHERE state = 'running'"); err != nil {
			t.Fatal(err)
		}
		w.pass(0)
		if calls := rec.got(); len(calls) != 0 {
			t.Errorf("called beside the worker that has the hook: %s", paths(calls))
		}
		w.pass(31 * time.Second)
		calls := rec.got()
		if paths(calls) != `/{"n":0} /{"n":1} /{"n":2}` || len(before) != 1 || calls[0].header.Get("Idempotency-Key") != before[0].header.Get("Idempotency-Key") {
			t.Errorf("called before: %s, after: %s", paths(before), paths(calls))
		}
		left, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM webhook_deliveries")
		if err != nil || left != 0 {
			t.Errorf("%d deliveries are left, %v", left, err)
		}
	})
}

// A call has led to another event, by a receiver that used the API: the hooks that were called before in the chain are not called again.
func TestService_chain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec := newReceiver(t, nil)
		shop := w.shop()
		w.create(webhook.Changes{URL: to(rec.URL + "/code"), CodeChanges: webhook.CodeChanges{TagPush: to(true)}})
		w.create(webhook.Changes{URL: to(rec.URL + "/issues"), CodeChanges: webhook.CodeChanges{Push: to(false)}, PlaceChanges: webhook.PlaceChanges{Issues: to(true)}})
		event := func(trigger payload.Trigger, at time.Time) {
			w.receive(payload.Message{Trigger: trigger, Namespace: shop.Namespace, Ref: "refs/heads/main", Chain: "one", At: at})
			w.work()
		}
		at := w.now()
		event(payload.Push, at)
		event(payload.TagPush, at) // of the same push
		event(payload.Issue, at.Add(time.Second))
		event(payload.Push, at.Add(2*time.Second))
		event(payload.Issue, at.Add(3*time.Second))
		if got := paths(rec.got()); got != "/code{} /code{} /issues{}" {
			t.Errorf("called %s", got)
		}
	})
}

// However slow some receivers are, others wait at most a second for them, and are called in the order of their events.
func TestService_slow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		release := make(chan struct{})
		rec := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
		})
		shop := w.shop()
		const slow = 99 // many more than there are workers, none of them known to be slow
		for n := range slow {
			at := shop
			if n >= 60 {
				at = w.group
			}
			if _, err := w.hooks.Create(t.Context(), w.admin, at, webhook.Changes{URL: to(rec.URL + "/slow")}); err != nil {
				t.Fatal(err)
			}
		}
		healthy := w.create(webhook.Changes{URL: to(rec.URL + "/healthy")})
		if err := w.jobs.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.jobs.Stop(context.WithoutCancel(t.Context())) })
		for n := range 3 {
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main", JSON: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		eventually(t, func() bool { return len(w.attempts(shop, healthy.ID)) > 0 })
		held, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM webhooks WHERE slow")
		if err != nil || held > 32 {
			t.Errorf("before the healthy receiver workers waited for %d of %d slow ones as long as they ever do, %v", held, slow, err)
		}
		eventually(t, func() bool { return len(w.attempts(shop, healthy.ID)) == 3 })
		close(release)
		eventually(t, func() bool {
			left, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM webhook_deliveries")
			return err == nil && left == 0
		})
		if got := rec.got(); len(got) != (slow+1)*3 {
			t.Errorf("%d calls were made, want %d", len(got), (slow+1)*3)
		}
	})
}
