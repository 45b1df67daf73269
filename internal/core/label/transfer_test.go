package label_test

import (
	"context"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
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
		target := f.create(authz.Place{Namespace: into, Subject: authz.Subject{Noun: "Group", Namespace: into}}, "shared")
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
			return f.labels.OnTransferred(ctx, project.Transferred{Fact: project.Fact{Stamp: f.planner.Stamp(f.Now()), After: p, Before: p}})
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

// TestService_OnGroupTransferred moves a group away from another one. Its epics, and those of its
// subgroups, keep the titles of their labels.
func TestService_OnGroupTransferred(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		place := func(path string, parent authz.NamespaceID) authz.Place {
			id := f.Group(path, authz.Private, parent)
			f.Member(id, f.planner, authz.Planner)
			return authz.Place{Namespace: id, Subject: authz.Subject{Noun: "Group", Namespace: id}}
		}
		former, into := place("former", 0), place("elsewhere", 0)
		moved := place("former/moved", former.Namespace)
		below := place("former/moved/below", moved.Namespace)
		own, shared, old, deep := f.create(moved, "own"), f.create(former, "shared"), f.create(former, "old"), f.create(below, "deep")
		target := f.create(into, "shared")
		var refs []noteable.Ref
		for i, at := range []authz.Place{moved, below} {
			refs = append(refs, noteable.Ref{Kind: noteable.Epic, ID: f.Insert("epics", coretest.Row{
				"iid": i + 1, "group_id": at.Namespace, "author_id": f.planner.UserID, "title": "One", "title_fold": "one", "description_fold": "",
				"state": "opened", "color": "#ffffff",
			})})
		}
		if err := d.InTx(ctx, func(ctx context.Context) error {
			for i, labels := range [][]label.Label{{*own, *shared, *old}, {*deep, *old}} {
				if err := f.labels.Attach(ctx, refs[i], labels); err != nil {
					return err
				}
			}
			for _, query := range []string{
				"UPDATE namespaces SET parent_id = ? WHERE parent_id = ?",
				"UPDATE namespace_ancestors SET ancestor_id = ? WHERE ancestor_id = ? AND depth > 0",
			} {
				if _, err := d.Exec(ctx, query, into.Namespace, former.Namespace); err != nil {
					return err
				}
			}
			g := namespace.Group{ID: moved.Namespace}
			return f.labels.OnGroupTransferred(ctx, namespace.GroupTransferred{GroupFact: namespace.GroupFact{Stamp: f.planner.Stamp(f.Now()), After: &g, Before: &g}})
		}); err != nil {
			t.Fatal(err)
		}
		found, err := f.labels.ForTargets(ctx, noteable.Epic, noteable.IDs(refs))
		if err != nil {
			t.Fatal(err)
		}
		first, second := found[refs[0].ID], found[refs[1].ID]
		if len(first) != 3 || len(second) != 2 {
			t.Fatalf("labels are %q and %q, want old, own, shared and deep, old", label.Titles(first), label.Titles(second))
		}
		if c := first[0]; c.Title != "old" || c.NamespaceID != moved.Namespace || second[1].ID != c.ID {
			t.Errorf("the label of the former group became %+v and %+v, want one copy in the group", c, second[1])
		}
		if first[1].ID != own.ID || first[2].ID != target.ID || second[0].ID != deep.ID {
			t.Errorf("got labels %d, %d and %d, want %d, %d and %d", first[1].ID, first[2].ID, second[0].ID, own.ID, target.ID, deep.ID)
		}
	})
}
