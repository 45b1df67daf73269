package namespace_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// TestEvents_group compares what events say of a group with what readers find before and
// after each change.
func TestEvents_group(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann")
		var facts []namespace.GroupFact
		hear := func(fact namespace.GroupFact) error { facts = append(facts, fact); return nil }
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupCreated) error { return hear(e.GroupFact) })
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupUpdated) error { return hear(e.GroupFact) })
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupMarked) error { return hear(e.GroupFact) })
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupArchived) error { return hear(e.GroupFact) })
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupTransferred) error { return hear(e.GroupFact) })
		into := f.group(ann, "into", nil, authz.Public)
		facts = nil
		id := f.group(ann, "team", into, authz.Public).ID
		if len(facts) != 1 || facts[0].Before != nil || facts[0].Group.ID != id || facts[0].Group.FullPath != "into/team" {
			t.Fatalf("created: %+v", facts)
		}
		ref := fmt.Sprint(id)
		find := func() *namespace.Group {
			g, _ := f.FindByID(ctx, f.admin, id)
			return g
		}
		name, path, hidden := "Shop", "shop", authz.Private
		now := find()
		for _, tt := range []struct {
			name   string
			change func() error
		}{
			{"update", func() error {
				_, err := f.Update(ctx, ann, ref, namespace.GroupChanges{Name: &name, Path: &path, Visibility: &hidden})
				return err
			}},
			{"archive", func() error { _, err := f.Archive(ctx, ann, ref); return err }},
			{"unarchive", func() error { _, err := f.Unarchive(ctx, ann, ref); return err }},
			{"transfer", func() error { _, err := f.Transfer(ctx, ann, ref, nil); return err }},
			{"mark", func() error { _, err := f.Mark(ctx, ann, ref); return err }},
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
			elsewhere := cmpopts.IgnoreFields(namespace.Group{}, "Level", "LevelKnown", "Archived", "MarkedAbove", "UpdatedAt")
			if diff := cmp.Diff(now, &facts[0].Group, elsewhere); diff != "" {
				t.Errorf("%s: group (-found +published):\n%s", tt.name, diff)
			}
			if diff := cmp.Diff(before, facts[0].Before, elsewhere); diff != "" {
				t.Errorf("%s: before (-found +published):\n%s", tt.name, diff)
			}
			if facts[0].By.UserID != ann.UserID || facts[0].At.IsZero() {
				t.Errorf("%s: by %d at %s", tt.name, facts[0].By.UserID, facts[0].At)
			}
		}
	})
}
