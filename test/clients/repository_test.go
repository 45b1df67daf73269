package clients

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// commits is how long the history is that ann pushes.
const commits = 3000

// history is a stream for git fast-import: every commit changes one of many files, so
// that the repository has folders, sizes and dates like those of people.
func history() string {
	var b bytes.Buffer
	for n := 1; n <= commits; n++ {
		message := fmt.Sprintf("Change %d\n\nWhy number %d was needed.\n", n, n)
		content := fmt.Sprintf("package p%d\n\n// Line of commit %d.\n", n%50, n)
		fmt.Fprintf(&b, "commit refs/heads/main\nauthor Ann Author <ann@example.com> %d +0100\ncommitter Ann Author <ann@example.com> %d +0000\ndata %d\n%s",
			1_700_000_000+n*60, 1_700_000_000+n*60, len(message), message)
		if n == 1 {
			const readme = "# The App\n\nRead me.\n"
			fmt.Fprintf(&b, "M 100644 inline README.md\ndata %d\n%s\n", len(readme), readme)
			fmt.Fprintf(&b, "M 100755 inline bin/run\ndata 10\n#!/bin/sh\n\n")
		}
		fmt.Fprintf(&b, "M 100644 inline src/p%d/f%d.go\ndata %d\n%s\n", n%50, n%300, len(content), content)
	}
	return b.String()
}

func (s *story) push(t *testing.T) {
	dir := s.server.Data + "/ann"
	s.git(t, s.server.Data, "", "init", "-q", "-b", "main", dir)
	s.copy = dir
	s.git(t, dir, history(), "fast-import", "--quiet")
	s.git(t, dir, "", "checkout", "-qf", "main")
	s.history = strings.Fields(s.git(t, dir, "", "rev-list", "main"))
	if len(s.history) != commits {
		t.Fatalf("history: got %d commits, want %d", len(s.history), commits)
	}
	s.git(t, dir, "", "remote", "add", "origin", s.remote("ann", s.annToken))
	s.git(t, dir, "", "push", "-q", "origin", "main")

	p := got(s.ann.Projects.GetProject(s.project.ID, nil)).must(t)
	if p.DefaultBranch != "main" || p.EmptyRepo {
		t.Errorf("after the push: got default branch %q, empty %t", p.DefaultBranch, p.EmptyRepo)
	}
	s.project = p
	there := s.git(t, s.server.Data, "", "ls-remote", s.remote("ben", s.benToken), "refs/heads/main")
	if !strings.HasPrefix(there, s.history[0]) {
		t.Errorf("main: got %s, want %s", there, s.history[0])
	}
}

func (s *story) tree(t *testing.T) {
	top := got(s.ben.Repositories.ListTree(s.project.ID, &gitlab.ListTreeOptions{})).must(t)
	var names []string
	for _, n := range top {
		names = append(names, n.Type+" "+n.Mode+" "+n.Path)
	}
	same(t, "tree", names, []string{"tree 040000 bin", "tree 040000 src", "blob 100644 README.md"})

	var want []string
	for line := range strings.Lines(s.git(t, s.copy, "", "ls-tree", "-r", "-t", "main")) {
		meta, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want = append(want, meta+" "+path)
	}
	slices.Sort(want)
	offset := &gitlab.ListTreeOptions{Recursive: new(true), Ref: new("main"), ListOptions: gitlab.ListOptions{PerPage: 100}}
	keyset := &gitlab.ListTreeOptions{Recursive: new(true), Ref: new("main"), ListOptions: gitlab.ListOptions{PerPage: 100, Pagination: "keyset"}}
	for name, options := range map[string]*gitlab.ListTreeOptions{"pages": offset, "keyset": keyset} {
		it, failed := gitlab.Scan(func(p gitlab.PaginationOptionFunc) ([]*gitlab.TreeNode, *gitlab.Response, error) {
			return s.ben.Repositories.ListTree(s.project.ID, options, p)
		})
		var nodes []string
		for n := range it {
			nodes = append(nodes, fmt.Sprintf("%s %s %s %s", n.Mode, n.Type, n.ID, n.Path))
		}
		if err := failed(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(nodes)
		same(t, "whole tree by "+name, nodes, want)
	}
	inside := got(s.ben.Repositories.ListTree(s.project.ID, &gitlab.ListTreeOptions{Path: new("bin")})).must(t)
	if len(inside) != 1 || inside[0].Path != "bin/run" || inside[0].Mode != "100755" || inside[0].Name != "run" {
		t.Errorf("bin: got %+v", inside)
	}
	got(s.ben.Repositories.ListTree(s.project.ID, &gitlab.ListTreeOptions{Ref: new("nowhere")})).refused(t, 404, "")
}

func (s *story) files(t *testing.T) {
	const text = "# The App\n\nRead me.\n"
	blob := s.git(t, s.copy, "", "rev-parse", "main:README.md")
	f := got(s.ben.RepositoryFiles.GetFile(s.project.ID, "README.md", &gitlab.GetFileOptions{Ref: new("main")})).must(t)
	want := &gitlab.File{
		FileName: "README.md", FilePath: "README.md", Size: int64(len(text)), Encoding: "base64",
		Content: base64.StdEncoding.EncodeToString([]byte(text)), Ref: "main", BlobID: blob,
		CommitID: s.history[0], LastCommitID: s.history[commits-1], SHA256: f.SHA256,
	}
	same(t, "file", f, want)
	if len(f.SHA256) != 64 {
		t.Errorf("content_sha256: got %q", f.SHA256)
	}
	meta := got(s.ben.RepositoryFiles.GetFileMetaData(s.project.ID, "README.md", &gitlab.GetFileMetaDataOptions{Ref: new("main")})).must(t)
	want.Content = ""
	same(t, "head of a file", meta, want)
	run := got(s.ben.RepositoryFiles.GetFile(s.project.ID, "bin/run", &gitlab.GetFileOptions{Ref: new(s.history[0])})).must(t)
	if !run.ExecuteFilemode || run.FileName != "run" || run.FilePath != "bin/run" {
		t.Errorf("bin/run: got %+v", run)
	}
	raw := got(s.ben.RepositoryFiles.GetRawFile(s.project.ID, "README.md", &gitlab.GetRawFileOptions{Ref: new("main")})).must(t)
	if string(raw) != text {
		t.Errorf("raw: got %q", raw)
	}
	content := got(s.ben.Repositories.RawBlobContent(s.project.ID, blob)).must(t)
	if string(content) != text {
		t.Errorf("raw blob: got %q", content)
	}
	described := string(got(s.ben.Repositories.Blob(s.project.ID, blob)).must(t))
	if !strings.Contains(described, want.SHA256) && !strings.Contains(described, blob) {
		t.Errorf("blob: got %s", described)
	}
	got(s.ben.RepositoryFiles.GetFile(s.project.ID, "missing", &gitlab.GetFileOptions{Ref: new("main")})).refused(t, 404, "")
}

func (s *story) commits(t *testing.T) {
	page := got(s.ben.Commits.ListCommits(s.project.ID, &gitlab.ListCommitsOptions{ListOptions: gitlab.ListOptions{PerPage: 5, Page: 2}})).must(t)
	var ids []string
	for _, c := range page {
		ids = append(ids, c.ID)
	}
	same(t, "second page of commits", ids, s.history[5:10])
	sha := s.history[10]
	n := commits - 10
	c := got(s.ben.Commits.GetCommit(s.project.ID, sha, nil)).must(t)
	same(t, "commit", c, &gitlab.Commit{
		ID: sha, ShortID: sha[:8], Title: fmt.Sprintf("Change %d", n), Message: fmt.Sprintf("Change %d\n\nWhy number %d was needed.\n", n, n),
		AuthorName: "Ann Author", AuthorEmail: "ann@example.com", CommitterName: "Ann Author", CommitterEmail: "ann@example.com",
		AuthoredDate: c.AuthoredDate, CommittedDate: c.CommittedDate, CreatedAt: c.CommittedDate, ParentIDs: []string{s.history[11]},
		Stats: c.Stats, ProjectID: s.project.ID, Trailers: map[string]string{}, ExtendedTrailers: c.ExtendedTrailers,
		WebURL: s.url("team/core/app/-/commit/" + sha),
	})
	if c.AuthoredDate.Unix() != int64(1_700_000_000+n*60) || c.CommittedDate.Unix() != c.AuthoredDate.Unix() {
		t.Errorf("dates: got %v and %v", c.AuthoredDate, c.CommittedDate)
	}
	if _, offset := c.AuthoredDate.Zone(); offset != 3600 {
		t.Errorf("the author's time zone: got %d s, want an hour", offset)
	}
	if c.Stats == nil || c.Stats.Additions != 1 || c.Stats.Deletions != 1 || c.Stats.Total != 2 {
		t.Errorf("stats: got %+v", c.Stats)
	}
	diff := got(s.ben.Commits.GetCommitDiff(s.project.ID, sha, nil)).must(t)
	path := fmt.Sprintf("src/p%d/f%d.go", n%50, n%300)
	if len(diff) != 1 || diff[0].NewPath != path || diff[0].OldPath != path || diff[0].NewFile || !strings.Contains(diff[0].Diff, fmt.Sprintf("+// Line of commit %d.", n)) {
		t.Errorf("diff: got %+v", diff)
	}
	ofFile := got(s.ben.Commits.ListCommits(s.project.ID, &gitlab.ListCommitsOptions{Path: new("README.md")})).must(t)
	if len(ofFile) != 1 || ofFile[0].ID != s.history[commits-1] {
		t.Errorf("commits of README.md: got %+v", ofFile)
	}
	got(s.ben.Commits.GetCommit(s.project.ID, strings.Repeat("1", 40), nil)).refused(t, 404, "")

	made := got(s.ben.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
		Branch: new("actions"), StartBranch: new("main"), CommitMessage: new("Do several things"), AuthorName: new("Somebody"), AuthorEmail: new("some@example.com"),
		Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("new/file"), Content: new("aGVsbG8K"), Encoding: new("base64")},
			{Action: new(gitlab.FileUpdate), FilePath: new("README.md"), Content: new("# Other\n")},
			{Action: new(gitlab.FileMove), FilePath: new("bin/go"), PreviousPath: new("bin/run")},
			{Action: new(gitlab.FileDelete), FilePath: new("src/p1/f1.go")},
		},
	})).must(t)
	if made.Title != "Do several things" || made.AuthorName != "Somebody" || made.CommitterName != "Ben B\u00fcrger" || !slices.Equal(made.ParentIDs, s.history[:1]) {
		t.Errorf("made: got %+v", made)
	}
	s.git(t, s.copy, "", "fetch", "-q", "origin", "actions")
	names := s.git(t, s.copy, "", "diff-tree", "-r", "-M", "--name-status", s.history[0], made.ID)
	same(t, "what the commit changed", strings.Fields(names), strings.Fields("M README.md R100 bin/run bin/go A new/file D src/p1/f1.go"))
	got(s.ben.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
		Branch: new("main"), CommitMessage: new("Not allowed"), Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileDelete), FilePath: new("README.md")}},
	})).refused(t, 403, "")
}

func (s *story) compare(t *testing.T) {
	from, to := s.history[3], s.history[0]
	c := got(s.ben.Repositories.Compare(s.project.ID, &gitlab.CompareOptions{From: &from, To: &to})).must(t)
	if len(c.Commits) != 3 || c.Commits[2].ID != to || c.Commit == nil || c.Commit.ID != to || len(c.Diffs) != 3 || c.CompareSameRef || c.CompareTimeout {
		t.Errorf("compare: got %d commits, %d diffs, %+v", len(c.Commits), len(c.Diffs), c)
	}
	if c.WebURL != s.url("team/core/app/-/compare/"+from+"..."+to) {
		t.Errorf("compare: got %s", c.WebURL)
	}
	equal := got(s.ben.Repositories.Compare(s.project.ID, &gitlab.CompareOptions{From: new("main"), To: new("main")})).must(t)
	if !equal.CompareSameRef || len(equal.Commits) != 0 || len(equal.Diffs) != 0 {
		t.Errorf("compare with itself: got %+v", equal)
	}
	base := got(s.ben.Repositories.MergeBase(s.project.ID, &gitlab.MergeBaseOptions{Ref: &[]string{"main", "actions"}})).must(t)
	if base.ID != s.history[0] {
		t.Errorf("merge base: got %s, want %s", base.ID, s.history[0])
	}
	got(s.ben.Repositories.Compare(s.project.ID, &gitlab.CompareOptions{From: new("main"), To: new("nowhere")})).refused(t, 404, "")
}
