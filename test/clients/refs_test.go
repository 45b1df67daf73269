package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func (s *story) branches(t *testing.T) {
	main := got(s.ben.Branches.GetBranch(s.project.ID, "main")).must(t)
	if main.Name != "main" || !main.Default || !main.Protected || main.CanPush || main.Merged || main.DevelopersCanPush || main.DevelopersCanMerge ||
		main.Commit.ID != s.history[0] || main.WebURL != s.url("team/core/app/-/tree/main") {
		t.Errorf("main as ben sees it: got %+v", main)
	}
	if own := got(s.ann.Branches.GetBranch(s.project.ID, "main")).must(t); !own.CanPush {
		t.Error("ann may not push to main")
	}
	made := got(s.ben.Branches.CreateBranch(s.project.ID, &gitlab.CreateBranchOptions{Branch: new("feature/a b"), Ref: new(s.history[1])}))
	made.refused(t, 400, "")
	branch := got(s.ben.Branches.CreateBranch(s.project.ID, &gitlab.CreateBranchOptions{Branch: new("feature/one"), Ref: new(s.history[1])})).must(t)
	if branch.Name != "feature/one" || branch.Commit.ID != s.history[1] || branch.Protected || !branch.CanPush || branch.Default || !branch.Merged {
		t.Errorf("branch: got %+v", branch)
	}
	read := got(s.ben.Branches.GetBranch(s.project.ID, "feature/one")).must(t)
	same(t, "branch", read, branch)
	got(s.ben.Branches.CreateBranch(s.project.ID, &gitlab.CreateBranchOptions{Branch: new("feature/one"), Ref: new("main")})).refused(t, 400, "Branch already exists")
	list := got(s.ben.Branches.ListBranches(s.project.ID, &gitlab.ListBranchesOptions{Search: new("^feature")})).must(t)
	if len(list) != 1 || list[0].Name != "feature/one" {
		t.Errorf("branches: got %+v", list)
	}
	done(s.ben.Branches.DeleteBranch(s.project.ID, "feature/one")).must(t)
	got(s.ben.Branches.GetBranch(s.project.ID, "feature/one")).refused(t, 404, "")
}

func (s *story) tags(t *testing.T) {
	light := got(s.ann.Tags.CreateTag(s.project.ID, &gitlab.CreateTagOptions{TagName: new("v1.0"), Ref: new("main")})).must(t)
	if light.Name != "v1.0" || light.Target != s.history[0] || light.Message != "" || light.Commit.ID != s.history[0] || light.Release != nil {
		t.Errorf("tag: got %+v", light)
	}
	full := got(s.ann.Tags.CreateTag(s.project.ID, &gitlab.CreateTagOptions{TagName: new("v1.1"), Ref: new("main"), Message: new("One better")})).must(t)
	if full.Message != "One better" || full.Target == s.history[0] || full.Commit.ID != s.history[0] {
		t.Errorf("annotated tag: got %+v", full)
	}
	s.git(t, s.copy, "", "fetch", "-q", "--tags", "origin")
	if kind := s.git(t, s.copy, "", "cat-file", "-t", "v1.1"); kind != "tag" {
		t.Errorf("v1.1: got a %s, want a tag", kind)
	}
	same(t, "tag", got(s.ben.Tags.GetTag(s.project.ID, "v1.1")).must(t), full)
	list := got(s.ben.Tags.ListTags(s.project.ID, &gitlab.ListTagsOptions{OrderBy: new("name"), Sort: new("asc")})).must(t)
	if len(list) != 2 || list[0].Name != "v1.0" || list[1].Name != "v1.1" {
		t.Errorf("tags: got %+v", list)
	}
	got(s.ann.Tags.CreateTag(s.project.ID, &gitlab.CreateTagOptions{TagName: new("v1.0"), Ref: new("main")})).refused(t, 400, "already exists")
	done(s.ann.Tags.DeleteTag(s.project.ID, "v1.0")).must(t)
	got(s.ann.Tags.GetTag(s.project.ID, "v1.0")).refused(t, 404, "")
}

func (s *story) writeFiles(t *testing.T) {
	path, branch := "docs/how to/\u00fcber.md", "actions"
	made := got(s.ben.RepositoryFiles.CreateFile(s.project.ID, path, &gitlab.CreateFileOptions{Branch: &branch, Content: new("one\n"), CommitMessage: new("Write")})).must(t)
	if made.FilePath != path || made.Branch != branch {
		t.Errorf("created: got %+v", made)
	}
	raw := func() string {
		return string(got(s.ben.RepositoryFiles.GetRawFile(s.project.ID, path, &gitlab.GetRawFileOptions{Ref: &branch})).must(t))
	}
	if raw() != "one\n" {
		t.Errorf("content: got %q", raw())
	}
	got(s.ben.RepositoryFiles.CreateFile(s.project.ID, path, &gitlab.CreateFileOptions{Branch: &branch, Content: new("x"), CommitMessage: new("Again")})).
		refused(t, 400, "A file with this name already exists")
	got(s.ben.RepositoryFiles.UpdateFile(s.project.ID, path, &gitlab.UpdateFileOptions{Branch: &branch, Content: new("two\n"), CommitMessage: new("Change")})).must(t)
	if raw() != "two\n" {
		t.Errorf("content: got %q", raw())
	}
	done(s.ben.RepositoryFiles.DeleteFile(s.project.ID, path, &gitlab.DeleteFileOptions{Branch: &branch, CommitMessage: new("Remove")})).must(t)
	got(s.ben.RepositoryFiles.GetFile(s.project.ID, path, &gitlab.GetFileOptions{Ref: &branch})).refused(t, 404, "")
}
