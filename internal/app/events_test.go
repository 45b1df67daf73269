package app

import (
	"fmt"
	"strings"
	"testing"
)

// TestReactions lists who reacts to which event, in order.
func TestReactions(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, r := range newServer(t, "").bus.Reactions() {
		fmt.Fprintf(&b, "%s: %s\n", r.Event, strings.Join(r.Handlers, ", "))
	}
	compareGolden(t, "testdata/reactions.txt", b.String())
}
