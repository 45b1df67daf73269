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
