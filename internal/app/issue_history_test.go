package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
)

// What links issues, moves and clones them is in the history of both.
func TestIssueHistory(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	one := s.do("mona", "POST", "/projects", obj{"name": "One"})
	two := s.do("mona", "POST", "/projects", obj{"name": "Two"})
	first, second := "/projects/"+number(one, "id"), "/projects/"+number(two, "id")
	for _, title := range []string{"a", "b", "c", "d"} {
		s.do("mona", "POST", first+"/issues", obj{"title": title})
	}
	lines := func(at string, want ...string) {
		t.Helper()
		w := s.send(t.Context(), get("mona", at+"/notes?sort=asc&activity_filter=only_activity"))
		var notes []struct {
			Body string `json:"body"`
		}
		err := json.Unmarshal(w.Body.Bytes(), &notes)
		got := make([]string, 0, len(notes))
		for _, n := range notes {
			got = append(got, n.Body)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("history of %s: got %q, want %q (%d %v)", at, got, want, w.Code, err)
		}
	}
	link := s.do("mona", "POST", first+"/issues/1/links", obj{"target_project_id": one["id"], "target_issue_iid": 2})
	s.do("mona", "DELETE", first+"/issues/1/links/"+number(link, "id"), nil)
	lines(first+"/issues/2", "marked this issue as related to #1", "removed the relation with #1")
	s.do("mona", "POST", first+"/issues/1/links", obj{"target_project_id": one["id"], "target_issue_iid": 2, "link_type": "blocks"})
	s.do("mona", "POST", first+"/issues/1/clone", obj{"to_project_id": one["id"]})
	lines(first+"/issues/5", "cloned from #1")
	s.do("mona", "POST", first+"/issues/1/move", obj{"to_project_id": two["id"]})
	lines(first+"/issues/1", "marked this issue as related to #2", "removed the relation with #2", "marked this issue as blocking #2", "cloned to #5",
		"moved to mona/two#1")
	lines(second+"/issues/1", "marked this issue as related to mona/one#2", "removed the relation with mona/one#2",
		"marked this issue as blocking mona/one#2", "cloned to mona/one#5", "moved from mona/one#1")

	as := authz.Actor{UserID: s.ids["mona"], Username: "mona"}
	p, err := s.core.Projects.Find(t.Context(), as, number(one, "id"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.core.Issues.MarkDuplicate(t.Context(), as, p, 4, issue.Other{Project: p.FullPath, IID: 3}); err != nil {
		t.Fatal(err)
	}
	lines(first+"/issues/4", "marked this issue as related to #3", "marked this issue as a duplicate of #3")
	lines(first+"/issues/3", "marked this issue as related to #4", "marked #4 as a duplicate of this issue")
	was := s.do("mona", "GET", first+"/issues/4", nil)
	if url := was["_links"].(obj)["closed_as_duplicate_of"]; was["state"] != "closed" || url != fmt.Sprintf("%s/api/v4%s/issues/3", s.baseURL, first) {
		t.Errorf("the duplicate: state %v, closed_as_duplicate_of %v, want closed and the URL of #3", was["state"], url)
	}
}
