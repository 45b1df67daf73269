package app

import (
	"archive/tar"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/core/tree"
)

// catalogue is what a server describes of a tree.
func (s *server) catalogue(t *testing.T, of tree.Trees) *tree.Catalogue {
	t.Helper()
	all, err := core.Part[*importexport.Service](s.core).Catalogue(of)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// movingPeople makes the users whom the archives name, and returns their names by their numbers here.
func (s *server) movingPeople() map[string]string {
	s.once()
	names := map[string]string{"1": "admin"}
	for _, name := range movingUsers {
		names[strconv.FormatInt(int64(s.user(name, nil)), 10)] = name
	}
	s.publish()
	s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "public"})
	return names
}

// moving is a server with a group and a project in it, which it imported.
type moving struct {
	*server
	users              map[string]string // names, by number
	groupID, projectID string
}

// movingFrom makes a server that imports the group and the project that archives makes for it.
func movingFrom(t *testing.T, database, bundle string, archives func(s *server, of tree.Trees, plain map[string]string) []*tar.Header) moving {
	t.Helper()
	s := newServer(t, database)
	out := moving{server: s, users: s.movingPeople()}
	s.importGroup(t, "admin", "plain", pack(t, member("VERSION", "0.2.4"), member("tree/groups/_all.ndjson", "1\n"), member("tree/groups/1.json", `{"id":1}`)), nil)
	_, plain := s.groupArchive(t, "admin", "/groups/plain")
	parent := s.one("SELECT id FROM namespaces WHERE path = 'parent'")
	group := s.importGroup(t, "admin", "moving", pack(t, archives(s, tree.Groups, plain)...), obj{"parent_id": parent, "parent_path": "parent"})
	if status := s.one("SELECT status || COALESCE(error, '') FROM group_imports ORDER BY id DESC LIMIT 1"); status != "finished" {
		t.Fatalf("import of the group: %s\n%s", status, s.logs.last())
	}
	empty := s.imported(t, "admin", "plain", pack(t, member("VERSION", "0.2.4"), member("tree/project.json", "{}"), member("project.bundle", bundle)), nil)
	_, plain = unpack(t, s.export(t, "admin", "/projects/"+number(empty, "id")))
	project := s.imported(t, "admin", "moved", pack(t, archives(s, tree.Projects, plain)...), obj{"namespace": "parent/moving"})
	if failed, _ := project["failed_relations"].([]any); project["import_status"] != "finished" || len(failed) > 0 {
		t.Fatalf("import: %v\n%s", project, s.logs.last())
	}
	out.groupID, out.projectID = number(group, "id"), number(project, "id")
	lost := append(s.rows("SELECT 'group ' || relation || ' ' || line || ': ' || action || ' ' || reason FROM imported_group_items ORDER BY id"),
		s.rows("SELECT relation || ': ' || reason FROM file_import_items ORDER BY id")...)
	for _, one := range lost {
		if !slices.Contains(movingChanges, one) {
			t.Errorf("import: %s", one)
		}
	}
	return out
}

// movingChanges are what imports may say of rows that are filled as the format wants them.
var movingChanges = []string{
	"merge_request_reviewers: an import approves nothing", "approvals: an import approves nothing", "approvals: it is the importing user's", "pipeline_schedules: it is inactive",
	"project_members: the role is that of a Maintainer", // the owner of the group above
	"project: external_authorization_classification_label is lost",
	"packages: this server does not import packages",
}

// exports are the files of the archives of the group and of the project.
func (m moving) exports(t *testing.T) (group, project map[string]string) {
	t.Helper()
	_, group = m.groupArchive(t, "admin", "/groups/"+m.groupID)
	_, project = unpack(t, m.export(t, "admin", "/projects/"+m.projectID))
	return group, project
}

// flat are what the archives of a server say, by the paths of attributes.
func (m moving) flat(t *testing.T, group, project map[string]string) (ofGroup, ofProject map[string][]string) {
	t.Helper()
	id := strings.TrimSpace(group["./tree/groups/_all.ndjson"])
	return flatten(t, m.catalogue(t, tree.Groups), m.users, group, "./tree/groups/"+id+".json", "./tree/groups/"+id+"/"),
		flatten(t, m.catalogue(t, tree.Projects), m.users, project, "./tree/project.json", "./tree/project/")
}

// A project and a group are imported from archives in which no attribute has its default, which are filled from the catalogue: each attribute is
// exported as it was, and no column has its default. Another server imports what is exported: each column is the same there, and so is the
// second archive.
func TestImport_columns(t *testing.T) {
	t.Parallel()
	for engine, database := range map[string]func(t *testing.T) string{"sqlite": func(*testing.T) string { return "" }, "postgres": func(t *testing.T) string { return dbtest.PostgresURL(t) }} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			bundle, base, head := movingRepository(t)
			fillers, written := map[tree.Trees]*filler{}, map[tree.Trees]map[string]string{}
			folder := fmt.Sprintf("tree/groups/%d", sourceGroup)
			first := movingFrom(t, database(t), bundle, func(s *server, of tree.Trees, plain map[string]string) (entries []*tar.Header) {
				f := &filler{t: t, all: s.catalogue(t, of), groups: of == tree.Groups, defaults: map[string]map[string]any{}, base: base, head: head, reference: map[string][]obj{}}
				fillers[of] = f
				if of == tree.Groups {
					id := strings.TrimSpace(plain["./tree/groups/_all.ndjson"])
					f.learn(plain, "./tree/groups/"+id+".json", "./tree/groups/"+id+"/")
					f.refer("labels", "milestones")
					f.referIterations()
					written[of], entries = f.files(folder+".json", folder+"/")
					return append(entries, member("VERSION", "0.2.4"), member("tree/groups/_all.ndjson", fmt.Sprintln(sourceGroup)))
				}
				f.n = 20_000 // titles are not those of the group
				f.learn(plain, "./tree/project.json", "./tree/project/")
				f.refer("labels", "milestones", "merge_requests")
				f.reference["epic"], f.reference["iteration"] = fillers[tree.Groups].reference["epic"], fillers[tree.Groups].reference["iteration"]
				written[of], entries = f.files("tree/project.json", "tree/project/")
				return append(entries, member("VERSION", "0.2.4"), member("project.bundle", bundle))
			})
			sources := map[string]string{}
			for i, name := range movingUsers {
				sources[strconv.Itoa(firstUser+i)] = name
			}
			group, project := first.exports(t)
			ofGroup, ofProject := first.flat(t, group, project)
			sameColumns(t, "archive of the group", flatten(t, fillers[tree.Groups].all, sources, written[tree.Groups], "./"+folder+".json", "./"+folder+"/"), ofGroup, changedInGroups)
			sameColumns(t, "archive of the project", flatten(t, fillers[tree.Projects].all, sources, written[tree.Projects], "./tree/project.json", "./tree/project/"), ofProject, changedInProjects)
			first.notDefault(t)

			second := movingFrom(t, database(t), bundle, func(_ *server, of tree.Trees, _ map[string]string) (entries []*tar.Header) {
				for name, text := range map[tree.Trees]map[string]string{tree.Groups: group, tree.Projects: project}[of] {
					if !strings.HasSuffix(name, "/") {
						entries = append(entries, member(strings.TrimPrefix(name, "./"), text))
					}
				}
				return entries
			})
			first.sameRows(t, second)
			group, project = second.exports(t)
			againGroup, againProject := second.flat(t, group, project)
			sameColumns(t, "second archive of the group", ofGroup, againGroup, map[string]string{"named by the group": "notes.discussion_id"})
			sameColumns(t, "second archive of the project", ofProject, againProject, timesOfTheRun)
		})
	}
}

// tableColumn is a column of a table.
type tableColumn struct {
	Name    string `db:"name"`
	Default string `db:"value"` // as SQL, "" for none
	NotNull bool   `db:"needed"`
}

// columns are those of a table.
func (s *server) columns(t *testing.T, table string) []tableColumn {
	t.Helper()
	query := `SELECT name, COALESCE(dflt_value, '') AS value, "notnull" = 1 AS needed FROM pragma_table_info(?) ORDER BY cid`
	if strings.HasPrefix(s.config.Database, "postgres") {
		query = `SELECT column_name AS name, COALESCE(column_default, '') AS value, is_nullable = 'NO' AS needed FROM information_schema.columns
			WHERE table_name = ? AND table_schema = current_schema() ORDER BY ordinal_position`
	}
	out, err := db.Select[tableColumn](t.Context(), s.db, query, table)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// movingTables are the tables whose rows move. Users do not: their names and public addresses go along with the rows that name them, see flatten.
func (s *server) movingTables(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, of := range []tree.Trees{tree.Projects, tree.Groups} {
		for _, rel := range s.catalogue(t, of).All() {
			out = append(out, rel.Tables...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(table string) bool { return table == "users" })
}

// notDefault fails for columns that have their default in all rows, and are not named with a reason.
func (m moving) notDefault(t *testing.T) {
	t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, table := range m.movingTables(t) {
		for _, c := range m.columns(t, table) {
			cond := c.Name + " IS NOT NULL"
			if c.Default != "" {
				cond += " AND " + c.Name + " <> " + c.Default
			}
			want[table+"."+c.Name] = []string{"a value that is not the default"}
			if m.count("SELECT count(*) FROM "+table+" WHERE "+cond) > 0 {
				got[table+"."+c.Name] = want[table+"."+c.Name]
			}
		}
	}
	sameColumns(t, "column", want, got, defaults)
}

// ofTheRun is the time in the settings of a project from which on its policy for images counts.
var ofTheRun = regexp.MustCompile(`"scheduled_at":"[^"]*"`)

// sameRows compares each column of the tables whose rows move.
func (m moving) sameRows(t *testing.T, other moving) {
	t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, table := range m.movingTables(t) {
		columns := m.columns(t, table)
		order := "id"
		if !slices.ContainsFunc(columns, func(c tableColumn) bool { return c.Name == "id" }) {
			var names []string
			for _, c := range columns {
				names = append(names, c.Name)
			}
			order = strings.Join(names, ", ")
		}
		from := table
		if table == "events" { // those of a batch are in no order; that the project was made is of the run
			from, order = "events WHERE target_type <> 'Project'", "created_at, target_type"
		}
		for _, c := range columns {
			query := "SELECT COALESCE(CAST(" + c.Name + " AS TEXT), 'null') FROM " + from + " ORDER BY " + order
			name := table + "." + c.Name
			want[name], got[name] = m.rows(query), other.rows(query)
			if name == "projects.settings" {
				for _, rows := range [][]string{want[name], got[name]} {
					for i := range rows {
						rows[i] = ofTheRun.ReplaceAllString(importID.ReplaceAllString(rows[i], ""), "")
					}
				}
			}
		}
	}
	sameColumns(t, "column of the second server", want, got, columnsOfTheRun)
}

// learn reads the defaults of relations of one object.
func (f *filler) learn(files map[string]string, root, folder string) {
	for _, rel := range f.all.All() {
		name := folder + rel.Name + ".ndjson"
		if rel.Name == "project" || rel.Name == "group" {
			name = root
		}
		if one := lines(f.t, strings.TrimPrefix(files[name], "null")); rel.Single && len(one) == 1 {
			f.defaults[rel.Name] = one[0]
		}
	}
}

// refer makes the rows of files that other rows name.
func (f *filler) refer(files ...string) {
	for _, name := range files {
		f.reference[strings.TrimSuffix(name, "s")] = f.objects(f.all.Find(name), "")
	}
}

// referIterations has other rows name the iterations of cadences.
func (f *filler) referIterations() {
	rows := f.objects(f.all.Find("iterations_cadences"), "")
	f.reference["iterations_cadences"] = rows
	for _, cadence := range rows {
		for _, one := range cadence["iterations"].([]obj) {
			one := maps.Clone(one)
			one["iterations_cadence"] = obj{"title": cadence["title"]}
			f.reference["iteration"] = append(f.reference["iteration"], one)
		}
	}
}

// files makes the files of all relations, and the entries of an archive with them.
func (f *filler) files(root, folder string) (written map[string]string, entries []*tar.Header) {
	written = map[string]string{}
	for _, rel := range f.all.All() {
		if !rel.File || rel.Extends != "" {
			continue
		}
		name := folder + rel.Name + ".ndjson"
		if rel.Name == "project" || rel.Name == "group" {
			name = root
		}
		rows := f.reference[strings.TrimSuffix(rel.Name, "s")]
		if rel.Name == "iterations_cadences" {
			rows = f.reference[rel.Name]
		}
		if len(rows) == 0 || rel.Name == "epics" {
			rows = f.objects(rel, "")
		}
		written["./"+name] = f.file(rows, rel.Single)
		entries = append(entries, member(name, written["./"+name]))
	}
	return written, entries
}

// What an import changes on purpose, or does not keep, with the reason.
var (
	changedInGroups = map[string]string{
		"numbers are those of the server":                             "epics.id epics.parent_id",
		"the request says what the group is called and where it goes": "group.name group.parent_id",
		"this server keeps no such value":                             "iterations_cadences.roll_over labels.template members.ldap members.override resource_state_events.close_after_error_tracking_resolve resource_state_events.close_auto_resolve_prometheus_alert",
		"they are the times of the label":                             "label_links.created_at label_links.updated_at",
		"the importing user adds the members":                         "members.created_by_id",
		"another project may have a discussion of the name":           "notes.discussion_id",
	}
	changedInProjects = map[string]string{
		"an import approves nothing, and what was approved counts once, as the importing user's": "approvals.* merge_request_reviewers.state",
		"the times are those of the project":                                                     "auto_devops.created_at auto_devops.updated_at container_expiration_policy.created_at container_expiration_policy.updated_at project_feature.created_at project_feature.updated_at",
		"the time follows from the policy":                                                       "container_expiration_policy.next_run_at",
		"numbers are those of the server":                                                        "builds.commit_id bridges.commit_id generic_commit_statuses.commit_id",
		"this server keeps no such value": `bridges.lock_version builds.lock_version ci_pipelines.lock_version generic_commit_statuses.lock_version issues.lock_version labels.template
			merge_requests.lock_version project_members.ldap project_members.override push_rule.is_sample resource_state_events.close_after_error_tracking_resolve
			resource_state_events.close_auto_resolve_prometheus_alert stages.lock_version suggestions.outdated generic_commit_statuses.erased_at
			generic_commit_statuses.scheduled_at generic_commit_statuses.scheduling_type ci_cd_settings.runner_token_expiration_interval`,
		"pipelines are the importing user's (CVE-2023-5106)":    "bridges.user_id builds.user_id ci_pipelines.user_id generic_commit_statuses.user_id",
		"another project may have a discussion of the name":     "commit_notes.discussion_id merge_request_notes.discussion_id notes.discussion_id snippet_notes.discussion_id",
		"what job tokens reach is not taken over":               "ci_cd_settings.job_token_scope_enabled",
		"the times are those of the rule":                       "create_access_levels.created_at create_access_levels.updated_at deploy_access_levels.created_at deploy_access_levels.updated_at merge_access_levels.created_at merge_access_levels.updated_at push_access_levels.created_at push_access_levels.updated_at unprotect_access_levels.created_at unprotect_access_levels.updated_at",
		"they are the times of the label":                       "label_links.created_at label_links.updated_at priorities.created_at priorities.updated_at",
		"they are read from the repository":                     "merge_request_diff_commits.* merge_request_diff_files.*",
		"the trial merge is made anew":                          "merge_requests.merge_status",
		"schedules are inactive and the importing user's (A11)": "pipeline_schedules.active pipeline_schedules.next_run_at pipeline_schedules.owner_id",
		"a service of the server says who may be let in by it":  "project.external_authorization_classification_label",
		"integrations do not move":                              "project.has_external_issue_tracker project.has_external_wiki",
		"packages do not move":                                  "packages.created_at packages.name packages.package_type packages.project_id packages.version",
		"one method alone":                                      "project.merge_requests_rebase_enabled",
		"the importing user adds the members":                   "project_members.created_by_id",
		"they follow from the jobs":                             "stages.status stages.created_at stages.updated_at",
	}
	timesOfTheRun = map[string]string{
		"times of the run": `auto_devops.created_at auto_devops.updated_at container_expiration_policy.created_at container_expiration_policy.next_run_at
			container_expiration_policy.updated_at project_feature.created_at project_feature.updated_at`,
		"named by the project": "commit_notes.discussion_id merge_request_notes.discussion_id notes.discussion_id snippet_notes.discussion_id",
	}
	columnsOfTheRun = map[string]string{
		"times of the run": `approval_rules.created_at approval_rules.updated_at approval_settings.created_at approval_settings.updated_at projects.created_at projects.updated_at
			projects.last_activity_at push_rules.created_at push_rules.updated_at`,
		"members of the group above move as members of the project, and the importing user is one since the run": "members.*",
		"names are of the server": "notes.discussion_id snippets.repository",
	}

	// defaults are columns without a value of their own in what was imported.
	defaults = map[string]string{
		"the format has no such value": `boards.assignee_id events.payload groups.default_branch issues.severity iterations.title labels.archived pipelines.auto_cancel
			pipelines.cancel_on_failure pipelines.name projects.issue_branch_template resource_events.weight merge_requests.should_remove_source_branch`,
		"limits, deletion and import are of the server":     "groups.marked_for_deletion_on groups.repository_size_limit projects.marked_for_deletion_on projects.repository_size_limit projects.external projects.import_error",
		"rows of other projects, which do not move":         "issues.duplicated_to_id issues.moved_to_id notes.source_id notes.source_key notes.source_project_id notes.source_type projects.fork_root_id projects.forked_from_id resource_events.source_merge_request_id",
		"what a client sent stays":                          "issues.user_address issues.user_agent",
		"runners, tokens, keys, triggers and logs stay":     "jobs.contacted_at jobs.deadline jobs.erased_by jobs.exit_code jobs.log_key jobs.manager_id jobs.runner_id jobs.token_digest jobs.upstream_pipeline_id pipelines.schedule_id pipelines.trigger_id pipelines.upstream_job_id commit_statuses.resource_group_id protected_branch_levels.deploy_key_id protected_tag_levels.deploy_key_id",
		"rules of merge requests and of groups stay":        "approval_rules.merge_request_id approval_rules.source_rule_id protected_branch_levels.group_id protected_environment_levels.group_id protected_environment_levels.required_approvals protected_environments.group_id protected_tag_levels.group_id push_rules.group_id",
		"an import merges nothing by itself":                "merge_requests.auto_merge_admin merge_requests.auto_merge_message merge_requests.auto_merge_sha merge_requests.auto_merge_squash_message merge_requests.auto_merge_strategy",
		"computed when it is needed":                        "merge_request_versions.patch_id_sha merge_requests.owners_key",
		"schedules are inactive (A11), releases are public": "pipeline_schedules.next_run_at releases.pending",
	}
)
