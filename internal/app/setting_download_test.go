package app

import (
	"fmt"
	"strings"
	"testing"
)

// TestDownloads bans a user who downloads more repositories than the settings allow, by git and as archives.
func TestDownloads(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben", "cleo", "dan"} {
			s.user(name, nil)
		}
		ids := map[string]string{}
		for _, name := range []string{"a", "b", "c"} {
			p := s.do("ann", "POST", "/projects", obj{"name": name, "initialize_with_readme": true, "visibility": "public"})
			ids[name] = number(p, "id")
		}
		fetch := func(as, name string) (int, string) {
			a := s.gitRequest(as, "GET", "/ann/"+name+".git/info/refs?service=git-upload-pack")
			return a.Code, a.Body.String()
		}
		state := func(as string) any { return s.do("admin", "GET", fmt.Sprintf("/users/%d", s.ids[as]), nil)["state"] }
		three := func(as string, want int) {
			t.Helper()
			for i, name := range []string{"a", "a", "b", "a", "c"} {
				status := 200
				if i == 4 {
					status = want
				}
				if got, text := fetch(as, name); got != status || status == 403 && !strings.Contains(text, "You are not allowed to download code from this project.") {
					t.Errorf("%s: fetch %d, of %s: %d %s, want %d", as, i, name, got, text, status)
				}
			}
		}
		s.set(obj{"max_number_of_repository_downloads": 2, "max_number_of_repository_downloads_within_time_period": 600})
		three("ben", 200)
		s.set(obj{"auto_ban_user_on_excessive_projects_download": true, "git_rate_limit_users_allowlist": []string{"cleo"}})
		three("cleo", 200)
		three("ben", 403)
		if got := state("ben"); got != "banned" {
			t.Errorf("ben is %v", got)
		}
		if got, _ := fetch("ben", "a"); got != 401 && got != 403 {
			t.Errorf("a banned user fetches: %d", got)
		}
		archive := func(name string, status int) {
			t.Helper()
			s.want("dan", "GET", "/projects/"+ids[name]+"/repository/archive.tar.gz", nil, status, "")
		}
		archive("a", 200)
		archive("b", 200)
		archive("a", 200)
		archive("c", 403)
		if got := state("dan"); got != "banned" {
			t.Errorf("dan is %v", got)
		}
		if got := state("cleo"); got != "active" {
			t.Errorf("cleo is %v", got)
		}
	})
}
