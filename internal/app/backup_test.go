package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/backup"
	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// backupTo makes a backup of a server into a file.
func (s *server) backupTo(t *testing.T, in BackupInput) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.tar.zst")
	_, err := toFile(name, func(out io.Writer) (*BackupMade, error) {
		z, err := backup.NewCompressor(out)
		if err != nil {
			return nil, err
		}
		m, err := s.backup(t.Context(), in, z, func(string) {})
		if err != nil {
			return nil, err
		}
		return &BackupMade{}, z.Close(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// restoreInto restores a backup into a new folder, on a database or on SQLite there.
func restoreInto(t *testing.T, file, database string) (*config.Config, *Restored) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if database == "" {
		database = "sqlite:" + filepath.Join(data, "tenon.db")
	}
	c := &config.Config{Data: data, HTTP: "127.0.0.1:0", Database: database}
	done, err := Restore(t.Context(), c, slog.New(slog.DiscardHandler), Build{Version: "test"}, RestoreInput{File: file, Fsck: true}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return c, done
}

// contents is everything that an instance holds, as text: rows, last ids, jobs that wait,
// references and objects.
func contents(t *testing.T, d *db.DB, data string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := d.Snapshot(t.Context(), func(ctx context.Context) error {
		tables, err := d.DumpTables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			var rows strings.Builder
			if err := d.DumpRows(ctx, table, func(line []byte) error {
				if table.Name != "instance" { // it names the server
					rows.Write(line)
				}
				return nil
			}); err != nil {
				return err
			}
			out["table "+table.Name] = rows.String()
		}
		last, err := d.LastIDs(ctx)
		if err != nil {
			return err
		}
		out["last ids"] = fmt.Sprint(last)
		var jobs []string
		if err := job.Save(ctx, d, func(j job.Saved) error {
			jobs = append(jobs, j.Kind+" "+strings.ReplaceAll(string(j.Args), " ", ""))
			return nil
		}); err != nil {
			return err
		}
		slices.Sort(jobs)
		out["jobs"] = strings.Join(jobs, "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitcmd.New(t.Context(), gitcmd.Config{Root: filepath.Join(data, "repositories")})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	folders, _ := filepath.Glob(filepath.Join(data, "repositories", "@*", "*", "*", "*.git"))
	for _, dir := range folders {
		r := g.Repo(dir)
		refs, err := r.Refs(t.Context(), "refs/")
		head, herr := r.Head(t.Context())
		pool, perr := r.Linked()
		if err != nil || herr != nil || perr != nil {
			t.Fatal(dir, err, herr, perr)
		}
		rel, _ := filepath.Rel(data, dir)
		out[rel] = fmt.Sprint(head, refs, pool != nil)
	}
	objects := filepath.Join(data, "objects")
	_ = filepath.WalkDir(objects, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			out[strings.TrimPrefix(path, data)] = string(text)
		}
		return err
	})
	return out
}

func differences(got, want map[string]string) string {
	var out strings.Builder
	keys := maps.Clone(got)
	maps.Copy(keys, want)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if got[key] != want[key] {
			fmt.Fprintf(&out, "%s: got\n%.2000s\nwant\n%.2000s\n", key, got[key], want[key])
		}
	}
	return out.String()
}

// TestBackup_engines moves an instance with everything in it from each engine to the other
// and back: every row, job, reference and object is the same, and a server on it works.
func TestBackup_engines(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		fork := s.do("owner", "POST", "/projects/"+w.projects[0].values["projects/:id"]+"/fork", obj{"path": "forked", "name": "forked"})
		files := w.keepFiles()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.jobs.Enqueue(t.Context(), project.Purge{ProjectID: 424242}); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := s.core.Audit.Seal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		if err := os.RemoveAll(filepath.Join(s.data, "objects", "exports")); err != nil { // backups leave archives out
			t.Fatal(err)
		}
		want := contents(t, s.db, s.data)
		for _, table := range []string{
			"metric_images", "uploads", "snippets", "wikis", "wiki_pages", "epics", "boards", "board_lists", "iterations", "notes", "draft_notes", "suggestions",
			"subscriptions", "commit_participants", "timelogs", "approvals", "approval_rules",
		} {
			if want["table "+table] == "" {
				t.Errorf("the world has no row of %s", table)
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(name string) bool { return strings.Contains(name, "@attached") }) {
			t.Error("the world has no repository of a wiki or a snippet")
		}
		if len(want) < 70 || !strings.Contains(want["jobs"], "424242") || want["table pool_members"] == "" {
			t.Fatalf("the world holds too little: %d, jobs %q, pools %q", len(want), want["jobs"], want["table pool_members"])
		}
		first := s.backupTo(t, BackupInput{SecretKey: true})
		other := ""
		if s.db.Dialect() == db.SQLite {
			other = dbtest.PostgresURL(t)
		}
		middle, done := restoreInto(t, first, other)
		if done.Checked.Problems() > 0 || len(done.Notes) > 0 || !done.Key {
			t.Errorf("restored with %+v, %v", done.Checked, done.Notes)
		}
		m := serverOn(t, middle)
		if diff := differences(contents(t, m.db, m.data), want); diff != "" {
			t.Errorf("on the other engine: %s", diff)
		}
		second := m.backupTo(t, BackupInput{})
		back := ""
		if s.db.Dialect() == db.Postgres {
			back = dbtest.PostgresURL(t)
		}
		end, done := restoreInto(t, second, back)
		if done.Checked.Problems() > 0 || done.Key {
			t.Errorf("restored again with %+v, key %v", done.Checked, done.Key)
		}
		if _, err := New(t.Context(), end, slog.New(slog.DiscardHandler), Build{}); err == nil || !strings.Contains(err.Error(), "secret.key is missing") {
			t.Errorf("without the key: got %v", err)
		}
		key, err := os.ReadFile(filepath.Join(s.data, "secret.key"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(end.Data, "secret.key"), key, 0o600); err != nil {
			t.Fatal(err)
		}
		e := serverOn(t, end)
		if diff := differences(contents(t, e.db, e.data), want); diff != "" {
			t.Errorf("back: %s", diff)
		}
		e.keys = s.keys
		if a, b, c := s.sealed(t), m.sealed(t), e.sealed(t); a != b || a != c {
			t.Errorf("audit events are sealed up to %q, on the other engine %q, and back %q", a, b, c)
		}
		e.findFiles(files)
		if got := e.do("owner", "GET", "/projects/"+number(fork, "id")+"/repository/branches", nil); got == nil && t.Failed() {
			t.Error("the fork has no branches")
		}
		made := e.do("admin", "POST", "/projects", obj{"name": "later", "initialize_with_readme": true})
		if number(made, "id") <= number(fork, "id") && len(number(made, "id")) <= len(number(fork, "id")) {
			t.Errorf("a new project has the id %v, the last one was %v", made["id"], fork["id"])
		}
	})
}

// sealed is the last seal of the audit trail, which is as it was written.
func (s *server) sealed(t *testing.T) string {
	t.Helper()
	r, err := s.core.Audit.Verify(t.Context(), authz.System(), "", nil)
	if err != nil || !r.Valid || r.SealedUpTo == nil {
		t.Fatalf("audit trail: %+v, %v", r, err)
	}
	return r.SealedUpTo.Seal
}

// keepFiles makes a thing of each kind that has files or a repository of its own, and returns their paths, with what
// is read there.
func (w *world) keepFiles() map[string]string {
	w.tb.Helper()
	p := w.projects[0].values
	path, group := "/projects/"+p["projects/:id"], "/groups/"+p["groups/:id"]
	w.decorate(path, 1)
	w.plan(path)
	request := path + "/merge_requests/" + p["merge_requests/:noteable_id"]
	w.do("developer", "POST", request+"/unsubscribe", nil)
	w.do("owner", "POST", request+"/add_spent_time", obj{"duration": "1h"})
	w.do("maintainer", "POST", request+"/approve", nil)
	head := w.do("owner", "GET", path+"/repository/branches/main", nil)["commit"].(map[string]any)["id"].(string)
	w.do("owner", "POST", path+"/repository/commits/"+head+"/discussions", obj{"body": "See, @maintainer"})
	incident := w.do("owner", "POST", path+"/issues", obj{"title": "Down", "issue_type": "incident"})
	image := w.do("owner", "POST", path+"/issues/"+number(incident, "iid")+"/metric_images", obj{"file": attached{"load.png", onePixel()}})
	upload := w.do("owner", "POST", path+"/uploads", obj{"file": attached{"notes.txt", "uploaded"}})
	w.do("owner", "POST", path+"/wikis", obj{"title": "Kept", "content": "page of a project"})
	w.do("owner", "POST", group+"/wikis", obj{"title": "Kept", "content": "page of a group"})
	snippet := w.do("owner", "POST", path+"/snippets", obj{"title": "Kept", "visibility": "private", "files": []obj{{"file_path": "s.sh", "content": "of a project"}}})
	own := w.do("owner", "POST", "/snippets", obj{"title": "Kept", "visibility": "private", "files": []obj{{"file_path": "s.sh", "content": "of a user"}}})
	return map[string]string{
		image["file_path"].(string):                                      onePixel(),
		upload["full_path"].(string):                                     "uploaded",
		"/api/v4" + path + "/wikis/Kept":                                 "page of a project",
		"/api/v4" + group + "/wikis/Kept":                                "page of a group",
		"/api/v4" + path + "/snippets/" + number(snippet, "id") + "/raw": "of a project",
		"/api/v4/snippets/" + number(own, "id") + "/raw":                 "of a user",
	}
}

// findFiles reads what keepFiles made.
func (s *server) findFiles(files map[string]string) {
	s.tb.Helper()
	for path, want := range files {
		if got := s.fetch("owner", path); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			s.tb.Errorf("%s: got %d %.200s, want %.40q in it", path, got.Code, got.Body, want)
		}
	}
}

// serverOn is a server on restored data.
func serverOn(t *testing.T, c *config.Config) *server {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	logs := &logbook{}
	a, err := New(ctx, c, slog.New(slog.NewJSONHandler(logs, nil)), Build{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &server{App: a, tb: t, logs: logs, data: c.Data}
}

// TestBackup_meanwhile deletes a project, makes another and moves branches between the
// moment of the database and that of the repositories.
func TestBackup_meanwhile(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		one := s.do("admin", "POST", "/projects", obj{"name": "one", "initialize_with_readme": true})
		two := s.do("admin", "POST", "/projects", obj{"name": "two", "initialize_with_readme": true})
		empty := s.do("admin", "POST", "/projects", obj{"name": "empty"})
		var all []repo.Stored
		name := filepath.Join(t.TempDir(), "b.tar.zst")
		_, err := toFile(name, func(out io.Writer) (*BackupMade, error) {
			z, err := backup.NewCompressor(out)
			if err != nil {
				return nil, err
			}
			b := &backupRun{a: s.App, tell: func(string) {}, progress: progress{tell: func(string) {}}}
			if err := s.db.Snapshot(t.Context(), func(ctx context.Context) error {
				if err := b.begin(ctx, BackupInput{}, z); err != nil {
					return err
				}
				if err := b.database(ctx); err != nil {
					return err
				}
				all, err = s.core.Repos.Inventory(ctx)
				return err
			}); err != nil {
				return nil, err
			}
			s.do("admin", "DELETE", "/projects/"+number(one, "id"), nil)
			s.do("admin", "POST", "/projects", obj{"name": "three", "initialize_with_readme": true})
			s.do("admin", "POST", "/projects/"+number(two, "id")+"/repository/branches", obj{"branch": "late", "ref": "main"})
			s.do("admin", "POST", "/projects/"+number(empty, "id")+"/repository/files/a.txt", obj{"branch": "main", "content": "a", "commit_message": "a"})
			if err := s.jobs.Drain(t.Context()); err != nil {
				return nil, err
			}
			if err := b.repositories(t.Context(), all); err != nil {
				return nil, err
			}
			m, err := b.w.Close()
			if err != nil {
				return nil, err
			}
			return &BackupMade{}, z.Close(m)
		})
		if err != nil {
			t.Fatal(err)
		}
		c, done := restoreInto(t, name, "")
		if done.Checked.Problems() > 0 || len(done.Notes) != 1 || !strings.Contains(done.Notes[0], "root/one was deleted while") {
			t.Errorf("restored with %+v, notes %v", done.Checked, done.Notes)
		}
		if err := os.WriteFile(filepath.Join(c.Data, "secret.key"), make([]byte, 32), 0o600); err != nil {
			t.Fatal(err)
		}
		r := serverOn(t, c)
		r.keys = s.keys
		if err := r.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{
			number(one, "id"): 404, number(two, "id") + "/repository/branches/late": 200, number(empty, "id") + "/repository/branches/main": 200, "root%2Fthree": 404,
		} {
			if got := r.send(t.Context(), get("admin", "/projects/"+path)); got.Code != want {
				t.Errorf("%s: got %d %s, want %d", path, got.Code, got.Body, want)
			}
		}
		found, err := r.adminCheck(t.Context(), CheckInput{Fsck: true}, func(string) {})
		if err != nil || found.Problems() > 0 {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}
