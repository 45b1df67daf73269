package faults

import (
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestAdminFeatures sets a feature with the commands of an operator, while the server runs and while it does not.
func TestAdminFeatures(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "")
	run := func(want string, args ...string) {
		t.Helper()
		if out := adminDone(t, s.Data, s.Database(), args...); !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("tenon admin %v: %s, want %s", args, out, want)
		}
	}
	const name = "changelog_commits_limitation"
	run(name+" on the default", "features", "list")
	run(name+" off", "features", "set", name, "false")
	run(`"state": "off"`, "features", "list", "--json")
	s.Stop()
	run(name+" off", "features", "list")
	run(name+" conditional 30% of actors", "features", "set", name, "30", "--of-actors")
	run(name+" on the default", "features", "set", name, "default")
	if out, err := admin(t.Context(), t, s.Data, s.Database(), "mail", "test", "ann@example.com"); err == nil || !strings.Contains(out, "mail.host is not set") {
		t.Errorf("a test mail without a mail server: %v %s", err, out)
	}
	run("true", "settings", "set", "allow_local_requests_from_web_hooks_and_services", "true")
	if out, err := admin(t.Context(), t, s.Data, s.Database(), "doctor"); !strings.Contains(out, "warn settings: allow_local_requests_from_web_hooks_and_services opens the whole local network") {
		t.Errorf("doctor: %v %s", err, out)
	}
}
