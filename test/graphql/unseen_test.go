package graphql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxUnseenDepth is how many lists and objects below a place are asked through.
const maxUnseenDepth = 2

// generator makes documents that ask for every field of a schema.
type generator struct {
	schema *ast.Schema
	out    []string
	below  map[string]int // how deep a type was asked through below another one
}

// from adds the documents that begin with a selection around %s of a type.
func (g *generator) from(around, typ string, depth int) {
	def := g.schema.Types[typ]
	if depth > 0 {
		if at, ok := g.below[typ]; ok && at <= depth {
			return // what is below a type does not depend on the way to it
		}
		g.below[typ] = depth
	}
	if s := g.scalars(def); s != "" {
		g.out = append(g.out, fmt.Sprintf(around, s))
	}
	for _, f := range def.Fields {
		if required(f) || strings.HasPrefix(f.Name, "__") {
			continue
		}
		to := g.schema.Types[f.Type.Name()]
		switch {
		case to.IsLeafType() || to.IsAbstractType():
		case strings.HasSuffix(to.Name, "Connection"):
			more := "pageInfo { hasNextPage endCursor }"
			if to.Fields.ForName("count") != nil {
				more += " count"
			}
			node := g.schema.Types[to.Name].Fields.ForName("nodes")
			if node == nil {
				continue
			}
			g.out = append(g.out, fmt.Sprintf(around, f.Name+" { "+more+" }"))
			if depth < maxUnseenDepth {
				g.from(fmt.Sprintf(around, f.Name+"(first: 20) { nodes { %s } }"), node.Type.Name(), depth+1)
			}
		case depth < maxUnseenDepth:
			g.from(fmt.Sprintf(around, f.Name+" { %s }"), to.Name, depth+1)
		}
	}
}

// scalars names the fields of a type that are leaves.
func (g *generator) scalars(def *ast.Definition) string {
	var out []string
	for _, f := range def.Fields {
		if g.schema.Types[f.Type.Name()].IsLeafType() && !required(f) && !strings.HasPrefix(f.Name, "__") {
			out = append(out, f.Name)
		}
	}
	return strings.Join(out, " ")
}

func required(f *ast.FieldDefinition) bool {
	return slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
}

// moment is a time in an answer: that of the last activity of a project moves with what is hidden.
var moment = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`)

// TestQueries_unseen asks for every field below a public project, its group, its issues and its
// people, before and after things were made that the caller may not see: the answers are the same.
func TestQueries_unseen(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group := id(s.rest("root", "POST", "/groups", `{"name":"open","path":"open","visibility":"public"}`))
		for name, level := range map[string]int{"dev": 30, "owner": 50} {
			s.user(name)
			s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":%d}`, s.ids[name], level))
		}
		s.user("stranger")
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":"app","namespace_id":%d,"visibility":"public","initialize_with_readme":true}`, group))
		const project = "/projects/open%2Fapp"
		s.rest("owner", "POST", project+"/labels", `{"name":"bug","color":"#ff0000"}`)
		s.rest("owner", "POST", project+"/milestones", `{"title":"soon"}`)
		s.rest("dev", "POST", project+"/issues", `{"title":"an issue","labels":"bug","milestone_id":1}`)
		s.rest("dev", "POST", project+"/issues/1/notes", `{"body":"a comment"}`)
		s.branch("dev", "open%2Fapp", "feature")
		s.rest("dev", "POST", project+"/merge_requests", `{"title":"change","source_branch":"feature","target_branch":"main"}`)
		s.rest("dev", "POST", project+"/merge_requests/1/notes", `{"body":"a comment"}`)
		s.rest("owner", "POST", "/groups/open/epics", `{"title":"an epic"}`)
		s.rest("owner", "POST", "/groups/open/epics/1/issues/1", "")
		s.rest("dev", "POST", project+"/snippets", `{"title":"a snippet","files":[{"file_path":"a","content":"x"}],"visibility":"public"}`)

		g := &generator{schema: s.schema(), below: map[string]int{}}
		g.from(`{ project(fullPath: "open/app") { %s } }`, "Project", 0)
		g.from(`{ group(fullPath: "open") { %s } }`, "Group", 0)
		g.from(`{ user(username: "dev") { %s } }`, "UserCore", 1)
		g.from(`{ project(fullPath: "open/app") { issue(iid: "1") { %s } } }`, "Issue", 0)
		g.from(`{ project(fullPath: "open/app") { mergeRequest(iid: "1") { %s } } }`, "MergeRequest", 0)
		g.from(`{ issues(authorUsername: "dev", first: 20) { count nodes { %s } } }`, "Issue", 1)
		g.from(`{ projects(first: 20) { count nodes { %s } } }`, "Project", 2)
		if len(g.out) < 200 {
			t.Fatalf("only %d documents", len(g.out))
		}
		answers := func(as string) []string {
			out := make([]string, len(g.out))
			for i, query := range g.out {
				for range 3 { // an answer counts once it is given twice
					last := out[i]
					if out[i] = moment.ReplaceAllString(s.ask(as, query, nil), `"time"`); out[i] == last {
						break
					}
				}
				if strings.Contains(out[i], "exceeds max") || strings.Contains(out[i], "Internal server error") {
					t.Errorf("%s: got %s", query, out[i])
				}
			}
			return out
		}
		readers := []string{"", "stranger"}
		before := map[string][]string{}
		for _, as := range readers {
			before[as] = answers(as)
		}
		s.hideMore(project)
		for _, as := range readers {
			for i, got := range answers(as) {
				if got != before[as][i] {
					t.Errorf("%q: %s\nbefore %s\nafter  %s", as, g.out[i], before[as][i], got)
				}
			}
		}
	})
}

// hideMore makes what strangers may not see in a public project and around it.
func (s *server) hideMore(project string) {
	s.t.Helper()
	s.rest("dev", "POST", project+"/issues", `{"title":"a secret issue","confidential":true,"labels":"bug","milestone_id":1,"description":"of #1 and !1"}`)
	s.rest("dev", "POST", project+"/issues/1/notes", `{"body":"a secret, see #2","internal":true}`)
	s.rest("dev", "POST", project+"/issues/1/links?target_project_id=open%2Fapp&target_issue_iid=2", "")
	s.rest("owner", "POST", "/groups/open/epics/1/issues/2", "")
	s.rest("owner", "POST", "/groups/open/epics", `{"title":"a secret epic","confidential":true,"parent_id":1}`)
	s.rest("dev", "POST", project+"/snippets", `{"title":"a secret snippet","files":[{"file_path":"a","content":"x"}],"visibility":"private"}`)
	s.rest("dev", "POST", project+"/issues/2/award_emoji?name=thumbsup", "")
	private := id(s.rest("owner", "POST", "/groups", `{"name":"secret","path":"secret","visibility":"private"}`))
	s.rest("owner", "POST", "/projects", fmt.Sprintf(`{"name":"mole","namespace_id":%d,"visibility":"private","initialize_with_readme":true}`, private))
	s.branch("owner", "secret%2Fmole", "secret-branch")
	s.rest("owner", "POST", "/projects/secret%2Fmole/merge_requests", `{"title":"a secret change","source_branch":"secret-branch","target_branch":"main","description":"Closes open/app#1, as open/app!1 says"}`)
}
