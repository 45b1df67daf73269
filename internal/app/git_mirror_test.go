package app

import (
	"strings"
	"testing"
)

// TestGit_mirror pushes a mirror of a repository that came from elsewhere with a real git: references that the server keeps
// for itself are refused one by one, all others arrive. With --atomic nothing arrives.
func TestGit_mirror(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	c := s.workCopy(t)
	c.git("", "init", "-q", "-b", "main", ".")
	c.git("", "commit", "-q", "--allow-empty", "-m", "First")
	c.git("", "branch", "topic")
	c.git("", "tag", "v1")
	hidden := []string{"refs/merge-requests/1/head", "refs/pull/2/head", "refs/pull/2/merge", "refs/changes/01/1/1"}
	for _, ref := range hidden {
		c.git("", "update-ref", ref, "main")
	}
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"mirror", "refs/heads/main refs/heads/topic refs/tags/v1", []string{"--mirror"}},
		{"atomic", "", []string{"--mirror", "--atomic"}},
	} {
		s.do("admin", "POST", "/projects", obj{"name": tt.name})
		at := c.remote("root/" + tt.name)
		out, err := c.try("", append([]string{"push", "--porcelain"}, append(tt.args, at)...)...)
		if err == nil {
			t.Errorf("%s: git reports no failure:\n%s", tt.name, out)
		}
		for _, ref := range hidden {
			if !strings.Contains(out, "!\t"+ref+":"+ref+"\t") {
				t.Errorf("%s: %s is not refused by name:\n%s", tt.name, ref, out)
			}
		}
		var there []string
		for line := range strings.Lines(c.git("", "ls-remote", at)) {
			if _, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); ref != "HEAD" {
				there = append(there, ref)
			}
		}
		if got := strings.Join(there, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q\n%s", tt.name, got, tt.want, out)
		}
	}
}
