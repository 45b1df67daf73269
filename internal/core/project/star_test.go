package project_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

func TestService_Star(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann", 10), f.user("bob", 10)
		app := f.project(ann, "app", nil, authz.Public)
		f.project(ann, "hidden", nil, authz.Private)
		_, err := f.Star(ctx, authz.Actor{}, "ann/app")
		wantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = f.Star(ctx, bob, "ann/hidden")
		wantError(t, err, errs.NotFound, "Project not found")
		if p, err := f.Star(ctx, bob, "ann/app"); err != nil || p.StarCount != 1 {
			t.Fatalf("star: got %+v, %v", p, err)
		}
		_, err = f.Star(ctx, bob, "ann/app")
		wantError(t, err, errs.NotModified, "not modified")
		found, err := f.Starrers(ctx, authz.Actor{}, "ann/app", "BO", page.Range{Limit: 10})
		list, total := found.Items, found.Total
		if err != nil || total != 1 || list[0].UserID != bob.UserID {
			t.Errorf("starrers: got %+v, %d, %v", list, total, err)
		}
		starred := func(as authz.Actor, filter project.Filter) int {
			t.Helper()
			filter.Limit = 10
			found, err := f.List(ctx, as, filter)
			total := found.Total
			if err != nil {
				t.Fatal(err)
			}
			return total
		}
		if got := []int{starred(bob, project.Filter{Starred: true}), starred(ann, project.Filter{Starred: true}), starred(ann, project.Filter{StarredBy: bob.UserID})}; got[0] != 1 || got[1] != 0 || got[2] != 1 {
			t.Errorf("lists: got %v", got)
		}
		for v, want := range map[authz.Visibility]int{authz.Private: 0, authz.Public: 1} { // a star keeps nothing visible (CVE-2026-20800)
			if _, err := f.Update(ctx, ann, "ann/app", project.Changes{Visibility: &v}); err != nil {
				t.Fatal(err)
			}
			if own, others := starred(bob, project.Filter{Starred: true}), starred(authz.Actor{}, project.Filter{StarredBy: bob.UserID}); own != want || others != want {
				t.Errorf("stars of a project of visibility %v: bob sees %d, anybody %d, want %d", v, own, others, want)
			}
		}
		if _, err := f.Update(ctx, ann, "ann/app", project.Changes{Visibility: ptr(authz.Public)}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.db.Exec(ctx, "UPDATE users SET private_profile = ? WHERE id = ?", true, bob.UserID); err != nil {
			t.Fatal(err)
		}
		if got := starred(ann, project.Filter{StarredBy: bob.UserID}); got != 0 {
			t.Errorf("stars of a closed profile: got %d", got)
		}
		if found, err = f.Starrers(ctx, ann, "ann/app", "", page.Range{Limit: 10}); err != nil || found.Total != 0 {
			t.Errorf("starrers with closed profiles: got %d, %v", found.Total, err)
		}
		if p, err := f.Unstar(ctx, bob, "ann/app"); err != nil || p.StarCount != 0 || p.ID != app.ID {
			t.Errorf("unstar: got %+v, %v", p, err)
		}
		_, err = f.Unstar(ctx, bob, "ann/app")
		wantError(t, err, errs.NotModified, "not modified")
	})
}
