package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core/ci"
)

// TestGit_jobPush pushes with the token of a job: to its own project alone, where ci_push_repository_for_job_token_allowed is set, as far
// as its user may, while the job runs. REST takes no such push, and no pipelines come of it.
func TestGit_jobPush(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("dave", nil)
	ids := map[string]string{}
	for _, name := range []string{"shop", "tools"} {
		ids[name] = number(s.do("admin", "POST", "/projects", obj{"name": name, "visibility": "public", "initialize_with_readme": true}), "id")
		s.do("admin", "POST", "/projects/"+ids[name]+"/members", obj{"user_id": s.ids["dave"], "access_level": 30})
	}
	path := "/projects/" + ids["shop"]
	s.do("admin", "POST", path+"/repository/commits", obj{
		"branch": "main", "commit_message": "Configure", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "build: {script: make}\n"}},
	})
	drain := func() {
		t.Helper()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.do("dave", "POST", path+"/repository/branches", obj{"branch": "work", "ref": "main"})
	drain()
	runner := fmt.Sprint(s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type", "run_untagged": true})["token"])
	job := s.jobOf(t, runner, "dave")
	c := s.workCopy(t)
	at := func(project string) string {
		return fmt.Sprintf("http://gitlab-ci-token:%s@%s/%s.git", job.Token, c.host, project)
	}
	c.git("", "clone", "-q", at("root/shop"), ".")
	c.git("", "checkout", "-q", "-b", "topic")
	push := func(what, project, ref, want string) {
		t.Helper()
		c.git("", "commit", "-q", "--allow-empty", "-m", what)
		out, err := c.try("", "push", at(project), "HEAD:refs/heads/"+ref)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(out, want)) {
			t.Errorf("%s: got %v %s, want %q", what, err, out, want)
		}
	}
	upload := func(what string, want int) {
		t.Helper()
		body := fmt.Sprintf(`{"operation":"upload","transfers":["basic"],"objects":[{"oid":%q,"size":1}]}`, strings.Repeat("1a", 32))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/root/shop.git/info/lfs/objects/batch", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
		r.Header.Set("Accept", "application/vnd.git-lfs+json")
		r.SetBasicAuth("gitlab-ci-token", job.Token)
		w := httptest.NewRecorder()
		if s.http.Handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: got %d %s, want %d", what, w.Code, w.Body, want)
		}
	}
	push("not allowed", "root/shop", "topic", "Access denied")
	upload("large file, not allowed", http.StatusForbidden)

	s.do("admin", "PUT", path, obj{"ci_push_repository_for_job_token_allowed": true})
	push("allowed", "root/shop", "topic", "")
	upload("large file", http.StatusOK)
	push("a protected branch", "root/shop", "main", "You are not allowed to push code to protected branches on this project.")
	push("another project", "root/tools", "topic", "You are not allowed to push code to this project.")
	push("a project that is not there", "dave/new", "main", "could not be found")
	request := s.do("dave", "POST", path+"/merge_requests", obj{"title": "Topic", "source_branch": "topic", "target_branch": "main"})
	push("again", "root/shop", "topic", "")
	drain()
	head := strings.TrimSpace(c.git("", "rev-parse", "HEAD"))
	if got := s.do("dave", "GET", path+"/merge_requests/"+number(request, "iid"), nil)["sha"]; got != head {
		t.Errorf("the merge request is at %v, want what was pushed, %s", got, head)
	}
	list := s.send(t.Context(), get("dave", path+"/pipelines"))
	if n := strings.Count(list.Body.String(), `"iid":`); n != 2 { // of the commit and of the branch work
		t.Errorf("there are %d pipelines after the pushes, want 2: %s", n, list.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v4"+path+"/repository/branches?branch=other&ref=main", nil)
	r.Header.Set("Job-Token", job.Token)
	w := httptest.NewRecorder()
	if s.http.Handler.ServeHTTP(w, r); w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
		t.Errorf("REST makes a branch for a job: %d %s", w.Code, w.Body)
	}
	held, err := s.core.CI.Hold(t.Context(), job.Job.ID, job.Token)
	if err == nil {
		_, err = s.core.CI.Finish(t.Context(), held, ci.Outcome{State: "success"})
	}
	if err != nil {
		t.Fatal(err)
	}
	push("after the job", "root/shop", "topic", "Access denied")
}

// jobOf takes jobs of a runner until one is a user's.
func (s *server) jobOf(t *testing.T, token, user string) *ci.Assignment {
	t.Helper()
	for range 5 {
		got, _, err := s.core.CI.Request(context.WithoutCancel(t.Context()), ci.Ask{Token: token})
		if err != nil || got == nil {
			t.Fatalf("ask for a job: %v %v", got, err)
		}
		if got.Job.AuthorID != nil && *got.Job.AuthorID == s.ids[user] {
			return got
		}
	}
	t.Fatalf("no job is %s's", user)
	return nil
}
