package namespace_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Transfer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann"), f.user("bob")
		old := f.group(ann, "old", nil, authz.Public)
		moving := f.group(ann, "moving", old, authz.Public)
		inner := f.group(ann, "inner", moving, authz.Public)
		app := f.twin("app", inner.ID, authz.Public)
		into := f.group(ann, "into", nil, authz.Internal)
		f.add(ann, at(old), bob, authz.Developer)

		_, err := f.Transfer(ctx, bob, "old/moving", &into.ID)
		wantError(t, err, errs.Forbidden, "forbidden")
		fails := func(as authz.Actor, ref string, to *namespace.ID, why string) {
			t.Helper()
			_, err := f.Transfer(ctx, as, ref, to)
			wantError(t, err, errs.Invalid, "Transfer failed: "+why)
		}
		bobs := f.group(bob, "bobs", nil, authz.Public)
		fails(ann, "old/moving", &bobs.ID, "You don't have enough permissions.")
		fails(ann, "old/moving", &old.ID, "Group is already associated to the parent group.")
		fails(ann, "old", nil, "Group is already a root group.")
		fails(ann, "old/moving", &inner.ID, "Cannot transfer group to one of its subgroup.")
		fails(ann, "old/moving", &moving.ID, "Cannot transfer group to one of its subgroup.")
		f.group(ann, "taken", into, authz.Private)
		taken := f.group(ann, "taken", nil, authz.Private)
		fails(ann, "taken", &into.ID, "The parent group already has a subgroup or a project with the same path.")
		_, err = f.Transfer(ctx, ann, "old/moving", &[]namespace.ID{taken.ID + 1000}[0])
		wantError(t, err, errs.NotFound, "Group not found")

		level := func(as authz.Actor) authz.Level {
			t.Helper()
			got, err := f.policy.Level(ctx, as, app.Subject)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := level(bob); got != authz.Developer {
			t.Errorf("before: bob has level %d", got)
		}
		g, err := f.Transfer(ctx, ann, "old/moving", &into.ID)
		if err != nil || g.FullPath != "into/moving" || g.FullName != "into / moving" || g.Visibility != authz.Internal {
			t.Fatalf("transfer: got %+v, %v", g, err)
		}
		places, err := f.Load(ctx, []namespace.ID{inner.ID, app.Namespace})
		if err != nil || places[app.Namespace].FullPath != "into/moving/inner/app" || places[app.Namespace].FullName != "into / moving / inner / app" ||
			places[app.Namespace].Visibility != authz.Internal || places[inner.ID].Visibility != authz.Internal {
			t.Errorf("inside: got %+v, %v", places[app.Namespace], err)
		}
		if got := level(bob); got != authz.NoAccess {
			t.Errorf("after: bob has level %d", got)
		}
		moved, err := db.Get[namespace.ID](ctx, f.db, "SELECT namespace_id FROM redirect_routes WHERE path_fold = 'old/moving/inner/app'")
		if err != nil || moved != app.Namespace {
			t.Errorf("redirect: got %d, %v", moved, err)
		}
		if g, err = f.Transfer(ctx, ann, "into/moving/inner", nil); err != nil || g.FullPath != "inner" || g.ParentID != nil {
			t.Errorf("to the top: got %+v, %v", g, err)
		}
		found, err := f.Locations(ctx, ann, "inner", namespace.GroupFilter{Range: page.Range{Limit: 50}})
		total := found.Total
		if err != nil || total != 5 { // old, into, into/moving, into/taken, taken
			t.Errorf("locations: got %d, %v", total, err)
		}
		_, err = f.Locations(ctx, bob, "old", namespace.GroupFilter{Range: page.Range{Limit: 50}})
		wantError(t, err, errs.Forbidden, "forbidden")
	})
}

func TestService_Transfer_depth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann := f.user("ann")
		deep := f.group(ann, "deep", nil, authz.Private)
		for i := range namespace.MaxDepth - 1 {
			deep = f.group(ann, fmt.Sprintf("g%d", i), deep, authz.Private)
		}
		two := f.group(ann, "two", nil, authz.Private)
		f.group(ann, "inner", two, authz.Private)
		_, err := f.Transfer(ctx, ann, "two", &deep.ID)
		wantError(t, err, errs.Invalid, "Transfer failed: Parent has too deep level of nesting")
		f.group(ann, "one", nil, authz.Private)
		if _, err := f.Transfer(ctx, ann, "one", &deep.ID); err != nil {
			t.Errorf("as deep as may be: %v", err)
		}
	})
}
