package app

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/core/integration/kind"
)

// plans are the subjects of planning and review in a project, a group and a merge request.
func (s *server) plans(project, group, mr string) []twice {
	post := func(path, id string, body map[string]any) string {
		return path + "/" + number(s.do("admin", "POST", path, body), id)
	}
	flag := func() string {
		s.do("admin", "POST", project+"/feature_flags", obj{"name": "parallel"})
		return project + "/feature_flags/parallel"
	}
	milestone := func(of string) twice {
		path := post(of+"/milestones", "id", map[string]any{"title": "v1"})
		return twice{name: "milestone of " + of, path: path, a: text("title", "v%d"), b: text("description", "words %d")}
	}
	board := func(of string) twice {
		path := post(of+"/boards", "id", map[string]any{"name": "board"})
		return twice{name: "board of " + of, path: path, a: text("name", "board %d"), b: toggle("hide_backlog_list")}
	}
	invitation := func(of string) twice {
		s.do("admin", "POST", of+"/invitations", map[string]any{"email": "new@example.com", "access_level": 30})
		return twice{
			name: "invitation to " + of, path: of + "/invitations/new@example.com", read: of + "/invitations",
			a: word("access_level", 20, 30), b: word("expires_at", "2099-01-02", "2099-01-03"),
		}
	}
	settings := func(of string) twice {
		return twice{
			name: "approval settings of " + of, path: of + "/merge_request_approval_setting", at: "%.value",
			a: toggle("allow_author_approval"), b: toggle("retain_approvals_on_push"),
		}
	}
	notified := func(of string) twice {
		s.do("admin", "PUT", of+"/notification_settings", map[string]any{"level": "custom"})
		return twice{name: "notifications of " + of, path: of + "/notification_settings", at: "events.%", a: toggle("new_note"), b: toggle("close_issue")}
	}
	variable := func(of string) twice {
		s.do("admin", "POST", of, map[string]any{"key": "KEY", "value": "value"})
		return twice{name: "variable at " + of, path: of + "/KEY", a: toggle("protected"), b: text("description", "words %d")}
	}
	machine := s.do("admin", "POST", "/user/runners", map[string]any{"runner_type": "instance_type"})
	rule := map[string]any{"name": "rule", "approvals_required": 1}
	s.do("admin", "POST", group+"/protected_branches", map[string]any{"name": "stable"})
	s.do("admin", "POST", project+"/releases", map[string]any{"tag_name": "r1", "ref": "main"})
	releaseLink := post(project+"/releases/r1/assets/links", "id", map[string]any{"name": "tool", "url": "https://example.com/1"})
	snippet := map[string]any{"title": "one", "file_name": "a.txt", "content": "x", "visibility": "private"}
	issue := post(project+"/issues", "iid", map[string]any{"title": "incident", "issue_type": "incident"})
	image := post(issue+"/metric_images", "id", map[string]any{"file": attached{"a.png", onePixel()}})
	environment := post(project+"/environments", "id", map[string]any{"name": "production"})
	nightly := post(project+"/pipeline_schedules", "id", map[string]any{"description": "nightly", "ref": "main", "cron": "0 1 1 1 *"})
	s.do("admin", "POST", nightly+"/variables", map[string]any{"key": "KEY", "value": "value"})
	distribution := func(path string) string {
		s.do("admin", "POST", path, obj{"codename": "paired"})
		return path + "/paired"
	}
	return []twice{
		{name: "pipeline schedule", path: nightly, a: text("description", "words %d"), b: toggle("active")},
		{name: "variable of a schedule", path: nightly + "/variables/KEY", a: text("value", "words %d"), b: word("variable_type", "file", "env_var")},
		milestone(project), milestone(group), board(project), board(group), invitation(project), invitation(group),
		variable(project + "/variables"), variable(group + "/variables"), variable("/admin/ci/variables"),
		{name: "runner", path: "/runners/" + number(machine, "id"), a: text("description", "runner %d"), b: toggle("paused")},
		{name: "appearance", path: "/application/appearance", a: text("title", "words %d"), b: toggle("email_header_and_footer_enabled")},
		{
			name: "broadcast message", path: post("/broadcast_messages", "id", map[string]any{"message": "one", "target_path": "nowhere"}),
			a: text("message", "words %d"), b: toggle("dismissable"),
		},
		{name: "hook of a project", path: post(project+"/hooks", "id", obj{"url": "http://8.8.8.8/a"}), a: text("name", "hook %d"), b: toggle("issues_events")},
		{name: "hook of a group", path: post(group+"/hooks", "id", obj{"url": "http://8.8.8.8/a"}), a: text("name", "hook %d"), b: toggle("issues_events")},
		{name: "hook of the instance", path: post("/hooks", "id", obj{"url": "http://8.8.8.8/a"}), a: text("name", "hook %d"), b: toggle("tag_push_events")},
		{
			name: "protected branch of a group", path: group + "/protected_branches/stable", verb: http.MethodPatch,
			a: toggle("allow_force_push"), b: toggle("code_owner_approval_required"),
		},
		{
			name: "service account of the instance", path: post("/service_accounts", "id", nil), read: "/service_accounts", verb: http.MethodPatch,
			a: text("name", "name %d"), b: text("username", "service-%d"),
		},
		{
			name: "service account of a group", path: post(group+"/service_accounts", "id", nil), read: group + "/service_accounts", verb: http.MethodPatch,
			a: text("name", "name %d"), b: text("username", "service-of-group-%d"),
		},
		settings(project), settings(group), notified(""), notified(project), notified(group),
		{
			name: "feature flag", path: flag(), a: text("description", "words %d"), b: toggle("active"),
		},
		{
			name: "user list of feature flags", path: post(project+"/feature_flags_user_lists", "iid", obj{"name": "one", "user_xids": "a"}),
			a: text("name", "list %d"), b: text("user_xids", "user-%d"),
		},
		{name: "epic", path: post(group+"/epics", "iid", map[string]any{"title": "one"}), a: text("title", "title %d"), b: text("description", "words %d")},
		{name: "release", path: project + "/releases/r1", a: text("name", "name %d"), b: text("description", "words %d")},
		{name: "link of a release", path: releaseLink, a: text("name", "name %d"), b: text("url", "https://example.com/%d")},
		{name: "snippet", path: post("/snippets", "id", snippet), a: text("title", "title %d"), b: text("description", "words %d")},
		{name: "snippet of a project", path: post(project+"/snippets", "id", snippet), a: text("title", "title %d"), b: text("description", "words %d")},
		{name: "approval rule", path: post(project+"/approval_rules", "id", rule), a: text("name", "rule %d"), b: word("approvals_required", 2, 3)},
		{name: "approval rule of a merge request", path: post(mr+"/approval_rules", "id", rule), a: text("name", "rule %d"), b: word("approvals_required", 2, 3)},
		{
			name: "status check", read: project + "/external_status_checks",
			path: post(project+"/external_status_checks", "id", map[string]any{"name": "check", "external_url": "https://example.com/0"}),
			a:    text("name", "check %d"), b: text("external_url", "https://example.com/%d"),
		},
		{
			name: "freeze period", path: post(project+"/freeze_periods", "id", obj{"freeze_start": "0 1 * * *", "freeze_end": "0 2 * * *"}),
			a: text("freeze_start", "%d 1 1 * *"), b: text("freeze_end", "%d 2 1 * *"),
		},
		{
			name: "package protection rule", read: project + "/packages/protection/rules", verb: http.MethodPatch,
			path: post(project+"/packages/protection/rules", "id", obj{"package_name_pattern": "one-*", "package_type": "generic", "minimum_access_level_for_push": "owner"}),
			a:    text("package_name_pattern", "pattern-%d"), b: word("package_type", "npm", "pypi"),
		},
		{name: "Debian distribution", path: distribution(project + "/debian_distributions"), a: text("label", "label-%d"), b: text("description", "words %d")},
		{name: "Debian distribution of a group", path: distribution(group + "/-/deb_distributions"), a: text("label", "label-%d"), b: text("description", "words %d")},
		{name: "environment", path: environment, a: text("external_url", "https://example.com/%d"), b: text("description", "words %d")},
		{name: "metric image", path: image, read: issue + "/metric_images", a: text("url", "https://example.com/%d"), b: text("url_text", "words %d")},
		{
			name: "protected branch", path: project + "/protected_branches/main", verb: http.MethodPatch,
			a: toggle("allow_force_push"), b: toggle("code_owner_approval_required"),
		},
	}
}

// unpaired are the routes that change things, and not two fields of a row.
func unpaired() map[string]string {
	out := map[string]string{}
	for reason, routes := range map[string][]string{
		"one field": {
			"PUT /projects/:id/hooks/:hook_id/url_variables/:key", "PUT /projects/:id/hooks/:hook_id/custom_headers/:key", "PUT /hooks/:hook_id/url_variables/:key",
			"PUT /groups/:id/hooks/:hook_id/url_variables/:key", "PUT /groups/:id/hooks/:hook_id/custom_headers/:key", "PUT /hooks/:hook_id/custom_headers/:key",
			"PUT /groups/:id/boards/:board_id/lists/:list_id", "PUT /projects/:id/boards/:board_id/lists/:list_id",
			"PUT /groups/:id/custom_attributes/:key", "PUT /projects/:id/custom_attributes/:key", "PUT /users/:id/custom_attributes/:key",
			"PUT /groups/:id/epics/:epic_iid/epics/:child_epic_id", "PUT /groups/:id/epics/:epic_iid/issues/:epic_issue_id",
			"PUT /projects/:id/issues/:issue_iid/reorder", "PUT /user/avatar", "PUT /projects/:id/pipelines/:pipeline_id/metadata", "PUT /projects/:id/triggers/:trigger_id", "PUT /projects/:id/resource_groups/:key", "PATCH /projects/:id/job_token_scope",
			"PUT /groups/:id/epics/:noteable_id/discussions/:discussion_id/notes/:note_id", "PUT /groups/:id/epics/:noteable_id/notes/:note_id",
			"PUT /projects/:id/issues/:noteable_id/discussions/:discussion_id/notes/:note_id", "PUT /projects/:id/issues/:noteable_id/notes/:note_id",
			"PUT /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id/notes/:note_id",
			"PUT /projects/:id/merge_requests/:noteable_id/notes/:note_id", "PUT /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id",
			"PUT /projects/:id/repository/commits/:noteable_id/discussions/:discussion_id/notes/:note_id",
			"PUT /projects/:id/snippets/:noteable_id/discussions/:discussion_id/notes/:note_id", "PUT /projects/:id/snippets/:noteable_id/notes/:note_id",
			"PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id",
		},
		"each request names the access level": {
			"PUT /projects/:id/protected_environments/:name", "PUT /groups/:id/protected_environments/:name",
			"PUT /groups/:id/members/:user_id", "PUT /projects/:id/members/:user_id",
		},
		"a change of state": {
			"PUT /groups/:id/members/:member_id/approve", "PUT /groups/:id/access_requests/:user_id/approve", "PUT /projects/:id/access_requests/:user_id/approve",
			"PUT /projects/:id/labels/:name/promote", "PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id/publish",
			"PUT /projects/:id/merge_requests/:merge_request_iid/merge", "PUT /projects/:id/merge_requests/:merge_request_iid/rebase",
			"PUT /projects/:id/merge_requests/:merge_request_iid/reset_approvals", "PUT /projects/:id/repository/branches/:branch/unprotect",
			"PUT /projects/:id/transfer", "PUT /projects/:id/deployments/:deployment_id",
		},
		"makes a commit": {
			"PUT /projects/:id/repository/files/:file_path", "PUT /projects/:id/repository/submodules/:submodule",
			"PUT /groups/:id/wikis/:slug", "PUT /projects/:id/wikis/:slug", "PUT /suggestions/:id/apply", "PUT /suggestions/batch_apply",
		},
		"the same method as with the name of a label in the path, or the other way round": {"PUT /groups/:id/labels", "PUT /groups/:id/labels/:name"},
		"as PATCH": {"PUT /user/status"},
		"publishes a version, or names one": {
			"PUT /projects/:id/packages/npm/:package_name", "PUT /projects/:id/packages/npm/-/package/:package_name/dist-tags/:tag",
			"PUT /groups/:id/-/packages/npm/-/package/:package_name/dist-tags/:tag", "PUT /packages/npm/-/package/:package_name/dist-tags/:tag",
		},
		"uploads a file": {"PUT /projects/:id/packages/debian/:file_name", "PUT /projects/:id/packages/maven/*path", "PUT /projects/:id/packages/generic/:package_name/:package_version/*file_name"},
		"each request names the plan in its body":   {"PUT /application/plan_limits"},
		"changes nothing: users are always counted": {"PUT /license/:id/refresh_billable_users"},
	} {
		for _, route := range routes {
			out[route] = reason
		}
	}
	for _, k := range kind.All() {
		out["PUT /groups/:id/integrations/"+k.Slug] = "as for projects"
		out["PUT /projects/:id/integrations/"+k.Slug] = "each request names what is required; core does the same for all kinds"
	}
	return out
}

// TestUpdate_pairs_all looks that TestUpdate_pairs updates everything that a route updates.
func TestUpdate_pairs_all(t *testing.T) {
	walker(t)
	s := newServer(t, "")
	subjects, except := s.subjects(), unpaired()
	updated := func(method, path string) bool {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`:[a-z_]+`).ReplaceAllString(path, "[^/]+") + "$")
		for _, tt := range subjects {
			verb := http.MethodPut
			if tt.verb != "" {
				verb = tt.verb
			}
			if verb == method && pattern.MatchString(tt.path) {
				return true
			}
		}
		return false
	}
	for _, route := range s.kit().Routes() {
		if route.Method != http.MethodPut && route.Method != http.MethodPatch {
			continue
		}
		reason, excepted := except[key(route)]
		if found := updated(route.Method, route.Path); found == excepted {
			t.Errorf("%s: in two updates at once: %t, left out because of %q", key(route), found, reason)
		}
		delete(except, key(route))
	}
	for route := range except {
		t.Errorf("unpaired names a route that is not there: %s", strings.TrimSpace(route))
	}
}
