package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

const mutationsGolden = "testdata/mutations.txt"

// askers are the callers that mutations are tried as: every role, and the tokens that may less than their users.
func askers() []column {
	return slices.DeleteFunc(columns(), func(c column) bool {
		return c.token && !slices.Contains([]string{"read_api", "project token", "group token"}, c.as)
	})
}

// TestMutations runs every mutation as everybody, in every place, and compares who is refused with the route that does the same, which is asked as
// the same caller. A golden file says who may, so that a change of a permission is a line in a diff.
func TestMutations(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	twins, routes := twins(), w.routeRows()
	var text strings.Builder
	fmt.Fprintf(&text, "%-12s", "# place")
	for _, c := range askers() {
		fmt.Fprintf(&text, "%-6s", c.title)
	}
	text.WriteString("\n")
	for _, m := range w.mutations(t) {
		tw, ok := twins[m.Name]
		delete(twins, m.Name)
		switch {
		case !ok:
			t.Errorf("%s has no line in twins", m.Name)
			continue
		case (tw.route == "") == (tw.alone == ""):
			t.Errorf("%s names a route or the reason why there is none", m.Name)
			continue
		}
		fmt.Fprintf(&text, "\n%s\n", tw.title(m))
		rows := w.mutationRows(tw, routes)
		if len(rows) == 0 {
			t.Errorf("%s: there is no route %s", m.Name, tw.route)
		}
		done := false
		for _, r := range rows {
			line := w.mutationLine(t, m, tw, r)
			done = done || strings.Contains(line, " yes")
			text.WriteString(line)
		}
		if !done && tw.never == "" {
			t.Errorf("%s succeeds for no caller: is its input a good one?", m.Name)
		}
	}
	for name := range twins {
		t.Errorf("twins has %s, which is no mutation", name)
	}
	compareGolden(t, mutationsGolden, text.String())
}

// TestMutations_postgres runs every mutation as everybody in one place of each kind on the other engine: the answers are those of the golden file.
func TestMutations_postgres(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, dbtest.PostgresURL(t)))
	w.groups, w.projects = w.groups[:1], w.projects[:1]
	golden := sectionsOf(t, mutationsGolden)
	twins, routes := twins(), w.routeRows()
	for _, m := range w.mutations(t) {
		tw := twins[m.Name]
		rows := w.mutationRows(tw, routes)
		if len(rows) == 0 {
			t.Errorf("%s was not run", m.Name)
		}
		for _, r := range rows {
			if line := w.mutationLine(t, m, tw, r); !strings.Contains(golden[tw.title(m)], line) {
				t.Errorf("%s\n got %swant %s", m.Name, line, golden[tw.title(m)])
			}
		}
	}
}

// title is the first line of a mutation's part of the golden file.
func (t twin) title(m *ast.FieldDefinition) string {
	return fmt.Sprintf("%s: %s%s", m.Name, t.route, t.alone)
}

// routeRows are the rows of the permission matrix by their titles.
func (w *world) routeRows() map[string][]row {
	all, out := samples(), map[string][]row{}
	for _, route := range w.kit().Routes() {
		for _, r := range w.rows(route, all) {
			out[r.title()] = append(out[r.title()], r)
		}
	}
	return out
}

// mutationRows are the places in which a mutation is run.
func (w *world) mutationRows(tw twin, routes map[string][]row) []row {
	if tw.route != "" {
		return routes[tw.route]
	}
	var out []row
	for _, p := range map[string][]*place{"": w.instance, "group": w.groups, "project": w.projects}[tw.in] {
		out = append(out, row{place: p})
	}
	return out
}

// mutationLine runs a mutation in a place as everybody.
func (w *world) mutationLine(t *testing.T, m *ast.FieldDefinition, tw twin, r row) string {
	t.Helper()
	line := fmt.Sprintf("  %-10s", r.place.name)
	for _, c := range askers() {
		if c.asked(r) {
			line += fmt.Sprintf("%-6s", w.mutate(t, m, tw, r, c))
		}
	}
	return strings.TrimRight(line, " ") + "\n"
}

// schemaText is the schema of GraphQL that the server shows.
func (w *world) schemaText() *ast.Source {
	answer := httptest.NewRecorder()
	w.http.Handler.ServeHTTP(answer, httptest.NewRequestWithContext(w.tb.Context(), http.MethodGet, "/api/graphql/schema", nil))
	return &ast.Source{Input: answer.Body.String()}
}

// mutations are those of the schema that the server shows.
func (w *world) mutations(t *testing.T) ast.FieldList {
	t.Helper()
	doc, err := parser.ParseSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	found := doc.Definitions.ForName("Mutation")
	if found == nil || len(found.Fields) < 80 {
		t.Fatalf("mutations of the schema: %v", found)
	}
	return found.Fields
}

// mutate runs a mutation as a caller, and the route that does the same, both undone. It returns yes, no, or bad where what was sent is not
// accepted of a caller who may.
func (w *world) mutate(t *testing.T, m *ast.FieldDefinition, tw twin, r row, c column) string {
	t.Helper()
	values := w.more(r.place)
	document := fmt.Sprintf("mutation($in: %s) { %s(input: $in) { errors } }", m.Arguments[0].Type.String(), m.Name)
	q := request{as: c.as, way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": document, "variables": obj{"in": filled(tw.input, values)}}}
	var first *request
	if r.route.Path != "" {
		first = r.before()
	}
	if tw.first != "" {
		method, path, _ := strings.Cut(fill(tw.first, values), " ")
		first = &request{as: "admin", method: method, path: path}
	}
	a := w.undone(q, first)
	var answer struct {
		Data   map[string]*struct{ Errors []string }
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v: %.300s", m.Name, err, a.Body)
	}
	payload := answer.Data[m.Name]
	got := "no"
	switch {
	case a.Code != http.StatusOK || len(answer.Errors) > 0:
		if strings.Contains(a.Body.String(), "Internal server error") {
			t.Errorf("%s in %s as %s: got %.300s\n%s", m.Name, r.place.name, c.title, a.Body, w.logs.last())
		}
	case payload == nil:
		t.Errorf("%s in %s as %s: got %.300s", m.Name, r.place.name, c.title, a.Body)
	case len(payload.Errors) > 0:
		got = "bad"
	default:
		got = "yes"
	}
	if tw.route == "" {
		return got
	}
	rest, missing := r.request()
	if missing != "" {
		t.Fatalf("%s: no value for :%s", r.title(), missing)
	}
	rest.as, rest.way = c.as, c.way
	if tw.body != nil {
		rest.body, _ = filled(tw.body, values).(map[string]any)
	}
	b := w.undone(rest, first)
	refused := slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, b.Code)
	if tw.kept != "" && c.as == "guest" && b.Code == http.StatusOK && got == "no" {
		read := w.send(t.Context(), request{as: "admin", method: http.MethodGet, path: rest.path})
		var was, is map[string]any
		if err := errors.Join(json.Unmarshal(read.Body.Bytes(), &was), json.Unmarshal(b.Body.Bytes(), &is)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(was[tw.kept], is[tw.kept]) {
			t.Errorf("%s: the guest has changed %s, which only others may: %s", tw.route, tw.kept, b.Body)
		}
		return got
	}
	if reason := tw.differs[r.place.name] + tw.differs[c.title]; refused != (got == "no") && reason == "" {
		t.Errorf("%s in %s as %s: got %s %.300s\n%s: got %d %.200s", m.Name, r.place.name, c.title, got, a.Body, tw.route, b.Code, b.Body)
	}
	return got
}

// more returns the values of a place with those that mutations need besides: numbers of things that REST names otherwise.
func (w *world) more(p *place) map[string]string {
	if p.values["mutations"] != "" {
		return p.values
	}
	p.values["mutations"] = "known"
	maps.Copy(p.values, with{"namespace": p.values["full_path"], "mate": "mate"})
	if project := p.values["projects/:id"]; project != "" {
		find := func(name, query string, args ...any) {
			n, err := db.Get[int64](w.tb.Context(), w.db, query, args...)
			if err != nil {
				w.tb.Fatalf("%s of %s: %v", name, p.name, err)
			}
			p.values[name] = strconv.FormatInt(n, 10)
		}
		id, err := strconv.ParseInt(project, 10, 64)
		if err != nil {
			w.tb.Fatal(err)
		}
		find("request id", "SELECT id FROM merge_requests WHERE target_project_id = ? AND iid = 1", id)
		find("label id", "SELECT l.id FROM labels l JOIN projects p ON p.namespace_id = l.namespace_id WHERE p.id = ? AND l.title = ?", id, p.values[":name"])
		find("loose id", "SELECT id FROM issues WHERE project_id = ? AND iid = ?", id, p.values["loose"])
		if p.name != "archived" && p.name != "off" {
			w.do("developer", http.MethodPost, "/projects/"+project+"/issues/"+p.values[":issue_iid"]+"/add_spent_time", obj{"duration": "1h"})
			find("timelog", "SELECT t.id FROM timelogs t JOIN issues i ON i.id = t.issue_id WHERE i.project_id = ? AND i.iid = 1", id)
		}
		w.tells(p, "/projects/"+project+"/merge_requests/1", "diff_refs", "base_sha", "head_sha", "start_sha")
	}
	if own := p.values["own"]; own != "" {
		p.values["own path"], _ = w.do("admin", http.MethodGet, "/projects/"+own, nil)["path_with_namespace"].(string)
	}
	if p.values["epics/:noteable_id"] != "" && p.values["projects/:id"] == "" {
		p.values["cadence"] = w.makes("iterationCadenceCreate", "iterationCadence", obj{"groupPath": p.values["full_path"], "title": "Weeks", "active": true, "automatic": false})
		p.values["iteration"] = w.makes("iterationCreate", "iteration", obj{"groupPath": p.values["full_path"], "iterationsCadenceId": p.values["cadence"], "startDate": "2030-01-01", "dueDate": "2030-01-08"})
	}
	if loose := p.values["loose issue"]; loose != "" {
		i := w.do("admin", http.MethodGet, "/issues/"+loose, nil)
		p.values["loose issue's iid"] = number(i, "iid")
		p.values["loose issue's project"], _ = w.do("admin", http.MethodGet, "/projects/"+number(i, "project_id"), nil)["path_with_namespace"].(string)
	}
	return p.values
}

// tells gives a place texts that are in a part of what the administrator reads, where it may.
func (w *world) tells(p *place, path, part string, names ...string) {
	w.tb.Helper()
	var answer map[string]any
	a := w.send(w.tb.Context(), request{as: "admin", method: http.MethodGet, path: path})
	if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
		w.tb.Fatal(err)
	}
	found, _ := answer[part].(map[string]any)
	for _, name := range names {
		p.values[name], _ = found[name].(string)
	}
}

// makes runs a mutation as the administrator and returns the id of what it made.
func (w *world) makes(mutation, field string, in obj) string {
	w.tb.Helper()
	typ := strings.ToUpper(mutation[:1]) + mutation[1:] + "Input!"
	if mutation == "iterationCreate" {
		typ = "iterationCreateInput!"
	}
	a := w.send(w.tb.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{
		"query": fmt.Sprintf("mutation($in: %s) { made: %s(input: $in) { %s { id } } }", typ, mutation, field), "variables": obj{"in": in},
	}})
	var answer struct {
		Data struct {
			Made map[string]struct{ ID string }
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil || answer.Data.Made[field].ID == "" {
		w.tb.Fatalf("%s: %v: %s", mutation, err, a.Body)
	}
	return answer.Data.Made[field].ID
}

var named = regexp.MustCompile(`\{[^{} ][^{}]*\}`)

// fill puts values of a place into a text where it names them in braces.
func fill(text string, values map[string]string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string { return values[name[1:len(name)-1]] })
}

// filled is fill for all texts of a value.
func filled(v any, values map[string]string) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "number "); ok {
			return json.Number(fill(name, values))
		}
		return fill(v, values)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = filled(v[i], values)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = filled(v[name], values)
		}
		return out
	}
	return v
}
