package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// A group is exported with the groups below it: an owner schedules it, a job makes the archive, and owners may download it for a day.
func TestExport_group(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		g := w.groups[0].values
		s.exec("DELETE FROM exports")
		path := "/groups/" + g["groups/:id"]
		w.plan("/projects/" + w.projects[0].values["projects/:id"])
		below := number(s.do("owner", "POST", "/groups", obj{"name": "Below", "path": "below", "parent_id": g["groups/:id"], "visibility": "private"}), "id")
		deeper := number(s.do("owner", "POST", "/groups", obj{"name": "Deeper", "path": "deeper", "parent_id": below, "visibility": "private"}), "id")
		s.do("owner", "POST", "/groups/"+deeper+"/labels", obj{"name": "deep", "color": "#00ff00"})
		s.user("second", func(*account.Input) {}) // owns the group as well
		s.do("admin", "POST", path+"/members", obj{"user_id": s.ids["second"], "access_level": authz.Owner})
		download := func(as string) int { return s.send(t.Context(), get(as, path+"/export/download")).Code }

		if got := download("owner"); got != http.StatusNotFound {
			t.Errorf("download before: %d, want 404", got)
		}
		for as, want := range map[string]int{"maintainer": 403, "stranger": 404, "owner": 202} {
			if a := s.send(t.Context(), request{as: as, method: http.MethodPost, path: path + "/export"}); a.Code != want {
				t.Errorf("export by %s: %d %s, want %d", as, a.Code, a.Body, want)
			}
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for as, want := range map[string]int{"owner": 200, "second": 200, "maintainer": 403, "stranger": 404} {
			if got := download(as); got != want {
				t.Errorf("download of %s: %d, want %d\n%s", as, got, want, s.logs.last())
			}
		}
		a := s.send(t.Context(), get("admin", path+"/export/download"))
		if h := a.Header(); h.Get("Content-Type") != "application/gzip" || !strings.HasSuffix(h.Get("Content-Disposition"), `_in-private_export.tar.gz"`) {
			t.Errorf("headers: %d %v", a.Code, h)
		}
		_, files := unpack(t, a.Body.Bytes())
		ids := checkGroups(t, files)
		if ids[0] != g["groups/:id"] || !slices.Contains(ids, below) || slices.Index(ids, below) > slices.Index(ids, deeper) {
			t.Errorf("groups %v, want %s, then %s and %s", ids, g["groups/:id"], below, deeper)
		}
		of := func(id, name string) string { return files["./tree/groups/"+id+"/"+name+".ndjson"] }
		top := g["groups/:id"]
		for _, tt := range []struct{ id, file, part string }{
			{top, "labels", `"type":"GroupLabel"`},
			{deeper, "labels", `"title":"deep"`},
			{top, "milestones", `"title":"All of private"`},
			{top, "badges", `"type":"GroupBadge"`},
			{top, "boards", `"list_type":"`},
			{top, "members", `"username":"second"`},
			{top, "members", `"source_type":"Namespace"`},
			{top, "epics", `"parent":{"iid":`},
			{top, "epics", `"author":{"name":`},
			{top, "epics", `"label_links":[{`},
			{top, "iterations_cadences", `"iterations":[{"iid":1`},
			{top, "namespace_settings", `"prevent_sharing_groups_outside_hierarchy":false`},
		} {
			if text := of(tt.id, tt.file); !strings.Contains(text, tt.part) {
				t.Errorf("%s of group %s lacks %s: %.600s", tt.file, tt.id, tt.part, text)
			}
		}
		if !strings.HasPrefix(files["./repositories/"+top+".wiki.bundle"], "# v2 git bundle\n") {
			t.Errorf("bundle of the wiki: %.50q", files["./repositories/"+top+".wiki.bundle"])
		}
		for name, text := range files {
			if strings.Contains(text, "s3cret") || strings.Contains(text, "glpat-") || strings.Contains(text, "KEY_private") {
				t.Errorf("%s has a secret", name)
			}
		}
	})
}
