package app

import (
	"strings"
	"testing"
)

// TestCheck_counters breaks the counters of notes of an epic: the check finds both.
func TestCheck_counters(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		group := "/groups/" + number(s.do("admin", "POST", "/groups", obj{"name": "counted", "path": "counted"}), "id")
		epic := group + "/epics/" + number(s.do("admin", "POST", group+"/epics", obj{"title": "Counted"}), "iid")
		s.do("admin", "POST", epic+"/notes", obj{"body": "one"})
		check := func() string {
			t.Helper()
			lines, err := s.core.Notes.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(lines, "\n")
		}
		if got := check(); got != "" {
			t.Errorf("before: %s", got)
		}
		s.exec("UPDATE epics SET notes_count = 7, public_notes_count = 8")
		got := check()
		for _, want := range []string{"epics: notes_count of 1 is 7, want 1", "epics: public_notes_count of 1 is 8, want 1"} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
	})
}
