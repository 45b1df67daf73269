package project_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TestEvents compares what events say of a project with what readers find before and
// after each change.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		if err := f.settings.Set(ctx, "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		var facts []project.Fact
		hear := func(fact project.Fact) error { facts = append(facts, fact); return nil }
		event.On(f.bus, "test", func(_ context.Context, e project.Created) error { return hear(e.Fact) })
		event.On(f.bus, "test", func(_ context.Context, e project.Updated) error { return hear(e.Fact) })
		event.On(f.bus, "test", func(_ context.Context, e project.Archived) error { return hear(e.Fact) })
		event.On(f.bus, "test", func(_ context.Context, e project.Marked) error { return hear(e.Fact) })
		event.On(f.bus, "test", func(_ context.Context, e project.Transferred) error { return hear(e.Fact) })
		event.On(f.bus, "test", func(_ context.Context, e project.Deleted) error { return hear(e.Fact) })
		f.group(ann, "into", authz.Public)
		id := f.project(ann, "App", nil, authz.Public).ID
		ref := fmt.Sprint(id)
		if len(facts) != 1 || facts[0].Before != nil || facts[0].Project.ID != id || facts[0].Project.FullPath != "ann/app" {
			t.Fatalf("created: %+v", facts)
		}
		find := func() *project.Project {
			p, _ := f.FindByID(ctx, authz.System(), id)
			return p
		}
		now := find()
		for _, tt := range []struct {
			name   string
			change func() error
		}{
			{"update", func() error {
				_, err := f.Update(ctx, ann, ref, project.Changes{
					Attributes: project.Attributes{Name: ptr("Shop"), Path: ptr("shop"), Description: ptr("words")}, Visibility: ptr(authz.Private),
				})
				return err
			}},
			{"archive", func() error { _, err := f.Archive(ctx, ann, ref); return err }},
			{"unarchive", func() error { _, err := f.Unarchive(ctx, ann, ref); return err }},
			{"transfer", func() error { _, err := f.Transfer(ctx, ann, ref, "into"); return err }},
			{"mark", func() error { return f.Mark(ctx, ann, ref) }},
			{"restore", func() error { _, err := f.Restore(ctx, ann, ref); return err }},
		} {
			facts = nil
			before := now
			if err := tt.change(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if now = find(); len(facts) != 1 {
				t.Fatalf("%s: %d events, want 1", tt.name, len(facts))
			}
			elsewhere := cmpopts.IgnoreFields(project.Project{}, "Level", "LevelKnown", "Archived", "Personal")
			if diff := cmp.Diff(now, &facts[0].Project, elsewhere); diff != "" {
				t.Errorf("%s: project (-found +published):\n%s", tt.name, diff)
			}
			if diff := cmp.Diff(before, facts[0].Before, elsewhere); diff != "" {
				t.Errorf("%s: before (-found +published):\n%s", tt.name, diff)
			}
			if facts[0].By.UserID != ann.UserID || facts[0].At.IsZero() {
				t.Errorf("%s: by %d at %s, want %d", tt.name, facts[0].By.UserID, facts[0].At, ann.UserID)
			}
		}
	})
}
