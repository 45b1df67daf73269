package app

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
)

// TestSettings_ownName lets users change their own name, until the settings keep names.
func TestSettings_ownName(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.person("ann", annPassword)
		b := s.browse(t)
		b.signIn("ann", annPassword)
		rename := func(name string, status int, want string) {
			t.Helper()
			p := b.post("/-/profile", "/-/profile", url.Values{"name": {name}})
			if p.status != status || !strings.Contains(p.text, want) {
				t.Errorf("%q: got %d %s, want %d %s", name, p.status, p.text, status, want)
			}
		}
		named := func(want string) {
			t.Helper()
			if got := s.do("ann", "GET", "/user", nil)["name"]; got != want {
				t.Errorf("got %v, want %s", got, want)
			}
			s.want("ann", "GET", "/namespaces/ann", nil, 200, want)
		}
		rename("", http.StatusUnprocessableEntity, "Name can&#39;t be blank")
		rename(strings.Repeat("x", 256), http.StatusUnprocessableEntity, "Name is too long")
		rename(" Ann the First ", http.StatusSeeOther, "")
		named("Ann the First")
		if p := b.get("/-/profile?notice=profile_changed"); !strings.Contains(p.text, `value="Ann the First" required`) || !strings.Contains(p.text, "Your profile is updated.") {
			t.Errorf("form: %s", p.text)
		}
		s.set(obj{"updating_name_disabled_for_users": true})
		rename("Ann the Second", http.StatusForbidden, "Only administrators change names on this server")
		named("Ann the First")
		if p := b.get("/-/profile"); !strings.Contains(p.text, `value="Ann the First" readonly`) {
			t.Errorf("form: %s", p.text)
		}
		s.do("admin", "PUT", fmt.Sprint("/users/", s.ids["ann"]), obj{"name": "Ann by an administrator"})
		named("Ann by an administrator")
		s.exec("UPDATE users SET admin = ? WHERE username = 'ann'", true)
		rename("Ann herself", http.StatusSeeOther, "")
		named("Ann herself")
		s.set(obj{"updating_name_disabled_for_users": false})
		s.exec("UPDATE users SET admin = ? WHERE username = 'ann'", false)
		rename("Ann the Last", http.StatusSeeOther, "")
		named("Ann the Last")
	})
}

// TestSettings_ownDeletion has users delete their own account, at once, not at all, and after a while in which an administrator may unblock them.
func TestSettings_ownDeletion(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		const at = "/-/profile/account"
		for _, name := range []string{"ann", "ben", "cleo"} {
			s.person(name, annPassword)
		}
		leave := func(name, password string, status int, want string) {
			t.Helper()
			b := s.browse(t)
			b.signIn(name, annPassword)
			p := b.post("/-/profile", at, url.Values{"current": {password}})
			if p.status != status || !strings.Contains(p.text, want) {
				t.Errorf("%s: got %d %s, want %d %s", name, p.status, p.text, status, want)
			}
			if gone := b.get("/-/profile").status == http.StatusSeeOther; gone != (status == http.StatusSeeOther) {
				t.Errorf("%s: signed out %v after %d", name, gone, status)
			}
		}
		known := func(name, want string) {
			t.Helper()
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.send(t.Context(), request{as: "admin", method: "GET", path: "/users?username=" + name}).Body.String(); !strings.Contains(got, want) || want == "[]" && got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}

		s.set(obj{"allow_account_deletion": false})
		leave("ann", annPassword, http.StatusForbidden, "Account deletion is not allowed")
		s.set(obj{"allow_account_deletion": true})
		leave("ann", "wrong", http.StatusUnprocessableEntity, "Invalid login or password.")
		group := s.do("ann", "POST", "/groups", obj{"name": "team", "path": "team"})
		issue := s.do("ann", "POST", "/projects/"+number(s.do("ann", "POST", "/projects", obj{"name": "kept", "namespace_id": group["id"]}), "id")+"/issues", obj{"title": "kept"})
		leave("ann", annPassword, http.StatusUnprocessableEntity, "sole-owner of a group")
		s.do("ann", "POST", "/groups/team/members", obj{"user_id": s.ids["ben"], "access_level": 50})
		known("ann", `"state":"active"`)
		leave("ann", annPassword, http.StatusSeeOther, "")
		known("ann", "[]")
		s.want("ben", "GET", "/projects/team%2Fkept/issues/"+number(issue, "iid"), nil, 200, `"username":"ghost"`)
		s.want("admin", "GET", "/audit_events?entity_type=User&entity_id="+fmt.Sprint(s.ids["ann"]), nil, 200, "user_destroyed")

		s.set(obj{"delay_user_account_self_deletion": true})
		leave("cleo", annPassword, http.StatusSeeOther, "")
		known("cleo", `"state":"blocked"`)
		asked := func() account.OwnDeletion {
			t.Helper()
			since, err := db.Get[db.Time](t.Context(), s.db, "SELECT self_deletion_at FROM users WHERE username = 'cleo'")
			if err != nil {
				t.Fatal(err)
			}
			return account.OwnDeletion{UserID: s.ids["cleo"], Asked: since}
		}
		due := func(d account.OwnDeletion) {
			t.Helper()
			if err := s.core.Accounts.DeleteAsAsked(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		first := asked()
		s.do("admin", "POST", fmt.Sprintf("/users/%d/unblock", s.ids["cleo"]), nil)
		due(first)
		known("cleo", `"state":"active"`)
		leave("cleo", annPassword, http.StatusSeeOther, "")
		due(first) // of the request that was taken back
		known("cleo", `"state":"blocked"`)
		due(asked())
		known("cleo", "[]")
	})
}

// TestSettings_week shows the calendar of a user whose weeks begin on the day that the settings name.
func TestSettings_week(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"}), "id")
	s.do("ann", "POST", path+"/issues", obj{"title": "Lift it"})
	b := s.browse(t)
	b.signIn("ann", annPassword)
	for day, want := range map[int]string{0: "Sun, Tue, Thu, Sat", 1: "Mon, Wed, Fri, Sun", 6: "Sat, Mon, Wed, Fri"} {
		s.set(obj{"first_day_of_week": day})
		text := b.get("/ann").text
		var names []string
		for _, m := range regexp.MustCompile(`<text [^>]*>(\w+)</text>`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("first day %d: got %s, want %s", day, got, want)
		}
		squares := regexp.MustCompile(`<rect class="(\w+)" x="\d+" y="(\d+)" width="11" height="11" rx="2"><title>([^<]*)</title>`).FindAllStringSubmatch(text, -1)
		if len(squares) <= 52*7 || len(squares) > 53*7 || squares[0][2] != "0" {
			t.Fatalf("%d days", len(squares))
		}
		last := squares[len(squares)-1]
		at, err := time.Parse(time.DateOnly, last[3][len(last[3])-len(time.DateOnly):])
		if err != nil || last[1] != "few" || last[2] != strconv.Itoa((int(at.Weekday())+7-day)%7*13) || !strings.HasPrefix(last[3], "2 contributions on ") {
			t.Errorf("the last day: %q, %v", last, err)
		}
	}
}
