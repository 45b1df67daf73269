package rest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/repo"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		p.Repos = repo.New(repo.Deps{DB: d, Policy: authz.New(d, time.Now), Settings: p.Settings, Projects: p.Projects, Limits: &limit.Service{}})
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		if popular := get[[]gitlab.LicenseTemplate](p, "", "GET", "/templates/licenses?popular=true", "", 200); len(popular) != 3 || popular[2].Key != "mit" {
			t.Errorf("popular licenses: %+v", popular)
		}
		mit := get[gitlab.LicenseTemplate](p, "", "GET", "/templates/licenses/MIT?fullname=Ann&project=Shop", "", 200)
		if mit.Name != "MIT License" || !strings.Contains(mit.Content, "Copyright (c) 2026 Ann\n") || len(mit.Permissions) == 0 {
			t.Errorf("license: %+v", mit)
		}
		p.want("", "GET", "/templates/licenses/none", "", 404, `{"message":"404 License Not Found"}`)
		if list := get[[]gitlab.GitIgnoreTemplateListItem](p, "", "GET", "/templates/gitignores?per_page=2&page=2", "", 200); len(list) != 2 || list[0].Key == "" {
			t.Errorf("ignore lists: %+v", list)
		}
		if one := get[gitlab.GitIgnoreTemplate](p, "", "GET", "/templates/gitignores/C%2B%2B", "", 200); one.Name != "C++" || one.Content == "" {
			t.Errorf("ignore list: %+v", one)
		}
		p.want("", "GET", "/templates/dockerfiles/none", "", 404, `{"message":"404 Template Not Found"}`)

		own := get[gitlab.Project](p, ann, "POST", "/projects", "name=own&visibility=public", 201)
		at := fmt.Sprintf("/projects/%d/templates", own.ID)
		for _, kind := range []string{"dockerfiles", "gitignores", "gitlab_ci_ymls", "licenses"} {
			list := get[[]gitlab.ProjectTemplate](p, "", "GET", at+"/"+kind, "", 200)
			if len(list) == 0 || list[0].Key == "" || list[0].Name == "" {
				t.Fatalf("%s of a project: %+v", kind, list)
			}
			one := get[gitlab.ProjectTemplate](p, "", "GET", at+"/"+kind+"/"+url.PathEscape(list[0].Key), "", 200)
			if one.Content == "" || one.Name != list[0].Name {
				t.Errorf("%s of a project: %+v", kind, one)
			}
			p.want("", "GET", at+"/"+kind+"/none", "", 404, `{"message":"404 Template Not Found"}`)
		}
		if one := get[gitlab.ProjectTemplate](p, "", "GET", at+"/licenses/mit?fullname=Ann", "", 200); !strings.Contains(one.Content, "Copyright (c) 2026 Ann\n") {
			t.Errorf("license: %+v", one)
		}
		p.want("", "GET", at+"/poems", "", 400, `{"error":"type does not have a valid value"}`)
		p.want("", "GET", "/projects/999/templates/licenses", "", 404, `{"message":"404 Project Not Found"}`)

		p.want(ann, "POST", "/projects", "name=a&template_name=nothing", 400, `{"message":{"template":["'nothing' is unknown or invalid"]}}`)
		if made := get[gitlab.Project](p, ann, "POST", "/projects", "name=rails&template_name=rails", 201); made.ImportStatus != "scheduled" {
			t.Errorf("from a template: %q", made.ImportStatus)
		}
		for _, kind := range []string{"dockerfiles", "gitignores", "gitlab_ci_ymls", "licenses"} {
			if list := get[[]gitlab.ProjectTemplate](p, "", "GET", "/templates/"+kind+"?per_page=100", "", 200); len(list) < 25 {
				t.Errorf("%d %s, want 25 or more", len(list), kind)
			}
		}
		secret := get[gitlab.Project](p, ann, "POST", "/projects", "name=template&visibility=private", 201)
		body := fmt.Sprintf("name=copy&use_custom_template=true&template_project_id=%d", secret.ID)
		p.want(bob, "POST", "/projects", body, 400, fmt.Sprintf(`{"message":{"template":["'%d' is unknown or invalid"]}}`, secret.ID))
		if made := get[gitlab.Project](p, ann, "POST", "/projects", body, 201); made.ImportStatus != "scheduled" || made.ForkedFromProject != nil {
			t.Errorf("copy of a template: %q, %+v", made.ImportStatus, made.ForkedFromProject)
		}
	})
}
