package clients

import (
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestGraphQLJS reads the schema with the reference implementation of GraphQL: its text and what introspection tells are valid, and the same.
func TestGraphQLJS(t *testing.T) {
	t.Parallel()
	run := npmFolder(t, "graphqljs", "graphql-js")
	s := servertest.Start(t, "", "--rate-limits=off")
	if got := run(nil, "node", "check.js", s.URL, servertest.RootToken); !strings.HasSuffix(strings.TrimSpace(got), "types, ok") {
		t.Errorf("check.js printed %q", got)
	}
}
