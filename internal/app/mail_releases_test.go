package app

import (
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/mail/mailtest"
)

// testMailOfReleases releases a tag: mail goes to those who watch the project or chose new releases, and may read the release.
func testMailOfReleases(t *testing.T, s *server, post *mailtest.Server) {
	p := s.do("mona", "POST", "/projects", obj{"name": "Press", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	for _, name := range []string{"viewer", "chooser", "other", "silent"} {
		s.user(name, nil)
	}
	for name, level := range map[string]int{"viewer": 30, "chooser": 20, "other": 30, "silent": 30} {
		s.do("mona", "POST", path+"/members", obj{"user_id": s.ids[name], "access_level": level})
	}
	s.user("guest", nil)
	s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["guest"], "access_level": 10}) // reads no code of a private project
	for name, body := range map[string]obj{
		"viewer": {"level": "watch"}, "chooser": {"level": "custom", "new_release": true}, "other": {"level": "custom", "new_issue": true},
		"silent": {"level": "disabled"}, "guest": {"level": "watch"}, "mona": {"level": "watch"},
	} {
		s.do(name, "PUT", path+"/notification_settings", body)
	}
	s.mails(post)
	s.do("mona", "POST", path+"/releases", obj{"tag_name": "v1", "ref": "main", "name": "First", "description": "What is *new*"})
	var to []string
	for _, m := range s.mails(post) {
		to = append(to, strings.Split(m.To, "@")[0])
		if m.Get("Subject") != "Press | New release: First (v1)" || !strings.Contains(m.Text, "released First (v1) of") || !strings.Contains(m.HTML, "<em>new</em>") ||
			!strings.Contains(m.Text, "/press/-/releases/v1") || m.Get("X-GitLab-Release-Id") == "" {
			t.Errorf("the mail of a release: %s", m.Raw)
		}
	}
	slices.Sort(to)
	if got := strings.Join(to, " "); got != "chooser viewer" {
		t.Errorf("mail of a release went to %q", got)
	}
	s.do("mona", "PUT", path+"/releases/v1", obj{"name": "Second"})
	if list := s.mails(post); len(list) > 0 {
		t.Errorf("mail of a release that was changed: %s", list[0].Raw)
	}
}
