package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
)

// noRates are settings whose names speak of a limit that is none of requests in a time.
func noRates() map[string]string {
	const number, size = "a number, not a rate", "a size"
	return map[string]string{
		"default_projects_limit": number, "git_push_pipeline_limit": number, "push_event_activities_limit": number, "push_event_hooks_limit": number, "webhook_log_size_limit": number,
		"snippet_size_limit": size, "repository_size_limit": size, "project_storage_limit": size, "user_storage_limit": size,
		"external_user_storage_limit": size, "max_http_response_size_limit": size, "rate_limiting_response_text": "the words of the throttles",
		"notes_create_limit_allowlist": "who has no limit", "unique_ips_limit_enabled": "TestUniqueIPs", "unique_ips_limit_per_user": "TestUniqueIPs",
		"unique_ips_limit_time_window": "TestUniqueIPs", "git_rate_limit_users_allowlist": "who has no limit", "time_tracking_limit_to_hours": "a unit",
		"ci_delete_pipelines_in_seconds_limit_human_readable": "an age", "enforce_namespace_storage_limit": size,
		"math_rendering_limits_enabled": number, "sidekiq_job_limiter_mode": size, "sidekiq_job_limiter_compression_threshold_bytes": size,
		"sidekiq_job_limiter_limit_bytes": size,
	}
}

// limitedCall asks for something, and reports whether a limit refused it.
type limitedCall func(t *testing.T) (refused bool, answer string)

// TestLimits has every limit of operations, and every throttle, refuse a request in each transport that has what it bounds. It
// fails for one in the table of settings that it does not know.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newLimits(t, s)
	s.core.Limits.Enforce()
	calls, throttles, other := w.operations(), w.throttles(), noRates()
	walk := func(name string, list map[string]limitedCall, on, off func()) {
		for transport, call := range list {
			t.Run(name+" in "+transport, func(t *testing.T) {
				off()
				if refused, answer := call(t); refused {
					t.Errorf("without the limit: %s", answer)
				}
				on()
				defer off()
				var answer string
				for range 3 { // a window may end meanwhile
					var refused bool
					if refused, answer = call(t); refused {
						return
					}
				}
				t.Errorf("three calls where one is allowed, the last one: %.300s", answer)
			})
		}
	}
	for _, e := range setting.Table() {
		base, throttle := strings.CutSuffix(e.Name, "_enabled")
		throttle = throttle && strings.HasPrefix(base, "throttle_")
		switch {
		case e.Effect == "", !strings.Contains(e.Name, "limit") && !throttle, other[e.Name] != "":
		case throttle && throttles[base] != nil:
			set := func(on bool) func() {
				return func() {
					w.set(base+"_requests_per_period", 1)
					w.set(base+"_period_in_seconds", 60)
					w.set(e.Name, on)
				}
			}
			walk(base, throttles[base], set(true), set(false))
		case !throttle && calls[e.Name] != nil:
			set := func(n int) func() { return func() { w.set(e.Name, n) } }
			walk(e.Name, calls[e.Name], set(1), set(0))
		default:
			t.Errorf("%s: no call of this test has it refuse something", e.Name)
		}
	}
}

// limitsWorld is a server with what limits bound.
type limitsWorld struct {
	*server
	set            func(name string, value any)
	group, project string // paths below /api/v4
	issue          string // global id
	runner         string
	job            obj
	ssh            func(command string) (string, error)
	n              int
}

func newLimits(t *testing.T, s *server) *limitsWorld {
	t.Helper()
	w := &limitsWorld{server: s, set: coretest.Setter(t, s.core.Settings)}
	w.set("bulk_import_enabled", true)
	s.person("ann", annPassword)
	group := s.do("ann", "POST", "/groups", obj{"name": "Yard", "path": "yard", "visibility": "public"})
	p := s.do("ann", "POST", "/projects", obj{"name": "crane", "namespace_id": group["id"], "visibility": "public", "initialize_with_readme": true})
	w.group, w.project = "/groups/"+number(group, "id"), "/projects/"+number(p, "id")
	w.issue = "gid://gitlab/Issue/" + number(s.do("ann", "POST", w.project+"/issues", obj{"title": "Down"}), "id")
	s.do("ann", "POST", w.project+"/repository/commits", obj{"branch": "main", "commit_message": "Build it", "actions": []obj{
		{"action": "create", "file_path": "large", "content": strings.Repeat("0123456789abcdef", limit.LargeFile/16) + "!"},
		{"action": "create", "file_path": "child.yml", "content": "inner: {script: make}\n"},
		{"action": "create", "file_path": ".gitlab-ci.yml", "content": "press: {script: make}\nbridge: {trigger: {include: child.yml}}\n"},
	}})
	w.drain(t)
	w.runner = s.do("ann", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": p["id"], "run_untagged": true})["token"].(string)
	w.job = s.do("", "POST", "/jobs/request", obj{"token": w.runner})
	a, client := newSSH(t)
	a.core.Limits.Enforce()
	both, here := coretest.Setter(t, a.core.Settings), w.set
	w.ssh = runner(t, client)
	w.set = func(name string, value any) { here(name, value); both(name, value) }
	return w
}

func (w *limitsWorld) drain(t *testing.T) {
	t.Helper()
	if err := w.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// with is a request by REST, and whole one of another transport over HTTP. %d in a body is a number of its own each time.
func (w *limitsWorld) with(as, method, path string, body obj) limitedCall {
	return w.sent(request{as: as, method: method, path: path, body: body})
}

func (w *limitsWorld) whole(as, path string) limitedCall {
	return w.sent(request{as: as, method: "GET", path: path, whole: true, way: bearer})
}

func (w *limitsWorld) sent(q request) limitedCall {
	return func(t *testing.T) (bool, string) {
		one := q
		if q.body != nil {
			w.n++
			one.body = obj{}
			for key, value := range q.body {
				if text, ok := value.(string); ok {
					value = strings.ReplaceAll(text, "%d", fmt.Sprint(w.n))
				}
				one.body[key] = value
			}
		}
		a := w.send(t.Context(), one)
		if a.Code >= 500 {
			t.Errorf("%s: %d %s", q.path, a.Code, a.Body)
		}
		return a.Code == http.StatusTooManyRequests, fmt.Sprintf("%d %s", a.Code, a.Body)
	}
}

// graphQL is a document, which a limit refuses with an error.
func (w *limitsWorld) graphQL(document string) limitedCall {
	return func(t *testing.T) (bool, string) {
		w.n++
		a := w.send(t.Context(), request{as: "ann", way: bearer, method: "POST", path: "/api/graphql", whole: true, body: obj{"query": strings.ReplaceAll(document, "%d", fmt.Sprint(w.n))}})
		text := a.Body.String()
		if strings.Contains(text, "Cannot query field") || strings.Contains(text, "syntax") {
			t.Errorf("%s: %s", document, text)
		}
		return strings.Contains(text, "too many times"), text
	}
}

// git is a request of git over HTTP, with the password of a user, from an address; "" is the ordinary one.
func (w *limitsWorld) git(user, password, address string, refusal int) limitedCall {
	return func(t *testing.T) (bool, string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/yard/crane.git/info/refs?service=git-upload-pack", http.NoBody)
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		if address != "" {
			r.RemoteAddr = address + ":4711"
		}
		a := httptest.NewRecorder()
		w.http.Handler.ServeHTTP(a, r)
		return a.Code == refusal, fmt.Sprintf("%d %s", a.Code, a.Body)
	}
}

// download is the download of an export, which is made when there is none.
func (w *limitsWorld) download(path string) limitedCall {
	call := w.with("ann", "GET", path+"/download", nil)
	return func(t *testing.T) (bool, string) {
		refused, answer := call(t)
		if !strings.HasPrefix(answer, "404") {
			return refused, answer
		}
		w.send(t.Context(), request{as: "ann", method: "POST", path: path})
		w.drain(t)
		return call(t)
	}
}

// operations are the calls of each limit of operations, by transport.
func (w *limitsWorld) operations() map[string]map[string]limitedCall {
	const repository = "/repository"
	at, of := w.project, fmt.Sprintf("/users/%d", w.ids["ann"])
	rest := func(method, path string, body obj) map[string]limitedCall {
		return map[string]limitedCall{"REST": w.with("ann", method, path, body)}
	}
	anonymous := func(path string) map[string]limitedCall {
		return map[string]limitedCall{"REST": w.with("", "GET", path, nil)}
	}
	job := "/jobs/" + number(w.job, "id")
	return map[string]map[string]limitedCall{
		"notes_create_limit": {
			"REST":    w.with("ann", "POST", at+"/issues/1/notes", obj{"body": "x"}),
			"GraphQL": w.graphQL(fmt.Sprintf("mutation { createNote(input: {noteableId: %q, body: \"x\"}) { errors } }", w.issue)),
		},
		"issues_create_limit": {
			"REST":    w.with("ann", "POST", at+"/issues", obj{"title": "x"}),
			"GraphQL": w.graphQL(`mutation { createIssue(input: {projectPath: "yard/crane", title: "x"}) { errors } }`),
		},
		"search_rate_limit": {
			"projects":          w.with("ann", "GET", "/search?scope=projects&search=x", nil),
			"issues":            w.with("ann", "GET", "/search?scope=issues&search=x", nil),
			"merge requests":    w.with("ann", "GET", w.group+"/search?scope=merge_requests&search=x", nil),
			"milestones":        w.with("ann", "GET", "/search?scope=milestones&search=x", nil),
			"users":             w.with("ann", "GET", "/search?scope=users&search=x", nil),
			"snippets":          w.with("ann", "GET", "/search?scope=snippet_titles&search=x", nil),
			"comments":          w.with("ann", "GET", at+"/search?scope=notes&search=xyz", nil),
			"commits":           w.with("ann", "GET", at+"/search?scope=commits&search=x", nil),
			"files":             w.with("ann", "GET", at+"/search?scope=blobs&search=x", nil),
			"wiki":              w.with("ann", "GET", at+"/search?scope=wiki_blobs&search=x", nil),
			"list of users":     w.with("ann", "GET", "/users?search=x", nil),
			"list of issues":    w.with("ann", "GET", at+"/issues?search=x", nil),
			"list of requests":  w.with("ann", "GET", w.group+"/merge_requests?search=x", nil),
			"list of epics":     w.with("ann", "GET", w.group+"/epics?search=x", nil),
			"CSV":               w.with("ann", "GET", at+"/issues/export_csv?search=x", nil),
			"GraphQL":           w.graphQL(`{ project(fullPath: "yard/crane") { issues(search: "x") { nodes { id } } } }`),
			"GraphQL, users":    w.graphQL(`{ users(search: "x") { nodes { id } } }`),
			"GraphQL, requests": w.graphQL(`{ project(fullPath: "yard/crane") { mergeRequests(search: "x") { nodes { id } } } }`),
			"GraphQL, epics":    w.graphQL(`{ group(fullPath: "yard") { epics(search: "x") { nodes { id } } } }`),
			"GraphQL, items":    w.graphQL(`{ namespace(fullPath: "yard") { workItems(search: "x") { nodes { id } } } }`),
		},
		"search_rate_limit_unauthenticated": anonymous(at + "/issues?search=x"),
		"user_email_lookup_limit": {
			"REST":    w.with("ann", "GET", "/users?search=a@b.example", nil),
			"GraphQL": w.graphQL(`{ users(search: "a@b.example") { nodes { id } } }`),
		},
		"autocomplete_users_limit": {
			"REST":    w.with("ann", "GET", at+"/users?search=a", nil),
			"members": w.with("ann", "GET", w.group+"/members?query=a", nil),
			"GraphQL": w.graphQL(`{ project(fullPath: "yard/crane") { projectMembers(search: "a") { nodes { id } } } }`),
		},
		"autocomplete_users_unauthenticated_limit": anonymous(at + "/users?search=a"),
		"users_get_by_id_limit":                    rest("GET", of, nil),
		"projects_api_rate_limit_unauthenticated": {
			"REST":  w.with("", "GET", "/projects", nil),
			"pages": w.whole("", "/explore/projects"),
		},
		"projects_api_limit": {
			"REST":    w.with("ann", "GET", "/projects", nil),
			"GraphQL": w.graphQL("{ projects { nodes { id } } }"),
			"pages":   w.whole("ann", "/explore/projects"),
		},
		"project_export_limit":             rest("POST", at+"/export", nil),
		"project_download_export_limit":    {"REST": w.download(at + "/export")},
		"relation_export_limit":            rest("POST", at+"/export_relations", nil),
		"group_import_limit":               rest("POST", "/groups/import", obj{"name": "x%d", "path": "imported%d", "file": attached{"x.zip", "x"}}),
		"group_export_limit":               rest("POST", w.group+"/export", nil),
		"group_download_export_limit":      {"REST": w.download(w.group + "/export")},
		"project_api_limit":                rest("GET", at, nil),
		"project_members_api_limit":        rest("GET", at+"/members", nil),
		"project_invited_groups_api_limit": rest("GET", at+"/invited_groups", nil),
		"groups_api_limit": {
			"REST":    w.with("ann", "GET", "/groups", nil),
			"GraphQL": w.graphQL("{ groups { nodes { id } } }"),
		},
		"group_api_limit":                     rest("GET", w.group, nil),
		"group_projects_api_limit":            rest("GET", w.group+"/projects", nil),
		"group_shared_groups_api_limit":       rest("GET", w.group+"/groups/shared", nil),
		"group_invited_groups_api_limit":      rest("GET", w.group+"/invited_groups", nil),
		"group_archive_unarchive_api_limit":   rest("POST", w.group+"/unarchive", nil),
		"user_projects_api_limit":             rest("GET", of+"/projects", nil),
		"user_starred_projects_api_limit":     rest("GET", of+"/starred_projects", nil),
		"user_contributed_projects_api_limit": rest("GET", of+"/contributed_projects", nil),
		"users_api_limit_followers":           rest("GET", of+"/followers", nil),
		"users_api_limit_following":           rest("GET", of+"/following", nil),
		"users_api_limit_status":              rest("GET", of+"/status", nil),
		"users_api_limit_ssh_keys":            rest("GET", of+"/keys", nil),
		"users_api_limit_ssh_key":             rest("GET", of+"/keys/1", nil),
		"users_api_limit_gpg_keys":            rest("GET", of+"/gpg_keys", nil),
		"users_api_limit_gpg_key":             rest("GET", of+"/gpg_keys/1", nil),
		"members_delete_limit":                rest("DELETE", at+"/members/999", nil),
		"project_import_limit":                rest("POST", "/projects", obj{"name": "x%d", "import_url": "ftp://x"}),
		"project_jobs_api_rate_limit": {
			"REST":    w.with("ann", "GET", at+"/jobs", nil),
			"GraphQL": w.graphQL(`{ project(fullPath: "yard/crane") { jobs { nodes { id } } } }`),
		},
		"raw_blob_request_limit": {
			"REST":  w.with("ann", "GET", at+repository+"/files/README.md/raw?ref=main", nil),
			"pages": w.whole("ann", "/yard/crane/-/raw/main/README.md"),
		},
		"large_blob_request_limit": {
			"REST":  w.with("ann", "GET", at+repository+"/files/large?ref=main", nil),
			"raw":   w.with("ann", "GET", at+repository+"/files/large/raw?ref=main", nil),
			"pages": w.whole("ann", "/yard/crane/-/raw/main/large"),
		},
		"archive_request_limit": {
			"REST":  w.with("ann", "GET", at+repository+"/archive.tar", nil),
			"pages": w.whole("ann", "/yard/crane/-/archive/main/crane-main.tar"),
		},
		"archive_request_limit_unauthenticated": {
			"REST":  w.with("", "GET", at+repository+"/archive.tar", nil),
			"pages": w.whole("", "/yard/crane/-/archive/main/crane-main.tar"),
		},
		"changelog_request_limit":    rest("GET", at+repository+"/changelog?version=1.0.0", nil),
		"large_commit_request_limit": {"REST": w.largeCommit},
		"pipeline_limit_per_user": {
			"REST":    w.with("ann", "POST", at+"/pipeline", obj{"ref": "main"}),
			"GraphQL": w.graphQL(`mutation { pipelineCreate(input: {projectPath: "yard/crane", ref: "main"}) { errors } }`),
		},
		"pipeline_limit_per_project_user_sha":                    rest("POST", at+"/pipeline", obj{"ref": "main"}),
		"downstream_pipeline_trigger_limit_per_project_user_sha": {"jobs": w.downstream},
		"runner_jobs_request_api_limit":                          {"runners": w.with("", "POST", "/jobs/request", obj{"token": w.runner})},
		"runner_jobs_endpoints_api_limit":                        {"runners": w.with("", "PUT", job, obj{"token": w.job["token"], "state": "running"})},
		"runner_jobs_patch_trace_api_limit":                      {"runners": w.trace},
		"gitlab_shell_operation_limit": {"SSH": func(*testing.T) (bool, string) {
			text, _ := w.ssh("git-upload-pack 'root/app.git'")
			return strings.Contains(text, "done too many times"), text
		}},
		"user_sign_in_limit": {
			"pages":             w.signIn("ann", annPassword, "198.51.100.9", http.StatusTooManyRequests),
			"another address":   w.elsewhere("ann", annPassword),
			"a name of no user": w.elsewhere("nobody", annPassword),
		},
		"git_failed_authentication_limit": {
			"git over HTTP": w.git("ann", "wrong", "198.51.100.7", http.StatusForbidden),
			"pages":         w.signIn("ann", "wrong", "198.51.100.8", http.StatusForbidden),
		},
	}
}

// signIn signs on with a form from an address. A wrong password is refused with 422, an address that is shut out with 403.
func (w *limitsWorld) signIn(user, password, address string, refusal int) limitedCall {
	return func(t *testing.T) (bool, string) {
		ask := func(method string, form url.Values, cookies []*http.Cookie) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, "/users/sign_in", strings.NewReader(form.Encode()))
			r.RemoteAddr = address + ":4711"
			if form != nil {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			for _, c := range cookies {
				r.AddCookie(c)
			}
			a := httptest.NewRecorder()
			w.http.Handler.ServeHTTP(a, r)
			return a
		}
		page := ask("GET", nil, nil)
		token := tokenInPage.FindStringSubmatch(page.Body.String())
		if token == nil {
			t.Fatalf("no form: %d %s", page.Code, page.Body)
		}
		a := ask("POST", url.Values{"authenticity_token": {token[1]}, "user[login]": {user}, "user[password]": {password}}, page.Result().Cookies())
		return a.Code == refusal, fmt.Sprintf("%d %s", a.Code, a.Body)
	}
}

// elsewhere is signIn from another address each time.
func (w *limitsWorld) elsewhere(user, password string) limitedCall {
	return func(t *testing.T) (bool, string) {
		w.n++
		return w.signIn(user, password, fmt.Sprintf("203.0.113.%d", w.n%250+1), http.StatusTooManyRequests)(t)
	}
}

func (w *limitsWorld) largeCommit(t *testing.T) (bool, string) {
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v4"+w.project+"/repository/commits", strings.NewReader(strings.Repeat(" ", limit.LargeBody+1)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Private-Token", w.keys["ann"])
	a := httptest.NewRecorder()
	w.http.Handler.ServeHTTP(a, r)
	return a.Code == http.StatusTooManyRequests, fmt.Sprintf("%d %s", a.Code, a.Body)
}

func (w *limitsWorld) trace(t *testing.T) (bool, string) {
	r := httptest.NewRequestWithContext(t.Context(), "PATCH", "/api/v4/jobs/"+number(w.job, "id")+"/trace", strings.NewReader(""))
	r.Header.Set("Job-Token", w.job["token"].(string))
	r.Header.Set("Content-Range", "0-0")
	a := httptest.NewRecorder()
	w.http.Handler.ServeHTTP(a, r)
	return a.Code == http.StatusTooManyRequests, fmt.Sprintf("%d %s", a.Code, a.Body)
}

// downstream runs a pipeline whose bridge triggers another one.
func (w *limitsWorld) downstream(t *testing.T) (bool, string) {
	p := w.do("ann", "POST", w.project+"/pipeline", obj{"ref": "main"})
	w.drain(t)
	a := w.send(t.Context(), request{as: "ann", method: "GET", path: w.project + "/pipelines/" + number(p, "id") + "/bridges"})
	var bridges []obj
	if err := json.Unmarshal(a.Body.Bytes(), &bridges); err != nil || len(bridges) != 1 {
		t.Fatalf("%v, %d %s", err, a.Code, a.Body)
	}
	return bridges[0]["failure_reason"] == "reached_downstream_pipeline_trigger_rate_limit", a.Body.String()
}

// throttles are requests of each throttle, by transport.
func (w *limitsWorld) throttles() map[string]map[string]limitedCall {
	file := w.project + "/repository/files/README.md?ref=main"
	return map[string]map[string]limitedCall{
		"throttle_unauthenticated_api":            {"REST": w.with("", "GET", w.project, nil)},
		"throttle_authenticated_api":              {"REST": w.with("ann", "GET", w.project, nil), "GraphQL": w.sent(request{as: "ann", way: bearer, method: "POST", path: "/api/graphql", whole: true, body: obj{"query": "{ currentUser { id } }"}})},
		"throttle_unauthenticated_files_api":      {"REST": w.with("", "GET", file, nil)},
		"throttle_authenticated_files_api":        {"REST": w.with("ann", "GET", file, nil)},
		"throttle_unauthenticated_packages_api":   {"REST": w.with("", "GET", w.project+"/packages", nil)},
		"throttle_authenticated_packages_api":     {"REST": w.with("ann", "GET", w.project+"/packages/npm/x", nil)},
		"throttle_unauthenticated":                {"pages": w.whole("", "/help")},
		"throttle_authenticated_web":              {"pages": w.sent(request{as: "ann", method: "GET", path: "/yard/crane", whole: true})},
		"throttle_unauthenticated_git_http":       {"git over HTTP": w.git("", "", "", http.StatusTooManyRequests)},
		"throttle_authenticated_git_http":         {"git over HTTP": w.git("ann", w.keys["ann"], "", http.StatusTooManyRequests)},
		"throttle_authenticated_git_lfs":          {"LFS": w.largeFile},
		"throttle_unauthenticated_deprecated_api": {"REST": w.with("", "GET", w.group, nil)},
		"throttle_authenticated_deprecated_api":   {"REST": w.with("ann", "GET", w.group, nil)},
		"throttle_protected_paths":                {"pages": w.sent(request{method: "POST", path: "/users/sign_in", whole: true})},
	}
}

func (w *limitsWorld) largeFile(t *testing.T) (bool, string) {
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/yard/crane.git/info/lfs/objects/batch",
		strings.NewReader(`{"operation":"download","objects":[{"oid":"`+strings.Repeat("ab", 32)+`","size":5}]}`))
	r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
	r.SetBasicAuth("ann", w.keys["ann"])
	a := httptest.NewRecorder()
	w.http.Handler.ServeHTTP(a, r)
	return a.Code == http.StatusTooManyRequests, fmt.Sprintf("%d %s", a.Code, a.Body)
}

// A request of GraphQL counts once, with whatever credential it comes.
func TestLimits_once(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	s.core.Limits.Enforce()
	set := coretest.Setter(t, s.core.Settings)
	for _, kind := range []string{"authenticated", "unauthenticated"} {
		set("throttle_"+kind+"_api_requests_per_period", 2)
		set("throttle_"+kind+"_api_period_in_seconds", 86400)
		set("throttle_"+kind+"_api_enabled", true)
	}
	for _, q := range []request{{as: "ann"}, {as: "ann", way: bearer}, {as: "admin", way: "private_token"}, {}} {
		if q.as == "ann" && q.way == bearer {
			set("throttle_authenticated_api_requests_per_period", 5) // two and the one that was refused are counted
		} else {
			set("throttle_authenticated_api_requests_per_period", 2)
		}
		q.method, q.path, q.whole, q.body = "POST", "/api/graphql", true, obj{"query": "{ currentUser { id } }"}
		for i, want := range []int{200, 200, 429} {
			if a := s.send(t.Context(), q); a.Code != want {
				t.Errorf("request %d as %q by %q: %d %s, want %d", i+1, q.as, q.way, a.Code, a.Body, want)
			}
		}
	}
}
