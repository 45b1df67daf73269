package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// forks sends a change back from a fork and ends the relation.
func (s *story) forks(t *testing.T) {
	fork := got(s.ben.Projects.ForkProject(s.project.ID, &gitlab.ForkProjectOptions{
		Name: new("My App"), Path: new("my-app"), Description: new("Mine"), MergeRequestDefaultTargetSelf: new(true),
	})).must(t)
	if fork.PathWithNamespace != "ben/my-app" || fork.ForkedFromProject == nil || fork.ForkedFromProject.ID != s.project.ID ||
		fork.ForkedFromProject.PathWithNamespace != "team/core/app" || !fork.MergeRequestDefaultTargetSelf {
		t.Errorf("fork: got %+v", fork)
	}
	until(t, "filled", func() bool {
		if fork = got(s.ben.Projects.GetProject(fork.ID, nil)).must(t); fork.ImportStatus == "failed" {
			t.Fatalf("fork: %s", fork.ImportError)
		}
		return fork.ImportStatus == "finished"
	})
	if fork.DefaultBranch != "main" || fork.EmptyRepo {
		t.Errorf("filled fork: default branch %q, empty %v", fork.DefaultBranch, fork.EmptyRepo)
	}
	got(s.ben.Projects.ForkProject(s.project.ID, &gitlab.ForkProjectOptions{Name: new("My App"), Path: new("my-app")})).
		refused(t, 409, "Path has already been taken")
	if list := got(s.ben.Projects.ListProjectForks(s.project.ID, nil)).must(t); len(list) != 1 || list[0].ID != fork.ID {
		t.Errorf("forks: got %+v", list)
	}
	if parent := got(s.ben.Projects.GetProject(s.project.ID, nil)).must(t); parent.ForksCount != 1 {
		t.Errorf("forks_count: got %d", parent.ForksCount)
	}

	commit := got(s.ben.Commits.CreateCommit(fork.ID, &gitlab.CreateCommitOptions{
		Branch: new("gift"), StartBranch: new("main"), CommitMessage: new("Give"),
		Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileCreate), FilePath: new("gift.txt"), Content: new("a gift\n")}},
	})).must(t)
	got(s.ann.Commits.GetCommit(s.project.ID, commit.ID, nil)).refused(t, 404, "Commit Not Found")
	compared := got(s.ben.Repositories.Compare(s.project.ID, &gitlab.CompareOptions{From: new("gift"), To: new("main"), FromProjectID: &fork.ID})).must(t)
	if len(compared.Commits) != 0 || compared.CompareTimeout {
		t.Errorf("main has what the fork's branch lacks: %+v", compared.Commits)
	}
	m := got(s.ben.MergeRequests.CreateMergeRequest(fork.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("A gift"), SourceBranch: new("gift"), TargetBranch: new("main"), TargetProjectID: &s.project.ID,
	})).must(t)
	if m.ProjectID != s.project.ID || m.SourceProjectID != fork.ID || m.TargetProjectID != s.project.ID || m.SHA != commit.ID || m.ChangesCount != "1" {
		t.Errorf("request: got %+v", m)
	}
	merged := got(s.ann.MergeRequests.AcceptMergeRequest(s.project.ID, m.IID, &gitlab.AcceptMergeRequestOptions{ShouldRemoveSourceBranch: new(true)})).must(t)
	if merged.State != "merged" {
		t.Errorf("merged: got %+v", merged)
	}
	got(s.ann.Commits.GetCommit(s.project.ID, commit.ID, nil)).must(t)

	done(s.ben.Projects.DeleteProjectForkRelation(fork.ID)).must(t)
	if alone := got(s.ben.Projects.GetProject(fork.ID, nil)).must(t); alone.ForkedFromProject != nil {
		t.Errorf("after it left: forked from %+v", alone.ForkedFromProject)
	}
	if back := got(s.root.Projects.CreateProjectForkRelation(fork.ID, s.project.ID)).must(t); back.ForkedToProjectID != 0 && back.ForkedToProjectID != fork.ID {
		t.Errorf("relation: got %+v", back)
	}
	done(s.root.Projects.DeleteProject(fork.ID, nil)).must(t)
}
