package gitimport_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
)

// elsewhere serves a repository with two branches, a tag and pointers to large objects at
// /shop.git, to sam with the password s3cret only, a way there at /moved.git, and what
// does harm to those who clone it at /sly.git.
func elsewhere(t *testing.T, batch http.HandlerFunc, large ...string) *httptest.Server {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Sam", "-c", "user.email=sam@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "-q", "-b", "trunk", "work")
	for _, content := range large {
		check(t, os.WriteFile(filepath.Join(dir, "work", content+".bin"), []byte(pointer(content).Text()), 0o600))
	}
	git("-C", "work", "add", ".")
	git("-C", "work", "commit", "-q", "--allow-empty", "-m", "First")
	git("-C", "work", "branch", "aside")
	git("-C", "work", "tag", "-a", "v1", "-m", "One")
	for _, ref := range []string{"refs/keep-around/x", "refs/replace/" + strings.Repeat("12", 20), "refs/pull/1/head", "refs/notes/commits"} {
		git("-C", "work", "update-ref", ref, "HEAD")
	}
	git("-C", "work", "update-ref", "refs/heads/"+strings.Repeat("ab", 20), "HEAD") // shadows a commit, which no push may
	git("clone", "-q", "--mirror", "work", "shop.git")
	git("init", "-q", "-b", "trunk", "sly") // runs a program where it is cloned with its submodules (CVE-2018-17456)
	check(t, os.WriteFile(filepath.Join(dir, "sly", ".gitmodules"), []byte("[submodule \"a\"]\n\tpath = a\n\turl = -u./payload\n"), 0o600))
	git("-C", "sly", "add", ".")
	git("-C", "sly", "commit", "-q", "-m", "Sly")
	git("clone", "-q", "--mirror", "sly", "sly.git")
	path, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	check(t, err)
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/moved.git"):
			http.Redirect(w, r, strings.Replace(r.URL.String(), "moved", "shop", 1), http.StatusMovedPermanently)
		case user != "sam" || password != "s3cret":
			w.Header().Set("Www-Authenticate", `Basic realm="elsewhere"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
		case batch != nil && strings.HasPrefix(r.URL.Path, "/shop.git/info/lfs/"):
			batch(w, r)
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestService_Import(t *testing.T) {
	t.Parallel()
	server := elsewhere(t, nil)
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.outbound = safehttp.Rules{Local: true}
		var asked []job.Args
		w.enqueue = func(_ context.Context, args job.Args, _ ...job.Option) error {
			asked = append(asked, args)
			return nil
		}
		run := func(path, user, password string) (*project.Project, error) {
			t.Helper()
			_, err := w.DB.Exec(ctx, "UPDATE projects SET import_status = ?, default_branch = NULL WHERE id = ?", project.ImportScheduled, w.id)
			check(t, err)
			args := project.Import{ProjectID: w.id, URL: server.URL + path}
			if user != "" {
				args.Sealed = w.deps.Box.Seal(project.ImportSecret(w.id), url.UserPassword(user, password).String())
			}
			err = w.imports.Import(ctx, args)
			return w.as(w.owner), err
		}
		for _, tt := range []struct{ name, path, user, password, want string }{
			{"without credentials", "/shop.git", "", "", "The server asks for a user name and a password, or does not accept those given."},
			{"with wrong ones", "/shop.git", "sam", "pa55word", "The server asks for a user name and a password, or does not accept those given."},
			{"where nothing is", "/nothing.git", "sam", "s3cret", "There is no git repository at the address."},
			{"with an option for an address", "/sly.git", "sam", "s3cret", "The repository has objects that are broken."},
			{"by a redirect", "/moved.git", "sam", "s3cret", "The address leads to another one, which has to be given instead."},
		} {
			p, err := run(tt.path, tt.user, tt.password)
			if err == nil || p.ImportStatus != project.ImportFailed || p.ImportError == nil || *p.ImportError != tt.want {
				t.Errorf("%s: %v; %q, %v, want %q", tt.name, err, p.ImportStatus, p.ImportError, tt.want)
			}
			if err != nil && tt.password != "" && strings.Contains(err.Error(), tt.password) {
				t.Errorf("%s: the error tells the password: %v", tt.name, err)
			}
		}

		w.outbound = safehttp.Rules{}
		p, err := run("/shop.git", "sam", "s3cret")
		if want := "Import url is blocked: Requests to loopback addresses are not allowed"; err == nil || p.ImportError == nil || *p.ImportError != want {
			t.Errorf("an address of this machine: %v; %v, want %q", err, p.ImportError, want)
		}
		w.outbound = safehttp.Rules{Local: true}
		w.largest(100)
		p, err = run("/shop.git", "sam", "s3cret")
		if err == nil || p.ImportError == nil || *p.ImportError != "The repository is too large." {
			t.Errorf("more than an import may bring: %v; %v", err, p.ImportError)
		}
		w.largest(1 << 30)
		for range 2 { // once more after a crash
			p, err = run("/shop.git", "sam", "s3cret")
			check(t, err)
			if p.ImportStatus != project.ImportFinished || p.ImportError != nil || p.DefaultBranch == nil || *p.DefaultBranch != "trunk" {
				t.Errorf("imported: %q, %v, default branch %v", p.ImportStatus, p.ImportError, p.DefaultBranch)
			}
		}
		refs, err := w.open().Refs(ctx, "refs/")
		check(t, err)
		var names []string
		for _, ref := range refs {
			names = append(names, string(ref.Name))
		}
		if got, want := strings.Join(names, " "), "refs/heads/aside refs/heads/trunk refs/notes/commits refs/tags/v1"; got != want {
			t.Errorf("references: %s, want %s", got, want)
		}
		if _, err := w.open().Resolve(ctx, gitstore.Branches+"trunk"); err != nil {
			t.Error(err)
		}
		if len(asked) != 2 {
			t.Errorf("jobs: %v, want a measurement after each import", asked)
		}
		check(t, w.imports.Import(ctx, project.Import{ProjectID: w.id, URL: "http://192.0.2.1/"})) // has nothing to do any more
	})
}

// An import brings the large objects along, and says which it could not.
func TestService_Import_large_objects(t *testing.T) {
	t.Parallel()
	each(t, importLargeObjects)
}

func importLargeObjects(t *testing.T, w *world) {
	t.Helper()
	// The content is on another server, which must not learn the password.
	var leaked atomic.Bool
	var served atomic.Int64
	store := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		if r.Header.Get("X-Ticket") != "t" {
			http.Error(answer, "no ticket", http.StatusForbidden)
			return
		}
		served.Add(1)
		_, _ = io.WriteString(answer, strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(store.Close)
	var hrefs map[string]string // by content; others stand at the store
	batch := func(contents ...string) http.HandlerFunc {
		return func(answer http.ResponseWriter, r *http.Request) {
			var asked struct {
				Operation string
				Objects   []struct{ OID string }
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Operation != "download" {
				http.Error(answer, "what", http.StatusBadRequest)
				return
			}
			var objects []map[string]any
			for _, o := range asked.Objects {
				for _, content := range contents {
					href := store.URL + "/" + content
					if other, ok := hrefs[content]; ok {
						href = other
					}
					if pointer(content).OID == o.OID && href != "" {
						objects = append(objects, map[string]any{"oid": o.OID, "actions": map[string]any{
							"download": map[string]any{"href": href, "header": map[string]string{"X-Ticket": "t"}},
						}})
					}
				}
			}
			_ = json.NewEncoder(answer).Encode(map[string]any{"objects": objects})
		}
	}
	contents := []string{"one", "two", "three", "four", "five"}
	server := elsewhere(t, batch(contents...), contents...)
	plain := elsewhere(t, nil, "one")
	ctx := t.Context()
	w.outbound = safehttp.Rules{Local: true}
	w.exec("UPDATE projects SET lfs_enabled = true WHERE id = ?", w.id)
	run := func(at *httptest.Server, status, message string) {
		t.Helper()
		w.exec("UPDATE projects SET import_status = ?, default_branch = NULL WHERE id = ?", project.ImportScheduled, w.id)
		err := w.imports.Import(ctx, project.Import{
			ProjectID: w.id, URL: at.URL + "/shop.git", Sealed: w.deps.Box.Seal(project.ImportSecret(w.id), url.UserPassword("sam", "s3cret").String()),
		})
		p, said := w.as(w.owner), ""
		if p.ImportError != nil {
			said = *p.ImportError
		}
		if p.ImportStatus != status || said != message || (err == nil) != (status == project.ImportFinished) {
			t.Errorf("got %q, %q, %v, want %q, %q", p.ImportStatus, said, err, status, message)
		}
	}
	has := func(want ...string) {
		t.Helper()
		var oids []string
		for _, content := range contents {
			oids = append(oids, pointer(content).OID)
		}
		got, err := w.large.Has(ctx, w.id, oids)
		check(t, err)
		if len(got) != len(want) {
			t.Errorf("the project has %d large objects, want %v", len(got), want)
		}
		for _, content := range want {
			if _, ok := got[pointer(content).OID]; !ok {
				t.Errorf("%q was not brought", content)
			}
		}
	}
	w.largest(1 << 30)
	run(plain, project.ImportFinished, "1 large files of Git LFS were not brought: the server has no Git LFS.")
	has()
	hrefs = map[string]string{"two": store.URL + "/wrong", "three": "file:///etc/passwd", "four": ""}
	run(server, project.ImportFinished, "3 of 5 large files of Git LFS were not brought.")
	has("one", "five")
	// Another import, or the same one after a crash, asks for what is missing only.
	hrefs = nil
	before := served.Load()
	run(server, project.ImportFinished, "")
	has(contents...)
	if n := served.Load() - before; n != 3 {
		t.Errorf("%d objects were fetched, want 3", n)
	}
	w.exec("DELETE FROM lfs_links")
	w.exec("UPDATE projects SET lfs_enabled = false WHERE id = ?", w.id)
	run(server, project.ImportFinished, "")
	has()
	if leaked.Load() {
		t.Error("somebody else was told the password")
	}
}

// An import that brings more than the limit fails with the reason, and leaves nothing.
func TestService_Import_sizeLimit(t *testing.T) {
	t.Parallel()
	server := elsewhere(t, nil)
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.outbound = safehttp.Rules{Local: true}
		_, err := w.DB.Exec(ctx, "UPDATE projects SET import_status = ?, repository_size_limit = 100 WHERE id = ?", project.ImportScheduled, w.id)
		check(t, err)
		args := project.Import{ProjectID: w.id, URL: server.URL + "/shop.git"}
		args.Sealed = w.deps.Box.Seal(project.ImportSecret(w.id), "sam:s3cret")
		if err := w.imports.Import(context.WithoutCancel(ctx), args); err == nil {
			t.Fatal("more than the limit came in")
		}
		p := w.as(w.owner)
		want := "The repository is larger than 100 bytes, the limit of the project (repository_size_limit)."
		if p.ImportError == nil || *p.ImportError != want {
			t.Errorf("import error %v, want %q", p.ImportError, want)
		}
		refs, err := w.open().Refs(ctx, "refs/")
		if err != nil || len(refs) > 0 {
			t.Errorf("left behind: %v, %v", refs, err)
		}
	})
}

// Large objects of an import count against the limits of the user who made the project:
// nothing is asked for that has no room.
func TestService_Import_userLimit(t *testing.T) {
	t.Parallel()
	server := elsewhere(t, nil, "one")
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.outbound = safehttp.Rules{Local: true}
		check(t, w.settings.Set(ctx, "user_storage_limit", 1))
		w.exec("UPDATE projects SET import_status = ?, lfs_enabled = true, creator_id = ? WHERE id = ?", project.ImportScheduled, w.owner.UserID, w.id)
		w.Insert("uploads", coretest.Row{"namespace_id": w.as(w.owner).NamespaceID, "user_id": w.owner.UserID, "size": 1 << 20})
		args := project.Import{ProjectID: w.id, URL: server.URL + "/shop.git"}
		args.Sealed = w.deps.Box.Seal(project.ImportSecret(w.id), "sam:s3cret")
		err := w.imports.Import(ctx, args)
		p := w.as(w.owner)
		if want := "Your attached and large files and packages would take"; err == nil || p.ImportError == nil || !strings.HasPrefix(*p.ImportError, want) {
			t.Errorf("import: %v, import error %v, want %q", err, p.ImportError, want)
		}
		refs, err := w.open().Refs(ctx, "refs/")
		if err != nil || len(refs) > 0 {
			t.Errorf("left behind: %v, %v", refs, err)
		}
	})
}
