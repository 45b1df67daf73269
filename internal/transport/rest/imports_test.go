package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/project"
)

func TestProjects_import(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		if err := p.Settings.Set(t.Context(), "import_sources", []string{}); err != nil {
			t.Fatal(err)
		}
		p.want(ann, "POST", "/projects", "name=a&import_url=https://git.example/a.git", 403, `{"message":"403 Forbidden"}`)
		if err := p.Settings.Set(t.Context(), "import_sources", []string{"git"}); err != nil {
			t.Fatal(err)
		}

		for address, want := range map[string]string{
			"ssh://git.example/a.git": "Import url is blocked: Only allowed schemes are http, https",
			"file:///etc":             "Import url is blocked: Only allowed schemes are http, https",
			"ext::id":                 "Import url is blocked: Only allowed schemes are http, https",
			"http://localhost/a.git":  "Import url is blocked: Requests to localhost are not allowed",
			"http://10.0.0.1/a.git":   "Import url is blocked: Requests to the local network are not allowed",
		} {
			p.want(ann, "POST", "/projects", "name=a&import_url="+address, 422, fmt.Sprintf(`{"message":%q}`, want))
		}
		p.want(ann, "POST", "/projects", "name=a&import_url=https://git.example/a.git&template_name=x", 400,
			`{"error":"import_url, template_name are mutually exclusive"}`)
		if got := get[[]gitlab.Project](p, ann, "GET", "/projects", "", 200); len(got) != 0 {
			t.Errorf("half made: %+v", got)
		}

		made := get[gitlab.Project](p, ann, "POST", "/projects", "name=a&visibility=public&import_url=https://sam:s3cret@git.example/a.git", 201)
		if made.ImportStatus != "scheduled" || made.ImportURL != "https://git.example/a.git" || made.ImportType != "git" {
			t.Errorf("import: %q from %q, %q", made.ImportStatus, made.ImportURL, made.ImportType)
		}
		at := fmt.Sprintf("/projects/%d", made.ID)
		if err := p.Projects.RecordImport(t.Context(), project.ID(made.ID), project.ImportFailed, "Words"); err != nil {
			t.Fatal(err)
		}
		status := get[gitlab.ImportStatus](p, ann, "GET", at+"/import", "", 200)
		if status.ImportStatus != "failed" || status.ImportType != "git" || status.ImportError != "Words" {
			t.Errorf("status: %+v", status)
		}
		p.want(bob, "GET", at+"/import", "", 403, `{"message":"403 Forbidden"}`)
		if _, seen := p.call(bob, "GET", at, ""); strings.Contains(seen, "git.example") || strings.Contains(seen, "Words") {
			t.Errorf("a stranger sees %s", seen)
		}
		if mine := get[[]gitlab.Project](p, ann, "GET", "/projects?imported=true", "", 200); len(mine) != 1 {
			t.Errorf("imported: %+v", mine)
		}
		if others := get[[]gitlab.Project](p, bob, "GET", "/projects?imported=true", "", 200); len(others) != 0 {
			t.Errorf("imported by another: %+v", others)
		}
		for _, args := range p.enqueued {
			if text, err := json.Marshal(args); err != nil || strings.Contains(string(text), "s3cret") {
				t.Errorf("job: %s, %v", text, err)
			}
		}
		if len(p.enqueued) != 1 {
			t.Errorf("jobs: %v", p.enqueued)
		}
	})
}

// There are no pull mirrors: a caller who asks for one is told, at once and whatever form it
// takes; what the server says of itself it also takes back.
func TestProjects_do_not_mirror(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=app", 201)
		at := fmt.Sprintf("/projects/%d", app.ID)
		for _, tt := range []struct{ form, field string }{
			{"mirror=true", "mirror"},
			{"mirror_trigger_builds=true", "mirror_trigger_builds"},
			{"only_mirror_protected_branches=true", "only_mirror_protected_branches"},
			{"mirror_overwrites_diverged_branches=true", "mirror_overwrites_diverged_branches"},
			{"mirror_user_id=1", "mirror_user_id"},
			{"mirror_branch_regex=main", "mirror_branch_regex"},
		} {
			want := `{"message":{"` + tt.field + `":["is not supported: this server has no pull mirrors"]}}`
			p.want(ann, "PUT", at, tt.form, 400, want)
			p.want(ann, "POST", "/projects", "name=other&"+tt.form, 400, want)
		}
		for _, address := range []string{"https://git.example/a.git", "http://127.0.0.1/", "%zz"} {
			p.want(ann, "PUT", at, "import_url="+url.QueryEscape(address), 400,
				`{"message":{"import_url":["is not supported: this server has no pull mirrors"]}}`)
		}
		if got := get[gitlab.Project](p, ann, "PUT", at, "mirror=false&mirror_trigger_builds=false&import_url=&mirror_branch_regex=&description=x", 200); got.Description != "x" || got.Mirror || got.ImportURL != "" {
			t.Errorf("without a mirror: %+v", got)
		}
		if _, err := d.Exec(t.Context(), `UPDATE projects SET settings = '{"import_url":"https://git.example/a.git"}' WHERE id = ?`, app.ID); err != nil {
			t.Fatal(err)
		}
		if got := get[gitlab.Project](p, ann, "PUT", at, "import_url=https://sam:s3cret@git.example/a.git", 200); got.ImportURL != "https://git.example/a.git" {
			t.Errorf("the address that it came from: %+v", got)
		}
	})
}
