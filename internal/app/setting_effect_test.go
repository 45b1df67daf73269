package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
	"tenon/internal/core/account"
)

// want makes a request and compares the status and a part of the answer.
func (s *server) want(as, method, path string, body obj, status int, text string) {
	s.tb.Helper()
	s.wantOf(request{as: as, method: method, path: path, body: body}, status, text)
}

func (s *server) wantOf(q request, status int, text string) {
	s.tb.Helper()
	if a := s.send(s.tb.Context(), q); a.Code != status || !strings.Contains(a.Body.String(), text) {
		s.tb.Errorf("%s: %s %s %v: got %d %.300s, want %d %s", q.as, q.method, q.path, q.body, a.Code, a.Body, status, text)
	}
}

func (s *server) set(values obj) {
	s.tb.Helper()
	s.do("admin", "PUT", "/application/settings", values)
}

// gitRequest asks as a git client does, with a token of a user as the password.
func (s *server) gitRequest(as, method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.tb.Context(), method, path, http.NoBody)
	r.SetBasicAuth(as, s.keys[as])
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// TestMaintenance changes something over each transport while maintenance mode is on: nothing is changed, and all is read as before.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	p := s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	runner := s.do("ann", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": p["id"], "run_untagged": true})["token"]
	s.do("ann", "POST", path+"/repository/commits", obj{
		"branch": "main", "commit_message": "Build it", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "press: {script: make}\n"}},
	})
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := s.do("", "POST", "/jobs/request", obj{"token": runner})
	const words = "back at noon"
	s.set(obj{"maintenance_mode": true, "maintenance_mode_message": words})

	s.want("ann", "POST", path+"/issues", obj{"title": "x"}, 503, `{"message":"`+words+`"}`)
	s.want("admin", "DELETE", path, nil, 503, words)
	s.want("ann", "GET", path, nil, 200, "crane")
	s.want("ann", "POST", "/markdown", obj{"text": "x"}, 201, "<p")
	s.want("", "POST", "/jobs/request", obj{"token": runner}, 503, words)
	s.want("", "PUT", "/jobs/"+number(job, "id"), obj{"token": job["token"], "state": "success"}, 200, "")
	mutation := obj{"query": `mutation { createNote(input: {noteableId: "gid://gitlab/Issue/1", body: "x"}) { errors } }`}
	s.wantOf(request{as: "ann", method: "POST", path: "/api/graphql", whole: true, body: mutation}, 200, `{"errors":[{"message":"`+words+`"`)
	s.wantOf(request{as: "ann", method: "POST", path: "/api/graphql", whole: true, body: obj{"query": "{ currentUser { username } }"}}, 200, `"ann"`)
	if a := s.gitRequest("ann", "GET", "/ann/crane.git/info/refs?service=git-receive-pack"); a.Code != 503 || a.Body.String() != words+"\n" {
		t.Errorf("push: %d %s", a.Code, a.Body)
	}
	if a := s.gitRequest("ann", "GET", "/ann/crane.git/info/refs?service=git-upload-pack"); a.Code != 200 {
		t.Errorf("fetch: %d %s", a.Code, a.Body)
	}
	for operation, status := range map[string]int{"upload": 503, "download": 200} {
		body := strings.NewReader(`{"operation":"` + operation + `","objects":[{"oid":"` + strings.Repeat("0", 64) + `","size":1}]}`)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/ann/crane.git/info/lfs/objects/batch", body)
		r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
		r.SetBasicAuth("ann", s.keys["ann"])
		w := httptest.NewRecorder()
		if s.http.Handler.ServeHTTP(w, r); w.Code != status || status == 503 && !strings.Contains(w.Body.String(), words) {
			t.Errorf("LFS %s: %d %s", operation, w.Code, w.Body)
		}
	}
	if a := s.gitRequest("ann", "PUT", "/ann/crane.git/gitlab-lfs/objects/"+strings.Repeat("0", 64)+"/1"); a.Code != 503 {
		t.Errorf("LFS object: %d %s", a.Code, a.Body)
	}
	if a := s.gitRequest("ann", "POST", "/ann/crane.git/info/lfs/locks"); a.Code != 503 || !strings.Contains(a.Body.String(), words) {
		t.Errorf("lock: %d %s", a.Code, a.Body)
	}
	if err := s.jobs.Enqueue(t.Context(), reconcileArgs{}); err != nil {
		t.Fatal(err)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM river_job WHERE kind = 'reconcile' AND state = 'scheduled'")
	if err != nil || waiting != 1 {
		t.Errorf("%d jobs wait, %v", waiting, err)
	}
	b := s.browse(t)
	if got := b.signIn("ann", annPassword); got.status != 503 || !strings.Contains(got.text, words) {
		t.Errorf("sign-in: %d %s", got.status, got.text)
	}
	if got := b.signIn("root", rootPassword); got.status != 303 {
		t.Errorf("sign-in of an administrator: %d %s", got.status, got.text)
	}
	if got := b.post("/-/profile/personal_access_tokens", "/-/profile/personal_access_tokens", url.Values{"name": {"x"}}); got.status != 503 || !strings.Contains(got.text, words) {
		t.Errorf("a form: %d %s", got.status, got.text)
	}
	s.set(obj{"maintenance_mode": false})
	s.want("ann", "POST", path+"/issues", obj{"title": "x"}, 201, "")
}

// TestSilentMode has what leads to mail and to a call of a status check happen in silent mode: neither comes, also not afterwards.
func TestSilentMode(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 10)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { called <- struct{}{} }))
	t.Cleanup(service.Close)
	post := mailtest.New(t, mailtest.Options{})
	s := newServer(t, "", func(c *config.Config) {
		c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", Timeout: 10 * time.Second}
	})
	s.user("ann", nil)
	s.user("ben", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true, "visibility": "public"}), "id")
	s.set(obj{"outbound_local_requests_whitelist": []string{"127.0.0.1"}})
	s.do("ann", "POST", path+"/external_status_checks", obj{"name": "check", "external_url": service.URL})
	happen := func(branch string) (mails, calls int) {
		t.Helper()
		s.do("ann", "POST", path+"/issues", obj{"title": "x", "assignee_ids": []any{s.ids["ben"]}})
		s.do("ann", "POST", path+"/repository/commits", obj{
			"branch": branch, "start_branch": "main", "commit_message": "x", "actions": []obj{{"action": "create", "file_path": branch, "content": "x"}},
		})
		s.do("ann", "POST", path+"/merge_requests", obj{"title": "x", "source_branch": branch, "target_branch": "main"})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(post.Take()), len(called)
	}
	s.set(obj{"silent_mode_enabled": true})
	if mails, calls := happen("one"); mails != 0 || calls != 0 {
		t.Errorf("in silent mode: %d mails, %d calls", mails, calls)
	}
	s.set(obj{"silent_mode_enabled": false})
	if mails, calls := happen("two"); mails != 1 || calls != 1 {
		t.Errorf("afterwards: %d mails, %d calls, want 1 of each", mails, calls)
	}
}

// TestSettings_obeyed turns settings and looks at what they are about.
func TestSettings_obeyed(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.MetricsFrom = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} })
	s.person("ann", annPassword)
	s.user("ben", nil)
	group := s.do("ann", "POST", "/groups", obj{"name": "team", "path": "team", "default_branch_protection": 2})
	at := "/groups/" + number(group, "id")
	project := func(name string) (answer obj, path string) {
		answer = s.do("ann", "POST", "/projects", obj{"name": name})
		return answer, "/projects/" + number(answer, "id")
	}
	_, path := project("zero")

	s.set(obj{"shared_runners_enabled": false})
	if p, _ := project("two"); p["shared_runners_enabled"] != false {
		t.Errorf("instance runners of a new project: %v", p["shared_runners_enabled"])
	}
	s.set(obj{"shared_runners_enabled": true, "shared_runners_text": ""})

	s.set(obj{"disable_invite_members": true})
	s.want("ann", "POST", at+"/members", obj{"user_id": s.ids["ben"], "access_level": 30}, 403, "Only administrators invite members on this instance")
	s.want("ann", "POST", path+"/invitations", obj{"email": "new@example.org", "access_level": 30}, 403, "Only administrators invite")
	s.want("admin", "POST", at+"/members", obj{"user_id": s.ids["ben"], "access_level": 30}, 201, "")
	s.set(obj{"disable_invite_members": false})

	s.set(obj{"top_level_group_creation_enabled": false})
	s.want("ann", "POST", "/groups", obj{"name": "more", "path": "more"}, 403, "")
	s.want("admin", "POST", "/groups", obj{"name": "more", "path": "more"}, 201, "")
	s.set(obj{"top_level_group_creation_enabled": true})
	s.want("ann", "POST", "/groups", obj{"name": "most", "path": "most"}, 201, "")

	s.set(obj{"group_owners_can_manage_default_branch_protection": false})
	s.want("ann", "PUT", at, obj{"default_branch_protection": 0}, 200, `"default_branch_protection":2`)
	s.want("admin", "PUT", at, obj{"default_branch_protection": 1}, 200, `"default_branch_protection":1`)
	s.set(obj{"group_owners_can_manage_default_branch_protection": true})
	s.want("ann", "PUT", at, obj{"default_branch_protection": 0}, 200, `"default_branch_protection":0`)

	_, path = project("one")
	s.set(obj{"default_project_deletion_protection": true, "delayed_project_deletion": true})
	s.want("ann", "DELETE", path, nil, 403, "Only administrators delete projects on this instance")
	s.set(obj{"default_project_deletion_protection": false, "allow_immediate_namespaces_deletion": false})
	s.want("ann", "DELETE", path, nil, 202, "")
	marked := s.do("ann", "GET", path, nil)["path_with_namespace"].(string)
	s.want("ann", "DELETE", path+"?permanently_remove=true&full_path="+url.QueryEscape(marked), nil, 403, "before their time")
	s.set(obj{"allow_immediate_namespaces_deletion": true})
	s.want("ann", "DELETE", path+"?permanently_remove=true&full_path="+url.QueryEscape(marked), nil, 202, "")

	s.set(obj{"disable_personal_access_tokens": true})
	s.want("ann", "GET", "/user", nil, 403, "Personal access tokens are disabled")
	s.want("admin", "POST", "/users/"+number(s.do("admin", "GET", "/user", nil), "id")+"/personal_access_tokens", obj{"name": "x", "scopes": []string{"api"}}, 403, "Personal access tokens are disabled")
	s.set(obj{"disable_personal_access_token": false})
	s.want("ann", "GET", "/user", nil, 200, "ann")

	_, path = project("three")
	s.set(obj{"ci_max_includes": 0})
	s.want("ann", "POST", path+"/ci/lint", obj{"content": "include: a.yml"}, 200, "Maximum of 0 nested includes are allowed!")
	s.set(obj{"ci_max_includes": 150, "ci_max_total_yaml_size_bytes": 10})
	s.want("ann", "POST", path+"/ci/lint", obj{"content": "press: {script: make}"}, 200, `"valid":false`)
	s.set(obj{"ci_max_total_yaml_size_bytes": 314572800})
	s.want("ann", "POST", path+"/ci/lint", obj{"content": "press: {script: make}"}, 200, `"valid":true`)

	s.wantOf(request{method: "GET", path: "/-/metrics", whole: true}, 200, "tenon_")
	s.set(obj{"prometheus_metrics_enabled": false})
	s.wantOf(request{method: "GET", path: "/-/metrics", whole: true}, 404, "")

	s.wantOf(request{method: "GET", path: "/.well-known/security.txt", whole: true}, 404, "")
	s.set(obj{"security_txt_content": "Contact: mailto:security@example.com"})
	s.wantOf(request{method: "GET", path: "/.well-known/security.txt", whole: true}, 200, "Contact: mailto:security@example.com")

	s.set(obj{"home_page_url": "https://home.example/"})
	b := s.browse(t)
	if got := b.get("/"); got.status != 303 || got.header.Get("Location") != "https://home.example/" {
		t.Errorf("the first page: %d, %s", got.status, got.header.Get("Location"))
	}
	s.set(obj{"sign_in_text": "Only **staff** <script>x</script>", "help_page_text": "Ask _Ann_", "help_page_support_url": "https://support.example/ask"})
	if got := b.get("/users/sign_in"); !strings.Contains(got.text, "Only <strong>staff</strong>") || strings.Contains(got.text, "<script>x") {
		t.Errorf("the sign-in page has no text of its own, or a script:\n%s", got.text)
	}
	if got := b.get("/help"); !strings.Contains(got.text, "Ask <em>Ann</em>") || !strings.Contains(got.text, `href="https://support.example/ask"`) {
		t.Errorf("the help page has no text or no address of support:\n%s", got.text)
	}
	s.set(obj{"password_authentication_enabled_for_web": false})
	if got := b.signIn("ann", annPassword); got.status != 403 || !strings.Contains(got.text, "Signing in with a password is disabled") {
		t.Errorf("sign-in: %d", got.status)
	}
	s.set(obj{"signin_enabled": true})
	if got := b.signIn("ann", annPassword); got.status != 303 {
		t.Errorf("sign-in: %d", got.status)
	}
	if got := b.get("/"); got.status != 200 {
		t.Errorf("the first page, signed in: %d", got.status)
	}
}

// TestSettings_mail turns what mail looks like.
func TestSettings_mail(t *testing.T) {
	t.Parallel()
	post := mailtest.New(t, mailtest.Options{})
	s := newServer(t, "", func(c *config.Config) {
		c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", Timeout: 10 * time.Second}
	})
	s.user("ann", nil)
	s.user("ben", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"}), "id")
	sent := func() mailtest.Mail {
		t.Helper()
		s.do("ann", "POST", path+"/issues", obj{"title": "x", "assignee_ids": []any{s.ids["ben"]}})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		mails := post.Take()
		if len(mails) != 1 {
			t.Fatalf("%d mails", len(mails))
		}
		return mails[0]
	}
	if m := sent(); m.HTML == "" || strings.Contains(m.Text, "ann (@ann): ") || strings.Contains(m.Text, "Be careful") {
		t.Errorf("at first: %s", m.Raw)
	}
	s.set(obj{"email_author_in_body": true, "email_additional_text": "Be careful <b>"})
	if m := sent(); !strings.HasPrefix(m.Text, "ann (@ann): ") || !strings.HasSuffix(strings.TrimSpace(m.Text), "\n\nBe careful <b>") || !strings.Contains(m.HTML, ">Be careful &lt;b&gt;</p>") {
		t.Errorf("with author and text: %s", m.Raw)
	}
	s.set(obj{"html_emails_enabled": false})
	if m := sent(); m.HTML != "" || !strings.HasPrefix(m.Text, "ann (@ann): ") {
		t.Errorf("without HTML: %s", m.Raw)
	}
}

// TestSettings_users turns what new and dormant users get.
func TestSettings_users(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.set(obj{"default_syntax_highlighting_theme": 4})
		for _, name := range []string{"old", "young", "busy"} {
			s.user(name, nil)
		}
		if u := s.do("admin", "GET", "/users/"+fmt.Sprint(s.ids["old"]), nil); u["color_scheme_id"] != 4.0 {
			t.Errorf("theme %v, want 4", u["color_scheme_id"])
		}
		long := s.now().AddDate(0, 0, -200)
		s.exec("UPDATE users SET created_at = ?, last_activity_on = ? WHERE username = 'old'", long, long.Format(time.DateOnly))
		s.exec("UPDATE users SET created_at = ?, last_activity_on = ? WHERE username = 'busy'", long, s.now().AddDate(0, 0, -100).Format(time.DateOnly))
		states := func() (out string) {
			t.Helper()
			if err := s.core.Accounts.DeactivateDormant(t.Context(), account.Dormant{}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"old", "young", "busy"} {
				out += fmt.Sprint(s.do("admin", "GET", "/users/"+fmt.Sprint(s.ids[name]), nil)["state"], " ")
			}
			return out
		}
		if got, want := states(), "active active active "; got != want {
			t.Errorf("at first: %s, want %s", got, want)
		}
		s.set(obj{"deactivate_dormant_users": true, "deactivate_dormant_users_period": 150})
		if got, want := states(), "deactivated active active "; got != want {
			t.Errorf("after 150 days: %s, want %s", got, want)
		}
		s.set(obj{"deactivate_dormant_users_period": 90})
		if got, want := states(), "deactivated active deactivated "; got != want {
			t.Errorf("after 90 days: %s, want %s", got, want)
		}
	})
}

// TestAdmin_settings reads and changes settings as the operator does; no secret is shown.
func TestAdmin_settings(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	set := func(name, value string) (string, error) {
		made, err := s.adminSettingSet(t.Context(), SettingInput{Name: name, Value: value}, nil)
		return string(made.Value), err
	}
	for _, tt := range []struct{ name, value, want string }{
		{"maintenance_mode_message", "Back at noon", `"Back at noon"`},
		{"signin_enabled", "false", "false"},
		{"default_projects_limit", "7", "7"},
		{"domain_denylist", "a.example,b.example", `["a.example","b.example"]`},
		{"akismet_api_key", "a secret of ours", `"[MASKED]"`},
		{"kroki_formats", `{"bpmn":true}`, `{"blockdiag":false,"bpmn":true,"excalidraw":false,"mermaid":false}`},
		{"polling_interval_multiplier", "1.5", "1.5"},
		{"max_login_attempts", "null", "null"},
		{"repository_size_limit", "1", "1048576"},
		{"recaptcha_enabled", "true", "true"},
	} {
		if got, err := set(tt.name, tt.value); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	for name, value := range map[string]string{"no_such_setting": "1", "default_projects_limit": "many", "deletion_adjourned_period": "91"} {
		if got, err := set(name, value); err == nil {
			t.Errorf("%s is %s", name, got)
		}
	}
	list, err := s.adminSettingList(t.Context(), SettingListInput{Changed: true}, nil)
	names := ""
	for _, one := range list {
		names += one.Name + " "
	}
	if want := "signin"; err != nil || strings.Contains(names, want) || len(list) != 9 {
		t.Errorf("changed: %s, %v", names, err)
	}
	found, err := s.adminDoctor(t.Context(), struct{}{}, nil)
	if err != nil || len(found.Pending) != 1 || found.Pending[0] != "recaptcha_enabled" {
		t.Errorf("not in force: %v, %v", found.Pending, err)
	}
	s.plant()
	list, err = s.adminSettingList(t.Context(), SettingListInput{}, nil)
	doctor, problem := s.adminDoctor(t.Context(), struct{}{}, nil)
	text, unreadable := json.Marshal([]any{list, doctor})
	if err := errors.Join(err, problem, unreadable); err != nil || bytes.Contains(text, []byte(plantedSetting)) || !bytes.Contains(text, []byte("[MASKED]")) {
		t.Errorf("the operator reads %s, %v", text, err)
	}
	s.noSecretsLogged(plantedSetting)
	s.noSecretsStored(plantedSetting)
}
