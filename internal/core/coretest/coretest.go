// Package coretest furnishes a database with people and places for the tests of core
// packages. It writes rows itself, so that a test of one subject needs no other.
package coretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// World is a database with what every core service is built on.
type World struct {
	T        *testing.T // nil in benchmarks
	DB       *db.DB
	Bus      *event.Bus
	Policy   *authz.Policy
	Projects *project.Service

	tb    testing.TB
	mu    sync.Mutex
	clock time.Time

	schema int // number of its last migration
}

// New furnishes an empty database. Its clock is at noon of Monday, 22 May 2023.
func New(t testing.TB, d *db.DB) *World {
	t.Helper()
	w := &World{tb: t, DB: d, Bus: &event.Bus{}, clock: time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC)}
	w.T, _ = t.(*testing.T)
	var err error
	if w.schema, err = db.Get[int](context.Background(), d, "SELECT MAX(version) FROM schema_migrations"); err != nil {
		t.Fatal(err)
	}
	w.Policy = authz.New(d, w.Now)
	w.Projects = project.New(project.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	w.Projects.Connect(Above(project.Above{}))
	return w
}

// Now is the clock: each look moves it by a second.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(time.Second)
	return w.clock
}

// Row is what a test says of a row; the columns it leaves out are empty.
type Row map[string]any

// column is one of a table.
type column struct {
	Name     string `db:"name"`
	Type     string `db:"type"`
	Required bool   `db:"required"`
}

// layouts has the columns of tables by engine, schema and table. It is a global, because most
// databases of a process have the same tables, and PostgreSQL takes milliseconds to tell.
var layouts sync.Map

// columns returns the columns of a table but its id.
func (w *World) columns(table string) []column {
	w.tb.Helper()
	key := fmt.Sprint(w.DB.Dialect().Name(), " ", w.schema, " ", table)
	if known, ok := layouts.Load(key); ok {
		return known.([]column)
	}
	query := `SELECT name, type, "notnull" <> 0 AS required FROM pragma_table_info(?) WHERE name <> 'id'`
	if w.DB.Dialect() == db.Postgres {
		query = `SELECT CAST(column_name AS TEXT) AS name, CAST(data_type AS TEXT) AS type, is_nullable = 'NO' AS required
			FROM information_schema.columns WHERE table_name = ? AND table_schema = current_schema() AND column_name <> 'id'`
	}
	columns, err := db.Select[column](context.Background(), w.DB, query, table)
	if err != nil {
		w.tb.Fatal(err)
	}
	layouts.Store(key, columns)
	return columns
}

// Insert writes a row and returns its id. Columns that may not be null and are not given
// get the zero value of their type, times the clock's.
func (w *World) Insert(table string, row Row) int64 {
	w.tb.Helper()
	ctx := context.Background()
	var names []string
	var args []any
	for _, c := range w.columns(table) {
		value, given := row[c.Name]
		if !given && !c.Required {
			continue
		}
		if !given {
			switch kind := strings.ToLower(c.Type); {
			case kind == "boolean":
				value = false
			case strings.Contains(kind, "int"):
				value = 0
			case strings.HasPrefix(kind, "timestamp"):
				value = w.Now()
			default:
				value = ""
			}
		}
		names, args = append(names, c.Name), append(args, value)
	}
	for name := range row {
		if !slices.Contains(names, name) {
			w.tb.Fatalf("table %s has no column %s", table, name)
		}
	}
	id, err := db.Get[int64](ctx, w.DB, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+
		strings.Repeat("?, ", len(args)-1)+"?) RETURNING "+key(table), args...)
	if err != nil {
		w.tb.Fatalf("insert into %s: %v", table, err)
	}
	return id
}

// key names a number in each row of a table.
func key(table string) string {
	switch table {
	case "fetch_counts":
		return "project_id"
	case "routes", "namespace_ancestors", "groups", "job_token_allowlist":
		return "namespace_id"
	}
	return "id"
}

// User makes an active user and returns it as an actor.
func (w *World) User(name string) authz.Actor {
	w.tb.Helper()
	id := w.Insert("users", Row{
		"username": name, "username_fold": db.Fold(name), "name": strings.ToUpper(name[:1]) + name[1:],
		"name_fold": db.Fold(name), "state": "active", "user_type": "human",
	})
	w.Insert("emails", Row{
		"user_id": id, "email": name + "@example.com", "email_fold": db.Fold(name) + "@example.com",
		"is_primary": true, "confirmed_at": w.Now(),
	})
	return authz.Actor{UserID: authz.UserID(id), Username: name}
}

// Admin makes an administrator.
func (w *World) Admin(name string) authz.Actor {
	w.tb.Helper()
	as := w.User(name)
	if _, err := w.DB.Exec(context.Background(), "UPDATE users SET admin = true WHERE id = ?", as.UserID); err != nil {
		w.tb.Fatal(err)
	}
	as.Admin = true
	return as
}

// Group makes a group at the top, or below parent where that is not zero.
func (w *World) Group(path string, v authz.Visibility, parent authz.NamespaceID) authz.NamespaceID {
	w.tb.Helper()
	id := w.place("group", path, v, parent)
	w.Insert("groups", Row{
		"namespace_id": id, "project_creation_level": "developer", "subgroup_creation_level": "maintainer", "emails_enabled": true, "lfs_enabled": true,
		"shared_runners_setting": "enabled", "settings": "{}",
	})
	return id
}

// place makes a namespace with its route and its line of ancestors.
func (w *World) place(kind, path string, v authz.Visibility, parent authz.NamespaceID) authz.NamespaceID {
	w.tb.Helper()
	ctx := context.Background()
	last := path[strings.LastIndexByte(path, '/')+1:]
	row := Row{"kind": kind, "path": last, "name": last, "visibility": v}
	if parent != 0 {
		row["parent_id"] = parent
	}
	id := authz.NamespaceID(w.Insert("namespaces", row))
	w.Insert("routes", Row{"namespace_id": id, "path": path, "path_fold": db.Fold(path), "name": strings.ReplaceAll(path, "/", " / ")})
	if _, err := w.DB.Exec(ctx, `INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
		SELECT CAST(? AS BIGINT), ancestor_id, depth + 1 FROM namespace_ancestors WHERE namespace_id = ?`, id, parent); err != nil {
		w.tb.Fatal(err)
	}
	w.Insert("namespace_ancestors", Row{"namespace_id": id, "ancestor_id": id, "depth": 0})
	return id
}

// Project makes a project with all features open below the group parent; path is full.
func (w *World) Project(path string, v authz.Visibility, parent authz.NamespaceID) project.ID {
	w.tb.Helper()
	last := path[strings.LastIndexByte(path, '/')+1:]
	ns := w.place("project", path, v, parent)
	row := Row{
		"namespace_id": ns, "parent_id": parent, "name": last, "name_fold": db.Fold(last), "path": last,
		"storage": "default", "topics": "[]", "features": "{}", "settings": "{}", "merge_method": "merge", "emails_enabled": true,
		"squash_option": "default_off", "issues_access": 20, "merge_requests_access": 20, "repository_access": 20,
		"forking_access": 20, "wiki_access": 20, "builds_access": 20, "snippets_access": 20,
	}
	if w.schema >= 41 { // tests of migrations fill databases of earlier ones
		row["shared_runners_enabled"], row["group_runners_enabled"] = true, true
	}
	return project.ID(w.Insert("projects", row))
}

// Member gives a user a level in a namespace.
func (w *World) Member(ns authz.NamespaceID, who authz.Actor, level authz.Level) {
	w.tb.Helper()
	w.Insert("members", Row{"namespace_id": ns, "user_id": who.UserID, "access_level": level})
}

// Join gives a user a level in a project.
func (w *World) Join(id project.ID, who authz.Actor, level authz.Level) {
	w.tb.Helper()
	ns, err := db.Get[authz.NamespaceID](context.Background(), w.DB, "SELECT namespace_id FROM projects WHERE id = ?", id)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.Member(ns, who, level)
}

// Find reads a project for an actor and fails the test where it may not see it.
func (w *World) Find(as authz.Actor, id project.ID) *project.Project {
	w.tb.Helper()
	p, err := w.Projects.Find(context.Background(), as, fmt.Sprint(id))
	if err != nil {
		w.tb.Fatalf("project %d for %q: %v", id, as.Username, err)
	}
	return p
}

// Subject returns a project as permissions are asked about, with no user's level in it.
func (w *World) Subject(id int64) authz.Subject {
	w.T.Helper()
	all, err := w.Projects.Load(context.Background(), []project.ID{project.ID(id)})
	if err != nil || all[project.ID(id)] == nil {
		w.T.Fatalf("project %d: %v", id, err)
	}
	return all[project.ID(id)].Subject()
}
