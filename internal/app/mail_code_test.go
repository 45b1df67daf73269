package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/mail/mailtest"
)

// testMailOfCode comments on a commit and on a snippet: mail goes to those who wrote them, commented, were
// mentioned or watch, until they end it or may no longer read the project.
func testMailOfCode(t *testing.T, s *server, post *mailtest.Server) {
	p := s.do("mona", "POST", "/projects", obj{"name": "Works", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	for _, name := range []string{"rick", "ada", "watcher", "gone"} {
		s.do("mona", "POST", path+"/members", obj{"user_id": s.ids[name], "access_level": 30})
	}
	s.do("watcher", "PUT", path+"/notification_settings", obj{"level": "watch"})
	commit := s.do("mona", "POST", path+"/repository/commits", obj{
		"branch": "main", "commit_message": "Add a file\n\nWith a text.", "author_email": "rick@example.com", "author_name": "Rick",
		"actions": []obj{{"action": "create", "file_path": "c.txt", "content": "c"}},
	})
	snippet := s.do("mona", "POST", path+"/snippets", obj{"title": "Script", "visibility": "private", "files": []obj{{"file_path": "s.sh", "content": "ls"}}})
	sha := fmt.Sprint(commit["id"])
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	post.Take()
	first := map[string]string{}
	for _, c := range []struct {
		name, path, by string
		first, more    string // who gets mail: of a thread, and of a reply
		subject        string
		headers        map[string]string
		lead           string
	}{
		{
			"commit", path + "/repository/commits/" + sha, "mona", "gone:mentioned rick watcher", "gone mona rick watcher",
			"Re: Works | Add a file (" + sha[:8] + ")",
			map[string]string{"X-Gitlab-Commit-Id": sha, "X-Gitlab-Commit-Iid": "", "In-Reply-To": "<commit_" + sha + "@"},
			"commented on commit " + sha[:8],
		},
		{
			"snippet", path + "/snippets/" + number(snippet, "id"), "rick", "gone:mentioned mona watcher", "gone mona rick watcher",
			"Re: Works | Script ($" + number(snippet, "id") + ")",
			map[string]string{
				"X-Gitlab-Snippet-Id": number(snippet, "id"), "X-Gitlab-Snippet-State": "", "In-Reply-To": "<snippet_" + number(snippet, "id") + "@",
			},
			"commented on snippet $" + number(snippet, "id"),
		},
	} {
		mails := func(want string) []mailtest.Mail {
			t.Helper()
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			list := post.Take()
			slices.SortFunc(list, func(a, b mailtest.Mail) int { return strings.Compare(a.To, b.To) })
			var got []string
			for _, m := range list {
				line, _, _ := strings.Cut(m.To, "@")
				if reason := m.Get("X-GitLab-NotificationReason"); reason != "" {
					line += ":" + reason
				}
				got = append(got, line)
			}
			if strings.Join(got, " ") != want {
				t.Fatalf("%s: mail to %s, want %s", c.name, got, want)
			}
			return list
		}
		thread := s.do(c.by, "POST", c.path+"/discussions", obj{"body": "Look, @gone: `x`"})
		list := mails(c.first)
		m := list[0]
		if m.Get("Subject") != c.subject || !strings.Contains(m.Text, c.lead) || !strings.Contains(m.HTML, "<code>x</code>") || !strings.Contains(m.Text, "#note_") {
			t.Errorf("%s: got %s", c.name, m.Raw)
		}
		for name, want := range c.headers {
			if got := m.Get(name); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got, want)
			}
		}
		first[c.name] = m.Get("Message-Id")
		s.do("ada", "POST", c.path+"/discussions/"+fmt.Sprint(thread["id"])+"/notes", obj{"body": "Seen"})
		list = mails(c.more)
		if got := list[0].Get("In-Reply-To"); got != first[c.name] || !strings.HasPrefix(got, "<note_") {
			t.Errorf("%s: a reply follows %q, want %q", c.name, got, first[c.name])
		}

		link := strings.TrimPrefix(strings.Trim(list[0].Get("List-Unsubscribe"), "<>"), s.baseURL) // of the user gone
		for range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, link, strings.NewReader("List-Unsubscribe=One-Click"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "no more mail about this "+c.name) {
				t.Errorf("%s: one click: %d %s", c.name, w.Code, w.Body)
			}
		}
		s.do("gone", "POST", c.path+"/discussions", obj{"body": "More"})
		s.exec("DELETE FROM members WHERE user_id = ?", s.ids["ada"]) // before the mail is sent
		mails("mona rick watcher")
		s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["ada"], "access_level": 30})
		s.do("rick", "POST", c.path+"/discussions", obj{"body": "And more"})
		mails("ada mona watcher")
	}
	s.do("mona", "DELETE", path+"/snippets/"+number(snippet, "id"), nil)
	for _, table := range []string{"subscriptions", "mentions"} {
		if n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM "+table+" WHERE target_type = 'Snippet'"); n != 0 || err != nil {
			t.Errorf("%d rows of %s name a snippet that is deleted, %v", n, table, err)
		}
	}
}
