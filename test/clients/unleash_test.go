package clients

import (
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestUnleash lets the Unleash client for Node read feature flags with every strategy, by its ETag, and with a secret that is renewed, on both engines.
func TestUnleash(t *testing.T) {
	t.Parallel()
	run := npmFolder(t, "unleash", "Unleash")
	servertest.Each(t, func(t *testing.T, database string) {
		s := servertest.Start(t, database, "--rate-limits=off")
		if got := run(nil, "node", "flags.js", s.URL, servertest.RootToken); !strings.HasSuffix(strings.TrimSpace(got), "ok") {
			t.Errorf("flags.js printed %q, want ok", got)
		}
	})
}
