package graphql

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/graphql/exec"
)

const costFile = "../../../docs/graphql-cost.md"

// TestCosts compares docs/graphql-cost.md with the schema. Run with UPDATE=1 to write it again.
func TestCosts(t *testing.T) {
	s, err := newSchema(Deps{Services: &core.Services{}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := costs(t, s)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(costFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(costFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/graphql-cost.md is not what the schema says: run UPDATE=1 go test ./internal/transport/graphql")
	}
}

func costs(t *testing.T, s *exec.Schema) string {
	t.Helper()
	var b strings.Builder
	limits := func(as authz.Actor) limit.Documents { return (*limit.Service)(nil).Documents(as) }
	none, user, admin := limits(authz.Actor{}), limits(authz.Actor{UserID: 1}), limits(authz.Actor{UserID: 1, Admin: true})
	fmt.Fprintf(&b, `# What GraphQL documents cost

Made from the schema by the tests of transport/graphql; do not edit.

A request may cost %d without signing on, %d signed in and %d for administrators, the requests of a batch together. Answers say what they cost in
`+"`extensions.cost`, and `queryComplexity { score limit }`"+` asks for it. What is too expensive is not run at all.

The cost of a request is that of its fields, fragments in place, each name of the answer counted once:

| field | costs |
|---|---|
| from its parent | 1, and what is selected below it |
| reads the repository | 2, and what is selected below it |
| is looked up | 1, and what is selected below it; 1 more with `+"`sort`, 5 more with `search`"+` |
| is a connection | the same, times 1 + size / 100, rounded down: size is `+"`first` or `last`"+`, else 100; not multiplied with `+"`iid`"+` |

Depth is at most %d without signing on and %d signed in. No name stands more than twice above itself in one branch, `+"`node`, `nodes`, `edges` and `ofType`"+` apart.

## Examples

| document | complexity | depth |
|---|---|---|
`, none.Complexity, user.Complexity, admin.Complexity, none.Depth, user.Depth)
	for _, e := range examples(t, s) {
		fmt.Fprintf(&b, "| `%s` | %d | %d |\n", e.text, e.op.Complexity(), e.op.Depth())
	}
	all := s.Costs()
	for _, kind := range []struct {
		kind  exec.CostKind
		title string
	}{
		{exec.CostsConnection, "Connections"}, {exec.CostsLookup, "Fields that are looked up"}, {exec.CostsGit, "Fields that read the repository"},
	} {
		byType := map[string][]string{}
		var types []string
		for _, c := range all {
			if c.Kind != kind.kind {
				continue
			}
			typ, field, _ := strings.Cut(c.Field, ".")
			if byType[typ] == nil {
				types = append(types, typ)
			}
			byType[typ] = append(byType[typ], field)
		}
		fmt.Fprintf(&b, "\n## %s\n\n", kind.title)
		for _, typ := range types {
			slices.Sort(byType[typ])
			fmt.Fprintf(&b, "- %s: %s\n", typ, strings.Join(byType[typ], ", "))
		}
	}
	fmt.Fprintf(&b, "\nAll other fields cost 1.\n")
	return b.String()
}

type example struct {
	text string
	op   *exec.Operation
}

func examples(t *testing.T, s *exec.Schema) []example {
	t.Helper()
	var out []example
	for _, text := range []string{
		"{ currentUser { username } }",
		`{ project(fullPath: "a/b") { issues(first: 20) { nodes { title labels { nodes { title } } } } } }`,
		`{ project(fullPath: "a/b") { mergeRequests(first: 50, sort: CREATED_ASC) { nodes { iid title author { username } } } } }`,
		`{ projects(search: "x") { nodes { fullPath } } }`,
	} {
		doc, problems := s.Parse(text)
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		op, problems := s.Prepare(doc, "", nil)
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		out = append(out, example{text, op})
	}
	return out
}
