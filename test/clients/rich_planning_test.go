package clients

import (
	"maps"
	"net/http"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// firstOf is the number of the first thing of a list.
func firstOf(t *testing.T, c *gitlab.Client, path string) int64 {
	t.Helper()
	list, _ := raw[[]fields](t, c, http.MethodGet, path, nil)
	if len(list) == 0 {
		t.Fatalf("%s is empty", path)
	}
	id, _ := list[0]["id"].(float64)
	return int64(id)
}

// talk adds a thread to a thing and reactions to both, where it has a path for its reactions, and
// gives their ids.
func (r *rich) talk(t *testing.T, path, reactions string) (note, award, onNote int64, discussion string) {
	t.Helper()
	made, _ := raw[fields](t, r.ann, http.MethodPost, path+"/discussions", fields{"body": "A *thread*"})
	discussion, _ = made["id"].(string)
	notes, _ := made["notes"].([]any)
	if len(notes) != 1 {
		t.Fatalf("%s: got the discussion %v", path, made)
	}
	id, _ := notes[0].(fields)["id"].(float64)
	note = int64(id)
	if reactions != "" {
		award = post(t, r.ann, reactions+"/award_emoji", fields{"name": "tada"})
		onNote = post(t, r.ann, path+"/notes/"+number(note)+"/award_emoji", fields{"name": "tada"})
	}
	return note, award, onNote, discussion
}

// planning makes milestones, boards, epics, links, wikis and snippets, and
// talks about them.
func (r *rich) planning(t *testing.T) {
	group, project := "groups/"+number(r.group.ID), "projects/"+number(r.project.ID)
	issue, request := project+"/issues/1", project+"/merge_requests/"+number(r.values["mergeRequest"].(int64))
	milestone := fields{"title": "One", "description": "The *first*", "start_date": "2026-01-01", "due_date": "2026-02-01"}
	inProject := post(t, r.root, project+"/milestones", milestone)
	milestone["title"] = "All"
	inGroup := post(t, r.root, group+"/milestones", milestone)
	for _, at := range []string{issue, request} {
		raw[fields](t, r.root, http.MethodPut, at, fields{"milestone_id": inProject, "add_labels": "urgent"})
		raw[fields](t, r.root, http.MethodPut, at, fields{"state_event": "close"})
		raw[fields](t, r.root, http.MethodPut, at, fields{"state_event": "reopen"})
	}
	raw[fields](t, r.root, http.MethodPut, issue, fields{"weight": 3})
	for _, place := range []string{group, project} {
		raw[fields](t, r.root, http.MethodPost, place+"/wikis", fields{"title": "home", "content": "Welcome"})
	}
	file := []fields{{"file_path": "a.md", "content": "# A"}}
	snippet := post(t, r.ann, project+"/snippets", fields{"title": "Ours", "visibility": "public", "files": file})
	own := post(t, r.root, "snippets", fields{"title": "Mine", "visibility": "public", "files": file})
	board := post(t, r.root, project+"/boards", fields{"name": "Plan"})
	list := post(t, r.root, project+"/boards/"+number(board)+"/lists", fields{"label_id": r.values["project label"]})
	groupBoard := post(t, r.root, group+"/boards", fields{"name": "Plan"})
	groupList := post(t, r.root, group+"/boards/"+number(groupBoard)+"/lists", fields{"label_id": r.values["group label"]})
	epic := post(t, r.ann, group+"/epics", fields{"title": "Grow", "description": "*More*", "labels": "urgent"})
	atEpic := group + "/epics/1"
	post(t, r.ann, atEpic+"/issues/"+number(r.values["Issues.GetIssueByID.issue"].(int64)), nil)
	raw[fields](t, r.ann, http.MethodPost, atEpic+"/epics", fields{"title": "Child"})
	raw[fields](t, r.ann, http.MethodPost, issue+"/links", fields{"target_project_id": r.project.ID, "target_issue_iid": 2})
	links, _ := raw[[]fields](t, r.ann, http.MethodGet, issue+"/links", nil)
	link, _ := links[0]["issue_link_id"].(float64)

	_, onIssue, _, issueThread := r.talk(t, issue, issue)
	requestNote, onRequest, onRequestNote, requestThread := r.talk(t, request, request)
	snippetNote, onSnippet, onSnippetNote, snippetThread := r.talk(t, project+"/snippets/"+number(snippet), project+"/snippets/"+number(snippet))
	epicNote, _, _, epicThread := r.talk(t, group+"/epics/"+number(epic), atEpic)
	_, _, _, commitThread := r.talk(t, project+"/repository/commits/"+r.values["commit"].(string), "")
	reacted := post(t, r.ann, issue+"/notes/"+number(r.values["note"].(int64))+"/award_emoji", fields{"name": "heart"})
	maps.Copy(r.values, fields{
		"Milestones.milestone": inProject, "GroupMilestones.milestone": inGroup, "slug": "home", "Snippets.snippet": own, "snippet": snippet,
		"snippetID": snippet, "snippetIID": snippet, "IssueBoards.board": board, "IssueBoards.list": list, "GroupIssueBoards.board": groupBoard, "GroupIssueBoards.list": groupList,
		"epic": int64(1), "Discussions.epic": epic, "Notes.epic": epic, "ResourceLabelEvents.epic": epic, "IssueLinks.issueLink": int64(link), "request": r.values["mergeRequest"],
		"Discussions.GetIssueDiscussion.discussion": issueThread, "Discussions.GetMergeRequestDiscussion.discussion": requestThread,
		"Discussions.GetSnippetDiscussion.discussion": snippetThread, "Discussions.GetEpicDiscussion.discussion": epicThread, "Discussions.GetCommitDiscussion.discussion": commitThread,
		"Notes.GetSnippetNote.note": snippetNote, "Notes.GetEpicNote.note": epicNote, "issueID": int64(1),
		"AwardEmoji.GetIssueAwardEmoji.awardID": onIssue, "AwardEmoji.GetIssuesAwardEmojiOnNote.awardID": reacted,
		"AwardEmoji.GetMergeRequestAwardEmoji.awardID": onRequest, "AwardEmoji.GetMergeRequestAwardEmojiOnNote.awardID": onRequestNote,
		"AwardEmoji.GetMergeRequestAwardEmojiOnNote.noteID": requestNote, "AwardEmoji.ListMergeRequestAwardEmojiOnNote.noteID": requestNote,
		"AwardEmoji.GetSnippetAwardEmoji.awardID": onSnippet, "AwardEmoji.GetSnippetAwardEmojiOnNote.awardID": onSnippetNote,
		"AwardEmoji.GetSnippetAwardEmojiOnNote.noteID": snippetNote, "AwardEmoji.ListSnippetAwardEmojiOnNote.noteID": snippetNote,
		"ResourceLabelEvents.GetIssueLabelEvent.event":                firstOf(t, r.root, issue+"/resource_label_events"),
		"ResourceLabelEvents.GetMergeRequestLabelEvent.event":         firstOf(t, r.root, request+"/resource_label_events"),
		"ResourceLabelEvents.GetGroupEpicLabelEvent.event":            firstOf(t, r.root, group+"/epics/"+number(epic)+"/resource_label_events"),
		"ResourceStateEvents.GetIssueStateEvent.event":                firstOf(t, r.root, issue+"/resource_state_events"),
		"ResourceStateEvents.GetMergeRequestStateEvent.event":         firstOf(t, r.root, request+"/resource_state_events"),
		"ResourceMilestoneEvents.GetIssueMilestoneEvent.event":        firstOf(t, r.root, issue+"/resource_milestone_events"),
		"ResourceMilestoneEvents.GetMergeRequestMilestoneEvent.event": firstOf(t, r.root, request+"/resource_milestone_events"),
	})
}
