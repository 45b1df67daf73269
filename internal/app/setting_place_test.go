package app

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/core/repo"
)

// TestSettings_guests turns whether users who are Guests at most make groups and projects of their own.
func TestSettings_guests(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.user("ben", nil)
		at := "/groups/" + number(s.do("ann", "POST", "/groups", obj{"name": "team", "path": "team"}), "id")
		made := 0
		both := func(status int) {
			t.Helper()
			made++
			name := fmt.Sprint("made", made)
			s.want("ben", "POST", "/projects", obj{"name": name}, status, "")
			s.want("ben", "POST", "/groups", obj{"name": name, "path": name}, status, "")
		}
		s.set(obj{"allow_project_creation_for_guest_and_below": false})
		both(403)
		s.do("ann", "POST", at+"/members", obj{"user_id": s.ids["ben"], "access_level": 10})
		both(403)
		s.want("admin", "POST", "/projects", obj{"name": "any"}, 201, "")
		s.do("ann", "PUT", at+"/members/"+strconv.FormatInt(int64(s.ids["ben"]), 10), obj{"access_level": 20})
		both(201)
		s.do("ann", "DELETE", at+"/members/"+strconv.FormatInt(int64(s.ids["ben"]), 10), nil)
		s.exec("DELETE FROM members WHERE user_id = ? AND namespace_id IN (SELECT id FROM namespaces WHERE kind = 'group')", s.ids["ben"]) // of what was just made
		both(403)
		s.set(obj{"allow_project_creation_for_guest_and_below": true})
		both(201)
	})
}

// TestSettings_branchProtection turns how the first branch of a new project is protected.
func TestSettings_branchProtection(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	made := 0
	protected := func(want string) {
		t.Helper()
		made++
		p := s.do("ann", "POST", "/projects", obj{"name": fmt.Sprint("made", made), "initialize_with_readme": true})
		s.want("ann", "GET", "/projects/"+number(p, "id")+"/protected_branches", nil, 200, want)
	}
	levels := func(level int) []obj { return []obj{{"access_level": level}} }
	protected(`"access_level":40`)
	s.set(obj{"default_branch_protection_defaults": obj{"allowed_to_push": levels(60), "allowed_to_merge": levels(30), "allow_force_push": true}})
	protected(`"allow_force_push":true`)
	protected(`"push_access_levels":[{"id":`)
	protected(`"access_level":60`)
	for _, wrong := range []obj{{"allowed_to_push": levels(35)}, {"allowed_to_push": 1}, {"other": true}, {"allow_force_push": "yes"}} {
		s.want("admin", "PUT", "/application/settings", obj{"default_branch_protection_defaults": wrong}, 400, "must be a valid json schema")
	}
	s.want("admin", "PUT", "/application/settings", obj{"default_branch_protection": 0}, 200, `"default_branch_protection_defaults":{"allow_force_push":true,"allowed_to_merge":[{"access_level":30}]`)
	protected("[]")
	s.set(obj{"default_branch_protection": 2})
	protected(`"access_level":40`)
	protected(`"allow_force_push":false`)
}

// TestSettings_everywhere turns which addresses reach a group that restricts them.
func TestSettings_everywhere(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.user("ben", nil)
		at := "/groups/" + number(s.do("ann", "POST", "/groups", obj{"name": "team", "path": "team", "visibility": "public"}), "id")
		s.do("ann", "PUT", at, obj{"ip_restriction_ranges": "10.0.0.0/8"})
		s.want("ben", "GET", at, nil, 404, "") // requests come from 192.0.2.1
		s.want("admin", "PUT", "/application/settings", obj{"globally_allowed_ips": "192.0.2.0/24, x"}, 400, "globally_allowed_ips")
		s.set(obj{"globally_allowed_ips": "198.51.100.1"})
		s.want("ben", "GET", at, nil, 404, "")
		s.set(obj{"globally_allowed_ips": "198.51.100.1, 192.0.2.0/24"})
		s.want("ben", "GET", at, nil, 200, "team")
		s.want("ben", "GET", "/groups?all_available=true", nil, 200, "team")
		s.set(obj{"globally_allowed_ips": ""})
		s.want("ben", "GET", at, nil, 404, "")
	})
}

// TestSettings_keyMessage shows the page of a project to a user with and without an SSH key.
func TestSettings_keyMessage(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.SSH = "127.0.0.1:0" })
	s.person("ann", annPassword)
	s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"})
	b := s.browse(t)
	const words = "before you add an SSH key"
	reminded := func(want bool) {
		t.Helper()
		if got := b.get("/ann/crane"); strings.Contains(got.text, words) != want {
			t.Errorf("reminded, want %v: %s", want, got.text)
		}
	}
	reminded(false)
	b.signIn("ann", annPassword)
	reminded(true)
	s.set(obj{"user_show_add_ssh_key_message": false})
	reminded(false)
	s.set(obj{"user_show_add_ssh_key_message": true})
	reminded(true)
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK5TwlDXsGVsJsCLh3bxTKw7lwPNZiVbXR8hYGHq7f8v"
	b.post("/-/profile/keys", "/-/profile/keys", url.Values{"title": {"t"}, "key": {key}, "usage_type": {"signing"}})
	reminded(true)
	s.exec("UPDATE ssh_keys SET usage_type = 'auth'")
	reminded(false)
}

// TestSettings_repositoryChecks lets the daily check find a broken repository.
func TestSettings_repositoryChecks(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	day := time.Now().Unix() / 86400
	for i := range 31 { // those whose day is today
		p := s.do("ann", "POST", "/projects", obj{"name": fmt.Sprint("made", i), "initialize_with_readme": true})
		if int64(p["id"].(float64))%30 == day%30 {
			s.exec("UPDATE projects SET default_branch = 'lost' WHERE id = ?", int64(p["id"].(float64)))
			break
		}
	}
	found := func() bool {
		t.Helper()
		if err := s.core.Repos.CheckDue(t.Context(), repo.RepositoryCheck{}); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(s.logs.String(), "repository check failed")
	}
	s.set(obj{"repository_checks_enabled": false})
	if found() {
		t.Error("checked although the settings turn it off")
	}
	s.set(obj{"repository_checks_enabled": true})
	if !found() && time.Now().Unix()/86400 == day {
		t.Error("a lost branch is not found")
	}
}
