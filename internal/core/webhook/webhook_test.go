package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/webhook"
	"tenon/internal/core/weburl"
)

// names resolves the names of receivers.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	ip, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(ip)}, nil
}

// world has the project team/shop with people of several roles, and the administrator.
type world struct {
	*coretest.World
	hooks                                           *webhook.Service
	rules                                           safehttp.Rules
	admin, owner, maintainer, dev, mallory, auditor authz.Actor
	id                                              project.ID
	group                                           authz.Place
	facts                                           []change.Fact
	jobs                                            *job.Queue
	set                                             func(name string, value any)
	later                                           atomic.Int64
	warned                                          []string
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	event.On(w.Bus, "test", func(_ context.Context, e webhook.Created) error { return w.hear(e) })
	event.On(w.Bus, "test", func(_ context.Context, e webhook.Updated) error { return w.hear(e) })
	event.On(w.Bus, "test", func(_ context.Context, e webhook.Deleted) error { return w.hear(e) })
	known := names{"hooks.example.com": "93.184.216.34", "other.example.com": "93.184.216.35", "inside.example.com": "10.0.0.1", "a.example.com": "93.184.216.36", "b.example.com": "93.184.216.37"}
	store := setting.New(d, w.now)
	if err := store.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.set = coretest.Setter(t, store)
	w.hooks = webhook.New(webhook.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Box: box, Now: w.now, Settings: store, Log: slog.New(slog.DiscardHandler), Samples: samples{}, Warner: w, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example.com"}, ""),
		Limits: limit.New(limit.Deps{Settings: store, Now: w.now}), Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
			return w.jobs.Enqueue(ctx, args, options...)
		}),
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return w.rules }, Resolver: known},
		System:   &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{Local: true} }, Resolver: known},
	})
	var registry job.Registry
	w.hooks.RegisterJobs(&registry)
	if err := job.Migrate(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if w.jobs, err = job.New(d, &registry, job.Config{}); err != nil {
		t.Fatal(err)
	}
	w.admin, w.owner, w.maintainer, w.dev, w.mallory = w.Admin("root"), w.User("olga"), w.User("mia"), w.User("dev"), w.User("mallory")
	w.auditor = w.User("aud")
	w.auditor.Auditor = true
	group := w.Group("team", authz.Private, 0)
	w.group = coretest.GroupAt(group, authz.Private)
	w.id = w.Project("team/shop", authz.Private, group)
	w.Member(group, w.owner, authz.Owner)
	w.Join(w.id, w.maintainer, authz.Maintainer)
	w.Join(w.id, w.dev, authz.Developer)
	return w
}

// now is the clock, which pass moves.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }

// pass lets time pass, and does what is due then.
func (w *world) pass(d time.Duration) {
	w.T.Helper()
	w.later.Add(int64(d))
	if err := w.hooks.Settle(w.T.Context(), db.At(w.now())); err != nil {
		w.T.Fatal(err)
	}
	w.work()
}

// work calls hooks until nothing waits.
func (w *world) work() {
	w.T.Helper()
	if err := w.jobs.Drain(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
}

// HookStopped is what mail is asked for.
func (w *world) HookStopped(_ context.Context, hook int64, now string) error {
	w.warned = append(w.warned, fmt.Sprint(hook, " ", now))
	return nil
}

func (w *world) hear(e change.Event) error {
	w.facts = append(w.facts, e.Changed())
	return nil
}

func (w *world) shop() authz.Place { w.T.Helper(); return w.Find(w.maintainer, w.id).Place() }

// create makes a hook of the project.
func (w *world) create(c webhook.Changes) *webhook.Hook {
	w.T.Helper()
	h, err := w.hooks.Create(w.T.Context(), w.maintainer, w.shop(), c)
	if err != nil {
		w.T.Fatal(err)
	}
	return h
}

// samples makes events up.
type samples struct{}

func (samples) Sample(_ context.Context, as authz.Actor, at authz.Place, trigger payload.Trigger) (*payload.Message, error) {
	if trigger == payload.Issue {
		return nil, errs.New(errs.Unprocessable, "Ensure the project has issues.")
	}
	return &payload.Message{Trigger: trigger, By: as.UserID, Namespace: at.Namespace, JSON: []byte(`{"object_kind":"sample"}`)}, nil
}

func to[T any](v T) *T { return &v }

// Mia connects the shop with a deployment server. What she keeps secret is never shown, and does not go along when the hook is led elsewhere.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx, at := t.Context(), w.shop()
		h := w.create(webhook.Changes{
			URL: to(" https://mia:s3cret@hooks.example.com/{team.id}?key={key} "), Token: to("s3cret"),
			Variables: map[string]string{"team.id": "s3cret-team", "key": "s3cret-key"}, Headers: map[string]string{"X-Who": "s3cret-header"},
		})
		if h.URL != "https://*****:*****@hooks.example.com/{team.id}?key={key}" || !h.Push || h.Issues || !h.VerifyTLS || h.RepositoryUpdate || h.Strategy != webhook.Wildcard || h.Status != webhook.Executable {
			t.Errorf("created %+v", h)
		}
		found, err := w.hooks.Find(ctx, w.maintainer, at, h.ID)
		if err != nil || strings.Join(found.Variables, " ") != "key team.id" || strings.Join(found.Headers, " ") != "X-Who" {
			t.Errorf("found %+v, %v", found, err)
		}

		// A change of something else, and the URL as it is shown, leave the secrets alone.
		same, err := w.hooks.Update(ctx, w.maintainer, at, h.ID, webhook.Changes{URL: to(h.URL), Attributes: webhook.Attributes{Name: to("deploy")}})
		if err != nil || *same.Sealed != *found.Sealed || *same.Name != "deploy" {
			t.Errorf("updated %+v, %v", same, err)
		}
		// Another path, variable or server has them removed: they were meant for the former.
		for _, tt := range []struct {
			name string
			c    webhook.Changes
			ok   bool
			left string
		}{
			{"another server with the masked password", webhook.Changes{URL: to("https://*****:*****@other.example.com/{team.id}")}, false, "key team.id|X-Who"},
			{"another server with the variables", webhook.Changes{URL: to("https://other.example.com/{team.id}?key={key}")}, false, "key team.id|X-Who"},
			{"another path", webhook.Changes{URL: to("https://hooks.example.com/all")}, true, "|"},
		} {
			_, err := w.hooks.Update(ctx, w.maintainer, at, h.ID, tt.c)
			if (err == nil) != tt.ok {
				t.Errorf("%s: %v", tt.name, err)
			}
			got, err := w.hooks.Find(ctx, w.maintainer, at, h.ID)
			if left := strings.Join(got.Variables, " ") + "|" + strings.Join(got.Headers, " "); err != nil || left != tt.left {
				t.Errorf("%s: left %q, %v, want %q", tt.name, left, err, tt.left)
			}
		}
		if got, _ := w.hooks.Find(ctx, w.maintainer, at, h.ID); got.Sealed != nil {
			t.Error("the hook has kept a secret on its way to another path")
		}
		wandering := w.create(webhook.Changes{URL: to("https://{host}.example.com/"), Token: to("s3cret"), Variables: map[string]string{"host": "a"}})
		if err := w.hooks.SetVariable(ctx, w.maintainer, at, wandering.ID, webhook.Item{Key: "host", Value: "b"}); err != nil {
			t.Fatal(err)
		}
		if got, _ := w.hooks.Find(ctx, w.maintainer, at, wandering.ID); len(got.Variables) != 1 || len(*got.Sealed) > 100 {
			t.Errorf("a variable led the hook to another server: %+v", got)
		}

		// Variables and headers one by one.
		for _, tt := range []struct {
			name string
			do   func() error
			want string
		}{
			{"unset what the URL uses", func() error { return w.hooks.UnsetVariable(ctx, w.maintainer, at, wandering.ID, "host") }, "Illegal key or value"},
			{"unset what is not there", func() error { return w.hooks.UnsetVariable(ctx, w.maintainer, at, wandering.ID, "spare") }, "not found"},
			{"a bad name", func() error {
				return w.hooks.SetVariable(ctx, w.maintainer, at, wandering.ID, webhook.Item{Key: "1st", Value: "x"})
			}, "Illegal key or value"},
			{"a header", func() error {
				return w.hooks.SetHeader(ctx, w.maintainer, at, wandering.ID, webhook.Item{Key: "X-A", Value: "x"})
			}, ""},
			{"a header with a line break", func() error {
				return w.hooks.SetHeader(ctx, w.maintainer, at, wandering.ID, webhook.Item{Key: "X-B", Value: "x\r\nHost: y"})
			}, "Illegal key or value"},
			{"a header of the connection", func() error {
				return w.hooks.SetHeader(ctx, w.maintainer, at, wandering.ID, webhook.Item{Key: "host", Value: "x"})
			}, "Illegal key or value"},
			{"unset a header", func() error { return w.hooks.UnsetHeader(ctx, w.maintainer, at, wandering.ID, "X-A") }, ""},
			{"unset it again", func() error { return w.hooks.UnsetHeader(ctx, w.maintainer, at, wandering.ID, "X-A") }, "not found"},
		} {
			if err := tt.do(); fmt.Sprint(err) != tt.want && (err != nil || tt.want != "") {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
		}
		list, err := w.hooks.List(ctx, w.maintainer, at, page.Range{Limit: 20})
		if err != nil || len(list.Items) != 2 {
			t.Errorf("listed %d, %v", len(list.Items), err)
		}
		if err := w.hooks.Delete(ctx, w.maintainer, at, h.ID); err != nil {
			t.Fatal(err)
		}
		for _, f := range w.facts {
			text, err := json.Marshal([]any{f.Changes(), f.Subject, change.Attributes(pick(f))})
			if err != nil || strings.Contains(string(text), "s3cret") {
				t.Errorf("an event names a secret: %s, %v", text, err)
			}
		}
		if len(w.facts) < 6 {
			t.Errorf("only %d events were published", len(w.facts))
		}
	})
}

// pick is the row of an event.
func pick(f change.Fact) any {
	if f.After != nil {
		return f.After
	}
	return f.Before
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	long := strings.Repeat("x", 256)
	with := func(c webhook.Changes) webhook.Changes {
		if c.URL == nil {
			c.URL = to("https://hooks.example.com/")
		}
		return c
	}
	for _, tt := range []struct {
		name string
		c    webhook.Changes
		want string
	}{
		{"no URL", webhook.Changes{URL: to("")}, "Invalid url given"},
		{"another scheme", webhook.Changes{URL: to("ftp://hooks.example.com")}, "Invalid url given"},
		{"a local address", webhook.Changes{URL: to("http://127.0.0.1/")}, "Invalid url given"},
		{"a name of a local address", webhook.Changes{URL: to("http://inside.example.com/")}, "Invalid url given"},
		{"a name that does not resolve", webhook.Changes{URL: to("https://later.example.com/")}, ""},
		{"a variable without a value", webhook.Changes{URL: to("https://hooks.example.com/{key}")}, "Invalid url given"},
		{"a variable that leads inside", webhook.Changes{URL: to("https://{a}/"), Variables: map[string]string{"a": "10.0.0.1"}}, "Invalid url given"},
		{"a long URL", webhook.Changes{URL: to("https://hooks.example.com/" + strings.Repeat("x", 2048))}, "Invalid url given"},
		{"a long name", with(webhook.Changes{Attributes: webhook.Attributes{Name: &long}}), "name is too long (maximum is 255 characters)"},
		{"a long template", with(webhook.Changes{Attributes: webhook.Attributes{Template: to(strings.Repeat("x", 4097))}}), "custom_webhook_template is too long (maximum is 4096 characters)"},
		{"a long filter", with(webhook.Changes{Attributes: webhook.Attributes{BranchFilter: to(strings.Repeat("x", 5001))}}), "Invalid branch filter given"},
		{"a wildcard", with(webhook.Changes{Attributes: webhook.Attributes{BranchFilter: to("release/*")}}), ""},
		{"no branch", with(webhook.Changes{Attributes: webhook.Attributes{BranchFilter: to("a..b")}}), "Invalid branch filter given"},
		{"a regular expression", with(webhook.Changes{Attributes: webhook.Attributes{Strategy: to("regex"), BranchFilter: to("^v[0-9]+$")}}), ""},
		{"a bad expression", with(webhook.Changes{Attributes: webhook.Attributes{Strategy: to("regex"), BranchFilter: to("(")}}), "Invalid branch filter given"},
		{"an expression that costs much", with(webhook.Changes{Attributes: webhook.Attributes{Strategy: to("regex"), BranchFilter: to("((a{100}){100}){100}")}}), "Invalid branch filter given"},
		{"a token with a line break", with(webhook.Changes{Token: to("a\nb")}), "token is invalid"},
		{"a bad header", with(webhook.Changes{Headers: map[string]string{"X Who": "x"}}), "Custom headers validation failed"},
		{"too many headers", with(webhook.Changes{Headers: many(21)}), "Custom headers validation failed"},
		{"as many headers as there may be", with(webhook.Changes{Headers: many(20)}), ""},
	} {
		_, err := w.hooks.Create(t.Context(), w.maintainer, w.shop(), tt.c)
		if (err != nil || tt.want != "") && fmt.Sprint(err) != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	if h := w.create(with(webhook.Changes{Attributes: webhook.Attributes{Strategy: to(webhook.AllBranches), BranchFilter: to("main")}})); h.BranchFilter != nil {
		t.Errorf("a hook for all branches has the filter %q", *h.BranchFilter)
	}
	system, err := w.hooks.Create(t.Context(), w.admin, authz.Place{}, webhook.Changes{URL: to("http://127.0.0.1/")})
	if err != nil || system.Push || !system.RepositoryUpdate {
		t.Errorf("hook of the instance: %+v, %v", system, err)
	}
}

func many(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprint("X-", i)] = "x"
	}
	return out
}

// Hooks of a project are for maintainers, those of a group for owners, those of the instance for administrators; an auditor changes none.
func TestService_permissions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		shop := w.shop()
		shop.Subject = w.Subject(int64(w.id)) // not as the maintainer sees it
		for _, tt := range []struct {
			at   authz.Place
			may  []authz.Actor
			not  []authz.Actor
			kind errs.Kind // of the refusal of the first
		}{
			{shop, []authz.Actor{w.maintainer, w.owner, w.admin}, []authz.Actor{w.dev, w.auditor, w.mallory}, errs.Forbidden},
			{w.group, []authz.Actor{w.owner, w.admin}, []authz.Actor{w.maintainer, w.auditor, w.mallory}, errs.Forbidden},
			{authz.Place{}, []authz.Actor{w.admin}, []authz.Actor{w.owner, w.auditor, w.mallory}, errs.Forbidden},
		} {
			var last *webhook.Hook
			for _, as := range tt.may {
				h, err := w.hooks.Create(t.Context(), as, tt.at, webhook.Changes{URL: to("https://hooks.example.com/")})
				if err != nil {
					t.Fatalf("%s in %q: %v", as.Username, tt.at.Path, err)
				}
				last = h
			}
			for i, as := range tt.not {
				_, err := w.hooks.Create(t.Context(), as, tt.at, webhook.Changes{URL: to("https://hooks.example.com/")})
				if i == 0 && !errs.Is(err, tt.kind) || errs.KindOf(err) == errs.Internal {
					t.Errorf("%s in %q: %v", as.Username, tt.at.Path, err)
				}
			}
			for _, elsewhere := range []authz.Place{shop, w.group, {}} {
				_, err := w.hooks.Find(t.Context(), w.admin, elsewhere, last.ID)
				if own := elsewhere.Namespace == tt.at.Namespace; own != (err == nil) {
					t.Errorf("hook of %q found in %q: %v", tt.at.Path, elsewhere.Path, err)
				}
			}
		}
	})
}
