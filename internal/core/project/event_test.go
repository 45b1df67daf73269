package project_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
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
		var facts coretest.Facts[project.Project]
		read := func(e project.Fact) coretest.Fact[project.Project] {
			return coretest.FactOf(e)
		}
		coretest.Hear(f.bus, &facts, func(e project.Created) coretest.Fact[project.Project] { return read(e.Fact) })
		coretest.Hear(f.bus, &facts, func(e project.Updated) coretest.Fact[project.Project] { return read(e.Fact) })
		coretest.Hear(f.bus, &facts, func(e project.Archived) coretest.Fact[project.Project] { return read(e.Fact) })
		coretest.Hear(f.bus, &facts, func(e project.Marked) coretest.Fact[project.Project] { return read(e.Fact) })
		coretest.Hear(f.bus, &facts, func(e project.Transferred) coretest.Fact[project.Project] { return read(e.Fact) })
		coretest.Hear(f.bus, &facts, func(e project.Deleted) coretest.Fact[project.Project] { return read(e.Fact) })
		f.group(ann, "into", authz.Public)
		id := f.project(ann, "App", nil, authz.Public).ID
		ref := fmt.Sprint(id)
		if len(facts) != 1 || facts[0].Before != nil || facts[0].Row.ID != id || facts[0].Row.FullPath != "ann/app" {
			t.Fatalf("created: %+v", facts)
		}
		find := func() *project.Project {
			p, _ := f.FindByID(ctx, authz.System(), id)
			return p
		}
		coretest.CheckFacts(t, &facts, ann, find, []coretest.Step{
			coretest.Do("update", func() error {
				_, err := f.Update(ctx, ann, ref, project.Changes{
					Attributes: project.Attributes{Name: ptr("Shop"), Path: ptr("shop"), Description: ptr("words")}, Visibility: ptr(authz.Private),
				})
				return err
			}, 1),
			coretest.Do("archive", func() error { _, err := f.Archive(ctx, ann, ref); return err }, 1),
			coretest.Do("unarchive", func() error { _, err := f.Unarchive(ctx, ann, ref); return err }, 1),
			coretest.Do("transfer", func() error { _, err := f.Transfer(ctx, ann, ref, "into"); return err }, 1),
			coretest.Do("mark", func() error { return f.Mark(ctx, ann, ref) }, 1),
			coretest.Do("restore", func() error { _, err := f.Restore(ctx, ann, ref); return err }, 1),
		}, cmpopts.IgnoreFields(project.Project{}, "Level", "LevelKnown", "Archived", "Personal"))
	})
}

// TestEvents_fork compares what the events of a fork network say with what readers find.
func TestEvents_fork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		source, p := f.project(ann, "app", nil, authz.Public), f.project(bob, "own", nil, authz.Public)
		var facts coretest.Facts[project.Project]
		hear := func(e project.Fact, from *project.Project) coretest.Fact[project.Project] {
			if from != nil && (from.ID != source.ID || from.FullPath != "ann/app") {
				t.Errorf("the source is %d at %q, want %d at ann/app", from.ID, from.FullPath, source.ID)
			}
			return coretest.FactOf(e)
		}
		coretest.Hear(f.bus, &facts, func(e project.ForkLinked) coretest.Fact[project.Project] { return hear(e.Fact, e.Source) })
		coretest.Hear(f.bus, &facts, func(e project.Unforked) coretest.Fact[project.Project] { return hear(e.Fact, nil) })
		find := func() *project.Project {
			p, _ := f.FindByID(ctx, authz.System(), p.ID)
			return p
		}
		coretest.CheckFacts(t, &facts, bob, find, []coretest.Step{
			coretest.Do("link", func() error { _, err := f.MakeFork(ctx, bob, "bob/own", "ann/app"); return err }, 1),
			coretest.Do("unlink", func() error { return f.Unfork(ctx, bob, "bob/own") }, 1),
		}, cmpopts.IgnoreFields(project.Project{}, "Level", "LevelKnown", "Personal"))
	})
}
