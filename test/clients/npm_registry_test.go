package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// npmClient is npm with a .npmrc of its own in a folder of its own.
type npmClient struct {
	t      *testing.T
	folder string
	home   string
	env    []string // beside that of the test
}

func newNPM(t *testing.T, rc string, manifest map[string]any) *npmClient {
	t.Helper()
	c := &npmClient{t: t, folder: t.TempDir(), home: t.TempDir()}
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".npmrc": rc, "package.json": string(text), "index.js": "module.exports = 'of " + fmt.Sprint(manifest["name"], manifest["version"]) + "'\n"} {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// try runs npm, and returns what it prints.
func (c *npmClient) try(args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), "npm", append(args, "--no-update-notifier", "--no-fund", "--fetch-retries=0", "--loglevel=error")...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "HOME="+c.home, "npm_config_cache="+filepath.Join(c.home, "cache"))
	cmd.Env = append(cmd.Env, c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *npmClient) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("npm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestNPM publishes with npm to the registry of a private project, by a scope in .npmrc, and installs from there, from that of its group, and by the
// scope from that of the server. What is not there is asked for nowhere else.
func TestNPM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm: skipped (npm is not installed)")
	}
	servertest.Each(t, func(t *testing.T, database string) {
		w := newNPMWorld(t, database)
		host := strings.TrimPrefix(w.s.URL, "http:")
		elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("npm asks elsewhere: %s", r.URL) }))
		t.Cleanup(elsewhere.Close)
		rc := func(path string) string {
			return fmt.Sprintf("registry=%s\n@tools:registry=%s%s\n%s%s:_authToken=%s\n%s/api/v4/:_authToken=%s\naudit=false\n", elsewhere.URL, w.s.URL, path, host, path, servertest.RootToken, host, servertest.RootToken)
		}
		project, group := fmt.Sprintf("/api/v4/projects/%d/packages/npm/", w.project), fmt.Sprintf("/api/v4/groups/%d/-/packages/npm/", w.group)
		left := func(version string) *npmClient {
			return newNPM(t, rc(project), map[string]any{"name": "@tools/left", "version": version, "main": "index.js"})
		}
		left("1.0.0").run("publish")
		if out, err := left("1.0.0").try("publish"); err == nil || !strings.Contains(out, "403") && !strings.Contains(out, "cannot publish over") {
			t.Errorf("published twice: %v\n%s", err, out)
		}
		c := left("2.0.0-rc.1")
		c.run("publish", "--tag", "next")
		newNPM(t, rc(project), map[string]any{"name": "@tools/right", "version": "1.0.0", "dependencies": map[string]string{"@tools/left": "^1.0.0"}}).run("publish")

		if out := c.run("view", "@tools/left", "--json", "dist-tags"); !strings.Contains(out, `"latest": "1.0.0"`) || !strings.Contains(out, `"next": "2.0.0-rc.1"`) {
			t.Errorf("view: %s", out)
		}
		c.run("dist-tag", "add", "@tools/left@1.0.0", "stable")
		if out := c.run("dist-tag", "ls", "@tools/left"); !strings.Contains(out, "stable: 1.0.0") {
			t.Errorf("dist-tag ls: %s", out)
		}
		c.run("dist-tag", "rm", "@tools/left", "stable")
		c.run("deprecate", "@tools/left@1.0.0", "use 2")
		if out := c.run("view", "@tools/left@1.0.0", "deprecated"); !strings.Contains(out, "use 2") {
			t.Errorf("view: %s", out)
		}
		for _, path := range []string{project, group, "/api/v4/packages/npm/"} {
			user := newNPM(t, rc(path), map[string]any{"name": "user", "version": "1.0.0"})
			user.run("install", "@tools/right")
			text, err := os.ReadFile(filepath.Join(user.folder, "node_modules", "@tools", "left", "index.js"))
			if err != nil || !strings.Contains(string(text), "of @tools/left 1.0.0") && !strings.Contains(string(text), "@tools/left1.0.0") {
				t.Errorf("%s: installed %q, %v", path, text, err)
			}
			if lock, err := os.ReadFile(filepath.Join(user.folder, "package-lock.json")); err != nil || !strings.Contains(string(lock), `"integrity": "sha512-`) {
				t.Errorf("%s: lock %s, %v", path, lock, err)
			}
			user.run("ci")
			user.run("install", "@tools/left@next")
			if out, err := user.try("install", "@tools/absent"); err == nil || !strings.Contains(out, "E404") {
				t.Errorf("%s: install of what is not there: %v\n%s", path, err, out)
			}
			audit := newNPM(t, strings.Replace(rc(path), "registry="+elsewhere.URL, "registry="+w.s.URL+path, 1), map[string]any{"name": "user", "version": "1.0.0", "dependencies": map[string]string{"@tools/left": "^1.0.0"}})
			audit.run("install")
			if out := audit.run("audit"); !strings.Contains(out, "found 0 vulnerabilities") {
				t.Errorf("%s: audit: %s", path, out)
			}
		}
		anonymous := newNPM(t, "@tools:registry="+w.s.URL+project+"\n", map[string]any{"name": "user", "version": "1.0.0"})
		if out, err := anonymous.try("install", "@tools/left"); err == nil {
			t.Errorf("installed from a private project without a token: %s", out)
		}
	})
}

// newNPMWorld is a server with a private group tools and a project in it.
func newNPMWorld(t *testing.T, database string) *debianWorld {
	t.Helper()
	w := &debianWorld{t: t, s: servertest.Start(t, database)}
	w.group = w.made("/groups", `{"name":"Tools","path":"tools","visibility":"private"}`)
	w.project = w.projectNamed("packages")
	return w
}

// TestNPM_broken has a client stop in the middle of a tarball: nothing is published, and the version can be sent again.
func TestNPM_broken(t *testing.T) {
	t.Parallel()
	w := newNPMWorld(t, "")
	path := fmt.Sprintf("/projects/%d/packages/npm/x", w.project)
	const head = `{"name":"x","versions":{"1.0.0":{"name":"x","version":"1.0.0"}},"_attachments":{"x-1.0.0.tgz":{"data":"`
	from, to := io.Pipe()
	go func() {
		_, _ = to.Write([]byte(head))
		_, _ = to.Write(bytes.Repeat([]byte("eHg="), 1<<16))
		to.CloseWithError(io.ErrUnexpectedEOF)
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.s.URL+"/api/v4"+path, from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+servertest.RootToken)
	if res, err := new(http.Client).Do(r); err == nil {
		_ = res.Body.Close()
		t.Errorf("got %s", res.Status)
	}
	if status, text := w.ask("GET", path, nil); status != 404 {
		t.Errorf("half a package: %d %s", status, text)
	}
	w.call("PUT", path, strings.NewReader(head+`eHg="}}}`), 200)
	w.call("GET", path, nil, 200)
}
