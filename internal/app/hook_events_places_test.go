package app

import (
	"encoding/json"
	"fmt"
	"testing"

	"tenon/internal/core/payload"
)

// placeEvents makes events about memberships, requests for them, subgroups and projects, in a group of its own.
func (s *server) placeEvents(drain func()) {
	cara := s.user("cara", nil)
	group := s.do("admin", "POST", "/groups", obj{"name": "Club", "path": "club", "visibility": "internal"})
	other := s.do("admin", "POST", "/groups", obj{"name": "Other", "path": "other", "parent_id": group["id"]})
	p := s.do("admin", "POST", "/projects", obj{"name": "Open", "namespace_id": group["id"], "visibility": "internal"})
	for _, at := range []string{"/groups/" + number(group, "id"), "/projects/" + number(p, "id")} {
		member := fmt.Sprint(at, "/members/", cara)
		s.do("cara", "POST", at+"/access_requests", nil)
		s.do("admin", "DELETE", fmt.Sprint(at, "/access_requests/", cara), nil)
		drain() // while all of them are there
		s.do("admin", "POST", at+"/members", obj{"user_id": cara, "access_level": 20})
		s.do("admin", "PUT", member, obj{"access_level": 30})
		s.do("admin", "DELETE", member, nil)
		drain()
	}
	at := "/projects/" + number(p, "id")
	s.do("admin", "PUT", at, obj{"description": "words"})
	s.do("admin", "PUT", at+"/transfer", obj{"namespace": other["id"]})
	s.do("admin", "PUT", at, obj{"path": "opened"})
	drain()
	s.do("admin", "DELETE", at, nil)
	drain()
	at = "/groups/" + number(other, "id")
	s.do("admin", "DELETE", at, nil)
	s.do("admin", "DELETE", at, obj{"permanently_remove": true, "full_path": s.do("admin", "GET", at, nil)["full_path"]})
	drain()
}

// placeNames are the events of groups and of the instance that placeEvents makes.
var placeNames = map[payload.Trigger][]string{
	payload.Member: {
		"user_add_to_group", "user_update_for_group", "user_remove_from_group", "user_access_request_to_group", "user_access_request_denied_for_group",
	},
	payload.Subgroup: {"subgroup_create", "subgroup_destroy"},
	payload.Project:  {"project_create", "project_update", "project_transfer", "project_rename", "project_destroy"},
	payload.System: {
		"user_add_to_group", "user_update_for_group", "user_remove_from_group", "user_access_request_to_group", "user_access_request_revoked_for_group",
		"user_add_to_team", "user_update_for_team", "user_remove_from_team", "user_access_request_to_project", "user_access_request_revoked_for_project",
		"group_create", "group_destroy", "project_create", "project_update", "project_transfer", "project_rename", "project_destroy",
	},
}

// checkPlaceEvents fails for an event that no message is about.
func checkPlaceEvents(t *testing.T, received []*payload.Message) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range received {
		var b struct {
			Event string `json:"event_name"`
		}
		if err := json.Unmarshal(m.JSON, &b); err != nil {
			t.Fatal(err)
		}
		seen[string(m.Trigger)+" "+b.Event] = true
	}
	for trigger, names := range placeNames {
		for _, name := range names {
			if !seen[string(trigger)+" "+name] {
				t.Errorf("%s: no message about %s", trigger, name)
			}
		}
	}
}
