package runner_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/setting"
)

// world is a group with a subgroup, a project in each and one elsewhere, and people.
type world struct {
	*coretest.World
	runners  *runner.Service
	settings *setting.Store
	places   *namespace.Service
	later    time.Duration // what the clock is ahead

	admin, owner, maintainer, developer, stranger authz.Actor
	group, below, other                           authz.NamespaceID
	top, sub, else_                               project.ID
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	w.settings = setting.New(d, w.now)
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w.places = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.now})
	w.runners = runner.New(runner.Deps{
		Plans: &planlimit.Service{},
		DB:    d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Namespaces: w.places, Projects: w.Projects, Box: box, Now: w.now, Log: slog.New(slog.DiscardHandler),
	})
	w.admin, w.owner, w.maintainer, w.developer, w.stranger = w.Admin("root"), w.User("owner"), w.User("maintainer"), w.User("developer"), w.User("stranger")
	w.group = w.Group("group", authz.Private, 0)
	w.below = w.Group("group/below", authz.Private, w.group)
	w.other = w.Group("other", authz.Public, 0)
	w.top = w.Project("group/top", authz.Private, w.group)
	w.sub = w.Project("group/below/sub", authz.Private, w.below)
	w.else_ = w.Project("other/else", authz.Public, w.other)
	w.Member(w.group, w.owner, authz.Owner)
	w.Join(w.top, w.maintainer, authz.Maintainer)
	w.Join(w.top, w.developer, authz.Developer)
	return w
}

func (w *world) now() time.Time { return w.Now().Add(w.later) }

// row makes a runner and returns it and its token.
func (w *world) row(kind runner.Type, more coretest.Row, projects ...project.ID) (*runner.Runner, string) {
	w.T.Helper()
	token := secret.NewToken("glrt-")
	row := coretest.Row{"runner_type": kind, "digest": secret.Digest(token), "tags": "[]", "run_untagged": true}
	for name, value := range more {
		row[name] = value
	}
	id := runner.ID(w.Insert("runners", row))
	for _, p := range projects {
		w.Insert("runner_projects", coretest.Row{"runner_id": id, "project_id": p})
	}
	all, err := w.runners.Load(context.Background(), []runner.ID{id})
	if err != nil || all[id] == nil {
		w.T.Fatalf("runner %d: %v", id, err)
	}
	return all[id], token
}

// tag gives a runner a tag for lists.
func (w *world) tag(id runner.ID, name string) {
	w.T.Helper()
	if _, err := w.DB.Exec(context.Background(), "INSERT INTO runner_tags (runner_id, name) VALUES (?, ?)", id, name); err != nil {
		w.T.Fatal(err)
	}
}

// set puts a setting in force; the value is JSON.
func (w *world) set(name, value string) {
	w.T.Helper()
	if _, err := w.DB.Exec(context.Background(), "INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)", name, value, db.At(w.now())); err != nil {
		w.T.Fatal(err)
	}
	if err := w.settings.Open(context.Background()); err != nil {
		w.T.Fatal(err)
	}
}

// groupPlace returns a group as its owner sees it.
func (w *world) groupPlace(as authz.Actor, id authz.NamespaceID) authz.Place {
	w.T.Helper()
	g, err := w.places.FindByID(context.Background(), as, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return g.Place()
}
