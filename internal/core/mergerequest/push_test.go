package mergerequest_test

import (
	"strings"
	"testing"

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
