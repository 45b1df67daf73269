package mergerequest_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/repo"
)

// Branches that open requests come from or go to stay when merged ones are deleted.
func TestService_Requested(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		started := w.tip("main")
		m := w.open("wanted", files{"wanted": "1"})
		w.move("goal", started)
		w.move("done", started)
		into := w.create(mergerequest.Input{SourceBranch: "wanted", TargetBranch: "goal", Title: "Into goal"})
		w.move("main", w.write([]string{w.tip("wanted")}, files{"more": "1"}, "Go on").String()) // which merges it, unseen so far
		left := func() string {
			t.Helper()
			list, err := w.repos.Branches(ctx, w.owner, w.as(w.owner), repo.BranchFilter{Search: "^"})
			check(t, err)
			var names []string
			for _, b := range list.Items {
				names = append(names, b.Name)
			}
			return strings.Join(names, " ")
		}
		check(t, w.repos.DeleteMerged(ctx, w.owner, w.as(w.owner)))
		if got := left(); got != "goal main wanted" {
			t.Errorf("left: %s", got)
		}
		w.exec("UPDATE merge_requests SET state = 'closed' WHERE id IN (?, ?)", m.ID, into.ID)
		check(t, w.repos.DeleteMerged(ctx, w.owner, w.as(w.owner)))
		if got := left(); got != "main" {
			t.Errorf("left in the end: %s", got)
		}
	})
}

// After a push, the requests that it merged by hand are found by their heads, whether the branch has
// ten open requests or thousands.
func TestService_followTarget_plan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		if !strings.HasSuffix(t.Name(), "sqlite") {
			t.Skip("PostgreSQL plans by the number of rows")
		}
		type step struct {
			ID     int    `db:"id"`
			Parent int    `db:"parent"`
			Unused int    `db:"notused"`
			Detail string `db:"detail"`
		}
		cond, args := mergerequest.WithHeads(w.id, "main", []string{"a", "b"})
		plan, err := db.Select[step](t.Context(), w.DB, "EXPLAIN QUERY PLAN SELECT m.* FROM merge_requests m WHERE "+cond+" AND m.state = 'opened' ORDER BY m.id", args...)
		check(t, err)
		var got []string
		for _, p := range plan {
			got = append(got, p.Detail)
		}
		if want := "SEARCH h USING COVERING INDEX merge_requests_head (target_project_id=? AND head_sha=?)"; len(got) != 3 || got[2] != want {
			t.Errorf("plan: got %q, want %q for the last step", got, want)
		}
	})
}
