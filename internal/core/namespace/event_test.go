package namespace_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/namespace"
)

// TestEvents_group compares what events say of a group with what readers find before and
// after each change.
func TestEvents_group(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann")
		var facts coretest.Facts[namespace.Group]
		read := func(e namespace.GroupFact) coretest.Fact[namespace.Group] {
			return coretest.FactOf(e)
		}
		coretest.Hear(f.bus, &facts, func(e namespace.GroupCreated) coretest.Fact[namespace.Group] { return read(e.GroupFact) })
		coretest.Hear(f.bus, &facts, func(e namespace.GroupUpdated) coretest.Fact[namespace.Group] { return read(e.GroupFact) })
		coretest.Hear(f.bus, &facts, func(e namespace.GroupMarked) coretest.Fact[namespace.Group] { return read(e.GroupFact) })
		coretest.Hear(f.bus, &facts, func(e namespace.GroupArchived) coretest.Fact[namespace.Group] { return read(e.GroupFact) })
		coretest.Hear(f.bus, &facts, func(e namespace.GroupTransferred) coretest.Fact[namespace.Group] { return read(e.GroupFact) })
		into := f.group(ann, "into", nil, authz.Public)
		facts = nil
		id := f.group(ann, "team", into, authz.Public).ID
		if len(facts) != 1 || facts[0].Before != nil || facts[0].Row.ID != id || facts[0].Row.FullPath != "into/team" {
			t.Fatalf("created: %+v", facts)
		}
		ref := fmt.Sprint(id)
		find := func() *namespace.Group {
			g, _ := f.FindByID(ctx, f.admin, id)
			return g
		}
		name, path, hidden := "Shop", "shop", authz.Private
		coretest.CheckFacts(t, &facts, ann, find, []coretest.Step{
			coretest.Do("update", func() error {
				_, err := f.Update(ctx, ann, ref, namespace.GroupChanges{Name: &name, Path: &path, Visibility: &hidden})
				return err
			}, 1),
			coretest.Do("archive", func() error { _, err := f.Archive(ctx, ann, ref); return err }, 1),
			coretest.Do("unarchive", func() error { _, err := f.Unarchive(ctx, ann, ref); return err }, 1),
			coretest.Do("transfer", func() error { _, err := f.Transfer(ctx, ann, ref, nil); return err }, 1),
			coretest.Do("mark", func() error { _, err := f.Mark(ctx, ann, ref); return err }, 1),
			coretest.Do("restore", func() error { _, err := f.Restore(ctx, ann, ref); return err }, 1),
		}, cmpopts.IgnoreFields(namespace.Group{}, "Level", "LevelKnown", "Archived", "MarkedAbove", "UpdatedAt"))
	})
}

// TestEvents_member compares what events say of a membership with what readers find before
// and after each change.
func TestEvents_member(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann"), f.user("bob")
		place := at(f.group(ann, "team", nil, authz.Public))
		var facts coretest.Facts[namespace.Member]
		read := func(s authz.Stamp, p authz.Place, u namespace.MemberUser, m namespace.Member, before *namespace.Member) coretest.Fact[namespace.Member] {
			if p.ID != place.ID || p.Path != "team" || u.ID != bob.UserID || u.Username != "bob" || u.Name == "" {
				t.Errorf("an event in %q about %+v, want in team about bob", p.Path, u)
			}
			return coretest.Fact[namespace.Member]{Stamp: s, Row: m, Before: before}
		}
		coretest.Hear(f.bus, &facts, func(e namespace.MemberAdded) coretest.Fact[namespace.Member] {
			return read(e.Stamp, e.Place, e.User, *e.Row(), nil)
		})
		coretest.Hear(f.bus, &facts, func(e namespace.MemberChanged) coretest.Fact[namespace.Member] {
			return read(e.Stamp, e.Place, e.User, *e.Row(), e.Before)
		})
		coretest.Hear(f.bus, &facts, func(e namespace.MemberRemoved) coretest.Fact[namespace.Member] {
			return read(e.Stamp, e.Place, e.User, *e.Row(), nil)
		})
		find := func() *namespace.Member {
			m, _ := f.Member(ctx, ann, place, bob.UserID, namespace.MemberFilter{})
			return m
		}
		day := "2099-01-02"
		expires := &day
		coretest.CheckFacts(t, &facts, ann, find, []coretest.Step{
			coretest.Do("add", func() error {
				_, err := f.Add(ctx, ann, place, namespace.MemberInput{UserID: bob.UserID, Level: authz.Developer})
				return err
			}, 1),
			coretest.Do("change", func() error {
				_, err := f.Change(ctx, ann, place, bob.UserID, namespace.MemberChanges{Level: authz.Maintainer, ExpiresOn: &expires})
				return err
			}, 1),
			coretest.Do("remove", func() error { return f.Delete(ctx, ann, place, bob.UserID, namespace.Removal{}) }, 1),
		}, cmpopts.IgnoreFields(namespace.Member{}, "ID", "UpdatedAt"))
	})
}
