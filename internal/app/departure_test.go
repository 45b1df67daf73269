package app

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/migrations"
)

// What becomes of a column that names users when one of them is deleted. Those with ON
// DELETE CASCADE or SET NULL need no line.
const (
	handed    = "handed to the ghost, or gone with a hard deletion"
	toGhost   = "handed to the ghost"
	forgotten = "set to null"
	gone      = "the row goes"
	kept      = "stays: a record of what happened"
	passing   = "stays: the row is about to go by itself and does not need its user"
)

func fates() map[string]string {
	return map[string]string{
		"issues.author_id":             handed,
		"epics.author_id":              handed,
		"notes.author_id":              handed,
		"snippets.author_id":           handed, // those of projects; personal ones go
		"award_emoji.user_id":          handed,
		"timelogs.user_id":             handed,
		"merge_requests.author_id":     handed,
		"merge_requests.merge_user_id": toGhost,
		"groups.creator_id":            forgotten,
		"projects.creator_id":          forgotten,
		"events.author_id":             gone,
		"audit_events.author_id":       kept,
		"ref_intents.user_id":          passing,
		"merge_leases.user_id":         passing,
		"project_imports.user_id":      passing,
	}
}

// userColumn is a column of the schema that names users.
type userColumn struct {
	table, column string
	rule          string // CASCADE, SET NULL, or "" for none
}

func (c userColumn) String() string { return c.table + "." + c.column }

// userColumns reads the schema for columns that reference users, and for those whose
// name says that they hold one.
func userColumns(t *testing.T) []userColumn {
	t.Helper()
	var out []userColumn
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	create := regexp.MustCompile(`(?m)^CREATE TABLE (\w+) \(`)
	renamed := regexp.MustCompile(`ALTER TABLE (\w+) RENAME TO (\w+)`)
	column := regexp.MustCompile(`^\s+(\w+)\s.*REFERENCES users \(id\)(?: ON DELETE (CASCADE|SET NULL))?`)
	named := regexp.MustCompile(`^\s+((?:\w+_)?(?:user|author|creator|owner|by|assignee|reviewer|approver|merger|sender|follower|followee)_id)\s`)
	for _, name := range files {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range renamed.FindAllStringSubmatch(string(text), -1) {
			for i := range out {
				if out[i].table == m[1] {
					out[i].table = m[2]
				}
			}
		}
		table := ""
		for line := range strings.SplitSeq(string(text), "\n") {
			if m := create.FindStringSubmatch(line); m != nil {
				table = m[1]
			}
			if m := column.FindStringSubmatch(line); m != nil {
				out = append(out, userColumn{table, m[1], m[2]})
			} else if m := named.FindStringSubmatch(line); m != nil && !strings.Contains(line, " REFERENCES ") {
				out = append(out, userColumn{table, m[1], ""})
			}
		}
	}
	if len(out) < 30 {
		t.Fatalf("found %d columns that name users only: the schema is read wrongly", len(out))
	}
	return out
}

// TestDeparture deletes users who have a hand in everything there is, once softly and once
// with all they made, and looks into every column of the schema that names users.
func TestDeparture(t *testing.T) {
	walker(t)
	columns := userColumns(t)
	for _, c := range columns {
		if fate := fates()[c.String()]; fate == "" && c.rule == "" {
			t.Errorf("nothing decides what becomes of %s when the user is deleted: see to it in an account.Executor "+
				"(app/core.go lists them), or in the schema, and add a line to fates", c)
		}
	}
	for name := range fates() {
		if !slices.ContainsFunc(columns, func(c userColumn) bool { return c.String() == name }) {
			t.Errorf("there is a fate of %s, which is no column", name)
		}
	}
	if t.Failed() {
		return
	}
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		w.mayDepart(t)
		for _, hard := range []bool{false, true} {
			name := "mover"
			if hard {
				name = "leaver"
			}
			id := w.entangle(t, name, columns)
			if hard {
				group := w.do(name, "POST", "/groups", map[string]any{"name": "Of leaver", "path": "of-leaver"})
				w.do(name, "POST", "/projects", map[string]any{"name": "In the group of leaver", "namespace_id": group["id"]})
			}
			if w.send(t.Context(), request{as: name, method: "GET", path: "/user"}).Code != http.StatusOK {
				t.Fatal("the user cannot act")
			}
			w.do("admin", "DELETE", "/users/"+strconv.FormatInt(int64(id), 10)+"?hard_delete="+strconv.FormatBool(hard), nil)
			if got := w.send(t.Context(), request{as: name, method: "GET", path: "/user"}); got.Code != http.StatusForbidden {
				t.Errorf("the user is not barred at once: %d %s", got.Code, got.Body)
			}
			w.interrupt(t, id, hard)
			if err := w.jobs.Drain(t.Context()); err != nil {
				t.Fatalf("background work: %v", err)
			}
			if err := w.core.Accounts.Depart(t.Context(), account.Departure{UserID: id, By: 1, Hard: hard}); err != nil {
				t.Errorf("a second run: %v", err)
			}
			w.noTrace(t, name, columns, hard)
			again := w.do("admin", "POST", "/users", map[string]any{
				"email": name + "@example.com", "username": name, "name": "Another", "force_random_password": true,
			})
			if number(again, "id") == strconv.FormatInt(int64(id), 10) {
				t.Error("the number of a deleted user was given out again")
			}
		}
	})
}

// mayDepart tries users who may not be deleted.
func (w *world) mayDepart(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		as, path string
		want     int
		body     string
	}{
		{"owner", "/users/" + w.instance[0].values["users/:id"], http.StatusForbidden, `{"message":"403 Forbidden"}`},
		{"admin", "/users/999999", http.StatusNotFound, `{"message":"404 User Not Found"}`},
		{"admin", "/users/1", http.StatusForbidden, `{"message":"The last administrator cannot be removed from office, blocked or deactivated"}`},
		{
			"admin", "/users/" + strconv.FormatInt(int64(w.ids["owner"]), 10), http.StatusConflict,
			`{"message":"User cannot be removed while is the sole-owner of a group"}`,
		},
	} {
		got := w.send(t.Context(), request{as: c.as, method: "DELETE", path: c.path})
		if got.Code != c.want || strings.TrimSpace(got.Body.String()) != c.body {
			t.Errorf("%s deletes %s: got %d %s, want %d %s", c.as, c.path, got.Code, got.Body, c.want, c.body)
		}
	}
}

// entangle makes a user and puts it into one row at least of every column.
func (w *world) entangle(t *testing.T, name string, columns []userColumn) authz.UserID {
	t.Helper()
	id := w.user(name, nil)
	w.do(name, "POST", "/projects", map[string]any{"name": "Mine", "initialize_with_readme": true})
	w.do("admin", "POST", "/groups/"+w.groups[0].values["groups/:id"]+"/members", map[string]any{"user_id": id, "access_level": 40})
	w.do(name, "POST", "/user/emails", map[string]any{"email": "private-" + name + "@example.org"})
	w.do(name, "POST", "/projects/"+w.projects[0].values["projects/:id"]+"/star", nil)
	project := w.projects[0].values["projects/:id"]
	issues := "/projects/" + project + "/issues/" + w.projects[0].values[":issue_iid"] + "/notes"
	w.do(name, "POST", issues, map[string]any{"body": ":thumbsup:"})
	w.do("owner", "POST", issues, map[string]any{"body": "To be had"}) // a hard deletion took the others
	had := w.do("owner", "POST", "/projects/"+project+"/issues", map[string]any{"title": "Had by " + name})
	w.do("owner", "POST", "/projects/"+project+"/issues/"+number(had, "iid")+"/add_spent_time", map[string]any{"duration": "1h"})
	w.do("developer", "POST", "/projects/"+project+"/merge_requests", map[string]any{
		"title": "Of " + name, "source_branch": "spare", "target_branch": name,
	})
	w.exec("INSERT INTO ref_intents (project_id, user_id, source, changes, created_at) VALUES (?, ?, 'api', '[]', ?)", project, id, db.At(w.now()))
	w.exec("DELETE FROM merge_leases")
	w.exec(`INSERT INTO merge_leases (merge_request_id, user_id, target_old_sha, target_new_sha, remove_source, created_at)
		SELECT MIN(id), CAST(? AS BIGINT), '', '', ?, ? FROM merge_requests`, id, false, db.At(w.now()))
	for _, c := range columns {
		fate := fates()[c.String()]
		if fate == kept || fate == passing || c.rule == "CASCADE" {
			continue
		}
		w.exec("UPDATE "+c.table+" SET "+c.column+" = ?", id)
		if w.holds(t, c, id) == 0 && c.rule == "" {
			t.Errorf("there is no row in %s: furnish one here, so that %s is tested", c.table, c)
		}
	}
	return id
}

// interrupt begins the departure and lets it fail before its end, as a crash would.
func (w *world) interrupt(t *testing.T, id authz.UserID, hard bool) {
	t.Helper()
	crash := errors.New("crash")
	all := w.core.Accounts.Executors()
	for n := range all {
		w.core.Accounts.Connect(account.Above{Executors: append(slices.Clone(all[:n]), crashing{crash})})
		if err := w.core.Accounts.Depart(t.Context(), account.Departure{UserID: id, By: 1, Hard: hard}); !errors.Is(err, crash) {
			t.Errorf("interrupted after %d executors: got %v", n, err)
		}
	}
	w.core.Accounts.Connect(account.Above{Executors: all})
}

// crashing is an executor that fails.
type crashing struct{ err error }

func (c crashing) Depart(context.Context, account.Estate) (bool, error) { return false, c.err }

func (w *world) holds(t *testing.T, c userColumn, id authz.UserID) int {
	t.Helper()
	n, err := db.Get[int](t.Context(), w.db, "SELECT COUNT(*) FROM "+c.table+" WHERE "+c.column+" = ?", id)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// noTrace looks for a deleted user everywhere.
func (w *world) noTrace(t *testing.T, name string, columns []userColumn, hard bool) {
	t.Helper()
	id := w.ids[name]
	ghost, err := db.Get[authz.UserID](t.Context(), w.db, "SELECT id FROM users WHERE user_type = 'ghost'")
	if err != nil {
		t.Fatalf("look for the ghost: %v", err)
	}
	for _, c := range columns {
		fate := fates()[c.String()]
		if fate == kept || fate == passing {
			continue
		}
		if n := w.holds(t, c, id); n > 0 {
			t.Errorf("hard %v: %d rows of %s still name the user (%s)", hard, n, c, fate)
		}
		if n := w.holds(t, c, ghost); n == 0 && (fate == toGhost || fate == handed && !hard) && (!hard || fate != toGhost) {
			t.Errorf("hard %v: nothing of %s came to the ghost", hard, c)
		}
	}
	for _, query := range []string{
		"SELECT COUNT(*) FROM emails WHERE email_fold LIKE ?",
		"SELECT COUNT(*) FROM routes WHERE path_fold LIKE ?",
		"SELECT COUNT(*) FROM namespaces WHERE path LIKE ?",
	} {
		if n, err := db.Get[int](t.Context(), w.db, query, "%"+name+"%"); err != nil || n != 0 {
			t.Errorf("hard %v: %s: got %d, %v, want none", hard, query, n, err)
		}
	}
	stars, err := db.Get[int](t.Context(), w.db, `SELECT COUNT(*) FROM projects p WHERE star_count <>
		(SELECT COUNT(*) FROM stars s WHERE s.project_id = p.id)`)
	if err != nil || stars != 0 {
		t.Errorf("hard %v: %d projects count their stars wrongly (%v)", hard, stars, err)
	}
	notes, err := db.Get[int](t.Context(), w.db, `SELECT COUNT(*) FROM issues i WHERE notes_count <>
		(SELECT COUNT(*) FROM notes n WHERE n.noteable_type = 'Issue' AND n.noteable_id = i.id AND NOT n.system)`)
	if err != nil || notes != 0 {
		t.Errorf("hard %v: %d issues count their notes wrongly (%v)", hard, notes, err)
	}
}
