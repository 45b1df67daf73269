package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// clone returns a fresh working copy for ben.
func (s *story) clone(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(s.server.Data, name)
	s.git(t, s.server.Data, "", "clone", "-q", s.remote("ben", s.benToken), dir)
	return dir
}

// change commits and pushes a new file to a branch.
func (s *story) change(t *testing.T, dir, branch, file string) (sha string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte("content of "+file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git(t, dir, "", "add", file)
	s.git(t, dir, "", "commit", "-q", "-m", "Add "+file)
	s.git(t, dir, "", "push", "-q", "origin", "HEAD:refs/heads/"+branch)
	return s.git(t, dir, "", "rev-parse", "HEAD")
}

func (s *story) mergeRequest(t *testing.T) {
	dir := s.clone(t, "ben")
	if head := s.git(t, dir, "", "rev-parse", "HEAD"); head != s.history[0] {
		t.Fatalf("cloned: got %s, want %s", head, s.history[0])
	}
	s.git(t, dir, "", "switch", "-qc", "mend")
	head := s.change(t, dir, "mend", "mended.txt")
	m := got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Mend it"), Description: new("Closes #1"), SourceBranch: new("mend"), TargetBranch: new("main"),
		Labels: &gitlab.LabelOptions{"bug"}, AssigneeIDs: &[]int64{s.benID}, ReviewerIDs: &[]int64{s.annID}, RemoveSourceBranch: new(true),
	})).must(t)
	s.recent(t, "request's created_at", m.CreatedAt)
	user := func(u *gitlab.BasicUser, name string) {
		t.Helper()
		if u == nil || u.Username != name || u.State != "active" || u.WebURL != s.url(name) || u.AvatarURL == "" {
			t.Errorf("got %+v, want %s", u, name)
		}
	}
	user(m.Author, "ben")
	user(m.Assignee, "ben")
	if len(m.Assignees) != 1 || len(m.Reviewers) != 1 {
		t.Fatalf("request: got %d assignees, %d reviewers", len(m.Assignees), len(m.Reviewers))
	}
	user(m.Reviewers[0], "ann")
	same(t, "request", m, &gitlab.MergeRequest{
		BasicMergeRequest: gitlab.BasicMergeRequest{
			ID: m.ID, IID: 1, TargetBranch: "main", SourceBranch: "mend", ProjectID: s.project.ID, SourceProjectID: s.project.ID, TargetProjectID: s.project.ID,
			Title: "Mend it", Description: "Closes #1", State: "opened", ImportedFrom: "none", CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, PreparedAt: m.PreparedAt,
			Author: m.Author, Assignee: m.Assignee, Assignees: m.Assignees, Reviewers: m.Reviewers, Labels: gitlab.Labels{"bug"},
			DetailedMergeStatus: m.DetailedMergeStatus, SHA: head, ForceRemoveSourceBranch: true, ShouldRemoveSourceBranch: m.ShouldRemoveSourceBranch,
			WebURL: s.url("team/core/app/-/merge_requests/1"), References: &gitlab.IssueReferences{Short: "!1", Relative: "!1", Full: "team/core/app!1"},
			TimeStats: &gitlab.TimeStats{}, TaskCompletionStatus: &gitlab.TasksCompletionStatus{}, BlockingDiscussionsResolved: true,
		},
		Subscribed: true, ChangesCount: "1", User: gitlab.MergeRequestUser{CanMerge: false},
		DiffRefs: gitlab.MergeRequestDiffRefs{BaseSha: s.history[0], HeadSha: head, StartSha: s.history[0]},
	})
	s.request = m
	list := got(s.ann.MergeRequests.ListProjectMergeRequests(s.project.ID, &gitlab.ListProjectMergeRequestsOptions{State: new("opened")})).must(t)
	if len(list) != 1 || list[0].IID != 1 || list[0].SHA != head || list[0].Title != "Mend it" {
		t.Errorf("requests: got %+v", list)
	}
	got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Again"), SourceBranch: new("mend"), TargetBranch: new("main"),
	})).refused(t, 409, "Another open merge request already exists for this source branch: !1")
}

func (s *story) review(t *testing.T) {
	n := got(s.ann.Notes.CreateMergeRequestNote(s.project.ID, 1, &gitlab.CreateMergeRequestNoteOptions{Body: new("One more test, please.")})).must(t)
	if n.NoteableType != "MergeRequest" || n.NoteableIID != 1 || n.NoteableID != s.request.ID || n.Author.Username != "ann" || n.Body != "One more test, please." {
		t.Errorf("note: got %+v", n)
	}
	changed := got(s.ann.Notes.UpdateMergeRequestNote(s.project.ID, 1, n.ID, &gitlab.UpdateMergeRequestNoteOptions{Body: new("One test more, please.")})).must(t)
	if changed.Body != "One test more, please." {
		t.Errorf("changed note: got %q", changed.Body)
	}
	dir := filepath.Join(s.server.Data, "ben")
	head := s.change(t, dir, "mend", "test.txt")
	m := got(s.ann.MergeRequests.GetMergeRequest(s.project.ID, 1, nil)).must(t)
	if m.SHA != head || m.DiffRefs.HeadSha != head || m.ChangesCount != "2" || m.UserNotesCount != 1 || m.DetailedMergeStatus != "mergeable" || m.HasConflicts || !m.User.CanMerge {
		t.Errorf("after the push: got %+v", m)
	}
	commits := got(s.ann.MergeRequests.GetMergeRequestCommits(s.project.ID, 1, nil)).must(t)
	if len(commits) != 2 || commits[0].ID != head || commits[1].ID != s.request.SHA {
		t.Errorf("commits: got %+v", commits)
	}
	diffs := got(s.ann.MergeRequests.ListMergeRequestDiffs(s.project.ID, 1, nil)).must(t)
	if len(diffs) != 2 || diffs[0].NewPath != "mended.txt" || !diffs[0].NewFile || !strings.Contains(diffs[0].Diff, "+content of mended.txt") {
		t.Errorf("diffs: got %+v", diffs)
	}
	versions := got(s.ann.MergeRequests.GetMergeRequestDiffVersions(s.project.ID, 1, nil)).must(t)
	if len(versions) != 2 || versions[0].HeadCommitSHA != head || versions[1].HeadCommitSHA != s.request.SHA {
		t.Errorf("versions: got %+v", versions)
	}
	updated := got(s.ben.MergeRequests.UpdateMergeRequest(s.project.ID, 1, &gitlab.UpdateMergeRequestOptions{
		Title: new("Draft: Mend it well"), AddLabels: &gitlab.LabelOptions{"urgent"},
	})).must(t)
	if !updated.Draft || updated.Title != "Draft: Mend it well" || len(updated.Labels) != 2 {
		t.Errorf("updated: got %+v", updated)
	}
	got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, 1, nil)).refused(t, 405, "405 Method Not Allowed")
	got(s.ben.MergeRequests.UpdateMergeRequest(s.project.ID, 1, &gitlab.UpdateMergeRequestOptions{Title: new("Mend it well")})).must(t)
}

func (s *story) merge(t *testing.T) {
	got(s.ben.MergeRequests.AcceptMergeRequest(s.project.ID, 1, nil)).refused(t, 401, "401 Unauthorized")
	got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, 1, &gitlab.AcceptMergeRequestOptions{SHA: &s.history[0]})).refused(t, 409, "SHA does not match HEAD of source branch")
	m := got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, 1, &gitlab.AcceptMergeRequestOptions{})).must(t)
	s.recent(t, "merged_at", m.MergedAt)
	if m.State != "merged" || len(m.MergeCommitSHA) != 40 || m.SquashCommitSHA != "" || m.MergeUser == nil || m.MergeUser.Username != "ann" {
		t.Fatalf("merged: got %+v", m)
	}
	dir := s.clone(t, "after-merge")
	if head := s.git(t, dir, "", "rev-parse", "HEAD"); head != m.MergeCommitSHA {
		t.Errorf("main when cloned again: got %s, want %s", head, m.MergeCommitSHA)
	}
	parents := s.git(t, dir, "", "log", "-1", "--format=%P")
	if parents != s.history[0]+" "+m.SHA {
		t.Errorf("parents of the merge: got %s", parents)
	}
	message := s.git(t, dir, "", "log", "-1", "--format=%B")
	for _, part := range []string{"Merge branch 'mend' into 'main'", "Mend it well", "Closes #1", "See merge request team/core/app!1"} {
		if !strings.Contains(message, part) {
			t.Errorf("message: got %q, want %q in it", message, part)
		}
	}
	if i := got(s.ben.Issues.GetIssue(s.project.ID, 1)).must(t); i.State != "closed" {
		t.Errorf("issue 1: got %s, want closed by the merge", i.State)
	}
	got(s.ben.Branches.GetBranch(s.project.ID, "mend")).refused(t, 404, "")
	got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, 1, nil)).refused(t, 405, "405 Method Not Allowed")
	same(t, "merged request", got(s.ben.MergeRequests.GetMergeRequest(s.project.ID, 1, nil)).must(t).MergeCommitSHA, m.MergeCommitSHA)
}

func (s *story) squash(t *testing.T) {
	dir := s.clone(t, "ben-squash")
	s.git(t, dir, "", "switch", "-qc", "many")
	s.change(t, dir, "many", "one.txt")
	head := s.change(t, dir, "many", "two.txt")
	m := got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Many as one"), SourceBranch: new("many"), TargetBranch: new("main"), Squash: new(true),
	})).must(t)
	if m.IID != 2 || !m.Squash || m.SHA != head {
		t.Errorf("request: got %d %t %s", m.IID, m.Squash, m.SHA)
	}
	done := got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, 2, &gitlab.AcceptMergeRequestOptions{
		SquashCommitMessage: new("Two files at once"), MergeCommitMessage: new("Take them in"), SHA: &head,
	})).must(t)
	if done.State != "merged" || len(done.SquashCommitSHA) != 40 || len(done.MergeCommitSHA) != 40 {
		t.Fatalf("merged: got %+v", done)
	}
	again := s.clone(t, "after-squash")
	if at := s.git(t, again, "", "rev-parse", "HEAD", "HEAD^2"); at != done.MergeCommitSHA+"\n"+done.SquashCommitSHA {
		t.Errorf("main and the squash commit: got %s, want %s and %s", at, done.MergeCommitSHA, done.SquashCommitSHA)
	}
	if title := s.git(t, again, "", "log", "-1", "--format=%s %an", "HEAD^2"); title != "Two files at once Ben B\u00fcrger" && title != "Two files at once Ann Author" {
		t.Errorf("squash commit: got %q", title)
	}
	if names := s.git(t, again, "", "diff-tree", "-r", "--name-only", "--no-commit-id", "HEAD^2"); names != "one.txt\ntwo.txt" {
		t.Errorf("squash commit changes %q", names)
	}
	if _, err := os.Stat(filepath.Join(again, "two.txt")); err != nil {
		t.Error(err)
	}
}

// autoMerge has another system decide when a request is merged.
func (s *story) autoMerge(t *testing.T) {
	dir := s.clone(t, "ben-auto")
	s.git(t, dir, "", "switch", "-qc", "patient")
	s.change(t, dir, "patient", "patient.txt")
	m := got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Patience"), SourceBranch: new("patient"), TargetBranch: new("main"),
	})).must(t)
	accept := func() answer[*gitlab.MergeRequest] {
		return got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, m.IID, &gitlab.AcceptMergeRequestOptions{
			AutoMerge: new(true), MergeCommitMessage: new("It waited"), ShouldRemoveSourceBranch: new(true),
		}))
	}
	accept().refused(t, 405, "no pipeline is running")
	report := func(sha string, state gitlab.BuildStateValue) {
		t.Helper()
		got(s.ben.Commits.SetCommitStatus(s.project.ID, sha, &gitlab.SetCommitStatusOptions{State: state, Ref: new("patient"), Name: new("ci")})).must(t)
	}
	waits := func(m *gitlab.MergeRequest) {
		t.Helper()
		if m.State != "opened" || !m.MergeWhenPipelineSucceeds || m.MergeUser == nil || m.MergeUser.Username != "ann" || m.DetailedMergeStatus != "ci_still_running" {
			t.Fatalf("set to merge: got %+v", m)
		}
	}
	report(m.SHA, gitlab.Running)
	waits(accept().must(t))
	canceled := got(s.ann.MergeRequests.CancelMergeWhenPipelineSucceeds(s.project.ID, m.IID)).must(t)
	if canceled.MergeWhenPipelineSucceeds || canceled.MergeUser != nil {
		t.Errorf("canceled: got %+v", canceled)
	}
	got(s.ann.MergeRequests.CancelMergeWhenPipelineSucceeds(s.project.ID, m.IID)).refused(t, 406, "Can't cancel the automatic merge")
	waits(accept().must(t))
	report(m.SHA, gitlab.Success)
	done := s.merged(t, m.IID)
	if done.MergeUser == nil || done.MergeUser.Username != "ann" || done.MergeWhenPipelineSucceeds {
		t.Errorf("merged by itself: got %+v", done)
	}
	if message := got(s.ann.Commits.GetCommit(s.project.ID, done.MergeCommitSHA, nil)).must(t).Message; message != "It waited" {
		t.Errorf("message: got %q", message)
	}
	got(s.ben.Branches.GetBranch(s.project.ID, "patient")).refused(t, 404, "")
}

// merged waits until a request is merged.
func (s *story) merged(t *testing.T, iid int64) (m *gitlab.MergeRequest) {
	t.Helper()
	until(t, "merged", func() bool {
		m = got(s.ben.MergeRequests.GetMergeRequest(s.project.ID, iid, nil)).must(t)
		return m.State == "merged"
	})
	return m
}

// rebase lets a branch catch up with main, as a project wants it that takes no merge commits.
func (s *story) rebase(t *testing.T) {
	dir := s.clone(t, "ben-rebase")
	s.git(t, dir, "", "switch", "-qc", "late")
	s.change(t, dir, "late", "late.txt")
	m := got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("A late one"), SourceBranch: new("late"), TargetBranch: new("main"),
	})).must(t)
	onto := got(s.ann.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
		Branch: new("main"), CommitMessage: new("Meanwhile"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("meanwhile.txt"), Content: new("x")},
		},
	})).must(t)
	if _, err := s.ben.MergeRequests.RebaseMergeRequest(s.project.ID, m.IID, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "rebased", func() bool {
		m = got(s.ben.MergeRequests.GetMergeRequest(s.project.ID, m.IID, &gitlab.GetMergeRequestsOptions{IncludeRebaseInProgress: new(true)})).must(t)
		return !m.RebaseInProgress
	})
	if m.MergeError != "" {
		t.Fatalf("rebase: %q", m.MergeError)
	}
	s.git(t, dir, "", "fetch", "-q", "origin", "late")
	if below := s.git(t, dir, "", "rev-parse", "FETCH_HEAD^"); below != onto.ID {
		t.Errorf("the branch stands on %s, not on %s", below, onto.ID)
	}
	if title := s.git(t, dir, "", "log", "-1", "--format=%s", "FETCH_HEAD"); title != "Add late.txt" {
		t.Errorf("its commit is %q", title)
	}
	got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, m.IID, nil)).must(t)
}
