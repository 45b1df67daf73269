package clients

import (
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func (s *story) labels(t *testing.T) {
	bug := got(s.ann.Labels.CreateLabel(s.project.ID, &gitlab.CreateLabelOptions{Name: new("bug"), Color: new("#ff0000"), Description: new("Broken")})).must(t)
	same(t, "label", bug, &gitlab.Label{ID: bug.ID, Name: "bug", Color: "#ff0000", TextColor: bug.TextColor, Description: "Broken", Priority: bug.Priority, IsProjectLabel: true})
	got(s.ann.GroupLabels.CreateGroupLabel("team", &gitlab.CreateGroupLabelOptions{Name: new("urgent"), Color: new("#00ff00")})).must(t)
	list := got(s.ben.Labels.ListLabels(s.project.ID, &gitlab.ListLabelsOptions{})).must(t)
	names := map[string]bool{}
	for _, l := range list {
		names[l.Name] = l.IsProjectLabel
	}
	same(t, "labels", names, map[string]bool{"bug": true, "urgent": false})
	got(s.ann.Labels.CreateLabel(s.project.ID, &gitlab.CreateLabelOptions{Name: new("bug"), Color: new("#ff0000")})).refused(t, 409, "Label already exists")
	changed := got(s.ann.Labels.UpdateLabel(s.project.ID, "bug", &gitlab.UpdateLabelOptions{Description: new("Does not work")})).must(t)
	if changed.Description != "Does not work" || changed.ID != bug.ID {
		t.Errorf("changed label: got %+v", changed)
	}
}

func (s *story) issues(t *testing.T) {
	due := gitlab.ISOTime(time.Date(2030, 5, 17, 0, 0, 0, 0, time.UTC))
	i := got(s.ben.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{
		Title: new("It breaks"), Description: new("- [x] see\n- [ ] mend"), AssigneeIDs: &[]int64{s.annID}, DueDate: &due, Weight: new(int64(3)),
		Labels: &gitlab.LabelOptions{"bug", "urgent"},
	})).must(t)
	s.recent(t, "issue's created_at", i.CreatedAt)
	api, web := s.url("api/v4/projects/1"), s.url("team/core/app/-/issues/1")
	ben := got(s.root.Users.GetUser(s.benID, nil)).must(t)
	ann := got(s.root.Users.GetUser(s.annID, nil)).must(t)
	assignee := &gitlab.IssueAssignee{ID: s.annID, State: "active", WebURL: s.url("ann"), Name: "Ann Author", AvatarURL: ann.AvatarURL, Username: "ann"}
	want := &gitlab.Issue{
		ID: i.ID, IID: 1, State: "opened", Title: "It breaks", Description: "- [x] see\n- [ ] mend", ProjectID: s.project.ID,
		Author:    &gitlab.IssueAuthor{ID: s.benID, State: "active", WebURL: s.url("ben"), Name: "Ben B\u00fcrger", AvatarURL: ben.AvatarURL, Username: "ben"},
		Assignees: []*gitlab.IssueAssignee{assignee}, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
		Labels: gitlab.Labels{"bug", "urgent"}, DueDate: &due, WebURL: web, Weight: 3, IssueType: new("issue"), Subscribed: true,
		References: &gitlab.IssueReferences{Short: "#1", Relative: "#1", Full: "team/core/app#1"}, TimeStats: &gitlab.TimeStats{},
		Links:                &gitlab.IssueLinks{Self: api + "/issues/1", Notes: api + "/issues/1/notes", AwardEmoji: api + "/issues/1/award_emoji", Project: api},
		TaskCompletionStatus: &gitlab.TasksCompletionStatus{Count: 2, CompletedCount: 1},
		ServiceDeskReplyTo:   i.ServiceDeskReplyTo,
	}
	want.Assignee = assignee //nolint:staticcheck // deprecated, and still promised
	same(t, "created issue", i, want)
	read := got(s.ben.Issues.GetIssue(s.project.ID, 1)).must(t)
	want.UpdatedAt = read.UpdatedAt
	same(t, "issue", read, want)

	changed := got(s.ann.Issues.UpdateIssue(s.project.ID, 1, &gitlab.UpdateIssueOptions{
		Title: new("It breaks often"), RemoveLabels: &gitlab.LabelOptions{"urgent"}, StateEvent: new("close"), AssigneeIDs: &[]int64{0},
	})).must(t)
	s.recent(t, "closed_at", changed.ClosedAt)
	if changed.Title != "It breaks often" || changed.State != "closed" || len(changed.Assignees) != 0 || changed.ClosedBy == nil || changed.ClosedBy.Username != "ann" {
		t.Errorf("changed issue: got %+v", changed)
	}
	same(t, "labels", changed.Labels, []string{"bug"})
	again := got(s.ann.Issues.UpdateIssue(s.project.ID, 1, &gitlab.UpdateIssueOptions{StateEvent: new("reopen")})).must(t)
	if again.State != "opened" || again.ClosedAt != nil || again.ClosedBy != nil {
		t.Errorf("reopened issue: got %s %v %v", again.State, again.ClosedAt, again.ClosedBy)
	}
	s.issue = again
	secret := got(s.ann.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("Quiet"), Confidential: new(true)})).must(t)
	if !secret.Confidential || secret.IID != 2 {
		t.Errorf("confidential issue: got %d %t", secret.IID, secret.Confidential)
	}
	for _, tt := range []struct {
		name    string
		options *gitlab.ListProjectIssuesOptions
		want    []int64
	}{
		{"all", &gitlab.ListProjectIssuesOptions{}, []int64{2, 1}},
		{"label", &gitlab.ListProjectIssuesOptions{Labels: &gitlab.LabelOptions{"bug"}}, []int64{1}},
		{"author", &gitlab.ListProjectIssuesOptions{AuthorUsername: new("ann")}, []int64{2}},
		{"search", &gitlab.ListProjectIssuesOptions{Search: new("OFTEN")}, []int64{1}},
		{"closed", &gitlab.ListProjectIssuesOptions{State: new("closed")}, nil},
		{"numbers", &gitlab.ListProjectIssuesOptions{IIDs: &[]int64{1, 2}, Sort: new("asc")}, []int64{1, 2}},
	} {
		var iids []int64
		for _, i := range got(s.ann.Issues.ListProjectIssues(s.project.ID, tt.options)).must(t) {
			iids = append(iids, i.IID)
		}
		same(t, "issues by "+tt.name, iids, tt.want)
	}
}

func (s *story) notes(t *testing.T) {
	n := got(s.ann.Notes.CreateIssueNote(s.project.ID, 1, &gitlab.CreateIssueNoteOptions{Body: new("I see **it** too.")})).must(t)
	s.recent(t, "note's created_at", n.CreatedAt)
	ann := got(s.root.Users.GetUser(s.annID, nil)).must(t)
	want := &gitlab.Note{
		ID: n.ID, Body: "I see **it** too.", CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, NoteableID: s.issue.ID, NoteableType: "Issue",
		NoteableIID: 1, ProjectID: s.project.ID,
		Author: gitlab.NoteAuthor{ID: s.annID, Username: "ann", Name: "Ann Author", State: "active", AvatarURL: ann.AvatarURL, WebURL: s.url("ann")},
	}
	same(t, "note", n, want)
	same(t, "note read", got(s.ben.Notes.GetIssueNote(s.project.ID, 1, n.ID)).must(t), want)
	got(s.ben.Notes.UpdateIssueNote(s.project.ID, 1, n.ID, &gitlab.UpdateIssueNoteOptions{Body: new("mine")})).refused(t, 403, "")
	changed := got(s.ann.Notes.UpdateIssueNote(s.project.ID, 1, n.ID, &gitlab.UpdateIssueNoteOptions{Body: new("I see it.")})).must(t)
	if changed.Body != "I see it." || changed.ID != n.ID {
		t.Errorf("changed note: got %+v", changed)
	}
	second := got(s.ben.Notes.CreateIssueNote(s.project.ID, 1, &gitlab.CreateIssueNoteOptions{Body: new("Gone soon")})).must(t)
	if i := got(s.ben.Issues.GetIssue(s.project.ID, 1)).must(t); i.UserNotesCount != 2 {
		t.Errorf("notes counted: got %d, want 2", i.UserNotesCount)
	}
	done(s.ben.Notes.DeleteIssueNote(s.project.ID, 1, second.ID)).must(t)
	got(s.ben.Notes.GetIssueNote(s.project.ID, 1, second.ID)).refused(t, 404, "")
	var bodies []string
	for _, n := range got(s.ben.Notes.ListIssueNotes(s.project.ID, 1, &gitlab.ListIssueNotesOptions{})).must(t) {
		if !n.System {
			bodies = append(bodies, n.Body)
		}
	}
	same(t, "notes", bodies, []string{"I see it."})
	got(s.ben.Notes.CreateIssueNote(s.project.ID, 1, &gitlab.CreateIssueNoteOptions{})).refused(t, 400, "body is missing")
}
