package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// aboutCommits comments on a commit and its lines, reports its checks as another system
// would, and reads both back.
func (s *story) aboutCommits(t *testing.T) {
	sha := s.history[0]
	whole := got(s.ben.Commits.PostCommitComment(s.project.ID, sha, &gitlab.PostCommitCommentOptions{Note: new("Well done")})).must(t)
	if whole.Note != "Well done" || whole.Path != "" || whole.Author.ID != s.benID {
		t.Errorf("comment: got %+v", whole)
	}
	comments := got(s.ann.Commits.GetCommitComments(s.project.ID, sha, nil)).must(t)
	if len(comments) != 1 || comments[0].Note != "Well done" {
		t.Errorf("comments: got %+v", comments)
	}
	report := func(state gitlab.BuildStateValue) answer[*gitlab.CommitStatus] {
		return got(s.ann.Commits.SetCommitStatus(s.project.ID, sha, &gitlab.SetCommitStatusOptions{
			State: state, Name: new("lint"), Ref: new("main"), TargetURL: new("https://ci.example.com/1"), Coverage: new(80.5),
		}))
	}
	if pending := report(gitlab.Pending).must(t); pending.Status != "pending" || pending.Ref != "main" || pending.Coverage != 80.5 || pending.Author.ID != s.annID {
		t.Errorf("status: got %+v", pending)
	}
	report(gitlab.Pending).refused(t, 400, "Cannot transition status via :enqueue from :pending")
	passed := report(gitlab.Success).must(t)
	list := got(s.ann.Commits.GetCommitStatuses(s.project.ID, sha, &gitlab.GetCommitStatusesOptions{})).must(t)
	if len(list) != 1 || list[0].ID != passed.ID || list[0].FinishedAt == nil {
		t.Errorf("statuses: got %+v", list)
	}
	commit := got(s.ann.Commits.GetCommit(s.project.ID, sha, nil)).must(t)
	if commit.LastPipeline == nil || commit.LastPipeline.ID != passed.PipelineID || commit.Status == nil || *commit.Status != gitlab.Success {
		t.Errorf("commit: got %+v", commit)
	}
}

// pushRules gives the project and the group rules and takes them away again.
func (s *story) pushRules(t *testing.T) {
	if none := got(s.root.Projects.GetProjectPushRules(s.project.ID)).must(t); none != nil && none.ID != 0 {
		t.Errorf("without a rule: got %+v", none)
	}
	rule := got(s.root.Projects.AddProjectPushRule(s.project.ID, &gitlab.AddProjectPushRuleOptions{
		CommitMessageNegativeRegex: new("(?i)do not push"), MaxFileSize: new(int64(50)),
	})).must(t)
	if rule.ProjectID != s.project.ID || rule.MaxFileSize != 50 || rule.CommitMessageNegativeRegex != "(?i)do not push" {
		t.Errorf("rule: got %+v", rule)
	}
	got(s.root.Projects.AddProjectPushRule(s.project.ID, &gitlab.AddProjectPushRuleOptions{})).refused(t, 422, "Project push rule exists")
	changed := got(s.root.Projects.EditProjectPushRule(s.project.ID, &gitlab.EditProjectPushRuleOptions{PreventSecrets: new(true)})).must(t)
	if !changed.PreventSecrets || changed.MaxFileSize != 50 {
		t.Errorf("changed rule: got %+v", changed)
	}
	same(t, "rule", got(s.root.Projects.GetProjectPushRules(s.project.ID)).must(t), changed)
	got(s.ann.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
		Branch: new("forbidden"), StartBranch: new("main"), CommitMessage: new("Do not push this"),
		Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileCreate), FilePath: new("x"), Content: new("x")}},
	})).refused(t, 400, "Commit message contains the forbidden pattern")
	done(s.root.Projects.DeleteProjectPushRule(s.project.ID)).must(t)

	got(s.root.Groups.GetGroupPushRules(s.group.ID)).refused(t, 404, "")
	made := got(s.root.Groups.AddGroupPushRule(s.group.ID, &gitlab.AddGroupPushRuleOptions{DenyDeleteTag: new(true)})).must(t)
	same(t, "rule of the group", got(s.root.Groups.GetGroupPushRules(s.group.ID)).must(t), made)
	done(s.root.Groups.DeleteGroupPushRule(s.group.ID)).must(t)
}
