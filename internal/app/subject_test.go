package app

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"tenon/internal/app/subjecttest"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
	"tenon/migrations"
)

// withBookmarks is a program that has one subject more, by the line in Subjects.
func withBookmarks(t *testing.T) Build {
	t.Helper()
	schema := fstest.MapFS{}
	for _, from := range []fs.FS{migrations.FS, subjecttest.Migrations} {
		files, err := fs.Glob(from, "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				t.Fatal(err)
			}
			schema[name] = &fstest.MapFile{Data: text}
		}
	}
	return Build{Version: "test", Revision: "unknown", Migrations: schema, Subjects: []core.Subject{subjecttest.Subject}}
}

// TestSubject adds a subject to a server by one line: it has notes and award emoji, and is in the
// matrix of permissions, the OpenAPI document, the audit trail, the activity, the check of the
// database, and what is deleted with a project.
func TestSubject(t *testing.T) {
	walker(t)
	build := withBookmarks(t)
	for engine, database := range map[string]func() string{"sqlite": func() string { return "" }, "postgres": func() string { return dbtest.PostgresURL(t) }} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(newServerOf(t, database(), build))
			var routes []api.Info
			for _, route := range w.kit().Routes() {
				if strings.HasPrefix(route.Path, "/projects/:id/bookmarks") {
					routes = append(routes, route)
				}
			}
			w.keepBookmarks(t)
			text, _ := w.matrix(t, routes, bookmarkSamples())
			w.noSecretsLogged()
			compareGolden(t, "testdata/subject_matrix.txt", text)
			compareGolden(t, "testdata/subject_openapi.json", bookmarkDocument(t, w))
			w.lookAtBookmarks(t)
		})
	}
}

func bookmarkSamples() map[string][]sample {
	const path = "/projects/:id/bookmarks"
	said, other := []sample{{body: obj{"body": "New"}}}, []sample{{note: "developer's", body: obj{"body": "Other"}}}
	onNote := with{"award_id": "=award on the note"}
	return map[string][]sample{
		"POST " + path:                                                               {{body: obj{"title": "New"}}},
		"POST " + path + "/:noteable_id/notes":                                       said,
		"PUT " + path + "/:noteable_id/notes/:note_id":                               other,
		"DELETE " + path + "/:noteable_id/notes/:note_id":                            {{note: "developer's"}},
		"POST " + path + "/:noteable_id/discussions":                                 said,
		"POST " + path + "/:noteable_id/award_emoji":                                 {{body: obj{"name": "heart"}}},
		"DELETE " + path + "/:noteable_id/award_emoji/:award_id":                     {{note: "developer's"}},
		"POST " + path + "/:noteable_id/notes/:note_id/award_emoji":                  {{body: obj{"name": "heart"}}},
		"DELETE " + path + "/:noteable_id/notes/:note_id/award_emoji/:award_id":      {{note: "developer's", values: onNote}},
		"GET " + path + "/:noteable_id/notes/:note_id/award_emoji/:award_id":         {{values: onNote}},
		"POST " + path + "/:noteable_id/discussions/:discussion_id/notes":            said,
		"PUT " + path + "/:noteable_id/discussions/:discussion_id/notes/:note_id":    other,
		"DELETE " + path + "/:noteable_id/discussions/:discussion_id/notes/:note_id": {{note: "developer's"}},
	}
}

// keepBookmarks makes a bookmark with a thread in each project that allows it.
func (w *world) keepBookmarks(t *testing.T) {
	t.Helper()
	for _, p := range w.projects {
		path := "/projects/" + p.values["projects/:id"]
		was := w.do("admin", "GET", path, nil)
		if p.name == "archived" {
			w.do("owner", "POST", path+"/unarchive", nil)
		}
		if p.name == "off" {
			w.do("owner", "PUT", path, obj{"snippets_access_level": "enabled"})
		}
		id := number(w.do("owner", "POST", path+"/bookmarks", obj{"title": "Bookmark of " + p.name}), "id")
		on := path + "/bookmarks/" + id
		thread := w.do("owner", "POST", on+"/discussions", obj{"body": "Thread"})
		note := number(thread["notes"].([]any)[0].(map[string]any), "id")
		p.values["bookmarks/:noteable_id"], p.values["notes/:note_id"] = id, note
		p.values["discussions/:discussion_id"] = thread["id"].(string)
		p.values["award_emoji/:award_id"] = number(w.do("developer", "POST", on+"/award_emoji", obj{"name": "star"}), "id")
		p.values["award on the note"] = number(w.do("developer", "POST", on+"/notes/"+note+"/award_emoji", obj{"name": "star"}), "id")
		if p.name == "archived" {
			w.do("owner", "POST", path+"/archive", nil)
		}
		if p.name == "off" {
			w.do("owner", "PUT", path, obj{"snippets_access_level": was["snippets_access_level"]})
		}
	}
}

// bookmarkDocument is what the server's OpenAPI document says of bookmarks themselves.
func bookmarkDocument(t *testing.T, w *world) string {
	t.Helper()
	var document struct {
		Paths map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.kit().Document(), &document); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, document.Paths["/projects/{id}/bookmarks"], "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

// lookAtBookmarks reads what others keep of bookmarks, and deletes a project with one.
func (w *world) lookAtBookmarks(t *testing.T) {
	t.Helper()
	path := "/projects/" + w.projects[0].values["projects/:id"]
	id := w.projects[0].values["bookmarks/:noteable_id"]
	if got := w.list(path + "/bookmarks"); len(got) != 1 || got[0]["user_notes_count"] != 1.0 {
		t.Errorf("bookmarks: got %v, want one with one note", got)
	}
	if n, err := db.Get[int](t.Context(), w.db, `SELECT COUNT(*) FROM audit_events WHERE event_name = 'bookmark_created' AND target_details = 'Bookmark of private'
		AND target_type = 'Bookmark' AND target_id = `+id); err != nil || n != 1 {
		t.Errorf("the audit trail has the bookmark %d times (%v)", n, err)
	}
	shown := map[string]bool{}
	for _, e := range w.list(path + "/events") {
		target, _ := e["target_title"].(string)
		shown[e["action_name"].(string)+" "+target] = true
	}
	if !shown["opened Bookmark of private"] || !shown["commented on Bookmark of private"] {
		t.Errorf("the activity of the project has no bookmark, or not the note on it: %v", shown)
	}
	if found, err := w.core.Check(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("check: %q %v", found, err)
	}
	w.exec("UPDATE bookmarks SET notes_count = 5 WHERE id = " + id)
	if found, err := w.core.Check(t.Context()); err != nil || len(found) != 1 || found[0] != "bookmarks: notes_count of "+id+" is 5, want 1" {
		t.Errorf("check of a wrong counter: %q %v", found, err)
	}
	p, err := w.core.Projects.Find(t.Context(), authz.System(), w.projects[0].values["projects/:id"])
	if err == nil {
		err = w.core.Projects.Remove(t.Context(), p)
	}
	if err == nil {
		err = w.jobs.Drain(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, query := range map[string]string{
		"bookmarks": "SELECT COUNT(*) FROM bookmarks WHERE id = " + id, "notes": "SELECT COUNT(*) FROM notes WHERE noteable_type = 'Bookmark' AND noteable_id = " + id,
		"award emoji": "SELECT COUNT(*) FROM award_emoji WHERE awardable_type = 'Bookmark' AND awardable_id = " + id,
	} {
		if n, err := db.Get[int](t.Context(), w.db, query); err != nil || n != 0 {
			t.Errorf("%d %s are left of a project that was deleted (%v)", n, what, err)
		}
	}
	if a := w.send(t.Context(), request{as: "admin", method: "GET", path: path + "/bookmarks"}); a.Code != http.StatusNotFound {
		t.Errorf("bookmarks of a project that was deleted: got %d", a.Code)
	}
}
