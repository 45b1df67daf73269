package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/test/scaletest"
)

// TestPlans asks an instance for its lists, in which every table that may be large has more
// rows than a set of candidates may have, as an administrator and as a member of some groups:
// no statement reads such a table as a whole. Those that read it in the order of its primary
// key until they have their page, or have counted 10,001 rows, are in a golden file.
func TestPlans(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		const beyond = page.MaxCounted + 100
		seeder := scaletest.Seeder{Size: scaletest.Size{
			Users: 500, Groups: 100, Projects: beyond, Issues: 2 * beyond, InLarge: beyond, Requests: 2 * beyond, RequestsInLarge: beyond,
			Noted: 100, NotesEach: 8, LongNote: 1_000, Labels: 10, Joined: 50,
		}}
		s.crowd(t, &seeder)
		scans := map[string]bool{}
		large := []string{
			"users", "emails", "namespaces", "namespace_ancestors", "routes", "members", "projects", "issues", "issue_assignees", "label_links",
			"merge_requests", "merge_request_assignees", "merge_request_reviewers", "notes",
		}
		for _, who := range []string{"admin", "member"} {
			for _, list := range scaletest.Lists() {
				plans := dbtest.Plans(t, s.db, func() {
					if a := s.send(t.Context(), request{as: who, method: http.MethodGet, path: list.Path}); a.Code != http.StatusOK {
						t.Fatalf("GET %s: got %d %s", list.Path, a.Code, a.Body)
					}
				})
				if len(plans) == 0 {
					t.Errorf("%s for the %s: no statement was seen", list.Name, who)
				}
				for _, plan := range plans {
					if line := dbtest.Scanned(plan, large...); line != "" {
						scans[fmt.Sprintf("GET %s, %s: %s", list.Path, who, line)] = true
						t.Logf("%s for the %s: %s in\n%s", list.Name, who, line, plan)
					}
				}
			}
		}
		text := "# Lists that read rows of a large table in the order of its primary key, to a bound.\n"
		for _, line := range slices.Sorted(maps.Keys(scans)) {
			text += line + "\n"
		}
		compareGolden(t, "testdata/plans_"+string(s.db.Dialect())+".txt", text)
	})
}

// crowd fills the database with the rows of a large instance.
func (s *server) crowd(t *testing.T, seeder *scaletest.Seeder) {
	t.Helper()
	err := seeder.Templates(t.Context(), func(ctx context.Context, path string, body map[string]any) (scaletest.Made, error) {
		var made scaletest.Made
		a := s.send(ctx, request{as: "admin", method: http.MethodPost, path: path, body: body})
		if a.Code != http.StatusCreated {
			return made, fmt.Errorf("POST %s: %d %s", path, a.Code, a.Body)
		}
		return made, json.Unmarshal(a.Body.Bytes(), &made)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ids["member"] = authz.UserID(seeder.Member)
	s.token("member", "member", authz.ScopeAPI)
	if err := seeder.Fill(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	if s.db.Dialect() == db.Postgres {
		s.exec("VACUUM ANALYZE")
	}
}
