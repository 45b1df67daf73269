package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// argumentReasons has the arguments that change no answer of the test's world, each with its reason.
const argumentReasons = "testdata/arguments.txt"

// arguments asks for fields with one argument after the other.
type arguments struct {
	*world
	schema *ast.Schema
	places map[string][]string // by type: documents with %s where its fields stand
	texts  []argumentText      // values that were seen
	list   string              // the id of a list of a board
	ids    []string            // global ids that were seen, some of each model
}

// argumentText is a text that a field of an object had.
type argumentText struct{ typ, field, value string }

// What an argument is tried with at most.
const (
	maxArgumentPlaces = 3
	maxArgumentValues = 40
)

// TestArguments gives every argument of every field that queries lead to several values, one after the other: where all answers are the same, the
// argument does nothing, or is in the list of reasons. Fields are asked for in several places, as several callers.
func TestArguments(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	values, path := w.planned(4)
	w.variety(path, values)
	a := &arguments{world: w, schema: schema, places: map[string][]string{"Query": {"{ %s }"}}}
	a.explore(values)
	for _, id := range a.ids {
		if strings.HasPrefix(id, "gid://gitlab/List/") {
			a.list = fmt.Sprintf("%q", id)
		}
	}
	reasons := explained(t, argumentReasons)
	tried := 0
	for _, typ := range slices.Sorted(maps.Keys(a.places)) {
		if typ != "UserCore" && slices.Contains(schema.Types[typ].Interfaces, "User") {
			continue // its fields are those of UserCore
		}
		for _, f := range schema.Types[typ].Fields {
			paged := f.Arguments.ForName("after") != nil && a.several(typ, f)
			for _, arg := range f.Arguments {
				if slices.Contains([]string{"after", "before", "first", "last"}, arg.Name) && !paged {
					continue
				}
				for _, part := range a.parts(arg.Type, arg.Name, "%s") {
					tried++
					name := typ + "." + f.Name + "(" + part.name + ")"
					works := a.works(typ, f, arg, part)
					if works && reasons[name] != "" { // ids, and what they are tried with, differ from run to run
						t.Logf("%s changes answers: may it be taken off %s?", name, argumentReasons)
					} else if !works && reasons[name] == "" {
						t.Errorf("%s changes no answer", name)
					}
					delete(reasons, name)
				}
			}
		}
	}
	for name := range reasons {
		t.Errorf("%s names %s, which was not asked for", argumentReasons, name)
	}
	if t.Logf("%d arguments", tried); tried < 500 {
		t.Errorf("only %d arguments were tried", tried)
	}
}

// variety gives the places what arguments tell apart.
func (w *world) variety(path string, values map[string]string) {
	group := "/groups/" + values["groups/:id"]
	below := number(w.do("owner", http.MethodPost, "/groups", obj{"name": "Below", "path": "below", "parent_id": values["groups/:id"]}), "id")
	for _, in := range []string{below, values["groups/:id"]} {
		p := number(w.do("owner", http.MethodPost, "/projects", obj{"name": "Deep " + in, "namespace_id": in, "initialize_with_readme": true, "topics": []string{"shopping"}}), "id")
		w.do("owner", http.MethodPost, "/projects/"+p+"/issues", obj{"title": "Deep"})
		w.do("owner", http.MethodPost, "/projects/"+p+"/repository/branches", obj{"branch": "deep", "ref": "main"})
		w.do("owner", http.MethodPost, "/projects/"+p+"/merge_requests", obj{"title": "Deep", "source_branch": "deep", "target_branch": "main"})
		if in != below {
			w.do("owner", http.MethodPost, "/projects/"+p+"/archive", nil)
		}
	}
	w.do("owner", http.MethodPost, "/groups/"+below+"/labels", obj{"name": "deep", "color": "#00ff00"})
	above := number(w.do("planner", http.MethodPost, group+"/epics", obj{"title": "Above", "labels": "above"}), "id")
	w.do("owner", http.MethodPost, group+"/epics", obj{"title": "Child", "parent_id": above, "labels": "child"})
	w.do("owner", http.MethodPost, "/groups/"+below+"/epics", obj{"title": "Deep", "parent_id": above})
	for _, in := range []string{group, path, "/groups/" + below} {
		w.do("owner", http.MethodPost, in+"/milestones", obj{"title": "Dated " + in, "start_date": "2030-01-01", "due_date": "2030-01-05"})
	}
	for _, in := range []string{group, path, "/admin/ci"} {
		w.do("admin", http.MethodPost, in+"/variables", obj{"key": "ANOTHER", "value": "value"})
		w.do("admin", http.MethodPost, in+"/variables", obj{"key": "ZEBRA", "value": "value"})
	}
	w.do("owner", http.MethodPost, path+"/repository/commits", obj{"branch": "main", "commit_message": "Folders", "actions": []obj{
		{"action": "create", "file_path": "one/a.md", "content": "a"}, {"action": "create", "file_path": "two/b.md", "content": "b"},
	}})
	w.do("owner", http.MethodPut, path+"/packages/maven/shop/app/maven-metadata.xml", obj{"content": "of all versions"})
	w.exec("UPDATE packages SET status = 'hidden' WHERE kind = 'debian'")
	w.exec("UPDATE iterations SET title = 'Week', title_fold = 'week'")
	issue, request := path+"/issues/"+values[":issue_iid"], path+"/merge_requests/1"
	w.do("owner", http.MethodPost, issue+"/award_emoji", obj{"name": "heart"})
	w.do("admin", http.MethodPost, issue+"/award_emoji", obj{"name": "heart"})
	w.do("developer", http.MethodPost, issue+"/add_spent_time", obj{"duration": "2h"})
	w.do("admin", http.MethodPost, request+"/award_emoji", obj{"name": "thumbsup"})
	w.exec("UPDATE issues SET weight = iid, severity = CASE WHEN iid % 2 = 0 THEN 'high' ELSE 'low' END, issue_type = CASE WHEN iid % 3 = 0 THEN 'incident' ELSE issue_type END WHERE iid > 2")
	w.do("owner", http.MethodPut, path+"/issues/3", obj{"state_event": "close", "add_labels": "a label"})
	w.do("owner", http.MethodPut, path+"/merge_requests/4", obj{"add_labels": "a label"})
	w.do("owner", http.MethodPut, path+"/issues/4", obj{"milestone_id": 0})
	w.do("owner", http.MethodPut, path+"/merge_requests/2", obj{"milestone_id": 0, "state_event": "close"})
	w.exec("UPDATE merge_requests SET merged_at = created_at, state = 'merged' WHERE iid = 3 AND target_project_id = " + values["projects/:id"])
	w.exec("UPDATE issues SET health_status = CASE WHEN iid % 2 = 0 THEN 'on_track' ELSE 'at_risk' END, due_date = '2030-01-0' || (iid % 9 + 1) WHERE iid > 2")
}

// explore finds places where fields of every type can be asked for, and values in them.
func (a *arguments) explore(values map[string]string) {
	values["group path"], _, _ = strings.Cut(values["full_path"], "/")
	type step struct {
		typ, around string
		depth       int
	}
	queue := []step{{"Query", "{ %s }", 0}}
	for _, root := range [][2]string{
		{"Project", `{ project(fullPath: "{full_path}") { %s } }`},
		{"Issue", `{ project(fullPath: "{full_path}") { issue(iid: "{:issue_iid}") { %s } } }`},
		{"MergeRequest", `{ project(fullPath: "{full_path}") { mergeRequest(iid: "1") { %s } } }`},
		{"Pipeline", `{ project(fullPath: "{full_path}") { pipeline(iid: "1") { %s } } }`},
		{"Repository", `{ project(fullPath: "{full_path}") { repository { %s } } }`},
		{"Board", `{ project(fullPath: "{full_path}") { board(id: "gid://gitlab/Board/{:board_id}") { %s } } }`},
		{"CiJob", `{ project(fullPath: "{full_path}") { job(id: "gid://gitlab/Ci::Build/{manual job}") { %s } } }`},
		{"CiRunner", `{ runner(id: "gid://gitlab/Ci::Runner/{:runner_id}") { %s } }`},
		{"PackageDetailsType", `{ package(id: "gid://gitlab/Packages::Package/{:package_id}") { %s } }`},
		{"Group", `{ group(fullPath: "{group path}") { %s } }`},
		{"Epic", `{ group(fullPath: "{group path}") { epic(iid: "1") { %s } } }`},
		{"UserCore", `{ user(username: "developer") { %s } }`},
		{"UserCore", `{ user(username: "owner") { %s } }`},
		{"Namespace", `{ namespace(fullPath: "{group path}") { %s } }`},
	} {
		queue = append(queue, step{root[0], fill(root[1], values), 1})
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		def := a.schema.Types[at.typ]
		if def.IsAbstractType() {
			for _, possible := range a.schema.GetPossibleTypes(def) {
				queue = append(queue, step{possible.Name, fmt.Sprintf(at.around, "... on "+possible.Name+" { %s }"), at.depth})
			}
			continue
		}
		if len(a.places[at.typ]) >= maxArgumentPlaces && at.depth > 1 || slices.Contains(a.places[at.typ], at.around) && at.typ != "Query" {
			continue
		}
		text, ok := a.ask("admin", fmt.Sprintf(at.around, strings.Join(leavesOf(a.schema, at.typ, 60), " ")))
		if !ok {
			continue
		}
		if a.see(at.typ, text); at.typ != "Query" {
			a.places[at.typ] = append(a.places[at.typ], at.around)
		}
		if at.depth >= 4 {
			continue
		}
		for _, f := range def.Fields {
			to := a.schema.Types[f.Type.Name()]
			if to.IsLeafType() || strings.HasPrefix(f.Name, "__") || slices.ContainsFunc(f.Arguments, needed) {
				continue
			}
			if node := to.Fields.ForName("nodes"); node != nil {
				queue = append(queue, step{node.Type.Name(), fmt.Sprintf(at.around, f.Name+"(first: 4) { nodes { %s } }"), at.depth + 1})
			}
			queue = append(queue, step{to.Name, fmt.Sprintf(at.around, f.Name+" { %s }"), at.depth + 1})
		}
	}
}

// needed reports whether a field cannot be asked for without an argument.
func needed(arg *ast.ArgumentDefinition) bool { return arg.Type.NonNull && arg.DefaultValue == nil }

// ask sends a document and returns the data of the answer; it is not ok where there are errors.
func (a *arguments) ask(as, document string) (data string, ok bool) {
	answer := a.send(a.tb.Context(), request{as: as, way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": document}})
	var got struct {
		Data   json.RawMessage
		Errors []any
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || strings.Contains(answer.Body.String(), "Internal server error") {
		a.tb.Errorf("%s: got %d %.300s, %v", document, answer.Code, answer.Body, err)
	}
	return string(got.Data), got.Errors == nil && got.Data != nil
}

// see keeps the texts and ids of an answer with objects of a type.
func (a *arguments) see(typ, data string) {
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(key, v[key])
			}
		case []any:
			for _, one := range v {
				walk(name, one)
			}
		case string:
			if model, ok := strings.CutPrefix(v, "gid://gitlab/"); ok {
				model, _, _ = strings.Cut(model, "/")
				same := slices.DeleteFunc(slices.Clone(a.ids), func(id string) bool { return !strings.HasPrefix(id, "gid://gitlab/"+model+"/") })
				if len(same) < 8 && !slices.Contains(same, v) {
					a.ids = append(a.ids, v)
				}
				return
			}
			same := slices.DeleteFunc(slices.Clone(a.texts), func(t argumentText) bool { return t.typ != typ || t.field != name })
			if len(v) < 80 && v != "" && name != "__typename" && len(same) < 12 && !slices.Contains(same, argumentText{typ, name, v}) {
				a.texts = append(a.texts, argumentText{typ, name, v})
			}
		}
	}
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		a.tb.Fatal(err)
	}
	walk("", v)
}

// argumentPart is an argument, or a value inside one that is an object.
type argumentPart struct {
	name   string
	around string // the value of the argument, with %s for that of the part
	typ    *ast.Type
}

// parts are what an argument is made of.
func (a *arguments) parts(t *ast.Type, name, around string) (out []argumentPart) {
	def := a.schema.Types[t.Name()]
	if t.Elem != nil {
		around = fmt.Sprintf(around, "[%s]")
	}
	if def.Kind != ast.InputObject {
		return []argumentPart{{name, around, t}}
	}
	for _, f := range def.Fields {
		beside := ""
		for _, other := range def.Fields {
			if other.Type.NonNull && other != f { // the ends of a time
				beside += map[string]string{"start": `start: "2000-01-01", `, "end": `end: "2100-01-01", `}[other.Name]
			}
		}
		if a.schema.Types[f.Type.Name()].Kind != ast.InputObject { // lists of objects in objects are the same objects
			out = append(out, a.parts(f.Type, name+"."+f.Name, fmt.Sprintf(around, "{"+beside+f.Name+": %s}"))...)
		}
	}
	return out
}

// works reports whether two values of a part of an argument ever give different answers.
func (a *arguments) works(typ string, f *ast.FieldDefinition, arg *ast.ArgumentDefinition, part argumentPart) bool {
	for _, as := range []string{"admin", "developer"} {
		for _, around := range a.places[typ] {
			first, values := "", a.candidates(typ, f, arg, around, as, part)
			for _, value := range values[:min(len(values), maxArgumentValues)] {
				call := f.Name + "(" + strings.Join(append(a.beside(typ, f, arg), arg.Name+": "+fmt.Sprintf(part.around, value)), ", ") + ")" + a.selection(f)
				got, ok := a.ask(as, fmt.Sprintf(around, call))
				switch {
				case !ok:
				case first == "":
					first = got
				case got != first:
					return true
				}
			}
		}
	}
	return false
}

// beside are arguments that others are given with.
func (a *arguments) beside(typ string, f *ast.FieldDefinition, arg *ast.ArgumentDefinition) (out []string) {
	add := func(name, value string) {
		if arg.Name != name && f.Arguments.ForName(name) != nil {
			out = append(out, name+": "+value)
		}
	}
	for _, other := range f.Arguments {
		if needed(other) && other != arg {
			out = append(out, other.Name+": "+a.needs(typ, f, other))
		}
	}
	switch {
	case arg.Name == "in" && typ == "Query": // where shorter texts are compared as a whole
		add("search", `"Deep"`)
	case arg.Name == "in":
		add("search", `"i"`)
	case typ == "Query" && f.Name == "issues":
		add("state", "all")
	case typ == "Query" && f.Name == "timelogs":
		add("username", `"developer"`)
	}
	return out
}

// needs is the value of an argument that a field cannot do without.
func (a *arguments) needs(typ string, f *ast.FieldDefinition, arg *ast.ArgumentDefinition) string {
	if value, ok := map[string]string{
		"Query.ciConfig(content)": `"job: {script: [a]}"`, "Repository.blobs(paths)": `["README.md"]`, "Repository.branchNames(limit)": "5",
		"Repository.branchNames(offset)": "0", "Repository.branchNames(searchPattern)": `"*"`, "Query.boardList(id)": a.list,
	}[typ+"."+f.Name+"("+arg.Name+")"]; ok {
		return value
	}
	if name, path := arg.Name, a.projects[0].values["full_path"]; strings.HasSuffix(strings.ToLower(name), "path") {
		return fmt.Sprintf("%q", path)
	}
	return `"1"`
}

// selection asks for what tells answers apart.
func (a *arguments) selection(f *ast.FieldDefinition) string {
	to := a.schema.Types[f.Type.Name()]
	node := to.Fields.ForName("nodes")
	switch {
	case to.IsLeafType():
		return ""
	case node != nil:
		return " { " + strings.Join(leavesOf(a.schema, to.Name, 9), " ") + " nodes { " + a.leaves(node.Type.Name()) + " } }"
	}
	return " { " + a.leaves(to.Name) + " }"
}

// leaves are values of a type; of one that has several, of each of these.
func (a *arguments) leaves(typ string) string {
	def := a.schema.Types[typ]
	if !def.IsAbstractType() {
		own := leavesOf(a.schema, typ, 30)
		for _, f := range def.Fields {
			if node := a.schema.Types[f.Type.Name()].Fields.ForName("nodes"); node != nil && len(own) < 6 && !slices.ContainsFunc(f.Arguments, needed) {
				own = append(own, f.Name+"(first: 20) { nodes { "+strings.Join(leavesOf(a.schema, node.Type.Name(), 5), " ")+" } }")
			}
		}
		return strings.Join(own, " ")
	}
	var out []string
	for i, possible := range a.schema.GetPossibleTypes(def) {
		var own []string
		for _, leaf := range leavesOf(a.schema, possible.Name, 12) {
			own = append(own, fmt.Sprintf("%s%d: %s", strings.ToLower(strings.Trim(leaf, "_")), i, leaf))
		}
		out = append(out, "... on "+possible.Name+" { "+strings.Join(own, " ")+" }")
	}
	return strings.Join(out, " ")
}

// candidates are values of an argument, the likely ones first.
func (a *arguments) candidates(typ string, f *ast.FieldDefinition, arg *ast.ArgumentDefinition, around, as string, part argumentPart) (out []string) {
	def := a.schema.Types[part.typ.Name()]
	name := part.name[strings.LastIndexByte(part.name, '.')+1:]
	switch {
	case name == "after" || name == "before":
		return a.cursors(typ, f, around, as)
	case def.Kind == ast.Enum:
		for _, v := range def.EnumValues {
			out = append(out, v.Name)
		}
		return out
	}
	switch def.Name {
	case "Boolean":
		return []string{"true", "false"}
	case "Int", "Float":
		return []string{"0", "1", "2", "3", "100"}
	case "Time", "Date", "ISO8601Date":
		return []string{`"2000-01-01"`, `"2100-01-01"`, `"2030-01-03"`, `"2026-01-01"`}
	case "JSON", "Duration", "Color", "Upload", "UntrustedRegexp":
		return []string{`"a"`, `"b"`}
	}
	if needed(arg) && part.name == arg.Name {
		out = append(out, a.needs(typ, f, arg))
	}
	if short := strings.TrimSuffix(strings.ToLower(name), "s"); strings.HasSuffix(short, "id") && short != "iid" || strings.HasSuffix(def.Name, "ID") && def.Name != "ID" {
		ids, about := slices.Clone(a.ids), def.Name+name+f.Type.Name()
		slices.SortStableFunc(ids, func(x, y string) int { return alike(y, about) - alike(x, about) })
		for _, id := range ids {
			model, _, _ := strings.Cut(strings.TrimPrefix(id, "gid://gitlab/"), "/")
			out = append(out, fmt.Sprintf("%q", id), fmt.Sprintf("%q", "gid://gitlab/"+model+"/999999"))
		}
		if def.Name != "ID" && strings.HasSuffix(def.Name, "ID") {
			return out
		}
	}
	texts := slices.Clone(a.texts)
	slices.SortStableFunc(texts, func(x, y argumentText) int { return y.likeness(f, name) - x.likeness(f, name) })
	out = append(out, `"no such thing"`, `"none"`, `"any"`, `"1"`, `"2"`, `"3"`)
	for _, t := range texts {
		out = append(out, fmt.Sprintf("%q", t.value))
	}
	return out
}

// likeness is how much the place of a text says that an argument of a field takes it.
func (t argumentText) likeness(f *ast.FieldDefinition, arg string) (n int) {
	typ, field, name := strings.ToLower(t.typ), strings.ToLower(t.field), strings.TrimSuffix(strings.ToLower(arg), "s")
	if strings.HasPrefix(name, typ) {
		n += 6
	} else if strings.HasPrefix(strings.ToLower(f.Type.Name()), typ) {
		n += 3
	}
	switch {
	case field == name:
		n += 3
	case strings.HasSuffix(name, field):
		n += 2
	case slices.Contains([]string{"title", "name", "username"}, field):
		n++
	}
	if typ == "usercore" && field == "username" && strings.HasSuffix(name, field) {
		n += 3
	}
	return n
}

// alike is how much of the model of a global id is in the name of an argument and of its type.
func alike(id, name string) int {
	model, _, _ := strings.Cut(strings.TrimPrefix(id, "gid://gitlab/"), "/")
	model = strings.ToLower(model[strings.LastIndexByte(model, ':')+1:])
	if strings.Contains(strings.ToLower(name), model) {
		return len(model)
	}
	return 0
}

// several reports whether a list has two items at least in one of the places: others have no pages.
func (a *arguments) several(typ string, f *ast.FieldDefinition) bool {
	return slices.ContainsFunc(a.places[typ], func(around string) bool { return len(a.cursors(typ, f, around, "admin")) > 1 })
}

// cursors are those of the first page of a list, of the longest one where there are several.
func (a *arguments) cursors(typ string, f *ast.FieldDefinition, around, as string) (longest []string) {
	call := f.Name + "(" + strings.Join(append(a.beside(typ, f, &ast.ArgumentDefinition{}), "first: 3"), ", ") + ") { edges { cursor } }"
	data, ok := a.ask(as, fmt.Sprintf(around, call))
	if !ok {
		return nil
	}
	for _, page := range strings.Split(data, `"edges":[`)[1:] {
		page, _, _ = strings.Cut(page, "]")
		var list []string
		for _, part := range strings.Split(page, `"cursor":`)[1:] {
			list = append(list, `"`+strings.Split(part, `"`)[1]+`"`)
		}
		if len(list) > len(longest) {
			longest = list
		}
	}
	return longest
}
