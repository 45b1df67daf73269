package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
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

		p.want(ann, "POST", "/projects", "name=a&template_name=rails", 400, `{"message":{"template":["'rails' is unknown or invalid"]}}`)
		secret := get[gitlab.Project](p, ann, "POST", "/projects", "name=template&visibility=private", 201)
		body := fmt.Sprintf("name=copy&use_custom_template=true&template_project_id=%d", secret.ID)
		p.want(bob, "POST", "/projects", body, 400, fmt.Sprintf(`{"message":{"template":["'%d' is unknown or invalid"]}}`, secret.ID))
		if made := get[gitlab.Project](p, ann, "POST", "/projects", body, 201); made.ImportStatus != "scheduled" || made.ForkedFromProject != nil {
			t.Errorf("copy of a template: %q, %+v", made.ImportStatus, made.ForkedFromProject)
		}
	})
}
