package faults

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// What the archive of these tests has.
const (
	movedIssues = 600
	movedNotes  = 3 // of each issue
	movedLabels = 40
	longNotes   = 20_000 // of one issue, whose line is written in many transactions
)

// TestKill_moving kills the server while it imports, also amid a line that is written in parts, exports, imports over a project, and takes in a group of
// another server. Each of these goes on to its end after the start: nothing is doubled, nothing is missing, and what is to be replaced stays until the new one is whole.
func TestKill_moving(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		m := &moving{world: newWorld(t, database), archive: movingArchive(t), long: longArchive(t), from: newWorld(t, "")}
		for _, w := range []*world{m.world, m.from} {
			w.want(200, servertest.RootToken, "PUT", "/application/settings",
				`{"bulk_import_enabled":true,"allow_local_requests_from_web_hooks_and_services":true,"import_sources":["gitlab_project"]}`)
		}
		m.random = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
		m.source(t)
		kinds := []func(n int){m.parts, m.imports, m.exports, m.replaces, m.transfers}
		kills := servertest.Times(t, "TENON_MOVING_KILLS", 6)
		for n := 0; m.kills < kills; n++ {
			kinds[n%len(kinds)](n)
		}
		d := m.open()
		for _, query := range []string{
			"SELECT COUNT(*) FROM file_imports WHERE object <> ''", "SELECT COUNT(*) FROM bulk_import_files", "SELECT COUNT(*) FROM bulk_imports WHERE token <> ''",
		} {
			if n := count(t, d, query); n != 0 {
				t.Errorf("%s: %d, want none", query, n)
			}
		}
		m.s.Stop()
		{
			const folder = "scratch"
			left, err := filepath.Glob(filepath.Join(m.s.Data, folder, "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left in the folder %s: %v %v", folder, left, err)
			}
		}
		t.Logf("killed %d times", m.kills)
	})
}

// moving is a world that things move into and out of.
type moving struct {
	*world

	from    *world // another server
	archive []byte
	long    []byte // archive with one long line
	random  *rand.Rand
	kills   int
}

// disturb kills the server once or twice within a moment, and starts it again.
func (m *moving) disturb() {
	for range 1 + m.random.IntN(2) {
		timer := time.NewTimer(time.Duration(m.random.IntN(500)) * time.Millisecond)
		<-timer.C
		m.s.Kill()
		m.again()
	}
}

// again starts the server that was killed.
func (m *moving) again() {
	m.s.Restart()
	m.moved()
	m.kills++
}

// upload has an archive imported.
func (m *moving) upload(archive []byte, path string, more map[string]string) int64 {
	m.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := map[string]string{"path": path, "namespace": fmt.Sprint(m.group)}
	for key, value := range more {
		fields[key] = value
	}
	for key, value := range fields {
		if err := form.WriteField(key, value); err != nil {
			m.t.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", "export.tar.gz")
	if err == nil {
		_, err = file.Write(archive)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, *m.url.Load()+"/api/v4/projects/import", &body)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Private-Token", m.ann)
	req.Header.Set("Content-Type", form.FormDataContentType())
	a, err := m.send(req)
	if err != nil || a.status != 201 {
		m.t.Fatalf("import: %v %+v", err, a)
	}
	return a.number("id")
}

// awaitImport waits for the end of an import.
func (m *moving) awaitImport(id int64) {
	m.t.Helper()
	var last *answer
	m.await("the import to end", func() bool {
		last = m.want(200, m.ann, "GET", fmt.Sprintf("/projects/%d/import", id), "")
		status := last.text("import_status")
		return status == "finished" || status == "failed"
	})
	if last.text("import_status") != "finished" {
		m.t.Fatalf("import: %s\n%s", last.body, m.s.Log())
	}
}

// compare compares a project with the archive.
func (m *moving) compare(id int64) {
	m.t.Helper()
	d := m.open()
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM issues WHERE project_id = %d":                                                                        movedIssues,
		"SELECT COUNT(*) FROM notes n JOIN issues i ON i.id = n.noteable_id AND n.noteable_type = 'Issue' WHERE i.project_id = %d": movedIssues * movedNotes,
		"SELECT COUNT(*) FROM labels l JOIN projects p ON p.namespace_id = l.namespace_id WHERE p.id = %d":                         movedLabels,
		"SELECT COUNT(DISTINCT l.title) FROM labels l JOIN projects p ON p.namespace_id = l.namespace_id WHERE p.id = %d":          movedLabels,
		"SELECT open_issues_count FROM projects WHERE id = %d":                                                                     movedIssues,
	} {
		if n := count(m.t, d, fmt.Sprintf(query, id)); n != want {
			m.t.Errorf("%s: %d, want %d", fmt.Sprintf(query, id), n, want)
		}
	}
}

// parts kills the server between two transactions of one line.
func (m *moving) parts(n int) {
	id := m.upload(m.long, fmt.Sprintf("long-%d", n), nil)
	d := m.open()
	amid := fmt.Sprintf("SELECT COUNT(*) FROM file_imports WHERE project_id = %d AND part <> ''", id)
	m.await("a part of the line", func() bool { return count(m.t, d, amid) == 1 })
	m.s.Kill()
	if count(m.t, d, amid) != 1 {
		m.t.Error("the line was whole when the server was killed")
	}
	m.again()
	m.awaitImport(id)
	for _, what := range []string{"COUNT(*)", "COUNT(DISTINCT n.body)", "MAX(i.notes_count)"} {
		query := fmt.Sprintf("SELECT %s FROM notes n JOIN issues i ON i.id = n.noteable_id AND n.noteable_type = 'Issue' WHERE i.project_id = %d", what, id)
		if got := count(m.t, d, query); got != longNotes {
			m.t.Errorf("%s: %d, want %d", query, got, longNotes)
		}
	}
}

func (m *moving) imports(n int) {
	id := m.upload(m.archive, fmt.Sprintf("imported-%d", n), nil)
	m.disturb()
	m.awaitImport(id)
	m.compare(id)
}

// replaces imports over a project, which is there until the new one is.
func (m *moving) replaces(n int) {
	path := fmt.Sprintf("replaced-%d", n)
	old := m.want(201, m.ann, "POST", "/projects", fmt.Sprintf(`{"name":%q,"path":%q,"namespace_id":%d}`, path, path, m.group)).number("id")
	id := m.upload(m.archive, path, map[string]string{"overwrite": "true"})
	m.disturb()
	m.await("the new project at the path of the old one", func() bool {
		at := m.want(200, m.ann, "GET", "/projects/team%2F"+path, "").number("id")
		if at != old && at != id {
			m.t.Fatalf("at the path is the project %d, neither %d nor %d", at, old, id)
		}
		return at == id
	})
	m.awaitImport(id)
	m.compare(id)
}

// exports exports a project that was imported, and looks into the archive.
func (m *moving) exports(n int) {
	id := m.upload(m.archive, fmt.Sprintf("exported-%d", n), nil)
	m.awaitImport(id)
	m.compare(id)
	m.want(202, m.ann, "POST", fmt.Sprintf("/projects/%d/export", id), "")
	m.disturb()
	m.await("the export", func() bool {
		return m.want(200, m.ann, "GET", fmt.Sprintf("/projects/%d/export", id), "").text("export_status") == "finished"
	})
	a := m.want(200, m.ann, "GET", fmt.Sprintf("/projects/%d/export/download", id), "")
	lines := map[string]int{}
	zip, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		m.t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			m.t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			m.t.Fatal(err)
		}
		lines[filepath.Base(h.Name)] = bytes.Count(text, []byte("\n"))
	}
	if lines["issues.ndjson"] != movedIssues || lines["labels.ndjson"] != movedLabels {
		m.t.Errorf("archive: %d issues, %d labels", lines["issues.ndjson"], lines["labels.ndjson"])
	}
}

// source fills the other server with a group that moves.
func (m *moving) source(t *testing.T) {
	t.Helper()
	there := &moving{world: m.from}
	there.awaitImport(there.upload(m.archive, "shop", nil))
	there.want(201, there.ann, "POST", fmt.Sprintf("/groups/%d/labels", there.group), `{"name":"of the group","color":"#00ff00"}`)
}

// transfers takes in the group of the other server.
func (m *moving) transfers(n int) {
	a := m.want(201, m.ann, "POST", "/bulk_imports", fmt.Sprintf(`{"configuration":{"url":%q,"access_token":%q},
		"entities":[{"source_type":"group_entity","source_full_path":"team","destination_slug":"moved-%d","destination_namespace":"team"}]}`, *m.from.url.Load(), m.from.ann, n))
	path := fmt.Sprintf("/bulk_imports/%d", a.number("id"))
	m.disturb()
	var last *answer
	m.await("the transfer to end", func() bool {
		last = m.want(200, m.ann, "GET", path, "")
		return strings.Contains("finished failed", last.text("status"))
	})
	if last.text("status") != "finished" || last.field("has_failures") != false {
		m.t.Fatalf("transfer: %s %s\n%s", last.body, m.want(200, m.ann, "GET", path+"/entities", "").body, m.s.Log())
	}
	d := m.open()
	if got := count(m.t, d, fmt.Sprintf("SELECT COUNT(*) FROM labels l JOIN routes r ON r.namespace_id = l.namespace_id WHERE r.path = 'team/moved-%d'", n)); got != 1 {
		m.t.Errorf("%d labels of the group", got)
	}
	m.compare(m.want(200, m.ann, "GET", fmt.Sprintf("/projects/team%%2Fmoved-%d%%2Fshop", n), "").number("id"))
}

// movedIssue is a line of issues.ndjson.
func movedIssue(iid, comments int) string {
	const times = `"created_at":"2020-01-01T00:00:00.000Z","updated_at":"2020-01-01T00:00:00.000Z"`
	notes := make([]string, comments)
	for n := range notes {
		notes[n] = fmt.Sprintf(`{"note":"comment %d","author_id":1,"author":{"name":"Jo"},%s,"noteable_type":"Issue"}`, n, times)
	}
	return fmt.Sprintf(`{"title":"issue %d","author_id":1,"iid":%d,"state":"opened",%s,"notes":[%s]}`+"\n", iid, iid, times, strings.Join(notes, ","))
}

// movingArchive makes an archive of a project.
func movingArchive(t *testing.T) []byte {
	t.Helper()
	var issues, labels strings.Builder
	for i := 1; i <= movedIssues; i++ {
		_, _ = issues.WriteString(movedIssue(i, movedNotes))
	}
	for i := range movedLabels {
		_, _ = fmt.Fprintf(&labels, `{"title":"label %d","color":"#5843AD","type":"ProjectLabel"}`+"\n", i)
	}
	return archiveOf(t, issues.String(), labels.String())
}

// longArchive makes an archive whose one issue has more comments than a transaction takes.
func longArchive(t *testing.T) []byte {
	t.Helper()
	return archiveOf(t, movedIssue(1, longNotes), "")
}

func archiveOf(t *testing.T, issues, labels string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, f := range [][2]string{
		{"VERSION", "0.2.4"},
		{"tree/project.json", `{"description":"Moved","visibility_level":0}`},
		{"tree/project/labels.ndjson", labels},
		{"tree/project/issues.ndjson", issues},
	} {
		if err := w.WriteHeader(&tar.Header{Name: "./" + f[0], Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
