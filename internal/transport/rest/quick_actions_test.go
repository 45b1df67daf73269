package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Quick actions in notes and descriptions: the documented answers, and nothing done for those
// who may not.
func TestQuickActions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		const issues = "/projects/team%2Fapp/issues"
		const notes = issues + "/1/notes"
		p.do("planner", "POST", "/projects/team%2Fapp/labels", `{"name":"bug","color":"#fff"}`)
		p.do("planner", "POST", "/projects/team%2Fapp/labels", `{"name":"two words","color":"#000"}`)
		p.do("planner", "POST", "/projects/team%2Fapp/milestones", `{"title":"v1 beta"}`)
		i := p.do("planner", "POST", issues, `{"title":"x","description":"text\n/label ~bug\n/due 2023-06-01\n\n/unknown"}`)
		if i["description"] != "text\n\n/unknown" || i["due_date"] != "2023-06-01" || len(i["labels"].([]any)) != 1 {
			t.Errorf("an issue whose description has commands: %v", i)
		}
		for _, tt := range []struct{ as, body, want string }{
			{"planner", "/close", `{"commands_changes":{},"summary":["Closed this issue."]}`},
			{"planner", "/reopen\n/title New  title", `{"commands_changes":{},"summary":["Reopened this issue. Changed the title to \"New  title\"."]}`},
			{"planner", `/label ~"two words" ~none`, `{"commands_changes":{"add_label_ids":[2]},"summary":["Added ~2 label."]}`},
			{"planner", "/unlabel ~bug ~2", `{"commands_changes":{"remove_label_ids":[1,2]},"summary":["Removed ~1 ~2 labels."]}`},
			{"planner", "/relabel ~bug", `{"commands_changes":{"label_ids":[1]},"summary":["Replaced all labels with ~1 label."]}`},
			{"planner", "/remove_label", `{"commands_changes":{"label_ids":[]},"summary":["Removed all labels."]}`},
			{"planner", `/milestone %"v1 beta"`, `{"commands_changes":{"milestone_id":1},"summary":["Set the milestone to %\"v1 beta\"."]}`},
			{"planner", "/remove_milestone", `{"commands_changes":{"milestone_id":null},"summary":["Removed %\"v1 beta\" milestone."]}`},
			{"planner", "/due tomorrow", `{"commands_changes":{"due_date":"2023-05-23"},"summary":["Set the due date to May 23, 2023."]}`},
			{"planner", "/remove_due_date", `{"commands_changes":{"due_date":null},"summary":["Removed the due date."]}`},
			{"planner", "/weight 3", `{"commands_changes":{"weight":3},"summary":["Set weight to 3."]}`},
			{"planner", "/clear_weight", `{"commands_changes":{"weight":null},"summary":["Cleared weight."]}`},
			{"planner", "/assign me @guest", `{"commands_changes":{"assignee_ids":[PLANNER,GUEST]},"summary":["Assigned @planner and @guest."]}`},
			{"planner", "/unassign @guest", `{"commands_changes":{"assignee_ids":[PLANNER]},"summary":["Removed assignee @guest."]}`},
			{"planner", "/UNASSIGN", `{"commands_changes":{"assignee_ids":[]},"summary":["Removed assignee @planner."]}`},
			{"planner", "/lock", `{"commands_changes":{"discussion_locked":true},"summary":["Locked the discussion."]}`},
			{"planner", "/unlock", `{"commands_changes":{"discussion_locked":false},"summary":["Unlocked the discussion."]}`},
			{"guest", "/award :tada:", `{"commands_changes":{"emoji_award":"tada"},"summary":["Toggled :tada: emoji award."]}`},
			{"planner", "/confidential", `{"commands_changes":{"confidential":true},"summary":["Made this issue confidential."]}`},
		} {
			for name, as := range p.users {
				tt.want = strings.ReplaceAll(tt.want, strings.ToUpper(name), fmt.Sprint(as.UserID))
			}
			p.want(tt.as, "POST", notes, fmt.Sprintf(`{"body":%q}`, tt.body), 202, tt.want)
		}
		i = p.do("planner", "GET", issues+"/1", "")
		for name, want := range map[string]any{"title": "New  title", "confidential": true, "state": "opened", "milestone": nil, "due_date": nil, "weight": nil, "user_notes_count": 0.0} {
			if i[name] != want {
				t.Errorf("%s = %v, want %v", name, i[name], want)
			}
		}
		if got := len(i["assignees"].([]any)) + len(i["labels"].([]any)); got != 0 {
			t.Errorf("assignees and labels are left: %v", i)
		}

		// Beside a text; those of others are removed and do nothing.
		p.do("planner", "POST", issues, `{"title":"y"}`)
		n := p.do("planner", "POST", issues+"/2/notes", `{"body":"done\n/due 2023-06-02\n`+"`/close`"+`"}`)
		if changes := n["commands_changes"].(map[string]any); n["body"] != "done\n`/close`" || changes["due_date"] != "2023-06-02" {
			t.Errorf("a note with a command: %v", n)
		}
		n = p.do("stranger", "POST", issues+"/2/notes", `{"body":"mine\n/close\n/label ~bug\n/title z"}`)
		if changes := n["commands_changes"].(map[string]any); n["body"] != "mine" || len(changes) != 0 {
			t.Errorf("a stranger's note with commands: %v", n)
		}
		const failed = `{"message":"400 Bad request - Failed to apply commands."}`
		p.want("stranger", "POST", issues+"/2/notes", `{"body":"/close"}`, 400, failed)
		p.want("planner", "POST", issues+"/2/notes", `{"body":"/reopen"}`, 400, failed)
		p.want("planner", "POST", issues+"/2/notes", `{"body":"/title `+strings.Repeat("x", 256)+`"}`, 400,
			`{"message":"400 Bad request - Note {:validation=>[\"title is too long (maximum is 255 characters)\"]}"}`)
		p.want("stranger", "POST", notes, `{"body":"/close"}`, 404, "")
		p.want("", "POST", issues+"/2/notes", `{"body":"/close"}`, 401, "")
		if i = p.do("planner", "GET", issues+"/2", ""); i["state"] != "opened" || i["title"] != "y" || i["user_notes_count"] != 2.0 {
			t.Errorf("after commands of a stranger: %v", i)
		}

		// A note that becomes nothing but commands is deleted.
		p.want("planner", "PUT", issues+"/2/notes/"+fmt.Sprint(p.do("planner", "POST", issues+"/2/notes", `{"body":"a"}`)["id"]), `{"body":"/close"}`, 202,
			`{"commands_changes":{},"summary":["Closed this issue."]}`)
		if i = p.do("planner", "GET", issues+"/2", ""); i["state"] != "closed" || i["user_notes_count"] != 2.0 {
			t.Errorf("after a note became a command: %v", i)
		}
		i = p.do("planner", "PUT", issues+"/2", `{"description":"new\n/reopen"}`)
		if i["description"] != "new" || i["state"] != "opened" {
			t.Errorf("a new description with a command: %v", i)
		}
	})
}

// Quick actions of merge requests.
func TestQuickActions_ofMergeRequests(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.commit("dev", "feature", "main", "create", "b.txt", "b\n")
		made := p.do("dev", "POST", requestsPath, `{"source_branch":"feature","target_branch":"main","title":"Change","description":"text\n/draft\n/assign me"}`)
		if made["title"] != "Draft: Change" || made["description"] != "text" || len(made["assignees"].([]any)) != 1 {
			t.Errorf("made %v, %v, %v", made["title"], made["description"], made["assignees"])
		}
		notes := requestsPath + "/" + fmt.Sprint(made["iid"]) + "/notes"
		user := fmt.Sprint(p.users["planner"].UserID)
		for _, tt := range []struct{ body, want string }{
			{"/ready", `{"commands_changes":{"wip_event":"ready"},"summary":["Marked this merge request as ready."]}`},
			{"/draft", `{"commands_changes":{"wip_event":"draft"},"summary":["Marked this merge request as a draft."]}`},
			{"/draft", `{"commands_changes":{"wip_event":"ready"},"summary":["Marked this merge request as ready."]}`},
			{"/reviewer @planner", `{"commands_changes":{"reviewer_ids":[` + user + `]},"summary":["Assigned @planner as reviewer."]}`},
			{"/remove_reviewer", `{"commands_changes":{"reviewer_ids":[]},"summary":["Removed reviewer @planner."]}`},
			{"/close", `{"commands_changes":{},"summary":["Closed this merge request."]}`},
			{"/reopen", `{"commands_changes":{},"summary":["Reopened this merge request."]}`},
			{"/merge", "{\"commands_changes\":{},\"summary\":[\"The `/merge` quick action requires the SHA of the head of the branch.\"]}"},
		} {
			p.want("dev", "POST", notes, fmt.Sprintf(`{"body":%q}`, tt.body), 202, tt.want)
		}
		p.want("dev", "POST", notes, `{"body":"/due tomorrow"}`, 201, "")
		p.want("dev", "POST", notes, `{"body":"/target_branch nowhere"}`, 400, "")
		p.want("dev", "POST", notes, `{"body":"/merge","merge_request_diff_sha":"`+strings.Repeat("0", 40)+`"}`, 202,
			`{"commands_changes":{},"summary":["Branch has been updated since the merge was requested."]}`)
		p.want("maint", "POST", notes, fmt.Sprintf(`{"body":"/merge","merge_request_diff_head_sha":%q}`, made["sha"]), 202,
			fmt.Sprintf(`{"commands_changes":{"merge":%q},"summary":["Merged this merge request."]}`, made["sha"]))
		if m := p.do("dev", "GET", requestsPath+"/"+fmt.Sprint(made["iid"]), ""); m["state"] != "merged" {
			t.Errorf("after /merge the state is %v", m["state"])
		}
	})
}
