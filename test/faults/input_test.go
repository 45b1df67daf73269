package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/test/servertest"
)

// TestInput sends rubbish to every route. It gets an answer of the 4xx kind with a body
// that says so, changes nothing, and costs neither much time nor much memory.
func TestInput(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), `{"title":"one"}`)
		w.request(t, "topic")
		w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		before := w.rows()
		refs := w.git(w.repository(), "for-each-ref")

		t.Run("every route", func(t *testing.T) { w.in(t).everyRoute() })
		t.Run("bodies", func(t *testing.T) { w.in(t).bodies() })
		t.Run("refs and paths", func(t *testing.T) { w.in(t).refsAndPaths() })
		t.Run("pages", func(t *testing.T) { w.in(t).absurdPages() })
		t.Run("headers", func(t *testing.T) { w.in(t).headers() })

		after := w.rows()
		for table, n := range before {
			if after[table] != n {
				t.Errorf("%s: got %d rows after bad input, want %d as before", table, after[table], n)
			}
		}
		if now := w.git(w.repository(), "for-each-ref"); now != refs {
			t.Errorf("references: got\n%s\nwant\n%s", now, refs)
		}
		peak := w.peak()
		t.Logf("peak memory: %d KiB", peak)
		if peak > 300<<10 {
			t.Errorf("the server used %d KiB, want 300 MiB at most", peak)
		}
		if log := w.s.Log(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "panic") {
			t.Errorf("the log has errors: %s", errorsIn(log))
		}
	})
}

// errorsIn returns the lines of a log that tell of failures.
func errorsIn(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "panic") {
			out = append(out, line[:min(len(line), 1500)])
		}
	}
	return strings.Join(out[:min(len(out), 10)], "")
}

// rows counts the rows of every table that people write.
func (w *world) rows() map[string]int64 {
	w.t.Helper()
	// Jobs, the measures of repositories and the seals of audit events come and go in the background.
	d := w.open()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'river%' AND name NOT LIKE '%!_trigrams%' ESCAPE '!' AND name NOT IN ('project_measures', 'audit_seals', 'audit_chain') ORDER BY name"
	if d.Dialect().Name() != "sqlite" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'river%' AND tablename NOT IN ('project_measures', 'audit_seals', 'audit_chain') ORDER BY tablename"
	}
	tables, err := db.Select[string](w.t.Context(), d, query)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, table := range tables {
		out[table] = count(w.t, d, "SELECT count(*) FROM "+table)
	}
	return out
}

// peak is the most memory the server has had, in KiB; 0 where it is not known.
func (w *world) peak() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.s.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}

// bad sends a request and checks what comes back: one of the statuses, or any 4xx where
// none is given, with a body that is no stack trace.
func (w *world) bad(req *http.Request, statuses ...int) {
	w.t.Helper()
	began := time.Now()
	a, err := w.send(req)
	name := fmt.Sprintf("%s %.150s", req.Method, req.URL.RequestURI())
	if body, err := req.GetBody(); err == nil {
		var start [120]byte
		n, _ := io.ReadFull(body, start[:])
		name += fmt.Sprintf(" %q", start[:n])
	}
	if err != nil {
		w.t.Errorf("%s: %v", name, err)
		return
	}
	if took := time.Since(began); took > 20*time.Second {
		w.t.Errorf("%s took %v", name, took)
	}
	if a.status < 400 || a.status > 499 || len(statuses) > 0 && !slices.Contains(statuses, a.status) {
		w.t.Errorf("%s: got %d %.200s, want %v", name, a.status, a.body, statuses)
	}
	for _, word := range []string{"goroutine ", "panic", ".go:", "SQLSTATE", "sqlite", "pgx", "/tmp/", "fatal:"} {
		if strings.Contains(string(a.body), word) && req.Method != http.MethodHead {
			w.t.Errorf("%s: the answer %.300s tells of the inside", name, a.body)
		}
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") && len(a.body) > 0 && !json.Valid(a.body) {
		w.t.Errorf("%s: %.200s is no JSON", name, a.body)
	}
}

// raw builds a request from a target that is sent as it stands.
func (w *world) raw(method, target, kind, body string) *http.Request {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, *w.url.Load()+"/", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	path, query, _ := strings.Cut("/api/v4"+target, "?")
	req.URL = &url.URL{Scheme: "http", Host: req.URL.Host, Opaque: "//" + req.URL.Host + path, RawQuery: query}
	req.Header.Set("Private-Token", w.ann)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req
}

// described lists the routes as the server describes them.
func (w *world) described() map[string][]string {
	w.t.Helper()
	var out struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(w.want(200, w.ann, "GET", "/openapi.json", "").body, &out); err != nil {
		w.t.Fatal(err)
	}
	routes := map[string][]string{}
	for path, methods := range out.Paths {
		for method := range methods {
			routes[strings.TrimPrefix(path, "/api/v4")] = append(routes[strings.TrimPrefix(path, "/api/v4")], strings.ToUpper(method))
		}
	}
	if len(routes) < 60 {
		w.t.Fatalf("routes: got %d", len(routes))
	}
	return routes
}

// packageName is what packages, their versions and files may be called, escaped.
var packageName = regexp.MustCompile(`^([A-Za-z0-9-]|%2F){1,100}$`)

// mavenPath matches values that are a name, a version and a file of a Maven package.
var mavenPath = regexp.MustCompile(`^[\w.+~-]+(%2F[\w.+~-]+){2,}$`)

// everyRoute sends bad identifiers and bodies to each route of the server.
func (w *world) everyRoute() {
	values := []string{
		"%00", "%ff%fe", "..", "%2e%2e", "..%2F..%2Fetc", "-x", "--help", "%0a", "%20", "99999999999999999999999", "-1", "0",
		"1%27%20OR%201=1", "%25", strings.Repeat("a", 3000), "a%2Fb%2Fc", "%F0%9F%92%A9", "refs%2Fheads%2F..", "%7Bx", "1e3", "NaN", "%zz",
	}
	for path, methods := range w.described() {
		if !strings.Contains(path, "{") {
			continue
		}
		if strings.HasSuffix(path, "/exists") {
			continue // asks about names, not things
		}
		for _, method := range methods {
			for i, value := range values {
				body := ""
				if method != "GET" && i%2 == 0 {
					body = `{"nonsense":true}`
				}
				if method == "PUT" && (strings.Contains(path, "/packages/generic/") || strings.Contains(path, "/packages/debian/")) && packageName.MatchString(value) {
					continue // takes any bytes under such a name
				}
				if method == "PUT" && strings.Contains(path, "/packages/maven/") && mavenPath.MatchString(value) {
					continue // takes any bytes at such a path
				}
				for bad := range strings.Count(path, "{") {
					if bad == 1 && strings.HasSuffix(path, "/merge_trains/{target_branch}") {
						continue // a branch without a merge train has an empty one
					}
					w.bad(w.raw(method, w.fill(path, bad, value), "application/json", body))
				}
			}
		}
	}
}

// fill puts a bad value in the place of one parameter of a route and good ones elsewhere.
func (w *world) fill(path string, bad int, value string) string {
	for i := 0; strings.Contains(path, "{"); i++ {
		from, to := strings.Index(path, "{"), strings.Index(path, "}")
		put := value
		if i != bad {
			put = map[string]string{"{id}": strconv.FormatInt(w.project, 10), "{branch}": "main", "{sha}": "main", "{file_path}": "README.md"}[path[from:to+1]]
			if put == "" {
				put = "1"
			}
		}
		path = path[:from] + put + path[to+1:]
	}
	return path
}

// bodies sends bodies that are no JSON, too large, too deep, or of the wrong types.
func (w *world) bodies() {
	issues := fmt.Sprintf("/projects/%d/issues", w.project)
	const kind = "application/json"
	for _, path := range []string{issues, "/projects", "/groups", fmt.Sprintf("/projects/%d/repository/commits", w.project), fmt.Sprintf("/projects/%d/merge_requests", w.project), issues + "/1/notes"} {
		for _, body := range []string{
			`{"title":`, `{`, `nonsense`, `[`, `[1,2]`, `"text"`, `{"title":"\ud800"`, "{\"title\":\"a\x00b\"}", "{\"title\":\"\xff\xfe\"}", `{"title":"x"}}`,
			`{'title':'x'}`, strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000),
			`{"title":` + strings.Repeat("9", 100_000) + "", "\x00", "\xef\xbb\xbf{",
		} {
			w.bad(w.raw("POST", path, kind, body), 400, 413, 422)
		}
		many := strings.Repeat("a[]=1&", 100_000)
		w.bad(w.raw("POST", path, "application/x-www-form-urlencoded", many), 400, 413)
		w.bad(w.raw("GET", path+"?"+strings.Repeat("a=1&", 5_000), "", ""), 400, 405, 414)
		w.bad(w.raw("POST", path, kind, `{"title":"`+strings.Repeat("x", 5<<20)+`"}`), 400, 413)
		w.bad(w.raw("POST", path, "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nno end"), 400)
		w.bad(w.raw("POST", path, "multipart/form-data", "--x--"), 400)
		w.bad(w.raw("POST", path, "application/unknown", "x"), 400, 406, 415)
		w.bad(w.raw("POST", path, "text/xml", "<a/>"), 400, 406, 415)
	}
	for _, body := range []string{
		`{"title":{"a":1}}`, `{"title":["a"]}`, `{"title":"x","weight":"heavy"}`, `{"title":"x","confidential":"perhaps"}`,
		`{"title":"x","due_date":"soon"}`, `{"title":"x","created_at":"yesterday-ish"}`, `{"title":"x","issue_type":"riddle"}`, `{"title":"x","iid":"one"}`,
		`{"title":"x","milestone_id":{}}`, `{"title":"x","weight":99999999999999999999}`, `{"title":""}`, `{"title":null}`, `{}`,
		`{"title":"` + strings.Repeat("t", 300) + `"}`, `{"title":"x","description":"` + strings.Repeat("d", 1_100_000) + `"}`, "{\"title\":\"a\\u0000b\"}",
	} {
		w.bad(w.raw("POST", issues, kind, body), 400, 422)
	}
	for _, query := range []string{"state=odd", "order_by=secret", "sort=up", "scope=none", "created_after=never", "confidential=perhaps", "search=%00", "search=%ff"} {
		w.bad(w.raw("GET", issues+"?"+query, "", ""), 400)
	}
}

// refsAndPaths sends names that git or a file system could take for something else.
func (w *world) refsAndPaths() {
	base := fmt.Sprintf("/projects/%d/repository", w.project)
	for _, ref := range []string{
		"..", "a..b", "-x", "--upload-pack=x", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", `a\`, "a.lock", ".a", "a/", "/a", "a//b", "@", "@{", "a@{b", "", " ",
		"a\nb", "a\tb", "a\x01b", "a\x7fb", "a/.b", "a.", strings.Repeat("r", 2000), "refs/heads/../x", strings.Repeat("1", 40),
	} {
		text, err := json.Marshal(ref)
		if err != nil {
			w.t.Fatal(err)
		}
		w.bad(w.raw("POST", base+"/branches", "application/json", fmt.Sprintf(`{"branch":%s,"ref":"main"}`, text)), 400)
		w.bad(w.raw("POST", base+"/tags", "application/json", fmt.Sprintf(`{"tag_name":%s,"ref":"main"}`, text)), 400, 422)
		w.bad(w.raw("POST", base+"/commits", "application/json", fmt.Sprintf(`{"branch":%s,"start_branch":"main","commit_message":"x","actions":[{"action":"create","file_path":"x","content":"x"}]}`, text)), 400, 403)
		if ref == "" || ref == "@" || ref == " " {
			continue // an absent reference, and another name of HEAD
		}
		escaped := url.QueryEscape(ref)
		w.bad(w.raw("GET", base+"/tree?ref="+escaped, "", ""), 400, 404)
		w.bad(w.raw("GET", base+"/files/README.md?ref="+escaped, "", ""), 400, 404)
		w.bad(w.raw("GET", base+"/compare?from=main&to="+escaped, "", ""), 400, 404)
		w.bad(w.raw("GET", base+"/merge_base?refs[]=main&refs[]="+escaped, "", ""), 400, 404)
	}
	for _, path := range []string{
		"..", "../x", "a/../b", "a/../../b", ".git/config", "a/.git/hooks", ".GIT/config", "/etc/passwd", "a\x00b", "a\nb/..", "", ".", "./a", "a//b", "a/", "a/./b",
		strings.Repeat("p/", 3000) + "x", strings.Repeat("n", 5000),
	} {
		text, err := json.Marshal(path)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, action := range []string{
			`{"action":"create","file_path":%s,"content":"x"}`, `{"action":"move","previous_path":"README.md","file_path":%s}`,
			`{"action":"update","file_path":%s,"content":"x"}`, `{"action":"delete","file_path":%s}`, `{"action":"chmod","file_path":%s,"execute_filemode":true}`,
		} {
			w.bad(w.raw("POST", base+"/commits", "application/json", fmt.Sprintf(`{"branch":"main","commit_message":"x","actions":[%s]}`, fmt.Sprintf(action, text))), 400)
		}
		if path == "" {
			continue
		}
		escaped := url.PathEscape(path)
		w.bad(w.raw("POST", base+"/files/"+escaped, "application/json", `{"branch":"main","content":"x","commit_message":"x"}`), 400, 404, 414)
		w.bad(w.raw("GET", base+"/files/"+escaped+"/raw?ref=main", "", ""), 400, 404, 414)
	}
	for _, action := range []string{
		`{"action":"explode","file_path":"x"}`, `{"action":"create"}`, `{"action":"create","file_path":"x","content":"!!","encoding":"base64"}`, `{"action":"create","file_path":"x","encoding":"rot13"}`,
		`{"action":"delete","file_path":"missing"}`, `{"action":"move","file_path":"y","previous_path":"missing"}`, `"create"`, `null`, `7`,
	} {
		w.bad(w.raw("POST", base+"/commits", "application/json", fmt.Sprintf(`{"branch":"main","commit_message":"x","actions":[%s]}`, action)), 400)
	}
}

// absurdPages asks for pages that no user has.
func (w *world) absurdPages() {
	for _, list := range []string{fmt.Sprintf("/projects/%d/issues", w.project), "/projects", "/users", fmt.Sprintf("/projects/%d/repository/commits", w.project)} {
		for _, query := range []string{"per_page=0", "page=x", "per_page=x", "page=1.5", "page[]=1", "page=%00"} {
			w.bad(w.raw("GET", list+"?"+query, "", ""), 400)
		}
		for _, query := range []string{"per_page=-1", "page=-1", "page=99999999999999999999999", "page=9223372036854775807&per_page=100", "per_page=9223372036854775807", "page=9223372036854775806&per_page=9223372036854775807"} {
			a, err := w.send(w.raw("GET", list+"?"+query, "", ""))
			if err != nil || a.status >= 500 {
				w.t.Errorf("%s?%s: got %+v, %v", list, query, a, err)
			}
		}
	}
}

// headers sends headers that are too long, too many or contradict each other.
func (w *world) headers() {
	set := func(name, value string) *http.Request {
		req := w.raw("GET", "/user", "", "")
		req.Header.Set(name, value)
		return req
	}
	w.bad(set("X-Long", strings.Repeat("x", 200<<10)), 400, 431)
	w.bad(set("Private-Token", strings.Repeat("x", 20<<10)), 401)
	w.bad(set("Private-Token", "\xff\xfe"), 400, 401)
	w.bad(set("Private-Token", "' OR 1=1 --"), 401)
	w.bad(set("Authorization", "Bearer \xff"), 400, 401)
	w.bad(set("Sudo", "' OR 1=1"), 403, 404)
	for _, value := range []string{"Basic", "Basic !!!", "Bearer", "Bearer ", "Digest x", "Basic " + basic("ann", "wrong")} {
		req := set("Authorization", value)
		req.Header.Del("Private-Token")
		w.bad(req, 400, 401)
	}
	many := w.raw("GET", "/user", "", "")
	for i := range 3000 {
		many.Header.Set(fmt.Sprintf("X-Header-Number-%d", i), "some value of some length")
	}
	w.bad(many, 400, 431)
	odd := w.raw("NONSENSE", "/user", "", "")
	w.bad(odd, 400, 405, 501)
	for name, value := range map[string]string{"Accept": "application/xml", "Content-Type": "nonsense/" + strings.Repeat("x", 1000), "If-None-Match": strings.Repeat("\"", 5000), "Range": "bytes=-1-x"} {
		a, err := w.send(set(name, value))
		if err != nil || a.status >= 500 {
			w.t.Errorf("%s: %.50s: got %+v, %v", name, value, a, err)
		}
	}
}
