package project_test

import (
	"fmt"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Many leave and come back at once: the number of forks is that of the forks.
func TestService_Unfork_at_once(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 100)
		source := f.project(ann, "app", nil, authz.Public)
		var forks []*project.Project
		for i := range 6 {
			p, err := f.Fork(ctx, f.user(fmt.Sprint("user", i), 10), "ann/app", project.ForkInput{})
			if err != nil {
				t.Fatal(err)
			}
			forks = append(forks, p)
		}
		var wg sync.WaitGroup
		for i, p := range forks {
			for range 2 { // two calls for the same fork, too
				wg.Go(func() {
					ref := fmt.Sprint(p.ID)
					if err := f.Unfork(ctx, f.admin, ref); err != nil && !errs.Is(err, errs.NotModified) {
						t.Errorf("unfork: %v", err)
					}
					if i%2 == 0 {
						return
					}
					if _, err := f.MakeFork(ctx, f.admin, ref, "ann/app"); err != nil && !errs.Is(err, errs.Conflict) {
						t.Errorf("make fork: %v", err)
					}
				})
			}
			wg.Go(func() {
				_, err := f.Fork(ctx, f.admin, "ann/app", project.ForkInput{Namespace: "ann", Name: ptr(fmt.Sprint("copy", i)), Path: ptr(fmt.Sprint("copy", i))})
				if err != nil {
					t.Errorf("fork: %v", err)
				}
			})
		}
		wg.Wait()
		counted, err := db.Get[int64](ctx, f.db, "SELECT COUNT(*) FROM projects WHERE forked_from_id = ?", source.ID)
		if err != nil || counted < 6 {
			t.Fatalf("%d forks, %v", counted, err)
		}
		f.forks(f.admin, source, counted)
	})
}

// Two projects that are made forks of each other at once do not go round in circles.
func TestService_MakeFork_at_once(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		for i := range 5 {
			one := f.project(ann, fmt.Sprint("one", i), nil, authz.Public)
			two := f.project(ann, fmt.Sprint("two", i), nil, authz.Public)
			var wg sync.WaitGroup
			var mu sync.Mutex
			made := 0
			for _, pair := range [][2]*project.Project{{one, two}, {two, one}} {
				wg.Go(func() {
					_, err := f.MakeFork(ctx, ann, fmt.Sprint(pair[0].ID), fmt.Sprint(pair[1].ID))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						made++
					case !errs.Is(err, errs.Conflict):
						t.Errorf("make fork: %v", err)
					}
				})
			}
			wg.Wait()
			if made != 1 {
				t.Errorf("%d of the two became a fork of the other", made)
			}
		}
	})
}

// What moves to where fewer people see it takes its forks along.
func TestService_Transfer_lowers_forks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		event.On(f.bus, "visibility of forks", f.GroupTransferred)
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 10), f.user("cat", 10)
		private, internal, open := f.group(ann, "private", authz.Private), f.group(ann, "internal", authz.Internal), f.group(ann, "open", authz.Public)
		app, tool := f.project(ann, "app", nil, authz.Public), f.project(ann, "tool", open, authz.Public)
		fork := func(as authz.Actor, ref string) *project.Project {
			t.Helper()
			p, err := f.Fork(ctx, as, ref, project.ForkInput{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		one, two := fork(bob, "ann/app"), fork(bob, "open/tool")
		three := fork(cat, "bob/app")
		if _, err := f.Transfer(ctx, ann, "ann/app", fmt.Sprint(internal.ID)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.spaces.Transfer(ctx, ann, "open", &private.ID); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			p    *project.Project
			want authz.Visibility
		}{{app, authz.Internal}, {one, authz.Internal}, {three, authz.Internal}, {tool, authz.Private}, {two, authz.Private}} {
			if p, err := f.FindByID(ctx, f.admin, tt.p.ID); err != nil || p.Visibility != tt.want {
				t.Errorf("%s is %v, %v, want %v", tt.p.FullPath, p.Visibility, err, tt.want)
			}
		}
	})
}
