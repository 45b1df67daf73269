package app

import (
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Pages of issues have the order that their reader chose, and pipelines the number.
func TestWeb_preferences(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		owner, reporter := w.callers(t)["owner"], w.callers(t)["reporter"]
		in, group := "/"+w.path+"/-/", "/groups/"+w.group+"/-/issues"
		s.do("mona", "POST", "/projects/work%2Finner%2Ftools/issues", obj{"title": "Another"})
		first := func(b *browser, page string) string {
			t.Helper()
			p := b.get(page)
			if p.status != http.StatusOK {
				t.Fatalf("%s: got %d", page, p.status)
			}
			broken, another := strings.Index(p.text, "Broken &lt;hammer&gt;"), strings.Index(p.text, "Another")
			switch {
			case broken < 0 || another < 0:
				t.Fatalf("%s: an issue is missing in %s", page, p.text)
			case broken < another:
				return "Broken"
			}
			return "Another"
		}
		choose := func(p account.Preferences) {
			t.Helper()
			if _, err := w.core.Accounts.Prefer(t.Context(), authz.Actor{UserID: s.ids["mona"], Username: "mona"}, p); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct{ order, want string }{
			{"", "Another"}, {"created_asc", "Broken"}, {"created_desc", "Another"}, {"title_desc", "Broken"}, {"title_asc", "Another"}, {"milestone_due_asc", "Broken"},
		} {
			choose(account.Preferences{IssuesSort: &c.order})
			for _, page := range []string{in + "issues", group} {
				if got := first(owner, page); got != c.want {
					t.Errorf("%s in order %q: got %s first, want %s", page, c.order, got, c.want)
				}
				if got := first(reporter, page); got != "Another" {
					t.Errorf("%s for another user: got %s first", page, got)
				}
			}
		}
		other := s.do("mona", "POST", "/projects", obj{"name": "Other"})
		at := "/projects/" + number(other, "id")
		c := s.do("mona", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "First", "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}}})
		made := number(s.do("mona", "POST", at+"/statuses/"+c["id"].(string), obj{"state": "success", "name": "build"}), "pipeline_id")
		page := "/mona/other/-/pipelines/" + made
		for _, want := range []string{"<h1>Pipeline #" + made + " ", "<h1>Pipeline #1 "} {
			if p := owner.get(page); made == "1" || !strings.Contains(p.text, want) {
				t.Errorf("the page of the pipeline %s has no %q: %s", made, want, p.text)
			}
			yes := true
			choose(account.Preferences{PipelineIIDs: &yes})
		}
	})
}
