package clients

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestStory tells one story with the real client, on both engines. Each step builds on
// those before it.
func TestStory(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		s := &story{server: servertest.Start(t, database), began: time.Now().Add(-time.Second)}
		s.root = s.client(t, servertest.RootToken)
		for _, step := range []struct {
			name string
			run  func(t *testing.T)
		}{
			{"version", s.version},
			{"users", s.users},
			{"groups", s.groups},
			{"projects", s.projects},
			{"push", s.push},
			{"tree", s.tree},
			{"files", s.files},
			{"commits", s.commits},
			{"compare", s.compare},
			{"branches", s.branches},
			{"tags", s.tags},
			{"comments and statuses of commits", s.aboutCommits},
			{"push rules", s.pushRules},
			{"write files", s.writeFiles},
			{"labels", s.labels},
			{"issues", s.issues},
			{"notes", s.notes},
			{"merge request", s.mergeRequest},
			{"review", s.review},
			{"merge", s.merge},
			{"squash", s.squash},
			{"auto merge", s.autoMerge},
			{"forks", s.forks},
			{"rebase", s.rebase},
			{"merge train", s.mergeTrain},
			{"members", s.members},
			{"pages", s.pages},
			{"keyset", s.keyset},
			{"errors", s.errors},
			{"sudo", s.sudo},
			{"routes", s.routes},
			{"tokens", s.tokens},
			{"delete", s.delete},
		} {
			if !t.Run(step.name, step.run) {
				t.Fatalf("the story ends at %q", step.name)
			}
		}
	})
}

// story is what the steps have in common.
type story struct {
	server *servertest.Server
	began  time.Time

	root, ann, ben     *gitlab.Client
	annID, benID       int64
	annToken, benToken string

	group, inner *gitlab.Group
	project      *gitlab.Project
	copy         string // ann's working copy
	history      []string
	issue        *gitlab.Issue
	request      *gitlab.MergeRequest
}

func (s *story) client(t *testing.T, token string) *gitlab.Client {
	t.Helper()
	c, err := gitlab.NewClient(token, gitlab.WithBaseURL(s.server.URL), gitlab.WithoutRetries())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is what a call of the client gave.
type answer[T any] struct {
	value T
	res   *gitlab.Response
	err   error
}

// got takes the results of a call.
func got[T any](value T, res *gitlab.Response, err error) answer[T] {
	return answer[T]{value, res, err}
}

// done takes the results of a call that gives no value.
func done(res *gitlab.Response, err error) answer[struct{}] {
	return answer[struct{}]{res: res, err: err}
}

// must returns the value of a call that must succeed.
func (a answer[T]) must(t *testing.T) T {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.value
}

// refused makes sure that the client sees an error of its own type with this status and
// these words. The client hides what a 404 says.
func (a answer[T]) refused(t *testing.T, status int, words string) {
	t.Helper()
	var e *gitlab.ErrorResponse
	if !errors.As(a.err, &e) {
		t.Fatalf("got %v (%v), want an ErrorResponse with %d", a.value, a.err, status)
	}
	if !e.HasStatusCode(status) || !strings.Contains(e.Message, words) && status != 404 {
		t.Errorf("got %d %q, want %d with %q", e.StatusCode, e.Message, status, words)
	}
	if status == 404 && !errors.Is(a.err, gitlab.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", a.err)
	}
}

// until asks again and again until what happens in the background has happened.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it is still not %s", what)
		}
	}
}

// same compares two values by their JSON, so that every field which the client knows
// takes part. A moment in want is compared as it stands.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func generic(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// recent makes sure that a moment lies within the test.
func (s *story) recent(t *testing.T, what string, at *time.Time) {
	t.Helper()
	if at == nil || at.Before(s.began) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("%s: got %v, want a moment after %v", what, at, s.began)
	}
}

// url is the address of a page.
func (s *story) url(path string) string { return s.server.URL + "/" + path }

// git runs git for ann in a folder.
func (s *story) git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann Author", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Ann Author", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// remote is the address of the project for git.
func (s *story) remote(user, token string) string {
	return strings.Replace(s.project.HTTPURLToRepo, "http://", "http://"+user+":"+token+"@", 1)
}

// absent ends a test whose client is not installed: it is skipped, but fails where TENON_TEST_CLIENTS demands the clients, as .ci/run does.
func absent(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("TENON_TEST_CLIENTS") == "must" {
		t.Fatal(name + ": not installed, and the tests of .ci/run need it: make setup installs Debian's package")
	}
	t.Skip(name + ": skipped (not installed)")
}
