package exec

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// bombs are documents of at most 10,000 characters that mean much more than they say.
func bombs() map[string]string {
	doubling, cycle := "{ me { ...f0 } }", "{ me { ...f0 } }"
	for i := range 60 {
		next := fmt.Sprintf("...f%d", i+1)
		doubling += fmt.Sprintf(" fragment f%d on Person { a: books { author { %s } } b: books { author { %s } } }", i, next, next)
		cycle += fmt.Sprintf(" fragment f%d on Person { books { author { ...f%d } } }", i, (i+1)%60)
	}
	doubling += " fragment f60 on Person { id }"
	return map[string]string{
		"fragments that double":      doubling,
		"fragments in a cycle":       cycle,
		"one field many times":       "{ me { " + strings.Repeat("id ", 3000) + "} }",
		"lists many times":           "{ me { " + strings.Repeat("books{id}", 1000) + "} }",
		"aliases":                    "{ " + strings.Repeat("a:me{id}", 10) + aliases(700) + "}",
		"a spread many times":        "{ me { " + strings.Repeat("...f ", 1500) + "} } fragment f on Person { id books { author { id } } }",
		"inline fragments":           "{ me { " + strings.Repeat("...{", 900) + "id" + strings.Repeat("}", 900) + "} }",
		"directives":                 "{ me { id " + strings.Repeat("@skip(if: true) ", 600) + "} }",
		"lists in lists":             "{ anything(ids: " + strings.Repeat("[", 900) + strings.Repeat("]", 900) + ") { id } }",
		"objects in objects":         "mutation { rename(input: " + strings.Repeat("{id:", 900) + "1" + strings.Repeat("}", 900) + ") { errors } }",
		"selections in selections":   strings.Repeat("{a", 1500) + strings.Repeat("}", 1500),
		"variables":                  "query(" + variablesNamed(600) + ") { me { id } }",
		"types of variables":         "query($x: " + strings.Repeat("[", 900) + "Int" + strings.Repeat("]", 900) + ") { people(first: $x) { count } }",
		"a name that does not end":   "{ " + strings.Repeat("x", 9000) + " }",
		"a string that does not end": "{ book(id: \"" + strings.Repeat("x", 9000) + " }",
		"comments":                   strings.Repeat("#\n", 4900) + "{ me { id } }",
		"introspection in itself":    "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
	}
}

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d:me{id}", i)
	}
	return b.String()
}

func variablesNamed(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "$v%d: Int ", i)
	}
	return b.String()
}

// Documents that mean much more than they say are refused, or weighed at what they mean; none of
// them is walked further than it takes to know that.
func TestParse_bombs(t *testing.T) {
	s, _ := shelf(t)
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			if len(text) > 10_000 {
				t.Fatalf("%d characters", len(text))
			}
			doc, problems := s.Parse(text)
			if len(problems) > maxRules {
				t.Errorf("%d errors, want %d at most", len(problems), maxRules)
			}
			if problems != nil {
				return
			}
			op, problems := s.Prepare(doc, "", nil)
			if problems != nil {
				return
			}
			if op.Complexity() <= 300 {
				if got := ask(t, s, authz.Actor{Username: "ann"}, text, nil); len(got) > 10_000 {
					t.Errorf("complexity %d and an answer of %d bytes", op.Complexity(), len(got))
				}
			}
		})
	}
}
