package app

import (
	"strings"
	"sync"
	"testing"
)

// TestProtectedEnvironments lets maintainers alone deploy to production: others neither deploy by API, nor play or retry jobs, nor have pipelines do it.
func TestProtectedEnvironments(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		all := d.at + "/protected_environments"
		s.want("dave", "GET", all, nil, 403, "")
		s.want("mona", "POST", all, obj{}, 400, `{"error":"name is missing, deploy_access_levels is missing"}`)
		s.want("mona", "POST", all, obj{"name": "production", "deploy_access_levels": []obj{{"user_id": 4711}}}, 422, "can't be blank")
		s.want("mona", "POST", all, obj{"name": "review/*", "deploy_access_levels": []obj{{"access_level": 40}}}, 422, "Name can contain only letters") // no environment has the name
		made := s.do("mona", "POST", all, obj{"name": "production", "deploy_access_levels": []obj{{"access_level": 40}}})
		s.want("mona", "POST", all, obj{"name": "production", "deploy_access_levels": []obj{{"access_level": 40}}}, 409, "Protected environment 'production' already exists")
		level := made["deploy_access_levels"].([]any)[0].(map[string]any)
		d.expect("words", level["access_level_description"], "Maintainers")
		s.want("mona", "GET", all, nil, 200, `[{"name":"production","deploy_access_levels":[{"id":`+number(level, "id")+`,"access_level":40,`)
		s.want("mona", "GET", all+"/staging", nil, 404, `{"message":"404 Not found"}`)

		const text = "deploy:\n  script: [make]\n  environment: production\nlater:\n  script: [make]\n  when: manual\n  environment: production\n"
		sha := d.commit("work", ".gitlab-ci.yml", text)
		deployment := obj{"environment": "production", "sha": sha, "ref": "work", "tag": false, "status": "running"}
		s.want("dave", "POST", d.at+"/deployments", deployment, 403, "")
		hers := s.do("mona", "POST", d.at+"/deployments", deployment)
		s.want("dave", "PUT", d.at+"/deployments/"+number(hers, "id"), obj{"status": "success"}, 403, "")
		one := d.at + "/environments/" + number(d.environment("production"), "id")
		for _, body := range []obj{{"tier": "other"}, {"name": "free"}} {
			s.want("dave", "PUT", one, body, 403, "")
		}
		s.want("dave", "POST", one+"/stop", nil, 403, "")
		other := s.do("dave", "POST", d.at+"/environments", obj{"name": "free"})
		s.want("dave", "PUT", d.at+"/environments/"+number(other, "id"), obj{"name": "production"}, 403, "")

		d.run("success") // of mona
		job := func(pipeline map[string]any, name string) map[string]any {
			t.Helper()
			for _, j := range d.all("/pipelines/" + number(pipeline, "id") + "/jobs") {
				if j["name"] == name {
					return j
				}
			}
			t.Fatalf("no job %s", name)
			return nil
		}
		last := func() map[string]any { return d.all("/pipelines?per_page=1")[0] }
		first := last()
		s.want("dave", "POST", d.at+"/jobs/"+number(job(first, "later"), "id")+"/play", nil, 403, "")
		s.want("dave", "POST", d.at+"/jobs/"+number(job(first, "deploy"), "id")+"/retry", nil, 403, "")
		s.do("mona", "POST", d.at+"/jobs/"+number(job(first, "later"), "id")+"/play", nil)
		d.run("success")

		// A pipeline of a user who may not deploy, on a branch that this user may push to.
		his := s.do("dave", "POST", d.at+"/pipeline", obj{"ref": "work"})
		d.drained()
		if a := d.send(t.Context(), request{method: "POST", path: "/jobs/request", body: obj{"token": d.runner}}); a.Code != 204 {
			t.Errorf("the runner got %d %s", a.Code, a.Body)
		}
		failed := job(his, "deploy")
		d.expect("his job", failed["status"], "failed")
		d.expect("its reason", failed["failure_reason"], "protected_environment_failure")

		s.do("mona", "PUT", all+"/production", obj{"deploy_access_levels": []obj{{"id": level["id"], "_destroy": true}, {"user_id": s.ids["dave"]}}})
		s.do("dave", "POST", d.at+"/deployments", deployment)

		// A user is answered with a role beside it, which clients send back: it is the user alone who may deploy still.
		levels := s.do("mona", "GET", all+"/production", nil)["deploy_access_levels"].([]any)
		d.expect("levels", len(levels), 1)
		d.expect("the role beside the user", levels[0].(map[string]any)["access_level"], 40.0)
		s.do("mona", "PUT", all+"/production", obj{"deploy_access_levels": []obj{levels[0].(map[string]any)}})
		s.want("mona", "POST", d.at+"/deployments", deployment, 403, "")
		s.do("dave", "POST", d.at+"/deployments", deployment)
		s.want("mona", "DELETE", all+"/production", nil, 204, "")
	})
}

// TestProtectedEnvironments_approvals has a deployment wait until the users of the rules have approved it, each once, and ends one that is rejected.
func TestProtectedEnvironments_approvals(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		for _, name := range []string{"max", "nina"} {
			s.user(name, nil)
			s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids[name], "access_level": 40})
		}
		s.do("mona", "POST", d.at+"/protected_environments", obj{
			"name": "production", "deploy_access_levels": []obj{{"access_level": 40}}, "approval_rules": []obj{{"access_level": 40, "required_approvals": 2}},
		})
		const text = "deploy:\n  script: [make]\n  environment: production\n"
		d.commit("main", ".gitlab-ci.yml", text)
		last := func() map[string]any {
			list := d.all("/deployments?sort=desc")
			return list[0]
		}
		waiting := last()
		path := d.at + "/deployments/" + number(waiting, "id")
		d.expect("state", waiting["status"], "blocked")
		play := d.at + "/jobs/" + number(waiting["deployable"].(map[string]any), "id") + "/play"
		s.want("mona", "POST", play, nil, 403, "")
		s.want("rita", "GET", path, nil, 200, `"pending_approval_count":2,"approvals":[],"approval_summary":{"rules":[{"id":`)

		approval := path + "/approval"
		s.want("mona", "POST", approval, obj{"status": "fine"}, 400, `{"error":"status does not have a valid value"}`)
		s.want("dave", "POST", approval, obj{"status": "approved"}, 400, "You do not have permission to approve or reject this deployment")
		s.want("mona", "POST", approval, obj{"status": "approved"}, 400, "The same user can not approve")
		s.want("max", "POST", approval, obj{"status": "approved", "represented_as": "Nobody"}, 400, "You do not have permission to approve or reject this deployment")
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				a := d.send(t.Context(), request{as: "max", method: "POST", path: approval, body: obj{"status": "approved", "comment": "Go"}})
				if a.Code != 201 {
					t.Errorf("approve: %d %s", a.Code, a.Body)
				}
			})
		}
		all.Wait()
		s.want("rita", "GET", path, nil, 200, `"status":"blocked","pending_approval_count":1,"approvals":[{"user":{"id":`)
		s.want("nina", "POST", approval, obj{"status": "approved"}, 201, `"status":"approved"`)
		d.expect("state after the last approval", last()["status"], "created")
		s.want("nina", "POST", approval, obj{"status": "approved"}, 400, "This deployment job is not waiting for approvals")
		d.run("success")
		d.expect("state after its job", last()["status"], "success")

		d.commit("main", ".gitlab-ci.yml", text+"# again\n")
		path = d.at + "/deployments/" + number(last(), "id")
		s.want("nina", "POST", path+"/approval", obj{"status": "rejected", "comment": "Not today"}, 201, `"comment":"Not today"`)
		rejected := last()
		d.expect("state", rejected["status"], "failed")
		s.want("rita", "GET", d.at+"/jobs/"+number(rejected["deployable"].(map[string]any), "id"), nil, 200, `"failure_reason":"deployment_rejected"`)

		free := s.do("mona", "POST", d.at+"/deployments", obj{"environment": "staging", "sha": rejected["sha"], "ref": "main", "tag": false, "status": "running"})
		s.want("max", "POST", d.at+"/deployments/"+number(free, "id")+"/approval", obj{"status": "approved"}, 400, "This environment is not protected")

		// The project lets the user who started a deployment approve it.
		s.do("mona", "PUT", d.at, obj{"allow_pipeline_trigger_approve_deployment": true})
		d.commit("main", ".gitlab-ci.yml", text+"# once more\n")
		s.want("mona", "POST", d.at+"/deployments/"+number(last(), "id")+"/approval", obj{"status": "approved"}, 201, `"status":"approved"`)
	})
}

// TestProtectedEnvironments_group protects a tier below a group: rules of projects take nothing back.
func TestProtectedEnvironments_group(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "olga"} {
			s.user(name, nil)
		}
		g := s.do("admin", "POST", "/groups", obj{"name": "acme", "path": "acme"})
		at := "/groups/" + number(g, "id")
		s.do("admin", "POST", at+"/members", obj{"user_id": s.ids["olga"], "access_level": 50})
		p := s.do("admin", "POST", "/projects", obj{"name": "shop", "namespace_id": g["id"], "initialize_with_readme": true})
		project := "/projects/" + number(p, "id")
		s.do("admin", "POST", project+"/members", obj{"user_id": s.ids["mona"], "access_level": 40})
		head := s.do("admin", "GET", project+"/repository/branches/main", nil)["commit"].(map[string]any)["id"]
		all := at + "/protected_environments"
		s.want("mona", "GET", all, nil, 403, "")
		s.want("olga", "POST", all, obj{"name": "live", "deploy_access_levels": []obj{{"access_level": 40}}}, 422, `["Name is not included in the list"]`)
		s.do("olga", "POST", all, obj{"name": "production", "deploy_access_levels": []obj{{"group_id": g["id"]}}})
		deployment := obj{"environment": "prod-eu", "sha": head, "ref": "main", "tag": false, "status": "success"}
		s.want("mona", "POST", project+"/deployments", deployment, 403, "")
		s.do("mona", "POST", project+"/protected_environments", obj{"name": "prod-eu", "deploy_access_levels": []obj{{"access_level": 30}}})
		s.want("mona", "POST", project+"/deployments", deployment, 403, "")
		free := s.do("mona", "POST", project+"/environments", obj{"name": "free"})
		s.want("mona", "PUT", project+"/environments/"+number(free, "id"), obj{"name": "prod-us"}, 403, "")
		s.do("olga", "POST", project+"/deployments", deployment)
		made := project + "/environments/2"
		s.want("mona", "GET", made, nil, 200, `"name":"prod-eu"`)
		for _, body := range []obj{{"tier": "other"}, {"name": "open"}} { // neither another tier nor another name gets around the rule
			s.want("mona", "PUT", made, body, 403, "")
		}
		s.want("mona", "POST", made+"/stop", nil, 403, "")
		s.want("mona", "DELETE", made, nil, 403, "")
		s.want("olga", "DELETE", all+"/production", nil, 204, "")
		s.do("mona", "POST", project+"/deployments", deployment)
	})
}

// TestProtectedEnvironments_tier keeps environments from a protected tier: neither a job nor a call moves one there for a user who may not deploy to the tier, and a
// job moves none into a tier that asks for approvals.
func TestProtectedEnvironments_tier(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("olga", nil)
		g := s.do("olga", "POST", "/groups", obj{"name": "acme", "path": "acme"})
		s.do("admin", "PUT", d.at+"/transfer", obj{"namespace": g["id"]})
		s.do("admin", "POST", d.at+"/members", obj{"user_id": s.ids["mona"], "access_level": 40})
		idle := func() {
			t.Helper()
			s.want("", "POST", "/jobs/request", obj{"token": d.runner}, 204, "")
		}
		rule := "/groups/" + number(g, "id") + "/protected_environments"
		s.do("olga", "POST", rule, obj{"name": "production", "deploy_access_levels": []obj{{"access_level": 40}}})
		for _, name := range []string{"alpha", "beta"} {
			s.do("dave", "POST", d.at+"/environments", obj{"name": name, "tier": "other"})
		}
		tier := func(name string) any { return d.all("/environments?name=" + name)[0]["tier"] }
		s.want("dave", "PUT", d.at+"/environments/"+number(d.all("/environments?name=alpha")[0], "id"), obj{"tier": "production"}, 403, "")
		d.expect("after the call", tier("alpha"), "other")

		const text = "deploy:\n  script: [make]\n  when: manual\n  environment: {name: alpha, deployment_tier: production}\n"
		play := func(as, environment string) {
			t.Helper()
			d.commit("by-"+as+"-to-"+environment, ".gitlab-ci.yml", strings.Replace(text, "alpha", environment, 1))
			s.do(as, "POST", d.at+"/jobs/"+number(d.all("/jobs")[0], "id")+"/play", nil)
		}
		play("dave", "alpha")
		idle()
		d.expect("the job of a developer", d.all("/jobs?scope[]=failed")[0]["status"], "failed")
		d.expect("its tier", tier("alpha"), "other")
		play("mona", "alpha")
		d.run("success")
		d.expect("the tier after the job of a maintainer", tier("alpha"), "production")

		s.do("olga", "PUT", rule+"/production", obj{"required_approval_count": 1})
		play("mona", "beta")
		idle()
		d.expect("the tier before an approval", tier("beta"), "other")
	})
}

// TestProtectedEnvironments_named lets users deploy whom a rule names, whatever the reference: reporters of a group too, who may start no other job. A group
// means its direct members, and with inheritance those of the groups above it.
func TestProtectedEnvironments_named(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		for _, name := range []string{"olga", "uwe", "gus"} {
			s.user(name, nil)
		}
		above := s.do("olga", "POST", "/groups", obj{"name": "acme", "path": "acme"})
		ops := s.do("olga", "POST", "/groups", obj{"name": "ops", "path": "ops", "parent_id": above["id"]})
		for name, level := range map[string]int{"rita": 20, "gus": 10, "mona": 10} {
			s.do("olga", "POST", "/groups/"+number(ops, "id")+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		s.do("olga", "POST", "/groups/"+number(above, "id")+"/members", obj{"user_id": s.ids["uwe"], "access_level": 20})
		s.do("mona", "POST", d.at+"/share", obj{"group_id": ops["id"], "group_access": 20})
		const text = "deploy:\n  script: [make]\n  when: manual\n  environment: production\nbuild:\n  script: [make]\n  when: manual\n"
		d.commit("main", ".gitlab-ci.yml", text)
		jobs := map[string]string{}
		for _, j := range d.all("/jobs") {
			jobs[j["name"].(string)] = d.at + "/jobs/" + number(j, "id")
		}
		s.want("rita", "POST", jobs["deploy"]+"/play", nil, 403, "")
		s.want("dave", "POST", jobs["deploy"]+"/play", nil, 403, "") // who may not push to the branch
		made := s.do("mona", "POST", d.at+"/protected_environments", obj{"name": "production", "deploy_access_levels": []obj{{"group_id": ops["id"]}}})
		level := made["deploy_access_levels"].([]any)[0].(map[string]any)
		d.expect("words", level["access_level_description"], "ops")
		d.expect("inheritance", level["group_inheritance_type"], 0.0)
		for _, name := range []string{"dave", "gus", "uwe"} { // not a member, a guest, and a member of the group above
			s.want(name, "POST", jobs["deploy"]+"/play", nil, 403, "")
		}
		s.want("rita", "POST", jobs["build"]+"/play", nil, 403, "")
		s.want("rita", "POST", jobs["build"]+"/cancel", nil, 403, "")
		s.want("rita", "POST", d.at+"/jobs/4711/play", nil, 403, "")
		s.want("rita", "POST", jobs["deploy"]+"/play", nil, 200, `"status":"pending"`)
		d.run("success")
		d.expect("deployments", d.states("production"), "success")
		again := s.do("rita", "POST", jobs["deploy"]+"/retry", nil)
		d.expect("the user of the new job", again["user"].(map[string]any)["username"], "rita")
		d.run("failed")

		retry := d.at + "/jobs/" + number(again, "id") + "/retry"
		s.do("mona", "PUT", d.at+"/protected_environments/production", obj{"deploy_access_levels": []obj{{"id": level["id"], "group_inheritance_type": 1}}})
		s.want("mona", "GET", d.at+"/protected_environments/production", nil, 200, `"group_inheritance_type":1`)
		s.do("uwe", "POST", retry, nil)
		d.run("success")
		d.expect("deployments", d.states("production"), "success failed success")
		s.do("mona", "PUT", d.at+"/protected_environments/production", obj{"deploy_access_levels": []obj{{"id": level["id"], "_destroy": true}, {"user_id": s.ids["dave"]}}})
		s.want("dave", "POST", jobs["build"]+"/play", nil, 403, "") // nothing has changed for other jobs
		last := d.all("/deployments?sort=desc")[0]["deployable"].(map[string]any)
		s.want("rita", "POST", d.at+"/jobs/"+number(last, "id")+"/retry", nil, 403, "")
		s.do("dave", "POST", d.at+"/jobs/"+number(last, "id")+"/retry", nil)
	})
}

// TestProtectedEnvironments_count blocks deployments by a number of approvals alone: all who may deploy approve, each once.
func TestProtectedEnvironments_count(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("max", nil)
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["max"], "access_level": 40})
		all := d.at + "/protected_environments"
		levels := []obj{{"access_level": 30}}
		for _, n := range []int{-1, 6} {
			s.want("mona", "POST", all, obj{"name": "production", "deploy_access_levels": levels, "required_approval_count": n}, 422, "Required approval count must be between 0 and 5")
		}
		s.want("mona", "POST", all, obj{"name": "production", "deploy_access_levels": levels, "required_approval_count": 1}, 201, `"required_approval_count":1,"approval_rules":[]`)
		s.want("mona", "PUT", all+"/production", obj{"required_approval_count": 2}, 200, `"required_approval_count":2`)
		s.want("mona", "PUT", all+"/production", obj{"required_approval_count": 9}, 422, "")
		s.want("mona", "GET", all, nil, 200, `"required_approval_count":2`)
		const text = "deploy:\n  script: [make]\n  environment: production\n"
		d.commit("main", ".gitlab-ci.yml", text)
		path := d.at + "/deployments/" + number(d.all("/deployments?sort=desc")[0], "id")
		s.want("rita", "GET", path, nil, 200, `"status":"blocked","pending_approval_count":2,"approvals":[],"approval_summary":{"rules":[]}`)
		approval := path + "/approval"
		s.want("rita", "POST", approval, obj{"status": "approved"}, 400, "You do not have permission to approve or reject this deployment")
		s.want("mona", "POST", approval, obj{"status": "approved"}, 400, "The same user can not approve")
		for range 2 {
			s.want("max", "POST", approval, obj{"status": "approved"}, 201, "")
		}
		s.want("rita", "GET", path, nil, 200, `"status":"blocked","pending_approval_count":1`)
		s.want("dave", "POST", approval, obj{"status": "approved"}, 201, "")
		s.want("rita", "GET", path, nil, 200, `"status":"created","pending_approval_count":0`)
		d.run("success")

		s.do("mona", "PUT", all+"/production", obj{"required_approval_count": 0})
		d.commit("main", ".gitlab-ci.yml", text+"# free\n")
		d.run("success")
		d.expect("deployments", d.states("production"), "success success")
	})
}
