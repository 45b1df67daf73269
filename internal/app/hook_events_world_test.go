package app

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// deploying makes pipelines that deploy, fail, wait and start another one.
const deploying = `
workflow: {name: Nightly}
made:
  script: [make]
  environment: {name: review, action: prepare, deployment_tier: development}
  artifacts: {paths: [out]}
reviewed:
  script: [lint]
  rules: [{if: $CI_MERGE_REQUEST_IID}]
shipped:
  script: [ship]
  environment: {name: production, url: https://shop.example.com}
below:
  trigger: {include: below.yml}
`

// furnishHookEvents makes events whose bodies have a value for whatever bodies have, in a project of a group.
func (s *server) furnishHookEvents(t *testing.T, bob authz.UserID, drain func()) {
	group := s.do("admin", "POST", "/groups", obj{"name": "Team", "path": "team", "description": "All of us"})
	in := "/groups/" + number(group, "id")
	s.do("admin", "POST", "/groups", obj{"name": "Inner", "path": "inner", "parent_id": group["id"]})
	s.do("admin", "POST", in+"/members", obj{"user_id": bob, "access_level": 30, "expires_at": nextMonth()})
	s.do("admin", "POST", in+"/milestones", obj{"title": "v2", "description": "next", "start_date": "2023-05-01", "due_date": "2023-06-01"})
	s.do("admin", "POST", in+"/labels", obj{"name": "wide", "color": "#ff0000", "description": "of the group"})
	s.do("admin", "POST", in+"/wikis", obj{"title": "Home", "content": "words of all"})
	p := s.do("admin", "POST", "/projects", obj{
		"name": "Full", "namespace_id": group["id"], "initialize_with_readme": true, "description": "With everything", "ci_config_path": "ci.yml",
	})
	id := number(p, "id")
	at := "/projects/" + id
	s.do("admin", "PUT", at, obj{"avatar": attached{"a.png", onePixel()}})
	s.do("admin", "POST", at+"/labels", obj{"name": "bug", "color": "#00ff00"})
	m := s.do("admin", "POST", at+"/milestones", obj{"title": "v1"})
	people := obj{
		"description": "as ![x](a.png)", "assignee_ids": []any{bob}, "reviewer_ids": []any{bob}, "labels": "bug,wide", "milestone_id": m["id"],
		"due_date": "2023-06-01", "weight": 3, "discussion_locked": false,
	}
	with := func(title string, more obj) obj {
		out := obj{"title": title}
		for _, from := range []obj{people, more} {
			for name, v := range from {
				out[name] = v
			}
		}
		return out
	}
	issue := s.do("admin", "POST", at+"/issues", with("Full", nil))
	incident := s.do("admin", "POST", at+"/issues", with("Outage", obj{"issue_type": "incident"}))
	one := at + "/issues/" + number(issue, "iid")
	s.do("admin", "POST", one+"/notes", obj{"body": "/estimate 1h"})
	s.do("admin", "POST", one+"/notes", obj{"body": "/health_status on_track"})
	s.do("admin", "POST", one+"/add_spent_time", obj{"duration": "30m"})
	s.do("admin", "PUT", one, obj{"title": "Fuller"})
	s.do("admin", "POST", one+"/notes", obj{"body": "/duplicate #" + number(incident, "iid")})
	s.do("admin", "PUT", at+"/issues/"+number(incident, "iid"), obj{"state_event": "close"})
	s.do("admin", "POST", at+"/issues/"+number(incident, "iid")+"/move", obj{"to_project_id": 1})

	files := []obj{
		{"action": "create", "file_path": "ci.yml", "content": deploying},
		{"action": "create", "file_path": "below.yml", "content": "child: {script: [\"true\"]}\n"},
		{"action": "create", "file_path": "a.txt", "content": "one\n"},
	}
	c := s.do("admin", "POST", at+"/repository/commits", obj{"branch": "topic", "start_branch": "main", "commit_message": "Add all", "actions": files})
	s.do("admin", "POST", fmt.Sprint(at, "/repository/commits/", c["id"], "/comments"), obj{"note": "on a line", "path": "a.txt", "line": 1, "line_type": "new"})
	request := s.do("admin", "POST", at+"/merge_requests", with("Full", obj{"source_branch": "topic", "target_branch": "main"}))
	mr := at + "/merge_requests/" + number(request, "iid")
	drain()
	s.do("admin", "POST", mr+"/notes", obj{"body": "/estimate 1h"})
	s.do("admin", "POST", mr+"/add_spent_time", obj{"duration": "30m"})
	position := s.do("admin", "GET", mr, nil)["diff_refs"].(map[string]any)
	position["position_type"], position["new_path"], position["old_path"], position["new_line"] = "text", "a.txt", "a.txt", 1
	thread := s.do("admin", "POST", mr+"/discussions", obj{"body": "in the diff", "position": position})
	note := thread["notes"].([]any)[0].(map[string]any)
	notes := fmt.Sprint(mr, "/discussions/", thread["id"], "/notes/", number(note, "id"))
	s.do("admin", "PUT", notes, obj{"resolved": true})
	s.do("admin", "PUT", notes, obj{"body": "in the diff, again"})
	s.do("admin", "POST", mr+"/award_emoji", obj{"name": "rocket"})
	snippet := s.do("admin", "POST", at+"/snippets", obj{"title": "One", "description": "words", "file_name": "a", "content": "a", "visibility": "private"})
	s.do("admin", "POST", at+"/snippets/"+number(snippet, "id")+"/award_emoji", obj{"name": "rocket"})
	s.do("admin", "POST", at+"/repository/commits", obj{"branch": "topic", "commit_message": "Change a", "actions": []obj{{"action": "update", "file_path": "a.txt", "content": "two\n"}}})
	drain()
	s.do("admin", "POST", at+"/releases", obj{"tag_name": "v2", "ref": "topic"})
	s.do("admin", "DELETE", at+"/releases/v2", nil)
	s.do("admin", "PUT", mr, obj{"title": "Fuller"})

	s.do("admin", "POST", at+"/pipeline", obj{"ref": "topic", "variables": []obj{{"key": "COLOR", "value": "red"}}})
	drain()
	w, ctx := &world{server: s}, context.WithoutCancel(t.Context())
	w.runJob(ctx, id)
	drain()
	r := s.do("admin", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": id, "description": "Of all", "tag_list": "go", "run_untagged": true})
	got, _, err := s.core.CI.Request(ctx, ci.Ask{Token: r["token"].(string)})
	if err != nil || got == nil {
		t.Fatalf("ask for a job: %v %v", got, err)
	}
	held, err := s.core.CI.Hold(ctx, got.Job.ID, got.Token)
	if err == nil {
		_, err = s.core.CI.Finish(ctx, held, ci.Outcome{State: "failed"})
	}
	if err != nil {
		t.Fatal(err)
	}
	drain()
	s.do("admin", "POST", mr+"/pipelines", nil)
	s.do("admin", "PUT", mr+"/merge", obj{"should_remove_source_branch": false})

	s.do("admin", "POST", "/user/keys", obj{"title": "laptop", "key": deployKey()})
	s.do("admin", "PUT", fmt.Sprint("/users/", bob), obj{"username": "robert"})
	s.do("admin", "POST", fmt.Sprint("/users/", bob, "/block"), nil)
	if err := s.db.InTx(ctx, func(ctx context.Context) error {
		return s.bus.Publish(ctx, account.SignOnFailed{Stamp: authz.Actor{UserID: bob}.Stamp(time.Now())})
	}); err != nil {
		t.Fatal(err)
	}
	s.do("admin", "PUT", at, obj{"path": "fuller"})
	s.do("admin", "PUT", in, obj{"path": "team-two"})
	drain()
}
