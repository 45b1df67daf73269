package issue_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
)

// TestEvents compares what events say of an issue with what readers find before and after
// each change.
func TestEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		var facts coretest.Facts[issue.Issue]
		read := func(e issue.Fact) coretest.Fact[issue.Issue] {
			if e.Project.ID != f.id {
				t.Errorf("an event in project %d, want %d", e.Project.ID, f.id)
			}
			return coretest.FactOf(e.Of)
		}
		coretest.Hear(f.Bus, &facts, func(e issue.Created) coretest.Fact[issue.Issue] { return read(e.Fact) })
		coretest.Hear(f.Bus, &facts, func(e issue.Updated) coretest.Fact[issue.Issue] { return read(e.Fact) })
		coretest.Hear(f.Bus, &facts, func(e issue.Closed) coretest.Fact[issue.Issue] { return read(e.Fact) })
		coretest.Hear(f.Bus, &facts, func(e issue.Reopened) coretest.Fact[issue.Issue] { return read(e.Fact) })
		coretest.Hear(f.Bus, &facts, func(e issue.Deleted) coretest.Fact[issue.Issue] { return read(e.Fact) })
		p := f.Find(f.owner, f.id)
		find := func() *issue.Issue {
			i, _ := f.issues.Find(ctx, f.owner, p, 1)
			return i
		}
		coretest.CheckFacts(t, &facts, f.owner, find, []coretest.Step{
			coretest.Do("create", func() error {
				_, err := f.issues.Create(ctx, f.owner, p, issue.Input{Title: "One", Labels: []string{"b", "a"}, AssigneeIDs: []authz.UserID{f.guest.UserID}})
				return err
			}, 1),
			coretest.Do("update and close", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{
					Title: ptr("Two"), StateEvent: "close", Labels: label.Assignment{Add: []string{"c"}, Remove: []string{"a"}},
					AssigneeIDs: &[]authz.UserID{f.planner.UserID},
				})
				return err
			}, 2),
			coretest.Do("reopen", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{StateEvent: "reopen"})
				return err
			}, 1),
			coretest.Do("nothing", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{Title: ptr("Two")})
				return err
			}, 0),
			coretest.Do("delete", func() error { return f.issues.Delete(ctx, f.owner, p, 1) }, 1),
		})
	})
}
