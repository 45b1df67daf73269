package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
)

const refusedCall = `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`

// newLimited is a server of every route that has a limit; the clock of the limits does not move.
func newLimited(t *testing.T, d *db.DB) *planning {
	t.Helper()
	p, _ := newChangelog(t, d)
	p.users["root"] = p.Admin("boss")
	p.Keys = sshkey.New(sshkey.Deps{DB: d, Policy: p.World.Policy, Bus: p.Bus, Settings: p.Settings, Accounts: p.Accounts, Now: p.World.Now})
	p.GPGKeys = gpgkey.New(gpgkey.Deps{DB: d, Policy: p.World.Policy, Bus: p.Bus, Accounts: p.Accounts, Now: p.World.Now})
	p.Instance = setting.NewService(setting.Deps{Store: p.Settings, Policy: p.World.Policy, Bus: p.Bus})
	p.Limits.Enforce()
	p.routes(slices.Concat(p.changelogRoutes(), p.settingRoutes(), p.userRoutes(), p.keyRoutes(), p.gpgKeyRoutes(), p.issueRoutes(), p.noteRoutes(),
		p.memberRoutes(), p.billableRoutes(), p.projectRoutes())...)
	return p
}

// limited is a call that counts, and what others may still do when it is refused.
type limited struct {
	name    string
	setting string // takes the limit; "" where it is fixed
	most    int
	every   int // seconds
	as      string
	method  string
	path    string
	body    string
	other   string // a caller who is not affected; "" for an anonymous caller
	answer  string
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newLimited(t, d)
		const repository = appPath + "/repository"
		id := fmt.Sprint(p.users["guest"].UserID)
		issue := p.do("owner", "POST", appPath+"/issues", `{"title":"Limits"}`)["iid"]
		group := p.Find(p.users["root"], p.id).ParentID
		sha := p.do("dev", "GET", repository+"/commits/main", "")["id"].(string)
		blob := p.do("dev", "GET", repository+"/files/a.txt?ref=main", "")["blob_id"].(string)
		const archive = `{"message":{"error":"This archive has been requested too many times. Try again later."}}`
		const changelog = `{"message":{"error":"This changelog has been requested too many times. Try again later."}}`
		for _, c := range []limited{
			{"notes_create", "notes_create_limit", 2, 60, "dev", "POST", fmt.Sprint(appPath, "/issues/", issue, "/notes"), `{"body":"x"}`, "owner", refusedCall},
			{"notes_create", "notes_create_limit", 2, 60, "guest", "POST", repository + "/commits/" + sha + "/comments", `{"note":"x"}`, "owner", refusedCall},
			{"issues_create", "issues_create_limit", 2, 60, "dev", "POST", appPath + "/issues", `{"title":"x"}`, "owner", refusedCall},
			{"search_rate_limit", "search_rate_limit", 2, 60, "dev", "GET", appPath + "/issues?search=x", "", "guest", refusedCall},
			{"search_rate_limit", "search_rate_limit", 2, 60, "owner", "GET", "/users?search=x", "", "guest", refusedCall},
			{"search_rate_limit", "search_rate_limit", 2, 60, "maint", "GET", "/merge_requests?search=x", "", "planner", refusedCall},
			{"search_rate_limit", "search_rate_limit_unauthenticated", 2, 60, "", "GET", appPath + "/issues?search=x", "", "guest", refusedCall},
			{"user_email_lookup", "user_email_lookup_limit", 2, 60, "dev", "GET", "/users?search=a@b.example", "", "guest", refusedCall},
			{"users_get_by_id", "users_get_by_id_limit", 2, 600, "dev", "GET", "/users/" + id, "", "root", refusedCall},
			{"projects_api_unauthenticated", "projects_api_rate_limit_unauthenticated", 2, 600, "", "GET", "/projects", "", "dev", refusedCall},
			{"projects_api", "projects_api_limit", 2, 600, "maint", "GET", "/projects", "", "guest", refusedCall},
			{"project_api", "project_api_limit", 2, 60, "dev", "GET", appPath, "", "guest", refusedCall},
			{"project_members_api", "project_members_api_limit", 2, 60, "dev", "GET", appPath + "/members", "", "owner", refusedCall},
			{"project_members_api", "project_members_api_limit", 2, 60, "maint", "GET", appPath + "/members/all", "", "owner", refusedCall},
			{"user_projects_api", "user_projects_api_limit", 2, 60, "dev", "GET", "/users/" + id + "/projects", "", "guest", refusedCall},
			{"user_followers", "users_api_limit_followers", 2, 60, "dev", "GET", "/users/" + id + "/followers", "", "", refusedCall},
			{"user_following", "users_api_limit_following", 2, 60, "dev", "GET", "/users/" + id + "/following", "", "", refusedCall},
			{"user_status", "users_api_limit_status", 2, 60, "", "GET", "/users/" + id + "/status", "", "dev", refusedCall},
			{"user_ssh_keys", "users_api_limit_ssh_keys", 2, 60, "", "GET", "/users/" + id + "/keys", "", "dev", refusedCall},
			{"user_ssh_key", "users_api_limit_ssh_key", 2, 60, "", "GET", "/users/" + id + "/keys/1", "", "dev", refusedCall},
			{"user_gpg_keys", "users_api_limit_gpg_keys", 2, 60, "", "GET", "/users/" + id + "/gpg_keys", "", "dev", refusedCall},
			{"user_gpg_key", "users_api_limit_gpg_key", 2, 60, "", "GET", "/users/" + id + "/gpg_keys/1", "", "dev", refusedCall},
			{"members_delete", "members_delete_limit", 2, 60, "owner", "DELETE", appPath + "/members/999", "", "maint", refusedCall},
			{"project_import", "project_import_limit", 2, 60, "root", "POST", "/projects", fmt.Sprintf(`{"name":"x","namespace_id":%v,"import_url":"ftp://x"}`, group), "dev", refusedCall},
			{"raw_blob", "raw_blob_request_limit", 2, 60, "dev", "GET", repository + "/files/a.txt/raw?ref=main", "", "", refusedCall},
			{"raw_blob", "raw_blob_request_limit", 2, 60, "dev", "GET", repository + "/blobs/" + blob + "/raw", "", "", refusedCall},
			{"project_repositories_archive", "archive_request_limit_unauthenticated", 2, 60, "", "GET", repository + "/archive.tar", "", "dev", archive},
			{"project_repositories_archive", "archive_request_limit", 2, 60, "dev", "GET", repository + "/archive.tar", "", "maint", archive},
			{"project_repositories_changelog", "changelog_request_limit", 2, 60, "dev", "GET", repository + "/changelog?version=1.2.0", "", "maint", changelog},
			{"project_repositories_changelog", "changelog_request_limit", 2, 60, "owner", "POST", repository + "/changelog", `{"version":"1.2.0","branch":"none"}`, "maint", changelog},
		} {
			p.reaches(c)
		}
		// Other calls of the same endpoints do not count.
		for range 4 {
			p.want("dev", "GET", appPath+"/issues", "", 200, "")
			p.want("dev", "GET", "/users?username=guest", "", 200, "")
			p.want("dev", "GET", repository+"/files/b/raw?ref=main", "", 200, "")
		}
	})
}

// reaches makes calls until one is refused, and more when the setting is changed.
func (p *planning) reaches(c limited) {
	t := p.t
	t.Helper()
	what := fmt.Sprintf("%s %s as %q", c.method, c.path, c.as)
	set := func(value int) {
		if c.setting != "" {
			p.do("root", "PUT", settingsPath, fmt.Sprintf(`{%q:%d}`, c.setting, value))
		}
	}
	set(c.most)
	for i := range c.most {
		if w := p.send(c.as, c.method, c.path, c.body); w.Code == http.StatusTooManyRequests || w.Code >= 500 {
			t.Errorf("%s: call %d: got %d %s", what, i+1, w.Code, w.Body)
		}
	}
	w := p.send(c.as, c.method, c.path, c.body)
	if w.Code != http.StatusTooManyRequests || w.Body.String() != c.answer {
		t.Errorf("%s: one too many: got %d %.300s, want 429 %s", what, w.Code, w.Body, c.answer)
	}
	reset := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(time.Duration(c.every) * time.Second)
	for name, want := range map[string]string{
		"Retry-After": fmt.Sprint(c.every), "RateLimit-Name": c.name, "RateLimit-Limit": fmt.Sprint((c.most*60 + c.every - 1) / c.every),
		"RateLimit-Observed": fmt.Sprint(c.most + 1), "RateLimit-Remaining": "0", "RateLimit-Reset": fmt.Sprint(reset.Unix()),
		"RateLimit-ResetTime": reset.Format(http.TimeFormat), "Content-Type": "application/json",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	shared := c.name == "raw_blob"
	if w := p.send(c.other, c.method, c.path, c.body); (w.Code == http.StatusTooManyRequests) != shared {
		t.Errorf("%s: %q got %d %s", what, c.other, w.Code, w.Body)
	}
	if c.setting == "" {
		return
	}
	set(0)
	if w := p.send(c.as, c.method, c.path, c.body); w.Code == http.StatusTooManyRequests {
		t.Errorf("%s: switched off: got %d %s", what, w.Code, w.Body)
	}
}

// Five large blobs of a project in a minute, for all callers, in whatever form.
func TestLimits_largeBlobs(t *testing.T) {
	t.Parallel()
	p := newLimited(t, dbtest.Open(t, false))
	const repository = appPath + "/repository"
	content := strings.Repeat("0123456789abcdef", limit.LargeFile/16)
	if w := p.send("maint", "POST", repository+"/commits", fmt.Sprintf(`{"branch":"main","commit_message":"Large",
		"actions":[{"action":"create","file_path":"large","content":"%s!"},{"action":"create","file_path":"less","content":%q}]}`, content, content)); w.Code != 201 {
		t.Fatalf("commit: %d %s", w.Code, w.Body)
	}
	ids := map[string]string{}
	for _, name := range []string{"large", "less"} {
		w := p.send("dev", "HEAD", repository+"/files/"+name+"?ref=main", "")
		ids[name] = w.Header().Get("X-Gitlab-Blob-Id")
	}
	for i, path := range []string{"/blobs/" + ids["large"], "/blobs/" + ids["large"] + "/raw", "/files/large?ref=main", "/blobs/" + ids["large"]} { // HEAD above was one, too
		if w := p.send([]string{"dev", "maint", ""}[i%3], "GET", repository+path, ""); w.Code != 200 {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
	for _, path := range []string{"/blobs/" + ids["large"], "/blobs/" + ids["large"] + "/raw", "/files/large?ref=main"} {
		p.want("owner", "GET", repository+path, "", 429, refusedCall)
	}
	for _, path := range []string{"/blobs/" + ids["less"], "/blobs/" + ids["less"] + "/raw", "/files/less?ref=main"} {
		if w := p.send("owner", "GET", repository+path, ""); w.Code != 200 {
			t.Errorf("a smaller one, %s: got %d", path, w.Code)
		}
	}
}

// Throttles are off at first, count everything once they are on, and are told apart by who
// calls; who cannot sign on is counted by the address.
func TestLimits_throttles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newLimited(t, d)
		for range 5 {
			p.want("", "GET", appPath+"/issues", "", 200, "")
		}
		p.do("root", "PUT", settingsPath, `{"throttle_unauthenticated_api_enabled":true,"throttle_unauthenticated_api_requests_per_period":4,
			"throttle_unauthenticated_api_period_in_seconds":30,"throttle_authenticated_files_api_enabled":true,
			"throttle_authenticated_files_api_requests_per_period":1,"rate_limiting_response_text":"Slow down"}`)
		p.want("", "GET", appPath+"/issues", "", 200, "")
		p.want("wrong", "GET", appPath+"/issues", "", 401, "")
		p.want("", "POST", appPath+"/issues", `{"title":"x"}`, 401, "")
		p.want("", "GET", "/no/such/place", "", 404, "")
		for _, row := range []codeRow{
			{as: "", method: "GET", path: appPath + "/issues"},
			{as: "wrong", method: "GET", path: "/users"},
			{as: "", method: "GET", path: "/no/such/place"},
			{as: "", method: "GET", path: appPath + "/repository/files/a.txt?ref=main"},
		} {
			p.want(row.as, row.method, row.path, "", 429, "Slow down\n")
		}
		w := p.send("", "GET", appPath+"/issues", "")
		for name, want := range map[string]string{
			"Content-Type": "text/plain", "RateLimit-Name": "throttle_unauthenticated_api", "RateLimit-Limit": "8", "RateLimit-Observed": "9",
			"RateLimit-Remaining": "0", "RateLimit-Reset": "1795341630", "RateLimit-ResetTime": "Sun, 22 Nov 2026 10:00:30 GMT", "Retry-After": "25",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		// Users have throttles of their own; that of files is on.
		for range 3 {
			p.want("dev", "GET", appPath+"/issues", "", 200, "")
		}
		p.want("dev", "GET", appPath+"/repository/files/a.txt?ref=main", "", 200, "")
		p.want("dev", "GET", appPath+"/repository/files/a.txt?ref=main", "", 429, "Slow down\n")
		p.want("maint", "GET", appPath+"/repository/files/a.txt?ref=main", "", 200, "")
		p.do("root", "PUT", settingsPath, `{"throttle_unauthenticated_api_enabled":false,"rate_limiting_response_text":""}`)
		p.want("", "GET", appPath+"/issues", "", 200, "")
		p.want("dev", "GET", appPath+"/repository/files/a.txt?ref=main", "", 429, "Retry later\n")
	})
}
