package exec

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/core/authz"
)

// Attack: a document with slow fields keeps the server busy after its client has gone (CVE-2026-3988, CVE-2025-11042). A function sees the end of the time that there is;
// what was answered by then stands, the rest is null, and no further function is called.
func TestRun_deadline(t *testing.T) {
	s, err := New(&ast.Source{Name: "slow", Input: "type Query { early: String, slow: String, late: String, things: [Thing!] } type Thing { name: String, slow: String, late: String }"})
	if err != nil {
		t.Fatal(err)
	}
	type thing struct{ Name string }
	late := 0
	var end func() // of the time of a request
	wait := func(ctx context.Context) error {
		end()
		<-ctx.Done()
		return ctx.Err()
	}
	Root(s, "early", func(context.Context, *Call[None]) (string, error) { return "in time", nil })
	Root(s, "slow", func(ctx context.Context, _ *Call[None]) (string, error) { return "", wait(ctx) })
	Root(s, "late", func(context.Context, *Call[None]) (string, error) { late++; return "x", nil })
	Root(s, "things", func(context.Context, *Call[None]) ([]*thing, error) { return []*thing{{"a"}, {"b"}}, nil })
	Batch(s, "Thing.slow", func(ctx context.Context, _ *Call[None], of []*thing) ([]string, error) {
		return make([]string, len(of)), wait(ctx)
	})
	Batch(s, "Thing.late", func(_ context.Context, _ *Call[None], of []*thing) ([]string, error) {
		late++
		return make([]string, len(of)), nil
	})
	Struct[*thing](s, "Thing")
	if err := s.Problems(); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"{ early slow late }": `{"data":{"early":"in time","slow":null,"late":null},"errors":[` +
			`{"message":"Timeout on Query.slow","locations":[{"line":1,"column":9}],"path":["slow"]},{"message":"Timeout on Query.late","locations":[{"line":1,"column":14}],"path":["late"]}]}`,
		"{ things { name slow late } }": `{"data":{"things":[{"name":"a","slow":null,"late":null},{"name":"b","slow":null,"late":null}]},"errors":[` +
			`{"message":"Timeout on Thing.slow","locations":[{"line":1,"column":17}],"path":["things",0,"slow"]},{"message":"Timeout on Thing.slow","locations":[{"line":1,"column":17}],"path":["things",1,"slow"]},` +
			`{"message":"Timeout on Thing.late","locations":[{"line":1,"column":22}],"path":["things",0,"late"]},{"message":"Timeout on Thing.late","locations":[{"line":1,"column":22}],"path":["things",1,"late"]}]}`,
	} {
		doc, problems := s.Parse(query)
		if problems != nil {
			t.Fatal(problems)
		}
		op, problems := s.Prepare(doc, "", nil)
		if problems != nil {
			t.Fatal(problems)
		}
		ctx := timed{t.Context(), make(chan struct{})}
		end = sync.OnceFunc(func() { close(ctx.over) })
		var out bytes.Buffer
		err := write(s.Run(ctx, testConfig, op, authz.Actor{}), &out)
		if err != nil || out.String() != want {
			t.Errorf("%s: %v\n got %s\nwant %s", query, err, &out, want)
		}
	}
	if late != 0 {
		t.Errorf("%d functions were called after the end", late)
	}
}

// timed is a context whose deadline comes when a test says so.
type timed struct {
	context.Context
	over chan struct{}
}

func (c timed) Done() <-chan struct{} { return c.over }

func (c timed) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// FuzzParse looks for documents on which reading, weighing or running stumbles, or takes more steps
// than its bounds allow.
func FuzzParse(f *testing.F) {
	for _, text := range bombs() {
		f.Add(text, "")
	}
	for _, text := range []string{
		`query Q($n: Int = 3) { people(first: $n) { nodes { id } } }`, `mutation { rename(input: {id: "book:1", tags: [null]}) { errors } }`, `{ me { ... @include(if: $x) { id } } }`,
		`subscription { x }`, "\ufeff{ me { id } }", `{ me(a: """b\"""c""") { id } }`, `fragment f on f { ...f } { ...f }`, `{ anything(ids: [[["1"]]]) { id } }`, "{ a\x00 }", `{ book(id: 1e999) { id } }`,
	} {
		f.Add(text, `{"n":1e400,"x":{}}`)
	}
	s, _ := shelf(f)
	f.Fuzz(func(t *testing.T, text, value string) {
		if len(text) > 10_000 {
			return
		}
		doc, problems := s.Parse(text)
		if len(problems) > maxRules {
			t.Errorf("%d errors", len(problems))
		}
		if problems != nil {
			return
		}
		op, problems := s.Prepare(doc, "", map[string]any{"n": value, "x": []any{value}, "in": map[string]any{"id": value}})
		if problems != nil || op.Complexity() > 300 || op.Depth() > 20 {
			return
		}
		var out bytes.Buffer
		if err := write(s.Run(t.Context(), testConfig, op, authz.Actor{Username: "ann"}), &out); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(out.String(), "panic") && !strings.Contains(text+value, "panic") {
			t.Errorf("%q: got %s", text, &out)
		}
	})
}
