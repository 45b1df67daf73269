package rest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/limit"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/systemnote"
	"tenon/internal/core/todo"
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
			{"planner", `/relabel "two words" bug "none`, `{"commands_changes":{"label_ids":[2,1]},"summary":["Replaced all labels with ~2 ~1 labels."]}`},
			{"planner", "/unlabel bug", `{"commands_changes":{"remove_label_ids":[1]},"summary":["Removed ~1 label."]}`},
			{"planner", "/label bug", `{"commands_changes":{"add_label_ids":[1]},"summary":["Added ~1 label."]}`},
			{"planner", "/remove_label", `{"commands_changes":{"label_ids":[]},"summary":["Removed all labels."]}`},
			{"planner", `/milestone %"v1 beta"`, `{"commands_changes":{"milestone_id":1},"summary":["Set the milestone to %\"v1 beta\"."]}`},
			{"planner", "/remove_milestone", `{"commands_changes":{"milestone_id":null},"summary":["Removed %\"v1 beta\" milestone."]}`},
			{"planner", "/due tomorrow", `{"commands_changes":{"due_date":"2023-05-23"},"summary":["Set the due date to May 23, 2023."]}`},
			{"planner", "/remove_due_date", `{"commands_changes":{"due_date":null},"summary":["Removed the due date."]}`},
			{"planner", "/weight 3", `{"commands_changes":{"weight":3},"summary":["Set weight to 3."]}`},
			{"planner", "/clear_weight", `{"commands_changes":{"weight":null},"summary":["Cleared weight."]}`},
			{"planner", "/assign me @guest", `{"commands_changes":{"assignee_ids":[PLANNER,GUEST]},"summary":["Assigned @planner and @guest."]}`},
			{"planner", "/unassign @guest", `{"commands_changes":{"assignee_ids":[PLANNER]},"summary":["Removed assignee @guest."]}`},
			{"planner", "/reassign @guest", `{"commands_changes":{"assignee_ids":[GUEST]},"summary":["Changed assignee(s)."]}`},
			{"planner", "/reassign me", `{"commands_changes":{"assignee_ids":[PLANNER]},"summary":["Changed assignee(s)."]}`},
			{"planner", "/type Test case", `{"commands_changes":{"issue_type":"test_case"},"summary":["Type changed successfully."]}`},
			{"planner", "/type issue", `{"commands_changes":{"issue_type":"issue"},"summary":["Type changed successfully."]}`},
			{"planner", "/type epos", `{"commands_changes":{},"summary":["Failed to convert this work item: Provided type is not supported."]}`},
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

// Quick actions of time, relations, health, iterations, boards and subscriptions.
func TestQuickActions_planning(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		const issues = "/projects/team%2Fapp/issues"
		const notes = issues + "/1/notes"
		p.do("planner", "POST", "/projects/team%2Fapp/labels", `{"name":"bug","color":"#fff"}`)
		p.do("planner", "POST", "/projects/team%2Fapp/labels", `{"name":"two words","color":"#000"}`)
		p.do("planner", "POST", "/projects/team%2Fapp/milestones", `{"title":"v1"}`)
		p.do("planner", "POST", issues, `{"title":"first"}`)
		p.do("root", "POST", "/groups/team/epics", `{"title":"Epic"}`)
		p.do("planner", "POST", issues, `{"title":"original","labels":"bug","milestone_id":1}`)
		p.do("planner", "POST", issues, `{"title":"incident","issue_type":"incident"}`)
		other := p.Project("team/other", authz.Public, p.Find(p.users["root"], p.id).ParentID)
		p.do("planner", "POST", "/projects/team%2Fapp/boards", `{"name":"Work"}`)
		for _, label := range []string{"1", "2"} {
			p.do("planner", "POST", "/projects/team%2Fapp/boards/1/lists", `{"label_id":`+label+`}`)
		}
		g, err := p.Namespaces.Find(t.Context(), p.users["root"], "team")
		if err != nil {
			t.Fatal(err)
		}
		start := p.day(-3)
		if _, err := p.Iterations.CreateCadence(t.Context(), p.users["root"], g.Place(), iteration.CadenceInput{
			Title: "Sprints", Automatic: true, StartDate: &start, Weeks: 1, Advance: 2,
		}); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint(p.users["planner"].UserID)
		for _, tt := range []struct{ as, body, want string }{
			{"planner", "/estimate 1d 3h", `{"commands_changes":{"time_estimate":39600},"summary":["Set time estimate to 1d 3h."]}`},
			{"planner", "/spend 1h 2023-05-20", `{"commands_changes":{"spend_time":{"duration":3600,"spent_at":"2023-05-20T00:00:00.000Z","user_id":` + id + `}},"summary":["Added 1h spent time."]}`},
			{"planner", "/spend -30m 2023-05-21", `{"commands_changes":{"spend_time":{"duration":-1800,"spent_at":"2023-05-21T00:00:00.000Z","user_id":` + id + `}},"summary":["Subtracted 30m spent time."]}`},
			{"planner", "/remove_time_spent\\n/remove_estimate", `{"commands_changes":{"spend_time":{"duration":"reset","user_id":` + id + `},"time_estimate":0},"summary":["Removed spent time. Removed time estimate."]}`},
			{"planner", "/health_status at_risk", `{"commands_changes":{"health_status":"at_risk"},"summary":["Set health status to at_risk."]}`},
			{"planner", "/clear_health_status", `{"commands_changes":{"health_status":null},"summary":["Cleared health status."]}`},
			{"planner", "/relate #2 #3", `{"commands_changes":{},"summary":["Added #2 and #3 as linked items related to this issue."]}`},
			{"planner", "/unlink #2", `{"commands_changes":{},"summary":["Removed linked item #2."]}`},
			{"planner", "/unlink #2", `{"commands_changes":{},"summary":["No linked issue matches the provided parameter."]}`},
			{"planner", "/unlink #3\\n/blocks #3", `{"commands_changes":{},"summary":["Removed linked item #3. Added #3 as a linked item blocked by this issue."]}`},
			{"planner", "/blocked_by #2", `{"commands_changes":{},"summary":["Added #2 as a linked item blocking this issue."]}`},
			{"planner", "/copy_metadata #2", `{"commands_changes":{"add_label_ids":[1],"milestone_id":1},"summary":["Copied labels and milestone from #2."]}`},
			{"planner", `/board_move ~"two words"`, `{"commands_changes":{"add_label_ids":[2],"remove_label_ids":[1]},"summary":["Moved issue to ~2 column in the board."]}`},
			{"planner", "/iteration [cadence:1] --next", `{"commands_changes":{"iteration_id":2},"summary":["Set the iteration to *iteration:2."]}`},
			{"planner", "/iteration --current", `{"commands_changes":{"iteration_id":1},"summary":["Set the iteration to *iteration:1."]}`},
			{"planner", "/remove_iteration", `{"commands_changes":{"iteration_id":null},"summary":["Removed *iteration:1 iteration."]}`},
			{"root", "/epic &1", `{"commands_changes":{"epic_id":1},"summary":["Added an issue to an epic."]}`},
			{"root", "/remove_epic", `{"commands_changes":{"epic_id":null},"summary":["Removed an issue from an epic."]}`},
			{"guest", "/subscribe", `{"commands_changes":{"subscription_event":"subscribe"},"summary":["Subscribed to notifications."]}`},
			{"guest", "/unsubscribe", `{"commands_changes":{"subscription_event":"unsubscribe"},"summary":["Unsubscribed from notifications."]}`},
			{"planner", "/move team/none", `{"commands_changes":{},"summary":["Failed to move this issue because target project doesn't exist."]}`},
			{"root", "/clone team/other --with_notes", `{"commands_changes":{"clone_with_notes":true},"summary":["Cloned this issue to team/other."]}`},
		} {
			p.want(tt.as, "POST", notes, `{"body":"`+strings.ReplaceAll(tt.body, `"`, `\"`)+`"}`, 202, tt.want)
		}
		if got := p.pick("", fmt.Sprintf("/projects/%d/issues", other), "title"); got != "first" {
			t.Errorf("clones: got %q", got)
		}
		if got := strings.Join(p.labelsOf(issues+"/1"), " "); got != "two words" {
			t.Errorf("labels after /board_move: got %q", got)
		}
		if got := p.pick("planner", issues+"/1/links", "link_type"); got != "blocks is_blocked_by" {
			t.Errorf("links: got %q", got)
		}
		for _, refused := range []string{"/estimate soon", "/spend 1h 2999-01-01", "/health_status good", "/iteration *iteration:99", "/relate #99", "/severity 1", "/epic &1"} {
			p.want("planner", "POST", notes, `{"body":"`+refused+`"}`, 400, "")
		}
		p.want("guest", "POST", notes, `{"body":"/estimate 1h"}`, 400, "")
		p.want("planner", "POST", issues+"/3/notes", `{"body":"/severity s2"}`, 202, `{"commands_changes":{},"summary":["Severity updated to High."]}`)
		if got := p.do("planner", "GET", issues+"/3", "")["severity"]; got != "HIGH" {
			t.Errorf("severity: got %v", got)
		}
		p.want("planner", "POST", issues+"/3/notes", `{"body":"/duplicate #2"}`, 202,
			`{"commands_changes":{"canonical_issue_id":`+fmt.Sprint(p.do("", "GET", issues+"/2", "")["id"])+`},"summary":["Closed this issue. Marked as related to, and a duplicate of, #2."]}`)
		if got := p.do("planner", "GET", issues+"/3", "")["state"]; got != "closed" {
			t.Errorf("duplicate: got %v", got)
		}
		p.want("root", "POST", issues+"/2/notes", `{"body":"/promote_to_incident\n/move team/other"}`, 202,
			`{"commands_changes":{},"summary":["Issue has been promoted to incident. Moved this issue to team/other."]}`)
		if got := p.pick("", fmt.Sprintf("/projects/%d/issues?order_by=title&sort=asc", other), "issue_type"); got != "issue incident" {
			t.Errorf("issues of the other project: got %q", got)
		}
	})
}

// labelsOf returns the titles of the labels of an issue.
func (p *planning) labelsOf(path string) []string {
	p.t.Helper()
	var out []string
	for _, l := range p.do("planner", "GET", path, "")["labels"].([]any) {
		out = append(out, fmt.Sprint(l))
	}
	return out
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
		user, dev := fmt.Sprint(p.users["planner"].UserID), fmt.Sprint(p.users["dev"].UserID)
		todos := todo.New(todo.Deps{
			DB: d, Policy: p.World.Policy, Subscriptions: p.Subscriptions, Texts: reference.NewReader(p.URLs), Now: p.World.Now,
			Kinds: noteable.Collect(p.MergeRequests),
		})
		p.Commands.Register(todos.Commands()...)
		for _, tt := range []struct{ body, want string }{
			{"/ready", `{"commands_changes":{"wip_event":"ready"},"summary":["Marked this merge request as ready."]}`},
			{"/draft", `{"commands_changes":{"wip_event":"draft"},"summary":["Marked this merge request as a draft."]}`},
			{"/draft", `{"commands_changes":{"wip_event":"ready"},"summary":["Marked this merge request as ready."]}`},
			{"/reviewer @planner", `{"commands_changes":{"reviewer_ids":[` + user + `]},"summary":["Assigned @planner as reviewer."]}`},
			{"/reassign_reviewer me", `{"commands_changes":{"reviewer_ids":[` + dev + `]},"summary":["Changed reviewer(s)."]}`},
			{"/reassign_reviewer @planner", `{"commands_changes":{"reviewer_ids":[` + user + `]},"summary":["Changed reviewer(s)."]}`},
			{"/remove_reviewer", `{"commands_changes":{"reviewer_ids":[]},"summary":["Removed reviewer @planner."]}`},
			{"/spend 2h 2023-05-20", `{"commands_changes":{"spend_time":{"duration":7200,"spent_at":"2023-05-20T00:00:00.000Z","user_id":` + dev + `}},"summary":["Added 2h spent time."]}`},
			{"/todo", `{"commands_changes":{"todo_event":"add"},"summary":["Added a to-do item."]}`},
			{"/done", `{"commands_changes":{"todo_event":"done"},"summary":["Marked to-do item as done."]}`},
			{"/unsubscribe", `{"commands_changes":{"subscription_event":"unsubscribe"},"summary":["Unsubscribed from notifications."]}`},
			{"/close", `{"commands_changes":{},"summary":["Closed this merge request."]}`},
			{"/reopen", `{"commands_changes":{},"summary":["Reopened this merge request."]}`},
			{"/merge", "{\"commands_changes\":{},\"summary\":[\"The `/merge` quick action requires the SHA of the head of the branch.\"]}"},
		} {
			p.want("dev", "POST", notes, fmt.Sprintf(`{"body":%q}`, tt.body), 202, tt.want)
		}
		// Commands of other things are left out of the text and do nothing.
		p.want("dev", "POST", notes, `{"body":"/due tomorrow"}`, 400, `{"message":"400 Bad request - Failed to apply commands."}`)
		if n := p.do("dev", "POST", notes, `{"body":"Later\n/due tomorrow\n/weight 3\n/tag v1\n/none"}`); n["body"] != "Later\n/none" || len(n["commands_changes"].(map[string]any)) != 0 {
			t.Errorf("commands of issues and commits on a merge request: %v", n)
		}

		// In threads: alone they begin none, beside a text they run after it.
		threads := requestsPath + "/" + fmt.Sprint(made["iid"]) + "/discussions"
		p.want("dev", "POST", threads, `{"body":"/lock"}`, 202, `{"commands_changes":{"discussion_locked":true},"summary":["Locked the discussion."]}`)
		begun := p.do("dev", "POST", threads, `{"body":"Words\n/unlock"}`)
		first := begun["notes"].([]any)[0].(map[string]any)
		if first["body"] != "Words" || first["commands_changes"].(map[string]any)["discussion_locked"] != false {
			t.Errorf("a thread with a command: %v", begun)
		}
		replies := threads + "/" + fmt.Sprint(begun["id"]) + "/notes"
		p.want("dev", "POST", replies, `{"body":"/estimate 1h"}`, 202, `{"commands_changes":{"time_estimate":3600},"summary":["Set time estimate to 1h."]}`)
		reply := p.do("dev", "POST", replies, `{"body":"More\n/remove_estimate"}`)
		if reply["body"] != "More" || reply["commands_changes"].(map[string]any)["time_estimate"] != 0.0 {
			t.Errorf("a reply with a command: %v", reply)
		}
		p.want("dev", "PUT", replies+"/"+fmt.Sprint(reply["id"]), `{"body":"/estimate 2h"}`, 202, `{"commands_changes":{"time_estimate":7200},"summary":["Set time estimate to 2h."]}`)
		changed := p.do("dev", "PUT", replies+"/"+fmt.Sprint(first["id"]), `{"body":"Better words\n/remove_estimate"}`)
		if changed["body"] != "Better words" || changed["commands_changes"].(map[string]any)["time_estimate"] != 0.0 {
			t.Errorf("a changed note with a command: %v", changed)
		}
		p.want("dev", "POST", threads+"/"+strings.Repeat("0", 40)+"/notes", `{"body":"/lock"}`, 404, "")
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

// Quick actions that make branches, merge requests and tags, for those who may push.
func TestQuickActions_code(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.Notes = note.New(note.Deps{
			Limits: &limit.Service{}, DB: d, Policy: p.World.Policy, Bus: p.Bus, Accounts: p.Accounts, Awards: p.Awards, Projects: p.World.Projects, Now: p.World.Now, Commands: p.Commands,
			Kinds: noteable.Collect(p.Issues, p.MergeRequests, &note.Commits{DB: d, Repos: p.Repos}),
		})
		history := systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Kinds: p.Kinds, Users: p.Accounts, References: p.References})
		event.On(p.Bus, "history", history.IssueAddressed)
		event.On(p.Bus, "history", history.SourceBranchDeleted)
		event.On(p.Bus, "history", history.SourceBranchRestored)
		p.MergeRequests.Subscribe(p.Bus)
		p.do("planner", "POST", appIssues, `{"title":"Caf\u00e9: don't \"crash\"","labels":"bug"}`)
		p.do("planner", "POST", appIssues, `{"title":"Secret plan","confidential":true}`)
		const notes = appIssues + "/1/notes"
		p.want("planner", "POST", notes, `{"body":"/create_merge_request"}`, 400, "")
		p.want("dev", "POST", notes, `{"body":"/create_merge_request main"}`, 400, "")
		p.want("dev", "POST", notes, `{"body":"/create_merge_request"}`, 202,
			`{"commands_changes":{"create_merge_request":{"branch_name":"1-cafe-don-t-crash","issue_iid":1}},"summary":["Created a branch and a merge request to resolve this issue."]}`)
		m := p.do("dev", "GET", requestsPath+"/1", "")
		for name, want := range map[string]any{
			"title": `Draft: Resolve "Caf` + "\u00e9" + `: don't "crash""`, "description": "Closes #1", "source_branch": "1-cafe-don-t-crash", "target_branch": "main", "labels": []any{"bug"},
		} {
			if fmt.Sprint(m[name]) != fmt.Sprint(want) {
				t.Errorf("%s of the merge request: got %v, want %v", name, m[name], want)
			}
		}
		if got := m["assignee"].(map[string]any)["username"]; got != "dev" {
			t.Errorf("it is assigned to %v", got)
		}
		p.want("guest", "POST", appIssues+"/2/notes", `{"body":"/create_merge_request"}`, 404, "")
		p.want("maint", "POST", appIssues+"/2/notes", `{"body":"/create_merge_request fix/it"}`, 202,
			`{"commands_changes":{"create_merge_request":{"branch_name":"fix/it","issue_iid":2}},"summary":["Created branch 'fix/it' and a merge request to resolve this issue."]}`)
		if got := p.do("dev", "GET", requestsPath+"/2", "")["title"]; got != "Draft: Resolve #2" {
			t.Errorf("the title tells %q of a confidential issue", got)
		}
		told := p.pick("dev", notes+"?activity_filter=only_activity&sort=asc", "body")
		if !strings.HasSuffix(told, "created merge request !1 to address this issue") {
			t.Errorf("history of the issue: %q", told)
		}
		if told = p.pick("stranger", notes+"?activity_filter=only_activity", "body"); told == "" {
			t.Errorf("on a public project everyone reads the history")
		}

		// The branch goes and comes again.
		app := p.Find(p.users["dev"], p.id)
		tip := fmt.Sprint(m["sha"])
		if err := p.Repos.DeleteBranch(t.Context(), p.users["dev"], app, "1-cafe-don-t-crash"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Repos.CreateBranch(t.Context(), p.users["dev"], app, "1-cafe-don-t-crash", tip); err != nil {
			t.Fatal(err)
		}
		told = p.pick("dev", requestsPath+"/1/notes?activity_filter=only_activity&sort=asc", "body")
		if want := "deleted source branch `1-cafe-don-t-crash` restored source branch `1-cafe-don-t-crash`"; told != want {
			t.Errorf("history of the merge request: got %q, want %q", told, want)
		}

		// On commits there are tags alone.
		const comments = "/projects/team%2Fapp/repository/commits/main/comments"
		p.want("planner", "POST", comments, `{"note":"/tag v1"}`, 400, "")
		p.want("dev", "POST", comments, `{"note":"/tag v1 First of all"}`, 202,
			`{"commands_changes":{"tag_message":"First of all","tag_name":"v1"},"summary":["Tagged this commit to v1 with \"First of all\"."]}`)
		p.want("dev", "POST", comments, `{"note":"/tag v1"}`, 400, "")
		if c := p.do("dev", "POST", comments, `{"note":"Good\n/tag v2\n/close"}`); c["note"] != "Good" {
			t.Errorf("a comment with a command: %v", c)
		}
		p.want("dev", "POST", strings.TrimSuffix(comments, "comments")+"discussions", `{"body":"/tag v3"}`, 202, "")
		tags, err := p.Repos.Tags(t.Context(), p.users["dev"], app, repo.TagFilter{})
		var names []string
		for _, tag := range tags.Items {
			names = append(names, tag.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != "v1 v2 v3" {
			t.Errorf("tags %q, %v", got, err)
		}
	})
}
