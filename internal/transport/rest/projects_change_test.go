package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/project"
)

// projectFields are parameters of a project with a value that is not the default, as a
// form and as the answer has it.
var projectFields = `name "New name" · path "new-path" · description "New words" · visibility "internal" ·
issues_access_level "private" · repository_access_level "private" · merge_requests_access_level "private" · forking_access_level "private" ·
wiki_access_level "private" · builds_access_level "private" · snippets_access_level "private" · pages_access_level "public" ·
analytics_access_level "disabled" · container_registry_access_level "private" · security_and_compliance_access_level "enabled" ·
releases_access_level "private" · environments_access_level "disabled" · feature_flags_access_level "private" ·
infrastructure_access_level "disabled" · monitor_access_level "disabled" · model_experiments_access_level "disabled" ·
model_registry_access_level "disabled" · package_registry_access_level "public" · requirements_access_level "disabled" ·
merge_method "ff" · squash_option "always" · only_allow_merge_if_pipeline_succeeds true · allow_merge_on_skipped_pipeline true ·
only_allow_merge_if_all_discussions_are_resolved true · remove_source_branch_after_merge false · printing_merge_request_link_enabled false ·
merge_commit_template "a" · squash_commit_template "b" · suggestion_commit_message "c" · issue_branch_template "d" ·
merge_request_title_regex "e" · merge_request_title_regex_description "f" · mr_default_title_template "g" ·
request_access_enabled false · lfs_enabled false · packages_enabled false · shared_runners_enabled false · group_runners_enabled false ·
autoclose_referenced_issues false · public_jobs false · emails_enabled false · resolve_outdated_diff_discussions true ·
auto_devops_enabled true · auto_devops_deploy_strategy "manual" · build_git_strategy "clone" · build_timeout 1200 ·
auto_cancel_pending_pipelines "disabled" · ci_config_path "ci/main.yml" · ci_default_git_depth 7 · ci_delete_pipelines_in_seconds 86400 ·
ci_forward_deployment_enabled false · ci_forward_deployment_rollback_allowed false · ci_separated_caches false ·
ci_allow_fork_pipelines_to_run_in_parent_project false · ci_pipeline_variables_minimum_override_role "owner" ·
ci_restrict_pipeline_cancellation_role "no_one" · ci_push_repository_for_job_token_allowed true · keep_latest_artifact false ·
restrict_user_defined_variables true · resource_group_default_process_mode "oldest_first" · max_artifacts_size 5 ·
build_coverage_regex "h" · approvals_before_merge 2 · issues_template "i" · merge_requests_template "j" ·
external_authorization_classification_label "k" · merge_pipelines_enabled true · merge_trains_enabled true ·
merge_trains_skip_train_allowed true · only_allow_merge_if_all_status_checks_passed true · allow_pipeline_trigger_approve_deployment true ·
prevent_merge_without_jira_issue true · service_desk_enabled true · show_diff_preview_in_email false ·
enforce_auth_checks_on_uploads false · warn_about_potentially_unwanted_characters false`

// groupFields are the same for groups.
var groupFields = `name "New name" · path "new-path" · description "New words" · visibility "internal" · share_with_group_lock true ·
require_two_factor_authentication true · two_factor_grace_period 7 · project_creation_level "noone" · subgroup_creation_level "owner" ·
auto_devops_enabled true · emails_enabled false · mentions_disabled true · lfs_enabled false · request_access_enabled false ·
default_branch "trunk" · default_branch_protection 3 · shared_runners_setting "disabled_and_overridable" ·
prevent_sharing_groups_outside_hierarchy true · prevent_forking_outside_group true · membership_lock true · max_artifacts_size 9 ·
wiki_access_level "private" · ip_restriction_ranges "192.0.2.0/24" · allowed_email_domains_list "example.com" ·
enabled_git_access_protocol "ssh" · show_diff_preview_in_email false · math_rendering_limits_enabled false ·
lock_math_rendering_limits_enabled true · only_allow_merge_if_pipeline_succeeds true · allow_merge_on_skipped_pipeline true ·
only_allow_merge_if_all_discussions_are_resolved true`

// compoundFields are parameters whose form is not that of the answer: what is sent, and
// what the answer then holds.
var compoundFields = map[string][][2]string{
	"/projects": {
		{"topics=b,a", `"topics":["b","a"]`},
		{"tag_list[]=c&tag_list[]=d", `"tag_list":["c","d"]`},
		{"ci_id_token_sub_claim_components[]=ref", `"ci_id_token_sub_claim_components":["ref"]`},
		{"emails_disabled=true", `"emails_disabled":true,"emails_enabled":false`},
		{"issues_enabled=false", `"issues_access_level":"disabled"`},
		{"merge_requests_enabled=false", `"merge_requests_access_level":"disabled"`},
		{"wiki_enabled=false", `"wiki_access_level":"disabled"`},
		{"jobs_enabled=false", `"builds_access_level":"disabled"`},
		{"snippets_enabled=false", `"snippets_access_level":"disabled"`},
		{"container_registry_enabled=false", `"container_registry_access_level":"disabled"`},
		{"public_builds=false", `"public_jobs":false`},
		{"merge_commit_template=a&squash_commit_template=b", `"merge_commit_template":"a","squash_commit_template":"b"`},
		{"merge_commit_template=", `"merge_commit_template":null`},
		{"description=%2Asells%2A+%3Cb%3E", `"description_html":"<p><em>sells</em> &lt;b&gt;</p>"`},
		{
			"container_expiration_policy_attributes[cadence]=7d&container_expiration_policy_attributes[enabled]=true&" +
				"container_expiration_policy_attributes[keep_n]=5&container_expiration_policy_attributes[older_than]=14d&" +
				"container_expiration_policy_attributes[name_regex]=a.*&container_expiration_policy_attributes[name_regex_keep]=b.*",
			`"container_expiration_policy":{"cadence":"7d","enabled":true,"keep_n":5,"older_than":"14d","name_regex":"a.*","name_regex_keep":"b.*","next_run_at":"2026-05-11T15:38:00.000Z"}`,
		},
	},
	"/groups": {
		{"emails_disabled=true", `"emails_disabled":true,"emails_enabled":false`},
		{"shared_runners_minutes_limit=60", `"shared_runners_minutes_limit":60`},
		{"extra_shared_runners_minutes_limit=70", `"extra_shared_runners_minutes_limit":70`},
		{"file_template_project_id=9", `"file_template_project_id":9`},
		{
			"default_branch_protection_defaults[allowed_to_push][][access_level]=30&default_branch_protection_defaults[allow_force_push]=true&" +
				"default_branch_protection_defaults[allowed_to_merge][][access_level]=40&default_branch_protection_defaults[developer_can_initial_push]=true",
			`"default_branch_protection_defaults":{"allowed_to_push":[{"access_level":30}],"allow_force_push":true,` +
				`"allowed_to_merge":[{"access_level":40}],"developer_can_initial_push":true}`,
		},
	},
}

func TestProjects_and_groups_keep_compound_fields(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		for collection, rows := range compoundFields {
			for i, row := range rows {
				// As a new thing, as a change of another, and read later.
				name := fmt.Sprintf("name=new%d&path=new%d&", i, i)
				if w, body := p.call(adminToken, "POST", collection, name+row[0]); w.Code != 201 || !strings.Contains(body, row[1]) {
					t.Errorf("POST %s %s: got %d %s, want %s", collection, row[0], w.Code, body, row[1])
				}
				plain := get[gitlab.Group](p, adminToken, "POST", collection, fmt.Sprintf("name=plain%d&path=plain%d", i, i), 201)
				at := fmt.Sprintf("%s/%d", collection, plain.ID)
				if w, body := p.call(adminToken, "PUT", at, row[0]); w.Code != 200 || !strings.Contains(body, row[1]) {
					t.Errorf("PUT %s %s: got %d %s, want %s", at, row[0], w.Code, body, row[1])
				}
				if _, body := p.call(adminToken, "GET", at, ""); !strings.Contains(body, row[1]) {
					t.Errorf("GET %s after %s: got %s, want %s", at, row[0], body, row[1])
				}
			}
		}
		// What belongs to administrators is not taken from others.
		_, ann := p.signUp("ann")
		if _, body := p.call(ann, "POST", "/groups", "name=mine&path=mine&shared_runners_minutes_limit=60"); !strings.Contains(body, `"shared_runners_minutes_limit":null`) {
			t.Errorf("minutes of somebody: %s", body)
		}
	})
}

func TestLists_of_projects_and_groups_are_sorted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		ids := map[string]int64{}
		for _, name := range []string{"webshop", "shop", "shopping", "other"} {
			ids[name] = get[gitlab.Project](p, ann, "POST", "/projects", "name="+name, 201).ID
			get[gitlab.Group](p, ann, "POST", "/groups", fmt.Sprintf("name=%s&path=%s-group", name, name), 201)
		}
		for name, size := range map[string]int64{"webshop": 10, "shop": 30, "shopping": 20} {
			if err := p.Projects.RecordMeasure(t.Context(), project.ID(ids[name]), project.Measure{Size: size}); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []struct{ token, path, want string }{
			{ann, "/projects?search=shop&order_by=similarity", "shop shopping webshop"},
			{ann, "/projects?search=SHOP&order_by=similarity&sort=asc", "shop shopping webshop"},
			{ann, "/projects?order_by=similarity", "other shopping shop webshop"},
			{ann, "/groups?search=shop&order_by=similarity", "shop shopping webshop"},
			{ann, "/users/ann/projects?order_by=name&sort=asc", "other shop shopping webshop"},
			{adminToken, "/projects?order_by=repository_size", "shop shopping webshop other"},
			{adminToken, "/projects?order_by=storage_size&sort=asc", "other webshop shopping shop"},
			{adminToken, "/projects?order_by=wiki_size", "other shopping shop webshop"},
			{ann, "/projects?order_by=storage_size", "other shopping shop webshop"}, // sizes are for administrators
		} {
			var names []string
			for _, item := range get[[]struct {
				Name string `json:"name"`
			}](p, row.token, "GET", row.path, "", 200) {
				names = append(names, item.Name)
			}
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("%s: got %s, want %s", row.path, got, row.want)
			}
		}
	})
}

// kept sends every field at once, as a new thing and as a change of another, and looks
// for each in the answers and in a later reading.
func kept(p *people, token, collection, fields string) {
	p.t.Helper()
	form := url.Values{}
	want := map[string]string{}
	for field := range strings.SplitSeq(strings.ReplaceAll(fields, "\n", " "), "·") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), " ")
		want[name] = value
		form.Set(name, strings.Trim(value, `"`))
	}
	check := func(what string, got map[string]json.RawMessage) {
		for name, value := range want {
			if string(got[name]) != value {
				p.t.Errorf("%s: %s is %s, want %s", what, name, got[name], value)
			}
		}
	}
	created := get[map[string]json.RawMessage](p, token, "POST", collection, form.Encode(), 201)
	check("created", created)
	form.Set("path", "other-path")
	form.Set("name", "Other name")
	want["path"], want["name"] = `"other-path"`, `"Other name"`
	plain := get[map[string]json.RawMessage](p, token, "POST", collection, "name=plain&path=plain", 201)
	check("changed", get[map[string]json.RawMessage](p, token, "PUT", collection+"/"+string(plain["id"]), form.Encode(), 200))
	check("read", get[map[string]json.RawMessage](p, token, "GET", collection+"/"+string(plain["id"]), "", 200))
}

func TestProjects_and_groups_keep_every_field(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		kept(p, ann, "/projects", projectFields)
		kept(p, ann, "/groups", groupFields)
		_, body := p.call(ann, "PUT", "/projects/ann%2Fplain", "unknown=1")
		if !strings.HasPrefix(body, `{"error":"avatar, name, path, `) || !strings.HasSuffix(body, ` are missing, at least one parameter must be provided"}`) {
			t.Errorf("a change of nothing: got %s", body)
		}
	})
}

func TestProjects_refuse_a_storage_that_is_not_there(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		p.want(adminToken, "POST", "/projects", "name=app&repository_storage=moon", 400, `{"message":{"repository_storage":["is not included in the list"]}}`)
		app := get[gitlab.Project](p, adminToken, "POST", "/projects", "name=app&repository_storage=default", 201)
		at := fmt.Sprintf("/projects/%d", app.ID)
		p.want(adminToken, "PUT", at, "repository_storage=moon", 400, `{"message":{"repository_storage":["is invalid"]}}`)
		get[gitlab.Project](p, adminToken, "PUT", at, "repository_storage=default", 200)
		p.want(ann, "POST", "/projects", "name=own&repository_storage=moon", 400, `{"message":{"repository_storage":["is not included in the list"]}}`)
		get[gitlab.Project](p, ann, "POST", "/projects", "name=own&repository_storage=default", 201)
	})
}

func TestGroups_give_up_their_template_project(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=team&path=team", 201)
		at := fmt.Sprintf("/groups/%d", g.ID)
		if got := get[gitlab.Group](p, ann, "PUT", at, "file_template_project_id=7", 200); got.FileTemplateProjectID != 7 {
			t.Errorf("set: %d", got.FileTemplateProjectID)
		}
		if got := get[map[string]json.RawMessage](p, ann, "PUT", at, "file_template_project_id=", 200); string(got["file_template_project_id"]) != "null" {
			t.Errorf("given up: %s", got["file_template_project_id"])
		}
	})
}

// Terraform writes all it knows of a project before it takes it out of the archive.
func TestProjects_in_the_archive_are_edited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=app", 201)
		at := fmt.Sprintf("/projects/%d", app.ID)
		get[gitlab.Project](p, ann, "POST", at+"/archive", "", 201)
		edited := get[gitlab.Project](p, ann, "PUT", at, "name=app&description=Kept&ci_default_git_depth=50", 200)
		if edited.Description != "Kept" || edited.CIDefaultGitDepth != 50 || !edited.Archived {
			t.Errorf("edited: %+v", edited)
		}
		p.want(ann, "PUT", at, "visibility=public", 403, `{"message":"403 Forbidden"}`)
		if back := get[gitlab.Project](p, ann, "POST", at+"/unarchive", "", 201); back.Archived || back.Description != "Kept" {
			t.Errorf("back: %+v", back)
		}
		if err := p.Settings.Set(t.Context(), "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		p.want(ann, "DELETE", at, "", 202, `{"message":"202 Accepted"}`)
		p.want(ann, "PUT", at, "description=Gone", 403, `{"message":"403 Forbidden"}`)
	})
}

// What a group that was renamed leaves behind leads projects' readers to where they are
// now; the group itself is not found under its old path, as clients know it.
func TestGroups_old_paths(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=team&path=team", 201)
		sub := get[gitlab.Group](p, ann, "POST", "/groups", fmt.Sprintf("name=sub&path=sub&parent_id=%d", g.ID), 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=app&namespace_id=%d", sub.ID), 201)
		get[gitlab.Group](p, ann, "PUT", fmt.Sprintf("/groups/%d", g.ID), "path=crew", 200)
		for _, path := range []string{"team", "team%2Fsub"} {
			p.want(ann, "GET", "/groups/"+path, "", 404, `{"message":"404 Group Not Found"}`)
			p.want(ann, "PUT", "/groups/"+path, "description=x", 404, `{"message":"404 Group Not Found"}`)
			p.want(ann, "GET", "/namespaces/"+path, "", 404, `{"message":"404 Namespace Not Found"}`)
		}
		old := "/projects/team%2Fsub%2Fapp"
		p.want(ann, "GET", old+"/members?page=2", "", 301,
			fmt.Sprintf("This resource has been moved permanently to https://tenon.example/api/v4/projects/%d/members?page=2", app.ID))
		p.want(ann, "DELETE", old, "", 405, `{"message":"Non GET methods are not allowed for moved projects"}`)
		p.want(bob, "GET", old, "", 404, `{"message":"404 Project Not Found"}`) // who may not see it learns nothing
	})
}

func TestProjects_wait_for_their_deletion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		if err := p.Settings.Set(t.Context(), "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=app&visibility=public", 201)
		at := fmt.Sprintf("/projects/%d", app.ID)
		p.want(ann, "POST", at+"/restore", "", 400, `{"message":"Project has not been marked for deletion"}`)
		p.want(ann, "DELETE", at, "permanently_remove=true&full_path=ann/app", 400, `{"message":"Project must be marked for deletion first."}`)
		p.want(ann, "DELETE", at, "", 202, `{"message":"202 Accepted"}`)
		p.want(ann, "DELETE", at, "", 400, `{"message":"Project has already been marked for deletion"}`)
		marked := get[gitlab.Project](p, ann, "GET", at, "", 200)
		path := fmt.Sprintf("app-deletion_scheduled-%d", app.ID)
		if marked.MarkedForDeletionOn == nil || marked.Path != path || !marked.Archived {
			t.Errorf("marked: got %+v", marked)
		}
		p.want(ann, "GET", "/projects/ann%2Fapp?simple=true", "", 301, fmt.Sprintf("This resource has been moved permanently to https://tenon.example/api/v4/projects/%d?simple=true", app.ID))
		p.want(bob, "POST", at+"/restore", "", 403, `{"message":"403 Forbidden"}`)
		back := get[gitlab.Project](p, ann, "POST", at+"/restore", "", 201)
		if back.MarkedForDeletionOn != nil || back.Path != "app" || back.Archived {
			t.Errorf("restored: got %+v", back)
		}
		p.want(ann, "DELETE", at, "", 202, `{"message":"202 Accepted"}`)
		p.want(ann, "DELETE", at, "permanently_remove=true&full_path=ann/app", 400,
			"{\"message\":\"`full_path` is incorrect. You must enter the complete path for the project.\"}")
		p.want(ann, "DELETE", at, "permanently_remove=true&full_path=ann/"+path, 202, `{"message":"202 Accepted"}`)
		p.want(ann, "GET", at, "", 404, `{"message":"404 Project Not Found"}`)

		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=team&path=team", 201)
		inside := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=inside&namespace_id=%d", g.ID), 201)
		p.want(bob, "POST", "/groups/team/archive", "", 404, `{"message":"404 Group Not Found"}`)
		if g := get[gitlab.Group](p, ann, "POST", "/groups/team/archive", "", 200); !g.Archived {
			t.Errorf("archived group: got %+v", g)
		}
		p.want(ann, "PUT", fmt.Sprintf("/projects/%d", inside.ID), "description=x", 403, `{"message":"403 Forbidden"}`)
		if g := get[gitlab.Group](p, ann, "POST", "/groups/team/unarchive", "", 200); g.Archived {
			t.Errorf("group: got %+v", g)
		}
	})
}

// The next run of a policy counts from when it was enabled or got another cadence, not from
// other changes, and goes with the policy.
func TestProject_next_run(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		at := fmt.Sprintf("/projects/%d", get[gitlab.Project](p, adminToken, "POST", "/projects", "name=app", 201).ID)
		const policy = "container_expiration_policy_attributes"
		for _, step := range []struct {
			after time.Duration
			form  string
			want  string // next_run_at, "" for null
		}{
			{0, policy + "[cadence]=7d", ""},
			{time.Hour, policy + "[enabled]=true", "2026-05-11T16:38:00.000Z"},
			{time.Hour, policy + "[keep_n]=5", "2026-05-11T16:38:00.000Z"},
			{time.Hour, "description=x", "2026-05-11T16:38:00.000Z"},
			{time.Hour, policy + "[cadence]=1d", "2026-05-05T19:38:00.000Z"},
			{48 * time.Hour, "description=y", "2026-05-07T19:38:00.000Z"},
			{time.Hour, policy + "[enabled]=false", ""},
		} {
			p.now = p.now.Add(step.after)
			got := get[gitlab.Project](p, adminToken, "PUT", at, step.form, 200).ContainerExpirationPolicy.NextRunAt
			text := ""
			if got != nil {
				text = got.UTC().Format("2006-01-02T15:04:05.000Z")
			}
			if text != step.want {
				t.Errorf("%s: next run %q, want %q", step.form, text, step.want)
			}
		}
	})
}

// Administrators say how large repositories may become, in MB; what others send of it is
// left aside, and shown to no other caller.
func TestPlaces_repository_size_limit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=team&path=team&repository_size_limit=3", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=app&namespace_id=%d&repository_size_limit=3", g.ID), 201)
		for _, at := range []string{fmt.Sprintf("/groups/%d", g.ID), fmt.Sprintf("/projects/%d", app.ID)} {
			shown := func(token, want string) {
				t.Helper()
				_, body := p.call(token, "GET", at, "")
				_, rest, there := strings.Cut(body, `"repository_size_limit":`)
				got, _, _ := strings.Cut(rest, ",")
				if got = strings.TrimSuffix(got, "}"); there != (want != "") || got != want {
					t.Errorf("%s shows a limit of %q, want %q", at, got, want)
				}
			}
			shown(adminToken, "")
			p.call(ann, "PUT", at, "description=x&repository_size_limit=4")
			shown(adminToken, "")
			for _, step := range []struct{ sent, want string }{
				{"5", "5242880"}, {"0", "0"}, {"1048576", "1099511627776"}, {"", ""},
			} {
				if w, body := p.call(adminToken, "PUT", at, "repository_size_limit="+step.sent); w.Code != 200 {
					t.Errorf("%s: %q: %d %s", at, step.sent, w.Code, body)
				}
				shown(adminToken, step.want)
				shown(ann, "")
			}
			for _, wrong := range []string{"-1", "1048577", "9223372036854775807"} {
				if w, body := p.call(adminToken, "PUT", at, "repository_size_limit="+wrong); w.Code != 400 || !strings.Contains(body, "repository_size_limit") {
					t.Errorf("%s: %s: %d %s, want 400", at, wrong, w.Code, body)
				}
			}
		}
	})
}
