package house

import (
	"go/ast"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/core"
)

// restricting are the attributes of projects, groups and users that forbid something, each with the test that shows that it holds.
var restricting = map[string]string{
	"group allow_merge_on_skipped_pipeline":                    "internal/core/mergerequest.TestService_Merge_skipped",
	"group allowed_email_domains_list":                         "internal/core/namespace.TestService_Add_emailDomains",
	"group default_branch_protection":                          "internal/core/repo.TestService_defaultProtection",
	"group default_branch_protection_defaults":                 "internal/core/repo.TestService_defaultProtection_words",
	"group emails_disabled":                                    "internal/app.TestMail_disabled",
	"group emails_enabled":                                     "internal/app.TestMail_disabled",
	"group enabled_git_access_protocol":                        "internal/core/namespace.TestService_Closed",
	"group ip_restriction_ranges":                              "internal/app.TestAddresses",
	"group lfs_enabled":                                        "internal/core/lfs.TestService_Require_group",
	"group lock_math_rendering_limits_enabled":                 "internal/app.TestSettings_formulas",
	"group math_rendering_limits_enabled":                      "internal/app.TestSettings_formulas",
	"group max_artifacts_size":                                 "internal/core/ci.TestService_Store_limit",
	"group membership_lock":                                    "internal/core/namespace.TestService_Add_membershipLock",
	"group mentions_disabled":                                  "internal/core/todo.TestService",
	"group only_allow_merge_if_all_discussions_are_resolved":   "internal/transport/rest.TestDiscussions_mergeRequest",
	"group only_allow_merge_if_pipeline_succeeds":              "internal/core/mergerequest.TestService_Merge_refusals",
	"group prevent_forking_outside_group":                      "internal/core/project.TestService_Fork_keptInside",
	"group prevent_sharing_groups_outside_hierarchy":           "internal/core/namespace.TestService_Share_groups",
	"group project_creation_level":                             "internal/transport/rest.TestGroups",
	"group repository_size_limit":                              "internal/core/repo.TestPush_sizeLimitNearest",
	"group request_access_enabled":                             "internal/core/namespace.TestService_Request",
	"group service_access_tokens_expiration_enforced":          "internal/core/serviceaccount.TestService_tokens",
	"group share_with_group_lock":                              "internal/core/namespace.TestService_Create_levels",
	"group shared_runners_setting":                             "internal/core/ci.TestService_Request_which",
	"group subgroup_creation_level":                            "internal/core/namespace.TestService_Create_levels",
	"group visibility":                                         "internal/core/authz.TestPolicy_Require",
	"group wiki_access_level":                                  "internal/app.TestWikis",
	"project allow_merge_on_skipped_pipeline":                  "internal/core/mergerequest.TestService_Merge_skipped",
	"project approvals_before_merge":                           "internal/core/approval.TestService_Unmet",
	"project build_timeout":                                    "internal/transport/rest.TestProjects",
	"project builds_access_level":                              "internal/core/authz.TestPolicy_Require_features",
	"project ci_allow_fork_pipelines_to_run_in_parent_project": "internal/core/mergerequest.TestFork_pipelines",
	"project ci_delete_pipelines_in_seconds":                   "internal/core/ci.TestService_DeleteOld",
	"project ci_forward_deployment_enabled":                    "internal/core/ci.TestService_outdated",
	"project ci_forward_deployment_rollback_allowed":           "internal/core/ci.TestService_outdated",
	"project ci_pipeline_variables_minimum_override_role":      "internal/core/ci.TestService_Run_variables",
	"project ci_push_repository_for_job_token_allowed":         "internal/app.TestGit_jobPush",
	"project ci_restrict_pipeline_cancellation_role":           "internal/core/ci.TestService_Cancel_role",
	"project ci_separated_caches":                              "internal/core/ci.TestAssignment_Caches",
	"project emails_disabled":                                  "internal/app.TestMail_disabled",
	"project emails_enabled":                                   "internal/app.TestMail_disabled",
	"project enforce_auth_checks_on_uploads":                   "internal/core/upload.TestService_OpenByLink",
	"project environments_access_level":                        "internal/app.TestEnvironments",
	"project external_authorization_classification_label":      "internal/app.TestExternalAuthorization",
	"project forking_access_level":                             "internal/core/authz.TestPolicy_Require_features",
	"project group_runners_enabled":                            "internal/core/ci.TestService_Request_which",
	"project issues_access_level":                              "internal/core/authz.TestPolicy_Require_features",
	"project issues_enabled":                                   "internal/core/authz.TestPolicy_Require_features",
	"project jobs_enabled":                                     "internal/core/authz.TestPolicy_Require_features",
	"project keep_latest_artifact":                             "internal/core/ci.TestService_Expire",
	"project lfs_enabled":                                      "internal/core/lfs.TestService_Store_refuses",
	"project max_artifacts_size":                               "internal/core/ci.TestService_Store_limit",
	"project merge_method":                                     "internal/core/mergerequest.TestService_Merge_methods",
	"project merge_pipelines_enabled":                          "internal/core/mergerequest.TestService_Train",
	"project merge_request_title_regex":                        "internal/core/mergerequest.TestService_Merge_titleRegex",
	"project merge_requests_access_level":                      "internal/core/authz.TestPolicy_Require_features",
	"project merge_requests_enabled":                           "internal/core/authz.TestPolicy_Require_features",
	"project merge_trains_enabled":                             "internal/core/mergerequest.TestService_Train",
	"project merge_trains_skip_train_allowed":                  "internal/core/mergerequest.TestService_Train",
	"project only_allow_merge_if_all_discussions_are_resolved": "internal/transport/rest.TestMergeability",
	"project only_allow_merge_if_all_status_checks_passed":     "internal/core/statuscheck.TestService_Respond_train",
	"project only_allow_merge_if_pipeline_succeeds":            "internal/core/mergerequest.TestService_Merge_refusals",
	"project public_jobs":                                      "internal/core/ci.TestService_Find_hidden",
	"project allow_pipeline_trigger_approve_deployment":        "internal/app.TestProtectedEnvironments_approvals",
	"project releases_access_level":                            "internal/core/release.TestService_access",
	"project packages_enabled":                                 "internal/app.TestDistributions_rights",
	"project package_registry_access_level":                    "internal/app.TestDistributions_rights",
	"project feature_flags_access_level":                       "internal/transport/rest.TestFeatureFlags",
	"project repository_access_level":                          "internal/core/authz.TestPolicy_Require_features",
	"project repository_size_limit":                            "internal/core/repo.TestPush_sizeLimit",
	"project request_access_enabled":                           "internal/core/namespace.TestService_Request",
	"project restrict_user_defined_variables":                  "internal/core/ci.TestService_Run_variables",
	"project shared_runners_enabled":                           "internal/core/ci.TestService_Request_which",
	"project snippets_access_level":                            "internal/core/authz.TestPolicy_Require_features",
	"project snippets_enabled":                                 "internal/core/authz.TestPolicy_Require_features",
	"project squash_option":                                    "internal/core/mergerequest.TestService_Merge_squashOption",
	"project visibility":                                       "internal/core/authz.TestPolicy_Require",
	"project wiki_access_level":                                "internal/core/authz.TestPolicy_Require_features",
	"project wiki_enabled":                                     "internal/core/authz.TestPolicy_Require_features",
	"user admin":                                               "internal/core/authz.TestPolicy_Require",
	"user auditor":                                             "internal/core/authz.TestPolicy_Require",
	"user can_create_group":                                    "internal/core/namespace.TestService_Create_levels",
	"user external":                                            "internal/core/project.TestService_Find",
	"user private_profile":                                     "internal/core/account.TestService_Views",
	"user projects_limit":                                      "internal/transport/rest.TestProjects_limit",
}

// harmless are the attributes that forbid nothing.
var harmless = map[string]string{
	"project": `name path description default_branch repository_storage topics tag_list remove_source_branch_after_merge printing_merge_request_link_enabled merge_commit_template squash_commit_template suggestion_commit_message issue_branch_template autoclose_referenced_issues container_expiration_policy_attributes container_registry_enabled resolve_outdated_diff_discussions auto_devops_enabled auto_devops_deploy_strategy mr_default_target_self build_git_strategy auto_cancel_pending_pipelines ci_config_path merge_request_title_regex_description service_desk_enabled show_diff_preview_in_email warn_about_potentially_unwanted_characters ci_default_git_depth ci_id_token_sub_claim_components resource_group_default_process_mode issues_template merge_requests_template build_coverage_regex mr_default_title_template`,
	"group":   `description auto_devops_enabled default_branch file_template_project_id show_diff_preview_in_email`,
	"user":    `theme_id color_scheme_id view_diffs_file_by_file email skip_reconfirmation username name password public_email commit_email provider extern_uid`,
}

// attributesOf are the structs whose fields are the attributes that clients send.
var attributesOf = map[string][]string{
	"project": {"internal/core/project.Attributes", "internal/transport/rest.projectParams", "internal/transport/rest.featureParams", "internal/transport/rest.projectSettings"},
	"group":   {"internal/core/namespace.GroupAttributes", "internal/transport/rest.groupParams"},
	"user":    {"internal/transport/rest.updateUserParams", "internal/transport/rest.userSwitches"},
}

// TestRestrictions fails where an attribute of projects, groups or users is in none of the lists or in several: those that hold, with a
// test that is there, those that nothing obeys yet, which the documentation names, and those that forbid nothing.
func TestRestrictions(t *testing.T) {
	t.Parallel()
	documented, err := os.ReadFile("../../docs/restrictions.md")
	if err != nil {
		t.Fatal(err)
	}
	lists, rows := map[string]int{}, map[string]bool{}
	for name, test := range restricting {
		lists[name]++
		if !testExists(t, test) {
			t.Errorf("%s: there is no test %s", name, test)
		}
	}
	for _, u := range core.AllUnenforced() {
		lists[u.Of+" "+u.Name]++
		row := "| " + u.Of + " | `" + u.Name + "` | " + u.Reason + " |"
		if rows[row] = true; !strings.Contains(string(documented), row) {
			t.Errorf("docs/restrictions.md lacks the row %s", row)
		}
	}
	for line := range strings.SplitSeq(string(documented), "\n") {
		if strings.Contains(line, " | `") && !rows[line] {
			t.Errorf("docs/restrictions.md has the row %s of what holds", line)
		}
	}
	for of, names := range harmless {
		for _, name := range strings.Fields(names) {
			lists[of+" "+name]++
		}
	}
	known := map[string]bool{}
	for of, structs := range attributesOf {
		for _, name := range paramsOf(t, structs) {
			known[of+" "+name] = true
			if n := lists[of+" "+name]; n != 1 {
				t.Errorf("%s of a %s stands in %d lists, want 1", name, of, n)
			}
		}
	}
	for name := range lists {
		if !known[name] {
			t.Errorf("no %s is sent", name)
		}
	}
}

// testExists reports whether a folder has a test of a name, "folder.Name".
func testExists(t *testing.T, test string) bool {
	t.Helper()
	dir, name := strings.TrimSuffix(test, path.Ext(test)), strings.TrimPrefix(path.Ext(test), ".")
	return slices.ContainsFunc(source(t), func(f file) bool {
		return f.test && f.dir() == dir && slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Name.Name == name
		})
	})
}

// paramsOf returns the names of the parameters of structs, "folder.Name".
func paramsOf(t *testing.T, structs []string) []string {
	t.Helper()
	var out []string
	for _, f := range source(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !slices.Contains(structs, f.dir()+"."+spec.Name.Name) {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if field.Tag == nil {
						continue
					}
					tag, err := strconv.Unquote(field.Tag.Value)
					if err != nil {
						t.Fatal(err)
					}
					if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("param"), ","); name != "" {
						out = append(out, name)
					}
				}
			}
			return true
		})
	}
	return out
}
