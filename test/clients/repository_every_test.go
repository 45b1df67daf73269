package clients

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestEveryRepositoryOperation calls every operation that the client has for repositories,
// and fails where the client has one that no test here calls.
func TestEveryRepositoryOperation(t *testing.T) {
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	e := &every{story: s, c: s.root, called: map[string]bool{}}
	e.begin(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"branches", e.branches},
		{"tags", e.tags},
		{"files", e.files},
		{"commits", e.commits},
		{"about commits", e.about},
		{"repository", e.repository},
		{"changelog", e.changelog},
		{"archives", e.archives},
		{"submodules", e.submodules},
		{"protected branches", e.protectedBranches},
		{"protected tags", e.protectedTags},
	} {
		if !t.Run(step.name, step.run) {
			t.Fatalf("the story ends at %q", step.name)
		}
	}
	for name, service := range map[string]reflect.Type{
		"Branches": reflect.TypeFor[gitlab.BranchesServiceInterface](), "Tags": reflect.TypeFor[gitlab.TagsServiceInterface](),
		"Commits": reflect.TypeFor[gitlab.CommitsServiceInterface](), "Repositories": reflect.TypeFor[gitlab.RepositoriesServiceInterface](),
		"RepositoryFiles":      reflect.TypeFor[gitlab.RepositoryFilesServiceInterface](),
		"RepositorySubmodules": reflect.TypeFor[gitlab.RepositorySubmodulesServiceInterface](),
		"ProtectedBranches":    reflect.TypeFor[gitlab.ProtectedBranchesServiceInterface](),
		"ProtectedTags":        reflect.TypeFor[gitlab.ProtectedTagsServiceInterface](),
	} {
		for i := range service.NumMethod() {
			if method := name + "." + service.Method(i).Name; !e.called[method] {
				t.Errorf("nobody calls %s", method)
			}
		}
	}
}

// every is a project whose repository all operations are tried on.
type every struct {
	*story
	c      *gitlab.Client
	id     int64
	called map[string]bool
}

// calls notes which operations a step calls.
func (e *every) calls(service string, methods ...string) {
	for _, m := range methods {
		e.called[service+"."+m] = true
	}
}

// begin makes the project and pushes what the interface cannot write: a submodule.
func (e *every) begin(t *testing.T) {
	e.project = got(e.c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("All"), Visibility: new(gitlab.PublicVisibility)})).must(t)
	e.id = e.project.ID
	e.copy = e.server.Data + "/all"
	e.git(t, e.server.Data, "", "init", "-q", "-b", "main", e.copy)
	e.git(t, e.copy, "", "commit", "-q", "--allow-empty", "-m", "First")
	e.git(t, e.copy, "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.com/lib.git\n", "hash-object", "-w", "--stdin")
	blob := e.git(t, e.copy, "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.com/lib.git\n", "hash-object", "-w", "--stdin")
	e.git(t, e.copy, "", "update-index", "--add", "--cacheinfo", "100644,"+blob+",.gitmodules")
	e.git(t, e.copy, "", "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
	e.git(t, e.copy, "", "commit", "-q", "-m", "Second")
	e.git(t, e.copy, "", "remote", "add", "origin", e.remote("root", servertest.RootToken))
	e.git(t, e.copy, "", "push", "-q", "origin", "main")
}

// change writes a file and returns the commit.
func (e *every) change(t *testing.T, branch, path, content, message string) *gitlab.Commit {
	t.Helper()
	action := gitlab.FileCreate
	if _, _, err := e.c.RepositoryFiles.GetFile(e.id, path, &gitlab.GetFileOptions{Ref: &branch}); err == nil {
		action = gitlab.FileUpdate
	}
	o := &gitlab.CreateCommitOptions{
		Branch: &branch, CommitMessage: &message, Actions: []*gitlab.CommitActionOptions{{Action: &action, FilePath: &path, Content: &content}},
	}
	if _, _, err := e.c.Branches.GetBranch(e.id, branch); errors.Is(err, gitlab.ErrNotFound) {
		o.StartBranch = new("main")
	}
	return got(e.c.Commits.CreateCommit(e.id, o)).must(t)
}

func (e *every) branches(t *testing.T) {
	e.calls("Branches", "ListBranches", "GetBranch", "CreateBranch", "DeleteBranch", "DeleteMergedBranches")
	for _, name := range []string{"one", "one/../two", "topic/x"} {
		made := got(e.c.Branches.CreateBranch(e.id, &gitlab.CreateBranchOptions{Branch: &name, Ref: new("main")}))
		if strings.Contains(name, "..") {
			made.refused(t, 400, "Branch name is invalid")
		} else if made.must(t).Name != name {
			t.Errorf("made %+v", made.value)
		}
	}
	e.change(t, "ahead", "ahead.txt", "x\n", "Go ahead")
	for _, o := range []struct {
		options gitlab.ListBranchesOptions
		want    string
	}{
		{gitlab.ListBranchesOptions{}, "ahead main one topic/x"},
		{gitlab.ListBranchesOptions{Search: new("o")}, "one topic/x"},
		{gitlab.ListBranchesOptions{Regex: new("^(main|one)$")}, "main one"},
		{gitlab.ListBranchesOptions{ListOptions: gitlab.ListOptions{Page: 2, PerPage: 3}}, "topic/x"},
	} {
		var names []string
		for _, b := range got(e.c.Branches.ListBranches(e.id, &o.options)).must(t) {
			names = append(names, b.Name)
		}
		if strings.Join(names, " ") != o.want {
			t.Errorf("got %s, want %s", names, o.want)
		}
	}
	done(e.c.Branches.DeleteBranch(e.id, "topic/x")).must(t)
	done(e.c.Branches.DeleteBranch(e.id, "topic/x")).refused(t, 404, "")
	done(e.c.Branches.DeleteBranch(e.id, "main")).refused(t, 400, "The default branch of a project cannot be deleted.")
	e.git(t, e.copy, "", "push", "-q", "origin", "main~1:refs/heads/old")
	done(e.c.Branches.DeleteMergedBranches(e.id)).must(t)
	got(e.c.Branches.GetBranch(e.id, "old")).refused(t, 404, "")
	got(e.c.Branches.GetBranch(e.id, "one")).must(t) // just started, and no merged one
	done(e.c.Branches.DeleteBranch(e.id, "one")).must(t)
	if b := got(e.c.Branches.GetBranch(e.id, "ahead")).must(t); b.Merged {
		t.Errorf("ahead: %+v", b)
	}
}

func (e *every) tags(t *testing.T) {
	e.calls("Tags", "ListTags", "GetTag", "GetTagSignature", "CreateTag", "DeleteTag")
	for _, name := range []string{"v1.9.0", "v1.10.0", "rel/x"} {
		o := &gitlab.CreateTagOptions{TagName: &name, Ref: new("main")}
		if name != "rel/x" {
			o.Message = new("Version " + name)
		}
		if made := got(e.c.Tags.CreateTag(e.id, o)).must(t); made.Name != name || (made.Message == "") != (name == "rel/x") {
			t.Errorf("made %+v", made)
		}
	}
	var names []string
	for _, tag := range got(e.c.Tags.ListTags(e.id, &gitlab.ListTagsOptions{OrderBy: new("version"), Sort: new("desc"), Search: new("^v")})).must(t) {
		names = append(names, tag.Name)
	}
	if strings.Join(names, " ") != "v1.10.0 v1.9.0" {
		t.Errorf("tags by version: %s", names)
	}
	if tag := got(e.c.Tags.GetTag(e.id, "rel/x")).must(t); tag.Commit.Title != "Second" || tag.Protected {
		t.Errorf("tag: %+v", tag)
	}
	got(e.c.Tags.GetTagSignature(e.id, "v1.9.0")).refused(t, 404, "") // it is not signed
	done(e.c.Tags.DeleteTag(e.id, "rel/x")).must(t)
	got(e.c.Tags.GetTag(e.id, "rel/x")).refused(t, 404, "")
}

func (e *every) files(t *testing.T) {
	e.calls("RepositoryFiles", "GetFile", "GetFileMetaData", "GetFileBlame", "GetRawFile", "GetRawFileReader", "GetRawFileMetaData",
		"CreateFile", "UpdateFile", "DeleteFile")
	main, path := new("main"), "docs/a b.md"
	got(e.c.RepositoryFiles.CreateFile(e.id, path, &gitlab.CreateFileOptions{
		Branch: main, Content: new("b25lCnR3bwo="), Encoding: new("base64"), CommitMessage: new("Write"), AuthorName: new("Ann"),
		AuthorEmail: new("ann@x.org"), ExecuteFilemode: new(true),
	})).must(t)
	file := got(e.c.RepositoryFiles.GetFile(e.id, path, &gitlab.GetFileOptions{Ref: main})).must(t)
	if file.Content != "b25lCnR3bwo=" || !file.ExecuteFilemode || file.Size != 8 || file.FilePath != path {
		t.Errorf("file: %+v", file)
	}
	meta := got(e.c.RepositoryFiles.GetFileMetaData(e.id, path, &gitlab.GetFileMetaDataOptions{Ref: main})).must(t)
	raw := got(e.c.RepositoryFiles.GetRawFileMetaData(e.id, path, &gitlab.GetRawFileOptions{Ref: main})).must(t)
	if meta.BlobID != file.BlobID || raw.BlobID != file.BlobID || raw.Size != 8 || meta.SHA256 != file.SHA256 {
		t.Errorf("heads: %+v, %+v", meta, raw)
	}
	updated := got(e.c.RepositoryFiles.UpdateFile(e.id, path, &gitlab.UpdateFileOptions{
		Branch: main, Content: new("one\nthree\n"), CommitMessage: new("Change"), LastCommitID: &file.LastCommitID,
	})).must(t)
	if updated.FilePath != path || updated.Branch != "main" {
		t.Errorf("updated: %+v", updated)
	}
	got(e.c.RepositoryFiles.UpdateFile(e.id, path, &gitlab.UpdateFileOptions{
		Branch: main, Content: new("x"), CommitMessage: new("Late"), LastCommitID: &file.LastCommitID,
	})).refused(t, 400, "You are attempting to update a file that has changed since you started editing it.")
	blame := got(e.c.RepositoryFiles.GetFileBlame(e.id, path, &gitlab.GetFileBlameOptions{Ref: main})).must(t)
	if len(blame) != 2 || blame[0].Commit.AuthorName != "Ann" || blame[1].Commit.Message != "Change" || !slices.Equal(blame[1].Lines, []string{"three"}) {
		t.Errorf("blame: %+v", blame)
	}
	part := got(e.c.RepositoryFiles.GetFileBlame(e.id, path, &gitlab.GetFileBlameOptions{Ref: main, RangeStart: new(int64(2)), RangeEnd: new(int64(2))})).must(t)
	if len(part) != 1 || part[0].Lines[0] != "three" {
		t.Errorf("blame of a line: %+v", part)
	}
	stream := got(e.c.RepositoryFiles.GetRawFileReader(e.id, path, &gitlab.GetRawFileOptions{Ref: main})).must(t)
	text, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("stream: %q, %v", text, err)
	}
	if b := got(e.c.RepositoryFiles.GetRawFile(e.id, path, nil)).must(t); !bytes.Equal(b, text) {
		t.Errorf("raw: %q", b)
	}
	done(e.c.RepositoryFiles.DeleteFile(e.id, path, &gitlab.DeleteFileOptions{Branch: main, CommitMessage: new("Remove"), LastCommitID: &file.LastCommitID})).
		refused(t, 400, "You are attempting to delete a file that has been previously updated.")
	done(e.c.RepositoryFiles.DeleteFile(e.id, path, &gitlab.DeleteFileOptions{Branch: main, CommitMessage: new("Remove")})).must(t)
	got(e.c.RepositoryFiles.GetRawFile(e.id, path, nil)).refused(t, 404, "")
}

func (e *every) commits(t *testing.T) {
	e.calls("Commits", "ListCommits", "GetCommitRefs", "GetCommit", "CreateCommit", "GetCommitDiff", "CherryPickCommit", "RevertCommit")
	made := got(e.c.Commits.CreateCommit(e.id, &gitlab.CreateCommitOptions{
		Branch: new("work"), StartBranch: new("main"), CommitMessage: new("Many"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("src/a"), Content: new("1\n")},
			{Action: new(gitlab.FileCreate), FilePath: new("src/b"), Content: new("2\n")},
			{Action: new(gitlab.FileMove), FilePath: new("src/c"), PreviousPath: new("src/b")},
			{Action: new(gitlab.FileChmod), FilePath: new("src/a"), ExecuteFilemode: new(true)},
		},
	})).must(t)
	one := got(e.c.Commits.GetCommit(e.id, made.ID, &gitlab.GetCommitOptions{Stats: new(true)})).must(t)
	if one.Stats.Additions != 2 {
		t.Errorf("commit: %+v", one)
	}
	diffs := got(e.c.Commits.GetCommitDiff(e.id, "work", &gitlab.GetCommitDiffOptions{Unidiff: new(true)})).must(t)
	if len(diffs) != 2 || diffs[0].NewPath != "src/a" || diffs[0].BMode != "100755" || !strings.HasPrefix(diffs[0].Diff, "--- ") {
		t.Errorf("diff: %+v", diffs[0])
	}
	for _, o := range []struct {
		options gitlab.ListCommitsOptions
		want    int
	}{
		{gitlab.ListCommitsOptions{RefName: new("main..work")}, 1},
		{gitlab.ListCommitsOptions{RefName: new("work"), Path: new("src")}, 1},
		{gitlab.ListCommitsOptions{All: new(true), Author: new("nobody")}, 0},
		{gitlab.ListCommitsOptions{RefName: new("work"), FirstParent: new(true), WithStats: new(true), Trailers: new(true), Until: made.CreatedAt}, 6},
		{gitlab.ListCommitsOptions{RefName: new("work"), ListOptions: gitlab.ListOptions{PerPage: 2}}, 2},
	} {
		if list := got(e.c.Commits.ListCommits(e.id, &o.options)).must(t); len(list) != o.want {
			t.Errorf("%+v: %d commits, want %d", o.options, len(list), o.want)
		}
	}
	refs := got(e.c.Commits.GetCommitRefs(e.id, made.ID, &gitlab.GetCommitRefsOptions{Type: new("all")})).must(t)
	if len(refs) != 1 || refs[0].Name != "work" || refs[0].Type != "branch" {
		t.Errorf("refs: %+v", refs)
	}
	if dry := got(e.c.Commits.CherryPickCommit(e.id, made.ID, &gitlab.CherryPickCommitOptions{Branch: new("main"), DryRun: new(true)})); dry.err != nil {
		t.Errorf("dry run: %v", dry.err)
	}
	picked := got(e.c.Commits.CherryPickCommit(e.id, made.ID, &gitlab.CherryPickCommitOptions{Branch: new("main")})).must(t)
	if !strings.HasSuffix(picked.Message, "(cherry picked from commit "+made.ID+")") {
		t.Errorf("picked: %q", picked.Message)
	}
	got(e.c.Commits.CherryPickCommit(e.id, made.ID, &gitlab.CherryPickCommitOptions{Branch: new("main")})).refused(t, 400, "Commit cherry-pick failed")
	reverted := got(e.c.Commits.RevertCommit(e.id, picked.ID, &gitlab.RevertCommitOptions{Branch: new("main")})).must(t)
	if !strings.Contains(reverted.Message, "This reverts commit "+picked.ID) {
		t.Errorf("reverted: %q", reverted.Message)
	}
	got(e.c.RepositoryFiles.GetRawFile(e.id, "src/a", nil)).refused(t, 404, "")
}

func (e *every) about(t *testing.T) {
	e.calls("Commits", "GetCommitComments", "PostCommitComment", "GetCommitStatuses", "SetCommitStatus", "ListMergeRequestsByCommit", "GetGPGSignature")
	made := e.change(t, "reviewed", "reviewed.txt", "one\n", "To review")
	comment := got(e.c.Commits.PostCommitComment(e.id, made.ID, &gitlab.PostCommitCommentOptions{
		Note: new("Why?"), Path: new("reviewed.txt"), Line: new(int64(1)), LineType: new("new"),
	})).must(t)
	if comment.Path != "reviewed.txt" || comment.Line != 1 {
		t.Errorf("comment: %+v", comment)
	}
	if list := got(e.c.Commits.GetCommitComments(e.id, made.ID, nil)).must(t); len(list) != 1 || list[0].Note != "Why?" {
		t.Errorf("comments: %+v", list)
	}
	request := got(e.c.MergeRequests.CreateMergeRequest(e.id, &gitlab.CreateMergeRequestOptions{
		Title: new("Review"), SourceBranch: new("reviewed"), TargetBranch: new("main"),
	})).must(t)
	list := got(e.c.Commits.ListMergeRequestsByCommit(e.id, made.ID)).must(t)
	if len(list) != 1 || list[0].IID != request.IID {
		t.Errorf("requests of the commit: %+v", list)
	}
	status := got(e.c.Commits.SetCommitStatus(e.id, made.ID, &gitlab.SetCommitStatusOptions{
		State: gitlab.Running, Context: new("build"), Ref: new("reviewed"), Description: new("Builds"), Coverage: new(50.0),
	})).must(t)
	if all := got(e.c.Commits.GetCommitStatuses(e.id, made.ID, &gitlab.GetCommitStatusesOptions{All: new(true)})).must(t); len(all) != 1 || all[0].ID != status.ID {
		t.Errorf("statuses: %+v", all)
	}
	full := got(e.c.MergeRequests.GetMergeRequest(e.id, request.IID, nil)).must(t)
	if full.HeadPipeline == nil || full.HeadPipeline.ID != status.PipelineID || full.HeadPipeline.Status != "running" || full.HeadPipeline.Coverage != "50.00" ||
		full.Pipeline == nil || full.Pipeline.ID != status.PipelineID || full.HeadPipeline.DetailedStatus.Label != "running" {
		t.Errorf("head pipeline: %+v", full.HeadPipeline)
	}
	pipelines := got(e.c.MergeRequests.ListMergeRequestPipelines(e.id, request.IID)).must(t)
	if len(pipelines) != 1 || pipelines[0].ID != status.PipelineID || pipelines[0].Source != "external" {
		t.Errorf("pipelines: %+v", pipelines)
	}
	got(e.c.Commits.GetGPGSignature(e.id, made.ID)).refused(t, 404, "") // it is not signed
}

func (e *every) repository(t *testing.T) {
	e.calls("Repositories", "ListTree", "Blob", "RawBlobContent", "Compare", "Contributors", "MergeBase")
	tree := got(e.c.Repositories.ListTree(e.id, &gitlab.ListTreeOptions{Recursive: new(true), ListOptions: gitlab.ListOptions{PerPage: 100}})).must(t)
	if len(tree) != 2 || tree[1].Type != "commit" || tree[1].Mode != "160000" {
		t.Errorf("tree: %+v", tree)
	}
	blob := got(e.c.Repositories.RawBlobContent(e.id, tree[0].ID)).must(t)
	if !strings.HasPrefix(string(blob), "[submodule") {
		t.Errorf("blob: %q", blob)
	}
	if described := got(e.c.Repositories.Blob(e.id, tree[0].ID)).must(t); !strings.Contains(string(described), `"encoding":"base64"`) {
		t.Errorf("blob: %s", described)
	}
	for _, straight := range []bool{false, true} {
		c := got(e.c.Repositories.Compare(e.id, &gitlab.CompareOptions{From: new("main"), To: new("reviewed"), Straight: &straight, Unidiff: new(true)})).must(t)
		if len(c.Commits) != 1 || len(c.Diffs) != 1 || c.Diffs[0].NewPath != "reviewed.txt" || c.CompareTimeout {
			t.Errorf("compare: %+v", c)
		}
	}
	people := got(e.c.Repositories.Contributors(e.id, &gitlab.ListContributorsOptions{OrderBy: new("name"), Sort: new("asc")})).must(t)
	if len(people) != 3 || people[0].Name > people[1].Name {
		t.Errorf("contributors: %+v", people)
	}
	base := got(e.c.Repositories.MergeBase(e.id, &gitlab.MergeBaseOptions{Ref: &[]string{"main", "reviewed", "work"}})).must(t)
	if want := got(e.c.Repositories.MergeBase(e.id, &gitlab.MergeBaseOptions{Ref: &[]string{"main", "work"}})).must(t); base.ID != want.ID {
		t.Errorf("merge base of three: %s, want %s", base.ID, want.ID)
	}
	got(e.c.Repositories.MergeBase(e.id, &gitlab.MergeBaseOptions{Ref: &[]string{"main"}})).refused(t, 400, "Provide at least 2 refs")
}

func (e *every) changelog(t *testing.T) {
	e.calls("Repositories", "AddChangelog", "GenerateChangelogData")
	// The commit has a trailer.
	e.git(t, e.copy, "", "fetch", "-q", "origin", "main")
	e.git(t, e.copy, "", "reset", "-q", "--soft", "FETCH_HEAD")
	e.git(t, e.copy, "", "read-tree", "FETCH_HEAD")
	e.git(t, e.copy, "", "commit", "-q", "--allow-empty", "-m", "Add a feature\n\nChangelog: added")
	e.git(t, e.copy, "", "push", "-q", "origin", "HEAD:main")
	made := e.git(t, e.copy, "", "rev-parse", "HEAD")
	e.change(t, "main", "feature.txt", "x\n", "And its file")
	data := got(e.c.Repositories.GenerateChangelogData(e.id, gitlab.GenerateChangelogDataOptions{Version: new("1.11.0")})).must(t)
	if !strings.HasPrefix(data.Notes, "## 1.11.0 (") || !strings.Contains(data.Notes, "### added (1 change)") || !strings.Contains(data.Notes, made) {
		t.Errorf("notes: %s", data.Notes)
	}
	done(e.c.Repositories.AddChangelog(e.id, &gitlab.AddChangelogOptions{Version: new("1.11.0"), Branch: new("main"), File: new("NEWS.md"), Message: new("News")})).must(t)
	if text := got(e.c.RepositoryFiles.GetRawFile(e.id, "NEWS.md", nil)).must(t); string(text) != data.Notes {
		t.Errorf("file: %q, want %q", text, data.Notes)
	}
	got(e.c.Repositories.GenerateChangelogData(e.id, gitlab.GenerateChangelogDataOptions{Version: new("0.1.0")})).
		refused(t, 422, "The commit start range is unspecified, and no previous tag could be found to use instead")
}

func (e *every) archives(t *testing.T) {
	e.calls("Repositories", "Archive", "StreamArchive")
	packed := got(e.c.Repositories.Archive(e.id, &gitlab.ArchiveOptions{SHA: new("main"), Path: new("feature.txt")})).must(t)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	done(e.c.Repositories.StreamArchive(e.id, &plain, &gitlab.ArchiveOptions{Format: new("tar"), SHA: new("main"), Path: new("feature.txt")})).must(t)
	for _, in := range []io.Reader{z, &plain} {
		var names []string
		for r := tar.NewReader(in); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, h.Name[strings.LastIndexByte(h.Name, '/')+1:])
		}
		if !slices.Contains(names, "feature.txt") || slices.Contains(names, "NEWS.md") {
			t.Errorf("archive holds %q", names)
		}
	}
	got(e.c.Repositories.Archive(e.id, &gitlab.ArchiveOptions{SHA: new("none")})).refused(t, 404, "")
}

func (e *every) submodules(t *testing.T) {
	e.calls("RepositorySubmodules", "UpdateSubmodule")
	next := strings.Repeat("2", 40)
	made := got(e.c.RepositorySubmodules.UpdateSubmodule(e.id, "lib", &gitlab.UpdateSubmoduleOptions{
		Branch: new("main"), CommitSHA: &next, CommitMessage: new("Take the next one"),
	})).must(t)
	tree := got(e.c.Repositories.ListTree(e.id, nil)).must(t)
	if made.Title != "Take the next one" || tree[len(tree)-1].ID != next {
		t.Errorf("made %+v, tree %+v", made, tree)
	}
}

func (e *every) protectedBranches(t *testing.T) {
	e.calls("ProtectedBranches", "ListProtectedBranches", "GetProtectedBranch", "ProtectRepositoryBranches", "UnprotectRepositoryBranches", "UpdateProtectedBranch")
	user := got(e.c.Users.CreateUser(&gitlab.CreateUserOptions{
		Name: new("Dora"), Username: new("dora"), Email: new("dora@example.com"), Password: new("correct horse battery"), SkipConfirmation: new(true),
	})).must(t)
	got(e.c.ProjectMembers.AddProjectMember(e.id, &gitlab.AddProjectMemberOptions{UserID: user.ID, AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
	rule := got(e.c.ProtectedBranches.ProtectRepositoryBranches(e.id, &gitlab.ProtectRepositoryBranchesOptions{
		Name: new("release/*"), PushAccessLevel: new(gitlab.NoPermissions), MergeAccessLevel: new(gitlab.MaintainerPermissions), AllowForcePush: new(true),
		AllowedToPush: &[]*gitlab.BranchPermissionOptions{{UserID: &user.ID}}, CodeOwnerApprovalRequired: new(true),
	})).must(t)
	if rule.Name != "release/*" || !rule.AllowForcePush || !rule.CodeOwnerApprovalRequired || len(rule.PushAccessLevels) == 0 || len(rule.UnprotectAccessLevels) == 0 {
		t.Errorf("rule: %+v", rule)
	}
	own := slices.IndexFunc(rule.PushAccessLevels, func(l *gitlab.BranchAccessDescription) bool { return l.UserID == user.ID })
	if own < 0 || rule.PushAccessLevels[own].AccessLevelDescription != "Dora" {
		t.Fatalf("push levels: %+v", rule.PushAccessLevels)
	}
	changed := got(e.c.ProtectedBranches.UpdateProtectedBranch(e.id, "release/*", &gitlab.UpdateProtectedBranchOptions{
		AllowForcePush: new(false), CodeOwnerApprovalRequired: new(false),
		AllowedToPush:  &[]*gitlab.BranchPermissionOptions{{ID: &rule.PushAccessLevels[own].ID, Destroy: new(true)}},
		AllowedToMerge: &[]*gitlab.BranchPermissionOptions{{AccessLevel: new(gitlab.DeveloperPermissions)}},
	})).must(t)
	if changed.AllowForcePush || changed.CodeOwnerApprovalRequired || len(changed.MergeAccessLevels) != 2 ||
		slices.ContainsFunc(changed.PushAccessLevels, func(l *gitlab.BranchAccessDescription) bool { return l.UserID == user.ID }) {
		t.Errorf("changed: %+v", changed)
	}
	same(t, "rule", got(e.c.ProtectedBranches.GetProtectedBranch(e.id, "release/*")).must(t), changed)
	list := got(e.c.ProtectedBranches.ListProtectedBranches(e.id, &gitlab.ListProtectedBranchesOptions{Search: new("release")})).must(t)
	if len(list) != 1 || list[0].ID != rule.ID {
		t.Errorf("rules: %+v", list)
	}
	got(e.c.ProtectedBranches.ProtectRepositoryBranches(e.id, &gitlab.ProtectRepositoryBranchesOptions{Name: new("release/*")})).
		refused(t, http.StatusConflict, "Protected branch 'release/*' already exists")
	done(e.c.ProtectedBranches.UnprotectRepositoryBranches(e.id, "release/*")).must(t)
	got(e.c.ProtectedBranches.GetProtectedBranch(e.id, "release/*")).refused(t, 404, "")
}

func (e *every) protectedTags(t *testing.T) {
	e.calls("ProtectedTags", "ListProtectedTags", "GetProtectedTag", "ProtectRepositoryTags", "UnprotectRepositoryTags")
	rule := got(e.c.ProtectedTags.ProtectRepositoryTags(e.id, &gitlab.ProtectRepositoryTagsOptions{
		Name: new("v*"), CreateAccessLevel: new(gitlab.DeveloperPermissions),
	})).must(t)
	if rule.Name != "v*" || len(rule.CreateAccessLevels) != 1 || rule.CreateAccessLevels[0].AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("rule: %+v", rule)
	}
	same(t, "rule", got(e.c.ProtectedTags.GetProtectedTag(e.id, "v*")).must(t), rule)
	if list := got(e.c.ProtectedTags.ListProtectedTags(e.id, nil)).must(t); len(list) != 1 {
		t.Errorf("rules: %+v", list)
	}
	if tag := got(e.c.Tags.GetTag(e.id, "v1.9.0")).must(t); !tag.Protected {
		t.Errorf("tag: %+v", tag)
	}
	got(e.c.ProtectedTags.ProtectRepositoryTags(e.id, &gitlab.ProtectRepositoryTagsOptions{Name: new("v*")})).refused(t, 422, "Name has already been taken")
	done(e.c.ProtectedTags.UnprotectRepositoryTags(e.id, "v*")).must(t)
	got(e.c.ProtectedTags.GetProtectedTag(e.id, "v*")).refused(t, 404, "")
}
