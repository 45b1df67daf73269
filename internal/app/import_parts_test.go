package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
)

// manyOf is a list of JSON with many rows.
func manyOf(n int, row func(i int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = row(i)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// A line with many rows in it is written in several transactions, of a bounded number of rows each. Counters of what the rows are on agree afterwards: threads
// whose comments come in different transactions count once.
func TestImport_parts(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		const times = `"created_at":"2019-11-25T19:42:44.000Z","updated_at":"2019-11-25T19:42:44.000Z"`
		note := func(i int) string {
			resolved := ""
			if i%700 < 300 {
				resolved = `"resolved_at":"2019-11-25T19:42:44.000Z",`
			}
			return fmt.Sprintf(`{"note":"Word %d",%s,%s"type":"DiscussionNote","discussion_id":"%040d","author":{"name":"Jo"}}`, i, times, resolved, i%700)
		}
		job := func(i int) string { return fmt.Sprintf(`{"name":"job %d","status":"success",%s}`, i, times) }
		archive := pack(t, member("tree/project.json", "{}"),
			member("tree/project/issues.ndjson", `{"title":"Large","iid":1,`+times+`,"notes":`+manyOf(1600, note)+`}`+"\n"+`{"title":"Small","iid":2,"notes":`+manyOf(2, note)+`}`+"\n"),
			member("tree/project/merge_requests.ndjson", `{"title":"Large","iid":1,"source_branch":"a","target_branch":"main","source_project_id":1,"target_project_id":1,`+times+
				`,"merge_request_diff":{"base_commit_sha":"`+strings.Repeat("a", 40)+`","head_commit_sha":"`+strings.Repeat("b", 40)+`","start_commit_sha":"`+strings.Repeat("a", 40)+
				`","merge_request_diff_files":`+manyOf(2100, func(i int) string { return fmt.Sprintf(`{"new_path":"f%d"}`, i) })+`},"notes":`+manyOf(1600, note)+`}`+"\n"),
			member("tree/project/ci_pipelines.ndjson", `{"ref":"main","sha":"`+strings.Repeat("a", 40)+`","iid":1,"status":"success","stages":[{"name":"build","position":0,"builds":`+manyOf(2500, job)+
				`},{"name":"test","position":1,"builds":`+manyOf(3, job)+`}]}`+"\n"))
		var status map[string]any
		_, rows := dbtest.Largest(dbtest.Transactions(t, s.db, func() { status = s.imported(t, "admin", "large", archive, nil) }))
		if rows > 3000 { // a job has two, and there are those of progress
			t.Errorf("a transaction writes %d rows", rows)
		}
		if failed, _ := status["failed_relations"].([]any); status["import_status"] != "finished" || len(failed) != 0 {
			t.Errorf("import: %v", status)
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM notes": 3202, "SELECT count(*) FROM issues": 2, "SELECT count(*) FROM merge_requests": 1, "SELECT count(*) FROM merge_request_versions": 1,
			"SELECT notes_count FROM issues WHERE title = 'Large'": 1600, "SELECT resolvable_discussions_count FROM merge_requests": 700,
			"SELECT unresolved_discussions_count FROM merge_requests": 400, "SELECT count(*) FROM jobs": 2503,
			"SELECT count(*) FROM commit_statuses WHERE stage = 'build' AND stage_idx = 0": 2500, "SELECT count(*) FROM commit_statuses WHERE stage = 'test' AND stage_idx = 1": 3,
			"SELECT count(DISTINCT discussion_id) FROM notes WHERE noteable_type = 'MergeRequest'": 700, "SELECT count(*) FROM file_imports WHERE part <> ''": 0,
		} {
			if n := s.count(query); n != want {
				t.Errorf("%s: %d, want %d", query, n, want)
			}
		}
	})
}

// Archives up to version 14 have the jobs of a stage in one list, each with its type.
func TestImport_statuses(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		project := s.imported(t, "admin", "old", pack(t, member("tree/project.json", "{}"), member("tree/project/ci_pipelines.ndjson",
			`{"ref":"main","sha":"`+strings.Repeat("a", 40)+`","iid":1,"status":"success","stages":[{"name":"build","position":0,"statuses":[{"name":"compile","status":"success","type":"Ci::Build",`+
				`"options":{"script":["echo secret"]},"yaml_variables":[{"key":"A","value":"secret"}],"token":"secret","created_at":"2020-01-09 12:08:57 UTC"},{"name":"down","status":"running","type":"Ci::Bridge"},`+
				`{"name":"other","status":"failed","type":"GenericCommitStatus","target_url":"http://a.test/1"}]},{"name":"test","position":1,"statuses":[{"name":"unit","status":"success","type":"Ci::Build"},`+
				`{"name":"strange","status":"success","type":"Kernel"},{"name":"","status":"success","type":"Ci::Build"}]}]}`+"\n")), nil)
		want := []string{"compile job build success", "down bridge build canceled", "other external build failed", "unit job test success"}
		got := s.rows("SELECT name || ' ' || kind || ' ' || stage || ' ' || status FROM commit_statuses ORDER BY name")
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("jobs: %v, want %v", got, want)
		}
		if n := s.count("SELECT count(*) FROM jobs WHERE definition = '{}'"); n != 3 {
			t.Errorf("%d jobs, want 3", n)
		}
		for _, r := range s.do("admin", "GET", "/projects/"+number(project, "id")+"/import/report", nil)["relations"].([]any) {
			if r := r.(map[string]any); r["name"] == "statuses" && fmt.Sprint(r["read"], r["written"], r["changed"], r["lost"]) != "6 3 1 2" {
				t.Errorf("report: %v", r)
			}
		}
		jobs := s.send(t.Context(), get("admin", "/projects/"+number(project, "id")+"/jobs"))
		if jobs.Code != http.StatusOK || strings.Contains(jobs.Body.String(), "secret") {
			t.Errorf("jobs: %d %s", jobs.Code, jobs.Body)
		}
	})
}

// A merge request from a fork that does not move has its project as source: the branch is made at its head where that is in the archive, and no branch
// that is there is moved. One that is not merged does not show a branch of the name at another commit. Its diff is readable either way.
func TestImport_forks(t *testing.T) {
	t.Parallel()
	w := newRepository(t)
	commit := func(name string) string { return w.commit(name, map[string]string{name: "text\n"}) }
	base := commit("base")
	first := commit("first")
	w.git("", "reset", "-q", "--hard", base)
	second := commit("second")
	w.git("", "reset", "-q", "--hard", base)
	w.git("", "branch", "taken", first)
	for i, head := range []string{first, second, base, first, first, second, second, second, second, second} {
		w.git("", "update-ref", fmt.Sprintf("refs/merge-requests/%d/head", i+1), head)
	}
	line := func(iid, source int, branch, target, state, head string) string {
		return fmt.Sprintf(`{"title":"M","iid":%d,"source_branch":"%s","target_branch":"%s","source_project_id":%d,"target_project_id":5,"state":"%s","merge_request_diff":{"base_commit_sha":"%s",`+
			`"head_commit_sha":"%s","start_commit_sha":"%s","commits_count":1}}`, iid, branch, target, source, state, base, head, base) + "\n"
	}
	missing := strings.Repeat("1", 40)
	archive := pack(t, member("tree/project.json", `{"default_branch":"main"}`), member("project.bundle", w.bundle()), member("tree/project/merge_requests.ndjson",
		line(1, 77, "feature", "main", "opened", first)+line(2, 78, "feature", "main", "opened", second)+line(3, -1, "lost", "main", "closed", missing)+
			line(4, 5, "deleted", "main", "merged", first)+line(5, 77, "old", "release", "merged", first)+line(6, 77, "feature/below", "main", "opened", second)+
			line(7, 77, "main", "main", "opened", second)+line(8, 77, "taken", "main", "opened", second)+line(9, 77, "taken", "main", "closed", second)+
			line(10, 77, "taken", "main", "merged", second)))
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		project := s.imported(t, "admin", "forked", archive, nil)
		path := "/projects/" + number(project, "id")
		if project["import_status"] != "finished" {
			t.Fatalf("import: %v", project)
		}
		for branch, want := range map[string]string{"main": base, "feature": first, "old": first, "release": base, "lost": "", "deleted": "", "feature%2Fbelow": "", "taken": first} {
			a := s.send(t.Context(), get("admin", path+"/repository/branches/"+branch))
			if want == "" && a.Code != http.StatusNotFound || want != "" && !strings.Contains(a.Body.String(), `"id":"`+want+`"`) {
				t.Errorf("%s: %d %s, want %s", branch, a.Code, a.Body, want)
			}
		}
		for iid, file := range map[int]string{1: "first", 2: "second", 4: "first", 5: "first", 6: "second", 7: "second", 8: "second", 9: "second", 10: "second"} {
			m := fmt.Sprintf("%s/merge_requests/%d", path, iid)
			if a := s.send(t.Context(), get("admin", m+"/diffs")); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"new_path":"`+file+`"`) {
				t.Errorf("diff of %d: %d %s", iid, a.Code, a.Body)
			}
			from := s.do("admin", "GET", m, nil)["source_project_id"]
			if none := iid == 2 || iid >= 7 && iid <= 9; none && from != nil || !none && fmt.Sprint(from) != number(project, "id") {
				t.Errorf("source of %d: %v", iid, from)
			}
		}
	})
}
