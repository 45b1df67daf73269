package graphql

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// outcome is what became of a mutation: its errors, at the top and in the payload.
type outcome struct {
	text          string
	refused, done bool // with an error at the top; without any
}

// mutate runs a mutation with an input.
func (s *server) mutate(as string, m *ast.FieldDefinition, in map[string]any) outcome {
	s.t.Helper()
	query := fmt.Sprintf("mutation($in: %s) { %s(input: $in) { clientMutationId errors } }", m.Arguments[0].Type.String(), m.Name)
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"in": in}})
	if err != nil {
		s.t.Fatal(err)
	}
	w := s.send(as, "POST", "/api/graphql", string(body))
	var answer struct {
		Data   map[string]*struct{ Errors []string }
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		s.t.Fatalf("%s: %v: %.300s", m.Name, err, w.Body)
	}
	text, _, _ := strings.Cut(w.Body.String(), `,"extensions":{"cost"`)
	if strings.Contains(text, "Internal server error") {
		s.t.Errorf("%s as %q: got %.300s", m.Name, as, text)
	}
	payload := answer.Data[m.Name]
	return outcome{text: text, refused: len(answer.Errors) > 0, done: len(answer.Errors) == 0 && payload != nil && len(payload.Errors) == 0}
}

// intents are fields of inputs that change something, where a mutation has them.
var intents = map[string]any{"confidential": true, "title": "Taken over", "locked": true, "description": "Taken over", "body": "Taken over"}

// attack is the input of a mutation that would change as much as it can.
func (h *hidden) attack(m *ast.FieldDefinition) map[string]any {
	def := h.schema.Types[m.Arguments[0].Type.Name()]
	in := h.input(def, 0)
	h.form(m.Name, in)
	for _, f := range def.Fields {
		if v, ok := intents[f.Name]; ok && in[f.Name] == nil {
			in[f.Name] = v
		}
	}
	return in
}

const mutationsFile = "testdata/mutations.txt"

// The attack: a caller who may read a public project, but has no or hardly any role in it, changes
// what stands there through the second interface (CVE-2020-13334, CVE-2023-3511, CVE-2026-2619). Every
// mutation runs as such a caller; the file says which of them do something. Run with UPDATE=1 to write it again.
func TestMutations_public(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	h := s.hide()
	s.rest("root", "PUT", "/groups/team", `{"visibility":"public"}`)
	s.rest("root", "PUT", "/projects/team%2Fapp", `{"visibility":"public"}`)
	s.rest("dev", "PUT", "/projects/team%2Fapp/snippets/1", `{"visibility":"public"}`)
	s.user("auditor")
	s.rest("root", "PUT", fmt.Sprintf("/users/%d", s.ids["auditor"]), `{"auditor":true}`)
	s.token("reader", "owner", "read_api")
	var got strings.Builder
	for _, m := range h.schema.Mutation.Fields {
		if m.Name == "echoCreate" {
			continue
		}
		var done []string
		for _, as := range []string{"", "reader", "stranger", "auditor", "guest"} {
			out := s.mutate(as, m, h.attack(m))
			if out.done {
				done = append(done, as)
			}
			if (as == "" || as == "reader") && !out.refused {
				t.Errorf("%s as %q: got %s, want it refused", m.Name, as, out.text)
			}
		}
		if slices.Contains(done, "auditor") && !slices.Contains(done, "stranger") {
			t.Errorf("%s is done for an auditor and not for a stranger", m.Name)
		}
		if len(done) > 0 {
			fmt.Fprintf(&got, "%s: %s\n", m.Name, strings.Join(done, " "))
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mutationsFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(mutationsFile)
	if err != nil || got.String() != string(want) {
		t.Errorf("what strangers and guests may change is not what %s says: %v\n got\n%s\nwant\n%s", mutationsFile, err, &got, want)
	}
	issue := s.rest("owner", "GET", "/projects/team%2Fapp/issues/1", "")
	if issue["confidential"] != false || issue["title"] != "issue 1" || issue["discussion_locked"] != nil && issue["discussion_locked"] != false {
		t.Errorf("the issue was changed: %v", issue)
	}
}

// The attack: answers of mutations tell what is hidden from what does not exist, or a part of a hidden
// thing is reached by an id of its own: a reaction to an internal note, a reply to an internal thread, a
// to-do item for a confidential issue, a label, list or iteration of a private group (CVE-2022-3819, Gitea
// CVE-2026-58438). Every mutation runs with such ids, and with others that nothing has.
func TestMutations_absent(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		h := s.hide()
		s.rest("root", "POST", "/projects", `{"name":"open","path":"open","visibility":"public","initialize_with_readme":true}`)
		const open = "/projects/root%2Fopen"
		s.rest("root", "POST", open+"/members", fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["guest"]))
		s.rest("root", "DELETE", fmt.Sprintf("/groups/team/members/%d", s.ids["guest"]), "")
		s.rest("root", "POST", open+"/issues", `{"title":"in the open"}`)
		note := id(s.rest("root", "POST", open+"/issues/1/notes", `{"body":"inside","internal":true}`))
		confidential := id(s.rest("root", "POST", open+"/issues", `{"title":"hidden","confidential":true}`))
		thread := s.list("root", open+"/issues/1/discussions")[0]["id"]
		gid := func(model string, n any) string { return fmt.Sprintf("gid://gitlab/%s/%v", model, n) }
		inside := maps.Clone(h.ids)
		for scalar, model := range map[string]string{"IssueID": "Issue", "WorkItemID": "WorkItem", "IssuableID": "Issue", "NoteableID": "Issue", "TodoableID": "Issue", "AwardableID": "Issue"} {
			inside[scalar] = gid(model, confidential)
		}
		inside["NoteID"], inside["DiscussionID"] = gid("Note", note), gid("Discussion", thread)
		ofNote := maps.Clone(inside)
		ofNote["AwardableID"] = gid("Note", note)
		asked := 0
		for name, ids := range map[string]map[string]string{"of a private project": h.ids, "confidential": inside, "internal": ofNote} {
			absent := maps.Clone(ids)
			for scalar, was := range ids {
				if slices.Contains([]string{"UserID", "WorkItemsTypeID"}, scalar) {
					continue
				}
				absent[scalar] = was[:strings.LastIndexByte(was, '/')+1] + "987654"
			}
			absent["DiscussionID"] = gid("Discussion", strings.Repeat("f", 40))
			for _, m := range h.schema.Mutation.Fields {
				hiddenIn, absentIn := inOpen(&hidden{h.schema, ids}, m, "2"), inOpen(&hidden{h.schema, absent}, m, "987654")
				one, _ := json.Marshal(hiddenIn)
				other, _ := json.Marshal(absentIn)
				if string(one) == string(other) {
					continue
				}
				asked++
				for _, as := range []string{"", "stranger", "guest"} {
					got, want := s.mutate(as, m, hiddenIn), s.mutate(as, m, absentIn)
					if got.text != want.text || got.done {
						t.Errorf("%s as %q, things %s: %s\nhidden %s\nabsent %s", m.Name, as, name, one, got.text, want.text)
					}
				}
			}
		}
		if asked < 100 {
			t.Errorf("only %d mutations were compared", asked)
		}
	})
}

// inOpen is the input of a mutation in the open project, with the ids of h and a number.
func inOpen(h *hidden, m *ast.FieldDefinition, iid string) map[string]any {
	in := h.attack(m)
	for name, v := range in {
		switch v {
		case "team/app":
			in[name] = "root/open"
		case "1":
			in[name] = iid
		}
	}
	return in
}

// The attack: texts without end through the second interface (CVE-2023-0921, CVE-2022-3411). Each text
// of each mutation is one character longer than the longest that there is: none is kept, and none comes
// back in an error.
func TestMutations_long(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	h := s.hide()
	long := strings.Repeat("x", 1_048_577)
	asked := 0
	for _, m := range h.schema.Mutation.Fields {
		if m.Name == "echoCreate" {
			continue // answers with what was sent
		}
		def := h.schema.Types[m.Arguments[0].Type.Name()]
		for _, f := range def.Fields {
			typ := f.Type.Name()
			if f.Name == "clientMutationId" || typ != "String" && typ != "ID" {
				continue
			}
			in := h.input(def, 0)
			h.form(m.Name, in)
			if in[f.Name] = long; f.Type.Elem != nil {
				in[f.Name] = []string{long}
			}
			asked++
			if out := s.mutate("owner", m, in); len(out.text) > 5_000 && !strings.Contains(out.text, "was provided invalid value") {
				t.Errorf("%s with a long %s: got %d bytes, %.300s", m.Name, f.Name, len(out.text), out.text)
			}
		}
	}
	if strings.Contains(s.state(), long[:10_000]) {
		t.Error("a long text was stored")
	}
	if asked < 60 {
		t.Errorf("only %d texts were tried", asked)
	}
}
