package app

import (
	"fmt"
	"testing"
)

// relationOf is what a report says of a relation, with the reasons of its rows.
func relationOf(report map[string]any, name string) (counts string, reasons []string) {
	for _, rel := range report["relations"].([]any) {
		if rel := rel.(map[string]any); rel["name"] == name {
			counts = fmt.Sprintf("%v read, %v written, %v changed, %v lost", rel["read"], rel["written"], rel["changed"], rel["lost"])
		}
	}
	for _, item := range report["items"].([]any) {
		if item := item.(map[string]any); item["relation"] == name {
			reasons = append(reasons, fmt.Sprint(item["reason"]))
		}
	}
	return counts, reasons
}

// What is shown of a project after an import is what was shown before: changes of the milestone, the merge requests of an issue and how many of them
// close it, settings that archives seldom have, and how much room the wiki takes. A lower visibility, a label that the server gives and users of the source are in the report.
func TestImport_whole(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.do("admin", "POST", "/groups", obj{"name": "Into", "path": "into", "visibility": "internal"})
		bundle, base, head := movingRepository(t)
		const request = `{"title":"%s","description":"%s","iid":%d,"author_id":8,"state":"opened","source_branch":"topic%[3]d","target_branch":"main","source_project_id":5,"target_project_id":5,` +
			`"merge_request_diff":{"base_commit_sha":"%[4]s","head_commit_sha":"%[5]s","start_commit_sha":"%[4]s"}}` + "\n"
		archive := pack(t, member("VERSION", "0.2.4"), member("GITLAB_VERSION", "16.0"), member("._VERSION", "x"), member("notes.txt", "x"), member("project.bundle", bundle), member("project.wiki.bundle", bundle),
			member("tree/project.json", `{"default_branch":"main","visibility":"public","merge_method":"rebase_merge","build_git_strategy":"clone","auto_devops_enabled":false,`+
				`"wiki_enabled":false,"snippets_access_level":10,"issues_access_level":"odd","autoclose_referenced_issues":true,"external_authorization_classification_label":"top secret"}`),
			member("tree/project/project_members.ndjson", `{"access_level":30,"user_id":7,"user":{"id":7,"username":"gone"}}`),
			member("tree/project/issues.ndjson", `{"title":"One","iid":1,"author_id":7,"resource_milestone_events":[{"action":"add","state":"opened","created_at":"2019-11-25T19:42:44.000Z",`+
				`"milestone":{"title":"Past","iid":4,"project_id":5}},{"action":"remove","state":"opened","created_at":"2019-11-26T19:42:44.000Z"}]}`),
			member("tree/project/merge_requests.ndjson", fmt.Sprintf(request, "First", "Closes #1", 2, base, head)+fmt.Sprintf(request, "Second", "See #1 and #9", 3, base, head)))
		status := s.imported(t, "admin", "whole", archive, obj{"namespace": "into"})
		if failed, _ := status["failed_relations"].([]any); status["import_status"] != "finished" || len(failed) > 0 {
			t.Fatalf("status: %v\n%s", status, s.logs.last())
		}
		path := "/projects/" + number(status, "id")
		events := s.list("admin", path+"/issues/1/resource_milestone_events")
		if len(events) != 1 || events[0].(map[string]any)["milestone"].(map[string]any)["title"] != "Past" {
			t.Errorf("changes of the milestone: %v", events)
		}
		if n := s.do("admin", "GET", path+"/issues/1", nil)["merge_requests_count"]; fmt.Sprint(n) != "1" {
			t.Errorf("the issue is closed by %v merge requests, want 1", n)
		}
		for route, want := range map[string]int{"/issues/1/related_merge_requests": 2, "/issues/1/closed_by": 1} {
			if found := s.list("admin", path+route); len(found) != want {
				t.Errorf("%s: %d, want %d", route, len(found), want)
			}
		}
		p := s.do("admin", "GET", path+"?statistics=true", nil)
		if size, _ := p["statistics"].(map[string]any)["wiki_size"].(float64); size == 0 {
			t.Errorf("the wiki takes no room: %v", p["statistics"])
		}
		for key, want := range map[string]any{
			"visibility": "internal", "merge_method": "rebase_merge", "build_git_strategy": "clone", "auto_devops_enabled": false, "wiki_access_level": "disabled",
			"snippets_access_level": "private", "issues_access_level": "enabled",
		} {
			if p[key] != want {
				t.Errorf("%s: %v, want %v", key, p[key], want)
			}
		}
		report := s.do("admin", "GET", path+"/import/report", nil)
		for name, want := range map[string]string{
			"project":                   "1 read, 0 written, 1 changed, 0 lost [external_authorization_classification_label is lost its visibility is internal]",
			"files":                     "1 read, 0 written, 0 changed, 1 lost [the file is not of the format]",
			"issues":                    "1 read, 0 written, 1 changed, 0 lost [its author was not found: gone]",
			"merge_requests":            "2 read, 0 written, 2 changed, 0 lost [its author was not found: user 8 its author was not found: user 8]",
			"resource_milestone_events": "2 read, 1 written, 0 changed, 1 lost [its milestone is missing]",
		} {
			if counts, reasons := relationOf(report, name); fmt.Sprint(counts, " ", reasons) != want {
				t.Errorf("report of %s: %s %v, want %s", name, counts, reasons, want)
			}
		}
	})
}

// The picture of a group and the files that were attached in it move with a transfer; a group at the top is as visible as at the source, and one
// that is not is in the report. Files of relations without an area here are no files that are strange.
func TestBulkImport_whole(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		from := newServer(t, "")
		from.once()
		top := number(from.do("admin", "POST", "/groups", obj{"name": "Open", "path": "open", "visibility": "public"}), "id")
		from.do("admin", "PUT", "/groups/"+top, obj{"avatar": attached{"logo.png", onePixel()}})
		file := from.do("admin", "POST", "/groups/"+top+"/uploads", obj{"file": attached{"plan.txt", "the plan"}})
		from.do("admin", "POST", "/groups/"+top+"/labels", obj{"name": "bug", "color": "#ff0000"})
		from.do("admin", "POST", "/projects", obj{"name": "App", "path": "app", "namespace_id": top, "visibility": "public", "initialize_with_readme": true})
		address := sourceOf(t, from, nil)

		s.once()
		s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
		s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "internal"})
		for _, c := range []struct{ parent, visibility, report string }{
			{"", "public", "1 read, 1 written, 0 changed, 0 lost []"},
			{"parent", "internal", "1 read, 0 written, 1 changed, 0 lost [its visibility is internal]"},
		} {
			bulk, entities := s.transfer(t, "admin", obj{
				"configuration": obj{"url": address, "access_token": from.keys["admin"]},
				"entities":      []obj{{"source_type": "group_entity", "source_full_path": "open", "destination_slug": "moved", "destination_namespace": c.parent}},
			})
			if bulk["status"] != "finished" || len(entities) != 2 {
				t.Fatalf("transfer: %v %v\n%s", bulk, entities, s.logs.last())
			}
			of := entities[0].(map[string]any)
			if stats := fmt.Sprint(of["stats"].(map[string]any)["labels"]); stats != "map[fetched:1 imported:1 source:1]" {
				t.Errorf("stats: %v", of["stats"])
			}
			path := "/groups/" + fmt.Sprint(of["namespace_id"])
			if g := s.do("admin", "GET", path, nil); g["visibility"] != c.visibility || g["avatar_url"] == nil {
				t.Errorf("group: %v %v, want %s and an avatar", g["visibility"], g["avatar_url"], c.visibility)
			}
			if p := s.do("admin", "GET", "/projects/"+fmt.Sprint(entities[1].(map[string]any)["project_id"]), nil); p["visibility"] != c.visibility {
				t.Errorf("project: %v, want %s", p["visibility"], c.visibility)
			}
			report := s.do("admin", "GET", "/bulk_imports/"+number(bulk, "id")+"/report", nil)
			for _, name := range []string{"group", "project"} {
				if counts, reasons := relationOf(report, name); fmt.Sprint(counts, " ", reasons) != c.report {
					t.Errorf("report of %s: %s %v, want %s", name, counts, reasons, c.report)
				}
			}
			if counts, reasons := relationOf(report, "files"); counts != "" {
				t.Errorf("strange files: %s %v", counts, reasons)
			}
		}
		if secret := s.one("SELECT secret FROM uploads WHERE name = 'plan.txt'"); file["url"] == nil || secret == "" {
			t.Errorf("the file is not there: %v", file)
		}
	})
}
