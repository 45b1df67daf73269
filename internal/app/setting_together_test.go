package app

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// Requests at one moment that each change another setting all stay, and the event of each says from what it was changed.
func TestSettings_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		names := []string{
			"default_projects_limit", "raw_blob_request_limit", "search_rate_limit", "issues_create_limit", "notes_create_limit", "members_delete_limit",
			"project_api_limit", "groups_api_limit", "project_import_limit", "max_artifacts_size",
		}
		was := s.do("admin", "GET", "/application/settings", nil)
		const rounds = 4
		for round := range rounds {
			var all sync.WaitGroup
			for i, name := range names {
				all.Go(func() {
					q := request{as: "admin", method: http.MethodPut, path: "/application/settings", body: obj{name: 1000 + 100*round + i}}
					if a := s.send(t.Context(), q); a.Code != http.StatusOK {
						t.Errorf("%s: %d %s", name, a.Code, a.Body)
					}
				})
			}
			all.Wait()
		}
		now := s.do("admin", "GET", "/application/settings", nil)
		want := map[string]bool{}
		for i, name := range names {
			from := fmt.Sprint(int(was[name].(float64)))
			for round := range rounds {
				to := fmt.Sprint(1000 + 100*round + i)
				want[name+" from "+from+" to "+to] = true
				from = to
			}
			if got := fmt.Sprint(int(now[name].(float64))); got != from {
				t.Errorf("%s is %s, want %s", name, got, from)
			}
		}
		for _, e := range s.trail("admin", "/audit_events?per_page=100") {
			if e.EventName == "application_setting_updated" {
				delete(want, fmt.Sprintf("%v from %v to %v", e.Details["change"], e.Details["from"], e.Details["to"]))
			}
		}
		for missing := range want {
			t.Errorf("no event: %s", missing)
		}
	})
}
