package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestReleases_evidence releases a tag whose pipeline knows the description. Its evidence is collected, shown by the API with an address that
// answers to those who may read it, and collected again on demand.
func TestReleases_evidence(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n  rules: [{if: $CI_COMMIT_TAG}]\n")
		m := s.do("mona", "POST", d.at+"/milestones", obj{"title": "One"})
		s.do("mona", "POST", d.at+"/issues", obj{"title": "Shown", "milestone_id": m["id"]})
		s.do("mona", "POST", d.at+"/issues", obj{"title": "Secret", "milestone_id": m["id"], "confidential": true})
		made := s.do("dave", "POST", d.at+"/releases", obj{
			"tag_name": "group/v1", "ref": "main", "description": strings.Repeat("x", 2000), "milestones": []string{"One"},
			"assets": obj{"links": []obj{{"name": "tool", "url": "https://example.com/tool", "direct_asset_path": "/bin/tool"}}},
		})
		if list, ok := made["evidences"].([]any); !ok || len(list) != 0 {
			t.Errorf("evidences of a new release: %v", made["evidences"])
		}
		d.drained()
		d.expect("the description in a pipeline of the tag", d.run("success")["CI_RELEASE_DESCRIPTION"], strings.Repeat("x", 1024))
		one := d.at + "/releases/group%2Fv1"
		read := func(as string) []any { return s.do(as, "GET", one, nil)["evidences"].([]any) }
		list := read("rita")
		if len(list) != 1 {
			t.Fatalf("evidences: %v", list)
		}
		evidence := list[0].(map[string]any)
		path := evidence["filepath"].(string)
		if !strings.HasPrefix(path, s.baseURL+"/mona/shop/-/releases/group%2Fv1/evidences/") || len(evidence["sha"].(string)) != 64 {
			t.Errorf("evidence: %v", evidence)
		}
		s.user("stan", nil)
		a := s.visit("rita", path)
		if text := a.Body.String(); a.Code != http.StatusOK || a.Header().Get("Content-Type") != "application/json" || !strings.Contains(text, `"title":"Shown"`) ||
			strings.Contains(text, "Secret") || !strings.HasPrefix(text, `{"release":{"id":`) {
			t.Errorf("%s: %d %s", path, a.Code, text)
		}
		for as, path := range map[string]string{"": path, "stan": path, "mona": path + "x", "dave": strings.Replace(path, "group%2Fv1", "group%2Fv2", 1)} {
			if a := s.visit(as, path); a.Code != http.StatusNotFound {
				t.Errorf("%s as %q: %d", path, as, a.Code)
			}
		}
		asset := s.baseURL + "/mona/shop/-/releases/group%2Fv1/downloads/bin/tool"
		if a := s.visit("rita", asset); a.Code != http.StatusFound || a.Header().Get("Location") != "https://example.com/tool" {
			t.Errorf("%s: %d %v", asset, a.Code, a.Header())
		}
		if a := s.visit("stan", asset); a.Code != http.StatusNotFound {
			t.Errorf("%s as a stranger: %d", asset, a.Code)
		}

		s.want("rita", "POST", one+"/evidence", nil, 403, "")
		s.want("", "POST", one+"/evidence", nil, 401, "")
		s.want("stan", "POST", one+"/evidence", nil, 404, "")
		s.want("dave", "POST", d.at+"/releases/v9/evidence", nil, 404, "")
		s.want("dave", "POST", one+"/evidence", nil, 200, `"evidences":[{`)
		d.expect("pieces of evidence", len(read("rita")), 2)

		// A change of something else leaves the milestones alone.
		s.want("dave", "PUT", one, obj{}, 400, `"params is empty"`)
		s.want("dave", "PUT", one, obj{"name": "Other"}, 200, `"title":"One"`)
		s.want("dave", "PUT", one, obj{"milestone_ids": []any{}}, 200, `"milestones":[]`)
	})
}

// TestReleases_latest leads to the latest release and to what is below it with the query of the request, but for the order and credentials. A release that is
// not there is told from a tag that is not.
func TestReleases_latest(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		latest := d.at + "/releases/permalink/latest"
		s.want("rita", "GET", latest, nil, 404, `{"message":"404 Not Found"}`)
		s.want("rita", "GET", d.at+"/releases/v1", nil, 404, `{"message":"404 Not Found"}`)
		s.want("dave", "PUT", d.at+"/releases/v1", obj{"name": "One"}, 404, `{"message":"Tag does not exist"}`)
		s.do("dave", "POST", d.at+"/repository/tags", obj{"tag_name": "v1", "ref": "main"})
		s.want("dave", "PUT", d.at+"/releases/v1", obj{"name": "One"}, 404, `{"message":"Release does not exist"}`)
		s.want("rita", "PUT", d.at+"/releases/v2", obj{"name": "One"}, 403, "")
		s.do("dave", "POST", d.at+"/releases", obj{"tag_name": "v1"})
		s.do("dave", "POST", d.at+"/releases", obj{"tag_name": "v2", "ref": "main", "released_at": "2999-01-01"})
		for query, want := range map[string]string{
			"":                                "",
			"?order_by=released_at":           "",
			"/downloads/bin/tool":             "/downloads/bin/tool",
			"?include_html_description=true":  "?include_html_description=true",
			"/downloads/a%20b?order_by=x&z=1": "/downloads/a%20b?z=1",
			"?a=b&job_token=x&private_token=": "?a=b",
		} {
			a := d.send(t.Context(), get("rita", latest+query))
			if to := s.baseURL + "/api/v4" + d.at + "/releases/v1" + want; a.Code != http.StatusFound || a.Header().Get("Location") != to {
				t.Errorf("%s leads to %d %s, want %s", query, a.Code, a.Header().Get("Location"), to)
			}
		}
	})
}
