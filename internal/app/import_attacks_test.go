package app

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/core/tree"
)

// strangers are the columns of a table that are no attribute of a relation.
func strangers(s *server, relation, table string) map[string]any {
	s.tb.Helper()
	all, err := core.Part[*importexport.Service](s.core).Catalogue(tree.Projects)
	if err != nil {
		s.tb.Fatal(err)
	}
	known := map[string]bool{}
	for _, a := range all.Find(relation).Attributes {
		known[a.Name] = true
	}
	out := map[string]any{}
	for _, column := range s.rows("SELECT name FROM pragma_table_info('" + table + "')") {
		if !known[column] {
			out[column] = 1
		}
	}
	return out
}

// withKeys adds keys to an object that are not there yet.
func withKeys(t *testing.T, object string, more map[string]any) string {
	t.Helper()
	var keys map[string]any
	if err := json.Unmarshal([]byte(object), &keys); err != nil {
		t.Fatal(err)
	}
	for key, value := range more {
		if _, there := keys[key]; !there {
			keys[key] = value
		}
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var importID = regexp.MustCompile(`"import_id":"[0-9a-f]+"`)

// A3, A9: a key that is no attribute changes no column, whatever column has its name: neither limits, nor numbers, nor rights.
func TestImport_unknownKeys(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	const label = `{"title":"bug","color":"#5843AD","type":"ProjectLabel","created_at":"2020-01-01T00:00:00.000Z","updated_at":"2020-01-01T00:00:00.000Z"}`
	const stone = `{"title":"One","iid":1,"state":"active","created_at":"2020-01-01T00:00:00.000Z","updated_at":"2020-01-01T00:00:00.000Z"}`
	parts := []struct{ relation, table, file, text string }{
		{"project", "projects", "tree/project.json", `{"description":"Moved","visibility_level":20}`},
		{"labels", "labels", "tree/project/labels.ndjson", label},
		{"milestones", "milestones", "tree/project/milestones.ndjson", stone},
		{"issues", "issues", "tree/project/issues.ndjson", anIssue},
		{"merge_requests", "merge_requests", "tree/project/merge_requests.ndjson", aRequest},
	}
	// rows are those of the project, without what belongs to it alone.
	rows := func(id string) map[string][]string {
		out := map[string][]string{}
		for _, p := range parts {
			own := []string{
				"id", "project_id", "namespace_id", "target_project_id", "source_project_id", "path", "path_fold", "milestone_id", "merge_request_id", "version_id", "import_id",
				"last_activity_at", "last_repository_updated_at", "head_pipeline_id", "repository", "name", "name_fold",
			}
			if p.table == "projects" || p.table == "merge_requests" { // times of the run
				own = append(own, "created_at", "updated_at", "prepared_at")
			}
			var columns []string
			for _, c := range s.rows("SELECT name FROM pragma_table_info('" + p.table + "')") {
				if !slices.Contains(own, c) {
					columns = append(columns, "quote("+c+")")
				}
			}
			where := map[string]string{
				"projects": "id = " + id, "merge_requests": "target_project_id = " + id, "issues": "project_id = " + id,
				"labels": "namespace_id = (SELECT namespace_id FROM projects WHERE id = " + id + ")", "milestones": "namespace_id = (SELECT namespace_id FROM projects WHERE id = " + id + ")",
			}[p.table]
			for _, row := range s.rows("SELECT " + strings.Join(columns, " || ' ' || ") + " FROM " + p.table + " WHERE " + where + " ORDER BY id") {
				out[p.table] = append(out[p.table], importID.ReplaceAllString(row, ""))
			}
		}
		return out
	}
	plain, hostile := []*tar.Header{member("VERSION", "0.2.4")}, []*tar.Header{member("VERSION", "0.2.4")}
	added := 0
	for _, p := range parts {
		more := strangers(s, p.relation, p.table)
		added += len(more)
		plain, hostile = append(plain, member(p.file, p.text)), append(hostile, member(p.file, withKeys(t, p.text, more)))
	}
	if added < 50 {
		t.Fatalf("only %d keys were added", added)
	}
	first, second := s.imported(t, "admin", "plain", pack(t, plain...), nil), s.imported(t, "admin", "hostile", pack(t, hostile...), nil)
	if first["import_status"] != "finished" || second["import_status"] != "finished" {
		t.Fatalf("imports: %v %v", first["import_error"], second["import_error"])
	}
	want, got := rows(number(first, "id")), rows(number(second, "id"))
	for table := range want {
		if len(want[table]) == 0 || !slices.Equal(want[table], got[table]) {
			t.Errorf("%s:\n%q\nwant\n%q", table, got[table], want[table])
		}
	}
}

// hostileBundle is a bundle of a repository with a pipeline's configuration and references that no push may bring.
func hostileBundle(t *testing.T) string {
	t.Helper()
	w := newRepository(t)
	head := w.commit("First", map[string]string{
		".gitlab-ci.yml": "job:\n  script: echo $PROTECTED\n", ".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = file:///etc\n", ".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:1\n",
	})
	for _, ref := range []string{"refs/heads/" + head, "refs/tags/" + strings.Repeat("a", 64), "refs/replace/" + strings.Repeat("b", 40), "refs/keep-around/x", "refs/pipelines/1", "refs/merge-requests/1/merge", "refs/tenon/x"} {
		w.git("", "update-ref", ref, head)
	}
	return w.bundle()
}

// What an archive says of other projects, of rights and of references is not believed (A6, A7, A9, A11, A12, A13, A16 to A19).
func TestImport_attacks(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.user("mallory", nil)
		secret := s.do("admin", "POST", "/projects", obj{"name": "secret", "visibility": "private"})
		other := number(secret, "id")
		s.do("admin", "POST", "/projects/"+other+"/issues", obj{"title": "Untouched"})
		s.do("admin", "POST", "/projects/"+other+"/milestones", obj{"title": "Hidden"})
		s.do("admin", "POST", "/projects/"+other+"/labels", obj{"name": "hidden", "color": "#ff0000"})
		group := s.do("mallory", "POST", "/groups", obj{"name": "Evil", "path": "evil", "visibility": "private"})
		s.do("mallory", "POST", "/groups/"+number(group, "id")+"/variables", obj{"key": "PROTECTED", "value": "of the group", "protected": true})
		counts := func() string {
			out := ""
			for _, what := range []string{
				"issues WHERE project_id = ", "merge_requests WHERE target_project_id = ", "releases WHERE project_id = ",
				"labels l JOIN projects p ON p.namespace_id = l.namespace_id WHERE p.id = ", "boards b JOIN projects p ON p.namespace_id = b.namespace_id WHERE p.id = ",
			} {
				out += s.one("SELECT count(*) FROM "+what+other) + " "
			}
			return out
		}
		before := counts()
		foreign := map[string]any{"project_id": json.Number(other), "moved_to_id": 1, "duplicated_to_id": 1, "epic_id": 1, "milestone_id": 1, "author_id": 1, "closed_by_id": 1}
		issue := withKeys(t, strings.Replace(anIssue, `"author_id":1,`, "", 1), foreign)
		request := strings.Replace(withKeys(t, aRequest, map[string]any{"source_project_id": json.Number(other), "target_project_id": json.Number(other), "head_pipeline_id": 1}), `"merged"`, `"opened"`, 1)
		archive := pack(t, member("VERSION", "0.2.4"), member("project.bundle", hostileBundle(t)),
			member("tree/project.json", fmt.Sprintf(`{"description":"Moved","visibility_level":20,"default_branch":"main","namespace_id":%s,"creator_id":1,"repository_size_limit":1}`, other)),
			member("tree/project/issues.ndjson", issue), member("tree/project/merge_requests.ndjson", request),
			member("tree/project/labels.ndjson", fmt.Sprintf(`{"title":"mine","color":"#5843AD","type":"ProjectLabel","project_id":%s}`, other)),
			member("tree/project/boards.ndjson", fmt.Sprintf(`{"name":"Board","project_id":%s,"milestone_id":1,"lists":[{"list_type":"label","position":0,"label_id":1}]}`, other)),
			member("tree/project/releases.ndjson", fmt.Sprintf(`{"tag":"v1","name":"One","project_id":%s,"author_id":1}`, other)),
			member("tree/project/project_members.ndjson", `{"access_level":50,"user_id":1,"user":{"id":1,"public_email":"root@example.com"}}`),
			member("tree/project/pipeline_schedules.ndjson", `{"active":true,"cron":"* * * * *","cron_timezone":"UTC","description":"Often","ref":"main","owner_id":1}`),
			member("tree/project/hooks.ndjson", `{"url":"http://127.0.0.1:1","push_events":true}`), member("tree/project/integrations.ndjson", `{"type":"SlackIntegration","active":true}`),
			member("tree/project/ci_pipelines.ndjson", `{"ref":"main","sha":"x","status":"success","user_id":1,"iid":1,"source":"push"}`))
		status := s.imported(t, "mallory", "taken", archive, obj{"namespace": "evil"})
		if status["import_status"] != "finished" {
			t.Fatalf("import: %v\n%s", status, s.logs.last())
		}
		id := number(status, "id")
		if got := counts(); got != before {
			t.Errorf("A13: another project had %s, has %s", before, got)
		}
		for row, tt := range map[string][]string{
			"A9 visibility":      {"SELECT visibility FROM namespaces n JOIN projects p ON p.namespace_id = n.id WHERE p.id = " + id, "0"},
			"A9 limit":           {"SELECT count(*) FROM projects WHERE repository_size_limit IS NOT NULL AND id = " + id, "0"},
			"A9 approvals":       {"SELECT count(*) FROM approvals", "0"},
			"A11 schedules":      {"SELECT count(*) FROM pipeline_schedules WHERE active", "0"},
			"A11 owner":          {"SELECT u.username FROM pipeline_schedules s JOIN users u ON u.id = s.owner_id", "mallory"},
			"A11 hooks":          {"SELECT count(*) FROM webhooks", "0"},
			"A11 integrations":   {"SELECT count(*) FROM integrations", "0"},
			"A12 no pipeline":    {"SELECT count(*) FROM pipelines WHERE source <> 'push' OR status <> 'success'", "0"},
			"A12 no job":         {"SELECT count(*) FROM jobs", "0"},
			"A13 milestone":      {"SELECT count(*) FROM issues i JOIN milestones m ON m.id = i.milestone_id WHERE m.title = 'Hidden' AND i.project_id = " + id, "0"},
			"A13 moved":          {"SELECT count(*) FROM issues WHERE project_id = " + id + " AND (moved_to_id IS NOT NULL OR duplicated_to_id IS NOT NULL)", "0"},
			"A13 source":         {"SELECT count(*) FROM merge_requests WHERE source_project_id = " + other, "0"},
			"A16 pipelines":      {"SELECT count(*) FROM pipelines p JOIN users u ON u.id = p.user_id WHERE u.username <> 'mallory'", "0"},
			"A16 authors":        {"SELECT count(*) FROM issues i JOIN users u ON u.id = i.author_id WHERE u.username <> 'mallory' AND i.project_id = " + id, "0"},
			"A17 members":        {"SELECT count(*) FROM members m JOIN projects p ON p.namespace_id = m.namespace_id WHERE p.id = " + id, "0"},
			"A18 boards":         {"SELECT count(*) FROM board_lists l JOIN labels x ON x.id = l.label_id WHERE x.title = 'hidden'", "0"},
			"releases are of us": {"SELECT u.username FROM releases r JOIN users u ON u.id = r.author_id", "mallory"},
		} {
			if got := s.one(tt[0]); got != tt[1] {
				t.Errorf("%s: %s, want %s", row, got, tt[1])
			}
		}
		for path, key := range map[string]string{"branches": "name", "tags": "name"} {
			for _, one := range s.list("mallory", "/projects/"+id+"/repository/"+path) {
				if name := fmt.Sprint(one.(map[string]any)[key]); name != "main" && name != "v1" {
					t.Errorf("A7: a reference %s is there", name)
				}
			}
		}
		s.user("reader", nil)
		for as, want := range map[string]int{"reader": 404, "": 401} {
			for _, path := range []string{"/projects/" + id + "/import", "/projects/" + id + "/import/report"} {
				if a := s.send(t.Context(), get(as, path)); a.Code != want {
					t.Errorf("A19: %q reads %s: %d %s", as, path, a.Code, a.Body)
				}
			}
		}
	})
}

// heaviest runs fn and returns how many bytes of memory more than before were in use at a time.
func heaviest(fn func()) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	var most atomic.Int64
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() { // ends with done
		defer close(stopped)
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), int64(m.HeapAlloc)))
		}
	}()
	fn()
	close(done)
	<-stopped
	return most.Load() - before
}

// A20: archives that are much larger than they look end as failed, or lose one line, within bounds of memory.
func TestImport_bombs(t *testing.T) {
	s := newServer(t, "") // not beside others: memory is measured
	s.once()
	s.set(obj{"max_decompressed_archive_size": 1024})
	// bomb makes an archive with one file of many bytes, between two texts.
	bomb := func(name, before string, n int64, fill byte, after string) string {
		var out strings.Builder
		zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		w := tar.NewWriter(zip)
		for _, f := range [][2]string{{"VERSION", "0.2.4"}, {"tree/project.json", "{}"}} {
			if err := w.WriteHeader(&tar.Header{Name: f[0], Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(f[1]))}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, f[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: n + int64(len(before)+len(after))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, before); err != nil {
			t.Fatal(err)
		}
		block := strings.Repeat(string(fill), 1<<20)
		for left := n; left > 0; left -= int64(len(block)) {
			if _, err := io.WriteString(w, block[:min(left, int64(len(block)))]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(w, after); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, tt := range []struct{ name, archive, status, text string }{
		{"gzip", bomb("uploads/a", "", 1100<<20, 0, ""), "failed", "Decompressed archive size validation failed."},
		{"one line", bomb("tree/project/issues.ndjson", `{"title":"`, 200<<20, 'a', `"}`+"\n"), "finished", ""},
		{"nested JSON", bomb("tree/project/issues.ndjson", "", 1<<20, '[', "\n"), "finished", ""},
		{"nested objects", bomb("tree/project/issues.ndjson", `{"title":"x","iid":1,"notes":`, 1<<20, '[', "\n"), "finished", ""},
		{"a document", bomb("tree/project/ci_cd_settings.ndjson", `{"a":"`, 100<<20, 'a', `"}`), "finished", ""},
	} {
		var status map[string]any
		more := heaviest(func() { status = s.imported(t, "admin", strings.ReplaceAll(tt.name, " ", "-"), tt.archive, nil) })
		if status["import_status"] != tt.status || tt.text != "" && status["import_error"] != tt.text {
			t.Errorf("%s: %v %v", tt.name, status["import_status"], status["import_error"])
		}
		if tt.status == "finished" {
			if failed, _ := status["failed_relations"].([]any); len(failed) != 1 {
				t.Errorf("%s: failed relations %v", tt.name, failed)
			}
		}
		if more > 64<<20+int64(2*len(tt.archive)) { // the test itself holds the archive, and the body of its request
			t.Errorf("%s: %d MB more memory", tt.name, more>>20)
		}
	}
}
