package app

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formatFiles are the files of the tree that each archive of the format has; those that are true hold one object or null.
var formatFiles = map[string]bool{
	"auto_devops": true, "boards": false, "ci_cd_settings": true, "ci_pipelines": false, "commit_notes": false, "container_expiration_policy": true,
	"custom_attributes": false, "error_tracking_setting": true, "external_pull_requests": false, "issues": false, "labels": false, "merge_requests": false,
	"metrics_setting": true, "milestones": false, "pipeline_schedules": false, "project_badges": false, "project_feature": true, "project_members": false,
	"prometheus_metrics": false, "protected_branches": false, "protected_environments": false, "protected_tags": false, "push_rule": true, "releases": false,
	"security_setting": true, "service_desk_setting": true, "snippets": false,
}

// formatNames are what an object of each kind may have besides its nested ones, by the path of the object.
var formatNames = map[string]string{
	"project": "approvals_before_merge archived auto_cancel_pending_pipelines autoclose_referenced_issues build_allow_git_fetch build_timeout delete_error description disable_overriding_approvers_per_merge_request external_authorization_classification_label has_external_issue_tracker has_external_wiki issues_template jobs_cache_index last_repository_check_failed merge_requests_author_approval merge_requests_disable_committers_approval merge_requests_ff_only_enabled merge_requests_rebase_enabled merge_requests_template only_allow_merge_if_all_discussions_are_resolved only_allow_merge_if_pipeline_succeeds pages_https_only pending_delete printing_merge_request_link_enabled public_builds remove_source_branch_after_merge request_access_enabled require_password_to_approve reset_approvals_on_push resolve_outdated_diff_discussions service_desk_enabled shared_runners_enabled suggestion_commit_message visibility_level allow_merge_on_skipped_pipeline squash_option merge_commit_template squash_commit_template default_branch " +
		"topics ci_config_path build_coverage_regex", // the reference reads the first of these, and passes over the others
	"project_feature":              "project_id created_at updated_at merge_requests_access_level issues_access_level wiki_access_level snippets_access_level builds_access_level repository_access_level pages_access_level forking_access_level metrics_dashboard_access_level operations_access_level monitor_access_level analytics_access_level security_and_compliance_access_level container_registry_access_level package_registry_access_level environments_access_level feature_flags_access_level releases_access_level infrastructure_access_level model_experiments_access_level model_registry_access_level requirements_access_level",
	"ci_cd_settings":               "group_runners_enabled merge_pipelines_enabled default_git_depth forward_deployment_enabled merge_trains_enabled auto_rollback_enabled keep_latest_artifact job_token_scope_enabled inbound_job_token_scope_enabled runner_token_expiration_interval separated_caches allow_fork_pipelines_to_run_in_parent_project",
	"packages":                     "name version package_type project_id created_at",
	"releases":                     "tag description project_id author_id created_at updated_at name sha released_at",
	"links":                        "url name created_at updated_at filepath link_type",
	"milestone_releases":           "",
	"timelogs":                     "time_spent user_id project_id spent_at created_at updated_at summary",
	"suggestions":                  "relative_order applied commit_id from_content to_content outdated lines_above lines_below",
	"resource_label_events":        "action user_id created_at",
	"resource_milestone_events":    "action user_id created_at state",
	"resource_state_events":        "user_id state created_at source_commit close_after_error_tracking_resolve close_auto_resolve_prometheus_alert",
	"resource_iteration_events":    "user_id action created_at",
	"priorities":                   "project_id priority created_at updated_at",
	"label_links":                  "target_type created_at updated_at",
	"issue_assignees":              "user_id",
	"merge_request_assignees":      "user_id created_at",
	"merge_request_reviewers":      "user_id created_at state",
	"approvals":                    "user_id created_at updated_at",
	"approval_rules":               "approvals_required name rule_type report_type applies_to_all_protected_branches scanners severity_levels vulnerability_states vulnerabilities_allowed orchestration_policy_idx",
	"approval_project_rules_users": "user_id",
	"approval_project_rules_protected_branches": "branch_name",
	"protected_environments":                    "name group_id created_at updated_at",
	"author":                                    "name",
	"labels":                                    "title color project_id group_id created_at updated_at template description priority type",
	"milestones":                                "iid title project_id group_id description due_date start_date state created_at updated_at",
	"issues":                                    "title author_id project_id created_at updated_at description state iid updated_by_id confidential closed_at closed_by_id due_date lock_version weight time_estimate relative_position external_author last_edited_at last_edited_by_id discussion_locked health_status issue_type",
	"merge_requests":                            "target_branch source_branch source_project_id author_id title created_at updated_at state merge_status target_project_id iid description updated_by_id merge_error merge_params merge_user_id merge_commit_sha squash_commit_sha in_progress_merge_commit_sha lock_version approvals_before_merge rebase_commit_sha time_estimate squash last_edited_at last_edited_by_id discussion_locked allow_maintainer_to_push merge_ref_sha draft diff_head_sha source_branch_sha target_branch_sha",
	"merge_request_diff":                        "state created_at updated_at base_commit_sha real_size head_commit_sha start_commit_sha commits_count files_count sorted diff_type",
	"merge_request_diff_commits":                "authored_date committed_date relative_order sha message trailers author_name author_email committer_name committer_email",
	"merge_request_diff_files":                  "relative_order new_file renamed_file deleted_file too_large a_mode b_mode new_path old_path binary encoded_file_path utf8_diff",
	"metrics":                                   "created_at updated_at latest_closed_by_id latest_closed_at merged_by_id merged_at latest_build_started_at latest_build_finished_at first_deployed_to_production_at first_comment_at first_commit_at last_commit_at diff_size modified_paths_size commits_count first_approved_at first_reassigned_at added_lines removed_lines target_project_id",
	"notes":                                     "note noteable_type author_id created_at updated_at project_id line_code commit_id system st_diff updated_by_id type position original_position change_position resolved_at resolved_by_id resolved_by_push discussion_id confidential last_edited_at",
	"events":                                    "project_id target_type action author_id fingerprint created_at updated_at",
	"award_emoji":                               "user_id name awardable_type created_at updated_at",
	"snippets":                                  "title content author_id project_id created_at updated_at file_name visibility_level description type",
	"project_members":                           "access_level source_type user_id notification_level created_at updated_at created_by_id invite_email invite_accepted_at requested_at expires_at ldap override",
	"ci_pipelines":                              "ref sha before_sha created_at updated_at tag yaml_errors committed_at project_id status started_at finished_at duration user_id lock_version source protected config_source failure_reason iid source_sha target_sha",
	"stages":                                    "name status position lock_version project_id created_at updated_at",
	"builds":                                    "project_id status finished_at created_at updated_at started_at coverage commit_id name allow_failure stage_idx tag ref user_id type target_url description erased_at artifacts_expire_at environment queued_at lock_version coverage_regex retried protected failure_reason scheduled_at scheduling_type ci_stage",
	"protected_branches":                        "project_id name created_at updated_at code_owner_approval_required allow_force_push",
	"protected_tags":                            "project_id name created_at updated_at",
	"merge_access_levels":                       "access_level created_at updated_at user_id group_id",
	"pipeline_schedules":                        "active created_at updated_at cron cron_timezone description next_run_at project_id ref owner_id",
	"project_badges":                            "created_at updated_at image_url link_url name project_id type",
	"custom_attributes":                         "created_at updated_at project_id key value",
	"container_expiration_policy":               "created_at updated_at next_run_at project_id name_regex cadence older_than keep_n enabled name_regex_keep",
	"auto_devops":                               "created_at updated_at deploy_strategy enabled project_id",
	"boards":                                    "project_id created_at updated_at group_id weight name hide_backlog_list hide_closed_list",
	"lists":                                     "list_type position created_at updated_at user_id max_issue_count max_issue_weight limit_metric",
	"group":                                     "id name path description visibility_level parent_id avatar membership_lock share_with_group_lock request_access_enabled lfs_enabled require_two_factor_authentication two_factor_grace_period project_creation_level subgroup_creation_level auto_devops_enabled emails_disabled mentions_disabled max_artifacts_size default_branch_protection shared_runners_enabled allow_descendants_override_disabled_shared_runners ldap_sync_status ldap_sync_error ldap_sync_last_update_at ldap_sync_last_successful_update_at ldap_sync_last_sync_at file_template_project_id custom_project_templates_group_id plan_id",
	"badges":                                    "link_url image_url name group_id created_at updated_at type",
	"members":                                   "access_level source_id source_type user_id notification_level created_at updated_at created_by_id invite_email invite_accepted_at requested_at expires_at ldap override",
	"namespace_settings":                        "prevent_sharing_groups_outside_hierarchy",
	"epics":                                     "id iid group_id author_id title description state start_date start_date_fixed start_date_is_fixed end_date due_date_fixed due_date_is_fixed start_date_sourcing_milestone_id due_date_sourcing_milestone_id start_date_sourcing_epic_id due_date_sourcing_epic_id parent_id relative_position confidential color closed_at closed_by_id updated_by_id last_edited_at last_edited_by_id lock_version created_at updated_at external_key",
	"iterations_cadences":                       "title description start_date active roll_over sequence group_id created_at updated_at",
	"iterations":                                "iid start_date due_date description group_id created_at updated_at",
	"push_rule":                                 "commit_message_regex author_email_regex file_name_regex branch_name_regex commit_message_negative_regex max_file_size deny_delete_tag member_check is_sample prevent_secrets reject_unsigned_commits commit_committer_check regexp_uses_re2 reject_non_dco_commits",
}

// formatOfGroups are the files that each group has in an archive of the format.
var formatOfGroups = map[string]bool{
	"badges": false, "boards": false, "epic_boards": false, "epics": false, "iterations_cadences": false, "labels": false, "members": false, "milestones": false,
	"namespace_settings": true,
}

// formatNested are the objects and lists that an object of each kind may have.
var formatNested = map[string]string{
	"labels":                     "priorities",
	"milestones":                 "events",
	"issues":                     "events timelogs notes label_links milestone resource_label_events resource_milestone_events resource_state_events designs design_versions work_item_description issue_assignees zoom_meetings sentry_issue award_emoji work_item_type epic_issue issuable_sla iteration resource_iteration_events",
	"notes":                      "author award_emoji system_note_metadata events suggestions note_diff_file",
	"merge_requests":             "approvals metrics award_emoji merge_request_assignees merge_request_reviewers notes merge_request_diff events timelogs label_links milestone resource_label_events resource_milestone_events resource_state_events",
	"merge_request_diff":         "merge_request_diff_commits merge_request_diff_files",
	"merge_request_diff_commits": "commit_author committer",
	"snippets":                   "award_emoji notes",
	"project_members":            "user",
	"members":                    "user",
	"epics":                      "parent award_emoji events label_links notes resource_state_events",
	"iterations_cadences":        "iterations",
	"ci_pipelines":               "stages external_pull_request merge_request pipeline_metadata",
	"stages":                     "builds generic_commit_statuses bridges",
	"protected_branches":         "merge_access_levels push_access_levels unprotect_access_levels",
	"protected_tags":             "create_access_levels",
	"boards":                     "lists milestone",
	"lists":                      "label milestone iteration",
	"releases":                   "links milestone_releases", "milestone_releases": "milestone", "resource_label_events": "label", "resource_milestone_events": "milestone", "label_links": "label",
	"resource_iteration_events": "iteration", "epic_issue": "epic", "iteration": "iterations_cadence", "protected_environments": "deploy_access_levels",
	"approval_rules": "approval_project_rules_protected_branches approval_project_rules_users",
}

// The types of attributes that are no text, by their names. Numbers of rows end in _id, times in _at.
var (
	formatNumbers = strings.Fields(`iid weight time_estimate relative_position lock_version approvals_before_merge commits_count files_count relative_order access_level
		notification_level visibility_level duration stage_idx position time_spent priority lines_above lines_below keep_n max_issue_count max_issue_weight max_file_size
		build_timeout default_git_depth runner_token_expiration_interval approvals_required coverage two_factor_grace_period project_creation_level subgroup_creation_level
		max_artifacts_size default_branch_protection id`)
	formatFlags = strings.Fields(`confidential discussion_locked squash allow_maintainer_to_push draft system sorted new_file renamed_file deleted_file too_large binary
		encoded_file_path protected allow_failure retried active allow_force_push code_owner_approval_required enabled hide_backlog_list hide_closed_list template applied outdated ldap
		override deny_delete_tag member_check is_sample prevent_secrets reject_unsigned_commits commit_committer_check regexp_uses_re2 reject_non_dco_commits archived pending_delete
		public_builds membership_lock share_with_group_lock request_access_enabled lfs_enabled start_date_is_fixed due_date_is_fixed roll_over group_runners_enabled
		merge_pipelines_enabled merge_trains_enabled keep_latest_artifact shared_runners_enabled build_allow_git_fetch`)
	formatObjects = strings.Fields("merge_params trailers topics scanners severity_levels vulnerability_states user author commit_author committer original_position change_position")
	formatTexts   = strings.Fields("discussion_id external_author external_key")
)

// typeOf is the type of an attribute; of the kind of object that it is in.
func formatType(kind, name string) string {
	switch {
	case name == "position" && kind == "notes", slices.Contains(formatObjects, name):
		return "object"
	case name == "commit_id" && kind != "builds", slices.Contains(formatTexts, name):
		return "text"
	case name == "tag" && kind != "releases", slices.Contains(formatFlags, name):
		return "boolean"
	case slices.Contains(formatNumbers, name), strings.HasSuffix(name, "_id"), strings.HasSuffix(name, "_access_level"):
		return "number"
	}
	return "text"
}

// isOfType reports whether a value that is not null is of a type. An attribute that is not listed as another one is a text or a boolean.
func isOfType(value any, of string) bool {
	switch value.(type) {
	case string:
		return of == "text"
	case float64:
		return of == "number"
	case bool:
		return of == "boolean" || of == "text"
	}
	return of == "object"
}

var (
	formatTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	formatDate = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
)

// checkArchive holds an archive against what is published of the format.
func checkArchive(t *testing.T, all []entry, files map[string]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range all {
		if !strings.HasPrefix(e.name, "./") || seen[e.name] || strings.HasSuffix(e.name, "/") != (e.mode == 0o700) {
			t.Errorf("entry %q with mode %o", e.name, e.mode)
		}
		seen[e.name] = true
	}
	for _, name := range []string{"./VERSION", "./GITLAB_VERSION", "./GITLAB_REVISION", "./lfs-objects.json", "./snippets/", "./tree/project.json"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	root := lines(t, files["./tree/project.json"])
	if len(root) != 1 || strings.HasSuffix(files["./tree/project.json"], "\n") || files["./VERSION"] != "0.2.4" {
		t.Errorf("project.json %.80q, VERSION %q", files["./tree/project.json"], files["./VERSION"])
	} else {
		checkObject(t, "project", root[0])
	}
	var objects map[string][]int
	if err := json.Unmarshal([]byte(files["./lfs-objects.json"]), &objects); err != nil {
		t.Errorf("lfs-objects.json: %v", err)
	}
	for oid := range objects {
		if !seen["./lfs-objects/"+oid] {
			t.Errorf("the file of %s is not there", oid)
		}
	}
	checkFiles(t, files, "./tree/project/", formatFiles)
	// What the format does not know of is named here: the relations of 18.x, which 16.0 leaves aside, and packages, which are counted.
	for name := range seen {
		relation, in := strings.CutPrefix(name, "./tree/project/")
		if relation = strings.TrimSuffix(relation, ".ndjson"); in && relation != "" {
			if _, known := formatFiles[relation]; !known && relation != "approval_rules" && relation != "packages" {
				t.Errorf("the format has no file %s", name)
			}
		}
	}
}

// checkGroups holds an archive of a group against what is published of the format, and returns the numbers of its groups.
func checkGroups(t *testing.T, files map[string]string) (ids []string) {
	t.Helper()
	for line := range strings.Lines(files["./tree/groups/_all.ndjson"]) {
		id := strings.TrimSuffix(line, "\n")
		ids = append(ids, id)
		root := lines(t, files["./tree/groups/"+id+".json"])
		if len(root) != 1 || fmt.Sprint(root[0]["id"]) != id {
			t.Fatalf("group %s: %v", id, root)
		}
		if parent := root[0]["parent_id"]; parent != nil && len(ids) > 1 && !slices.Contains(ids, fmt.Sprint(parent)) {
			t.Errorf("group %s comes before %v, which it is in", id, parent)
		}
		checkObject(t, "group", root[0])
		checkFiles(t, files, "./tree/groups/"+id+"/", formatOfGroups)
	}
	return ids
}

// checkFiles looks at the files of a project or group.
func checkFiles(t *testing.T, files map[string]string, folder string, format map[string]bool) {
	t.Helper()
	for name, single := range format {
		text, ok := files[folder+name+".ndjson"]
		switch {
		case !ok:
			t.Errorf("there is no file of %s", name)
		case single && (text == "" || strings.HasSuffix(text, "\n")), !single && text != "" && !strings.HasSuffix(text, "\n"):
			t.Errorf("end of %s: %.80q", name, text)
		}
		for line := range strings.Lines(text) {
			if len(line) > 50_000_000 {
				t.Errorf("a line of %s has %d bytes", name, len(line))
			}
			var one any
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkObject(t, name, one)
		}
	}
}

// sameFormat are the keys of objects that have the attributes of another key.
var sameFormat = map[string]string{
	"label": "labels", "milestone": "milestones", "commit_notes": "notes", "merge_request": "merge_requests", "bridges": "builds", "generic_commit_statuses": "builds",
	"push_access_levels": "merge_access_levels", "deploy_access_levels": "merge_access_levels", "unprotect_access_levels": "merge_access_levels", "create_access_levels": "merge_access_levels",
}

// checkObject looks at an object, a list of them or null, and at what is nested in it.
func checkObject(t *testing.T, key string, value any) {
	t.Helper()
	if list, ok := value.([]any); ok {
		for _, one := range list {
			checkObject(t, key, one)
		}
		return
	}
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	kind := key
	if other, ok := sameFormat[key]; ok {
		kind = other
	}
	names, known := formatNames[kind]
	may, nested := strings.Fields(names), strings.Fields(formatNested[kind])
	for name, v := range object {
		text, _ := v.(string)
		if want := formatType(kind, name); known && v != nil && !slices.Contains(nested, name) && !isOfType(v, want) {
			t.Errorf("%s.%s is %v, want a %s", key, name, v, want)
		}
		switch {
		case known && !slices.Contains(may, name) && !slices.Contains(nested, name):
			t.Errorf("%s has the attribute %s, which the format does not have", key, name)
		case strings.HasSuffix(name, "_at") && name != "expires_at" && text != "" && !formatTime.MatchString(text):
			t.Errorf("%s.%s is %q", key, name, text)
		case (strings.HasSuffix(name, "_date") && key != "merge_request_diff_commits" || name == "expires_at") && text != "" && !formatDate.MatchString(text):
			t.Errorf("%s.%s is %q", key, name, text)
		case strings.HasSuffix(name, "_access_level") || name == "access_level":
			if _, number := v.(float64); !number {
				t.Errorf("%s.%s is %v, want a number", key, name, v)
			}
		case name == "id" && key != "user" && key != "epics" && key != "group":
			t.Errorf("%s has an id", key)
		}
		checkObject(t, name, v)
	}
	for _, name := range may {
		if _, ok := object[name]; !ok && name != "priority" && key != "merge_request" {
			t.Errorf("%s lacks the attribute %s", key, name)
		}
	}
	if kind == "notes" {
		author, _ := object["author"].(map[string]any)
		if name, _ := author["name"].(string); name == "" || object["updated_at"] == nil {
			t.Errorf("a note lacks its author or the time of its last change: %v", object)
		}
	}
}
