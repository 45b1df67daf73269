package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

// TestQuickActions_descriptions makes issues and merge requests in the ways that no endpoint for them is part of: the quick
// actions of their descriptions run all the same, but for those in the text of a commit.
func TestQuickActions_descriptions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.do("planner", "POST", appIssues, `{"title":"First","labels":"bug"}`)
		app := p.World.Find(p.users["maint"], p.id)
		csv := "title,description\nImported,\"Text\n/label ~bug\n/create_merge_request of-csv\"\n"
		if out, err := p.Issues.Import(t.Context(), p.users["maint"], app, strings.NewReader(csv)); err != nil || len(out.Issues) != 1 {
			t.Fatalf("import: %+v, %v", out, err)
		}
		i := p.do("maint", "GET", appIssues+"/2", "")
		if i["description"] != "Text" || fmt.Sprint(i["labels"]) != "[bug]" {
			t.Errorf("imported %q with %v, want the text without its commands, and the label", i["description"], i["labels"])
		}
		if m := p.do("maint", "GET", requestsPath+"/1", ""); m["source_branch"] != "of-csv" {
			t.Errorf("the command of the row made %v, want a merge request from of-csv", m)
		}
		push := func(branch, tip string, options ...string) map[string]any {
			t.Helper()
			id, err := gitstore.ParseObjectID(tip)
			if err != nil {
				t.Fatal(err)
			}
			change := repo.RefChange{Ref: gitstore.RefName("refs/heads/" + branch), New: id}
			warning, err := p.MergeRequests.PushOptions(t.Context(), p.users["dev"], app, []repo.RefChange{change}, options)
			if err != nil || warning != "" {
				t.Fatalf("push %v: %q, %v", options, warning, err)
			}
			all := p.list("dev", requestsPath+"?source_branch="+branch, "iid")
			if len(all) != 1 {
				t.Fatalf("%d merge requests from %s, want 1", len(all), branch)
			}
			return p.do("dev", "GET", requestsPath+"/"+all[0], "")
		}
		one := p.commit("dev", "one", "main", "create", "one.txt", "1")
		if m := push("one", one, "merge_request.create", `merge_request.description=/label ~bug`); fmt.Sprint(m["labels"]) != "[bug]" || m["description"] != "" {
			t.Errorf("created with %v and %q, want the label and no text", m["labels"], m["description"])
		}
		if m := push("one", one, `merge_request.description=/unlabel ~bug`); fmt.Sprint(m["labels"]) != "[]" || m["description"] != "" {
			t.Errorf("updated to %v and %q, want neither label nor text", m["labels"], m["description"])
		}
		out := p.do("dev", "POST", "/projects/team%2Fapp/repository/commits",
			`{"branch":"two","start_branch":"main","commit_message":"Two\n\n/label ~bug","actions":[{"action":"create","file_path":"two.txt","content":"2"}]}`)
		if m := push("two", out["id"].(string), "merge_request.create"); fmt.Sprint(m["labels"]) != "[]" || m["description"] != "/label ~bug" {
			t.Errorf("created with %v and %q, want the text of the commit alone", m["labels"], m["description"])
		}
	})
}
