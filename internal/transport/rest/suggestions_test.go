package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// file reads a file of a branch.
func (p *planning) file(branch, path string) string {
	p.t.Helper()
	r, err := p.Repos.Open(p.t.Context(), p.Find(p.users["root"], p.id))
	if err != nil {
		p.t.Fatal(err)
	}
	tip, err := r.Branch(p.t.Context(), branch)
	if err != nil {
		p.t.Fatal(err)
	}
	entry, err := r.Entry(p.t.Context(), tip, path)
	if err != nil {
		p.t.Fatal(err)
	}
	content, err := r.Blob(p.t.Context(), entry.ID, 1<<20)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

// TestSuggestions writes suggestions on lines, in notes, replies and drafts, and applies them one by one
// and together; those on lines that have changed are refused.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.reviewed()
		const path = requestsPath + "/1/discussions"
		begin := func(as, body, position string) (thread string, list []any) {
			t.Helper()
			made := p.do(as, "POST", path, fmt.Sprintf(`{"body":%s,"position":%s}`, mustJSON(t, body), position))
			first := made["notes"].([]any)[0].(map[string]any)
			return made["id"].(string), first["suggestions"].([]any)
		}
		one, list := begin("guest", "Better:\n\n```suggestion\nFIVE\n```\n", p.at(`"new_line":5`))
		first := list[0].(map[string]any)
		if got := fmt.Sprint(first["from_line"], first["to_line"], first["appliable"], first["applied"], first["from_content"], first["to_content"]); got != "5 5 true falsefive\nFIVE\n" {
			t.Errorf("suggestion: %q", got)
		}
		_, list = begin("guest", "```suggestion:-1+1\nboth\n```\n\n```suggestion:-0+0\n```\n\n```text\nno\n```", p.at(`"new_line":11`))
		two := list[0].(map[string]any)
		if got := fmt.Sprint(len(list), two["from_line"], two["to_line"], two["from_content"]); got != "2 10 12line 10\nnew a\nnew b\n" {
			t.Errorf("multi-line: %q", got)
		}
		if _, list := begin("guest", "```suggestion\nx\n```", p.at(`"old_line":5`)); len(list) != 0 {
			t.Errorf("on a removed line: %v", list)
		}
		p.do("maint", "POST", draftsPath, fmt.Sprintf(`{"note":"%s","position":%s}`, "```suggestion\\nNEW B\\n```", p.at(`"new_line":12`)))
		p.want("maint", "POST", draftsPath+"/bulk_publish", "", 204, "")

		id := func(g map[string]any) string { return fmt.Sprint(g["id"]) }
		const missing = `{"message":"Suggestion is not applicable as the suggestion was not found."}`
		for _, tt := range []struct {
			as, path, body string
			status         int
			answer         string
		}{
			{"", id(first) + "/apply", "", 401, `{"message":"401 Unauthorized"}`},
			{"dev", "99/apply", "", 404, missing},
			{"guest", id(first) + "/apply", "", 403, ""},
			{"dev", "batch_apply", `{}`, 400, `{"error":"ids is missing"}`},
			{"dev", "batch_apply", fmt.Sprintf(`{"ids":[%s,99]}`, id(first)), 404, `{"message":"Suggestions are not applicable as one or more suggestions were not found."}`},
			{"dev", "batch_apply", fmt.Sprintf(`{"ids":[%s,%s]}`, id(two), id(list[1].(map[string]any))), 400, `{"message":"Suggestions are not applicable as their lines cannot overlap."}`},
		} {
			p.want(tt.as, "PUT", "/suggestions/"+tt.path, tt.body, tt.status, tt.answer)
		}

		// One is applied: a commit, a resolved thread, and a suggestion that is no longer one.
		if got := p.do("dev", "PUT", "/suggestions/"+id(first)+"/apply", ""); got["applied"] != true || got["appliable"] != false {
			t.Errorf("applied: %v", got)
		}
		commit := p.do("dev", "GET", appPath+"/repository/commits/topic", "")
		if text := fmt.Sprint(commit["message"], commit["author_name"]); !strings.HasPrefix(text, "Apply 1 suggestion(s) to 1 file(s)\n\nCo-authored-by: Guest <guest@example.com>") || !strings.HasSuffix(text, "Dev") {
			t.Errorf("commit: %q", text)
		}
		if got := p.discussion("dev", "GET", path+"/"+one, ""); !got.Notes[0].Resolved {
			t.Errorf("thread: %s", got)
		}
		p.want("dev", "PUT", "/suggestions/"+id(first)+"/apply", "", 400, `{"message":"Can't apply this suggestion."}`)

		// Two in one commit, with a message of the project: the position of the one follows the other.
		if _, err := d.Exec(t.Context(), "UPDATE projects SET suggestion_commit_message = '%{suggestions_count} in %{files_count}: %{file_paths} of %{branch_name}, %{project_path} %{project_name} by %{username} %{user_full_name}, %{odd}; %{co_authored_by}'"); err != nil {
			t.Fatal(err)
		}
		_, list = begin("maint", "```suggestion\nTOP\nTWO\n```", p.at(`"old_line":1,"new_line":1`))
		top := list[0].(map[string]any)
		p.want("dev", "PUT", "/suggestions/batch_apply", fmt.Sprintf(`{"ids":[%s,%s]}`, id(two), id(top)), 200, "")
		if got := p.do("dev", "GET", appPath+"/repository/commits/topic", "")["message"]; got != "2 in 1: code.txt of topic, app app by dev Dev, %{odd}; Co-authored-by: Guest <guest@example.com>\nCo-authored-by: Maint <maint@example.com>" {
			t.Errorf("message: %q", got)
		}
		if got, want := p.file("topic", "code.txt"), "TOP\nTWO\n"+numbered(20, map[int]string{1: "", 5: "FIVE\n", 10: "both\n", 15: ""}); got != want {
			t.Errorf("file:\n%s\nwant\n%s", got, want)
		}
		stale, err := db.Get[int64](t.Context(), d, "SELECT MAX(id) FROM suggestions WHERE to_content = ?", "NEW B\n")
		if err != nil {
			t.Fatal(err)
		}
		p.want("dev", "PUT", fmt.Sprintf("/suggestions/%d/apply", stale), `{"commit_message":"x"}`, 400, `{"message":"Can't apply as this line was changed in a more recent version."}`)

		// A changed text has other suggestions; those of a closed request are refused.
		thread, list := begin("dev", "```suggestion\nL2\n```", p.at(`"old_line":2,"new_line":3`))
		n := p.do("dev", "GET", path+"/"+thread, "")["notes"].([]any)[0].(map[string]any)
		p.do("dev", "PUT", fmt.Sprintf("%s/1/notes/%v", requestsPath, n["id"]), fmt.Sprintf(`{"body":%s}`, mustJSON(t, "```suggestion\nline 2\n```")))
		n = p.do("dev", "GET", path+"/"+thread, "")["notes"].([]any)[0].(map[string]any)
		same := n["suggestions"].([]any)[0].(map[string]any)
		if same["id"] == list[0].(map[string]any)["id"] || same["appliable"] != false {
			t.Errorf("after an update: %v", same)
		}
		p.want("dev", "PUT", "/suggestions/"+id(same)+"/apply", "", 400, `{"message":"This suggestion already matches its content."}`)
		p.do("dev", "PUT", requestsPath+"/1", `{"state_event":"close"}`)
		p.want("dev", "PUT", "/suggestions/"+id(same)+"/apply", "", 400, `{"message":"This merge request is closed. To apply this suggestion, edit this file directly."}`)
		p.checkCounters()
		p.want("owner", "DELETE", requestsPath+"/1", "", 204, "")
	})
}
