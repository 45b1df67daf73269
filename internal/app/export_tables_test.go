package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/core/tree"
)

// stays are the tables whose rows are in no relation of a project or group, with the reason.
var stays = map[string]string{
	"of the instance or of users, or of groups and not in the format": `appearances audit_chain audit_events audit_seals broadcast_messages due_mail_runs features follows gpg_keys gpg_subkeys group_address_ranges
		group_attributes group_protected_branches group_protected_branch_levels identities emails instance password_links plan_limits sessions settings ssh_keys topics
		unknown_sign_ons user_attributes user_statuses notification_settings epic_links namespace_ancestors namespaces id_token_keys`,
	"packages, and what signs them": "packages package_files package_tags npm_versions npm_metadata pypi_packages package_protection_rules package_object_claims debian_uploads debian_publications debian_stanzas debian_releases debian_release_projects debian_indices debian_distributions debian_distribution_names debian_distribution_keys",
	"secrets, and what they are for": `access_tokens deploy_token_secrets ci_variables pipeline_triggers secure_files webhooks webhook_attempts webhook_bodies webhook_deliveries
		integrations integration_calls external_status_checks external_status_check_branches status_check_responses registration_tokens token_notices pipeline_variables
		job_variables pipeline_schedule_variables job_token_open job_token_allowlist deploy_key_projects`,
	"of users, who do not move": "draft_notes todos subscriptions label_subscriptions mentions stars mail_deliveries commit_participants invitations access_requests",
	"computed, or made again by what writes the rows that move": `internal_ids routes redirect_routes dora_months dora_marks project_measures project_languages merge_request_issues
		merge_request_contributors address_owners fetch_counts housekeeping_requests inactive_projects wiki_pages`,
	"of work that goes on": `deployment_backfills hook_events job_queue job_needs job_tags job_log_pieces merge_leases merge_request_rebases merge_train_cars ref_intents project_imports exports file_imports file_import_items import_lines group_imports imported_groups imported_group_items bulk_imports bulk_import_entities bulk_import_files bulk_import_failures relation_exports relation_export_files
		resource_groups pipeline_merge_requests`,
	"runners stay, with what they made": "runners runner_managers runner_projects runner_tags job_artifacts job_tests",
	"files of the archive":              "uploads lfs_objects lfs_links attached_repositories wikis pools pool_members",
	"the format has no place for them": `environments freeze_periods release_evidences deployments deployment_approvals deployment_merge_requests first_deployments feature_flags feature_flag_strategies feature_flag_scopes
		feature_flag_user_lists feature_flag_clients issue_links merge_request_blocks merge_request_context_commits metric_images board_labels lfs_locks approval_rule_groups shares`,
}

// Each table of the schema moves with a project or group, or it is said why it does not. Each file of a relation is one of the format.
func TestExport_tables(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	moves := map[string]bool{}
	for of, format := range map[tree.Trees]map[string]bool{tree.Projects: formatFiles, tree.Groups: formatOfGroups} {
		all, err := core.Part[*importexport.Service](s.core).Catalogue(of)
		if err != nil {
			t.Fatal(err)
		}
		for _, rel := range all.All() {
			for _, table := range rel.Tables {
				moves[table] = true
			}
			if _, known := format[rel.Name]; rel.File && rel.Extends == "" && !known && !slices.Contains([]string{"project", "group", "approval_rules", "packages"}, rel.Name) {
				t.Errorf("the file of %s is not one of the format", rel.Name)
			}
		}
	}
	reasons := map[string]bool{}
	for _, tables := range stays {
		for _, table := range strings.Fields(tables) {
			reasons[table] = true
		}
	}
	tables, err := db.Select[string](t.Context(), s.db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'river_%'
		AND name NOT LIKE '%trigrams%' AND name NOT LIKE 'schema_migration%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if moves[table] == reasons[table] {
			t.Errorf("table %s: exported %v, with a reason to stay %v, want one of both", table, moves[table], reasons[table])
		}
	}
	page, err := os.ReadFile("../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## What moves, and what does not")
	for _, table := range []string{"environments", "deployments", "freeze_periods", "feature_flags"} {
		if words := strings.ReplaceAll(table, "_", " "); !strings.Contains(list, words) {
			t.Errorf("docs/moving.md does not say that %s stay", words)
		}
	}
}
