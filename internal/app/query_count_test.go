package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/base/db"
)

const queryListsGolden = "testdata/query_lists.txt"

// queryList is a list of the schema below a root. %d in its text stands for the size of the page and %s for the fields of nodes.
type queryList struct {
	name, text, typ string
	path            []string // names of the answer that lead to the nodes
}

// TestQueries_statements counts the SQL statements of every list of the schema at one node and at a hundred, and of every field that reads more for
// nodes of such a list. There are as many but for two reasons: a common statement has bounds, and the first node may bring less than others, where the
// number at fifty nodes is compared. The golden file has the lists that the test does not fill.
func TestQueries_statements(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	values, path := w.planned(1)
	w.fill(path, "many", many)
	w.fillQueries(path, values)
	full := map[string]*queryList{} // a list with a hundred nodes of each type
	short := "# Lists with fewer than a hundred nodes in TestQueries_statements.\n"
	for _, l := range queryLists(schema, values) {
		switch nodes := w.queryCost(t, l, strings.Join(leavesOf(schema, l.typ, 20), " "), "values"); {
		case nodes < many:
			short += l.name + "\n"
		case full[l.typ] == nil:
			full[l.typ] = l
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(full)) {
		if slices.Contains(schema.Types[typ].Interfaces, "User") && typ != "UserCore" {
			continue // its fields are those of UserCore
		}
		for _, f := range schema.Types[typ].Fields {
			if fields := fieldsBelow(schema, f); fields != "" && typ+"."+f.Name != "Project.pipeline" && typ+"."+f.Name != "Project.environment" { // which need one of two arguments
				w.queryCost(t, full[typ], fields, f.Name)
			}
		}
	}
	if len(full) < 30 {
		t.Errorf("only %d types have a list with %d nodes", len(full), many)
	}
	compareGolden(t, queryListsGolden, short)
}

// queryLists are the lists that need no more than the size of a page, of the roots and of what they lead to.
func queryLists(schema *ast.Schema, values map[string]string) []*queryList {
	var out []*queryList
	group, _, _ := strings.Cut(values["full_path"], "/")
	values["group path"] = group
	for _, root := range []struct{ typ, around, path string }{
		{"Query", `{ %s }`, ""},
		{"UserCore", `{ currentUser { %s } }`, "currentUser"},
		{"Project", `{ project(fullPath: "{full_path}") { %s } }`, "project"},
		{"Repository", `{ project(fullPath: "{full_path}") { repository { %s } } }`, "project repository"},
		{"Tree", `{ project(fullPath: "{full_path}") { repository { tree { %s } } } }`, "project repository tree"},
		{"Issue", `{ project(fullPath: "{full_path}") { issue(iid: "{:issue_iid}") { %s } } }`, "project issue"},
		{"MergeRequest", `{ project(fullPath: "{full_path}") { mergeRequest(iid: "1") { %s } } }`, "project mergeRequest"},
		{"Pipeline", `{ project(fullPath: "{full_path}") { pipeline(iid: "{many iid}") { %s } } }`, "project pipeline"},
		{"Board", `{ project(fullPath: "{full_path}") { board(id: "gid://gitlab/Board/{:board_id}") { %s } } }`, "project board"},
		{"Snippet", `{ snippets(ids: ["gid://gitlab/Snippet/{:snippet_id}"]) { nodes { %s } } }`, "snippets nodes"},
		{"PackageDetailsType", `{ package(id: "gid://gitlab/Packages::Package/{:package_id}") { %s } }`, "package"},
		{"CiRunner", `{ runner(id: "gid://gitlab/Ci::Runner/{:runner_id}") { %s } }`, "runner"},
		{"Group", `{ group(fullPath: "{group path}") { %s } }`, "group"},
		{"Epic", `{ group(fullPath: "{group path}") { epic(iid: "1") { %s } } }`, "group epic"},
	} {
		for _, f := range schema.Types[root.typ].Fields {
			to := schema.Types[f.Type.Name()]
			if !strings.HasSuffix(to.Name, "Connection") || slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil }) {
				continue
			}
			more := ""
			if root.typ == "Query" { // which refuses these without any filter
				more = map[string]string{"issues": ", state: opened", "timelogs": `, username: "developer"`}[f.Name]
			}
			out = append(out, &queryList{
				name: root.typ + "." + f.Name, typ: to.Fields.ForName("nodes").Type.Name(), path: append(strings.Fields(root.path), f.Name, "nodes"),
				text: strings.Replace(fill(root.around, values), "%s", fmt.Sprintf("%s(first: %%d%s) { nodes { %%s } }", f.Name, more), 1),
			})
		}
	}
	return out
}

// leavesOf are fields of a type that are values and need nothing, some at most.
func leavesOf(schema *ast.Schema, typ string, most int) []string {
	out := []string{"__typename"}
	for _, f := range schema.Types[typ].Fields {
		need := slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
		if schema.Types[f.Type.Name()].IsLeafType() && !need && len(out) < most {
			out = append(out, f.Name)
		}
	}
	return out
}

// fieldsBelow asks for a few values of what a field leads to; "" for one that is a value, or needs more than that.
func fieldsBelow(schema *ast.Schema, f *ast.FieldDefinition) string {
	to := schema.Types[f.Type.Name()]
	switch {
	case to.IsLeafType(), slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil }):
		return ""
	case strings.HasSuffix(to.Name, "Connection"):
		return fmt.Sprintf("%s(first: 5) { nodes { %s } }", f.Name, strings.Join(leavesOf(schema, to.Fields.ForName("nodes").Type.Name(), 5), " "))
	}
	return fmt.Sprintf("%s { %s }", f.Name, strings.Join(leavesOf(schema, to.Name, 8), " "))
}

// queryCost asks for one node and for a hundred, compares the statements and returns how many nodes there are.
func (w *world) queryCost(t *testing.T, l *queryList, fields, name string) (nodes int) {
	t.Helper()
	count := func(first int) int {
		n, statements := w.askCounted(t, fmt.Sprintf(l.text, first, fields), l.path)
		nodes = max(nodes, n)
		return statements
	}
	one, all := count(1), count(many)
	const bounds = 8 // statements that are cut where SQLite takes no longer ones
	for tries := 0; nodes >= many && all > one && tries < 3; tries++ {
		if half := count(many / 2); all <= half+bounds && all <= one+3*bounds {
			break
		} else if tries == 2 {
			t.Errorf("%s, %s: %d statements for one node, %d for %d, %d for %d", l.name, name, one, half, many/2, all, many)
		}
		one, all = min(one, count(1)), min(all, count(many))
	}
	if nodes >= many {
		t.Logf("%-40s %-30s %2d, %2d", l.name, name, one, all)
	}
	return nodes
}

// askCounted sends a document as the administrator and returns how many nodes and statements the answer took.
func (w *world) askCounted(t *testing.T, document string, path []string) (nodes, statements int) {
	t.Helper()
	statements = math.MaxInt
	for range 2 { // the first one fills caches
		before := w.db.Statements()
		a := w.send(t.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": document}})
		statements = min(statements, int(w.db.Statements()-before))
		var answer struct {
			Data   map[string]any
			Errors []struct{ Message string }
		}
		if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil || len(answer.Errors) > 0 {
			t.Errorf("%s: got %d %.300s %.100v, %v\n%s", document, a.Code, a.Body, answer.Errors, err, w.logs.last())
			return 0, 0
		}
		nodes = len(objectsAt(answer.Data, path))
	}
	return nodes, statements
}

// fillQueries makes a hundred of what fill leaves out, by copies of rows.
func (w *world) fillQueries(path string, values map[string]string) {
	project, group := values["projects/:id"], values["groups/:id"]
	const (
		person = "(SELECT id FROM users WHERE username = 'many-' || (k - 1))"
		mark   = "(SELECT id FROM labels WHERE title = 'many-' || (k - 1))"
		now    = "(SELECT created_at FROM users WHERE id = 1)"
	)
	issue, request, job := values["issues/:noteable_id"], values["request id"], values["manual job"]
	one, of := with{"issue_id": issue, "user_id": person}, with{"merge_request_id": request, "user_id": person}
	w.newRows("issue_assignees", one)
	w.newRows("merge_request_assignees", of)
	w.newRows("merge_request_reviewers", joined(of, with{"state": "'unreviewed'", "created_at": now}))
	w.newRows("approvals", joined(of, with{"head_sha": "(SELECT head_sha FROM merge_requests WHERE id = " + request + ")", "created_at": now}))
	w.newRows("label_links", with{"target_type": "'Issue'", "target_id": issue, "label_id": mark})
	w.newRows("label_links", with{"target_type": "'MergeRequest'", "target_id": request, "label_id": mark})
	w.newRows("stars", with{"user_id": "1", "project_id": "(SELECT id FROM projects WHERE path = 'p-many-' || (k - 1))", "created_at": now})
	w.copies("award_emoji", "awardable_type = 'MergeRequest' AND awardable_id = "+request, with{"user_id": person})
	w.newRows("issue_links", with{"source_id": "(SELECT MAX(id) FROM issues) + 1 - k", "target_id": issue, "link_type": "'blocks'", "created_at": now, "updated_at": now})
	w.newRows("runner_projects", with{"runner_id": values[":runner_id"], "project_id": "(SELECT id FROM projects WHERE path = 'p-many-' || (k - 1))", "created_at": now})
	w.copies("notes", "noteable_type = 'Epic' AND NOT system", with{"discussion_id": "printf('%040x', k)"})
	w.copies("epics", "group_id = "+group, with{"iid": "1000 + k"})
	w.copies("epic_issues", "1 = 1", with{"issue_id": "(SELECT MAX(id) FROM issues) + 1 - k"})
	w.copies("board_lists", "label_id IS NOT NULL AND board_id = "+values[":board_id"], with{"label_id": mark})
	w.copies("pipelines", "project_id = "+project, with{"iid": "1000 + k"})
	w.copies("commit_statuses", "id = "+job, with{"name": "'job ' || k", "stage": "'stage ' || k"})
	w.copies("jobs", "job_id = "+job, with{"job_id": "(SELECT MAX(id) FROM commit_statuses) - 100 + k", "token_digest": "NULL"})
	w.copies("timelogs", "id = "+values["timelog"], nil)
	w.copies("iteration_cadences", "1 = 1", nil)
	w.copies("iterations", "1 = 1", with{"iid": "1000 + k"})
	w.copies("pipeline_schedules", "project_id = "+project, nil)
	w.copies("topics", "1 = 1", with{"name": "'topic ' || k", "name_fold": "'topic ' || k"})
	w.copies("emails", "user_id = 1", with{"email": "'root' || k || '@example.com'", "email_fold": "'root' || k || '@example.com'", "is_primary": "false"})
	w.copies("packages", "id = "+values[":package_id"], with{"version": "'2.' || k"})
	w.copies("package_files", "id = "+values[":package_file_id"], with{"name": "'file ' || k"})
	w.exec("UPDATE jobs SET runner_id = " + values[":runner_id"])
	w.copies("runners", "runner_type = 'instance_type'", with{"digest": "'digest ' || k"})
	w.copies("runner_managers", "1 = 1", with{"runner_id": values[":runner_id"], "system_id": "'s_' || k"})
	w.copies("approval_rules", "merge_request_id = "+request, with{"name": "'rule ' || k"})
	iid, err := db.Get[int64](w.tb.Context(), w.db, "SELECT p.iid FROM pipelines p JOIN commit_statuses s ON s.pipeline_id = p.id WHERE s.id = ?", job)
	if err != nil {
		w.tb.Fatal(err)
	}
	values["many iid"] = fmt.Sprint(iid)
	for i := range many {
		for _, of := range []string{path, "/groups/" + group} {
			w.do("admin", http.MethodPost, of+"/variables", obj{"key": fmt.Sprint("MANY_", i), "value": "value"})
		}
	}
}

// numbers counts to a hundred.
const numbers = "WITH RECURSIVE numbers (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < 100)\n"

// newRows adds a hundred rows to a table: expressions over k, the number of the row.
func (w *world) newRows(table string, columns with) {
	w.tb.Helper()
	var values []string
	names := slices.Sorted(maps.Keys(columns))
	for _, name := range names {
		values = append(values, columns[name])
	}
	w.exec(numbers + fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM numbers WHERE true ON CONFLICT DO NOTHING", table, strings.Join(names, ", "), strings.Join(values, ", ")))
}

// copies adds a hundred rows to a table that are like the last one that a condition finds, but for some columns: expressions over k, the number of the copy.
func (w *world) copies(table, where string, differs with) {
	w.tb.Helper()
	names, err := db.Select[string](w.tb.Context(), w.db, "SELECT name FROM pragma_table_info(?) WHERE name <> 'id' ORDER BY cid", table)
	if err != nil || len(names) == 0 {
		w.tb.Fatalf("columns of %s: %v, %v", table, names, err)
	}
	values := slices.Clone(names)
	for i, name := range values {
		values[i] = "x." + name
		if v, ok := differs[name]; ok {
			values[i] = v
		}
	}
	w.exec(numbers + fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s x CROSS JOIN numbers WHERE x.rowid = (SELECT MAX(rowid) FROM %s WHERE %s)",
		table, strings.Join(names, ", "), strings.Join(values, ", "), table, table, where))
	n, err := db.Get[int64](w.tb.Context(), w.db, "SELECT COUNT(*) FROM "+table)
	if err != nil || n < many {
		w.tb.Fatalf("copies of %s where %s: %d, %v", table, where, n, err)
	}
}

// joined is one set of values of two.
func joined(a, b with) with {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
