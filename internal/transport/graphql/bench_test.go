package graphql

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/core"
)

// long makes a document of almost 10,000 characters of repeated parts.
func long(begin, part, end string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 0; b.Len() < 9_950-len(part)-len(end); i++ {
		fmt.Fprintf(&b, part, i)
	}
	b.WriteString(end)
	return b.String()
}

// BenchmarkParse parses, validates and weighs documents of 10,000 characters.
func BenchmarkParse(b *testing.B) {
	s, err := newSchema(Deps{Services: &core.Services{}}, false)
	if err != nil {
		b.Fatal(err)
	}
	const leaves = `id iid title state createdAt updatedAt webUrl author { username name webUrl } milestone { title dueDate } labels(first: 5) { nodes { title color } }`
	for _, c := range []struct{ name, text string }{
		{"aliases", long(`query($path: ID!) { project(fullPath: $path) { `, `a%d: issues(first: 20, state: opened, sort: UPDATED_DESC) { nodes { `+leaves+` } } `, "} }")},
		{"fragments", long(`query($path: ID!) { project(fullPath: $path) { issues { nodes { ...f } } `, `a%d: issues(first: 20) { nodes { ...f } } `, "} } fragment f on Issue { "+leaves+" }")},
		{"leaves", long(`{ `, `a%[1]d: currentUser { b%[1]d: username c%[1]d: name } `, "}")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			variables := map[string]any{"path": "a/b"}
			if !strings.Contains(c.text, "$path") {
				variables = nil
			}
			for b.Loop() {
				doc, problems := s.Parse(c.text)
				if problems != nil {
					b.Fatal(problems)
				}
				op, problems := s.Prepare(doc, "", variables)
				if problems != nil || op.Complexity() == 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}
