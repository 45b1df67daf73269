package app

import (
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// A group goes to another one: issues, merge requests and boards in it keep the titles of their labels and milestones
// and no iterations of the former group.
func TestGroupTransfer_planning(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := ""
			if engine == "postgres" {
				database = dbtest.PostgresURL(t)
			}
			s := newServer(t, database)
			s.user("mona", nil)
			group := func(path string, parent any) map[string]any {
				return s.do("mona", "POST", "/groups", obj{"name": path, "path": path, "parent_id": parent})
			}
			old, into := group("old", nil), group("into", nil)
			moved := group("moved", old["id"])
			p := s.do("mona", "POST", "/projects", obj{"name": "p", "namespace_id": moved["id"], "initialize_with_readme": true})
			at := func(kind string, of map[string]any) string { return kind + number(of, "id") }
			project := at("/projects/", p)
			ids := map[string]any{} // of labels and milestones, by group and title
			for place, of := range map[string]map[string]any{"old shared": old, "old former": old, "into shared": into} {
				title := place[len(place)-6:]
				ids["label "+place] = s.do("mona", "POST", at("/groups/", of)+"/labels", obj{"name": title, "color": "#112233"})["id"]
				ids["milestone "+place] = s.do("mona", "POST", at("/groups/", of)+"/milestones", obj{"title": title})["id"]
			}
			s.exec(`INSERT INTO iteration_cadences (namespace_id, title, title_fold, active, automatic, duration_in_weeks, upcoming, created_at, updated_at)
				SELECT id, 'c', 'c', true, false, 0, 0, created_at, updated_at FROM namespaces WHERE id = ?`, old["id"])
			s.exec(`INSERT INTO iterations (iid, cadence_id, namespace_id, sequence, title_fold, start_date, due_date, created_at, updated_at)
				SELECT 1, id, namespace_id, 1, '', '2023-05-01', '2023-05-07', created_at, updated_at FROM iteration_cadences`)
			s.do("mona", "POST", project+"/issues", obj{"title": "One", "labels": "shared,former", "milestone_id": ids["milestone old former"]})
			s.exec("UPDATE issues SET iteration_id = (SELECT MAX(id) FROM iterations)")
			s.exec("INSERT INTO label_priorities (label_id, project_id, priority) VALUES (?, ?, 3)", ids["label old former"], p["id"])
			s.do("mona", "POST", project+"/repository/branches", obj{"branch": "side", "ref": "main"})
			s.do("mona", "POST", project+"/merge_requests", obj{"title": "Two", "source_branch": "side", "target_branch": "main", "milestone_id": ids["milestone old shared"]})
			for _, place := range []string{project, at("/groups/", moved)} {
				board := place + "/boards/" + number(s.do("mona", "POST", place+"/boards", obj{"name": "b"}), "id")
				s.do("mona", "PUT", board, obj{"labels": "former", "milestone_id": ids["milestone old former"]})
				for _, list := range []obj{
					{"label_id": ids["label old shared"]}, {"label_id": ids["label old former"]}, {"milestone_id": ids["milestone old shared"]}, {"iteration_id": 1},
				} {
					s.do("mona", "POST", board+"/lists", list)
				}
			}

			s.do("mona", "POST", at("/groups/", moved)+"/transfer", obj{"group_id": into["id"]})
			one := func(query string, args ...any) any {
				t.Helper()
				n, err := db.Get[int64](t.Context(), s.db, query, args...)
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				return float64(n)
			}
			label := one("SELECT id FROM labels WHERE title = 'former' AND namespace_id = ?", moved["id"])
			milestone := one("SELECT id FROM milestones WHERE title = 'former' AND namespace_id = ?", moved["id"])
			for query, want := range map[string]any{
				"SELECT milestone_id FROM issues":                        milestone,
				"SELECT milestone_id FROM merge_requests":                ids["milestone into shared"],
				"SELECT COUNT(*) FROM issues WHERE iteration_id IS NULL": 1.0,
				"SELECT COUNT(*) FROM label_links WHERE label_id IN (SELECT id FROM labels WHERE title = 'former' AND namespace_id <> " + number(old, "id") + ")": 1.0,
				"SELECT priority FROM label_priorities WHERE label_id = " + fmt.Sprint(label):                                                                     3.0,
				"SELECT COUNT(*) FROM boards WHERE milestone_id = " + fmt.Sprint(milestone):                                                                       2.0,
				"SELECT COUNT(*) FROM board_labels WHERE label_id = " + fmt.Sprint(label):                                                                         2.0,
				"SELECT COUNT(*) FROM board_lists WHERE label_id = " + fmt.Sprint(ids["label into shared"]):                                                       2.0,
				"SELECT COUNT(*) FROM board_lists WHERE label_id = " + fmt.Sprint(label):                                                                          2.0,
				"SELECT COUNT(*) FROM board_lists WHERE milestone_id = " + fmt.Sprint(ids["milestone into shared"]):                                               2.0,
				"SELECT COUNT(*) FROM board_lists": 6.0, // those of the iteration are gone
				"SELECT COUNT(*) FROM labels":      4.0,
				"SELECT COUNT(*) FROM milestones":  4.0,
			} {
				if got := one(query); got != want {
					t.Errorf("%s: got %v, want %v", query, got, want)
				}
			}
		})
	}
}
