package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// What people do is in the feed and in the audit trail from the first write on.
func TestRecords(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		group := number(s.do("admin", "POST", "/groups", map[string]any{"name": "team", "path": "team"}), "id")
		s.do("admin", "POST", "/groups/"+group+"/members", map[string]any{"user_id": s.ids["ann"], "access_level": 40})
		made := s.do("ann", "POST", "/projects", map[string]any{"name": "shop", "namespace_id": group, "initialize_with_readme": true})
		at := "/projects/" + number(made, "id")
		s.do("ann", "POST", at+"/issues", map[string]any{"title": "Help"})
		s.do("ann", "POST", at+"/issues/1/notes", map[string]any{"body": "Coming."})
		s.do("ann", "PUT", at+"/issues/1", map[string]any{"state_event": "close"})
		s.do("ann", "POST", at+"/repository/files/a", map[string]any{
			"branch": "topic", "start_branch": "main", "content": "a", "commit_message": "Add a",
		})
		s.do("ann", "POST", at+"/merge_requests", map[string]any{"source_branch": "topic", "target_branch": "main", "title": "Add a"})
		s.do("ann", "PUT", at+"/merge_requests/1/merge", map[string]any{})

		type entry struct {
			Action  string  `db:"action"`
			Target  *string `db:"target_type"`
			Payload *string `db:"payload"`
		}
		feed, err := db.Select[entry](t.Context(), s.db, "SELECT action, target_type, payload FROM events ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range feed {
			what := e.Action
			if e.Target != nil {
				what += " " + *e.Target
			}
			if e.Payload != nil {
				var p struct {
					Ref         string `json:"ref"`
					CommitCount int    `json:"commit_count"`
				}
				if err := json.Unmarshal([]byte(*e.Payload), &p); err != nil || p.CommitCount < 1 {
					t.Errorf("payload %s: %v", *e.Payload, err)
				}
				what += " " + p.Ref
			}
			got = append(got, what)
		}
		for _, want := range []string{
			"joined", "created Project", "pushed main", "created Issue", "commented Note", "closed Issue", "pushed topic",
			"created MergeRequest", "merged MergeRequest",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("the feed lacks %q:\n%s", want, strings.Join(got, "\n"))
			}
		}

		type record struct {
			Event   string `db:"event_name"`
			Author  string `db:"author_name"`
			Details string `db:"details"`
		}
		trail, err := db.Select[record](t.Context(), s.db, "SELECT event_name, author_name, details FROM audit_events ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		events := map[string]record{}
		for _, r := range trail {
			events[r.Event] = r
		}
		for name, author := range map[string]string{
			"user_created": "Administrator", "personal_access_token_created": "Administrator", "group_created": "Administrator",
			"member_created": "Administrator", "project_created": "", "merge_request_merged": "",
		} {
			r, ok := events[name]
			if !ok || author != "" && r.Author != author && r.Author != "(System)" {
				t.Errorf("%s: %+v, want it by %q", name, r, author)
			}
			if ok && !strings.Contains(r.Details, `"custom_message"`) {
				t.Errorf("%s: details %s", name, r.Details)
			}
		}
	})
}
