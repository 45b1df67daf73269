package jobtoken_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// world has a project "inner/shop" that lets jobs in, and "outer/sub/tool", whose jobs want in. Dave is a Maintainer of both.
type world struct {
	*coretest.World
	scopes      *jobtoken.Service
	dave        authz.Actor
	outer, sub  authz.NamespaceID
	shop, tool  project.ID
	job         authz.Actor // dave's job of the tool
	told        []string
	stranger    authz.Actor
	unreachable project.ID // no one but its group's owner sees it
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
	w.scopes = jobtoken.New(jobtoken.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Namespaces: places, Now: w.Now})
	w.dave, w.stranger = w.User("dave"), w.User("stan")
	w.shop = w.Project("inner/shop", authz.Private, w.Group("inner", authz.Private, 0))
	w.outer = w.Group("outer", authz.Private, 0)
	w.sub = w.Group("outer/sub", authz.Private, w.outer)
	w.tool = w.Project("outer/sub/tool", authz.Private, w.sub)
	w.unreachable = w.Project("far/away", authz.Private, w.Group("far", authz.Private, 0))
	w.Join(w.shop, w.dave, authz.Maintainer)
	w.Member(w.outer, w.dave, authz.Maintainer)
	w.job = w.dave
	w.job.Job = authz.JobCredential{ID: 1, Place: w.Find(w.dave, w.tool).NamespaceID}
	event.On(w.Bus, "test", func(_ context.Context, e jobtoken.Allowed) error {
		w.told = append(w.told, "allowed "+e.Name)
		return nil
	})
	event.On(w.Bus, "test", func(_ context.Context, e jobtoken.Disallowed) error {
		w.told = append(w.told, "disallowed "+e.Name)
		return nil
	})
	event.On(w.Bus, "test", func(_ context.Context, e jobtoken.ScopeChanged) error {
		w.told = append(w.told, fmt.Sprint("inbound ", e.Inbound))
		return nil
	})
	return w
}

// took says what was published since the last time.
func (w *world) took() string {
	out := fmt.Sprint(w.told)
	w.told = nil
	return out
}

// in returns the project for dave.
func (w *world) in() *project.Project { w.T.Helper(); return w.Find(w.dave, w.shop) }

// gets reports whether the job of the tool reads the code of the shop.
func (w *world) gets(job authz.Actor) bool {
	w.T.Helper()
	may, err := w.Policy.Can(w.T.Context(), job, authz.ReadCode, w.Subject(int64(w.shop)))
	if err != nil {
		w.T.Fatal(err)
	}
	return may
}

func wantKind(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errs.Is(err, kind) {
		t.Errorf("%s: got %v, want %v", what, err, kind)
	}
}

// TestService_lists lets the jobs of a project in by its own entry, by a group above it and by opening the scope, and
// ends each of these again.
func TestService_lists(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := t.Context()
		confined := w.job
		confined.Job.Confined = true
		for _, step := range []struct {
			name   string
			change func() error
			in     bool
			told   string
		}{
			{"at first", func() error { return nil }, false, "[]"},
			{"project", func() error { _, err := w.scopes.AllowProject(ctx, w.dave, w.in(), w.tool); return err }, true, "[allowed outer/sub/tool]"},
			{"no project", func() error { return w.scopes.DisallowProject(ctx, w.dave, w.in(), w.tool) }, false, "[disallowed outer/sub/tool]"},
			{"group above", func() error { _, err := w.scopes.AllowGroup(ctx, w.dave, w.in(), w.outer); return err }, true, "[allowed outer]"},
			{"no group", func() error { return w.scopes.DisallowGroup(ctx, w.dave, w.in(), w.outer) }, false, "[disallowed outer]"},
			{"open", func() error { return w.scopes.SetInbound(ctx, w.dave, w.in(), false) }, true, "[inbound false]"},
			{"open again", func() error { return w.scopes.SetInbound(ctx, w.dave, w.in(), false) }, true, "[]"},
			{"closed", func() error { return w.scopes.SetInbound(ctx, w.dave, w.in(), true) }, false, "[inbound true]"},
		} {
			if err := step.change(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if got := w.gets(w.job); got != step.in {
				t.Errorf("%s: the job gets in: %v, want %v", step.name, got, step.in)
			}
			if w.gets(confined) {
				t.Errorf("%s: a job that its project keeps from others gets in", step.name)
			}
			if got := w.took(); got != step.told {
				t.Errorf("%s: told %s, want %s", step.name, got, step.told)
			}
		}
		if !w.gets(w.dave) {
			t.Error("the user itself is kept out")
		}
		// What a job may is never more than what its user may.
		if _, err := w.scopes.AllowProject(ctx, w.dave, w.in(), w.tool); err != nil {
			t.Fatal(err)
		}
		of := w.job
		of.UserID, of.Username = w.stranger.UserID, w.stranger.Username
		if w.gets(of) {
			t.Error("a job of a user who is no member gets in")
		}
	})
}

func TestService_refusals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := t.Context()
		dev := w.User("dora")
		w.Join(w.shop, dev, authz.Developer)
		as := w.Find(dev, w.shop)
		_, err := w.scopes.Scope(ctx, dev, as)
		wantKind(t, "a developer reads the scope", err, errs.Forbidden)
		_, err = w.scopes.AllowProject(ctx, dev, as, w.tool)
		wantKind(t, "a developer allows", err, errs.Forbidden)
		wantKind(t, "a developer opens", w.scopes.SetInbound(ctx, dev, as, false), errs.Forbidden)

		_, err = w.scopes.AllowProject(ctx, w.dave, w.in(), w.shop)
		wantKind(t, "the project itself", err, errs.BadRequest)
		_, err = w.scopes.AllowProject(ctx, w.dave, w.in(), w.unreachable)
		wantKind(t, "a hidden project", err, errs.NotFound)
		if _, err = w.scopes.AllowGroup(ctx, w.dave, w.in(), w.sub); err != nil {
			t.Fatal(err)
		}
		_, err = w.scopes.AllowGroup(ctx, w.dave, w.in(), w.sub)
		wantKind(t, "twice", err, errs.BadRequest)
		wantKind(t, "not listed", w.scopes.DisallowProject(ctx, w.dave, w.in(), w.tool), errs.NotFound)
		if got := w.took(); got != "[allowed outer/sub]" {
			t.Errorf("told %s", got)
		}

		for i := range 199 { // with the group, as many as a list may have
			id := w.Group(fmt.Sprint("g", i), authz.Public, 0)
			w.Insert("job_token_allowlist", coretest.Row{"namespace_id": w.in().NamespaceID, "allowed_id": id})
		}
		_, err = w.scopes.AllowProject(ctx, w.dave, w.in(), w.tool)
		wantKind(t, "a full list", err, errs.BadRequest)
	})
}

// TestService_Projects lists what is allowed without what its reader may not see.
func TestService_Projects(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := t.Context()
		w.Insert("job_token_allowlist", coretest.Row{"namespace_id": w.in().NamespaceID, "allowed_id": w.Subject(int64(w.unreachable)).Namespace})
		if _, err := w.scopes.AllowProject(ctx, w.dave, w.in(), w.tool); err != nil {
			t.Fatal(err)
		}
		if _, err := w.scopes.AllowGroup(ctx, w.dave, w.in(), w.sub); err != nil {
			t.Fatal(err)
		}
		projects, err := w.scopes.Projects(ctx, w.dave, w.in(), page.Range{Limit: 10})
		if err != nil || len(projects.Items) != 2 || projects.Items[0].ID != w.shop || projects.Items[1].ID != w.tool {
			t.Errorf("projects: got %+v, %v, want the project itself and the tool", projects.Items, err)
		}
		groups, err := w.scopes.Groups(ctx, w.dave, w.in(), page.Range{Limit: 10})
		if err != nil || len(groups.Items) != 1 || groups.Items[0].ID != w.sub {
			t.Errorf("groups: got %+v, %v, want outer/sub", groups.Items, err)
		}
		if scope, err := w.scopes.Scope(ctx, w.dave, w.in()); err != nil || !scope.Inbound || scope.Outbound {
			t.Errorf("scope: got %+v, %v", scope, err)
		}
	})
}
