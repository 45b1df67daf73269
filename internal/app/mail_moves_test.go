package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/mail/mailtest"
	"tenon/internal/core/notify"
)

// testMailOfMoves moves and renames a project, whose members get mail, and has an issue that is due tomorrow.
func testMailOfMoves(t *testing.T, s *server, post *mailtest.Server) {
	group := s.do("mona", "POST", "/groups", obj{"name": "Depot", "path": "depot"})
	p := s.do("mona", "POST", "/projects", obj{"name": "Crane", "path": "crane"})
	path := "/projects/" + number(p, "id")
	s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["rick"], "access_level": 30})
	s.do("mona", "POST", path+"/members", obj{"user_id": s.ids["ada"], "access_level": 30})
	s.do("ada", "PUT", path+"/notification_settings", obj{"level": "custom", "moved_project": false})
	want := func(what, text string, names ...string) {
		t.Helper()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range post.Take() {
			if got = append(got, strings.Split(m.To, "@")[0]); !strings.Contains(m.Text, text) {
				t.Errorf("%s: got %s", what, m.Raw)
			}
		}
		if slices.Sort(got); !slices.Equal(got, names) {
			t.Errorf("%s: mail to %v, want %v", what, got, names)
		}
	}
	want("so far", "")
	s.do("mona", "PUT", path, obj{"description": "Lifts"})
	want("described", "")
	s.do("mona", "PUT", path+"/transfer", obj{"namespace": group["id"]})
	want("transferred", "mona moved project Crane from mona/crane to depot/crane.", "mona", "rick")
	s.do("mona", "PUT", path, obj{"path": "hoist"})
	want("another path", "mona moved project Crane from depot/crane to depot/hoist.", "mona", "rick")
	s.do("mona", "PUT", "/groups/"+number(group, "id"), obj{"description": "Things"})
	want("another group's description", "")
	s.do("mona", "PUT", "/groups/"+number(group, "id"), obj{"path": "store"})
	want("another path of the group", "mona moved project Crane from depot/hoist to store/hoist.", "mona", "rick")
	above := s.do("mona", "POST", "/groups", obj{"name": "Above", "path": "above"})
	s.do("mona", "POST", "/groups/"+number(group, "id")+"/transfer", obj{"group_id": above["id"]})
	want("the group transferred", "mona moved project Crane from store/hoist to above/store/hoist.", "mona", "rick")

	tomorrow := s.now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	s.do("rick", "POST", path+"/issues", obj{"title": "Oil it", "due_date": tomorrow})
	s.do("rick", "POST", path+"/issues", obj{"title": "Paint it", "due_date": s.now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)})
	s.exec("DELETE FROM due_mail_runs")
	if err := s.core.Notifications.Due(t.Context(), notify.Due{}); err != nil {
		t.Fatal(err)
	}
	want("due", "Issue #1 is due on "+tomorrow+": Oil it", "rick")
}
