package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Create(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann")
		top := f.group(ann, "Top", nil, authz.Public)
		sub := f.group(ann, "sub", top, authz.Private)
		if sub.FullPath != "Top/sub" || sub.FullName != "Top / sub" || *sub.ParentID != top.ID || sub.Level != authz.Owner {
			t.Errorf("got %q, %q, level %d below %v", sub.FullPath, sub.FullName, sub.Level, sub.ParentID)
		}
		found, err := f.Find(ctx, ann, "tOP/SUB")
		if err != nil || found.ID != sub.ID {
			t.Errorf("Find by path without regard to case: got %v, %v", found, err)
		}
		if _, err := f.Find(ctx, authz.Actor{}, "top/sub"); !errs.Is(err, errs.NotFound) {
			t.Errorf("anonymous sees a private group: %v", err)
		}
		if _, err := f.Find(ctx, authz.Actor{}, fmt.Sprint(top.ID)); err != nil {
			t.Errorf("anonymous does not see a public group: %v", err)
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann"), f.user("bob")
		open := f.group(ann, "open", nil, authz.Public)
		closed := f.group(ann, "closed", nil, authz.Private)
		f.add(ann, at(open), bob, authz.Developer)
		long := strings.Repeat("x", 256)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   namespace.GroupInput
			kind errs.Kind
			want string
		}{
			{"anonymous", authz.Actor{}, groupInput("new", nil, authz.Private), errs.Unauthorized, "unauthorized"},
			{"no maintainer of the parent", bob, groupInput("new", open, authz.Private), errs.Forbidden, "forbidden"},
			{"hidden parent", bob, groupInput("new", closed, authz.Private), errs.NotFound, "Group not found"},
			{
				"path of a group", bob, groupInput("OPEN", nil, authz.Private), errs.Invalid,
				`path has already been taken`,
			},
			{
				"path of a user", bob, groupInput("ann", nil, authz.Private), errs.Invalid,
				`path has already been taken`,
			},
			{"reserved", bob, groupInput("Admin", nil, authz.Private), errs.Invalid, `path is a reserved name`},
			{"reserved inside", ann, groupInput("tree", open, authz.Private), errs.Invalid, `path is a reserved name`},
			{
				"bad path", bob,
				namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: ptr("fine"), Path: ptr("a b")}},
				errs.Invalid,
				`path ` + account.PathMessage + ``,
			},
			{
				"short path", bob,
				namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: ptr("fine"), Path: ptr("a")}},
				errs.Invalid,
				`path is too short (minimum is 2 characters)`,
			},
			{
				"long", bob,
				namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &long, Path: &long}},
				errs.Invalid,
				`path is too long (maximum is 255 characters), name is too long (maximum is 255 characters)`,
			},
			{
				"bad name", bob,
				namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: ptr("<b>"), Path: ptr("bold")}},
				errs.Invalid,
				`name can contain only letters, digits, emoji, '_', '.', dash, space, parenthesis. ` +
					`It must start with letter, digit, emoji or '_'.`,
			},
			{
				"more open than the parent", ann, groupInput("newer", closed, authz.Public), errs.Invalid,
				`visibility_level public is not allowed since the parent group has a private visibility.`,
			},
		} {
			_, err := f.Create(t.Context(), tt.as, tt.in)
			t.Run(tt.name, func(t *testing.T) { wantError(t, err, tt.kind, tt.want) })
		}
	})
}

func TestService_Create_depth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann")
		g := f.group(ann, "g0", nil, authz.Private)
		for i := range namespace.MaxDepth {
			g = f.group(ann, fmt.Sprintf("g%d", i+1), g, authz.Private)
		}
		_, err := f.Create(t.Context(), ann, groupInput("deeper", g, authz.Private))
		wantError(t, err, errs.Invalid, `parent_id has too deep level of nesting`)
	})
}

func TestService_Create_race(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann")
		top := f.group(ann, "top", nil, authz.Private)
		results := make([]error, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				in := groupInput("Same", top, authz.Private)
				in.Name = ptr(fmt.Sprintf("name %d", i))
				_, results[i] = f.Create(context.Background(), ann, in)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			wantError(t, err, errs.Invalid, `path has already been taken`)
		}
		if won != 1 {
			t.Errorf("%d of %d parallel creations won, want 1", won, len(results))
		}
	})
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann"), f.user("bob")
		top := f.group(ann, "top", nil, authz.Public)
		sub := f.group(ann, "sub", top, authz.Public)
		f.twin("app", sub.ID, authz.Public)
		f.add(ann, at(top), bob, authz.Maintainer)

		_, err := f.Update(ctx, bob, "top", namespace.GroupChanges{GroupAttributes: namespace.GroupAttributes{Description: ptr("x")}})
		wantError(t, err, errs.Unauthorized, "unauthorized")

		got, err := f.Update(ctx, ann, "top", namespace.GroupChanges{GroupAttributes: namespace.GroupAttributes{Description: ptr("words"), MentionsDisabled: ptr(true)}, Name: ptr("Other"), Path: ptr("Other"), Settings: namespace.GroupSettingsChanges{MaxArtifactsSize: &namespace.Number{N: ptr(int64(7))}}})
		if err != nil {
			t.Fatal(err)
		}
		if got.FullPath != "Other" || *got.Description != "words" || !*got.MentionsDisabled || *got.Settings().MaxArtifactsSize != 7 {
			t.Errorf("got %+v", got)
		}
		type route struct {
			Path string `db:"path"`
			Fold string `db:"path_fold"`
			Name string `db:"name"`
		}
		routes, err := db.Select[route](ctx, f.db, "SELECT path, path_fold, name FROM routes WHERE path LIKE 'Other%' ORDER BY path")
		want := []route{{"Other", "other", "Other"}, {"Other/sub", "other/sub", "Other / sub"}, {"Other/sub/app", "other/sub/app", "Other / sub / app"}}
		if err != nil || !slices.Equal(routes, want) {
			t.Errorf("routes: got %v, %v, want %v", routes, err, want)
		}
		old, err := db.Select[string](ctx, f.db, "SELECT path_fold FROM redirect_routes ORDER BY path_fold")
		if err != nil || !slices.Equal(old, []string{"top", "top/sub", "top/sub/app"}) {
			t.Errorf("redirects: got %v, %v", old, err)
		}
		f.group(ann, "top", nil, authz.Public)
		old, err = db.Select[string](ctx, f.db, "SELECT path_fold FROM redirect_routes ORDER BY path_fold")
		if err != nil || !slices.Equal(old, []string{"top/sub", "top/sub/app"}) {
			t.Errorf("redirects after the path is used again: got %v, %v", old, err)
		}

		_, err = f.Update(ctx, ann, "other", namespace.GroupChanges{Visibility: ptr(authz.Private)})
		wantError(t, err, errs.Invalid, "visibility_level private is not allowed since this group contains projects with higher visibility., "+
			"private is not allowed since there are sub-groups with higher visibility.")
	})
}

func TestService_Mark(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann"), f.user("bob")
		g := f.group(ann, "old", nil, authz.Public)
		sub := f.group(ann, "sub", g, authz.Public)

		_, err := f.Mark(ctx, bob, "old")
		wantError(t, err, errs.Forbidden, "forbidden")
		marked, err := f.Mark(ctx, ann, "old")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("old-deletion_scheduled-%d", g.ID)
		if marked.FullPath != want || marked.Name != want || *marked.MarkedForDeletionOn != "2026-05-01" {
			t.Errorf("got %q, %q, marked on %s", marked.FullPath, marked.Name, *marked.MarkedForDeletionOn)
		}
		if _, err := f.Find(ctx, ann, want+"/sub"); err != nil {
			t.Errorf("subgroup under the new path: %v", err)
		}
		_, err = f.Mark(ctx, ann, want)
		wantError(t, err, errs.Invalid, "Group has already been marked for deletion")
		_, err = f.MayPurge(ctx, ann, want, want)
		wantError(t, err, errs.Invalid, "only subgroups are deleted before their time")
		_, err = f.MayPurge(ctx, ann, fmt.Sprint(sub.ID), want+"/sub")
		wantError(t, err, errs.Invalid, "Group must be marked for deletion first.")

		restored, err := f.Restore(ctx, ann, want)
		if err != nil || restored.FullPath != "old" || restored.Name != "old" || restored.MarkedForDeletionOn != nil {
			t.Fatalf("restored: %+v, %v", restored, err)
		}
		if _, err := f.Mark(ctx, ann, "old"); err != nil {
			t.Fatal(err)
		}
		f.group(ann, "old", nil, authz.Public) // the path is free
		again, err := f.Restore(ctx, ann, want)
		if err != nil || again.FullPath != fmt.Sprintf("old-%d", g.ID) || again.Name != again.FullPath {
			t.Fatalf("restored beside its successor: %+v, %v", again, err)
		}
		if _, err := f.Mark(ctx, ann, again.FullPath); err != nil {
			t.Fatal(err)
		}

		due, err := f.Due(ctx)
		if err != nil || len(due) != 0 {
			t.Errorf("due at once: %v, %v", due, err)
		}
		f.today = f.today.AddDate(0, 0, 7)
		due, err = f.Due(ctx)
		if err != nil || !slices.Equal(due, []namespace.ID{g.ID}) {
			t.Errorf("due after seven days: %v, %v, want %d", due, err, g.ID)
		}
		if err := f.Remove(ctx, authz.System(), g.ID); !errors.Is(err, db.ErrReference) {
			t.Errorf("remove before the subgroup: %v, want ErrReference", err)
		}
		tree, err := f.Tree(ctx, g.ID)
		if err != nil || !slices.Equal(tree, []namespace.ID{sub.ID, g.ID}) {
			t.Fatalf("tree: %v, %v; want the subgroup first", tree, err)
		}
		for _, id := range slices.Concat(tree, tree) { // twice is harmless
			if err := f.Remove(ctx, authz.System(), id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.FindByID(ctx, f.admin, sub.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("subgroup of a removed group: %v", err)
		}
	})
}

func TestService_List(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob, cat, ext := f.user("ann"), f.user("bob"), f.user("cat"), f.user("ext")
		ext.External = true
		public := f.group(ann, "public-one", nil, authz.Public)
		internal := f.group(ann, "internal-one", nil, authz.Internal)
		private := f.group(ann, "private-one", nil, authz.Private)
		deep := f.group(ann, "deep", private, authz.Private)
		app := f.twin("app", deep.ID, authz.Private)
		f.add(ann, app, cat, authz.Guest)
		all := []string{"deep", "internal-one", "private-one", "public-one"}
		for _, tt := range []struct {
			name   string
			as     authz.Actor
			filter namespace.GroupFilter
			want   []string
		}{
			{"anonymous", authz.Actor{}, namespace.GroupFilter{}, []string{"public-one"}},
			{"stranger", bob, namespace.GroupFilter{}, []string{"internal-one", "public-one"}},
			{"external", ext, namespace.GroupFilter{}, []string{"public-one"}},
			{"guest of a project inside", cat, namespace.GroupFilter{}, all},
			{"guest, members only", cat, namespace.GroupFilter{MemberOnly: true}, []string{"deep", "private-one"}},
			{"owner", ann, namespace.GroupFilter{MinLevel: authz.Owner}, all},
			{"stranger, owned", bob, namespace.GroupFilter{MinLevel: authz.Owner}, nil},
			{"administrator", f.admin, namespace.GroupFilter{}, all},
			{"top level", ann, namespace.GroupFilter{TopLevel: true, Desc: true}, []string{"public-one", "private-one", "internal-one"}},
			{"search", ann, namespace.GroupFilter{Search: "TE-o"}, []string{"private-one"}},
			{"visibility", ann, namespace.GroupFilter{Visibility: ptr(authz.Internal)}, []string{"internal-one"}},
			{"below", ann, namespace.GroupFilter{Ancestor: &private.ID}, []string{"deep"}},
			{"skip", ann, namespace.GroupFilter{Skip: []namespace.ID{deep.ID, internal.ID, public.ID}}, []string{"private-one"}},
		} {
			tt.filter.Limit = 50
			found, err := f.List(t.Context(), tt.as, tt.filter)
			list, total := found.Items, found.Total
			var got []string
			for _, g := range list {
				got = append(got, g.Path)
			}
			if err != nil || total != len(tt.want) || !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %v, total %d, %v, want %v", tt.name, got, total, err, tt.want)
			}
			if !slices.Contains([]string{"anonymous", "stranger", "external", "guest of a project inside", "administrator"}, tt.name) {
				continue
			}
			for _, path := range all { // the single read agrees with the list
				ref := path
				if path == "deep" {
					ref = "private-one/deep"
				}
				if _, err := f.Find(t.Context(), tt.as, ref); (err == nil) != slices.Contains(tt.want, path) {
					t.Errorf("%s: Find(%s) gives %v", tt.name, path, err)
				}
			}
		}
	})
}

func TestService_CreatePersonal_taken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		f.group(f.user("ann"), "team", nil, authz.Public)
		if _, err := f.CreatePersonal(t.Context(), 1, "TEAM", "Team"); !errors.Is(err, namespace.ErrTaken) || !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("got %v, want ErrTaken that is ErrDuplicate", err)
		}
	})
}

func ptr[T any](v T) *T { return &v }
