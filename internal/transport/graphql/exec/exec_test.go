package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/base/jsonstream"
	"tenon/internal/core/authz"
)

const library = `
type Query {
  me: Person
  people(first: Int, last: Int, after: String, before: String, sort: Order = NAME, search: String): PersonConnection
  book(id: BookID!): Book
  anything(ids: [ID!]): [Thing]
  broken: Strict
}
type Mutation { rename(input: RenameInput!): RenamePayload }
input RenameInput { id: BookID!, title: String, tags: [String!] = ["new"], clientMutationId: String }
type RenamePayload { book: Book, errors: [String!]!, clientMutationId: String }
enum Order { NAME AGE }
scalar BookID
interface Thing { id: ID! }
type Person implements Thing { id: ID!, name: String!, books: [Book!]!, friends: [Person!]!, code: String }
type Book implements Thing { id: ID!, title: String, author: Person! }
type PersonConnection { nodes: [Person], edges: [PersonEdge], pageInfo: PageInfo!, count: Int! }
type PersonEdge { node: Person, cursor: String! }
type PageInfo { hasNextPage: Boolean!, hasPreviousPage: Boolean!, startCursor: String, endCursor: String }
type Strict { inner: Strict!, value: String! }
`

type person struct {
	ID, Name string
	Books    []*book
}

type book struct {
	ID     string
	Title  *string
	Author *person
}

type strict struct{}

// shelf is a schema whose functions count how often they are called.
func shelf(t testing.TB) (*Schema, map[string]int) {
	t.Helper()
	s, err := New(&ast.Source{Name: "library", Input: library})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	var people []*person
	for i := range 3 {
		p := &person{ID: fmt.Sprint(i), Name: fmt.Sprintf("person %d", i)}
		for j := range i + 1 {
			title := fmt.Sprintf("book %d of <%d>", j, i)
			p.Books = append(p.Books, &book{ID: fmt.Sprintf("%d-%d", i, j), Title: &title, Author: p})
		}
		people = append(people, p)
	}
	s.Scalar("BookID", Scalar{Read: func(v any) (any, error) {
		if text, ok := v.(string); ok && strings.HasPrefix(text, "book:") {
			return strings.TrimPrefix(text, "book:"), nil
		}
		return nil, fmt.Errorf("%v is not a book", v)
	}})
	type paging struct {
		First, Last   *int
		After, Before *string
		Sort          string
		Search        *string
	}
	Root(s, "me", func(_ context.Context, c *Call[None]) (*person, error) {
		if c.As.Username == "" {
			return nil, nil
		}
		return people[0], nil
	})
	Root(s, "people", func(_ context.Context, c *Call[paging]) (*Page[*person], error) {
		calls["people"]++
		p := &Page[*person]{Items: people, HasNext: c.Args.First != nil, Cursors: []string{"a", "b", "c"}}
		if c.Wants("count") {
			calls["count"]++
			p.Count = 3
		}
		if c.Wants("nodes", "books", "title") {
			calls["ahead"]++
		}
		return p, nil
	})
	Root(s, "book", func(_ context.Context, c *Call[struct {
		ID string `json:"id"`
	}],
	) (*book, error) {
		if c.Args.ID == "secret" {
			return nil, errors.New("a secret")
		}
		return people[1].Books[0], nil
	})
	Root(s, "anything", func(_ context.Context, c *Call[struct {
		IDs []string `json:"ids"`
	}],
	) ([]any, error) {
		return []any{people[0], people[1].Books[0], nil, As("Person", people[2])}, nil
	})
	Root(s, "broken", func(context.Context, *Call[None]) (*strict, error) { return &strict{}, nil })
	Value(s, "Strict.inner", func(*strict) *strict { return nil })
	Value(s, "Strict.value", func(*strict) string { return "" })
	Batch(s, "Person.books", func(_ context.Context, _ *Call[None], of []*person) ([][]*book, error) {
		calls["books"]++
		out := make([][]*book, len(of))
		for i, p := range of {
			out[i] = p.Books
		}
		return out, nil
	})
	Batch(s, "Person.friends", func(_ context.Context, _ *Call[None], of []*person) ([][]*person, error) {
		calls["friends"]++
		out := make([][]*person, len(of))
		for i := range of {
			out[i] = people
		}
		return out, nil
	})
	Batch(s, "Person.code", func(_ context.Context, c *Call[None], of []*person) ([]string, error) {
		out := make([]string, len(of))
		for i, p := range of {
			if out[i] = "x" + p.ID; p.ID == "1" {
				c.Fail(i, errors.New("no code"))
			}
		}
		return out, nil
	})
	Batch(s, "Book.author", func(_ context.Context, _ *Call[None], of []*book) ([]*person, error) {
		calls["author"]++
		out := make([]*person, len(of))
		for i, b := range of {
			out[i] = b.Author
		}
		return out, nil
	})
	Mutation(s, "rename", func(_ context.Context, c *Call[struct {
		ID    string
		Title Opt[string]
		Tags  []string
	}],
	) (struct{ Book *book }, error) {
		calls["rename "+strings.Join(c.Args.Tags, ",")]++
		if c.Args.Title.Set && c.Args.Title.Value == nil {
			return struct{ Book *book }{}, errors.New("invalid: Title can't be blank")
		}
		b := *people[0].Books[0]
		if c.Args.Title.Set {
			b.Title = c.Args.Title.Value
		}
		return struct{ Book *book }{&b}, nil
	})
	Struct[*person](s, "Person")
	Struct[*book](s, "Book")
	Connection[*person](s, "Person")
	if err := s.Problems(); err != nil {
		t.Fatal(err)
	}
	return s, calls
}

var testConfig = &Config{
	Present: func(_ context.Context, err error) string { return "failed: " + err.Error() },
	Broken: func(err error) []string {
		if text, ok := strings.CutPrefix(err.Error(), "invalid: "); ok {
			return []string{text}
		}
		return nil
	},
}

// ask sends a request, and returns the answer as it is written.
func ask(t *testing.T, s *Schema, as authz.Actor, query string, variables map[string]any) string {
	t.Helper()
	doc, problems := s.Parse(query)
	var result *Result
	if problems == nil {
		var op *Operation
		if op, problems = s.Prepare(doc, "", variables); problems == nil {
			result = s.Run(t.Context(), testConfig, op, as)
		}
	}
	if problems != nil {
		result = Refused(problems...)
	}
	var b bytes.Buffer
	if err := write(result, &b); err != nil {
		t.Fatal(err)
	}
	var valid any
	if err := json.Unmarshal(b.Bytes(), &valid); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, &b)
	}
	return b.String()
}

// write writes an answer as it is sent.
func write(r *Result, to io.Writer) error {
	w := jsonstream.NewWriter(to)
	r.Write(w)
	return w.Flush()
}

// TestRun answers queries of all forms.
func TestRun(t *testing.T) {
	s, _ := shelf(t)
	for _, c := range []struct {
		name, query string
		variables   map[string]any
		want        string
	}{
		{
			"aliases and fragments", `query Q { one: me { ...f } me { id ...f } } fragment f on Person { name n2: name }`, nil,
			`{"data":{"one":{"name":"person 0","n2":"person 0"},"me":{"id":"0","name":"person 0","n2":"person 0"}}}`,
		},
		{
			"abstract types", `{ anything { __typename id ... on Book { title } ... on Person { name } } }`, nil,
			`{"data":{"anything":[{"__typename":"Person","id":"0","name":"person 0"},{"__typename":"Book","id":"1-0","title":"book 0 of <1>"},null,{"__typename":"Person","id":"2","name":"person 2"}]}}`,
		},
		{
			"connection", `{ people(first: 2) { edges { cursor node { id } } nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`, nil,
			`{"data":{"people":{"edges":[{"cursor":"a","node":{"id":"0"}},{"cursor":"b","node":{"id":"1"}},{"cursor":"c","node":{"id":"2"}}],"nodes":[{"name":"person 0"},{"name":"person 1"},{"name":"person 2"}],"pageInfo":{"hasNextPage":true,"hasPreviousPage":false,"startCursor":"a","endCursor":"c"}}}}`,
		},
		{
			"skip and include", `query($yes: Boolean!) { me { id @skip(if: $yes) name @include(if: $yes) ... @include(if: false) { code } } }`,
			map[string]any{"yes": true},
			`{"data":{"me":{"name":"person 0"}}}`,
		},
		{
			"objects without fields", `query($no: Boolean!) { me { ... on Person @skip(if: true) { id } } all: people { nodes { id @include(if: $no) } edges { ... @skip(if: true) { cursor } } } }`,
			map[string]any{"no": false},
			`{"data":{"me":{},"all":{"nodes":[{},{},{}],"edges":[{},{},{}]}}}`,
		},
		{"no fields at all", `{ me @skip(if: true) { id } }`, nil, `{"data":{}}`},
		{
			"error of one of several", `{ people { nodes { code } } }`, nil,
			`{"data":{"people":{"nodes":[{"code":"x0"},{"code":null},{"code":"x2"}]}},"errors":[{"message":"failed: no code","locations":[{"line":1,"column":20}],"path":["people","nodes",1,"code"]}]}`,
		},
		{
			"null where it may not stand", `{ broken { inner { value } } }`, nil,
			`{"data":{"broken":null},"errors":[{"message":"Cannot return null for non-nullable field Strict.inner","locations":[{"line":1,"column":12}],"path":["broken","inner"]}]}`,
		},
		{
			"error of a root", `{ book(id: "book:secret") { id } }`, nil,
			`{"data":{"book":null},"errors":[{"message":"failed: a secret","locations":[{"line":1,"column":3}],"path":["book"]}]}`,
		},
		{
			"mutation", `mutation { rename(input: {id: "book:1", title: "new", clientMutationId: "7"}) { book { title } errors clientMutationId } }`, nil,
			`{"data":{"rename":{"book":{"title":"new"},"errors":[],"clientMutationId":"7"}}}`,
		},
		{
			"mutation that breaks a rule", `mutation($in: RenameInput!) { rename(input: $in) { book { title } errors } }`,
			map[string]any{"in": map[string]any{"id": "book:1", "title": nil}},
			`{"data":{"rename":{"book":null,"errors":["Title can't be blank"]}}}`,
		},
		{"a value for a list", `{ anything(ids: "1") { id } }`, nil, `{"data":{"anything":[{"id":"0"},{"id":"1-0"},null,{"id":"2"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ask(t, s, authz.Actor{Username: "ann"}, c.query, c.variables); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Every field is answered with one call for a whole level, however many objects it has.
func TestRun_levels(t *testing.T) {
	s, calls := shelf(t)
	ask(t, s, authz.Actor{}, `{ people { count nodes { friends { books { author { name } } } books { title } } } }`, nil)
	want := map[string]int{"people": 1, "count": 1, "ahead": 1, "friends": 1, "books": 2, "author": 1}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("calls: got %v, want %v", calls, want)
	}
	clear(calls)
	ask(t, s, authz.Actor{}, `{ people { edges { node { books { title } } } } }`, nil)
	if want := map[string]int{"people": 1, "ahead": 1, "books": 1}; !reflect.DeepEqual(calls, want) {
		t.Errorf("calls without count: got %v, want %v", calls, want)
	}
	clear(calls)
	ask(t, s, authz.Actor{}, `mutation { a: rename(input: {id: "book:1"}) { errors } b: rename(input: {id: "book:1", tags: ["x", "y"]}) { errors } }`, nil)
	if want := map[string]int{"rename new": 1, "rename x,y": 1}; !reflect.DeepEqual(calls, want) {
		t.Errorf("mutations: got %v, want %v", calls, want)
	}
}

// TestParse refuses documents with the words and codes of the interface.
func TestParse(t *testing.T) {
	s, _ := shelf(t)
	for _, c := range []struct {
		query     string
		variables map[string]any
		want      string // an entry of errors
	}{
		{``, nil, `{"message":"Unexpected end of document"}`},
		{`{ me { `, nil, `{"message":"Unexpected end of document"}`},
		{`{ x }`, nil, `{"message":"Field 'x' doesn't exist on type 'Query'","locations":[{"line":1,"column":3}],"path":["query","x"],"extensions":{"code":"undefinedField","fieldName":"x","typeName":"Query"}}`},
		{`query Q { me }`, nil, `{"message":"Field must have selections (field 'me' returns Person but has no selections. Did you mean 'me { ... }'?)","locations":[{"line":1,"column":11}],"path":["query Q","me"],"extensions":{"code":"selectionMismatch","nodeName":"field 'me'","typeName":"Person"}}`},
		{`{ me { name { x } } }`, nil, `{"message":"Selections can't be made on scalars (field 'name' returns String but has selections [x])","locations":[{"line":1,"column":8}],"path":["query","me","name"],"extensions":{"code":"selectionMismatch","nodeName":"field 'name'","typeName":"String"}}`},
		{`{ book { id } }`, nil, `{"message":"Field 'book' is missing required arguments: id","locations":[{"line":1,"column":3}],"path":["query","book"],"extensions":{"arguments":"id","className":"Field","code":"missingRequiredArguments","name":"book"}}`},
		{`{ book(id: "book:1", y: 2) { id } }`, nil, `{"message":"Field 'book' doesn't accept argument 'y'","locations":[{"line":1,"column":22}],"path":["query","book","y"],"extensions":{"argumentName":"y","code":"argumentNotAccepted","name":"book","typeName":"Field"}}`},
		{`{ people(first: "x") { count } }`, nil, `{"message":"Argument 'first' on Field 'people' has an invalid value (\"x\"). Expected type 'Int'.","locations":[{"line":1,"column":3}],"path":["query","people","first"],"extensions":{"argumentName":"first","code":"argumentLiteralsIncompatible","typeName":"Field"}}`},
		{`{ book(id: "1") { id } }`, nil, `{"message":"1 is not a book","locations":[{"line":1,"column":3}],"path":["query","book","id"],"extensions":{"argumentName":"id","code":"argumentLiteralsIncompatible","typeName":"Field"}}`},
		{`mutation { rename(input: {title: "x"}) { errors } }`, nil, `{"message":"Argument 'id' on InputObject 'RenameInput' is required. Expected type BookID!","locations":[{"line":1,"column":26}],"path":["mutation","rename","input"],"extensions":{"argumentName":"id","argumentType":"BookID!","code":"missingRequiredInputObjectAttribute","inputObjectType":"RenameInput"}}`},
		{`{ book(id: $x) { id } }`, nil, `{"message":"Variable $x is used by anonymous query but not declared","locations":[{"line":1,"column":12}],"path":["query"],"extensions":{"code":"variableNotDefined","variableName":"x"}}`},
		{`query Q($x: Int) { me { id } }`, nil, `{"message":"Variable $x is declared by Q but not used","locations":[{"line":1,"column":9}],"path":["query Q"],"extensions":{"code":"variableNotUsed","variableName":"x"}}`},
		{`query Q($x: String!) { book(id: $x) { id } }`, nil, `{"message":"Type mismatch on variable $x and argument id (String! / BookID!)","locations":[{"line":1,"column":33}],"path":["query Q","book","id"],"extensions":{"argumentName":"id","code":"variableMismatch","errorMessage":"Type mismatch","typeName":"String!","variableName":"x"}}`},
		{`query Q($x: BookID) { book(id: $x) { id } }`, nil, `{"message":"Nullability mismatch on variable $x and argument id (BookID / BookID!)","locations":[{"line":1,"column":32}],"path":["query Q","book","id"],"extensions":{"argumentName":"id","code":"variableMismatch","errorMessage":"Nullability mismatch","typeName":"BookID","variableName":"x"}}`},
		{`query Q($x: BookID!) { book(id: $x) { id } }`, map[string]any{"x": "y"}, `{"message":"Variable $x of type BookID! was provided invalid value","locations":[{"line":1,"column":9}],"extensions":{"problems":[{"path":[],"explanation":"y is not a book"}],"value":"y"}}`},
		{`mutation M($in: RenameInput!) { rename(input: $in) { errors } }`, map[string]any{"in": map[string]any{"id": "book:1", "tags": []any{"a", nil}}}, `{"message":"Variable $in of type RenameInput! was provided invalid value for tags.1 (Expected value to not be null)","locations":[{"line":1,"column":12}],"extensions":{"problems":[{"path":["tags",1],"explanation":"Expected value to not be null"}],"value":{"id":"book:1","tags":["a",null]}}}`},
		{`{ ...F }`, nil, `{"message":"Fragment F was used, but not defined","locations":[{"line":1,"column":6}],"path":["query"],"extensions":{"code":"useAndDefineFragment","fragmentName":"F"}}`},
		{`{ me { id } } fragment F on Person { id }`, nil, `{"message":"Fragment F was defined, but not used","locations":[{"line":1,"column":15}],"path":["fragment F"],"extensions":{"code":"useAndDefineFragment","fragmentName":"F"}}`},
		{`subscription S { me { id } }`, nil, `{"message":"Schema is not configured for subscriptions","locations":[{"line":1,"column":1}],"path":["subscription S"],"extensions":{"code":"missingSubscriptionConfiguration"}}`},
		{`query A { me { id } } query B { me { id } }`, nil, `{"message":"An operation name is required"}`},
		{`{ me { friends { friends { friends { id } } } } }`, nil, `{"message":"Recursive query - too many of fields 'friends' in one branch of the query"}`},
	} {
		t.Run(c.query, func(t *testing.T) {
			got := ask(t, s, authz.Actor{}, c.query, c.variables)
			want := strings.Replace(c.want, `"Unexpected end of document"`, `"Unexpected end of document","locations":[]`, 1)
			if !strings.HasPrefix(got, `{"errors":[`+want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestPrepare_weight weighs documents by hand-counted figures.
func TestPrepare_weight(t *testing.T) {
	s, _ := shelf(t)
	for _, c := range []struct {
		query             string
		variables         map[string]any
		complexity, depth int
	}{
		{`{ me { name } }`, nil, 2, 2},
		{`{ me { name ...f } } fragment f on Person { name }`, nil, 2, 2},
		{`fragment f on Person { name } fragment g on Person { ...f } { me { ...g } }`, nil, 2, 2},
		{`{ me { a: name b: name } x: me { name } }`, nil, 5, 2},
		{`query($not: Boolean!) { me { ...f @skip(if: $not) } } fragment f on Person { name }`, map[string]any{"not": true}, 1, 1},
		{`query($not: Boolean!) { me { id name @skip(if: $not) } }`, map[string]any{"not": true}, 2, 2},
		// (nodes 1 + id 1, looked up 1, sorted 1) x 2
		{`{ people { nodes { id } } }`, nil, 8, 3},
		{`query($n: Int) { people(first: $n) { nodes { id } } }`, map[string]any{"n": 10}, 4, 3},
		{`{ people(search: "x") { nodes { id } } }`, nil, 18, 3},
		{`{ people(first: 100000) { nodes { id } } }`, nil, 8, 3},
	} {
		t.Run(c.query, func(t *testing.T) {
			doc, problems := s.Parse(c.query)
			if problems != nil {
				t.Fatal(problems)
			}
			op, problems := s.Prepare(doc, "", c.variables)
			if problems != nil {
				t.Fatal(problems)
			}
			if op.Complexity() != c.complexity || op.Depth() != c.depth {
				t.Errorf("complexity %d and depth %d, want %d and %d", op.Complexity(), op.Depth(), c.complexity, c.depth)
			}
		})
	}
}

// TestParse_conflicts refuses fields that are different and have one place in the answer, and takes those that are the same.
func TestParse_conflicts(t *testing.T) {
	s, _ := shelf(t)
	for query, conflict := range map[string]bool{
		`{ me { a: name a: id } }`:                                                                          true,
		`{ me { ...f name: id } } fragment f on Person { name }`:                                            true,
		`{ me { ...f } me { name: id } } fragment f on Person { name }`:                                     true,
		`{ me { ...f ...g } } fragment f on Person { name } fragment g on Person { name: id }`:              true,
		`{ me { ... on Person { name } name: id } }`:                                                        true,
		`{ me { ...f } } fragment f on Person { ...g } fragment g on Person { a: name a: id }`:              true,
		`{ me { a: name b: id } }`:                                                                          false,
		`{ me { name name } me { id } }`:                                                                    false,
		`{ me { ...f } } fragment f on Person { ...g } fragment g on Person { a: name b: id }`:              false,
		`{ x: me { ...f } y: me { ...g } } fragment f on Person { a: name } fragment g on Person { a: id }`: false,
	} {
		_, problems := s.Parse(query)
		if got := len(problems) > 0 && strings.Contains(problems[0].Message, "conflict"); got != conflict || !conflict && problems != nil {
			t.Errorf("%s: got %v", query, problems)
		}
	}
}

// TestSchema_texts refuses bare numbers for texts: they would be written as numbers.
func TestSchema_texts(t *testing.T) {
	s, err := New(&ast.Source{Name: "texts", Input: "type Query { a: A, b: A } type A { id: ID!, name: String, names: [String], size: Int }"})
	if err != nil {
		t.Fatal(err)
	}
	type number int64 // is written as a text where one is asked for
	type a struct {
		ID   number
		Size int64
	}
	Value(s, "A.name", func(*a) int64 { return 1 })
	Value(s, "A.names", func(*a) []int { return nil })
	Struct[*a](s, "A")
	got := fmt.Sprint(s.Wrong())
	for _, want := range []string{"A.name is a text, and is given int64", "A.names is a text, and is given []int"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if strings.Contains(got, "A.id") || strings.Contains(got, "A.size") {
		t.Errorf("got %s", got)
	}
}
