package graphql

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/base/config"
)

// TestTransport sends requests in all forms, and such as are refused.
func TestTransport(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.user("ann")
		s.token("reader", "ann", "read_api")
		s.token("narrow", "ann", "read_user")
		const query = `{"query":"{ currentUser { username } }"}`
		const known, nobody = `{"data":{"currentUser":{"username":"ann"}}`, `{"data":{"currentUser":null}`
		for _, c := range []struct {
			name, method, target, kind, body string
			header                           http.Header
			status                           int
			want                             string // the answer begins with this
		}{
			{"json", "POST", "", "application/json", query, s.header("ann"), 200, known},
			{"without a user", "POST", "", "application/json", query, nil, 200, nobody},
			{"header of its own", "POST", "", "application/json", query, http.Header{"Private-Token": {s.tokens["ann"]}}, 200, known},
			{"read_api", "POST", "", "application/json", query, s.header("reader"), 200, known},
			{"other scopes", "POST", "", "application/json", query, s.header("narrow"), 401, `{"errors":[{"message":"Invalid token"}]}`},
			{"wrong token", "POST", "", "application/json", query, http.Header{"Private-Token": {"glpat-x"}}, 401, `{"errors":[{"message":"Invalid token"}]}`},
			{"job token", "POST", "", "application/json", query, http.Header{"Job-Token": {s.tokens["ann"]}}, 401, `{"errors":[{"message":"Invalid token"}]}`},
			{"token in the query", "POST", "?private_token=" + s.tokens["ann"], "application/json", query, nil, 200, known},
			{"get", "GET", "?query=%7BcurrentUser%7Busername%7D%7D&access_token=" + s.tokens["ann"], "", "", nil, 200, known},
			{"form", "POST", "", "application/x-www-form-urlencoded", "query=%7BcurrentUser%7Busername%7D%7D&private_token=" + s.tokens["ann"], nil, 200, known},
			{"multipart", "POST", "", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n" + query + "\r\n--x--\r\n", s.header("ann"), 200, known},
			{"text", "POST", "", "application/graphql", "{ currentUser { username } }", s.header("ann"), 200, known},
			{"batch", "POST", "", "application/json", "[" + query + "," + `{"query":"{ x }"}` + "]", s.header("ann"), 200, "[" + known},
			{"variables in a text", "POST", "", "application/json", `{"query":"query($t: String!) { echo(text: $t) }","variables":"{\"t\":\"hi\"}"}`, s.header("ann"), 200, `{"data":{"echo":"\"ann\" says: hi"}`},
			{"variables of no object", "POST", "", "application/json", `{"query":"{ echo(text: \"x\") }","variables":[1]}`, nil, 422, `{"errors":[{"message":"Variables are not a JSON object"}]}`},
			{"nothing", "POST", "", "application/json", `{}`, nil, 200, `{"errors":[{"message":"Unexpected end of document","locations":[]}]}`},
			{"mutation by get", "GET", "?query=mutation%7BechoCreate(input:%7B%7D)%7Berrors%7D%7D", "", "", s.header("ann"), 422, `{"errors":[{"message":"Mutations are forbidden in GET requests"}]}`},
			{"too long", "POST", "", "application/json", `{"query":"` + strings.Repeat(" ", 10_001) + `"}`, nil, 422, `{"errors":[{"message":"Query too large"}]}`},
			{"too long together", "POST", "", "application/json", "[" + strings.Repeat(`{"query":"`+strings.Repeat(" ", 3000)+`"},`, 3) + `{"query":"` + strings.Repeat(" ", 3000) + `"}]`, nil, 422, `{"errors":[{"message":"Query too large"}]}`},
			{"no json", "POST", "", "application/json", `{`, nil, 400, `{"errors":[{"message":`},
			{"deep json", "POST", "", "application/json", strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40), nil, 422, `{"errors":[{"message":"The body is nested too deeply"}]}`},
			{
				"read_api mutates", "POST", "", "application/json", `{"query":"mutation { echoCreate(input: {}) { errors } }"}`, s.header("reader"), 200,
				`{"data":{"echoCreate":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":12}],"path":["echoCreate"]}]`,
			},
			{"other method", "PUT", "", "application/json", query, nil, 405, `{"errors":[{"message":"Method not allowed"}]}`},
			{"unknown digest", "POST", "", "application/json", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}`, nil, 200, `{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := httptest.NewRequestWithContext(t.Context(), c.method, "/api/graphql"+c.target, strings.NewReader(c.body))
				for k, v := range c.header {
					r.Header[k] = v
				}
				r.Header.Set("Content-Type", c.kind)
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.want) {
					t.Errorf("got %d %.300s\nwant %d %s", w.Code, w.Body, c.status, c.want)
				}
				if kind := w.Header().Get("Content-Type"); kind != "application/json; charset=utf-8" {
					t.Errorf("Content-Type: got %q", kind)
				}
			})
		}
	})
}

func (s *server) header(as string) http.Header {
	return http.Header{"Authorization": {"Bearer " + s.tokens[as]}}
}

// A document is refused where it costs more than its sender may ask for, aliases, fragments and the
// other requests of a batch included.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.user("ann")
		many := func(n int) string {
			var b strings.Builder
			b.WriteString("{")
			for i := range n {
				fmt.Fprintf(&b, " a%d: echo(text: \\\"x\\\")", i)
			}
			return b.String() + " }"
		}
		over := func(n, most int) string {
			return fmt.Sprintf(`{"errors":[{"message":"Query has complexity of %d, which exceeds max complexity of %d"}]}`, n, most)
		}
		for _, c := range []struct {
			as     string
			query  string
			answer string // "" for data
		}{
			{"", many(200), ""},
			{"", many(201), over(201, 200)},
			{"ann", many(250), ""},
			{"ann", many(251), over(251, 250)},
			{"root", many(300), ""},
			{"root", many(301), over(301, 300)},
		} {
			got := s.send(c.as, "POST", "/api/graphql", `{"query":"`+c.query+`"}`).Body.String()
			if c.answer == "" && !strings.HasPrefix(got, `{"data":{"a0":`) || c.answer != "" && got != c.answer {
				t.Errorf("%q: got %.200s, want %s", c.as, got, c.answer)
			}
		}
		got := s.send("", "POST", "/api/graphql", `[{"query":"`+many(100)+`"},{"query":"`+many(101)+`"},{"query":"{ x }"}]`).Body.String()
		one := strings.TrimSuffix(strings.TrimPrefix(over(201, 200), ""), "")
		if !strings.HasPrefix(got, "["+one+","+one+`,{"errors":[{"message":"Field 'x' doesn't exist`) {
			t.Errorf("batch: got %.400s", got)
		}
		s.want("ann", "{ queryComplexity { score limit } }", nil, `{"data":{"queryComplexity":{"score":3,"limit":250}}}`)
		deep := "{ __schema { types" + strings.Repeat(" { ofType", 20) + " { name }" + strings.Repeat(" }", 20) + " } }"
		s.want("ann", deep, nil, `{"errors":[{"message":"Query has depth of 23, which exceeds max depth of 20"}]}`)
	})
}

// The types may be kept from callers who are not signed in; what they may read stays.
func TestTransport_introspection(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.NoAnonymousIntrospection = true })
	const refused = `{"errors":[{"message":"Sign in to ask about the schema"}]}`
	for _, query := range []string{
		`{ __schema { queryType { name } } }`, `{ __type(name: "Project") { name } }`,
		`{ ...on Query { currentUser { username } s: __schema { queryType { name } } } }`,
	} {
		s.want("", query, nil, refused)
		if got := s.ask("root", query, nil); !strings.Contains(got, `"name":`) {
			t.Errorf("%s: signed in: got %s", query, got)
		}
	}
	s.want("", `{ __typename currentUser { username } }`, nil, `{"data":{"__typename":"Query","currentUser":null}}`)
	if w := s.send("", "GET", "/api/graphql/schema", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("the schema as a text: got %d", w.Code)
	}
	if w := s.send("root", "GET", "/api/graphql/schema", ""); w.Code != http.StatusOK {
		t.Errorf("the schema as a text, signed in: got %d", w.Code)
	}
}
