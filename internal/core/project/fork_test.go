package project_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

func TestService_Fork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		f.Connect(coretest.Above(project.Above{Heads: heads{}}))
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 1), f.user("cat", 0)
		g := f.group(ann, "team", authz.Internal)
		source, err := f.Create(ctx, ann, project.Input{NamespaceID: &g.ID, Changes: project.Changes{Attributes: project.Attributes{Name: ptr("App"), Description: ptr("Sells"), MergeCommitTemplate: ptr("%{title}")}, Visibility: ptr(authz.Internal), Features: map[string]string{"wiki": "disabled", "pages": "enabled"}, Settings: project.SettingsChanges{PlainSettings: project.PlainSettings{CIConfigPath: ptr("ci.yml")}}}})
		if err != nil {
			t.Fatal(err)
		}
		secret := f.project(ann, "Secret", g, authz.Private)
		closed, err := f.Create(ctx, ann, project.Input{NamespaceID: &g.ID, Changes: project.Changes{Attributes: project.Attributes{Name: ptr("Closed")}, Visibility: ptr(authz.Internal), Features: map[string]string{"forking": "disabled"}}})
		if err != nil {
			t.Fatal(err)
		}
		var forked []project.Forked
		event.On(f.bus, "test", func(_ context.Context, e project.Forked) error {
			forked = append(forked, e)
			return nil
		})

		fork, err := f.Fork(ctx, bob, "team/app", project.ForkInput{DefaultTargetSelf: ptr(true)})
		if err != nil {
			t.Fatal(err)
		}
		if fork.FullPath != "bob/app" || fork.Name != "App" || *fork.Description != "Sells" || fork.Visibility != authz.Internal ||
			fork.ForkedFromID == nil || *fork.ForkedFromID != source.ID || fork.Root() != source.ID || fork.ImportStatus != project.ImportScheduled ||
			fork.Access("wiki") != "disabled" || fork.Access("pages") != "enabled" || *fork.MergeCommitTemplate != "%{title}" ||
			*fork.Settings().CIConfigPath != "ci.yml" || !fork.Settings().MRDefaultTargetSelf {
			t.Errorf("fork: got %+v", fork)
		}
		if e := forked[len(forked)-1]; e.Row().ID != fork.ID || e.Source.ID != source.ID || e.Source.FullPath != "team/app" || e.Row().FullPath != "bob/app" ||
			e.Row().ForkedFromID == nil || *e.Row().ForkedFromID != source.ID {
			t.Errorf("event: got %+v", e)
		}
		taken := "Project namespace name has already been taken, Name has already been taken, Path has already been taken"
		for _, tt := range []struct {
			name string
			as   authz.Actor
			ref  string
			in   project.ForkInput
			kind errs.Kind
			text string
		}{
			{"taken", bob, "team/app", project.ForkInput{}, errs.Conflict, "You've reached your limit of 1 projects created. Contact your GitLab administrator."},
			{"no personal projects", cat, "team/app", project.ForkInput{}, errs.Conflict, "You cannot create projects in your personal namespace. Contact your GitLab administrator."},
			{"into its own namespace", ann, "team/app", project.ForkInput{Namespace: "team"}, errs.Conflict, taken},
			{"a name nobody may have", ann, "team/app", project.ForkInput{Name: ptr("-"), Path: ptr("api/v4")}, errs.Conflict, ""},
			{"hidden", bob, "team/secret", project.ForkInput{}, errs.NotFound, "Project not found"},
			{"forking is off", bob, "team/closed", project.ForkInput{}, errs.NotFound, "not found"},
			{"forking is off for the owner", ann, "team/closed", project.ForkInput{}, errs.NotFound, "not found"},
			{"a group of others", bob, "team/app", project.ForkInput{Namespace: "team"}, errs.NotFound, "Target Namespace not found"},
			{"a person's namespace", ann, "team/app", project.ForkInput{Namespace: "bob"}, errs.NotFound, "Target Namespace not found"},
			{"nowhere", ann, "team/app", project.ForkInput{Namespace: "nowhere"}, errs.NotFound, "Target Namespace not found"},
			{"a branch that is not there", ann, "team/app", project.ForkInput{Branch: "none"}, errs.NotFound, "Source Branch not found"},
		} {
			_, err := f.Fork(ctx, tt.as, tt.ref, tt.in)
			if !errs.Is(err, tt.kind) || tt.text != "" && err.Error() != tt.text {
				t.Errorf("%s: got %v, want %s %q", tt.name, err, tt.kind, tt.text)
			}
		}
		_, err = f.Fork(ctx, authz.Actor{}, "team/app", project.ForkInput{})
		if err == nil {
			t.Error("somebody who is not signed in forked")
		}

		// A developer of a group may create projects there, and only a maintainer fork into it.
		f.add(ann, g, bob, authz.Developer)
		_, err = f.Fork(ctx, bob, "team/secret", project.ForkInput{Namespace: "team", Path: ptr("copy"), Name: ptr("Copy")})
		wantError(t, err, errs.NotFound, "Target Namespace not found")
		closedGroup := f.group(ann, "closed", authz.Private)
		low, err := f.Fork(ctx, ann, "team/app", project.ForkInput{
			Namespace: fmt.Sprint(closedGroup.ID), Path: ptr("copy"), Name: ptr("Copy"), Visibility: ptr(authz.Public), Branch: "trunk",
		})
		if err != nil || low.Visibility != authz.Private || low.FullPath != "closed/copy" || low.InitialBranch() != "trunk" {
			t.Errorf("fork into a private group: got %+v, %v", low, err)
		}
		if closed.ForksCount+secret.ForksCount != 0 {
			t.Error("forks were counted")
		}
		f.forks(bob, source, 2)
	})
}

// A top-level group may want its forks inside: subgroups are, people's namespaces are not.
func TestService_Fork_keptInside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		g := f.group(ann, "team", authz.Public)
		f.project(ann, "app", g, authz.Public)
		f.group(ann, "other", authz.Public)
		sub := namespace.GroupInput{ParentID: &g.ID, GroupChanges: namespace.GroupChanges{Name: ptr("Sub"), Path: ptr("sub")}}
		if _, err := f.spaces.Create(ctx, ann, sub); err != nil {
			t.Fatal(err)
		}
		changes := namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{PreventForkingOutsideGroup: ptr(true)}}
		if _, err := f.spaces.Update(ctx, ann, "team", changes); err != nil {
			t.Fatal(err)
		}
		_, err := f.Fork(ctx, ann, "team/app", project.ForkInput{})
		wantError(t, err, errs.Conflict, "Forked from project is forbidden")
		if _, err := f.Fork(ctx, ann, "team/app", project.ForkInput{Namespace: "team/sub"}); err != nil {
			t.Errorf("into a subgroup: %v", err)
		}
		if _, err := f.Fork(ctx, f.admin, "team/app", project.ForkInput{Namespace: "other"}); err != nil {
			t.Errorf("by an administrator: %v", err)
		}
	})
}

// forks compares the number of a project's forks and lists those that a user sees.
func (f *fixture) forks(as authz.Actor, p *project.Project, want int64) []*project.Project {
	f.t.Helper()
	now, err := f.FindByID(context.Background(), f.admin, p.ID)
	if err != nil || now.ForksCount != want {
		f.t.Errorf("%s has %d forks, %v, want %d", p.FullPath, now.ForksCount, err, want)
	}
	found, err := f.List(context.Background(), as, project.Filter{ForkedFrom: p.ID, Range: page.Range{Limit: 100}, OrderBy: "id", Asc: true})
	list, total := found.Items, found.Total
	if err != nil || total != len(list) {
		f.t.Errorf("forks of %s: %d of %d, %v", p.FullPath, len(list), total, err)
	}
	return list
}

func TestService_Unfork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 10), f.user("cat", 10)
		source := f.project(ann, "app", nil, authz.Public)
		fork := func(as authz.Actor, ref string) *project.Project {
			t.Helper()
			p, err := f.Fork(ctx, as, ref, project.ForkInput{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		one := fork(bob, "ann/app")
		two := fork(cat, "bob/app")
		now := func(p *project.Project) *project.Project {
			t.Helper()
			found, err := f.FindByID(ctx, f.admin, p.ID)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if !project.Related(source, two) || *two.ForkedFromID != one.ID || two.Root() != source.ID {
			t.Errorf("fork of a fork: got %+v", two)
		}
		var left []project.Unforked
		event.On(f.bus, "test", func(_ context.Context, e project.Unforked) error {
			left = append(left, e)
			return nil
		})
		wantError(t, f.Unfork(ctx, cat, "bob/app"), errs.Forbidden, "forbidden")
		wantError(t, f.Unfork(ctx, ann, "ann/app"), errs.NotModified, "not modified")
		if err := f.Unfork(ctx, bob, "bob/app"); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Unfork(ctx, bob, "bob/app"), errs.NotModified, "not modified")
		if e := left[len(left)-1]; e.Row().ID != one.ID || e.Deleted {
			t.Errorf("event: got %+v", e)
		}
		one, two = now(one), now(two)
		if one.ForkedFromID != nil || project.Related(one, source) || project.Related(one, two) || !project.Related(two, source) || two.ForkedFromID != nil {
			t.Errorf("after the fork left: %+v, %+v", one, two)
		}
		f.forks(ann, source, 0)
		f.forks(ann, one, 0)

		// Back again, by decree.
		for _, tt := range []struct {
			as      authz.Actor
			ref, of string
			kind    errs.Kind
			text    string
		}{
			{as: cat, ref: "bob/app", of: "ann/app", kind: errs.Forbidden, text: "forbidden"},
			{as: bob, ref: "bob/app", of: "ann/none", kind: errs.NotFound, text: "Source Project not found"},
			{as: cat, ref: "cat/app", of: "ann/app", kind: errs.Conflict, text: "Project already forked"},
			{as: ann, ref: "ann/app", of: "cat/app", kind: errs.Conflict, text: "Project already forked"},
			{as: bob, ref: "bob/app", of: "bob/app", kind: errs.Conflict, text: "Project already forked"},
		} {
			_, err := f.MakeFork(ctx, tt.as, tt.ref, tt.of)
			wantError(t, err, tt.kind, tt.text)
		}
		back, err := f.MakeFork(ctx, bob, "bob/app", "ann/app")
		if err != nil || *back.ForkedFromID != source.ID || !project.Related(back, two) {
			t.Errorf("made a fork: %+v, %v", back, err)
		}
		if list := f.forks(ann, source, 1); len(list) != 1 || list[0].ID != one.ID {
			t.Errorf("forks: got %+v", list)
		}
		hidden := f.project(ann, "hidden", nil, authz.Private)
		shown := f.project(ann, "shown", nil, authz.Public)
		_, err = f.MakeFork(ctx, ann, fmt.Sprint(shown.ID), fmt.Sprint(hidden.ID))
		wantError(t, err, errs.Invalid, "visibility_level public is not allowed since the fork source project has lower visibility.")
	})
}

// What is deleted leaves the network; what it was to others stays right.
func TestService_Fork_deleted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 10), f.user("cat", 10)
		source := f.project(ann, "app", nil, authz.Public)
		one, err := f.Fork(ctx, bob, "ann/app", project.ForkInput{})
		if err != nil {
			t.Fatal(err)
		}
		two, err := f.Fork(ctx, cat, "ann/app", project.ForkInput{})
		if err != nil {
			t.Fatal(err)
		}
		gone := func(as authz.Actor, ref string) {
			t.Helper()
			p, err := f.Find(ctx, as, ref)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.db.Exec(ctx, "UPDATE projects SET marked_for_deletion_on = '2026-05-01' WHERE id = ?", p.ID); err != nil {
				t.Fatal(err)
			}
			if err := f.Delete(ctx, as, ref, p.FullPath); err != nil {
				t.Fatal(err)
			}
		}
		gone(bob, "bob/app")
		f.forks(ann, source, 1)
		gone(ann, "ann/app")
		left, err := f.FindByID(ctx, cat, two.ID)
		if err != nil || left.ForkedFromID != nil || left.Root() != source.ID {
			t.Errorf("fork of what is gone: %+v, %v", left, err)
		}
		if sources, err := f.Sources(ctx, cat, []*project.Project{one, two}); err != nil || len(sources) != 0 {
			t.Errorf("sources that are gone: %v, %v", sources, err)
		}
	})
}

// A fork is never seen by more people than its source.
func TestService_Fork_visibility(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 10), f.user("cat", 10)
		source := f.project(ann, "app", nil, authz.Public)
		one, err := f.Fork(ctx, bob, "ann/app", project.ForkInput{})
		if err != nil {
			t.Fatal(err)
		}
		two, err := f.Fork(ctx, cat, "bob/app", project.ForkInput{Visibility: ptr(authz.Internal)})
		if err != nil {
			t.Fatal(err)
		}
		see := func(one, two authz.Visibility, ids ...project.ID) {
			t.Helper()
			for i, want := range []authz.Visibility{one, two} {
				if p, err := f.FindByID(ctx, f.admin, ids[i]); err != nil || p.Visibility != want {
					t.Errorf("fork %d is %v, %v, want %v", i+1, p.Visibility, err, want)
				}
			}
		}
		set := func(as authz.Actor, ref string, v authz.Visibility) error {
			_, err := f.Update(ctx, as, ref, project.Changes{Visibility: &v})
			return err
		}
		see(authz.Public, authz.Internal, one.ID, two.ID)
		if err := set(ann, "ann/app", authz.Internal); err != nil {
			t.Fatal(err)
		}
		see(authz.Internal, authz.Internal, one.ID, two.ID)
		const higher = "visibility_level public is not allowed since the fork source project has lower visibility."
		wantError(t, set(bob, "bob/app", authz.Public), errs.Invalid, higher)
		if err := set(ann, "ann/app", authz.Private); err != nil {
			t.Fatal(err)
		}
		see(authz.Private, authz.Private, one.ID, two.ID)
		// Its source is hidden from the fork's owner now.
		if sources, err := f.Sources(ctx, bob, []*project.Project{one}); err != nil || len(sources) != 0 {
			t.Errorf("sources: %v, %v", sources, err)
		}
		if sources, err := f.Sources(ctx, ann, []*project.Project{one}); err != nil || sources[source.ID] == nil {
			t.Errorf("sources: %v, %v", sources, err)
		}
	})
}
