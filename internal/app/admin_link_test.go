package app

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
)

// Who has no password, and who is invited, waits for an operator; the log says what to
// do: a link, which sets a password. Neither address nor link is in the log.
func TestAdminUserLink(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, how := range []string{"reset_password", "force_random_password"} {
			name := strings.ReplaceAll(how, "_", "-")
			s.do("admin", "POST", "/users", obj{"username": name, "name": "x", "email": name + "@example.com", how: true, "skip_confirmation": true})
			if want := `"command":"tenon admin user link ` + name + `"`; !strings.Contains(s.logs.String(), want) {
				t.Errorf("%s: no %s in the log", how, want)
			}
		}
		before := len(s.logs.String())
		s.person("ann", annPassword)
		list, err := s.adminUserList(t.Context(), UserListInput{}, nil)
		without := map[string]bool{}
		for _, u := range list {
			without[u.Username] = u.NoPassword
		}
		if want := map[string]bool{"root": false, "ann": false, "reset-password": true, "force-random-password": true}; err != nil || !maps.Equal(without, want) {
			t.Errorf("without password: got %v, %v; want %v", without, err, want)
		}
		if n := dbtest.Count(t, s.db, func() { _, err = s.adminUserList(t.Context(), UserListInput{}, nil) }); err != nil || n > 3 {
			t.Errorf("the list takes %d statements (%v), want at most 3", n, err)
		}
		if strings.Contains(s.logs.String()[before:], "tenon admin user link") {
			t.Error("a user with a password is said to have none")
		}
		group := s.do("admin", "POST", "/groups", obj{"name": "Team", "path": "team"})
		s.do("admin", "POST", "/groups/"+number(group, "id")+"/invitations", obj{"email": "guest@example.org", "access_level": 30})
		if log := s.logs.String(); !strings.Contains(log, `"place":"team","command":"tenon admin user create USERNAME --email ADDRESS"`) || strings.Contains(log, "guest@example.org") {
			t.Errorf("the log says nothing of the invitation, or too much:\n%s", log)
		}
		link, err := s.adminUserLink(t.Context(), UserRef{User: "reset-password"}, nil)
		if err != nil || !strings.HasPrefix(link.URL, s.baseURL+"/users/password/edit?reset_password_token=") || link.Username != "reset-password" {
			t.Fatalf("got %+v, %v", link, err)
		}
		u, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		b := s.browse(t)
		if p := b.post(u.RequestURI(), u.Path, url.Values{
			"reset_password_token": {u.Query().Get("reset_password_token")}, "password": {annPassword}, "confirmation": {annPassword},
		}); p.status != http.StatusSeeOther {
			t.Errorf("got %d %s", p.status, p.text)
		}
		if list, err := s.adminUserList(t.Context(), UserListInput{}, nil); err != nil || list[slices.IndexFunc(list, func(u AdminUser) bool { return u.ID == link.ID })].NoPassword {
			t.Errorf("with a password: got %+v, %v", list, err)
		}
		if p := b.signIn("reset-password", annPassword); p.status != http.StatusSeeOther {
			t.Errorf("sign on: got %d %s", p.status, p.text)
		}
		if _, err := s.adminUserLink(t.Context(), UserRef{User: "nobody"}, nil); !errs.Is(err, errs.NotFound) {
			t.Errorf("a link for nobody: got %v, want not found", err)
		}
		if strings.Contains(s.logs.String(), u.Query().Get("reset_password_token")) {
			t.Error("the secret of the link is in the log")
		}
	})
}
