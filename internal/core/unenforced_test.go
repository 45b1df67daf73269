package core_test

import (
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// What is stored and asks for nothing is not counted.
func TestUnenforcedUses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		owner := w.User("owner")
		group := w.Group("team", authz.Private, 0)
		project := w.Project("app", authz.Private, group)
		for query, id := range map[string]int64{
			`UPDATE groups SET settings = '{"shared_runners_minutes_limit":null}' WHERE namespace_id = ?`: int64(group),
			`UPDATE projects SET settings = '{"prevent_merge_without_jira_issue":false}' WHERE id = ?`:    int64(project),
		} {
			if _, err := d.Exec(t.Context(), query, id); err != nil {
				t.Fatal(err)
			}
		}
		uses := func() string {
			t.Helper()
			list, err := core.UnenforcedUses(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, u := range list {
				out += fmt.Sprint(u.Of, " ", u.Name, " ", u.Count, "; ")
			}
			return out
		}
		if got := uses(); got != "" {
			t.Errorf("before: got %s", got)
		}
		for query, id := range map[string]int64{
			`UPDATE groups SET require_two_factor_authentication = true, settings = '{"shared_runners_minutes_limit":50}' WHERE namespace_id = ?`: int64(group),
			`UPDATE projects SET settings = '{"prevent_merge_without_jira_issue":true}' WHERE id = ?`:                                             int64(project),
			"UPDATE users SET shared_runners_minutes_limit = 5 WHERE id = ?":                                                                      int64(owner.UserID),
		} {
			if _, err := d.Exec(t.Context(), query, id); err != nil {
				t.Fatal(err)
			}
		}
		const want = "group require_two_factor_authentication 1; group shared_runners_minutes_limit 1; user shared_runners_minutes_limit 1; project prevent_merge_without_jira_issue 1; "
		if got := uses(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
