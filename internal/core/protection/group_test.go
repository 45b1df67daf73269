package protection_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/protection"
)

// TestService_ProtectGroupBranch combines the rules of a project with those of two groups above it: the actor may do what each place allows.
func TestService_ProtectGroupBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		admin := authz.Actor{UserID: w.owner.UserID, Admin: true}
		outer := w.Group("outer", authz.Private, 0)
		inner := w.Group("outer/inner", authz.Private, outer)
		place := func(id authz.NamespaceID) authz.Place {
			return authz.Place{Namespace: id, Group: true, ID: int64(id), Subject: authz.Subject{Noun: "Group", Namespace: id}}
		}
		w.id = w.Project("outer/inner/deep", authz.Private, inner)
		for who, level := range map[*authz.Actor]authz.Level{&w.maintainer: authz.Maintainer, &w.developer: authz.Developer} {
			w.Join(w.id, *who, level)
		}
		access := func(as authz.Actor) string {
			t.Helper()
			a, err := w.rules.BranchAccess(ctx, as, w.as(as), "main")
			check(t, err)
			return fmt.Sprintf("protected %t push %t merge %t force %t developers %t %t", a.Protected, a.Push, a.Merge, a.ForcePush, a.DevelopersPush, a.DevelopersMerge)
		}
		wantAccess := func(when, developer, maintainer string) {
			t.Helper()
			if got := access(w.developer); got != developer {
				t.Errorf("%s, developer: got %s", when, got)
			}
			if got := access(w.maintainer); got != maintainer {
				t.Errorf("%s, maintainer: got %s", when, got)
			}
		}
		protect := func(id authz.NamespaceID, in protection.Input) *protection.Rule {
			t.Helper()
			rule, err := w.rules.ProtectGroupBranch(ctx, admin, place(id), in)
			check(t, err)
			return rule
		}
		wantAccess("no rule", "protected false push true merge true force true developers false false", "protected false push true merge true force true developers false false")
		first := protect(outer, protection.Input{Name: "main", Merge: []protection.LevelInput{role(authz.Developer)}, AllowForcePush: true})
		if got := shape(first); got != "push:40 merge:30 unprotect:40" {
			t.Errorf("levels: %s", got)
		}
		wantAccess("the outer group", "protected true push false merge true force false developers false true", "protected true push true merge true force true developers false true")
		// Two rules of one group add up.
		protect(outer, protection.Input{Name: "ma*", Push: []protection.LevelInput{role(authz.Developer)}})
		wantAccess("two rules of a group", "protected true push true merge true force true developers true true", "protected true push true merge true force true developers true true")
		protect(inner, protection.Input{Name: "*", Push: []protection.LevelInput{role(authz.NoAccess)}, Merge: []protection.LevelInput{role(authz.Maintainer)}})
		wantAccess("the inner group as well", "protected true push false merge false force false developers false false", "protected true push false merge true force false developers false false")
		// Group rules apply to a user that a rule of the project names.
		_, err := w.rules.ProtectBranch(ctx, w.maintainer, w.as(w.maintainer), protection.Input{Name: "main", Push: []protection.LevelInput{user(w.developer)}})
		check(t, err)
		wantAccess("the project's own", "protected true push false merge false force false developers false false", "protected true push false merge true force false developers false false")

		list, err := w.rules.ProtectedBranches(ctx, w.developer, w.as(w.developer), "", page.Range{Limit: 2, Keyset: true})
		check(t, err)
		if len(list.Items) != 2 || list.Items[0].Group != inner || list.Items[1].Group != outer {
			t.Errorf("the first page has %+v", list.Items)
		}
		own, err := w.rules.Own(ctx, w.id)
		check(t, err)
		if len(own) != 1 || own[0].Group != 0 {
			t.Errorf("own rules: %+v", own)
		}
		_, err = w.rules.GroupProtectedBranches(ctx, w.maintainer, place(outer), "", page.Range{Limit: 20})
		wants(t, err, errs.Forbidden, "")
		_, err = w.rules.ProtectGroupBranch(ctx, w.stranger, place(outer), protection.Input{Name: "x"})
		wants(t, err, errs.NotFound, "Group not found")
		_, err = w.rules.ProtectGroupBranch(ctx, admin, place(outer), protection.Input{Name: " "})
		wants(t, err, errs.Unprocessable, "")
	})
}

// TestService_ProtectGroupBranch_together makes rules at one moment: a group has no more than its bound.
func TestService_ProtectGroupBranch_together(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		admin := authz.Actor{UserID: w.owner.UserID, Admin: true}
		id := w.Group("many", authz.Private, 0)
		at := authz.Place{Namespace: id, Group: true, ID: int64(id), Subject: authz.Subject{Noun: "Group", Namespace: id}}
		protect := func(n int) error {
			_, err := w.rules.ProtectGroupBranch(t.Context(), admin, at, protection.Input{Name: fmt.Sprint("b", n)})
			return err
		}
		for n := range 90 {
			check(t, protect(n))
		}
		var made atomic.Int64
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				switch err := protect(100 + n); {
				case err == nil:
					made.Add(1)
				case !errs.Is(err, errs.Unprocessable):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != 10 {
			t.Errorf("%d more were made, want 10", made.Load())
		}
	})
}
