package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// A user writes every quick action there is where it may do nothing but comment: nothing
// changes. One who may plan names things that are hidden from it: the answer is the same as for
// things that are not there. Quick actions once told strangers the secrets of a project.
func TestQuickActions_permissions(t *testing.T) {
	t.Parallel()
	arguments := map[string]string{
		"title": "Taken", "label": "~bug", "labels": "~bug", "relabel": "~bug", "milestone": "%v1", "due": "tomorrow", "weight": "7",
		"assign": "me", "reassign": "me", "assign_reviewer": "me", "reviewer": "me", "request_review": "me", "reassign_reviewer": "me",
		"estimate": "1h", "estimate_time": "1h", "spend": "1h", "spent": "1h", "spend_time": "1h", "health_status": "at_risk", "severity": "high",
		"type": "incident", "iteration": "--current", "board_move": "~bug", "duplicate": "#2", "move": "team/other", "clone": "team/other",
		"relate": "#2", "blocks": "#2", "blocked_by": "#2", "unlink": "#2", "epic": "&1", "copy_metadata": "#2", "target_branch": "main", "tag": "v1",
		"create_merge_request": "mine",
	}
	own := map[string]bool{"award": true, "react": true, "subscribe": true, "unsubscribe": true, "todo": true, "done": true}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.open("topic")
		p.do("planner", "POST", appIssues, `{"title":"x","labels":"bug","weight":1,"due_date":"2023-06-01"}`)
		p.do("planner", "POST", appIssues, `{"title":"other"}`)
		for _, on := range []struct {
			kind noteable.Kind
			path string
		}{{noteable.Issue, appIssues + "/1"}, {noteable.MergeRequest, requestsPath + "/1"}} {
			state := func() map[string]any {
				out := p.do("planner", "GET", on.path, "")
				for _, name := range []string{"user_notes_count", "updated_at"} {
					delete(out, name)
				}
				return out
			}
			before := fmt.Sprint(state())
			for _, name := range p.Commands.Names(on.kind) {
				if own[name] {
					continue
				}
				for _, as := range []string{"stranger", "guest"} {
					if as == "guest" && (strings.HasPrefix(name, "block") || name == "relate" || name == "unlink") {
						continue // members relate what they see
					}
					made := p.do(as, "POST", on.path+"/notes", fmt.Sprintf(`{"body":"text\n/%s %s"}`, name, arguments[name]))
					if got := made["commands_changes"].(map[string]any); made["body"] != "text" || len(got) != 0 {
						t.Errorf("/%s of a %s: body %v, changes %v", name, as, made["body"], got)
					}
				}
				if after := fmt.Sprint(state()); after != before {
					t.Fatalf("/%s changed\n%s\nto\n%s", name, before, after)
				}
			}
		}
		if got := p.pick("planner", appIssues, "iid"); got != "2 1" {
			t.Errorf("issues afterwards: %s", got)
		}
		if got := p.pick("planner", requestsPath, "iid"); got != "1" {
			t.Errorf("merge requests afterwards: %s", got)
		}

		secret := p.Project("far/secret", authz.Private, p.Group("far", authz.Private, 0))
		p.Join(secret, p.users["owner"], authz.Owner)
		p.do("owner", "POST", "/projects/far%2Fsecret/issues", `{"title":"Hidden","labels":"hidden"}`)
		p.do("owner", "POST", appIssues, `{"title":"Hidden too","confidential":true}`)
		for _, text := range []string{
			"/relate far/secret#1", "/blocks far/secret#1", "/unlink far/secret#1", "/duplicate far/secret#1", "/move far/secret", "/clone far/secret",
			"/copy_metadata far/secret#1", "/label far/secret~hidden", "/milestone far/secret%1", "/epic far&1",
		} {
			answer := func(text string) string {
				w := p.send("planner", "POST", appIssues+"/1/notes", fmt.Sprintf(`{"body":%q}`, text))
				return fmt.Sprint(w.Code, w.Body)
			}
			if got, want := answer(text), answer(strings.Replace(text, "far", "nowhere", 1)); got != want {
				t.Errorf("%s: got %s, for what is not there %s", text, got, want)
			}
		}
		for _, text := range []string{"/relate #3", "/duplicate #3", "/copy_metadata #3"} {
			p.want("guest", "POST", appIssues+"/1/notes", fmt.Sprintf(`{"body":%q}`, text), 400, "")
		}
	})
}
