package clients

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// codeHost is what the server is called in TestGoGet: paths of packages have no ports.
const codeHost = "code.example.test"

// TestGoGet gets modules with the go command: a public one, one below a project, and a private one in a subgroup with
// credentials and without.
func TestGoGet(t *testing.T) {
	s := &story{server: servertest.Start(t, "", "--external-url", "https://"+codeHost, "--trusted-proxies", "127.0.0.1/32")}
	s.root = s.client(t, servertest.RootToken)
	team := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Team"), Path: new("team"), Visibility: new(gitlab.PublicVisibility)})).must(t)
	inner := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Inner"), Path: new("inner"), ParentID: &team.ID, Visibility: new(gitlab.PrivateVisibility)})).must(t)
	for _, m := range []struct {
		name       string
		group      int64
		visibility gitlab.VisibilityValue
		module     string
	}{
		{"tool", team.ID, gitlab.PublicVisibility, "team/tool"}, {"lib", inner.ID, gitlab.PrivateVisibility, "team/inner/lib"},
	} {
		p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: &m.name, NamespaceID: &m.group, Visibility: &m.visibility})).must(t)
		create := new(gitlab.FileCreate)
		got(s.root.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{Branch: new("main"), CommitMessage: new("First"), Actions: []*gitlab.CommitActionOptions{
			{Action: create, FilePath: new("go.mod"), Content: new("module " + codeHost + "/" + m.module + "\n\ngo 1.21\n")},
			{Action: create, FilePath: new(m.name + ".go"), Content: new("package " + m.name + "\n")},
			{Action: create, FilePath: new("deep/deep.go"), Content: new("package deep\n\n// Name is of the module.\nconst Name = \"" + m.module + "\"\n")},
		}})).must(t)
		got(s.root.Tags.CreateTag(p.ID, &gitlab.CreateTagOptions{TagName: new("v1.0.0"), Ref: new("main")})).must(t)
	}

	proxy := named(t, s.server.URL)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("work/go.mod", "module example.test/work\n\ngo 1.21\n")
	run := func(args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(),
			"HOME="+home, "GOPATH="+filepath.Join(home, "go"), "GOCACHE="+strings.TrimSpace(output(t, "go", "env", "GOCACHE")), "GOFLAGS=-mod=mod -modcacherw",
			"GOMODCACHE=", "GOPROXY=direct", "GOSUMDB=off", "GOPRIVATE="+codeHost, "GOINSECURE="+codeHost, "GONOSUMDB="+codeHost, "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off",
			"HTTPS_PROXY="+proxy, "https_proxy="+proxy, "HTTP_PROXY="+proxy, "http_proxy="+proxy, "NO_PROXY=", "no_proxy=",
			"GIT_SSL_NO_VERIFY=true", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, path := range []string{"team/tool", "team/tool/deep"} {
		if out, err := run("get", codeHost+"/"+path+"@v1.0.0"); err != nil {
			t.Fatalf("go get %s: %v\n%s", path, err, out)
		}
	}
	const private = codeHost + "/team/inner/lib/deep"
	if out, err := run("get", private+"@v1.0.0"); err == nil {
		t.Errorf("a private module without credentials: %s", out)
	}
	write(".netrc", fmt.Sprintf("machine %s login any password %s\n", codeHost, servertest.RootToken))
	if out, err := run("get", private+"@v1.0.0"); err != nil {
		t.Fatalf("go get %s: %v\n%s", private, err, out)
	}
	write("work/main.go", fmt.Sprintf("package main\n\nimport (\n\tlib %q\n\ttool %q\n)\n\nfunc main() { println(lib.Name, tool.Name) }\n", private, codeHost+"/team/tool/deep"))
	if out, err := run("run", "."); err != nil || !strings.Contains(out, "team/inner/lib team/tool") {
		t.Errorf("the program: %v\n%s", err, out)
	}
}

// named makes a server known as codeHost over https, to those who go through the proxy whose address it returns.
func named(t *testing.T, server string) (proxy string) {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = codeHost
		r.SetXForwarded()
	}})
	t.Cleanup(secure.Close)
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != codeHost+":443" {
			http.Error(w, "only "+codeHost+" is reached", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		go func() { // ends when either side closes
			_, _ = io.Copy(there, buffered)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	t.Cleanup(relay.Close)
	return relay.URL
}
