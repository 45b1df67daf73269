package project_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// begun returns the projects whose imports were enqueued since the last call, in order.
func (f *fixture) begun() []project.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []project.ID
	for _, args := range f.jobs {
		if args, ok := args.(project.Import); ok {
			ids = append(ids, args.ProjectID)
		}
	}
	f.jobs = nil
	return ids
}

// No user has more imports running than the cap, the instance neither; the others wait in
// their order, and users take turns.
func TestService_imports_turns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob, cat := t.Context(), f.user("ann", 100), f.user("bob", 100), f.user("cat", 100)
		imported := func(as authz.Actor, name string) *project.Project {
			t.Helper()
			in := input(name, nil, authz.Private)
			in.ImportURL = "http://sam:s3cret@example.com/" + name + ".git"
			p, err := f.Create(ctx, as, in)
			if err != nil {
				t.Fatal(err)
			}
			if p.ImportStatus != project.ImportScheduled {
				t.Errorf("%s: status %q, want scheduled", name, p.ImportStatus)
			}
			return p
		}
		wants := func(when string, want ...*project.Project) {
			t.Helper()
			var ids []project.ID
			for _, p := range want {
				ids = append(ids, p.ID)
			}
			if got := f.begun(); !slices.Equal(got, ids) {
				t.Errorf("%s: imports %v begin, want %v", when, got, ids)
			}
		}
		ended := func(p *project.Project, status string) {
			t.Helper()
			if err := f.RecordImport(ctx, p.ID, status, ""); err != nil {
				t.Fatal(err)
			}
		}
		var anns []*project.Project
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "a6"} {
			anns = append(anns, imported(ann, name))
		}
		wants("one user alone", anns[0], anns[1])
		b1, b2, c1 := imported(bob, "b1"), imported(bob, "b2"), imported(cat, "c1")
		wants("another user", b1)
		ended(anns[0], project.ImportFinished)
		wants("the first that ended", c1) // bob and ann have one running each, cat has none
		ended(anns[1], project.ImportFailed)
		wants("the second", anns[2])
		if err := f.Mark(ctx, ann, anns[3].FullPath); err != nil { // waits
			t.Fatal(err)
		}
		wants("one that waits is deleted")
		if err := f.Mark(ctx, cat, c1.FullPath); err != nil { // runs
			t.Fatal(err)
		}
		wants("one that runs is deleted", anns[4])
		gone, err := f.Load(ctx, []project.ID{c1.ID, anns[3].ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range gone {
			if p.ImportStatus != project.ImportFailed || p.ImportError == nil || *p.ImportError != project.ImportCancelled {
				t.Errorf("deleted: %q, %v, want failed: %s", p.ImportStatus, p.ImportError, project.ImportCancelled)
			}
		}
		if err := f.StartImports(ctx, project.StartImports{}); err != nil {
			t.Fatal(err)
		}
		wants("another start of the server", anns[2], anns[4], b1)
		for _, p := range []*project.Project{anns[2], anns[4], b1} {
			ended(p, project.ImportFinished)
		}
		wants("to the end", anns[5], b2)
		args, there, err := f.Source(ctx, project.Import{ProjectID: b2.ID})
		if err != nil || !there || args.URL != "http://example.com/b2.git" || args.Sealed == "" || strings.Contains(args.Sealed, "s3cret") {
			t.Errorf("source: %+v, %v, %v, want the address and sealed credentials", args, there, err)
		}
		if _, there, err := f.Source(context.Background(), project.Import{ProjectID: b1.ID}); err != nil || there {
			t.Errorf("source of an import that has ended: %v, %v, want none", there, err)
		}
	})
}
