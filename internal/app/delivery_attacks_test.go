package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/account"
)

// TestDelivery_attacks has a test for each class of attacks on environments, deployments, releases and feature flags, by its row of the list of attacks.
func TestDelivery_attacks(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		for _, name := range []string{"stan", "gus"} {
			s.user(name, nil)
		}
		s.user("auditor", func(in *account.Input) { in.Auditor = true })
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})
		other := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": "Other", "initialize_with_readme": true}), "id")
		main := d.do("mona", "GET", d.at+"/repository/branches/main", nil)["commit"].(map[string]any)["id"].(string)
		made := s.do("mona", "POST", d.at+"/deployments", obj{"environment": "production", "sha": main, "ref": "main", "tag": false, "status": "success"})
		d.drained()
		environment, deployment := number(d.environment("production"), "id"), number(made, "id")
		s.do("mona", "POST", d.at+"/releases", obj{"tag_name": "w1", "ref": "main"})
		link := number(s.do("mona", "POST", d.at+"/releases/w1/assets/links", obj{"name": "tool", "url": "https://example.com/tool"}), "id")
		freeze := number(s.do("mona", "POST", d.at+"/freeze_periods", obj{"freeze_start": "0 23 * * 5", "freeze_end": "0 7 * * 1"}), "id")
		s.do("mona", "POST", d.at+"/feature_flags", obj{"name": "dark_mode", "strategies": []obj{{"name": "default", "parameters": obj{}}}})
		list := number(s.do("mona", "POST", d.at+"/feature_flags_user_lists", obj{"name": "Testers", "user_xids": "dan"}), "iid")

		t.Run("A8", func(t *testing.T) { // a branch and a tag of one name: what is shown is what is downloaded
			s.do("mona", "POST", d.at+"/repository/branches", obj{"branch": "v1", "ref": "main"})
			s.do("mona", "POST", d.at+"/repository/commits", obj{"branch": "v1", "commit_message": "Back door [skip ci]", "actions": []obj{{"action": "create", "file_path": "backdoor.txt", "content": "x"}}})
			r := s.do("mona", "POST", d.at+"/releases", obj{"tag_name": "v1", "ref": main})
			if got := r["commit"].(map[string]any)["id"]; got != main {
				t.Errorf("the release is of %v, want %s", got, main)
			}
			for _, source := range r["assets"].(map[string]any)["sources"].([]any) {
				address := source.(map[string]any)["url"].(string)
				if !strings.HasSuffix(address, ".tar") {
					continue
				}
				a := s.send(t.Context(), request{as: "mona", method: http.MethodGet, path: strings.TrimPrefix(address, s.baseURL), whole: true})
				if text := a.Body.String(); a.Code != http.StatusOK || !strings.Contains(text, "README.md") || strings.Contains(text, "backdoor") {
					t.Errorf("%s: got %d, and the files of the branch: %t", address, a.Code, strings.Contains(text, "backdoor"))
				}
			}
			s.want("mona", "POST", d.at+"/deployments", obj{"environment": "eu", "sha": main, "ref": "v1", "tag": true, "status": "success"}, 201, `"sha":"`+main)
			s.do("mona", "DELETE", d.at+"/repository/branches/v1", nil)
			d.drained()
			if got := d.environment("eu")["state"]; got != "available" {
				t.Errorf("the environment of the tag is %v when the branch is deleted", got)
			}
		})
		t.Run("C8", func(t *testing.T) { // merge requests of a deployment, for those who may not read them
			d.commit("topic", "topic.txt", "x")
			m := s.do("mona", "POST", d.at+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "Hidden topic"})
			d.drained()
			merged := s.do("mona", "PUT", d.at+"/merge_requests/"+number(m, "iid")+"/merge", nil)
			next := s.do("mona", "POST", d.at+"/deployments", obj{"environment": "production", "sha": merged["merge_commit_sha"], "ref": "main", "tag": false, "status": "success"})
			d.drained()
			path := d.at + "/deployments/" + number(next, "id") + "/merge_requests"
			s.want("rita", "GET", path, nil, 200, "Hidden topic")
			s.do("mona", "PUT", d.at, obj{"visibility": "public", "merge_requests_access_level": "private"})
			s.want("rita", "GET", path, nil, 200, "Hidden topic")
			if a := s.send(t.Context(), get("stan", path)); strings.Contains(a.Body.String(), "Hidden") || a.Code == http.StatusOK && strings.TrimSpace(a.Body.String()) != "[]" {
				t.Errorf("a stranger got %d %s", a.Code, a.Body)
			}
			s.do("mona", "PUT", d.at, obj{"visibility": "private", "merge_requests_access_level": "enabled"})
		})
		t.Run("C9", func(t *testing.T) { // ids of another project
			s.do("mona", "POST", other+"/releases", obj{"tag_name": "w1", "ref": "main"})
			for _, path := range []string{
				"/environments/" + environment, "/deployments/" + deployment, "/deployments/" + deployment + "/merge_requests", "/releases/w1/assets/links/" + link,
				"/freeze_periods/" + freeze, "/feature_flags/dark_mode", "/feature_flags_user_lists/" + list,
			} {
				s.want("mona", "GET", other+path, nil, 404, "")
			}
			for _, ask := range []struct {
				method, path string
				body         obj
			}{
				{"PUT", "/environments/" + environment, obj{"tier": "other"}},
				{"POST", "/environments/" + environment + "/stop", nil},
				{"PUT", "/deployments/" + deployment, obj{"status": "failed"}},
				{"DELETE", "/deployments/" + deployment, nil},
				{"POST", "/deployments/" + deployment + "/approval", obj{"status": "approved"}},
				{"PUT", "/releases/w1/assets/links/" + link, obj{"name": "x"}},
				{"DELETE", "/releases/w1/assets/links/" + link, nil},
				{"PUT", "/freeze_periods/" + freeze, obj{"cron_timezone": "UTC"}},
				{"DELETE", "/freeze_periods/" + freeze, nil},
				{"PUT", "/feature_flags/dark_mode", obj{"active": false}},
				{"DELETE", "/feature_flags_user_lists/" + list, nil},
			} {
				s.want("mona", ask.method, other+ask.path, ask.body, 404, "")
			}
			s.want("mona", "GET", d.at+"/feature_flags/dark_mode", nil, 200, `"active":true`)
		})
		t.Run("E1", func(t *testing.T) { // those who may deploy do not let others deploy
			for _, ask := range []struct {
				method, path string
				body         obj
			}{
				{"POST", "/protected_environments", obj{"name": "production", "deploy_access_levels": []obj{{"user_id": s.ids["dave"]}}}},
				{"POST", "/freeze_periods", obj{"freeze_start": "0 0 * * *", "freeze_end": "0 1 * * *"}},
				{"DELETE", "/freeze_periods/" + freeze, nil},
				{"DELETE", "/deployments/" + deployment, nil},
			} {
				s.want("dave", ask.method, d.at+ask.path, ask.body, 403, "")
			}
		})
		t.Run("E2", func(t *testing.T) { // scopes of tokens, and tokens that are no user's
			token := s.do("mona", "POST", d.at+"/deploy_tokens", obj{"name": "reader", "scopes": []string{"read_repository"}})
			key := s.do("admin", "POST", "/users/"+fmt.Sprint(s.ids["mona"])+"/personal_access_tokens", obj{"name": "reading", "scopes": []string{"read_api"}})
			s.keys["deploys"], s.keys["reads"] = token["token"].(string), key["token"].(string)
			for _, path := range []string{"/environments", "/deployments", "/releases", "/feature_flags", "/freeze_periods", "/protected_environments"} {
				if a := s.send(t.Context(), request{as: "reads", method: http.MethodPost, path: d.at + path, body: obj{"name": "x"}}); a.Code != http.StatusForbidden {
					t.Errorf("a token that reads wrote to %s: %d %s", path, a.Code, a.Body)
				}
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					if a := s.send(t.Context(), request{as: "deploys", way: deployToken, method: method, path: d.at + path}); a.Code < 400 {
						t.Errorf("a deploy token asked %s %s: %d %s", method, path, a.Code, a.Body)
					}
				}
			}
		})
		t.Run("F7", func(t *testing.T) { // each reference is decided by itself
			s.do("mona", "POST", d.at+"/protected_tags", obj{"name": "safe*", "create_access_level": 40})
			s.do("dave", "POST", d.at+"/releases", obj{"tag_name": "free1", "ref": "main"})
			s.want("dave", "POST", d.at+"/releases", obj{"tag_name": "safe1", "ref": "main"}, 403, "You are not allowed to create this tag as it is protected.")
			s.want("dave", "GET", d.at+"/repository/tags/safe1", nil, 404, "")
			s.do("mona", "POST", d.at+"/releases", obj{"tag_name": "safe2", "ref": "main"})
			for _, method := range []string{"PUT", "DELETE"} {
				s.want("dave", method, d.at+"/releases/safe2", obj{"name": "x"}, 403, "")
			}
			s.do("dave", "PUT", d.at+"/releases/free1", obj{"name": "x"})
		})
		t.Run("G10", func(t *testing.T) { // names that a shell would run are refused, or stay text
			for _, name := range []string{"$(id)", "`id`", "a;id", "a|id", "a\nid", "a'b", `a"b`, "a&b", "a>b"} {
				s.want("mona", "POST", d.at+"/environments", obj{"name": name}, 400, "")
			}
			d.commit("x;touch${IFS}y", ".gitlab-ci.yml", "ship: {script: x, environment: {name: review/$CI_COMMIT_REF_SLUG, url: \"https://x.example/$CI_COMMIT_REF_NAME\"}}\n")
			variables := d.run("success")
			d.expect("the name of the branch", variables["CI_COMMIT_REF_NAME"], "x;touch${IFS}y")
			if slug := variables["CI_ENVIRONMENT_SLUG"]; strings.ContainsAny(slug, ";$`&|") || slug == "" {
				t.Errorf("slug %q", slug)
			}
		})
		t.Run("H6", func(t *testing.T) { // an auditor reads all of it and writes none
			for _, path := range []string{"/environments", "/deployments", "/releases", "/protected_environments", "/freeze_periods"} {
				if a := s.send(t.Context(), get("auditor", d.at+path)); a.Code != http.StatusOK {
					t.Errorf("an auditor reads %s: %d", path, a.Code)
				}
			}
			for _, ask := range []struct {
				method, path string
				body         obj
			}{
				{"POST", "/environments", obj{"name": "x"}},
				{"PUT", "/environments/" + environment, obj{"tier": "other"}},
				{"POST", "/environments/" + environment + "/stop", nil},
				{"DELETE", "/environments/" + environment, nil},
				{"POST", "/environments/stop_stale", obj{"before": "2020-01-01"}},
				{"DELETE", "/environments/review_apps", nil},
				{"POST", "/deployments", obj{"environment": "x", "sha": main, "ref": "main", "tag": false, "status": "success"}},
				{"PUT", "/deployments/" + deployment, obj{"status": "failed"}},
				{"DELETE", "/deployments/" + deployment, nil},
				{"POST", "/deployments/" + deployment + "/approval", obj{"status": "approved"}},
				{"POST", "/releases", obj{"tag_name": "x1", "ref": "main"}},
				{"PUT", "/releases/w1", obj{"name": "x"}},
				{"DELETE", "/releases/w1", nil},
				{"POST", "/releases/w1/evidence", nil},
				{"POST", "/releases/w1/assets/links", obj{"name": "x", "url": "https://example.com/x"}},
				{"DELETE", "/releases/w1/assets/links/" + link, nil},
				{"POST", "/protected_environments", obj{"name": "x", "deploy_access_levels": []obj{{"access_level": 40}}}},
				{"POST", "/freeze_periods", obj{"freeze_start": "0 0 * * *", "freeze_end": "0 1 * * *"}},
				{"DELETE", "/freeze_periods/" + freeze, nil},
				{"POST", "/feature_flags", obj{"name": "x1"}},
				{"DELETE", "/feature_flags/dark_mode", nil},
				{"POST", "/feature_flags_client", nil},
			} {
				s.want("auditor", ask.method, d.at+ask.path, ask.body, 403, "")
			}
		})
	})
}
