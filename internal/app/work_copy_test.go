package app

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// workCopy is a folder in which a real git speaks to a server over HTTP.
type workCopy struct {
	t         *testing.T
	dir, host string
}

func (s *server) workCopy(t *testing.T) *workCopy {
	t.Helper()
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	return &workCopy{t, t.TempDir(), strings.TrimPrefix(web.URL, "http://")}
}

// remote is the address of a repository for root.
func (c *workCopy) remote(path string) string {
	return fmt.Sprintf("http://root:%s@%s/%s.git", rootToken, c.host, path)
}

// try runs git with an input and returns all that it prints.
func (c *workCopy) try(input string, args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// git is try that must succeed.
func (c *workCopy) git(input string, args ...string) string {
	c.t.Helper()
	out, err := c.try(input, args...)
	if err != nil {
		c.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}
