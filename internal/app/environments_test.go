package app

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/deploy"
)

// TestEnvironments tells what callers do with environments: they are made by name, found, changed, stopped and deleted once they are stopped, by
// those who may, in their own project.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "dave", "rita", "gus", "stan"} {
			s.user(name, nil)
		}
		project := s.do("mona", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
		other := s.do("mona", "POST", "/projects", obj{"name": "Other", "initialize_with_readme": true})
		at, elsewhere := "/projects/"+number(project, "id"), "/projects/"+number(other, "id")
		for name, level := range map[string]int{"dave": 30, "rita": 20, "gus": 10} {
			s.do("mona", "POST", at+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		all := at + "/environments"

		made := s.do("dave", "POST", all, obj{"name": "review/Fix-1", "external_url": "https://fix.example", "description": "A fix"})
		one := all + "/" + number(made, "id")
		slug, _ := made["slug"].(string)
		if !strings.HasPrefix(slug, "review-fix-1-") || len(slug) != len("review-fix-1-")+6 || made["tier"] != "development" || made["state"] != "available" ||
			made["auto_stop_setting"] != "always" || made["project"].(map[string]any)["path"] != "shop" {
			t.Errorf("made %v", made)
		}
		live := s.do("dave", "POST", all, obj{"name": "production"})
		if live["slug"] != "production" || live["tier"] != "production" {
			t.Errorf("made %v", live)
		}
		s.do("dave", "POST", all, obj{"name": "Customer", "tier": "staging", "auto_stop_setting": "with_action"})

		for body, want := range map[*obj]string{
			{"name": "production"}:             `{"message":["Name has already been taken"]}`,
			{"name": ""}:                       `{"message":{"name":["can't be blank"]}}`,
			{"name": "a$(b)"}:                  `{"message":{"name":["can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'"]}}`,
			{"name": "/a"}:                     `it cannot start or end with '/'`,
			{"name": strings.Repeat("a", 256)}: `is too long (maximum is 255 characters)`,
			{"name": "b", "external_url": "javascript:alert(1)"}:        `{"message":{"external_url":["javascript scheme is not allowed"]}}`,
			{"name": "b", "external_url": "JavaScript://x/%0aalert(1)"}: `{"message":{"external_url":["javascript scheme is not allowed"]}}`,
			{"name": "b", "external_url": "b.example"}:                  `{"message":{"external_url":["URI is invalid"]}}`,
			{"name": "b", "slug": "b"}:                                  `{"error":"slug is automatically generated and cannot be changed"}`,
			{"name": "b", "tier": "live"}:                               `{"error":"tier does not have a valid value"}`,
			{"external_url": "https://b.example"}:                       `{"error":"name is missing"}`,
		} {
			s.want("dave", "POST", all, *body, 400, want)
		}
		s.want("", "GET", all, nil, 401, "")
		s.want("stan", "GET", all, nil, 404, "404 Project Not Found")
		s.want("rita", "POST", all, obj{"name": "x"}, 403, "")
		s.want("rita", "PUT", one, obj{"external_url": ""}, 403, "")
		s.want("rita", "POST", one+"/stop", nil, 403, "")
		s.want("gus", "GET", one, nil, 200, `"last_deployment":null`)
		s.do("mona", "PUT", at, obj{"public_builds": false})
		s.want("gus", "GET", one, nil, 403, "")
		s.do("mona", "PUT", at, obj{"public_builds": true, "environments_access_level": "disabled"})
		s.want("mona", "GET", one, nil, 403, "")
		s.do("mona", "PUT", at, obj{"environments_access_level": "enabled"})
		s.want("mona", "GET", elsewhere+"/environments/"+number(made, "id"), nil, 404, "404 Environment Not Found")
		s.want("mona", "PUT", elsewhere+"/environments/"+number(made, "id"), obj{"tier": "other"}, 404, "")
		s.want("mona", "POST", elsewhere+"/environments/"+number(made, "id")+"/stop", nil, 404, "")
		s.want("mona", "DELETE", elsewhere+"/environments/"+number(made, "id"), nil, 404, "")

		s.want("rita", "GET", all+"?name=production", nil, 200, `"name":"production"`)
		s.want("rita", "GET", all+"?name=produc", nil, 200, `[]`)
		s.want("rita", "GET", all+"?search=FIX", nil, 200, `[{"id":`+number(made, "id"))
		s.want("rita", "GET", all+"?search=fi", nil, 400, "Search query is less than 3 characters")
		s.want("rita", "GET", all+"?name=a&search=abc", nil, 400, `{"error":"name, search cannot be used together"}`)
		s.want("rita", "GET", all+"?states=gone", nil, 400, `{"error":"states does not have a valid value"}`)

		s.want("dave", "PUT", one, obj{"name": "review/second", "tier": "testing", "external_url": ""}, 200, `"name":"review/second","slug":"`+slug+`","external_url":null`)
		s.want("dave", "DELETE", one, nil, 403, `{"message":"403 Forbidden"}`)
		s.want("dave", "POST", one+"/stop", nil, 200, `"state":"stopped"`)
		s.want("dave", "POST", one+"/stop", obj{"force": true}, 200, `"state":"stopped"`)
		s.want("rita", "GET", all+"?states=stopped", nil, 200, `[{"id":`+number(made, "id"))

		s.want("dave", "POST", all+"/stop_stale", obj{"before": time.Now().Format("2006-01-02")}, 400, "400 Bad request - Invalid Date")
		s.want("dave", "POST", all+"/stop_stale", obj{"before": "2001-01-01"}, 400, "400 Bad request - Invalid Date")
		s.exec("UPDATE environments SET updated_at = ? WHERE name = 'Customer'", "2026-01-01 00:00:00.000000")
		s.exec("UPDATE environments SET updated_at = ? WHERE name = 'production'", "2026-01-01 00:00:00.000000")
		s.want("dave", "POST", all+"/stop_stale", obj{"before": time.Now().AddDate(0, 0, -8).Format("2006-01-02")}, 200, `{"message":"Successfully scheduled stale environments to stop"}`)
		s.drained()
		s.want("dave", "GET", all+"?states=available", nil, 200, `"name":"Customer"`) // no job stops it
		s.want("dave", "GET", all+"/"+number(live, "id"), nil, 200, `"state":"stopped"`)

		gone := all + "/review_apps"
		s.want("dave", "DELETE", gone, nil, 200, `{"scheduled_entries":[],"unprocessable_entries":[]}`)
		s.exec("UPDATE environments SET created_at = ? WHERE name LIKE 'review/%'", "2026-01-01 00:00:00.000000")
		s.want("dave", "DELETE", gone, nil, 200, `{"scheduled_entries":[{"id":`+number(made, "id"))
		s.want("dave", "DELETE", gone, obj{"dry_run": false, "limit": 1}, 200, `{"scheduled_entries":[{"id":`+number(made, "id"))
		s.want("dave", "DELETE", gone, obj{"dry_run": false}, 200, `{"scheduled_entries":[]`)
		s.want("dave", "GET", one, nil, 200, `"state":"stopped"`)
		s.exec("UPDATE environments SET auto_delete_at = ? WHERE auto_delete_at IS NOT NULL", "2026-01-01 00:00:00.000000")
		s.stopDue()
		s.want("dave", "GET", one, nil, 404, "404 Environment Not Found")
		s.want("dave", "DELETE", all+"/"+number(live, "id"), nil, 204, "")
	})
}

// TestDeployments records deployments by another system, which makes their environments, moves them on and takes them back.
func TestDeployments(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "dave", "rita", "stan"} {
			s.user(name, nil)
		}
		project := s.do("mona", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
		other := s.do("mona", "POST", "/projects", obj{"name": "Other", "initialize_with_readme": true})
		at, elsewhere := "/projects/"+number(project, "id"), "/projects/"+number(other, "id")
		for name, level := range map[string]int{"dave": 30, "rita": 20} {
			s.do("mona", "POST", at+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		head := s.do("mona", "GET", at+"/repository/commits/main", nil)["id"].(string)
		s.do("mona", "POST", at+"/repository/tags", obj{"tag_name": "v1", "ref": "main"})
		all := at + "/deployments"
		deploy := func(environment, ref, status string) obj {
			return obj{"environment": environment, "sha": head, "ref": ref, "tag": ref == "v1", "status": status}
		}

		first := s.do("dave", "POST", all, deploy("production", "main", "running"))
		one, in := all+"/"+number(first, "id"), first["environment"].(map[string]any)
		if first["iid"] != 1.0 || first["status"] != "running" || in["slug"] != "production" || first["deployable"] != nil ||
			first["user"].(map[string]any)["username"] != "dave" || first["pending_approval_count"] != 0.0 {
			t.Errorf("made %v", first)
		}
		for body, want := range map[*obj]string{
			{"environment": "p", "sha": strings.Repeat("a", 40), "ref": "none", "tag": false, "status": "running"}: `{"message":{"sha":["The commit does not exist"],"ref":["The branch or tag does not exist"]}}`,
			{"environment": "p", "sha": head, "ref": "main", "tag": true, "status": "running"}:                     `{"message":{"ref":["The branch or tag does not exist"]}}`,
			{"environment": "p", "sha": head, "ref": "../main", "tag": false, "status": "running"}:                 `{"message":{"ref":["The branch or tag does not exist"]}}`,
			{"environment": "p", "sha": head, "ref": "main", "tag": false, "status": "created"}:                    `{"error":"status does not have a valid value"}`,
			{"environment": "p;x", "sha": head, "ref": "main", "tag": false, "status": "running"}:                  `{"message":{"name":["can contain only letters`,
			{"environment": "p", "sha": head, "ref": "main", "tag": false}:                                         `{"error":"status is missing"}`,
		} {
			s.want("dave", "POST", all, *body, 400, want)
		}
		s.want("rita", "POST", all, deploy("production", "main", "success"), 403, "")
		s.want("", "GET", one, nil, 401, "")
		s.want("stan", "GET", one, nil, 404, "")
		s.want("mona", "GET", elsewhere+"/deployments/"+number(first, "id"), nil, 404, "404 Deployment Not Found")
		s.want("mona", "PUT", elsewhere+"/deployments/"+number(first, "id"), obj{"status": "failed"}, 404, "")
		s.want("mona", "DELETE", elsewhere+"/deployments/"+number(first, "id"), nil, 404, "")

		environment := at + "/environments/" + number(in, "id")
		s.want("rita", "GET", environment, nil, 200, `"last_deployment":null`)
		s.want("mona", "DELETE", one, nil, 400, `{"message":"Cannot destroy running deployment"}`)
		s.want("dave", "PUT", one, obj{"status": "success"}, 200, `"status":"success"`)
		s.want("dave", "PUT", one, obj{"status": "running"}, 400, `cannot transition via`)
		s.want("rita", "GET", environment, nil, 200, `"last_deployment":{"id":`+number(first, "id"))
		s.want("mona", "DELETE", one, nil, 400, `{"message":"Deployment currently deployed to environment"}`)
		s.do("dave", "POST", environment+"/stop", nil)
		second := s.do("dave", "POST", all, deploy("production", "v1", "success"))
		s.want("rita", "GET", environment, nil, 200, `"state":"available"`)
		s.do("dave", "POST", all, deploy("staging", "main", "failed"))
		s.drained()
		ref := "refs/environments/production/deployments/1"
		if got := s.references(filepath.Join(s.data, "repositories")); !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(path string) bool { return strings.HasSuffix(path, ref) }) {
			t.Errorf("no %s", ref)
		}

		s.want("rita", "GET", all+"?environment=production&sort=desc", nil, 200, `[{"id":`+number(second, "id"))
		s.want("rita", "GET", all+"?status=failed", nil, 200, `"name":"staging"`)
		s.want("rita", "GET", all+"?finished_after=2026-01-01&status=success", nil, 400, "400 Bad request - `finished_at` filter and `finished_at` sorting must be paired")
		s.want("rita", "GET", all+"?order_by=finished_at", nil, 400, "400 Bad request - `finished_at` filter and `finished_at` sorting must be paired")
		s.want("rita", "GET", all+"?order_by=finished_at&finished_after=2026-01-01", nil, 400, "400 Bad request - `finished_at` filter must be combined with `success` status filter.")
		s.want("rita", "GET", all+"?order_by=finished_at&finished_after=2026-01-01&updated_after=2026-01-01", nil, 400, "Both `updated_at` filter and `finished_at` filter can not be specified")
		s.want("rita", "GET", all+"?order_by=finished_at&finished_after=2020-01-01&status=success", nil, 200, `[{"id":`+number(first, "id"))

		s.want("dave", "DELETE", one, nil, 403, "")
		s.want("mona", "DELETE", one, nil, 204, "")
		s.drained()
		if got := s.references(filepath.Join(s.data, "repositories")); slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(path string) bool { return strings.HasSuffix(path, ref) }) {
			t.Errorf("%s is still there", ref)
		}
		if n := s.do("dave", "POST", all, deploy("production", "main", "running"))["iid"]; n != 4.0 {
			t.Errorf("number %v after a deletion, want 4", n)
		}
		s.do("dave", "POST", environment+"/stop", nil)
		s.do("dave", "DELETE", environment, nil)
		s.want("rita", "GET", all, nil, 200, `"name":"staging"`)
	})
}

// drained does the background work that is due.
func (s *server) drained() {
	s.tb.Helper()
	if err := s.jobs.Drain(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
}

// stopDue looks for environments whose time has come.
func (s *server) stopDue() {
	s.tb.Helper()
	if err := core.Part[*deploy.Service](s.core).StopDue(s.tb.Context(), deploy.Due{}); err != nil {
		s.tb.Fatal(err)
	}
}
