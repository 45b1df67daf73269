package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
)

// A server whose mail goes to one of the test: what happens to a merge request leads to mails,
// whose link ends them without a sign-on.
func TestMail(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := ""
			if engine == "postgres" {
				database = dbtest.PostgresURL(t)
			}
			post := mailtest.New(t, mailtest.Options{})
			s := newServer(t, database, func(c *config.Config) {
				c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", ReplyTo: "noreply@example.com", Timeout: 10 * time.Second}
			})
			testMail(t, s, post)
			testMailOfCode(t, s, post)
			testMailOfPipelines(t, s, post)
			testMailOfMoves(t, s, post)
			testMailOfReleases(t, s, post)
			testMailOfPackages(t, s, post)
			testMailOfInactive(t, s, post)
		})
	}
}

func testMail(t *testing.T, s *server, post *mailtest.Server) {
	for _, name := range []string{"mona", "rick", "ada", "watcher", "gone"} {
		s.user(name, nil)
	}
	p := s.do("mona", "POST", "/projects", obj{"name": "Tools", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	for _, name := range []string{"rick", "ada", "watcher", "gone"} {
		s.do("mona", "POST", path+"/members", obj{"user_id": s.ids[name], "access_level": 30})
	}
	for _, name := range []string{"watcher", "gone"} {
		s.do(name, "PUT", path+"/notification_settings", obj{"level": "watch"})
	}
	s.do("mona", "POST", path+"/repository/files/a.txt", obj{"branch": "side", "start_branch": "main", "content": "a", "commit_message": "A"})
	var mails []mailtest.Mail
	requestPath := path + "/merge_requests/1"
	for _, step := range []struct {
		name, method, path string
		body               obj
		want               string
	}{
		{"opened", "POST", path + "/merge_requests", obj{
			"title": "Mend it", "description": "For @gone", "source_branch": "side", "target_branch": "main",
			"assignee_ids": []any{s.ids["ada"]}, "reviewer_ids": []any{s.ids["rick"]},
		}, "ada:assigned gone:mentioned rick:review_requested watcher"},
		{"another reviewer", "PUT", requestPath, obj{"reviewer_ids": []any{s.ids["watcher"]}}, "ada gone rick watcher:review_requested"},
		{"another assignee", "PUT", requestPath, obj{"assignee_ids": []any{s.ids["rick"]}}, "ada gone rick:assigned watcher"},
		{"mentioned", "PUT", requestPath, obj{"description": "For @gone and @ada"}, "ada:mentioned"},
		{"a note", "POST", requestPath + "/notes", obj{"body": "Look, @rick"}, "ada gone rick:mentioned watcher"},
		{"closed", "PUT", requestPath, obj{"state_event": "close"}, "ada gone rick watcher"},
		{"reopened", "PUT", requestPath, obj{"state_event": "reopen"}, "ada gone rick watcher"},
		{"pushed", "POST", path + "/repository/files/b.txt", obj{"branch": "side", "content": "b", "commit_message": "B"}, "ada gone rick watcher"},
		{"in conflict", "POST", path + "/repository/files/a.txt", obj{"branch": "main", "content": "other", "commit_message": "C"}, "mona"},
		{"mended", "DELETE", path + "/repository/files/a.txt", obj{"branch": "main", "commit_message": "D"}, ""},
		{"merged", "PUT", requestPath + "/merge", nil, "ada gone rick watcher"},
	} {
		s.do("mona", step.method, step.path, step.body)
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.exec("UPDATE river_job SET scheduled_at = created_at WHERE kind = 'merge_request_trials'") // which waits for more pushes
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		mails = post.Take()
		var got []string
		for _, m := range mails {
			line, _, _ := strings.Cut(m.To, "@")
			if reason := m.Get("X-GitLab-NotificationReason"); reason != "" {
				line += ":" + reason
			}
			got = append(got, line)
			if m.Get("X-GitLab-MergeRequest-IID") != "1" || m.Get("Reply-To") != "<noreply@example.com>" || m.Get("X-GitLab-Reply-Key") != "" || m.From != "tenon@example.com" {
				t.Errorf("%s: got %s", step.name, m.Raw)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != step.want {
			t.Errorf("%s: mail to %s, want %s", step.name, got, step.want)
		}
	}
	if len(mails) == 0 {
		t.FailNow()
	}
	if got := s.send(t.Context(), get("mona", "/todos?state=done&action=unmergeable")); strings.Count(got.Body.String(), `"action_name":"unmergeable"`) != 1 {
		t.Errorf("to-do items about conflicts: %d %s", got.Code, got.Body)
	}
	if m := mails[0]; m.Get("X-GitLab-MergeRequest-State") != "merged" || !strings.Contains(m.Text, "Mona merged merge request !1") && !strings.Contains(m.Text, "mona merged merge request !1") {
		t.Errorf("the last mail: %s", m.Raw)
	}

	link := strings.TrimPrefix(strings.Trim(mails[0].Get("List-Unsubscribe"), "<>"), s.baseURL)
	ask := func(method, link, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, link, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	subscribed := func() string { return fmt.Sprint(s.do("ada", "GET", requestPath, nil)["subscribed"]) }
	if w := ask(http.MethodGet, link, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `<form class="form" method="post" action="`+link) || strings.Contains(w.Body.String(), "Mend it") {
		t.Errorf("GET of the link: %d %s", w.Code, w.Body)
	}
	if got := subscribed(); got != "true" {
		t.Errorf("a look at the link ended the mail: subscribed is %s", got)
	}
	for _, wrong := range []string{link[:len(link)-len("/unsubscribe")-1] + "0/unsubscribe", "/-/sent_notifications/a/unsubscribe"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if w := ask(method, wrong, ""); w.Code != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, wrong, w.Code)
			}
		}
	}
	if w := ask(http.MethodPost, link, "List-Unsubscribe=One-Click"); w.Code != http.StatusOK {
		t.Errorf("one click: %d %s", w.Code, w.Body)
	}
	if got := subscribed(); got != "false" {
		t.Errorf("after one click: subscribed is %s", got)
	}
	s.do("mona", "POST", requestPath+"/notes", obj{"body": "Thanks"})
	s.exec("DELETE FROM members WHERE user_id = ?", s.ids["gone"]) // before the mail is sent
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range post.Take() {
		got = append(got, m.To)
	}
	if want := []string{"rick@example.com", "watcher@example.com"}; !slices.Equal(got, want) {
		t.Errorf("mail to %s, want %s", got, want)
	}
}
