package app

import (
	"fmt"
	"net/http"
)

// instanceRaces makes what has bounds on the resources of administrators: messages, features, service accounts and their tokens,
// protected branches of a group, and runners, whose bounds are the limits of the plan.
func (s *server) instanceRaces(project, group string) []boundRace {
	s.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "default", "ci_registered_group_runners": 3, "ci_registered_project_runners": 3})
	robot := number(s.do("admin", "POST", group+"/service_accounts", nil), "id")
	id, groupID := project[len("/projects/"):], group[len("/groups/"):]
	post := func(path string, body func(i int) obj) func(i int) request {
		return func(i int) request { return request{method: http.MethodPost, path: path, body: body(i)} }
	}
	aHook := func(i int) obj { return obj{"url": fmt.Sprint("http://8.8.8.8/", i)} }
	return []boundRace{
		{
			name: "broadcast messages", table: "broadcast_messages", of: "id > 0", most: 1000,
			sends: post("/broadcast_messages", func(i int) obj { return obj{"message": fmt.Sprint("Back at ", i)} }),
		},
		{name: "hooks of a project", table: "webhooks", of: "namespace_id = (SELECT namespace_id FROM projects WHERE id = " + id + ")", most: 100, sends: post(project+"/hooks", aHook)},
		{name: "hooks of a group", table: "webhooks", of: "namespace_id = " + groupID, most: 50, sends: post(group+"/hooks", aHook)},
		{name: "hooks of the instance", table: "webhooks", of: "namespace_id IS NULL", most: 100, sends: post("/hooks", aHook)},
		{
			name: "features", table: "features", of: "id > 0", most: 500, set: map[string]string{"name": "'copy' || n.i"},
			sends: func(i int) request {
				return request{method: http.MethodPost, path: fmt.Sprintf("/features/thing_%d", i), body: obj{"value": "true"}}
			},
		},
		{
			name: "protected branches of a group", table: "group_protected_branches", of: "group_id = " + groupID, most: 100, set: map[string]string{"name": "'copy' || n.i"},
			sends: post(group+"/protected_branches", func(i int) obj { return obj{"name": fmt.Sprint("branch", i)} }),
		},
		{
			name: "service accounts of a group", table: "users", of: "user_type = 'service_account' AND provisioned_by_group_id = " + groupID, most: 1000,
			set:   map[string]string{"username": "'robot' || n.i", "username_fold": "'robot' || n.i", "namespace_id": "NULL", "id": "40000 + n.i"},
			sends: post(group+"/service_accounts", func(int) obj { return obj{} }),
		},
		{
			name: "tokens of a service account", table: "access_tokens", of: "user_id = " + robot + " AND NOT revoked", most: 1000, set: map[string]string{"digest": "'copy' || n.i"},
			sends: post(group+"/service_accounts/"+robot+"/personal_access_tokens", func(i int) obj { return obj{"name": fmt.Sprint("token ", i), "scopes": []any{"api"}} }),
		},
		{
			name: "runners of a group", table: "runners", of: "namespace_id = " + groupID, most: 3,
			sends: post("/user/runners", func(int) obj { return obj{"runner_type": "group_type", "group_id": groupID} }),
		},
		{
			name: "runners of a project", table: "runner_projects", of: "project_id = " + id, most: 3,
			sends: post("/user/runners", func(int) obj { return obj{"runner_type": "project_type", "project_id": id} }),
		},
	}
}
