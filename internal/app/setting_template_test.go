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

// TestFileTemplates_groups offers files of a project to all projects below a group; the nearest group counts, and no group offers a project
// that is elsewhere.
func TestFileTemplates_groups(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.user("ben", nil)
		texts := func(as, name, content string, in any) any {
			t.Helper()
			p := s.do(as, "POST", "/projects", obj{"name": name, "namespace_id": in, "visibility": "private", "initialize_with_readme": true})
			s.do(as, "POST", "/projects/"+number(p, "id")+"/repository/files/LICENSE%2FOwn.txt", obj{"branch": "main", "commit_message": "x", "content": content})
			return p["id"]
		}
		outer := s.do("ann", "POST", "/groups", obj{"name": "outer", "path": "outer", "visibility": "public"})
		inner := s.do("ann", "POST", "/groups", obj{"name": "inner", "path": "inner", "parent_id": outer["id"], "visibility": "public"})
		made := s.do("ann", "POST", "/projects", obj{"name": "crane", "namespace_id": inner["id"], "visibility": "public"})
		at := "/projects/" + number(made, "id") + "/templates/licenses"
		none := func() {
			t.Helper()
			s.want("ben", "GET", at+"/Own", nil, 404, "404 Template Not Found")
		}
		offer := func(group obj, id any) {
			t.Helper()
			s.want("ann", "PUT", "/groups/"+number(group, "id"), obj{"file_template_project_id": id}, 200, "")
		}
		none()
		s.set(obj{"file_template_project_id": texts("admin", "instance", "of the instance", nil)})
		s.want("ben", "GET", at+"/Own", nil, 200, "of the instance")
		offer(outer, texts("ann", "texts", "of outer", outer["id"]))
		s.want("ben", "GET", at+"/Own", nil, 200, "of outer")
		offer(inner, texts("ann", "texts", "of inner", inner["id"]))
		s.want("ben", "GET", at+"/Own", nil, 200, "of inner")
		if got := s.send(t.Context(), request{as: "ben", method: "GET", path: at + "?per_page=100"}).Body.String(); strings.Count(got, `"key":"Own"`) != 1 {
			t.Errorf("listed: %s", got)
		}
		s.set(obj{"file_template_project_id": nil})
		offer(outer, 0)
		offer(inner, texts("ben", "secret", "of Ben alone", nil)) // which the owner of the group must not read
		none()
		offer(inner, texts("ann", "other", "elsewhere", nil))
		none()
	})
}
