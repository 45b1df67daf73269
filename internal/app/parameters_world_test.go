package app

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenon/internal/base/db"
)

// related returns a project, and the places around it, what parameters of lists distinguish. It returns other places to ask for
// lists in, by the beginning of a path.
func (w *world) related(path string, values map[string]string) map[string][]string {
	group, public := "/groups/"+values["groups/:id"], "/groups/"+w.groups[2].values["groups/:id"]
	for i, name := range []string{"zz-lent", "aa-lent", "mm-lent"} {
		made := number(w.do([]string{"owner", "admin", "owner"}[i], http.MethodPost, "/groups", obj{"name": strings.ToUpper(name), "path": name, "visibility": []string{"public", "private", "public"}[i], "description": "Deep"}), "id")
		for j, in := range []string{group, path, public} {
			if j != i { // the first is not invited by the group, the second not by the project
				w.do("admin", http.MethodPost, in+"/share", obj{"group_id": made, "group_access": 10 + 10*i})
			}
		}
		for _, guest := range []string{values["groups/:id"], w.groups[2].values["groups/:id"]} {
			w.do("admin", http.MethodPost, "/groups/"+made+"/share", obj{"group_id": guest, "group_access": 10 + 10*i})
		}
		w.do("admin", http.MethodPut, "/groups/"+made+"/custom_attributes/color", obj{"value": "red"})
		w.assorted(func(_ string, p obj) string {
			if p["namespace_id"] = made; name == "aa-lent" {
				p["visibility"] = "private"
			}
			id := number(w.do("admin", http.MethodPost, "/projects", p), "id")
			for _, guest := range []string{values["groups/:id"], w.groups[2].values["groups/:id"]} {
				w.do("admin", http.MethodPost, "/projects/"+id+"/share", obj{"group_id": guest, "group_access": 30})
			}
			return id
		})
	}
	below := number(w.do("owner", http.MethodGet, "/groups/in-private%2Fbelow", nil), "id")
	w.do("owner", http.MethodPost, "/projects", obj{"name": "Low", "path": "low", "namespace_id": below})
	w.do("owner", http.MethodPost, "/groups", obj{"name": "Abyss", "path": "zz-below", "parent_id": values["groups/:id"]})
	w.do("admin", http.MethodPost, "/groups", obj{"name": "Open", "path": "open", "visibility": "public", "parent_id": w.groups[2].values["groups/:id"]})
	w.do("admin", http.MethodPut, "/users/"+fmt.Sprint(w.ids["mate"]), obj{"provider": "saml", "extern_uid": "mate-1"})
	for _, as := range []string{"mate", "owner"} {
		w.do(as, http.MethodPost, path+"/star", nil)
	}
	for _, title := range []string{"Deep", "The deep and what is in it", "Deeper"} {
		w.do("owner", http.MethodPost, path+"/issues", obj{"title": title})
	}
	for _, place := range []string{group, path} {
		w.do("owner", http.MethodPost, place+"/access_tokens", obj{"name": "another", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()})
	}
	w.do("admin", http.MethodPost, "/service_accounts", obj{"username": "aaa-service"})
	w.do("owner", http.MethodPost, group+"/service_accounts", obj{"username": "aaa-service-of-group"})
	w.do("owner", http.MethodPost, group+"/service_accounts/"+values["service_accounts/:user_id"]+"/personal_access_tokens", obj{"name": "another", "scopes": []string{"api"}})
	mine := func(_ string, p obj) string { return number(w.do("mate", http.MethodPost, "/projects", p), "id") }
	w.assorted(mine)
	w.assorted(func(_ string, p obj) string {
		p["namespace_id"], p["visibility"] = values["groups/:id"], "private"
		return number(w.do("owner", http.MethodPost, "/projects", p), "id")
	})
	w.assorted(func(_ string, p obj) string {
		p["namespace_id"] = w.groups[2].values["groups/:id"]
		return number(w.do("admin", http.MethodPost, "/projects", p), "id")
	})
	w.assorted(func(as string, p obj) string {
		p["name"], p["path"] = fmt.Sprint(p["name"], " forked"), fmt.Sprint(p["path"], "-forked")
		delete(p, "initialize_with_readme")
		delete(p, "visibility")
		id := number(w.do(as, http.MethodPost, path+"/fork", obj{"name": p["name"], "path": p["path"]}), "id")
		w.do(as, http.MethodPut, "/projects/"+id, p)
		return id
	})
	for i, list := range w.lists() {
		if q, missing := list.request(); missing == "" && strings.HasSuffix(q.path, "/notes") {
			w.do("owner", http.MethodPost, q.path, obj{"body": fmt.Sprint("Deep ", i)})
			w.do("admin", http.MethodPost, q.path, obj{"body": fmt.Sprint("Deeper ", i)})
		}
	}
	w.commits(path, values)
	w.exec(`INSERT INTO deployment_merge_requests (deployment_id, merge_request_id)
		SELECT d.id, m.id FROM deployments d JOIN merge_requests m ON m.target_project_id = d.project_id WHERE d.status = 'success'`)
	then := db.At(time.Date(2001, 1, 1, 12, 0, 0, 0, time.UTC))
	w.exec("UPDATE notes SET updated_at = ? WHERE body LIKE 'Deeper%'", then)
	w.exec("UPDATE projects SET marked_for_deletion_on = ? WHERE name LIKE 'Marked%'", "2001-01-01")
	w.exec("UPDATE projects SET pending_delete = ? WHERE name LIKE 'Doomed%'", true)
	w.exec("UPDATE projects SET created_at = ? WHERE name LIKE 'Ant%'", then)
	w.exec("INSERT INTO project_languages (project_id, name, name_fold, bytes) SELECT id, 'Go', 'go', 10 FROM projects WHERE name LIKE 'Ant%'")
	w.exec("UPDATE namespaces SET name = 'Zoo' WHERE path = 'below'")
	w.exec("UPDATE users SET last_activity_on = '2002-02-02' WHERE username = 'mate'")
	return map[string][]string{
		"/groups/" + values["groups/:id"] + "/":     {"/groups/in-private%2Fbelow/", "/groups/" + w.groups[2].values["groups/:id"] + "/"},
		"/projects/" + values["projects/:id"] + "/": {"/projects/in-public%2Fthe-archived/", "/projects/in-private%2Fbelow%2Flow/"},
	}
}

// assorted has projects made that differ in what lists of projects ask for, and stars them.
func (w *world) assorted(create func(as string, p obj) string) {
	for i, p := range []obj{
		{"name": "Zebra", "path": "aa-zebra", "visibility": "private", "issues_access_level": "disabled", "merge_requests_access_level": "disabled"},
		{"name": "Ant", "path": "zz-ant", "visibility": "public", "topics": []string{"shopping"}, "initialize_with_readme": true, "description": "Deep"},
		{"name": "Marked", "path": "marked", "visibility": "public"},
		{"name": "Doomed", "path": "doomed", "visibility": "public"},
		{"name": "Archived", "path": "kept", "visibility": "public"},
	} {
		id := create([]string{"mate", "owner", "admin", "developer", "maintainer"}[i], p)
		for _, as := range []string{"mate", "admin", "owner"}[i%3:] {
			w.send(w.tb.Context(), request{as: as, method: http.MethodPost, path: "/projects/" + id + "/star"}) // as far as they see it
		}
		if i == 1 {
			w.do("admin", http.MethodPut, "/projects/"+id+"/custom_attributes/color", obj{"value": "red"})
		}
		if i == 4 {
			w.do("admin", http.MethodPost, "/projects/"+id+"/archive", nil)
		}
	}
}

// commits gives a project's repository, pipelines and merge trains more than one of what they list.
func (w *world) commits(path string, values map[string]string) {
	for i, name := range []string{"v10", "v2", "a"} {
		w.do("owner", http.MethodPost, path+"/repository/commits", obj{
			"branch": "main", "commit_message": "Add " + name, "author_name": "Author " + name, "author_email": name + "@example.com",
			"actions": []obj{{"action": "create", "file_path": "deep/" + name, "content": "deep"}},
		})
		w.do("owner", http.MethodPost, path+"/repository/tags", obj{"tag_name": name, "ref": "main"})
		w.do("owner", http.MethodPost, path+"/releases", obj{"tag_name": name, "released_at": fmt.Sprintf("2023-0%d-01T00:00:00Z", 9-i)})
		w.do("developer", http.MethodPost, path+"/statuses/"+values[":sha"], obj{"state": []string{"success", "failed", "running"}[i], "name": name, "ref": "feature"})
	}
	w.do("developer", http.MethodPost, path+"/statuses/"+values[":sha"], obj{"state": "pending", "name": "v10", "ref": "feature"}) // again
	w.do("owner", http.MethodPost, path+"/repository/commits", obj{
		"branch": "merging", "start_branch": "main", "commit_message": "Merge me\n\nSigned-off-by: Ann <ann@example.com>",
		"actions": []obj{{"action": "create", "file_path": "deep/merged", "content": "deep"}},
	})
	merging := w.do("owner", http.MethodPost, path+"/merge_requests", obj{"title": "Merge me", "source_branch": "merging", "target_branch": "main"})
	w.do("owner", http.MethodPut, path, obj{"merge_trains_enabled": false, "merge_pipelines_enabled": false})
	w.do("owner", http.MethodPut, path+"/merge_requests/"+number(merging, "iid")+"/merge", nil)
	w.do("owner", http.MethodPost, path+"/jobs/"+values[":job_id"]+"/retry", nil)
	w.pipelines(path, values["projects/:id"])
	w.exec(`INSERT INTO merge_train_cars (merge_request_id, target_project_id, target_branch, user_id, status, base_sha, train_sha, pinned, created_at, updated_at, merged_at)
		SELECT m.id, c.target_project_id, c.target_branch, c.user_id, c.status, '', '', c.pinned, c.created_at, c.updated_at, c.merged_at
		FROM merge_train_cars c JOIN merge_requests m ON m.target_project_id = c.target_project_id AND m.iid = 2 WHERE c.target_project_id = ?`, values["projects/:id"])
	w.exec("UPDATE jobs SET runner_id = (SELECT MIN(id) FROM runners)")
}
