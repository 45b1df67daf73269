package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// deployer is a project whose pipelines a runner of the test runs.
type deployer struct {
	*server
	at, runner string
}

// deployer makes a project of mona with a runner.
func (s *server) deployer() *deployer {
	s.tb.Helper()
	for _, name := range []string{"mona", "dave", "rita"} {
		s.user(name, nil)
	}
	project := s.do("mona", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
	d := &deployer{server: s, at: "/projects/" + number(project, "id")}
	for name, level := range map[string]int{"dave": 30, "rita": 20} {
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids[name], "access_level": level})
	}
	made := s.do("mona", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": project["id"]})
	d.runner = made["token"].(string)
	return d
}

// all lists what a path has.
func (d *deployer) all(path string) (out []map[string]any) {
	d.tb.Helper()
	a := d.send(d.tb.Context(), get("mona", d.at+path))
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		d.tb.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	return out
}

// commit writes a file to a branch, which makes a pipeline of it, and returns the commit.
func (d *deployer) commit(branch, path, content string) string {
	d.tb.Helper()
	action := "create"
	for _, ref := range []string{branch, "main"} {
		if a := d.send(d.tb.Context(), get("mona", d.at+"/repository/files/"+path+"?ref="+url.QueryEscape(ref))); a.Code == http.StatusOK {
			action = "update"
		}
	}
	made := d.do("mona", "POST", d.at+"/repository/commits", obj{
		"branch": branch, "start_branch": "main", "force": false, "commit_message": "Change " + path, "actions": []obj{{"action": action, "file_path": path, "content": content}},
	})
	d.drained()
	return made["id"].(string)
}

// take has the runner take a job, and returns its id, its token and its variables.
func (d *deployer) take() (id, token string, variables map[string]string) {
	d.tb.Helper()
	job := d.do("", "POST", "/jobs/request", obj{"token": d.runner, "info": obj{"features": obj{"upload_multiple_artifacts": true}}})
	if job == nil {
		d.tb.Fatal("no job")
	}
	variables = map[string]string{}
	for _, v := range job["variables"].([]any) {
		pair := v.(map[string]any)
		variables[pair["key"].(string)] = fmt.Sprint(pair["value"])
	}
	return number(job, "id"), job["token"].(string), variables
}

// run has the runner run a job to its end.
func (d *deployer) run(state string) map[string]string {
	d.tb.Helper()
	id, token, variables := d.take()
	d.do("", "PUT", "/jobs/"+id, obj{"token": token, "state": state})
	d.drained()
	return variables
}

// states are those of the deployments to an environment, the oldest first.
func (d *deployer) states(environment string) string {
	var out []string
	for _, row := range d.all("/deployments?environment=" + environment) {
		out = append(out, row["status"].(string))
	}
	return strings.Join(out, " ")
}

// environment is one by its name.
func (d *deployer) environment(name string) map[string]any {
	d.tb.Helper()
	list := d.all("/environments?name=" + name)
	if len(list) != 1 {
		d.tb.Fatalf("environments %s: %v", name, list)
	}
	return list[0]
}

func (d *deployer) expect(what string, got, want any) {
	d.tb.Helper()
	if got != want {
		d.tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestDeployments_jobs lets the deployments of jobs follow them through their states, and stops environments by their job, by the end of their
// branch and by the time.
func TestDeployments_jobs(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		d.commit("main", ".gitlab-ci.yml", `
stages: [one, two, three]
ship: {stage: one, script: x, environment: {name: production, url: "https://$CI_ENVIRONMENT_SLUG.example/$WHERE", deployment_tier: production}, variables: {WHERE: shop}}
later: {stage: two, script: x, when: manual, environment: staging}
last: {stage: three, script: x, environment: {name: canary}}
look: {stage: one, script: x, when: manual, environment: {name: production, action: verify}}
ready: {stage: one, script: x, when: manual, environment: {name: prepared, action: prepare}}
`)
		d.expect("new", d.states("production")+"; "+d.states("staging")+"; "+d.states("canary"), "created; created; created")
		d.expect("verified and prepared ones", d.states("prepared"), "")
		d.expect("a prepared environment", d.environment("prepared")["state"], "available")

		id, token, variables := d.take()
		d.expect("running", d.states("production"), "running")
		for key, want := range map[string]string{
			"CI_ENVIRONMENT_NAME": "production", "CI_ENVIRONMENT_SLUG": "production", "CI_ENVIRONMENT_TIER": "production", "CI_ENVIRONMENT_ACTION": "start",
			"CI_ENVIRONMENT_ID": number(d.environment("production"), "id"),
		} {
			d.expect(key, variables[key], want)
		}
		d.do("", "PUT", "/jobs/"+id, obj{"token": token, "state": "success"})
		d.drained()
		d.expect("after the first stage", d.states("production")+"; "+d.states("staging")+"; "+d.states("canary"), "success; blocked; created")
		d.expect("address", d.environment("production")["external_url"], "https://production.example/shop")
		one := d.do("rita", "GET", d.at+"/environments/"+number(d.environment("production"), "id"), nil)
		last := one["last_deployment"].(map[string]any)
		d.expect("job", last["deployable"].(map[string]any)["name"], "ship")
		d.want("dave", "PUT", d.at+"/deployments/"+number(last, "id"), obj{"status": "failed"}, 403, "Deployments created using GitLab CI can not be updated using the API")

		var manual string
		for _, j := range d.all("/jobs") {
			if j["name"] == "later" {
				manual = number(j, "id")
			}
		}
		d.do("mona", "POST", d.at+"/jobs/"+manual+"/play", nil)
		d.expect("played", d.states("staging"), "created")
		d.run("failed")
		d.expect("failed", d.states("staging"), "failed")
		d.do("mona", "POST", d.at+"/jobs/"+manual+"/retry", nil)
		d.expect("tried again", d.states("staging"), "failed created")
		newest := d.all("/deployments?environment=staging&sort=desc")[0]
		d.expect("by", newest["user"].(map[string]any)["username"], "mona")
		d.do("mona", "POST", d.at+"/jobs/"+number(newest["deployable"].(map[string]any), "id")+"/cancel", nil)
		d.expect("canceled", d.states("staging"), "failed canceled")

		const most = 8 // statements of a list, also where the deployments have jobs with runners
		for _, path := range []string{"/deployments", "/environments"} {
			d.all(path)
			before := d.db.Statements()
			d.all(path)
			if n := d.db.Statements() - before; n > most {
				t.Errorf("%s takes %d statements, want at most %d", path, n, most)
			}
		}

		// A job that ends while its environment is deleted makes none.
		d.commit("other", ".gitlab-ci.yml", "ship: {script: x, environment: {name: gone}}\n")
		for _, p := range d.all("/pipelines?ref=main") {
			d.do("mona", "POST", d.at+"/pipelines/"+number(p, "id")+"/cancel", nil)
		}
		id, token, _ = d.take()
		gone := d.at + "/environments/" + number(d.environment("gone"), "id")
		d.do("mona", "POST", gone+"/stop", nil)
		d.do("mona", "DELETE", gone, nil)
		d.do("", "PUT", "/jobs/"+id, obj{"token": token, "state": "success"})
		d.drained()
		d.expect("environments", len(d.all("/environments?name=gone")), 0)

		// A name with what a shell would run makes no environment, and its job fails.
		d.commit("x;y", ".gitlab-ci.yml", "ship: {script: x, environment: {name: review/$CI_COMMIT_REF_NAME}}\n")
		bad := d.all("/jobs?scope=failed")[0]
		d.expect("a job with a bad name", fmt.Sprint(bad["name"], " ", bad["failure_reason"]), "ship environment_creation_failure")
		d.expect("review apps", len(d.all("/environments?search=review")), 0)
	})
}

// TestEnvironments_stop stops an environment by the job that its last deployment names, by the deletion of its branch, and when its time has come.
func TestEnvironments_stop(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		const text = `
ship: {script: x, environment: {name: review/$CI_COMMIT_REF_SLUG, url: "$ADDRESS", on_stop: unship, auto_stop_in: 1 day}}
unship: {script: x, when: manual, environment: {name: review/$CI_COMMIT_REF_SLUG, action: stop}}
`
		d.commit("topic", ".gitlab-ci.yml", text)
		d.run("success")
		e := d.environment("review/topic")
		d.expect("slug", strings.HasPrefix(e["slug"].(string), "review-topic-"), true)
		d.expect("tier", e["tier"], "development")
		if e["auto_stop_at"] == nil || e["external_url"] != nil {
			t.Errorf("environment %v", e)
		}
		one := d.at + "/environments/" + number(e, "id")
		d.want("dave", "POST", one+"/stop", nil, 200, `"state":"stopping"`)
		d.want("dave", "POST", one+"/stop", nil, 200, `"state":"stopping"`)
		d.run("failed")
		d.expect("after a failure", d.environment("review/topic")["state"], "available")
		d.want("dave", "POST", one+"/stop", nil, 200, `"state":"stopping"`)
		variables := d.run("success")
		d.expect("action", variables["CI_ENVIRONMENT_ACTION"], "stop")
		d.expect("after the job", d.environment("review/topic")["state"], "stopped")

		d.commit("branch", ".gitlab-ci.yml", text)
		d.run("success")
		d.do("mona", "DELETE", d.at+"/repository/branches/branch", nil)
		d.drained()
		d.expect("after the branch was deleted", d.environment("review/branch")["state"], "stopping")
		d.run("success")
		d.expect("after its job", d.environment("review/branch")["state"], "stopped")

		d.commit("late", ".gitlab-ci.yml", text)
		d.run("success")
		d.stopDue()
		d.expect("before the time", d.environment("review/late")["state"], "available")
		d.exec("UPDATE environments SET auto_stop_at = ? WHERE name = 'review/late'", "2026-01-01 00:00:00.000000")
		d.stopDue()
		d.expect("after the time", d.environment("review/late")["state"], "stopping")
		d.want("dave", "POST", d.at+"/environments/"+number(d.environment("review/late"), "id")+"/stop", obj{"force": true}, 200, `"state":"stopped"`)
	})
}

// TestDeployments_mergeRequests finds what was shipped where, and when it came to production first.
func TestDeployments_mergeRequests(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		merge := func(name string) (string, string) {
			d.commit(name, name+".txt", name)
			m := d.do("mona", "POST", d.at+"/merge_requests", obj{"source_branch": name, "target_branch": "main", "title": "Merge " + name})
			d.drained()
			merged := d.do("mona", "PUT", d.at+"/merge_requests/"+number(m, "iid")+"/merge", nil)
			d.drained()
			return number(m, "iid"), merged["merge_commit_sha"].(string)
		}
		deploy := func(environment, sha string) string {
			made := d.do("dave", "POST", d.at+"/deployments", obj{"environment": environment, "sha": sha, "ref": "main", "tag": false, "status": "success"})
			d.drained()
			return d.at + "/deployments/" + number(made, "id") + "/merge_requests"
		}
		listed := func(as, path string) string {
			t.Helper()
			a := d.send(t.Context(), get(as, path))
			var rows []map[string]any
			if err := json.Unmarshal(a.Body.Bytes(), &rows); err != nil {
				t.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			var out []string
			for _, row := range rows {
				out = append(out, number(row, "iid"))
			}
			return strings.Join(out, " ")
		}
		_, one := merge("one")
		first := deploy("production", one)
		_, _ = merge("two")
		_, three := merge("three")
		review := deploy("review/three", three)
		second := deploy("production", three)
		again := deploy("production", three)
		staging := deploy("staging", three)

		d.expect("the first", listed("rita", first), "1")
		d.expect("the second", listed("rita", second), "3 2")
		d.expect("in another order", listed("rita", second+"?sort=asc&state=merged"), "2 3")
		d.expect("by its number", listed("rita", second+"?iids[]=2"), "2")
		d.expect("those of the caller", listed("rita", second+"?scope=created_by_me"), "")
		d.expect("those of the author", listed("mona", second+"?scope=created-by-me"), "3 2")
		d.expect("the same again", listed("rita", again), "")
		d.expect("a folder", listed("rita", review), "")
		d.expect("staging", listed("rita", staging), "3 2 1")
		d.want("", "GET", first, nil, 401, "")
		d.want("rita", "GET", first+"?state=lost", nil, 400, "state does not have a valid value")

		all := d.at + "/merge_requests"
		d.expect("by environment", listed("rita", all+"?environment=production"), "3 2 1")
		d.expect("by another", listed("rita", all+"?environment=nowhere"), "")
		d.expect("before", listed("rita", all+"?environment=production&deployed_before=2020-01-01"), "")
		d.expect("of all", listed("mona", "/merge_requests?scope=all&deployed_after=2020-01-01"), "3 2 1")
		at := d.do("rita", "GET", all+"/1", nil)["first_deployed_to_production_at"]
		if at == nil {
			t.Error("the first was not deployed")
		}
		d.do("mona", "DELETE", strings.TrimSuffix(first, "/merge_requests"), nil)
		d.expect("when it came to production", d.do("rita", "GET", all+"/1", nil)["first_deployed_to_production_at"], at)
		d.expect("by environment, after the deletion", listed("rita", all+"?environment=production"), "3 2")

		// A cherry-pick of what was merged elsewhere ships it as well.
		d.do("mona", "POST", d.at+"/repository/branches", obj{"branch": "hot", "ref": one})
		d.do("mona", "POST", d.at+"/repository/commits/"+three+"/cherry_pick", obj{"branch": "hot"})
		hot := d.do("mona", "GET", d.at+"/repository/branches/hot", nil)["commit"].(map[string]any)["id"].(string)
		deploy("canary", one)
		made := d.do("dave", "POST", d.at+"/deployments", obj{"environment": "canary", "sha": hot, "ref": "hot", "tag": false, "status": "success"})
		d.drained()
		d.expect("a cherry-pick", listed("rita", d.at+"/deployments/"+number(made, "id")+"/merge_requests"), "3")
	})
}
