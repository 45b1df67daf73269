package project_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

func TestService_Mark_waits_where_the_instance_says_so(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		if err := f.settings.Set(ctx, "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		g := f.group(ann, "team", authz.Internal)
		f.add(ann, g, bob, authz.Maintainer)
		p := f.project(ann, "App", g, authz.Internal)
		id := fmt.Sprint(p.ID)

		wantError(t, f.Delete(ctx, ann, id, "team/app"), errs.Invalid, "Project must be marked for deletion first.")
		_, err := f.Restore(ctx, ann, id)
		wantError(t, err, errs.Invalid, "Project has not been marked for deletion")
		if err := f.Mark(ctx, ann, id); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Mark(ctx, ann, id), errs.Invalid, "Project has already been marked for deletion")
		marked, err := f.FindByID(ctx, bob, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		suffix := "-deletion_scheduled-" + id
		if marked.FullPath != "team/app"+suffix || marked.Name != "App"+suffix || !marked.Archived || *marked.MarkedForDeletionOn != "2026-05-01" {
			t.Errorf("marked: got %q, %q, archived %t, on %v", marked.FullPath, marked.Name, marked.Archived, marked.MarkedForDeletionOn)
		}
		_, err = f.Unarchive(ctx, ann, id)
		wantError(t, err, errs.Invalid, "Project is marked for deletion")
		_, err = f.Restore(ctx, bob, id)
		wantError(t, err, errs.Forbidden, "forbidden")

		next := f.project(ann, "App", g, authz.Internal) // name and path are free
		back, err := f.Restore(ctx, ann, id)
		if err != nil || back.Path != "app-"+id || back.Name != "App-"+id || back.Archived || back.MarkedForDeletionOn != nil {
			t.Fatalf("restored beside its successor: %+v, %v", back, err)
		}
		if err := f.Mark(ctx, ann, fmt.Sprint(next.ID)); err != nil {
			t.Fatal(err)
		}
		if back, err = f.Restore(ctx, ann, fmt.Sprint(next.ID)); err != nil || back.FullPath != "team/app" || back.Name != "App" {
			t.Fatalf("restored: %+v, %v", back, err)
		}

		if err := f.Mark(ctx, ann, id); err != nil {
			t.Fatal(err)
		}
		full := "team/app-" + id + suffix
		wantError(t, f.Delete(ctx, ann, id, "team/app"), errs.Invalid,
			"the full path is not the one of the project")
		wantError(t, f.Delete(ctx, bob, id, full), errs.Forbidden, "forbidden")
		if err := f.Mark(ctx, ann, fmt.Sprint(next.ID)); err != nil {
			t.Fatal(err)
		}
		f.jobs = nil
		if err := f.Delete(ctx, ann, id, full); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.jobs, []job.Args{project.Purge{ProjectID: p.ID}}) {
			t.Errorf("jobs after the early deletion: got %v", f.jobs)
		}

		for _, day := range []struct {
			wait int
			want []job.Args
		}{{6, nil}, {1, []job.Args{project.Purge{ProjectID: next.ID}}}, {1, nil}} {
			f.jobs, f.today = nil, f.today.AddDate(0, 0, day.wait)
			if err := f.PurgeMarked(ctx, project.PurgeMarked{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(f.jobs, day.want) {
				t.Errorf("jobs on %s: got %v, want %v", f.today, f.jobs, day.want)
			}
		}
		_, err = f.FindByID(ctx, ann, next.ID)
		wantError(t, err, errs.NotFound, "Project not found")
	})
}

// What a user restores at the last moment stays: a job finds out when it runs, not when
// it was enqueued or began.
func TestService_PurgeMarked_leaves_what_was_restored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		if err := f.settings.Set(ctx, "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		g := f.group(ann, "team", authz.Internal)
		first, second := f.project(ann, "First", nil, authz.Internal), f.project(ann, "Second", nil, authz.Internal)
		inside := f.project(ann, "Inside", g, authz.Internal)
		for _, p := range []*project.Project{first, second} {
			if err := f.Mark(ctx, ann, fmt.Sprint(p.ID)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.MarkGroup(ctx, ann, "team"); err != nil {
			t.Fatal(err)
		}
		event.On(f.bus, "test", func(ctx context.Context, e project.Deleted) error {
			_, err := f.Restore(ctx, ann, fmt.Sprint(second.ID))
			return err
		})
		f.jobs, f.today = nil, f.today.AddDate(0, 0, 8)
		if err := f.PurgeMarked(ctx, project.PurgeMarked{}); err != nil {
			t.Fatal(err)
		}
		purge := project.PurgeGroup{GroupID: g.ID, Marked: true}
		if !slices.Equal(f.jobs, []job.Args{project.Purge{ProjectID: first.ID}, purge}) {
			t.Errorf("jobs: got %v", f.jobs)
		}
		if _, err := f.spaces.Restore(ctx, ann, fmt.Sprint(g.ID)); err != nil {
			t.Fatal(err)
		}
		if err := f.PurgeGroup(ctx, purge); err != nil {
			t.Fatal(err)
		}
		for _, id := range []project.ID{second.ID, inside.ID} {
			if p, err := f.FindByID(ctx, ann, id); err != nil || p.MarkedForDeletionOn != nil {
				t.Errorf("restored: %+v, %v", p, err)
			}
		}
	})
}

// onRemove is repositories that report when one goes.
type onRemove func(p *project.Project) error

func (onRemove) Create(context.Context, *project.Project, project.CreateOptions) error { return nil }

func (r onRemove) Remove(_ context.Context, p *project.Project) error { return r(p) }

// emptied has the namespaces that were emptied.
type emptied []authz.NamespaceID

func (e *emptied) Empty(_ context.Context, of authz.NamespaceID) error {
	*e = append(*e, of)
	return nil
}

// A user restores a group while it is being deleted: what is left stays, with what others keep of the group.
func TestService_PurgeGroup_restored_meanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		g := f.group(ann, "team", authz.Internal)
		first, second := f.project(ann, "First", g, authz.Internal), f.project(ann, "Second", g, authz.Internal)
		if err := f.MarkGroup(ctx, ann, "team"); err != nil {
			t.Fatal(err)
		}
		var places emptied
		f.Connect(coretest.Above(project.Above{Repositories: onRemove(func(*project.Project) error {
			_, err := f.spaces.Restore(ctx, ann, fmt.Sprint(g.ID))
			return err
		}), Emptiers: []project.Emptier{&places}}))
		purge := project.PurgeGroup{GroupID: g.ID, Marked: true}
		if err := f.PurgeGroup(ctx, purge); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(places, emptied{first.NamespaceID}) {
			t.Errorf("emptied: %v, want %d alone", places, first.NamespaceID)
		}
		_, err := f.FindByID(ctx, ann, first.ID)
		wantError(t, err, errs.NotFound, "Project not found")
		if p, err := f.Find(ctx, ann, "team/second"); err != nil || p.ID != second.ID {
			t.Errorf("what was left: %+v, %v", p, err)
		}
		_, err = f.spaces.Restore(ctx, ann, "team")
		wantError(t, err, errs.Invalid, "Group has not been marked for deletion")

		// Marked again, it goes.
		f.Connect(coretest.Above(project.Above{Repositories: onRemove(func(*project.Project) error { return nil }), Emptiers: []project.Emptier{&places}}))
		if err := f.MarkGroup(ctx, ann, "team"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.PurgeGroup(ctx, purge); err != nil {
				t.Fatal(err)
			}
		}
		_, err = f.spaces.FindByID(ctx, f.admin, g.ID)
		wantError(t, err, errs.NotFound, "Group not found")
		if !slices.Equal(places, emptied{first.NamespaceID, second.NamespaceID, g.ID}) {
			t.Errorf("emptied: %v", places)
		}
	})
}

// The attack: one call with more topics than the database takes in a minute, while no user
// else can write.
func TestService_Update_topics(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann", 10)
		p := f.project(ann, "App", nil, authz.Private)
		many := make([]string, 200_000)
		for i := range many {
			many[i] = fmt.Sprint("t", i)
		}
		for _, tt := range []struct {
			topics []string
			want   string
		}{
			{many, "topics are too many (maximum is 100)"},
			{[]string{strings.Repeat("x", 256)}, "topics is too long (maximum is 255 characters)"},
		} {
			_, err := f.Update(t.Context(), ann, fmt.Sprint(p.ID), project.Changes{Topics: &tt.topics})
			wantError(t, err, errs.Invalid, tt.want)
		}
		topics := append(slices.Clone(many[:98]), "T1", " ", "\ufb01x", "fix") // some of them are the same
		got, err := f.Update(t.Context(), ann, fmt.Sprint(p.ID), project.Changes{Topics: &topics})
		if err != nil || len(got.Topics()) != 99 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestService_Archive_of_a_group_reaches_what_is_inside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		g := f.group(ann, "team", authz.Internal)
		f.add(ann, g, bob, authz.Maintainer)
		p := f.project(ann, "App", g, authz.Internal)

		_, err := f.spaces.Archive(ctx, bob, "team")
		wantError(t, err, errs.Forbidden, "forbidden")
		for range 2 {
			if got, err := f.spaces.Archive(ctx, ann, "team"); err != nil || !got.Archived {
				t.Fatalf("archived group: %+v, %v", got, err)
			}
		}
		_, err = f.Update(ctx, bob, "team/app", project.Changes{Attributes: project.Attributes{Description: ptr("x")}})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Create(ctx, bob, input("other", g, authz.Internal))
		wantError(t, err, errs.Invalid, "namespace is not valid")
		archived := true
		found, err := f.List(ctx, bob, project.Filter{Archived: &archived, Range: page.Range{Limit: 10}})
		list, total := found.Items, found.Total
		if err != nil || total != 1 || list[0].ID != p.ID || !list[0].Archived {
			t.Errorf("archived projects: got %v, %d, %v", list, total, err)
		}
		if got, err := f.spaces.Unarchive(ctx, ann, "team"); err != nil || got.Archived {
			t.Fatalf("group after it was unarchived: %+v, %v", got, err)
		}
		if _, err := f.Update(ctx, bob, "team/app", project.Changes{Attributes: project.Attributes{Description: ptr("x")}}); err != nil {
			t.Errorf("project of a writable group: %v", err)
		}
	})
}

// What is to be deleted with its group is as closed as what is to be deleted by itself,
// for every way in; only what takes it back, or hastens it, stays open.
func TestService_MarkGroup_closes_what_is_inside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		g, open := f.group(ann, "team", authz.Public), f.group(ann, "open", authz.Public)
		sub, err := f.spaces.Create(ctx, ann, namespace.GroupInput{ParentID: &g.ID, GroupChanges: namespace.GroupChanges{Name: ptr("sub"), Path: ptr("sub")}})
		if err != nil {
			t.Fatal(err)
		}
		p, other := f.project(ann, "App", g, authz.Public), f.project(ann, "Other", open, authz.Public)
		if err := f.MarkGroup(ctx, ann, "team"); err != nil {
			t.Fatal(err)
		}
		id, subID := fmt.Sprint(p.ID), fmt.Sprint(sub.ID)
		_, err = f.Fork(ctx, bob, id, project.ForkInput{})
		wantError(t, err, errs.NotFound, "not found")
		_, err = f.Fork(ctx, ann, fmt.Sprint(other.ID), project.ForkInput{Namespace: subID})
		wantError(t, err, errs.NotFound, "Target Namespace not found")
		_, err = f.Create(ctx, ann, input("new", sub, authz.Public))
		wantError(t, err, errs.Invalid, "namespace is not valid")
		_, err = f.CreateByPush(ctx, ann, sub.FullPath+"/pushed", namespace.HTTP)
		if !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) {
			t.Errorf("made by a push: %v", err)
		}
		_, err = f.Update(ctx, ann, id, project.Changes{Attributes: project.Attributes{Description: ptr("x")}})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Transfer(ctx, ann, fmt.Sprint(other.ID), subID)
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("transfer into it: %v", err)
		}
		_, err = f.Transfer(ctx, ann, id, fmt.Sprint(open.ID))
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.spaces.Create(ctx, ann, namespace.GroupInput{ParentID: &sub.ID, GroupChanges: namespace.GroupChanges{Name: ptr("x"), Path: ptr("deep")}})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.spaces.Transfer(ctx, ann, fmt.Sprint(open.ID), &g.ID)
		wantError(t, err, errs.Invalid, "Transfer failed: You don't have enough permissions.")
		_, err = f.spaces.Add(ctx, ann, place(f, ann, g), namespace.MemberInput{UserID: bob.UserID, Level: authz.Guest})
		wantError(t, err, errs.Forbidden, "forbidden")

		now, err := f.Find(ctx, ann, id)
		if err != nil || now.Archived || !now.Marked() {
			t.Errorf("project of a marked group: %+v, %v", now, err)
		}
		active := true
		if found, err := f.List(ctx, ann, project.Filter{Active: &active, Range: page.Range{Limit: 10}}); err != nil || len(found.Items) != 1 || found.Items[0].ID != other.ID {
			t.Errorf("active projects: %v, %v", found.Items, err)
		}
		if _, err := f.spaces.Restore(ctx, ann, fmt.Sprint(g.ID)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Fork(ctx, bob, id, project.ForkInput{}); err != nil {
			t.Errorf("fork of what was restored: %v", err)
		}
		if _, err := f.Update(ctx, ann, id, project.Changes{Attributes: project.Attributes{Description: ptr("x")}}); err != nil {
			t.Errorf("change of what was restored: %v", err)
		}
	})
}

// A stranger must not keep by a fork what its owner is about to delete.
func TestService_Fork_of_what_is_marked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann", 10), f.user("bob", 10)
		if err := f.settings.Set(t.Context(), "delayed_project_deletion", true); err != nil {
			t.Fatal(err)
		}
		p := f.project(ann, "App", nil, authz.Public)
		if err := f.Mark(t.Context(), ann, fmt.Sprint(p.ID)); err != nil {
			t.Fatal(err)
		}
		for _, who := range []authz.Actor{ann, bob} {
			_, err := f.Fork(t.Context(), who, fmt.Sprint(p.ID), project.ForkInput{Path: ptr("kept"), Name: ptr("kept")})
			wantError(t, err, errs.NotFound, "not found")
		}
	})
}

func place(f *fixture, as authz.Actor, g *namespace.Group) authz.Place {
	f.t.Helper()
	now, err := f.spaces.FindByID(f.t.Context(), as, g.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return now.Place()
}
