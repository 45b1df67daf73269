package app

import (
	"fmt"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
	"tenon/internal/core/notify"
)

// TestMail_disabled switches mail off for a project, for its group and for the group above, by either name of the attribute: none of what
// otherwise leads to mail does, and of epics none where a group says so.
func TestMail_disabled(t *testing.T) {
	t.Parallel()
	post := mailtest.New(t, mailtest.Options{})
	s := newServer(t, "", func(c *config.Config) {
		c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", Timeout: 10 * time.Second}
	})
	for _, name := range []string{"mona", "rick"} {
		s.user(name, nil)
	}
	above := number(s.do("mona", "POST", "/groups", obj{"name": "Above", "path": "above"}), "id")
	group := number(s.do("mona", "POST", "/groups", obj{"name": "Depot", "path": "depot", "parent_id": above}), "id")
	p := s.do("mona", "POST", "/projects", obj{"name": "Crane", "namespace_id": group, "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	s.do("mona", "POST", "/groups/"+above+"/members", obj{"user_id": s.ids["rick"], "access_level": 40})
	runner := fmt.Sprint(s.do("mona", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": p["id"], "run_untagged": true})["token"])
	drain := func() {
		t.Helper()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	round, due := 0, s.now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	happen := func() (mails map[string]int) {
		t.Helper()
		round++
		mails = map[string]int{}
		branch := fmt.Sprint("side-", round)
		for _, event := range []struct {
			kind string
			make func()
		}{
			{"issue", func() {
				s.do("mona", "POST", path+"/issues", obj{"title": "Oil it", "due_date": due, "assignee_ids": []any{s.ids["rick"]}})
			}},
			{"note", func() {
				s.do("mona", "POST", path+"/issues/1/notes", obj{"body": "@rick"})
			}},
			{"due date", func() {
				s.exec("DELETE FROM due_mail_runs")
				if err := s.core.Notifications.Due(t.Context(), notify.Due{}); err != nil {
					t.Fatal(err)
				}
			}},
			{"pipeline", func() {
				s.do("rick", "POST", path+"/repository/commits", obj{
					"branch": branch, "start_branch": "main", "commit_message": "Build it", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "press: {script: make}\n"}},
				})
				drain()
				job := s.do("rick", "POST", "/jobs/request", obj{"token": runner})
				s.do("rick", "PUT", "/jobs/"+number(job, "id"), obj{"token": job["token"], "state": "failed", "failure_reason": "script_failure"})
			}},
			{"merge request", func() {
				s.do("mona", "POST", path+"/merge_requests", obj{"title": "Build it", "source_branch": branch, "target_branch": "main", "reviewer_ids": []any{s.ids["rick"]}})
			}},
			{"commit", func() {
				s.do("mona", "POST", path+"/repository/commits/"+branch+"/comments", obj{"note": "@rick"})
			}},
			{"snippet", func() {
				made := s.do("mona", "POST", path+"/snippets", aSnippet("private"))
				s.do("mona", "POST", path+"/snippets/"+number(made, "id")+"/notes", obj{"body": "@rick"})
			}},
			{"new path", func() { s.do("mona", "PUT", path, obj{"path": fmt.Sprint("crane-", round)}) }},
			{"epic", func() {
				s.do("mona", "POST", "/groups/"+group+"/epics", obj{"title": "Lift", "description": "@rick"})
			}},
		} {
			event.make()
			drain()
			mails[event.kind] = len(post.Take())
		}
		return mails
	}
	for kind, n := range happen() {
		if n == 0 {
			t.Errorf("%s: no mail while it is on", kind)
		}
	}
	for _, off := range []struct{ path, name string }{
		{path, "emails_enabled"}, {path, "emails_disabled"}, {"/groups/" + group, "emails_enabled"}, {"/groups/" + above, "emails_disabled"},
	} {
		s.do("mona", "PUT", off.path, obj{off.name: off.name == "emails_disabled"})
		for kind, n := range happen() {
			if epics := kind == "epic" && off.path == path; (n > 0) != epics {
				t.Errorf("%s with %s of %s: %d mails", kind, off.name, off.path, n)
			}
		}
		s.do("mona", "PUT", off.path, obj{off.name: off.name == "emails_enabled"})
	}
	if n := happen()["note"]; n == 0 {
		t.Error("no mail after it is on again")
	}
}
