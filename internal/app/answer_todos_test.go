package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/budget"
)

// What to-do items are about stands inside them: its long texts are cut, so that a page of many is answered. Read alone they are whole.
func TestTodos_large(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben"} {
			s.user(name, nil)
		}
		group := number(s.do("ann", "POST", "/groups", obj{"name": "Bakery", "path": "bakery"}), "id")
		p := number(s.do("ann", "POST", "/projects", obj{"name": "Bread", "namespace_id": group, "initialize_with_readme": true}), "id")
		at := "/projects/" + p
		s.do("ann", "POST", "/groups/"+group+"/members", obj{"user_id": int64(s.ids["ben"]), "access_level": 40})
		const issues = 34 // more than 32 MiB of descriptions
		long := strings.Repeat("x", budget.MaxRepeated-1) + strings.Repeat("\u00e4", 500_000)
		for i := range issues {
			s.do("ann", "POST", at+"/issues", obj{"title": fmt.Sprint("Issue ", i)})
			s.do("ben", "POST", fmt.Sprintf("%s/issues/%d/todo", at, i+1), nil)
		}
		c := s.do("ann", "POST", at+"/repository/commits", obj{"branch": "topic", "start_branch": "main", "commit_message": "Rise\n\n" + long, "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}}})
		s.do("ann", "POST", at+"/merge_requests", obj{"title": "Merge", "source_branch": "topic", "target_branch": "main"})
		s.do("ben", "POST", at+"/merge_requests/1/todo", nil)
		s.do("ann", "POST", "/groups/"+group+"/epics", obj{"title": "Epic"})
		s.do("ben", "POST", "/groups/"+group+"/epics/1/todo", nil)
		s.do("ann", "POST", at+"/repository/commits/"+c["id"].(string)+"/comments", obj{"note": "@ben look " + strings.Repeat("y", 2*budget.MaxRepeated)})
		for _, table := range []string{"issues", "merge_requests", "epics"} {
			s.exec("UPDATE "+table+" SET description = ?", long)
		}

		a := s.send(t.Context(), get("ben", "/todos?per_page=100"))
		var list []struct {
			TargetType string `json:"target_type"`
			Body       string
			TargetURL  string `json:"target_url"`
			Target     struct{ Description, Message string }
		}
		if a.Code != http.StatusOK || json.Unmarshal(a.Body.Bytes(), &list) != nil || len(list) != issues+3 {
			t.Fatalf("got %d with %d to-do items: %.300s", a.Code, len(list), a.Body)
		}
		kinds := map[string]int{}
		for _, item := range list {
			kinds[item.TargetType]++
			text := item.Target.Description
			if item.TargetType == "Commit" {
				if text = item.Target.Message; len(item.Body) != budget.MaxRepeated+len(budget.CutMark) || !strings.HasSuffix(item.Body, budget.CutMark) {
					t.Errorf("the comment on a commit has %d bytes", len(item.Body))
				}
			} else if want := long[:budget.MaxRepeated-1] + budget.CutMark; text != want {
				t.Errorf("the description of %s has %d bytes, want %d", item.TargetURL, len(text), len(want))
			}
			if !strings.HasSuffix(text, budget.CutMark) || len(text) > budget.MaxRepeated+len(budget.CutMark) {
				t.Errorf("the text of %s has %d bytes and ends %q", item.TargetURL, len(text), text[max(0, len(text)-30):])
			}
		}
		if got := fmt.Sprint(kinds); got != fmt.Sprintf("map[Commit:1 Epic:1 Issue:%d MergeRequest:1]", issues) {
			t.Errorf("got %s", got)
		}
		if got := s.do("ben", "GET", at+"/issues/1", nil)["description"]; got != long {
			t.Errorf("the issue itself has a description of %d bytes, want %d", len(got.(string)), len(long))
		}
	})
}
