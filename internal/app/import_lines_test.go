package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// What an import loses is kept as it came, for those who may read the report: lines of areas that do not exist here, lines and nested rows that are
// refused, without what may be a secret. It is deleted after 30 days, or with the project.
func TestImport_lines(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.user("stranger", nil)
		s.user("reader", nil)
		const note = `{"note":"A word","created_at":"2019-11-25T19:42:44.000Z","updated_at":"2019-11-25T19:42:44.000Z","author":{"name":"Jo"}}`
		project := s.imported(t, "admin", "moved", pack(t, member("tree/project.json", "{}"),
			member("tree/project/labels.ndjson", `{"title":"bug","color":"#5843AD"}`+"\n\n"+`{"title":"","color":"#5843AD","description":"a <b>"}`+"\n"+`{"title": broken`+"\n"+`{"token": broken`+"\n"),
			member("tree/project/issues.ndjson", `{"title":"One","iid":1,"notes":[`+note+`,{"note":7},{"note":"x","award_emoji":[{"name":"no such"}]}],"designs":[{"iid":3,"filename":"a.png"}]}`+"\n"+
				`{"title":"","iid":2,"notes":[`+note+`]}`+"\n"),
			member("tree/project/external_pull_requests.ndjson", `{"status":"open"}`+"\n"+`{"status":"closed"}`+"\n"),
			member("tree/project/vulnerabilities.ndjson", `{"title":"Hole","token":"hidden-1"}`+"\n"),
			member("tree/project/ci_pipelines.ndjson", `{"status":"success","sha":7,"stages":[{"name":"build","statuses":[{"options":{"KEY":"hidden-2"},"yaml_variables":"hidden-3","token_encrypted":"hidden-4"}]}]}`+"\n"),
			member("tree/project/error_tracking_setting.ndjson", `{"api_url": "http://a.test"}`), member("tree/project/metrics_setting.ndjson", "null")), nil)
		id := number(project, "id")
		path := "/projects/" + id + "/import/report"
		group := s.importGroup(t, "admin", "gone", pack(t, member("tree/groups/_all.ndjson", "1\n2\n3\n"), member("tree/groups/1.json", `{"id":1,"name":"One"}`),
			member("tree/groups/2.json", `{"id":2,"name":"Two","path":"two","parent_id":1}`), member("tree/groups/2/labels.ndjson", `{"title":"","color":"#5843AD"}`+"\n"),
			member("tree/groups/3.json", `{"id":3,"name":"Three","path":"three","parent_id":9}`)), nil)
		read := func(path string) (lines []string) {
			t.Helper()
			a := s.send(t.Context(), get("admin", path))
			if a.Code != http.StatusOK || a.Header().Get("Content-Length") != fmt.Sprint(a.Body.Len()) {
				t.Fatalf("%s: %d %v %s", path, a.Code, a.Header(), a.Body)
			}
			if strings.Contains(a.Body.String(), "hidden-") {
				t.Errorf("secrets are shown: %s", a.Body)
			}
			for line := range strings.Lines(a.Body.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
			return lines
		}
		lines := read(path + ".ndjson")
		for _, want := range []string{
			`{"relation":"labels","line":3,"action":"lost","reason":"title can't be blank","title":"a <b>","row":{"title":"","color":"#5843AD","description":"a <b>"}}`,
			`{"relation":"labels","line":4,"action":"lost","reason":"the line is no object of JSON","title":"","text":"{\"title\": broken"}`,
			`{"relation":"labels","line":5,"action":"lost","reason":"the line is no object of JSON","title":""}`,
			`{"relation":"notes","line":1,"action":"lost","reason":"note is of another type","title":"","row":{"note":7}}`,
			`{"relation":"designs","line":1,"action":"lost","reason":"this server has no designs","title":"","row":{"iid":3,"filename":"a.png"}}`,
			`{"relation":"issues","line":2,"action":"lost","reason":"title can't be blank","title":"","row":{"title":"","iid":2,"notes":[` + note + `]}}`,
			`{"relation":"notes","line":2,"action":"lost","reason":"what it belongs to is lost","title":""}`,
			`{"relation":"external_pull_requests","line":2,"action":"lost","reason":"this server has no external_pull_requests","title":"","row":{"status":"closed"}}`,
			`{"relation":"vulnerabilities","line":1,"action":"lost","reason":"this server has no vulnerabilities","title":"Hole","row":{"title":"Hole"}}`,
			`{"relation":"error_tracking_setting","line":1,"action":"lost","reason":"this server has no error_tracking_setting","title":"","row":{"api_url":"http://a.test"}}`,
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("not kept: %s", want)
			}
		}
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"relation":"ci_pipelines"`) })
		if i < 0 || !strings.Contains(lines[i], `"row":{"sha":7,"stages":[{"name":"build","statuses":[{}]}],"status":"success"}`) {
			t.Errorf("a pipeline: %v", lines)
		}
		if items := s.do("admin", "GET", path, nil)["items"].([]any); len(items) != len(lines) {
			t.Errorf("%d items, %d lines: %v", len(items), len(lines), lines)
		}
		ofGroup := read("/groups/" + number(group, "id") + "/import/report.ndjson")
		for _, want := range []string{
			`{"relation":"labels","line":1,"action":"lost","reason":"title can't be blank","title":"","row":{"title":"","color":"#5843AD"}}`,
			`{"relation":"group","line":1,"action":"lost","reason":"Parent group not found","title":"Three","row":{"id":3,"name":"Three","path":"three","parent_id":9}}`,
		} {
			if !slices.Contains(ofGroup, want) {
				t.Errorf("not kept: %s of %v", want, ofGroup)
			}
		}
		s.do("admin", "POST", "/projects/"+id+"/members", obj{"user_id": s.ids["reader"], "access_level": 30})
		for as, want := range map[string]int{"reader": 403, "stranger": 404} {
			if a := s.send(t.Context(), get(as, path+".ndjson")); a.Code != want || strings.Contains(a.Body.String(), "Hole") {
				t.Errorf("for %s: %d, want %d", as, a.Code, want)
			}
		}
		// A restored backup has the counts and reasons, and no lines.
		keys := s.rows("SELECT object FROM import_lines ORDER BY id")
		if len(keys) != 3 || !strings.HasPrefix(keys[0], importexport.Uploaded+"/") {
			t.Fatalf("files of lines: %v", keys)
		}
		file := filepath.Join(s.data, "objects", filepath.FromSlash(keys[0]))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if less := read(path + ".ndjson"); len(less) != len(lines) || strings.Contains(strings.Join(less, ""), `"row"`) {
			t.Errorf("without the file: %v", less)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		sweep := func() {
			t.Helper()
			old := time.Now().Add(-2 * time.Hour)
			for _, key := range keys {
				_ = os.Chtimes(filepath.Join(s.data, "objects", filepath.FromSlash(key)), old, old)
			}
			if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
				t.Fatal(err)
			}
		}
		there := func() (n int) {
			for _, key := range keys {
				if _, err := os.Stat(filepath.Join(s.data, "objects", filepath.FromSlash(key))); err == nil {
					n++
				}
			}
			return n
		}
		if sweep(); there() != 3 {
			t.Errorf("%d files of lines before their time", there())
		}
		s.exec("UPDATE import_lines SET created_at = ? WHERE project_id IS NOT NULL", db.At(time.Now().AddDate(0, 0, -31)))
		if sweep(); there() != 2 || len(s.rows("SELECT object FROM import_lines")) != 2 || len(read(path+".ndjson")) != len(lines) {
			t.Errorf("after 30 days: %d files", there())
		}
		s.exec("DELETE FROM import_lines") // as deleting a project or group does
		if sweep(); there() != 0 {
			t.Errorf("after the group: %d files", there())
		}
	})
}
