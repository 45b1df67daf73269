package app

import (
	"fmt"
	"testing"
)

// A project tells its members the notification levels that they chose for it and for its group.
func TestNotificationLevel(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("mona", nil)
		group := "/groups/" + number(s.do("mona", "POST", "/groups", obj{"name": "work", "path": "work"}), "id")
		inside := s.do("mona", "POST", "/projects", obj{"name": "a", "namespace_id": s.do("mona", "GET", group, nil)["id"]})
		own := s.do("mona", "POST", "/projects", obj{"name": "b"})
		levels := func(p obj) string {
			all := s.do("mona", "GET", "/projects/"+number(p, "id"), nil)["permissions"].(obj)
			out := ""
			for _, key := range []string{"project_access", "group_access"} {
				if access, ok := all[key].(obj); ok {
					out += fmt.Sprintf("%s %v ", key, access["notification_level"])
				}
			}
			return out
		}
		check := func(wantInside, wantOwn string) {
			t.Helper()
			if got := levels(inside); got != wantInside {
				t.Errorf("in the group: %q, want %q", got, wantInside)
			}
			if got := levels(own); got != wantOwn {
				t.Errorf("of its own: %q, want %q", got, wantOwn)
			}
		}
		check("group_access 3 ", "project_access 3 ")
		s.do("mona", "PUT", group+"/notification_settings", obj{"level": "watch"})
		s.do("mona", "PUT", "/projects/"+number(own, "id")+"/notification_settings", obj{"level": "disabled"})
		check("group_access 2 ", "project_access 0 ")
		s.do("mona", "PUT", "/projects/"+number(own, "id")+"/notification_settings", obj{"level": "custom"})
		check("group_access 2 ", "project_access 5 ")
	})
}
