package app

import (
	"net/url"
	"strings"
	"testing"
)

// TestFileTemplates offers files of a project to all projects, also to those who do not see it.
func TestFileTemplates(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		source := s.do("ann", "POST", "/projects", obj{"name": "texts", "visibility": "private", "initialize_with_readme": true})
		for _, file := range []string{"Dockerfile/Own.dockerfile", "gitignore/C++.gitignore", "gitlab-ci/Own.yml", "LICENSE/Own.txt", "LICENSE/notes.md"} {
			s.do("ann", "POST", "/projects/"+number(source, "id")+"/repository/files/"+url.PathEscape(file), obj{"branch": "main", "commit_message": "x", "content": "of the instance"})
		}
		at := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "own", "visibility": "public"}), "id") + "/templates/"
		list := func(kind string) string {
			return s.send(t.Context(), request{method: "GET", path: at + kind + "?per_page=100"}).Body.String()
		}
		before := strings.Count(list("gitignores"), `"key"`)
		s.set(obj{"file_template_project_id": source["id"]})
		for kind, key := range map[string]string{"dockerfiles": "Own", "gitignores": "C++", "gitlab_ci_ymls": "Own", "licenses": "Own"} {
			s.want("", "GET", at+kind+"/"+url.PathEscape(key), nil, 200, `"content":"of the instance"`)
			s.want("", "GET", at+kind+"/none", nil, 404, "404 Template Not Found")
			if got := list(kind); strings.Count(got, `"key":"`+key+`"`) != 1 || strings.Contains(got, "notes") {
				t.Errorf("%s: %s", kind, got)
			}
		}
		if after := strings.Count(list("gitignores"), `"key"`); after != before {
			t.Errorf("%d ignore lists, want %d: one stands for another", after, before)
		}
		s.want("", "GET", at+"licenses/mit", nil, 200, "MIT License")
		s.set(obj{"file_template_project_id": nil})
		s.want("", "GET", at+"licenses/Own", nil, 404, "404 Template Not Found")
	})
}
