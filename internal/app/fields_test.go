package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/base/db/dbtest"
)

const fieldsGolden = "testdata/fields.txt"

// maxFieldDepth is how many lists and objects below a root are asked through.
const maxFieldDepth = 2

// fieldDocument asks for the leaves of one object, or of all objects of a list.
type fieldDocument struct {
	text   string
	path   []string // names of the answer that lead to the objects
	leaves []string
}

// fieldWalk makes documents that ask for every field below a root.
type fieldWalk struct {
	schema *ast.Schema
	out    []fieldDocument
	below  map[string]int // how deep a type was asked through below another one
}

// from adds the documents that begin with a selection around %s of a type.
func (g *fieldWalk) from(around, typ string, path []string, depth int) {
	def := g.schema.Types[typ]
	if depth > 0 {
		if at, ok := g.below[typ]; ok && at <= depth {
			return
		}
		g.below[typ] = depth
	}
	var leaves []string
	for _, f := range def.Fields {
		plain := !slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
		if !plain || strings.HasPrefix(f.Name, "__") {
			continue
		}
		switch to := g.schema.Types[f.Type.Name()]; {
		case to.IsLeafType():
			leaves = append(leaves, f.Name)
		case to.IsAbstractType() || depth >= maxFieldDepth:
		case strings.HasSuffix(to.Name, "Connection"):
			if node := to.Fields.ForName("nodes"); node != nil && !g.schema.Types[node.Type.Name()].IsAbstractType() {
				g.from(fmt.Sprintf(around, f.Name+"(first: 20) { nodes { %s } }"), node.Type.Name(), append(slices.Clone(path), f.Name, "nodes"), depth+1)
			}
		default:
			g.from(fmt.Sprintf(around, f.Name+" { %s }"), to.Name, append(slices.Clone(path), f.Name), depth+1)
		}
	}
	for part := range slices.Chunk(leaves, 40) {
		g.out = append(g.out, fieldDocument{fmt.Sprintf(around, strings.Join(part, " ")), path, part})
	}
}

// objectsAt returns the objects of an answer at a path.
func objectsAt(v any, path []string) []map[string]any {
	switch v := v.(type) {
	case []any:
		var out []map[string]any
		for _, one := range v {
			out = append(out, objectsAt(one, path)...)
		}
		return out
	case map[string]any:
		if len(path) == 0 {
			return []map[string]any{v}
		}
		return objectsAt(v[path[0]], path[1:])
	}
	return nil
}

// TestFields asks for every field of what is in a place as everybody, and writes down who gets a value where not all do who see the object: what is
// secret, or for few. The attack: a field of an object that many may read gives what few may (CVE-2025-2246).
func TestFields(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("# Fields that have a value for these callers alone, of those who see the object.\n")
	for _, p := range []*place{w.projects[0], w.projects[2]} {
		text.WriteString(w.fieldsOf(t, schema, p))
	}
	compareGolden(t, fieldsGolden, text.String())
}

// TestFields_postgres asks for every field of what is in a place on the other engine: the answers are those of the golden file.
func TestFields_postgres(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, dbtest.PostgresURL(t)))
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(fieldsGolden)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.fieldsOf(t, schema, w.projects[0]); !strings.Contains(string(golden), got) {
		t.Errorf("got %s\nwant what stands in %s", got, fieldsGolden)
	}
}

// fieldsOf asks for every field of what is in a project as everybody.
func (w *world) fieldsOf(t *testing.T, schema *ast.Schema, p *place) string {
	t.Helper()
	values := w.more(p)
	w.do("developer", http.MethodPost, "/projects/"+values["projects/:id"]+"/jobs/"+values["manual job"]+"/play", obj{"job_variables_attributes": []obj{{"key": "GIVEN", "value": "for few"}}})
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n", p.name)
	below := map[string]int{"Project": 0, "Group": 0, "UserCore": 0} // which stand everywhere, and are roots
	for _, root := range []struct{ around, typ, path string }{
		{`{ project(fullPath: "{full_path}") { %s } }`, "Project", "project"},
		{`{ project(fullPath: "{full_path}") { issue(iid: "1") { %s } } }`, "Issue", "project issue"},
		{`{ project(fullPath: "{full_path}") { issue(iid: "{confidential}") { %s } } }`, "Issue", "project issue"},
		{`{ project(fullPath: "{full_path}") { mergeRequest(iid: "1") { %s } } }`, "MergeRequest", "project mergeRequest"},
		{`{ project(fullPath: "{full_path}") { pipeline(iid: "1") { %s } } }`, "Pipeline", "project pipeline"},
		{`{ project(fullPath: "{full_path}") { job(id: "gid://gitlab/Ci::Build/{manual job}") { %s } } }`, "CiJob", "project job"},
		{`{ package(id: "gid://gitlab/Packages::Package/{:package_id}") { %s } }`, "PackageDetailsType", "package"},
		{`{ runner(id: "gid://gitlab/Ci::Runner/{:runner_id}") { %s } }`, "CiRunner", "runner"},
		{`{ runner(id: "gid://gitlab/Ci::Runner/{runners/:id}") { %s } }`, "CiRunner", "runner"},
		{`{ group(fullPath: "{group path}") { %s } }`, "Group", "group"},
		{`{ group(fullPath: "{group path}") { epic(iid: "1") { %s } } }`, "Epic", "group epic"},
		{`{ user(username: "mate") { %s } }`, "UserCore", "user"},
		{`{ currentUser { %s } }`, "UserCore", "currentUser"},
		{`{ metadata { %s } }`, "Metadata", "metadata"},
		{`{ ciVariables { nodes { %s } } }`, "CiInstanceVariable", "ciVariables nodes"},
		{`{ runners { nodes { %s } } }`, "CiRunner", "runners nodes"},
	} {
		values["group path"], _, _ = strings.Cut(values["full_path"], "/")
		g := &fieldWalk{schema: schema, below: below}
		g.from(fill(root.around, values), root.typ, strings.Fields(root.path), 0)
		fmt.Fprintf(&text, "\n  %s\n%s", fill(root.around, with{"full_path": "P", "group path": "G", "confidential": "2", "manual job": "J", ":package_id": "K", ":runner_id": "of project", "runners/:id": "of instance"}), w.fieldTable(t, g.out))
	}
	return text.String()
}

// fieldTable asks documents as everybody and says who gets a value of what.
func (w *world) fieldTable(t *testing.T, documents []fieldDocument) string {
	t.Helper()
	callers := askers()
	seen := map[string][]string{}
	var order []string
	note := func(key, caller string) {
		if _, ok := seen[key]; !ok {
			order = append(order, key)
		}
		if !slices.Contains(seen[key], caller) {
			seen[key] = append(seen[key], caller)
		}
	}
	for _, c := range callers {
		if c.as == "blocked" {
			continue
		}
		for _, d := range documents {
			a := w.send(t.Context(), request{as: c.as, way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": d.text}})
			var answer struct {
				Data   map[string]any
				Errors []struct{ Message string }
			}
			if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil || a.Code != http.StatusOK || answer.Data == nil || strings.Contains(a.Body.String(), "Internal server error") {
				t.Fatalf("%s as %s: got %d %.1300s, %v\n%s", d.text, c.title, a.Code, a.Body, err, w.logs.last())
			}
			w.noSecrets(d.text, a)
			key := strings.Join(d.path, ".")
			for _, o := range objectsAt(answer.Data, d.path) {
				note(key, c.title)
				for _, leaf := range d.leaves {
					if v := o[leaf]; v != nil && !empty(v) {
						note(key+"."+leaf, c.title)
					}
				}
			}
		}
	}
	slices.Sort(order)
	var out strings.Builder
	for _, key := range order {
		above := key[:max(strings.LastIndexByte(key, '.'), 0)]
		for above != "" && seen[above] == nil {
			above = above[:max(strings.LastIndexByte(above, '.'), 0)]
		}
		if above != "" && !slices.Equal(seen[key], seen[above]) || above == "" && len(seen[key]) < len(callers)-1 {
			fmt.Fprintf(&out, "    %s: %s\n", strings.ReplaceAll(key, ".nodes", ""), strings.Join(seen[key], " "))
		}
	}
	return out.String()
}

// empty reports whether a value says nothing: a list without entries, no, or none.
func empty(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0 || v == false || v == float64(0) || v == ""
}
