package project_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

func TestService_Transfer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann", 10), f.user("bob", 10)
		from, into := f.group(ann, "from", authz.Public), f.group(ann, "into", authz.Private)
		bobs := f.group(bob, "bobs", authz.Public)
		app := f.project(ann, "app", from, authz.Public)
		f.add(ann, from, bob, authz.Maintainer)

		_, err := f.Transfer(ctx, bob, "from/app", "bobs")
		wantError(t, err, errs.Forbidden, "forbidden")
		fails := func(target, why string) {
			t.Helper()
			_, err := f.Transfer(ctx, ann, "from/app", target)
			wantError(t, err, errs.Invalid, "new_namespace "+why)
		}
		fails("from", "Project is already in this namespace.")
		fails("bobs", "You don't have permission to transfer projects into that namespace.")
		f.add(bob, bobs, ann, authz.Developer) // may create, but not move into
		fails("bobs", "You don't have permission to transfer projects into that namespace.")
		_, err = f.Transfer(ctx, ann, "from/app", "nowhere")
		wantError(t, err, errs.NotFound, "Namespace not found")
		_, err = f.Transfer(ctx, ann, "from/app", "bob")
		wantError(t, err, errs.NotFound, "Namespace not found")
		f.project(ann, "app", nil, authz.Private)
		fails("ann", "Project with same name or path in target namespace already exists")

		moved, err := f.Transfer(ctx, ann, "from/app", "into")
		if err != nil || moved.ID != app.ID || moved.FullPath != "into/app" || moved.FullName != "into / app" || moved.ParentID != into.ID ||
			moved.Visibility != authz.Private {
			t.Fatalf("transfer: got %+v, %v", moved, err)
		}
		_, err = f.Find(ctx, bob, "into/app")
		wantError(t, err, errs.NotFound, "Project not found")
		if found, err := f.List(ctx, bob, project.Filter{Membership: true, Range: page.Range{Limit: 10}}); err != nil || found.Total != 0 {
			t.Errorf("what bob reaches: got %d, %v", found.Total, err)
		}
	})
}
