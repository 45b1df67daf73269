package label_test

import (
	"context"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// TestService_OnTransferred moves a project away from its group. Its issues keep the titles of
// their labels: from the new group where that has one, copied into the project otherwise.
func TestService_OnTransferred(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		own, shared, old := f.create(f.in(f.planner), "own"), f.create(f.above(), "shared"), f.create(f.above(), "old")
		f.create(f.above(), "unused")
		into := f.Group("into", authz.Private, 0)
		f.Member(into, f.planner, authz.Planner)
		target := f.create(label.Place{Namespace: into, Subject: authz.Subject{Thing: "Group", Namespace: into}}, "shared")
		issue := noteable.Ref{Kind: noteable.Issue, ID: f.Insert("issues", coretest.Row{
			"iid": 1, "project_id": f.id, "author_id": f.planner.UserID, "title": "One", "title_fold": "one", "description_fold": "",
			"state": "opened", "issue_type": "issue",
		})}
		p := f.Find(f.planner, f.id)
		if err := d.InTx(ctx, func(ctx context.Context) error {
			if err := f.labels.Attach(ctx, issue, []label.Label{*own, *shared, *old}); err != nil {
				return err
			}
			for _, query := range []string{
				"UPDATE namespaces SET parent_id = ? WHERE id = ?",
				"UPDATE namespace_ancestors SET ancestor_id = ? WHERE namespace_id = ? AND depth = 1",
			} {
				if _, err := d.Exec(ctx, query, into, p.NamespaceID); err != nil {
					return err
				}
			}
			return f.labels.OnTransferred(ctx, project.Transferred{Fact: project.Fact{Stamp: f.planner.Stamp(f.Now()), Project: *p, Before: p}})
		}); err != nil {
			t.Fatal(err)
		}
		found, err := f.labels.ForTargets(ctx, noteable.Issue, []int64{issue.ID})
		if err != nil {
			t.Fatal(err)
		}
		got := found[issue.ID]
		if len(got) != 3 || got[0].Title != "old" || got[1].Title != "own" || got[2].Title != "shared" {
			t.Fatalf("labels are %q, want old, own and shared", label.Titles(got))
		}
		if got[0].NamespaceID != p.NamespaceID || got[0].ID == old.ID || got[0].Color != old.Color {
			t.Errorf("the label of the former group became %+v, want a copy in the project", got[0])
		}
		if got[1].ID != own.ID || got[2].ID != target.ID {
			t.Errorf("got labels %d and %d, want the project's %d and the new group's %d", got[1].ID, got[2].ID, own.ID, target.ID)
		}
	})
}
