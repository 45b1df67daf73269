package repo_test

import (
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/project"
)

// elsewhere serves a repository with two branches and a tag at /shop.git, to sam with the
// password s3cret only, and a way there at /moved.git.
func elsewhere(t *testing.T) *httptest.Server {
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
	git("-C", "work", "commit", "-q", "--allow-empty", "-m", "First")
	git("-C", "work", "branch", "aside")
	git("-C", "work", "tag", "-a", "v1", "-m", "One")
	git("-C", "work", "update-ref", "refs/keep-around/x", "HEAD")
	git("-C", "work", "update-ref", "refs/heads/"+strings.Repeat("ab", 20), "HEAD") // shadows a commit, which no push may
	git("clone", "-q", "--mirror", "work", "shop.git")
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
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestService_Import(t *testing.T) {
	t.Parallel()
	server := elsewhere(t)
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		rules := safehttp.Rules{Local: true}
		var asked []job.Args
		box, err := secret.NewBox(secret.NewKey())
		check(t, err)
		w.repos.Outbound, w.repos.Box = &safehttp.Dialer{Rules: func() safehttp.Rules { return rules }}, box
		w.repos.Enqueue = func(_ context.Context, args job.Args, _ ...job.Option) error {
			asked = append(asked, args)
			return nil
		}
		run := func(path, user, password string) (*project.Project, error) {
			t.Helper()
			_, err := w.DB.Exec(ctx, "UPDATE projects SET import_status = ?, default_branch = NULL WHERE id = ?", project.ImportScheduled, w.id)
			check(t, err)
			args := project.Import{ProjectID: w.id, URL: server.URL + path}
			if user != "" {
				args.Sealed = box.Seal(project.ImportSecret(w.id), url.UserPassword(user, password).String())
			}
			err = w.repos.Import(ctx, args)
			return w.as(w.owner), err
		}
		for _, tt := range []struct{ name, path, user, password, want string }{
			{"without credentials", "/shop.git", "", "", "The server asks for a user name and a password, or does not accept those given."},
			{"with wrong ones", "/shop.git", "sam", "pa55word", "The server asks for a user name and a password, or does not accept those given."},
			{"where nothing is", "/nothing.git", "sam", "s3cret", "There is no git repository at the address."},
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

		rules = safehttp.Rules{}
		p, err := run("/shop.git", "sam", "s3cret")
		if want := "Import url is blocked: Requests to loopback addresses are not allowed"; err == nil || p.ImportError == nil || *p.ImportError != want {
			t.Errorf("an address of this machine: %v; %v, want %q", err, p.ImportError, want)
		}
		rules = safehttp.Rules{Local: true}
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
		if got, want := strings.Join(names, " "), "refs/heads/aside refs/heads/trunk refs/tags/v1"; got != want {
			t.Errorf("references: %s, want %s", got, want)
		}
		if _, err := w.open().Resolve(ctx, gitcmd.Branches+"trunk"); err != nil {
			t.Error(err)
		}
		if len(asked) != 2 {
			t.Errorf("jobs: %v, want a measurement after each import", asked)
		}
		check(t, w.repos.Import(ctx, project.Import{ProjectID: w.id, URL: "http://192.0.2.1/"})) // has nothing to do any more
	})
}
