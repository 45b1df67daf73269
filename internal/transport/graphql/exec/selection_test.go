package exec

import (
	"context"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/core/authz"
)

// TestBatch_some embeds the arguments of several places: a place may lack some of them, and has to have all others.
func TestBatch_some(t *testing.T) {
	t.Parallel()
	type inner struct {
		Color string
		Emoji string `json:"myEmoji"`
	}
	type shared struct {
		inner
		Size int64
	}
	type some struct {
		shared `exec:"some"`
		Own    bool
	}
	type all struct {
		shared
		Own bool
	}
	bound := func(f func(s *Schema)) string {
		s, err := New(&ast.Source{Name: "test", Input: "type Query { list(color: String, myEmoji: String, own: Boolean): [String!] }"})
		if err != nil {
			t.Fatal(err)
		}
		f(s)
		if err := s.Wrong(); err != nil {
			return err.Error()
		}
		return ""
	}
	if got := bound(func(s *Schema) {
		Root(s, "list", func(context.Context, *Call[some]) ([]string, error) { return nil, nil })
	}); got != "" {
		t.Errorf("a place without size: got %s", got)
	}
	if got := bound(func(s *Schema) {
		Root(s, "list", func(context.Context, *Call[all]) ([]string, error) { return nil, nil })
	}); !strings.Contains(got, "has no argument size") {
		t.Errorf("all arguments: got %q", got)
	}
	type less struct {
		inner `exec:"some"`
	}
	if got := bound(func(s *Schema) {
		Root(s, "list", func(context.Context, *Call[less]) ([]string, error) { return nil, nil })
	}); !strings.Contains(got, "nothing reads the argument own") {
		t.Errorf("an argument without a field: got %q", got)
	}
}

// TestCall_GivenBeside distinguishes arguments of a request from defaults and null.
func TestCall_GivenBeside(t *testing.T) {
	t.Parallel()
	s, err := New(&ast.Source{Name: "test", Input: "type Query { list(first: Int, search: String, sort: String = \"name\"): [String!] }"})
	if err != nil {
		t.Fatal(err)
	}
	var got bool
	Root(s, "list", func(_ context.Context, c *Call[struct {
		First        *int
		Search, Sort *string
	}],
	) ([]string, error) {
		got = c.GivenBeside("first", "sort")
		return nil, nil
	})
	for args, want := range map[string]bool{`first: 1`: false, `first: 1, search: null`: false, `search: ""`: true, `sort: "age"`: false} {
		if ask(t, s, authz.Actor{}, "{ list("+args+") }", nil); got != want {
			t.Errorf("%s: got %t, want %t", args, got, want)
		}
	}
}
