package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/mail/mailtest"
)

// testMailOfPipelines lets pipelines fail and succeed: who started them gets mail, as the notification settings say, and the author of a
// merge request a to-do item.
func testMailOfPipelines(t *testing.T, s *server, post *mailtest.Server) {
	p := s.do("mona", "POST", "/projects", obj{"name": "Plant", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["rick"], "access_level": 40})
	s.do("watcher", "PUT", "/notification_settings", obj{"level": "watch"})
	s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["watcher"], "access_level": 30})
	made := s.do("rick", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": p["id"], "run_untagged": true})
	token := fmt.Sprint(made["token"])
	subjects := func(list []mailtest.Mail) string {
		var out []string
		for _, m := range list {
			out = append(out, strings.Split(m.To, "@")[0]+": "+m.Get("Subject"))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	runs := func(state string) {
		t.Helper()
		job := s.do("rick", "POST", "/jobs/request", obj{"token": token})
		s.do("rick", "PUT", "/jobs/"+number(job, "id"), obj{"token": job["token"], "state": state, "failure_reason": "script_failure"})
	}
	commit := s.do("rick", "POST", path+"/repository/commits", obj{
		"branch": "side", "start_branch": "main", "commit_message": "Build it",
		"actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "press: {script: make}\nmaybe: {script: try, allow_failure: true}\n"}},
	})
	short := fmt.Sprint(commit["id"])[:8]
	s.do("mona", "POST", path+"/merge_requests", obj{"title": "Build it", "source_branch": "side", "target_branch": "main"})
	s.drained()
	post.Take()
	todos := func(state string) int {
		t.Helper()
		return strings.Count(s.send(t.Context(), get("mona", "/todos?state="+state+"&action=build_failed")).Body.String(), `"action_name":"build_failed"`)
	}

	runs("failed")
	runs("failed")
	failed := s.mails(post)
	if got, want := subjects(failed), "rick: Plant | Failed pipeline for side | "+short; got != want {
		t.Fatalf("after a failure: mail %q, want %q", got, want)
	}
	m := failed[0]
	if !strings.Contains(m.Text, "(Build it) has failed.") || !strings.Contains(m.Text, "- test: press (script_failure), job #") || strings.Contains(m.Text, "maybe") ||
		!strings.Contains(m.HTML, "<li>test: press (script_failure)") || m.Get("List-Unsubscribe") != "" || m.Get("X-GitLab-Pipeline-Ref") != "side" || m.Get("X-GitLab-Pipeline-Status") != "failed" {
		t.Errorf("the mail of a failure: %s", m.Raw)
	}
	if got := todos("pending"); got != 1 {
		t.Errorf("to-do items after a failure: %d", got)
	}

	pipeline := m.Get("X-GitLab-Pipeline-Id")
	s.do("rick", "POST", path+"/pipelines/"+pipeline+"/retry", nil)
	s.drained()
	if pending, done := todos("pending"), todos("done"); pending != 0 || done != 1 {
		t.Errorf("to-do items while it runs again: %d wait, %d are done", pending, done)
	}
	runs("success")
	runs("success")
	if got, want := subjects(s.mails(post)), "rick: Plant | Fixed pipeline for side | "+short; got != want {
		t.Errorf("after the jobs were retried: mail %q, want %q", got, want)
	}

	// Whether a pipeline is fixed is decided by the one before it.
	again := func(state, content string) string {
		t.Helper()
		s.do("rick", "PUT", path+"/repository/files/.gitlab-ci.yml", obj{"branch": "side", "commit_message": "Change it", "content": content})
		s.drained()
		post.Take()
		if state != "" {
			runs(state)
		}
		var out []string
		for _, m := range s.mails(post) {
			out = append(out, strings.Split(m.To, "@")[0]+": "+strings.Split(m.Get("Subject"), " for ")[0])
		}
		return strings.Join(out, ", ")
	}
	level := func(level string, more obj) {
		t.Helper()
		body := obj{"level": level}
		for k, v := range more {
			body[k] = v
		}
		if got := s.do("rick", "PUT", path+"/notification_settings", body); got["level"] != level {
			t.Fatalf("level: %v", got)
		}
	}
	for _, step := range []struct {
		name   string
		before func()
		state  string
		want   string
	}{
		{"success after success", func() {}, "success", ""},
		{"failure", func() {}, "failed", "rick: Plant | Failed pipeline"},
		{"another failure", func() {}, "failed", "rick: Plant | Failed pipeline"},
		{"success after failure", func() {}, "success", "rick: Plant | Fixed pipeline"},
		{"mentions only", func() { level("mention", nil) }, "failed", ""},
		{"disabled", func() { level("disabled", nil) }, "success", ""},
		{"chosen: success", func() {
			level("custom", obj{"success_pipeline": true, "failed_pipeline": false, "fixed_pipeline": false})
		}, "success", "rick: Plant | Successful pipeline"},
		{"chosen: no failure", func() {}, "failed", ""},
		{"chosen: no fix", func() {}, "success", ""},
		{"watching", func() { level("watch", nil) }, "failed", "rick: Plant | Failed pipeline"},
	} {
		step.before()
		if got := again(step.state, "press: {script: make}\n# "+step.name); got != step.want {
			t.Errorf("%s: mail %q, want %q", step.name, got, step.want)
		}
	}

	// A user who may not read the pipeline any more gets no mail.
	s.do("rick", "PUT", path+"/repository/files/.gitlab-ci.yml", obj{"branch": "side", "commit_message": "The last", "content": "press: {script: make}\n"})
	s.drained()
	post.Take()
	runs("failed")
	s.exec("DELETE FROM members WHERE user_id = ?", s.ids["rick"])
	if got := subjects(s.mails(post)); got != "" {
		t.Errorf("a former member: mail %q", got)
	}
	if a := s.send(t.Context(), get("rick", path)); a.Code != http.StatusNotFound {
		t.Errorf("a former member reads the project: %d", a.Code)
	}
}
