package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// untimed are the routes that change or delete what has no time of its last change.
func untimed() map[string]string {
	return map[string]string{
		"PUT /projects/:id/packages/npm/:package_name":                                 "adds a version, and changes none that is there but its deprecation",
		"PUT /projects/:id/packages/npm/-/package/:package_name/dist-tags/:tag":        "a tag is a name for a version",
		"DELETE /projects/:id/packages/npm/-/package/:package_name/dist-tags/:tag":     "a tag is a name for a version",
		"PUT /groups/:id/-/packages/npm/-/package/:package_name/dist-tags/:tag":        "a tag is a name for a version",
		"DELETE /groups/:id/-/packages/npm/-/package/:package_name/dist-tags/:tag":     "a tag is a name for a version",
		"PUT /packages/npm/-/package/:package_name/dist-tags/:tag":                     "a tag is a name for a version",
		"DELETE /packages/npm/-/package/:package_name/dist-tags/:tag":                  "a tag is a name for a version",
		"PUT /projects/:id/packages/generic/:package_name/:package_version/*file_name": "adds a file, and changes none that is there",
		"PUT /projects/:id/packages/maven/*path":                                       "adds a file, and changes none that is there",
		"PUT /projects/:id/packages/debian/:file_name":                                 "adds a file, and changes none that is there",
		"PUT /projects/:id/pipelines/:pipeline_id/metadata":                            "its time of change is that of its jobs, which run meanwhile",
		"DELETE /projects/:id/pipelines/:pipeline_id":                                  "its time of change is that of its jobs, which run meanwhile",
		"PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key":    "variables of schedules have no time of change",
		"DELETE /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key": "variables of schedules have no time of change",
		"PUT /groups/:id/members/:member_id/approve":                                   "a change of state of an account",
		"DELETE /license/:id":                                                                    "the license of the server itself stays",
		"PUT /license/:id/refresh_billable_users":                                                "changes nothing: users are always counted",
		"DELETE /projects/:id/environments/review_apps":                                          "many things at once",
		"DELETE /projects/:id/artifacts":                                                         "many things at once",
		"DELETE /projects/:id/jobs/:job_id/artifacts":                                            "many things at once",
		"PUT /projects/:id/repository/files/:file_path":                                          "last_commit_id is the condition of a file",
		"DELETE /projects/:id/repository/files/:file_path":                                       "last_commit_id is the condition of a file",
		"PUT /projects/:id/repository/submodules/:submodule":                                     "makes a commit",
		"DELETE /projects/:id/repository/merged_branches":                                        "many things at once",
		"PUT /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id":               "many notes at once",
		"PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id/publish": "a draft note becomes a note",
		"PUT /suggestions/:id/apply":                                                             "makes a commit",
		"PUT /suggestions/batch_apply":                                                           "makes a commit",
		"DELETE /projects/:id/merge_requests/:merge_request_iid/context_commits":                 "many things at once",
		"PUT /projects/:id/merge_requests/:merge_request_iid/reset_approvals":                    "many approvals at once",
		"PUT /projects/:id/merge_request_approval_setting":                                       "the answer has no time of its last change",
		"PUT /groups/:id/merge_request_approval_setting":                                         "the answer has no time of its last change",
		"PUT /notification_settings":                                                             "the caller's alone, with no time of its last change",
		"PUT /groups/:id/notification_settings":                                                  "the caller's alone, with no time of its last change",
		"PUT /projects/:id/notification_settings":                                                "the caller's alone, with no time of its last change",
		"PUT /projects/:id/wikis/:slug":                                                          "makes a commit",
		"DELETE /projects/:id/wikis/:slug":                                                       "makes a commit",
		"PUT /groups/:id/wikis/:slug":                                                            "makes a commit",
		"DELETE /runners":                                                                        "the program that has the token removes what it registered",
		"DELETE /runners/managers":                                                               "the program that has the token removes its machine",
		"PATCH /projects/:id/job_token_scope":                                                    "the answer has no time of its last change",
		"DELETE /projects/:id/job_token_scope/allowlist/:target_project_id":                      "an entry has no time of its last change",
		"DELETE /projects/:id/job_token_scope/groups_allowlist/:target_group_id":                 "an entry has no time of its last change",
		"DELETE /projects/:id/runners/:runner_id":                                                "an assignment has no time of its last change",
		"DELETE /groups/:id/wikis/:slug":                                                         "makes a commit",
	}
}

// TestUnmodified sends every PUT, PATCH and DELETE with an old If-Unmodified-Since, which
// must be refused and change nothing, and with a new one, which must not matter.
func TestUnmodified(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		// What is not there before it is set.
		w.do("admin", "PUT", "/application/settings", obj{"search_rate_limit": 29})
		w.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "gold", "ci_active_jobs": 4})
		w.do("admin", "PUT", "/application/appearance", obj{"title": "Yard"})
		w.do("admin", "PUT", "/user/status", obj{"message": "here"})
		w.disabledIntegrations()
		all, asked := samples(), 0
		for _, route := range w.kit().Routes() {
			if !slices.Contains([]string{http.MethodPut, http.MethodPatch, http.MethodDelete}, route.Method) {
				continue
			}
			if _, ok := untimed()[key(route)]; ok == route.Timed {
				t.Errorf("%s: Timed is %t: say why in untimed, or declare it", key(route), route.Timed)
			}
			for _, r := range w.rows(route, all) {
				if !slices.Contains([]string{"private", "instance"}, r.place.name) || r.sample.status >= 300 {
					continue
				}
				q, missing := r.request()
				if missing != "" {
					t.Fatalf("%s: no value for %s", key(route), missing)
				}
				q.as = "admin"
				asked++
				w.unmodified(t, r, q)
			}
		}
		if asked < 80 {
			t.Errorf("only %d requests were made", asked)
		}
	})
}

// unmodified tries a row with both times. What is refused is not undone here: the thing has
// to be as it was.
func (w *world) unmodified(t *testing.T, r row, q request) {
	t.Helper()
	if r.route.Timed {
		q.since = "Mon, 01 Jan 2001 00:00:00 GMT"
		refuse := func() *httptest.ResponseRecorder { return w.send(t.Context(), q) }
		if first := r.before(); first != nil {
			refuse = func() *httptest.ResponseRecorder { return w.undone(q, first) }
		}
		got, want := refuse(), `{"message":"412 Precondition Failed"}`
		if got.Code != http.StatusPreconditionFailed || got.Body.String() != want {
			t.Errorf("%s after an old time: got %d %.300s, want 412 %s", r.title(), got.Code, got.Body, want)
		}
	}
	q.since = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := w.undone(q, r.before()); !good(got.Code) {
		t.Errorf("%s before a new time: got %d %.300s", r.title(), got.Code, got.Body)
	}
}

// TestUnmodified_times is a check of the time that is in the header: one that is none is
// ignored, and the second of the last change is not after it.
func TestUnmodified_times(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	s.do("ann", "POST", "/projects", obj{"name": "app", "path": "app"})
	s.do("ann", "POST", "/projects/ann%2Fapp/labels", obj{"name": "bug", "color": "#ff0000"})
	s.exec("UPDATE labels SET updated_at = ?", time.Date(2026, 3, 1, 10, 0, 0, 500_000_000, time.UTC))
	for _, tt := range []struct {
		since  string
		status int
	}{
		{"Sun, 01 Mar 2026 09:59:59 GMT", 412},
		{"2026-03-01T10:00:00.499Z", 412},
		{"2026-02-28", 412},
		{"Sun, 01 Mar 2026 10:00:00 GMT", 200},
		{"2026-03-01T10:00:00.500Z", 200},
		{"yesterday or so", 200},
	} {
		q := request{as: "ann", method: "PUT", path: "/projects/ann%2Fapp/labels/bug", since: tt.since, body: obj{"description": tt.since}}
		if got := s.undone(q, nil); got.Code != tt.status {
			t.Errorf("%q: got %d %s, want %d", tt.since, got.Code, got.Body, tt.status)
		}
	}
}

// TestUnmodified_others holds the condition to the thing that the path names: what goes or
// changes with it may be younger.
func TestUnmodified_others(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	p := w.projects[0]
	path := "/projects/" + p.values["projects/:id"]
	old := time.Now().Add(-time.Hour).UTC()
	iid := p.values[":merge_request_iid"]
	w.do("owner", "PUT", path+"/merge_requests/"+iid, obj{"description": "Closes #" + p.values[":issue_iid"]})
	for _, table := range []string{"merge_requests", "projects", "namespaces", "users"} {
		w.exec("UPDATE "+table+" SET updated_at = ?", old)
	}
	since := old.Add(time.Minute).Format(http.TimeFormat)
	ask := func(method, path string, body obj) {
		t.Helper()
		if got := w.send(t.Context(), request{as: "admin", method: method, path: path, body: body, since: since}); !good(got.Code) {
			t.Errorf("%s %s: got %d %s", method, path, got.Code, got.Body)
		}
	}
	ask("PUT", path+"/merge_requests/"+iid+"/merge", nil)
	issue := w.send(t.Context(), get("admin", path+"/issues/"+p.values[":issue_iid"]))
	if !strings.Contains(issue.Body.String(), `"state":"closed"`) {
		t.Errorf("the merge did not close the issue: %d %.300s", issue.Code, issue.Body)
	}
	ask("PUT", "/users/"+w.instance[0].values["users/:id"], obj{"name": "Other", "avatar": attached{"me.png", onePixel()}})
	w.do("admin", "POST", path+"/fork/"+w.projects[2].values["projects/:id"], nil)
	fork := request{as: "admin", method: "DELETE", path: path + "/fork", since: since}
	if got := w.send(t.Context(), fork); got.Code != http.StatusPreconditionFailed {
		t.Errorf("a fork that is younger: got %d %s, want 412", got.Code, got.Body)
	}
	w.exec("UPDATE projects SET updated_at = ?", old)
	ask("DELETE", path+"/fork", nil)
	w.exec("UPDATE projects SET updated_at = ?", old)
	ask("DELETE", path, nil)
	ask("DELETE", "/groups/"+p.values["groups/:id"], nil)
}
