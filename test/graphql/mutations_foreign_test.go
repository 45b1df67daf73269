package graphql

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// The attack: who may change a project gives a thing of it a label, milestone, list or thread of another
// project, or moves one there (Gogs CVE-2026-25120, Gitea CVE-2026-57886). The owner of both projects, who
// may do all with each, names one foreign id at a time in each mutation: nothing of it sticks.
func TestMutations_foreign(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	h := s.hide()
	const lib = "/projects/team%2Flib"
	label := id(s.rest("owner", "POST", lib+"/labels", `{"name":"foreign","color":"#00ff00"}`))
	milestone := id(s.rest("owner", "POST", lib+"/milestones", `{"title":"foreign"}`))
	board := id(s.rest("owner", "POST", lib+"/boards", `{"name":"foreign"}`))
	list := id(s.rest("owner", "POST", fmt.Sprintf("%s/boards/%d/lists", lib, board), fmt.Sprintf(`{"label_id":%d}`, label)))
	s.rest("owner", "POST", lib+"/issues/1/notes", `{"body":"foreign"}`)
	thread := s.list("owner", lib+"/issues/1/discussions")[0]["id"]
	s.rest("root", "POST", "/groups", `{"name":"far","path":"far"}`)
	s.rest("root", "POST", "/groups/far/members", fmt.Sprintf(`{"user_id":%d,"access_level":50}`, s.ids["owner"]))
	cadence := at(s.data("owner", `mutation { iterationCadenceCreate(input: {groupPath: "far", title: "foreign", active: true, automatic: false}) { iterationCadence { id } } }`, nil), "iterationCadenceCreate", "iterationCadence", "id").(string)
	iteration := at(s.data("owner", `mutation($c: IterationsCadenceID!) { iterationCreate(input: {groupPath: "far", iterationsCadenceId: $c, title: "foreign", startDate: "2030-01-01", dueDate: "2030-01-08"}) { iteration { id } } }`, variables{"c": cadence}), "iterationCreate", "iteration", "id").(string)
	gid := func(model string, n any) string { return fmt.Sprintf("gid://gitlab/%s/%v", model, n) }
	foreign := map[string]string{
		"LabelID": gid("ProjectLabel", label), "MilestoneID": gid("Milestone", milestone), "ListID": gid("List", list), "DiscussionID": gid("Discussion", thread),
		"IterationID": iteration, "IterationsCadenceID": cadence,
	}
	asked := 0
	for _, m := range h.schema.Mutation.Fields {
		def := h.schema.Types[m.Arguments[0].Type.Name()]
		for _, in := range h.withForeign(def, foreign) {
			asked++
			out := s.mutate("owner", m, in)
			if state := s.state(); strings.Contains(state, "foreign") {
				sent, _ := json.Marshal(in)
				t.Fatalf("%s with %s: got %s, and %s", m.Name, sent, out.text, state)
			}
		}
	}
	if left := s.list("owner", lib+"/issues/1/notes?activity_filter=only_comments"); len(left) != 1 || left[0]["body"] != "foreign" {
		t.Errorf("the thread of the other project has %v", left)
	}
	if asked < 15 {
		t.Errorf("only %d mutations were tried", asked)
	}
}

// withForeign returns inputs with one foreign id each, beside what has to be there. What a mutation is about
// by itself is no such id.
func (h *hidden) withForeign(def *ast.Definition, foreign map[string]string) (out []map[string]any) {
	for _, f := range def.Fields {
		typ := h.schema.Types[f.Type.Name()]
		var values []any
		switch id, ok := foreign[typ.Name]; {
		case slices.Contains([]string{"id", "ids", "listId", "labelId"}, f.Name) && def.Fields.ForName("boardId") == nil:
		case ok:
			values = append(values, id)
		case typ.Kind == ast.InputObject:
			for _, inner := range h.withForeign(typ, foreign) {
				values = append(values, inner)
			}
		}
		for _, v := range values {
			if f.Type.Elem != nil {
				v = []any{v}
			}
			in := maps.Clone(h.input(def, 0))
			h.form(def.Name, in)
			in[f.Name] = v
			out = append(out, in)
		}
	}
	return out
}
