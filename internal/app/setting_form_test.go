package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSettings_anonymousSearches keeps visitors from searching the instance, over each transport.
func TestSettings_anonymousSearches(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	group := s.do("ann", "POST", "/groups", obj{"name": "cranes", "path": "cranes", "visibility": "public"})
	s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public", "namespace_id": group["id"]})
	b := s.browse(t)
	check := func(open bool) {
		t.Helper()
		status := map[bool]int{true: 200, false: 401}[open]
		for _, path := range []string{"/projects?search=crane", "/groups?search=crane"} {
			s.want("", "GET", path, nil, status, "")
			s.want("ann", "GET", path, nil, 200, "crane")
		}
		for _, path := range []string{"/projects", "/groups", "/groups/cranes/projects?search=crane"} {
			s.want("", "GET", path, nil, 200, "crane")
		}
		for _, query := range []string{`{ projects(search: "crane") { nodes { fullPath } } }`, `{ groups(search: "crane") { nodes { fullPath } } }`} {
			found := s.send(t.Context(), request{method: "POST", path: "/api/graphql", whole: true, body: obj{"query": query}}).Body.String()
			if strings.Contains(found, `"cranes`) != open {
				t.Errorf("%s: %s, want it %v", query, found, open)
			}
		}
		if p := b.get("/explore/projects?search=crane"); (p.status == http.StatusOK && strings.Contains(p.text, "cranes/crane")) != open || !open && !strings.HasPrefix(p.header.Get("Location"), "/users/sign_in?return_to=") {
			t.Errorf("page: %d %v, want it %v", p.status, p.header, open)
		}
		if p := b.get("/explore/projects"); !strings.Contains(p.text, "cranes/crane") {
			t.Errorf("page without a search: %d", p.status)
		}
	}
	check(true)
	s.set(obj{"anonymous_searches_allowed": false})
	check(false)
	b.signIn("ann", annPassword)
	if p := b.get("/explore/projects?search=crane"); p.status != http.StatusOK || !strings.Contains(p.text, "cranes/crane") {
		t.Errorf("signed in: %d %s", p.status, p.text)
	}
	b = s.browse(t)
	s.set(obj{"anonymous_searches_allowed": true})
	check(true)
}

// TestSettings_forms turns what is chosen in forms of pages before users choose: who sees a snippet and whether a variable is protected.
func TestSettings_forms(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.person("ann", annPassword)
		s.person("ben", annPassword)
		s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"})
		b := s.browse(t)
		b.signIn("ann", annPassword)
		const own, inProject, ci = "/-/snippets/new", "/ann/crane/-/snippets/new", "/ann/crane/-/settings/ci_cd"
		for _, level := range []string{"private", "internal", "public"} {
			s.set(obj{"default_snippet_visibility": level})
			for _, at := range []string{own, inProject} {
				if p := b.get(at); !strings.Contains(p.text, `value="`+level+`" checked`) || strings.Count(p.text, " checked") != 1 {
					t.Errorf("%s, %s: %s", at, level, p.text)
				}
			}
		}
		form := func(file string) url.Values {
			return url.Values{"title": {"Bolts"}, "description": {"Of *steel*"}, "file_name": {file}, "content": {"one\r\ntwo"}, "visibility_level": {"internal"}}
		}
		for _, at := range []string{own, inProject} {
			p := b.post(at, at, form("a.txt"))
			if p.status != http.StatusSeeOther {
				t.Fatalf("%s: %d %s", at, p.status, p.text)
			}
			if p := b.get(p.header.Get("Location")); !strings.Contains(p.text, "Bolts") || !strings.Contains(p.text, "two") || !strings.Contains(p.text, "internal") {
				t.Errorf("the snippet: %s", p.text)
			}
			if p := b.post(at, at, form("../a.txt")); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, `value="internal" checked`) || !strings.Contains(p.text, `role="alert"`) {
				t.Errorf("a bad name: %d %s", p.status, p.text)
			}
		}
		bad := form("a.txt")
		bad.Set("visibility_level", "secret")
		if p := b.post(own, own, bad); p.status != http.StatusUnprocessableEntity {
			t.Errorf("a bad level: %d", p.status)
		}

		const checked = `name="protected" value="1" checked`
		for _, protect := range []bool{true, false} {
			s.set(obj{"protected_ci_variables": protect})
			if p := b.get(ci); strings.Contains(p.text, checked) != protect {
				t.Errorf("protected %v: %s", protect, p.text)
			}
		}
		s.want("ann", "POST", "/projects/ann%2Fcrane/variables", obj{"key": "BY_API", "value": "x"}, 201, `"protected":false`)
		p := b.post(ci, ci, url.Values{"key": {"TOOL"}, "secret_value": {"hammer-and-nail"}, "environment_scope": {"*"}, "protected": {"1"}})
		if p.status != http.StatusSeeOther {
			t.Fatalf("a variable: %d %s", p.status, p.text)
		}
		s.want("ann", "GET", "/projects/ann%2Fcrane/variables/TOOL", nil, 200, `"protected":true`)
		if p := b.get(ci); !strings.Contains(p.text, "TOOL") || strings.Contains(p.text, "hammer-and-nail") {
			t.Errorf("the list: %s", p.text)
		}
		if p := b.post(ci, ci, url.Values{"key": {"bad key"}, "secret_value": {"x"}, "environment_scope": {"*"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, `value="bad key"`) {
			t.Errorf("a bad key: %d %s", p.status, p.text)
		}
		s.set(obj{"shared_runners_enabled": true, "shared_runners_text": "Be **kind** to them"})
		if p := b.get(ci); !strings.Contains(p.text, "Be <strong>kind</strong> to them") {
			t.Errorf("the text about runners: %s", p.text)
		}
		c := s.browse(t)
		c.signIn("ben", annPassword)
		if p := c.get(ci); p.status != http.StatusForbidden {
			t.Errorf("another user: %d", p.status)
		}
	})
}

// TestSettings_pipelinePages suggests a pipeline to a project without one, and has browsers ask again for the pages of one that goes on.
func TestSettings_pipelinePages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	s.person("ben", annPassword)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public", "initialize_with_readme": true}), "id")
	s.do("ann", "POST", path+"/repository/branches", obj{"branch": "side", "ref": "main"})
	s.do("ann", "POST", path+"/merge_requests", obj{"title": "Mend", "source_branch": "side", "target_branch": "main"})
	b, c := s.browse(t), s.browse(t)
	b.signIn("ann", annPassword)
	c.signIn("ben", annPassword)
	suggested := func(by *browser, want bool) {
		t.Helper()
		if p := by.get("/ann/crane/-/merge_requests/1"); p.status != 200 || strings.Contains(p.text, "This project has no pipelines") != want {
			t.Errorf("suggested, want %v: %d %s", want, p.status, p.text)
		}
	}
	suggested(b, true)
	suggested(c, false) // who cannot make one
	s.set(obj{"suggest_pipeline_enabled": false})
	suggested(b, false)
	s.set(obj{"suggest_pipeline_enabled": true})

	s.do("ann", "POST", path+"/repository/files/.gitlab-ci.yml", obj{"branch": "main", "commit_message": "x", "content": "press: {script: [make]}"})
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	suggested(b, false)
	pipes := s.send(t.Context(), request{as: "ann", method: "GET", path: path + "/jobs"}).Body.String()
	if !strings.Contains(pipes, `"status":"pending"`) {
		t.Fatalf("jobs: %s", pipes)
	}
	var job, pipeline string
	for id := range strings.SplitSeq(pipes, `"web_url":"`+s.baseURL) {
		at, _, _ := strings.Cut(id, `"`)
		switch {
		case strings.HasPrefix(at, "/ann/crane/-/jobs/"):
			job = at
		case strings.HasPrefix(at, "/ann/crane/-/pipelines/"):
			pipeline = at
		}
	}
	refreshed := func(want string) {
		t.Helper()
		for _, at := range []string{job, pipeline} {
			if p := b.get(at); p.status != 200 || p.header.Get("Refresh") != want {
				t.Errorf("%s: %d, refreshed after %q, want %q", at, p.status, p.header.Get("Refresh"), want)
			}
		}
	}
	for multiplier, want := range map[string]string{"1": "10", "2.55": "26", "0": "", "0.01": "1", "1000000": "86400"} {
		s.set(obj{"polling_interval_multiplier": multiplier})
		refreshed(want)
	}
	s.set(obj{"polling_interval_multiplier": "1", "shared_runners_text": "They work at **night**"})
	if p := b.get(job); !strings.Contains(p.text, "They work at <strong>night</strong>") {
		t.Errorf("a job that waits: %s", p.text)
	}
	s.do("ann", "POST", path+"/jobs/"+job[strings.LastIndexByte(job, '/')+1:]+"/cancel", nil)
	refreshed("")
	if p := b.get(job); strings.Contains(p.text, "at <strong>night") {
		t.Errorf("a job that is canceled: %s", p.text)
	}
}
