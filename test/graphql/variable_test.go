package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// withVariables makes a project in a group in a group with variables on each level: "owner" owns the outer group, "keeper" maintains the
// project, "dev" develops it.
func (s *server) withVariables() {
	s.t.Helper()
	for _, name := range []string{"owner", "keeper", "dev", "stranger"} {
		s.user(name)
	}
	outer := id(s.rest("root", "POST", "/groups", `{"name":"Outer","path":"outer","visibility":"public"}`))
	s.rest("root", "POST", "/groups/outer/members", fmt.Sprintf(`{"user_id":%d,"access_level":50}`, s.ids["owner"]))
	inner := id(s.rest("owner", "POST", "/groups", fmt.Sprintf(`{"name":"Inner","path":"inner","visibility":"public","parent_id":%d}`, outer)))
	s.rest("owner", "POST", "/projects", fmt.Sprintf(`{"name":"app","path":"app","visibility":"public","namespace_id":%d}`, inner))
	for name, level := range map[string]int{"keeper": 40, "dev": 30} {
		s.rest("owner", "POST", "/projects/outer%2Finner%2Fapp/members", fmt.Sprintf(`{"user_id":%d,"access_level":%d}`, s.ids[name], level))
	}
	s.rest("root", "POST", "/admin/ci/variables", `{"key":"EVERYWHERE","value":"instance-value","masked":true}`)
	s.rest("owner", "POST", "/groups/outer/variables", `{"key":"OUTER","value":"outer-value"}`)
	s.rest("owner", "POST", "/groups/outer%2Finner/variables", `{"key":"INNER","value":"inner-value","protected":true,"environment_scope":"production"}`)
	s.rest("keeper", "POST", "/projects/outer%2Finner%2Fapp/variables", `{"key":"B_FILE","value":"file-value","variable_type":"file","raw":true,"description":"a file"}`)
	s.rest("keeper", "POST", "/projects/outer%2Finner%2Fapp/variables", `{"key":"A_SECRET","value":"hidden-value","masked_and_hidden":true}`)
}

// TestVariables reads variables as each role: their values are for those who read them with REST.
func TestVariables(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withVariables()
		const project = `{ project(fullPath: "outer/inner/app") { ciVariables(sort: KEY_ASC) { limit nodes { key value variableType raw masked hidden protected environmentScope description } } } }`
		s.want("keeper", project, nil, `{"data":{"project":{"ciVariables":{"limit":8000,"nodes":[`+
			`{"key":"A_SECRET","value":null,"variableType":"ENV_VAR","raw":false,"masked":true,"hidden":true,"protected":false,"environmentScope":"*","description":null},`+
			`{"key":"B_FILE","value":"file-value","variableType":"FILE","raw":true,"masked":false,"hidden":false,"protected":false,"environmentScope":"*","description":"a file"}]}}}}`)
		const inherited = `{ project(fullPath: "outer/inner/app") { inheritedCiVariables { nodes { key groupName protected environmentScope variableType } } } }`
		s.want("keeper", inherited, nil, `{"data":{"project":{"inheritedCiVariables":{"nodes":[`+
			`{"key":"OUTER","groupName":"Outer","protected":false,"environmentScope":"*","variableType":"ENV_VAR"},`+
			`{"key":"INNER","groupName":"Inner","protected":true,"environmentScope":"production","variableType":"ENV_VAR"}]}}}}`)
		s.want("keeper", strings.Replace(inherited, "Variables {", "Variables(sort: KEY_DESC, first: 1) {", 1), nil, `{"data":{"project":{"inheritedCiVariables":{"nodes":[`+
			`{"key":"OUTER","groupName":"Outer","protected":false,"environmentScope":"*","variableType":"ENV_VAR"}]}}}}`)
		const group = `{ group(fullPath: "outer") { ciVariables { limit nodes { key value } } } }`
		s.want("owner", group, nil, `{"data":{"group":{"ciVariables":{"limit":30000,"nodes":[{"key":"OUTER","value":"outer-value"}]}}}}`)
		const instance = `{ ciVariables { nodes { key value masked } pageInfo { endCursor } } }`
		if got := s.ask("root", instance, nil); !strings.Contains(got, `"nodes":[{"key":"EVERYWHERE","value":"instance-value","masked":true}]`) {
			t.Errorf("of the instance: got %s", got)
		}
		// All that a caller does not read with REST is as if there were none.
		paths := map[string]string{
			project: "/projects/outer%2Finner%2Fapp/variables", group: "/groups/outer/variables", instance: "/admin/ci/variables", inherited: "/projects/outer%2Finner%2Fapp/variables",
		}
		for query, path := range paths {
			for _, as := range []string{"", "stranger", "dev", "keeper", "owner"} {
				if s.send(as, "GET", "/api/v4"+path, "").Code == 200 {
					continue
				}
				if got := s.ask(as, query, nil); !strings.Contains(got, `"nodes":[]`) || strings.Contains(got, `"errors"`) {
					t.Errorf("%q: %s: got %s", as, query, got)
				}
			}
		}
		for i := range 12 {
			s.rest("keeper", "POST", "/projects/outer%2Finner%2Fapp/variables", fmt.Sprintf(`{"key":"V%d","value":"x"}`, i))
			s.rest("owner", "POST", "/groups/outer/variables", fmt.Sprintf(`{"key":"V%d","value":"x"}`, i))
		}
		const wide = `{ project(fullPath: "outer/inner/app") { ciVariables(first: %d) { nodes { key value } } inheritedCiVariables(first: %[1]d) { nodes { key groupName } } } }`
		if few, all := s.statements("owner", fmt.Sprintf(wide, 1), nil), s.statements("owner", fmt.Sprintf(wide, 12), nil); few != all {
			t.Errorf("%d statements for one variable, %d for twelve", few, all)
		}
	})
}
