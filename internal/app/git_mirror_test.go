package app

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGit_mirror pushes a mirror of a repository that came from elsewhere with a real git: references that the server keeps
// for itself are refused one by one, all others arrive. With --atomic nothing arrives.
func TestGit_mirror(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	git := func(args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := git(args...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return out
	}
	must("init", "-q", "-b", "main", ".")
	must("commit", "-q", "--allow-empty", "-m", "First")
	must("branch", "topic")
	must("tag", "v1")
	hidden := []string{"refs/merge-requests/1/head", "refs/pull/2/head", "refs/pull/2/merge", "refs/changes/01/1/1"}
	for _, ref := range hidden {
		must("update-ref", ref, "main")
	}
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"mirror", "refs/heads/main refs/heads/topic refs/tags/v1", []string{"--mirror"}},
		{"atomic", "", []string{"--mirror", "--atomic"}},
	} {
		s.do("admin", "POST", "/projects", obj{"name": tt.name})
		at := fmt.Sprintf("http://root:%s@%s/root/%s.git", rootToken, strings.TrimPrefix(web.URL, "http://"), tt.name)
		out, err := git(append([]string{"push", "--porcelain"}, append(tt.args, at)...)...)
		if err == nil {
			t.Errorf("%s: git reports no failure:\n%s", tt.name, out)
		}
		for _, ref := range hidden {
			if !strings.Contains(out, "!\t"+ref+":"+ref+"\t") {
				t.Errorf("%s: %s is not refused by name:\n%s", tt.name, ref, out)
			}
		}
		var there []string
		for line := range strings.Lines(must("ls-remote", at)) {
			if _, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); ref != "HEAD" {
				there = append(there, ref)
			}
		}
		if got := strings.Join(there, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q\n%s", tt.name, got, tt.want, out)
		}
	}
}
