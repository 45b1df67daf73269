package graphql

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// The attack: JSON that is small to send and large to decode, in a body, in a text in a body, or in a
// form (CVE-2025-11447). Its depth, its arrays and objects and all of its elements have bounds, which are
// checked before it is decoded.
func TestVariables_bounds(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	const tooDeep, tooMany = `{"errors":[{"message":"The body is nested too deeply"}]}`, `{"errors":[{"message":"The body has too many elements"}]}`
	nested := func(n int) string { return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	list := func(n int) string { return `{"x":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}` }
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	lists := func(n, of int) string {
		return `{"x":[` + strings.TrimSuffix(strings.Repeat("["+strings.TrimSuffix(strings.Repeat("0,", of), ",")+"],", n), ",") + `]}`
	}
	const query = `{ echo(text: "x") }`
	quoted := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	forms := map[string]func(v string) *http.Request{
		"body": func(v string) *http.Request {
			return httptest.NewRequest("POST", "/api/graphql", strings.NewReader(`{"query":`+quoted(query)+`,"variables":`+v+`}`))
		},
		"batch": func(v string) *http.Request {
			return httptest.NewRequest("POST", "/api/graphql", strings.NewReader(`[{"query":`+quoted(query)+`,"variables":`+v+`}]`))
		},
		"form": func(v string) *http.Request {
			r := httptest.NewRequest("POST", "/api/graphql", strings.NewReader(url.Values{"query": {query}, "variables": {v}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return r
		},
		"query string": func(v string) *http.Request {
			return httptest.NewRequest("GET", "/api/graphql?"+url.Values{"query": {query}, "variables": {v}}.Encode(), http.NoBody)
		},
		"beside a body": func(v string) *http.Request {
			return httptest.NewRequest("POST", "/api/graphql?"+url.Values{"variables": {v}}.Encode(), strings.NewReader(`{"query":`+quoted(query)+`}`))
		},
	}
	for name, request := range forms {
		// The object around the variables is a level of the body, and an array around that another one.
		deepest := map[string]int{"body": 31, "batch": 30}[name]
		if deepest == 0 {
			deepest = 32
		}
		for _, c := range []struct {
			name, variables, want string
		}{
			{"deepest", nested(deepest), ""},
			{"deeper", nested(deepest + 1), tooDeep},
			{"very deep", nested(9_000), tooDeep},
			{"longest list", list(50_000), ""},
			{"longer list", list(50_001), tooMany},
			{"largest object", object(50_000), ""},
			{"larger object", object(50_001), tooMany},
			{"most elements", lists(90, 1_000), ""},
			{"more elements", lists(100, 1_000), tooMany},
		} {
			r := request(c.variables).WithContext(t.Context())
			if r.Header.Get("Content-Type") == "" && r.Method == http.MethodPost {
				r.Header.Set("Content-Type", "application/json")
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if got := w.Body.String(); c.want == "" && (w.Code != 200 || !strings.HasPrefix(got, `{"data":{"echo"`) && !strings.HasPrefix(got, `[{"data":{"echo"`)) || c.want != "" && (w.Code != 422 || got != c.want) {
				t.Errorf("%s, %s: got %d %.200s, want %s", name, c.name, w.Code, got, c.want)
			}
		}
	}
	inText := quoted(nested(33))
	if w := s.send("", "POST", "/api/graphql", `{"query":`+quoted(query)+`,"variables":`+inText+`}`); w.Code != 422 {
		t.Errorf("deep variables in a text: got %d %.200s", w.Code, w.Body)
	}
	for as, most := range map[string]int{"": 2 << 20, "root": 14 << 20} {
		if w := s.send(as, "POST", "/api/graphql", `{"query":"{ echo(text: \"x\") }","padding":"`+strings.Repeat("x", most)+`"}`); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%q sends more than %d bytes: got %d %.200s", as, most, w.Code, w.Body)
		}
	}
}

// The attack: one long text is asked for under very many names, so that the answer is hundreds of times
// as large as the request.
func TestAnswers_bounds(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	var aliases, mutations strings.Builder
	for i := range 200 {
		fmt.Fprintf(&aliases, " a%d: echo(text: $t)", i)
	}
	for i := range 60 {
		fmt.Fprintf(&mutations, " a%d: echoCreate(input: {clientMutationId: $t}) { clientMutationId }", i)
	}
	long := strings.Repeat("x", 1<<20)
	if got := s.ask("", "query($t: String!) {"+aliases.String()+"}", variables{"t": long}); !strings.Contains(got, `"message":"Text is too long"`) || len(got) > 100_000 {
		t.Errorf("echoes: got %d bytes, %.200s", len(got), got)
	}
	body, _ := json.Marshal(map[string]any{"query": "mutation($t: String) {" + mutations.String() + "}", "variables": variables{"t": long + long}})
	if w := s.send("root", "POST", "/api/graphql", string(body)); w.Code != 422 || w.Body.String() != `{"errors":[{"message":"The answer is too large"}]}` {
		t.Errorf("ids of clients: got %d, %d bytes, %.200s", w.Code, w.Body.Len(), w.Body)
	}
	// An id that is none is the caller's mistake, and no error of the server.
	if got := s.ask("root", `mutation { updateIssue(input: {projectPath: "a/b", iid: "1", milestoneId: "none"}) { errors } }`, nil); !strings.Contains(got, `"message":"\"none\" is not a valid Global ID"`) {
		t.Errorf("an id that is none: got %s", got)
	}
}

// The attack: a caller that may read people finds their addresses in a field of some type
// (CVE-2025-9484), or learns without a token who has an account (CVE-2021-4191).
func TestUsers_private(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.hide()
		s.rest("root", "PUT", "/groups/team", `{"visibility":"public"}`)
		s.rest("root", "PUT", "/projects/team%2Fapp", `{"visibility":"public"}`)
		g := &generator{schema: s.schema(), below: map[string]int{}}
		for around, typ := range map[string]string{
			`{ user(username: "dev") { %s } }`: "UserCore", `{ users { nodes { %s } } }`: "UserCore", `{ project(fullPath: "team/app") { projectMembers { nodes { user { %s } } } } }`: "UserCore",
			`{ project(fullPath: "team/app") { issue(iid: "1") { author { %s } } } }`: "UserCore", `{ project(fullPath: "team/app") { mergeRequest(iid: "1") { author { %s } } } }`: "MergeRequestAuthor",
			`{ project(fullPath: "team/app") { mergeRequest(iid: "1") { commits { nodes { %s } } } } }`: "Commit",
		} {
			g.below = map[string]int{}
			g.from(around, typ, 1)
		}
		for _, as := range []string{"", "stranger", "guest"} {
			for _, query := range g.out {
				if got := s.ask(as, query, nil); strings.Contains(got, "dev@example.com") && !strings.Contains(query, "commits") {
					t.Errorf("%q: %s: got %s", as, query, got)
				}
			}
		}
		const people = `{ user(username: "dev") { name } users(usernames: ["dev"]) { nodes { name } } }`
		for _, setting := range []string{`{"restricted_visibility_levels":[]}`, `{"restricted_visibility_levels":["public"]}`} {
			s.rest("root", "PUT", "/application/settings", setting)
			known, unknown := s.ask("", people, nil), s.ask("", strings.ReplaceAll(people, `"dev"`, `"nobody"`), nil)
			if known != unknown || strings.Contains(known, `"name":`) {
				t.Errorf("without a token, %s: a user gives\n%s\nnobody\n%s", setting, known, unknown)
			}
		}
		s.want("stranger", people, nil, `{"data":{"user":{"name":"dev"},"users":{"nodes":[{"name":"dev"}]}}}`)
	})
}

// The attack: a stream that is open goes on after its reader was put out, or lost its place
// (CVE-2024-4006, CVE-2025-2615). A stream that reads files has the bounds of other answers.
func TestStreams_ended(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		const query = `subscription($id: IssuableID!) { issuableTitleUpdated(issuableId: $id) { ... on Issue { title } } }`
		for name, put := range map[string]func(n int64){
			"banned":  func(n int64) { s.rest("root", "POST", fmt.Sprintf("/users/%d/ban", n), "{}") },
			"expired": func(n int64) { s.rest("root", "PUT", fmt.Sprintf("/users/%d", n), `{"password":"a new passphrase 1"}`) },
			"deleted": func(n int64) { s.rest("root", "DELETE", fmt.Sprintf("/users/%d", n), "") },
			"removed": func(n int64) {
				s.rest("owner", "DELETE", fmt.Sprintf("/projects/team%%2Fapp/members/%d", n), "")
				s.rest("owner", "PUT", "/projects/team%2Fapp/issues/1", `{"title":"not for who is removed"}`)
			},
			"hidden": func(int64) {
				s.rest("owner", "PUT", "/projects/team%2Fapp", `{"issues_access_level":"disabled"}`)
				s.rest("owner", "PUT", "/projects/team%2Fapp", `{"issues_access_level":"enabled"}`)
				s.rest("owner", "PUT", "/projects/team%2Fapp/issues/1", `{"title":"readable again"}`)
			},
		} {
			n := s.user(name)
			s.rest("owner", "POST", "/projects/team%2Fapp/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, n))
			st := s.follow(web, name, query, variables{"id": issue})
			s.rest("owner", "PUT", "/projects/team%2Fapp/issues/1", fmt.Sprintf(`{"title":"for %s"}`, name))
			st.want(fmt.Sprintf(`{"data":{"issuableTitleUpdated":{"title":"for %s"}}}`, name))
			put(n)
			if name == "hidden" {
				st.want(`{"data":{"issuableTitleUpdated":{"title":"readable again"}}}`)
				continue
			}
			st.want("complete")
		}

		content := base64.StdEncoding.EncodeToString([]byte("the content"))
		s.rest("owner", "POST", "/projects/team%2Fapp/repository/files/a", fmt.Sprintf(`{"branch":"main","commit_message":"add","encoding":"base64","content":%q}`, content))
		const blob = `{ project(fullPath: "team/app") { repository { blobs(paths: ["a"]) { nodes { rawBlob } } } } }`
		s.follow(web, "dev", blob, nil).want(`{"data":{"project":{"repository":{"blobs":{"nodes":[{"rawBlob":"the content"}]}}}}}`, "complete")
	})
}
