package app

import (
	"fmt"
	"net/http"

	"tenon/internal/base/db/dbtest"
)

// linkRaces makes what has bounds on links: the lists of a board, the links of an issue and of an epic, what blocks a merge
// request, and the machines of a runner.
func (s *server) linkRaces(project, group string) []boundRace {
	bug := number(s.do("admin", "POST", group+"/labels", obj{"name": "bug", "color": "#ff0000"}), "id")
	board := number(s.do("admin", "POST", group+"/boards", obj{"name": "planning"}), "id")
	issue := s.do("admin", "POST", project+"/issues", obj{"title": "linked"})
	epic := s.do("admin", "POST", group+"/epics", obj{"title": "related"})
	s.do("admin", "POST", project+"/repository/branches", obj{"branch": "blocked", "ref": "main"})
	mr := s.do("admin", "POST", project+"/merge_requests", obj{"title": "blocked", "source_branch": "blocked", "target_branch": "main"})
	made := s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type"})
	const ids = "30000 + n.i" // of the copies
	for table, set := range map[string]map[string]string{
		"labels":         {"id": ids, "title": "'bug' || n.i"},
		"issues":         {"id": ids, "iid": ids},
		"epics":          {"id": ids, "iid": ids},
		"merge_requests": {"id": ids, "iid": ids, "source_branch": "'copy' || n.i"},
	} {
		of := map[string]string{"labels": bug, "issues": number(issue, "id"), "epics": number(epic, "id"), "merge_requests": number(mr, "id")}[table]
		dbtest.Copies(s.tb, s.db, table, "t.id = "+of, 160, set)
	}
	const others = "30060 + n.i" // what the rows that fill a bound lead to
	to := func(path, name string, more obj) func(i int) request {
		return func(i int) request {
			body := obj{name: 30001 + i}
			for key, value := range more {
				body[key] = value
			}
			return request{method: http.MethodPost, path: path, body: body}
		}
	}
	return []boundRace{
		{
			name: "lists of a board", table: "board_lists", of: "board_id = " + board, most: 100, set: map[string]string{"label_id": others, "position": "n.i"},
			sends: to(group+"/boards/"+board+"/lists", "label_id", nil),
		},
		{
			name: "links of an issue", table: "issue_links", of: "source_id = " + number(issue, "id"), most: 100, set: map[string]string{"target_id": others},
			sends: to(project+"/issues/"+number(issue, "iid")+"/links", "target_issue_iid", obj{"target_project_id": project[len("/projects/"):]}),
		},
		{
			name: "links of an epic", table: "epic_links", of: "source_id = " + number(epic, "id"), most: 100, set: map[string]string{"target_id": others},
			sends: to(group+"/epics/"+number(epic, "iid")+"/related_epics", "target_epic_iid", obj{"target_group_id": group[len("/groups/"):]}),
		},
		{
			name: "what blocks a merge request", table: "merge_request_blocks", of: "blocked_id = " + number(mr, "id"), most: 10, set: map[string]string{"blocking_id": others},
			sends: to(project+"/merge_requests/"+number(mr, "iid")+"/blocks", "blocking_merge_request_id", nil),
		},
		{
			name: "machines of a runner", table: "runner_managers", of: "runner_id = " + number(made, "id"), most: 1000, set: map[string]string{"system_id": "'copy' || n.i"},
			sends: func(i int) request {
				return request{method: http.MethodPost, path: "/runners/verify", body: obj{"token": made["token"], "system_id": fmt.Sprintf("s_%d", i)}}
			},
		},
	}
}
