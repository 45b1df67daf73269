package repo_test

import (
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/starter"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

func TestService_FillTemplate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		template, ok := starter.Project("express")
		if !ok {
			t.Fatal("there is no template express")
		}
		args := project.FillTemplate{ProjectID: w.id, Template: "express", By: w.owner.UserID}
		scheduled := func() { check(t, w.Projects.RecordImport(ctx, w.id, project.ImportScheduled, "")) }
		scheduled()
		check(t, w.repos.FillTemplate(ctx, args))
		p := w.as(w.owner)
		if p.ImportStatus != project.ImportFinished || p.DefaultBranch == nil || *p.DefaultBranch != "main" {
			t.Fatalf("got status %s, branch %v", p.ImportStatus, p.DefaultBranch)
		}
		first, err := w.repos.FindCommit(ctx, w.owner, p, "main")
		check(t, err)
		if first.Message != "Initialized from 'NodeJS Express' project template" || first.Author.Name != "Olga" || len(first.Parents) != 0 {
			t.Errorf("commit: got %q by %+v with parents %v", first.Message, first.Author, first.Parents)
		}
		r := w.open()
		for _, f := range template.Files {
			e, err := r.Entry(ctx, first.ID, f.Path)
			check(t, err)
			content, err := r.Blob(ctx, e.ID, 1<<20)
			check(t, err)
			if string(content) != f.Content || e.Mode != gitstore.ModeFile {
				t.Errorf("%s: got %q with mode %v", f.Path, content, e.Mode)
			}
		}
		// A second run, as after a crash before the end was noted, changes nothing.
		scheduled()
		check(t, w.repos.FillTemplate(ctx, args))
		again, err := w.repos.FindCommit(ctx, w.owner, w.as(w.owner), "main")
		check(t, err)
		if again.ID != first.ID || w.as(w.owner).ImportStatus != project.ImportFinished {
			t.Errorf("the second time: %s and %s, want %s", w.as(w.owner).ImportStatus, again.ID, first.ID)
		}
		// One that no user waits for any more does nothing.
		check(t, w.repos.FillTemplate(ctx, project.FillTemplate{ProjectID: w.id, Template: "rails", By: w.owner.UserID}))
		check(t, w.repos.FillTemplate(ctx, project.FillTemplate{ProjectID: 9999, Template: "rails", By: w.owner.UserID}))
	})
}

func TestService_FillTemplate_fails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		id := w.Project("group/other", authz.Private, w.Group("others", authz.Private, 0))
		check(t, w.Projects.RecordImport(ctx, id, project.ImportScheduled, ""))
		if err := w.repos.FillTemplate(ctx, project.FillTemplate{ProjectID: id, Template: "gone"}); err == nil {
			t.Error("a template that is not there is no error")
		}
		if p := w.Find(authz.System(), id); p.ImportStatus != project.ImportFailed || p.ImportError == nil || *p.ImportError != "The template could not be copied." {
			t.Errorf("got %s, %v", p.ImportStatus, p.ImportError)
		}
	})
}
