package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/transport/rest/api"
)

func TestUsers_follow(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	root := `{"id":1,"username":"root","name":"Administrator","state":"active",` +
		`"avatar_url":"https://www.gravatar.com/avatar/258d8dc916db8cea2cafb6c3cd0cb0246efe061421dbd83ec3a350428cabda4f?s=80&d=identicon",` +
		`"web_url":"https://tenon.example/root"}`
	p.want(mona, "POST", "/users/1/follow", "", 201, root)
	p.want(mona, "POST", "/users/1/follow", "", 304, "")
	p.want(mona, "POST", "/users/2/follow", "", 304, "")
	p.want(mona, "POST", "/users/9/follow", "", 404, `{"message":"404 User Not Found"}`)
	p.want("", "POST", "/users/1/follow", "", 401, `{"message":"401 Unauthorized"}`)
	p.want(mona, "GET", "/users/2/following", "", 200, "["+root+"]")
	p.want(mona, "GET", "/users/2/followers", "", 200, "[]")
	p.want("", "GET", "/users/2/followers", "", 403, `{"message":"403 Forbidden - Not authorized!"}`)
	if _, body := p.call(mona, "GET", "/users/1", ""); !strings.Contains(body, `"followers":1,"following":0,"is_followed":true`) {
		t.Errorf("a user who is followed: got %s", body)
	}
	if _, body := p.call(adminToken, "GET", "/users", ""); !strings.Contains(body, `"followers":0,"following":1,"is_followed":false`) {
		t.Errorf("a list for administrators: got %s", body)
	}
	p.want(mona, "POST", "/users/1/unfollow", "", 201, root)
	p.want(mona, "POST", "/users/1/unfollow", "", 304, "")
}

func TestUsers_preferences(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	p.want(mona, "GET", "/user/preferences", "", 200, `{"id":2,"user_id":2,"view_diffs_file_by_file":false,`+
		`"show_whitespace_in_diffs":true,"pass_user_identities_to_ci_jwt":false}`)
	p.want(mona, "PUT", "/user/preferences", "view_diffs_file_by_file=true&show_whitespace_in_diffs=false", 200,
		`{"id":2,"user_id":2,"view_diffs_file_by_file":true,"show_whitespace_in_diffs":false,"pass_user_identities_to_ci_jwt":false}`)
	p.want(mona, "PUT", "/user/preferences", "", 400, `{"error":"view_diffs_file_by_file, show_whitespace_in_diffs, `+
		`pass_user_identities_to_ci_jwt are missing, at least one parameter must be provided"}`)
	p.want(mona, "PUT", "/user/preferences", "view_diffs_file_by_file=perhaps", 400, `{"error":"view_diffs_file_by_file is invalid"}`)
	p.want("", "GET", "/user/preferences", "", 401, `{"message":"401 Unauthorized"}`)
}

func TestUsers_records(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	p.call(mona, "GET", "/user", "")
	if err := p.Accounts.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.want(adminToken, "GET", "/user/activities?from=2026-05-04", "", 200,
		`[{"username":"root","last_activity_on":"2026-05-04","last_activity_at":"2026-05-04"},`+
			`{"username":"mona","last_activity_on":"2026-05-04","last_activity_at":"2026-05-04"}]`)
	p.want(adminToken, "GET", "/user/activities?from=2026-05-05", "", 200, "[]")
	p.want(mona, "GET", "/user/activities", "", 403, `{"message":"403 Forbidden"}`)
	p.want(mona, "GET", "/users/2/associations_count", "", 200,
		`{"groups_count":0,"projects_count":0,"issues_count":0,"merge_requests_count":0}`)
	p.want(mona, "GET", "/users/1/associations_count", "", 403, `{"message":"403 Forbidden"}`)
	p.want(adminToken, "GET", "/users/9/associations_count", "", 404, `{"message":"404 User Not Found"}`)
	p.want(adminToken, "GET", "/users/2/memberships", "", 200, "[]")
	p.want(adminToken, "GET", "/users/2/memberships?type=Group", "", 400, `{"error":"type does not have a valid value"}`)
	p.want(adminToken, "GET", "/users/9/memberships", "", 404, `{"message":"404 User Not Found"}`)
	p.want(mona, "GET", "/users/2/memberships", "", 403, `{"message":"403 Forbidden"}`)
}

// Every page of a keyset list leads to the next one, and back.
func TestUsers_keyset(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	for _, name := range []string{"ann", "bob", "cleo"} {
		p.signUp(name)
	}
	link := regexp.MustCompile(`^<https://tenon.example/api/v4(/users\?[^>]*)>; rel="next"$`)
	first := regexp.MustCompile(`(?:^\[|,)\{"id":\d+,"username":"(\w+)"`) // of each entry, without created_by
	for _, c := range []struct{ token, query, want string }{
		{mona, "", "cleo bob|ann mona|root"},
		{adminToken, "", "cleo bob|ann mona|root"},
		{adminToken, "&order_by=username&sort=asc", "ann bob|cleo mona|root"},
		{adminToken, "&order_by=name", "mona cleo|bob ann|root"}, // The mona, ... Administrator
		{adminToken, "&order_by=created_at&sort=asc", "root mona|ann bob|cleo"},
		{mona, "&order_by=created_at&sort=asc", "cleo bob|ann mona|root"}, // for administrators alone
	} {
		path := "/users?pagination=keyset&per_page=2" + c.query
		var pages []string
		var prev string
		for path != "" && len(pages) < 5 {
			w, body := p.call(c.token, "GET", path, "")
			if w.Code != http.StatusOK || w.Header().Get("X-Total") != "" {
				t.Fatalf("%s: got %d %s %v", path, w.Code, body, w.Header())
			}
			var page []string
			for _, m := range first.FindAllStringSubmatch(body, -1) {
				page = append(page, m[1])
			}
			pages = append(pages, strings.Join(page, " "))
			path = ""
			if m := link.FindStringSubmatch(w.Header().Get("Link")); m != nil {
				path = m[1]
			}
			prev = w.Header().Get("X-Prev-Cursor")
		}
		if got := strings.Join(pages, "|"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.query, got, c.want)
			continue
		}
		_, body := p.call(c.token, "GET", "/users?pagination=keyset&per_page=2&cursor="+url.QueryEscape(prev)+c.query, "")
		if last := strings.Fields(pages[len(pages)-2]); !strings.Contains(body, `"username":"`+last[0]+`"`) {
			t.Errorf("%s: the page before the last one: got %s, want %s", c.query, body, last)
		}
	}
	p.want(mona, "GET", "/users?pagination=keyset&search=mona", "", 405,
		`{"error":"Keyset pagination is not yet available for this type of request"}`)
	for _, bad := range []string{"x", "eyJpZCI6ImEiLCJfa2QiOiJuIn0=", "eyJuYW1lIjoiYSJ9"} {
		w, body := p.call(mona, "GET", "/users?pagination=keyset&cursor="+bad, "")
		if w.Code != http.StatusBadRequest || !strings.Contains(body, "cursor is invalid") {
			t.Errorf("cursor %s: got %s", bad, fmt.Sprint(w.Code, body))
		}
	}
}

// Deletions honour If-Unmodified-Since: what changed since a caller looked stays.
func TestUsers_deleteUnmodified(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	key := newGPGKey(t)
	p.call(mona, "POST", "/user/gpg_keys", "key="+url.QueryEscape(key))
	p.call(mona, "POST", "/user/keys", "title=t&key="+url.QueryEscape("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICHGD8qKFgbP42oiLQ/X5Syah+qxI1XmUfRQ7i2zxpEZ"))
	for _, c := range []struct{ token, path string }{{mona, "/user/gpg_keys/1"}, {mona, "/user/keys/1"}, {adminToken, "/users/2"}} {
		for _, row := range []struct {
			since string
			want  int
		}{
			{"Mon, 01 Jan 2001 00:00:00 GMT", http.StatusPreconditionFailed},
			{"Mon, 04 May 2026 15:38:00 GMT", http.StatusNoContent},
		} {
			since, want := row.since, row.want
			if want == http.StatusNoContent && c.token == adminToken {
				continue // this server has no queue
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, api.Prefix+c.path, nil)
			r.Header.Set("Private-Token", c.token)
			r.Header.Set("If-Unmodified-Since", since)
			w := httptest.NewRecorder()
			if p.kit.ServeHTTP(w, r); w.Code != want {
				t.Errorf("DELETE %s, unchanged since %s: got %d %s, want %d", c.path, since, w.Code, w.Body, want)
			}
		}
	}
}
