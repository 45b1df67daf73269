package app

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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

// newRepository makes an empty repository, whose branch is main, that no server has.
func newRepository(t *testing.T) *workCopy {
	t.Helper()
	c := &workCopy{t: t, dir: t.TempDir()}
	c.git("", "init", "-q", "-b", "main")
	return c
}

// commit writes files, commits all, and returns the commit.
func (c *workCopy) commit(message string, files map[string]string) string {
	c.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.git("", "add", ".")
	c.git("", "commit", "-qm", message)
	return strings.TrimSpace(c.git("", "rev-parse", "HEAD"))
}

// bundle returns a bundle of all references.
func (c *workCopy) bundle() string {
	c.t.Helper()
	name := filepath.Join(c.t.TempDir(), "out.bundle")
	c.git("", "bundle", "create", "-q", name, "--all")
	text, err := os.ReadFile(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}
