package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The attack of the back door: a user who may not deploy to production has a pipeline of a trigger, a child pipeline, a schedule or a variable do
// it, or renames an environment. None of the jobs gets to a runner, and no deployment succeeds.
func TestProtectedEnvironments_ways_around(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("max", nil)
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["max"], "access_level": 40})
		s.do("mona", "POST", d.at+"/protected_environments", obj{"name": "production", "deploy_access_levels": []obj{{"access_level": 40}}})
		const deploy = "deploy:\n  script: [make]\n  environment: production\n"
		branches := map[string]string{"work": deploy, "named": "deploy:\n  script: [make]\n  environment:\n    name: $WHERE\n  rules: [{if: $WHERE}]\n"}
		for branch, text := range branches {
			s.do("mona", "POST", d.at+"/repository/branches", obj{"branch": branch, "ref": "main"})
			s.do("dave", "POST", d.at+"/repository/commits", obj{"branch": branch, "commit_message": "Deploy", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": text}}})
		}
		s.do("mona", "POST", d.at+"/repository/branches", obj{"branch": "parent", "ref": "main"})
		s.do("dave", "POST", d.at+"/repository/commits", obj{"branch": "parent", "commit_message": "Deploy", "actions": []obj{
			{"action": "create", "file_path": "child.yml", "content": deploy},
			{"action": "create", "file_path": ".gitlab-ci.yml", "content": "child:\n  trigger: {include: child.yml, strategy: depend}\n"},
		}})
		barred := func(way string) {
			t.Helper()
			d.drained()
			if a := d.send(t.Context(), request{method: http.MethodPost, path: "/jobs/request", body: obj{"token": d.runner}}); a.Code != http.StatusNoContent {
				t.Errorf("%s: the runner got %d %s", way, a.Code, a.Body)
			}
			for _, j := range d.all("/jobs?per_page=100") {
				if j["name"] == "deploy" && j["failure_reason"] != "protected_environment_failure" {
					t.Errorf("%s: the job is %v, because of %v", way, j["status"], j["failure_reason"])
				}
			}
		}
		barred("pushes, and a child pipeline")

		// A user who was a maintainer has left a trigger.
		trigger := s.do("max", "POST", d.at+"/triggers", obj{"description": "back door"})
		s.do("mona", "PUT", d.at+"/members/"+fmt.Sprint(s.ids["max"]), obj{"access_level": 30})
		s.do("dave", "POST", d.at+"/trigger/pipeline", obj{"token": trigger["token"], "ref": "work"})
		barred("a trigger")

		plan := s.do("dave", "POST", d.at+"/pipeline_schedules", obj{"description": "Nightly", "ref": "work", "cron": "0 1 * * *"})
		s.do("dave", "POST", d.at+"/pipeline_schedules/"+number(plan, "id")+"/play", nil)
		barred("a schedule")

		s.do("dave", "POST", d.at+"/pipeline", obj{"ref": "named", "variables": []obj{{"key": "WHERE", "value": "production"}}})
		barred("a variable")

		// A job that waits to deploy elsewhere does not deploy to production because its environment is called so by then.
		free := s.do("dave", "POST", d.at+"/environments", obj{"name": "free"})
		s.want("dave", "PUT", d.at+"/environments/"+number(free, "id"), obj{"name": "production"}, 403, "")
		s.want("dave", "PUT", d.at+"/environments/"+number(d.environment("production"), "id"), obj{"name": "other"}, 403, "")
		for _, row := range d.all("/deployments?environment=production") {
			if row["status"] == "success" || row["status"] == "running" {
				t.Errorf("deployed: %v", row)
			}
		}
	})
}

// The attack of the link: environments and assets whose addresses run scripts are refused, and names with markup are text on pages.
func TestDelivery_scripts(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	d := s.deployer()
	for _, address := range []string{"javascript:alert(1)", "JavaScript://x/%0aalert(1)", "data:text/html,<script>", "vbscript:x", " javascript:alert(1)", "https://x/\nfoo"} {
		s.want("mona", "POST", d.at+"/environments", obj{"name": "live", "external_url": address}, 400, "")
		s.want("mona", "POST", d.at+"/releases", obj{"tag_name": "v1", "ref": "main", "assets": obj{"links": []obj{{"name": "x", "url": address}}}}, 400, "")
	}
	for _, name := range []string{"<script>alert(1)</script>", "live;rm -rf", "`id`", "live\nlive", "$(id)"} {
		s.want("mona", "POST", d.at+"/environments", obj{"name": name}, 400, "can contain only letters")
	}
	s.do("mona", "POST", d.at+"/releases", obj{
		"tag_name": "v1", "ref": "main", "name": "<script>alert(1)</script>", "description": "<script>alert(2)</script>",
		"assets": obj{"links": []obj{{"name": "<plaintext>", "url": "https://example.com/"}}},
	})
	e := s.do("mona", "POST", d.at+"/environments", obj{"name": "live", "external_url": "https://shop.example/?q=%3Cscript%3E", "description": "<script>alert(6)</script>"})
	for _, page := range []string{"releases", "releases/v1", "environments", "environments/" + number(e, "id")} {
		a := s.send(t.Context(), request{as: "mona", method: http.MethodGet, path: "/mona/shop/-/" + page, whole: true})
		if text := a.Body.String(); a.Code != http.StatusOK || inline.MatchString(text) {
			t.Errorf("%s: %d, %q", page, a.Code, inline.FindString(text))
		}
		if strings.Contains(a.Body.String(), "<plaintext") || page == "releases/v1" && !strings.Contains(a.Body.String(), "&lt;plaintext&gt;") {
			t.Errorf("%s: the name of an asset is no text: %s", page, a.Body)
		}
	}
}
