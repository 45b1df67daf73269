package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/project"
)

func TestProjects_show_what_was_measured(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		g := get[struct{ ID int64 }](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[struct{ ID project.ID }](p, ann, "POST", "/projects", fmt.Sprintf("name=app&visibility=public&namespace_id=%d", g.ID), 201)
		at := fmt.Sprintf("/projects/%d", app.ID)
		_, body := p.call(ann, "GET", at+"?license=true", "")
		for _, want := range []string{`"readme_url":null`, `"license_url":null`, `"license":null`} {
			if !strings.Contains(body, want) {
				t.Errorf("before: %s is not in %s", want, body)
			}
		}
		if err := p.Projects.RecordPush(t.Context(), app.ID, "main", p.Now()); err != nil {
			t.Fatal(err)
		}
		measure := project.Measure{Commit: "c", Commits: 7, Size: 4096, Readme: "Read me.md", License: "COPYING", LicenseKey: "gpl-3.0"}
		if err := p.Projects.RecordMeasure(t.Context(), app.ID, measure); err != nil {
			t.Fatal(err)
		}
		_, body = p.call(ann, "GET", at+"?license=true&statistics=true", "")
		for _, want := range []string{
			`"readme_url":"https://tenon.example/team/app/-/blob/main/Read%20me.md"`,
			`"license_url":"https://tenon.example/team/app/-/blob/main/COPYING"`,
			`"license":{"key":"gpl-3.0","name":"GNU General Public License v3.0","nickname":"GNU GPLv3",`,
			`"statistics":{"commit_count":7,"storage_size":4096,"repository_size":4096,`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("after: %s is not in %s", want, body)
			}
		}
		for _, row := range []struct {
			query string
			args  []any
		}{
			{"INSERT INTO uploads (namespace_id, secret, name, size, created_at) VALUES (?, 'a', 'a.txt', 100, ?)", []any{g.ID, db.At(p.Now())}},
			{"INSERT INTO lfs_objects (id, oid, size, created_at) VALUES (1, 'a', 1000, ?)", []any{db.At(p.Now())}},
			{"INSERT INTO lfs_links (project_id, object_id, created_at) VALUES (?, 1, ?)", []any{app.ID, db.At(p.Now())}},
			{`INSERT INTO pipelines (id, iid, project_id, sha, ref, source, status, created_at, updated_at)
				VALUES (1, 1, ?, 'a', 'main', 'push', 'success', ?, ?)`, []any{app.ID, db.At(p.Now()), db.At(p.Now())}},
			{`INSERT INTO commit_statuses (id, pipeline_id, project_id, name, stage, ref, status, retried, created_at, updated_at)
				VALUES (1, 1, ?, 'a', 'test', 'main', 'success', false, ?, ?)`, []any{app.ID, db.At(p.Now()), db.At(p.Now())}},
			{
				`INSERT INTO job_artifacts (job_id, project_id, type, format, filename, object_key, size, sha256, access, created_at)
				VALUES (1, ?, 'archive', 'zip', 'a.zip', 'a', 40, 'a', 'public', ?), (1, ?, 'junit', 'gzip', 'a.xml', 'b', 2, 'b', 'public', ?)`,
				[]any{app.ID, db.At(p.Now()), app.ID, db.At(p.Now())},
			},
		} {
			if _, err := d.Exec(t.Context(), row.query, row.args...); err != nil {
				t.Fatal(err)
			}
		}
		_, list := p.call(adminToken, "GET", "/groups?statistics=true", "")
		for _, want := range []string{
			`"statistics":{"storage_size":5238,"repository_size":4096,"wiki_size":0,"lfs_objects_size":1000,"job_artifacts_size":42,`, `"uploads_size":100},`,
			`"root_storage_statistics":{"build_artifacts_size":42,`,
		} {
			if !strings.Contains(list, want) {
				t.Errorf("groups for the administrator: %s is not in %s", want, list)
			}
		}
		_, body = p.call(ann, "GET", at+"?statistics=true", "")
		if want := `"job_artifacts_size":42,`; !strings.Contains(body, want) || !strings.Contains(body, `"storage_size":5138,`) {
			t.Errorf("statistics with artifacts: %s is not in %s", want, body)
		}
		if _, list := p.call(ann, "GET", "/groups?statistics=true", ""); strings.Contains(list, `"statistics"`) {
			t.Errorf("groups for an owner: %s", list)
		}
		if _, ns := p.call(ann, "GET", "/namespaces/team", ""); !strings.Contains(ns, `"root_repository_size":4096`) {
			t.Errorf("namespace: %s", ns)
		}
		other := get[struct{ ID int64 }](p, ann, "POST", "/groups", "name=Guests&path=guests", 201)
		if _, list := p.call(ann, "GET", at+"/share_locations", ""); !strings.Contains(list, fmt.Sprintf(`[{"id":%d,`, other.ID)) {
			t.Errorf("share locations: %s", list)
		}
		p.call(ann, "POST", at+"/share", fmt.Sprintf("group_id=%d&group_access=20", other.ID))
		p.want(ann, "GET", at+"/share_locations", "", 200, `[]`)
		p.call(ann, "POST", "/groups", "name=More&path=more")
		if _, list := p.call(ann, "GET", at+"/share_locations", ""); !strings.Contains(list, `"full_path":"more"`) {
			t.Errorf("share locations: %s", list)
		}
		p.call(ann, "PUT", "/groups/team", "share_with_group_lock=true")
		p.want(ann, "GET", at+"/share_locations", "", 200, `[]`)
	})
}
