package app

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// TestOrphans deletes a project and a group: the reactions to what was in them go along, and the labels
// of groups that it had. What older versions left is found by the check, and repaired.
func TestOrphans(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		top := s.do("admin", "POST", "/groups", obj{"name": "top", "path": "top"})
		below := s.do("admin", "POST", "/groups", obj{"name": "below", "path": "below", "parent_id": top["id"]})
		at := "/groups/" + number(below, "id")
		s.do("admin", "POST", "/groups/"+number(top, "id")+"/labels", obj{"name": "bug", "color": "#112233"})
		p := s.do("admin", "POST", "/projects", obj{"name": "p", "namespace_id": top["id"], "initialize_with_readme": true})
		inside := "/projects/" + number(p, "id")
		s.do("admin", "POST", inside+"/issues", obj{"title": "one", "labels": "bug"})
		s.do("admin", "POST", inside+"/repository/branches", obj{"branch": "b", "ref": "main"})
		s.do("admin", "POST", inside+"/merge_requests", obj{"title": "two", "labels": "bug", "source_branch": "b", "target_branch": "main"})
		note := s.do("admin", "POST", inside+"/issues/1/notes", obj{"body": "three"})
		epic := s.do("admin", "POST", at+"/epics", obj{"title": "four", "labels": "bug"})
		remark := s.do("admin", "POST", at+"/epics/"+number(epic, "id")+"/notes", obj{"body": "five"})
		for _, on := range []string{
			inside + "/issues/1", inside + "/merge_requests/1", inside + "/issues/1/notes/" + number(note, "id"),
			at + "/epics/" + number(epic, "iid"), at + "/epics/" + number(epic, "id") + "/notes/" + number(remark, "id"),
		} {
			s.do("admin", "POST", on+"/award_emoji", obj{"name": "tada"})
		}
		left := func(awards, labels int) {
			t.Helper()
			for table, want := range map[string]int{"award_emoji": awards, "label_links": labels} {
				n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM "+table)
				if err != nil || n != want {
					t.Errorf("%d rows of %s, %v, want %d", n, table, err, want)
				}
			}
		}
		other := s.do("admin", "POST", "/projects", obj{"name": "q", "namespace_id": top["id"], "visibility": "private"})
		outside := "/projects/" + number(other, "id")
		s.do("admin", "POST", outside+"/issues", obj{"title": "six"})
		s.do("admin", "POST", outside+"/issues/1/links", obj{"target_project_id": p["id"], "target_issue_iid": 1})
		s.do("admin", "PUT", inside+"/issues/1", obj{"description": "See q#1."})
		s.do("admin", "POST", at+"/epics/"+number(epic, "id")+"/notes", obj{"body": "See top/q#1."})
		lines := func(want int) {
			t.Helper()
			n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM notes WHERE system AND project_id = ?", other["id"])
			if err != nil || n != want {
				t.Errorf("%d lines of history name what may be gone, %v, want %d", n, err, want)
			}
		}
		lines(3) // linked, and mentioned in an issue and an epic
		left(5, 3)
		s.do("admin", "DELETE", inside, nil)
		if err := s.core.Projects.Purge(t.Context(), project.Purge{ProjectID: project.ID(int64(p["id"].(float64)))}); err != nil {
			t.Fatal(err)
		}
		left(2, 1)
		lines(1)
		if err := s.core.Projects.PurgeGroup(t.Context(), project.PurgeGroup{GroupID: namespace.ID(int64(below["id"].(float64)))}); err != nil {
			t.Fatal(err)
		}
		left(0, 0)
		lines(0)

		for _, old := range []string{
			"INSERT INTO award_emoji (name, user_id, awardable_type, awardable_id, created_at, updated_at) SELECT 'tada', id, 'Note', 999, created_at, created_at FROM users ORDER BY id LIMIT 1",
			"INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', 999, id FROM labels",
		} {
			if n, err := s.db.Exec(t.Context(), old); err != nil || n != 1 {
				t.Fatalf("%s: %d, %v", old, n, err)
			}
		}
		for _, want := range []string{"label_links: 1 name things that are gone; --repair deletes them award_emoji: 1 name things that are gone; --repair deletes them", ""} {
			found, err := s.adminCheck(t.Context(), CheckInput{Repair: want == ""}, func(string) {})
			if got := strings.Join(found.Rows, " "); err != nil || got != want {
				t.Errorf("the check finds %q, %v, want %q", got, err, want)
			}
		}
		left(0, 0)
	})
}
