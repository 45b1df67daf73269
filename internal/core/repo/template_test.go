package repo_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/repo"
)

func TestService_Templates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if names, err := w.repos.Templates(ctx, w.reporter, w.as(w.reporter), repo.IssueTemplate, page.Range{}); err != nil || len(names.Items) != 0 {
			t.Errorf("of an empty repository: %v, %v", names.Items, err)
		}
		_, err := w.repos.Template(ctx, w.reporter, w.as(w.reporter), repo.IssueTemplate, "Bug")
		wants(t, err, errs.NotFound, "Template not found")
		w.put("main", "README.md", "a\n")
		if names, err := w.repos.Templates(ctx, w.reporter, w.as(w.reporter), repo.IssueTemplate, page.Range{}); err != nil || len(names.Items) != 0 {
			t.Errorf("without a folder: %v, %v", names.Items, err)
		}
		const folder = ".gitlab/issue_templates/"
		w.put("main", folder+"Bug.md", "What happened?\n")
		w.put("main", folder+"Large.md", strings.Repeat("x", 1<<20+1))
		w.put("main", folder+"notes.txt", "no template\n")
		w.put("main", folder+"more/Deep.md", "no template\n")
		w.put("main", ".gitlab/merge_request_templates/Default.md", "What for?\n")
		w.put("other", folder+"Elsewhere.md", "not on the default branch\n")
		r, tip := w.open(), w.put("main", folder+"Fix me.md", "How?\n")
		// A symbolic link that leads out of the repository.
		link, err := r.WriteBlob(ctx, []byte("/etc/passwd"))
		check(t, err)
		tree, err := r.BuildTree(ctx, tip.ID, []gitstore.TreeChange{{Path: folder + "Link.md", Mode: gitstore.ModeSymlink, ID: link}})
		check(t, err)
		commit, err := r.CommitTree(ctx, gitstore.CommitInput{Tree: tree, Parents: []gitstore.ObjectID{tip.ID}, Author: tip.Author, Committer: tip.Committer, Message: "Link"})
		check(t, err)
		check(t, r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: tip.ID, New: commit}}))

		p := w.as(w.reporter)
		for kind, want := range map[repo.TemplateKind]string{repo.IssueTemplate: "Bug,Fix me,Large", repo.MergeRequestTemplate: "Default"} {
			names, err := w.repos.Templates(ctx, w.reporter, p, kind, page.Range{})
			if got := strings.Join(names.Items, ","); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", kind, got, err, want)
			}
		}
		for name, want := range map[string]string{
			"Bug": "What happened?\n", "Fix me": "How?\n", "bug": "", "Large": "", "Link": "", "notes": "", "Elsewhere": "", "more/Deep": "", "../../README": "", "": "",
		} {
			text, err := w.repos.Template(ctx, w.reporter, p, repo.IssueTemplate, name)
			if want == "" {
				wants(t, err, errs.NotFound, "Template not found")
			} else if err != nil || text != want {
				t.Errorf("%q: got %q, %v", name, text, err)
			}
		}
		// A guest of a private project does not read its code.
		_, err = w.repos.Templates(ctx, w.guest, w.as(w.guest), repo.IssueTemplate, page.Range{})
		wants(t, err, errs.Forbidden, "")
		_, err = w.repos.Template(ctx, w.guest, w.as(w.guest), repo.IssueTemplate, "Bug")
		wants(t, err, errs.Forbidden, "")
	})
}
