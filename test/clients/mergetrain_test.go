package clients

import (
	"strconv"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// mergeTrain has two merge requests merged in order, each as the commit that another system
// fetched and judged.
func (s *story) mergeTrain(t *testing.T) {
	set := func(on bool) {
		t.Helper()
		p := got(s.ann.Projects.EditProject(s.project.ID, &gitlab.EditProjectOptions{MergePipelinesEnabled: &on, MergeTrainsEnabled: &on})).must(t)
		if p.MergeTrainsEnabled != on || p.MergePipelinesEnabled != on {
			t.Errorf("settings: got %t and %t, want %t", p.MergePipelinesEnabled, p.MergeTrainsEnabled, on)
		}
	}
	open := func(branch string) *gitlab.MergeRequest {
		t.Helper()
		got(s.ben.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
			Branch: &branch, StartBranch: new("main"), CommitMessage: new("Add " + branch),
			Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileCreate), FilePath: new(branch + ".txt"), Content: new("x")}},
		})).must(t)
		return got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
			Title: new("Take " + branch), SourceBranch: &branch, TargetBranch: new("main"),
		})).must(t)
	}
	first, second := open("engine"), open("wagon")
	add := func(m *gitlab.MergeRequest) answer[[]*gitlab.MergeTrain] {
		return got(s.ann.MergeTrains.AddMergeRequestToMergeTrain(s.project.ID, m.IID, &gitlab.AddMergeRequestToMergeTrainOptions{SHA: &m.SHA}))
	}
	add(first).refused(t, 403, "Merge trains are not enabled for this project")
	set(true)
	defer set(false)
	if cars := add(first).must(t); len(cars) != 1 || cars[0].MergeRequest.IID != first.IID || cars[0].User.Username != "ann" || cars[0].TargetBranch != "main" {
		t.Fatalf("train of one: got %+v", cars)
	}
	if cars := add(second).must(t); len(cars) != 2 || cars[0].MergeRequest.IID != first.IID || cars[1].MergeRequest.IID != second.IID {
		t.Fatalf("train of two: got %+v", cars)
	}
	var cars [2]*gitlab.MergeTrain
	for i, m := range []*gitlab.MergeRequest{first, second} {
		until(t, "coupled", func() bool {
			cars[i] = got(s.ben.MergeTrains.GetMergeRequestOnAMergeTrain(s.project.ID, m.IID)).must(t)
			return cars[i].Status == "fresh" && cars[i].Pipeline != nil
		})
	}
	dir := s.clone(t, "train")
	ref := "refs/merge-requests/" + strconv.FormatInt(second.IID, 10) + "/train"
	s.git(t, dir, "", "fetch", "-q", "origin", ref)
	if head := s.git(t, dir, "", "rev-parse", "FETCH_HEAD", "FETCH_HEAD^", "FETCH_HEAD^2"); head != cars[1].Pipeline.SHA+"\n"+cars[0].Pipeline.SHA+"\n"+second.SHA {
		t.Errorf("fetched %s, the train has %s on %s", head, cars[1].Pipeline.SHA, cars[0].Pipeline.SHA)
	}
	for _, car := range []*gitlab.MergeTrain{cars[1], cars[0]} { // as the systems are ready
		got(s.ben.Commits.SetCommitStatus(s.project.ID, car.Pipeline.SHA, &gitlab.SetCommitStatusOptions{State: gitlab.Success, Name: new("ci")})).must(t)
	}
	if done := s.merged(t, first.IID); done.MergeCommitSHA != cars[0].Pipeline.SHA || done.MergeUser.Username != "ann" {
		t.Errorf("first: got %s by %+v, want %s", done.MergeCommitSHA, done.MergeUser, cars[0].Pipeline.SHA)
	}
	if done := s.merged(t, second.IID); done.MergeCommitSHA != cars[1].Pipeline.SHA {
		t.Errorf("second: got %s, want %s", done.MergeCommitSHA, cars[1].Pipeline.SHA)
	}
	list := got(s.ben.MergeTrains.ListMergeRequestInMergeTrain(s.project.ID, "main", &gitlab.ListMergeTrainsOptions{Scope: new("complete"), Sort: new("asc")})).must(t)
	if len(list) != 2 || list[0].Status != "merged" || list[0].MergedAt == nil || list[1].MergeRequest.State != "merged" {
		t.Errorf("complete: got %+v", list)
	}
	if list := got(s.ben.MergeTrains.ListProjectMergeTrains(s.project.ID, &gitlab.ListMergeTrainsOptions{Scope: new("active")})).must(t); len(list) != 0 {
		t.Errorf("active: got %+v", list)
	}
}
