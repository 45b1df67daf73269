package app

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

const aRequest = `{"title":"Change","iid":3,"state":"merged","source_branch":"topic","target_branch":"main","source_project_id":5,"target_project_id":5,"author_id":1,` +
	`"created_at":"2019-11-25T19:42:44.000Z","updated_at":"2019-11-26T19:42:44.000Z","merge_params":{"force_remove_source_branch":"1"},"merge_user_id":1,` +
	`"merge_request_diff":{"base_commit_sha":"49523141ddc593768f6a0f2e0e7d1e87b3a3a1aa","head_commit_sha":"f3e7a2cfc9ed11ba8f1c8455ca68cb014b6e3c38",` +
	`"start_commit_sha":"49523141ddc593768f6a0f2e0e7d1e87b3a3a1aa","commits_count":1,"merge_request_diff_commits":[{"sha":"f3e7a2cfc9ed11ba8f1c8455ca68cb014b6e3c38"}],` +
	`"merge_request_diff_files":[{"new_path":"a"}]},"metrics":{"merged_at":"2019-11-26T10:00:00.000Z","merged_by_id":1},"approvals":[{"user_id":1},{"user_id":2}],` +
	`"merge_request_reviewers":[{"user_id":1,"state":"approved"}],"merge_request_assignees":[{"user_id":1},{"user_id":2}],` +
	`"notes":[{"note":"Here","type":"DiffNote","author_id":1,"author":{"name":"Root"},"line_code":"x_1_1","position":{"base_sha":"49523141ddc593768f6a0f2e0e7d1e87b3a3a1aa",` +
	`"start_sha":"49523141ddc593768f6a0f2e0e7d1e87b3a3a1aa","head_sha":"f3e7a2cfc9ed11ba8f1c8455ca68cb014b6e3c38","old_path":"a","new_path":"a","position_type":"text","new_line":1},` +
	`"suggestions":[{"relative_order":0,"from_content":"a","to_content":"b","lines_above":0,"lines_below":0}]},{"note":"Lost place","type":"DiffNote","author_id":1}]}`

// Merge requests, members, protections, badges and schedules are imported; nothing is approved, no role is above Maintainer, and large
// objects are what their names say (A9, A11, A17, A24).
func TestImport_relations(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.do("admin", "POST", "/users", obj{"email": "jo@example.com", "name": "Jo", "username": "jo", "password": "a long secret 1", "skip_confirmation": true})
		jo := s.count("SELECT id FROM users WHERE username = 'jo'")
		archive := pack(t, member("tree/project.json", `{"default_branch":"main"}`),
			member("tree/project/project_members.ndjson", `{"access_level":50,"user_id":2,"user":{"id":2,"public_email":"jo@example.com"}}`+"\n"+
				`{"access_level":30,"user_id":9,"user":{"id":9,"public_email":"nobody@example.com"}}`+"\n"+`{"access_level":30,"invite_email":"x@example.com"}`),
			member("tree/project/merge_requests.ndjson", aRequest+"\n"+strings.Replace(aRequest, `"source_branch":"topic",`, "", 1)+"\n"+
				strings.NewReplacer(`"iid":3`, `"iid":4`, `"merged"`, `"opened"`).Replace(aRequest)),
			member("tree/project/protected_branches.ndjson", `{"name":"main","merge_access_levels":[{"access_level":30},{"access_level":40,"user_id":2}],"push_access_levels":[{"access_level":40,"group_id":4}]}`),
			member("tree/project/protected_tags.ndjson", `{"name":"v*","create_access_levels":[{"access_level":0}]}`),
			member("tree/project/project_badges.ndjson", `{"image_url":"https://example.com/a.svg","link_url":"https://example.com","name":"build"}`+"\n"+`{"image_url":"javascript:1","link_url":"x"}`),
			member("tree/project/pipeline_schedules.ndjson", `{"active":true,"cron":"0 4 * * *","cron_timezone":"UTC","description":"Nightly","ref":"main","owner_id":2}`),
			member("uploads/0123456789abcdef0123456789abcdef/a.txt", "attached"),
			member("lfs-objects.json", `{"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb":[0],"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad":[0],"x":[0]}`),
			member("lfs-objects/ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "a"),
			member("lfs-objects/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "forged"))
		status := s.imported(t, "admin", "moved", archive, nil)
		failed, _ := status["failed_relations"].([]any)
		if status["import_status"] != "finished" || len(failed) != 2 {
			for _, f := range failed {
				t.Errorf("failed: %v", f)
			}
			t.Fatalf("status: %v\n%s", status["import_error"], s.logs.last())
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM merge_requests": 2,
			"SELECT count(*) FROM merge_requests WHERE iid = 3 AND state = 'merged' AND merged_at IS NOT NULL AND version_id IS NOT NULL AND notes_count = 2 AND force_remove_source_branch": 1,
			"SELECT resolvable_discussions_count FROM merge_requests WHERE iid = 3":                                                                                                          2,
			"SELECT count(*) FROM approvals":                                              1,
			"SELECT count(*) FROM merge_request_reviewers WHERE state = 'approved'":       0,
			"SELECT count(*) FROM merge_request_assignees":                                4,
			"SELECT count(*) FROM suggestions":                                            2,
			"SELECT count(*) FROM notes WHERE type = 'DiffNote' AND position IS NOT NULL": 2,
			"SELECT count(*) FROM protected_branch_levels":                                3,
			fmt.Sprintf("SELECT m.access_level FROM members m JOIN projects p ON p.namespace_id = m.namespace_id WHERE m.user_id = %d", jo): 40,
			fmt.Sprintf("SELECT count(*) FROM protected_branch_levels WHERE user_id = %d AND access_level IS NULL", jo):                     1,
			"SELECT access_level FROM protected_tag_levels":                                                                                 0,
			"SELECT count(*) FROM badges": 1,
			"SELECT count(*) FROM pipeline_schedules WHERE NOT active AND next_run_at IS NULL AND owner_id = 1": 1,
			"SELECT count(*) FROM uploads WHERE size = 8":                                                       1,
			"SELECT count(*) FROM lfs_links":                                                                    1,
			"SELECT count(*) FROM events WHERE target_type IN ('MergeRequest', 'Note')":                         0,
			"SELECT count(*) FROM todos":                                                                        0,
		} {
			if n := s.count(query); n != want {
				t.Errorf("%s: %d, want %d", query, n, want)
			}
		}
	})
}

// A project is replaced by what is imported, once all of it is there.
func TestImport_overwrite(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	old := number(s.do("admin", "POST", "/projects", obj{"name": "app"}), "id")
	if status := s.imported(t, "admin", "app", pack(t, member("VERSION", "9.0.0")), obj{"overwrite": "true"}); status["import_status"] != "failed" {
		t.Errorf("a newer archive: %v", status)
	}
	if got := number(s.do("admin", "GET", "/projects/root%2Fapp", nil), "id"); got != old {
		t.Errorf("after an import that failed the project is %s, want %s", got, old)
	}
	status := s.imported(t, "admin", "app", pack(t, member("tree/project.json", `{"description":"New"}`)), obj{"overwrite": "true"})
	if p := s.do("admin", "GET", "/projects/root%2Fapp", nil); number(p, "id") == old || p["description"] != "New" || p["name"] != "app" {
		t.Errorf("project: %v after %v", p, status)
	}
	if n := s.count("SELECT count(*) FROM projects WHERE id = " + old + " AND NOT pending_delete"); n != 0 {
		t.Error("the project that was replaced is still there")
	}
}

// An import that was interrupted goes on behind the lines that were written, and writes none of them twice. One that is interrupted too
// often, or makes no progress for a day, fails; what no import names is deleted.
func TestImport_interrupted(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	archive := pack(t, member("tree/project.json", "{}"), member("tree/project/labels.ndjson", `{"title":"a","color":"#111111"}`+"\n"+`{"title":"b","color":"#111111"}`),
		member("tree/project/issues.ndjson", `{"title":"One","iid":1}`+"\n"+`{"title":"Two","iid":2}`))
	begin := func(path string) string {
		return number(s.do("admin", "POST", "/projects/import", obj{"path": path, "file": attached{"x.gz", archive}}), "id")
	}
	first := begin("first")
	s.exec("UPDATE file_imports SET attempts = 2, done = '[\"project_members\",\"labels\",\"milestones\"]', relation = 'issues', line = 1")
	second := begin("second")
	s.exec("UPDATE file_imports SET attempts = 5 WHERE project_id = " + second)
	third := begin("third")
	s.exec("UPDATE file_imports SET object = 'imports/other' WHERE project_id = " + third)
	_ = s.jobs.Drain(t.Context())
	for id, want := range map[string][2]any{
		first: {"finished", nil}, second: {"failed", "The import was interrupted too often."}, third: {"failed", "The project could not be imported."},
	} {
		if got := s.do("admin", "GET", "/projects/"+id+"/import", nil); got["import_status"] != want[0] || got["import_error"] != want[1] {
			t.Errorf("import: %v, %v, want %v", got["import_status"], got["import_error"], want)
		}
	}
	if issues, labels := s.count("SELECT count(*) FROM issues"), s.count("SELECT count(*) FROM labels"); issues != 1 || labels != 0 {
		t.Errorf("%d issues and %d labels, want 1 and 0", issues, labels)
	}
	fourth := begin("fourth")
	s.exec("UPDATE file_imports SET updated_at = '2020-01-01 00:00:00' WHERE project_id = " + fourth)
	if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
		t.Fatal(err)
	}
	if got := s.do("admin", "GET", "/projects/"+fourth+"/import", nil); got["import_error"] != "Import timed out. Import took longer than 86400 seconds" {
		t.Errorf("an import without progress: %v", got)
	}
	_ = s.jobs.Drain(t.Context())
	if left, err := os.ReadDir(filepath.Join(s.data, "scratch")); err != nil || len(left) != 0 {
		t.Errorf("left in the scratch folder: %v, %v", left, err)
	}
}

// The layout before 12.10 has everything in one object.
func TestImport_old_layout(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	old := `{"description":"Old","labels":[{"title":"bug","color":"#111111"},{"title":"a,b","color":"#111111"}],"issues":[` + anIssue + `],"ci_pipelines":null,"project_feature":{"wiki_access_level":0}}`
	status := s.imported(t, "admin", "old", pack(t, &tar.Header{Name: "./VERSION", Uname: "0.2.2"}, member("project.json", old)), nil)
	if failed, _ := status["failed_relations"].([]any); status["import_status"] != "finished" || len(failed) != 1 || status["description"] != "Old" {
		t.Errorf("status: %v", status)
	}
	if n := s.count("SELECT count(*) FROM issues"); n != 1 || s.count("SELECT wiki_access FROM projects") != 0 {
		t.Errorf("%d issues, want 1", n)
	}
	for name, text := range map[string]string{"deep": `{"labels":[` + strings.Repeat("[", 100_000), "a list": "[]", "no end": `{"labels":[`} {
		if status := s.imported(t, "admin", strings.ReplaceAll(name, " ", "-"), pack(t, member("project.json", text)), nil); status["import_status"] != "failed" || status["import_error"] != "Invalid file" {
			t.Errorf("%s: %v", name, status["import_error"])
		}
	}
}

// count reads one number.
func (s *server) count(query string) int {
	s.tb.Helper()
	n, err := db.Get[int](s.tb.Context(), s.db, query)
	if err != nil {
		s.tb.Fatalf("%s: %v", query, err)
	}
	return n
}
