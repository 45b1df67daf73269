package rest

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

// What the reference answers at the edges of the repository's interface, a row for each
// difference that was once there.
func TestRepository_edges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const invalidPath = `{"error":"file_path should be a valid file path"}`
		const write = `{"branch":"main","commit_message":"m","content":"x"}`
		p.rows(appPath+"/repository", []codeRow{
			// A name that looks like a full one would slip past the rules for the short one.
			{"dev", "POST", "/branches", `{"branch":"refs/heads/main","ref":"main"}`, 400, `{"message":"Branch name is invalid"}`},
			{"dev", "POST", "/branches", `{"branch":"refs/tags/x","ref":"main"}`, 400, `{"message":"Branch name is invalid"}`},
			{"dev", "POST", "/tags", `{"tag_name":"refs/tags/v1","ref":"main"}`, 400, `{"message":"Tag name invalid"}`},
			{"dev", "POST", "/tags", `{"tag_name":"refs/remotes/v1","ref":"main"}`, 400, `{"message":"Tag name invalid"}`},
			{"dev", "POST", "/branches", `{"branch":"refs","ref":"main"}`, 201, ""},
			{"dev", "POST", "/branches", `{"branch":"x","ref":""}`, 400, `{"message":"Failed to create branch 'x': invalid reference name ''"}`},

			{"dev", "POST", "/tags", `{"tag_name":"folder","ref":"main"}`, 201, ""},
			{"dev", "POST", "/tags", `{"tag_name":"folder/v1","ref":"main"}`, 400, `{"message":"Failed to create tag 'folder/v1': it conflicts with another tag"}`},
			{"dev", "POST", "/tags", `{"tag_name":"folder/v1","ref":"main","message":"m"}`, 400, `{"message":"Failed to create tag 'folder/v1': it conflicts with another tag"}`},
			{"dev", "POST", "/tags", `{"tag_name":"x","ref":""}`, 400, `{"message":"Target  is invalid"}`},
			{"", "GET", "/commits?author=a%0Ab", "", 200, `[]`},
			{"", "GET", "/contributors?ref=none", "", 404, `{"message":"404 Not Found"}`},

			{"", "GET", "/tree?pagination=offset", "", 400, `{"error":"pagination does not have a valid value"}`},
			{"", "GET", "/tree?pagination=legacy", "", 200, ""},

			{"", "GET", "/files/..%2Fa.txt?ref=main", "", 400, invalidPath},
			{"", "GET", "/files/x%2F..%2Fa.txt?ref=main", "", 400, invalidPath},
			{"", "GET", "/files/%2Fa.txt?ref=main", "", 400, invalidPath},
			{"", "GET", "/files/x%5C..%5Ca.txt/raw", "", 400, invalidPath},
			{"", "GET", "/files/..%2Fa.txt/blame?ref=main", "", 400, invalidPath},
			{"maint", "POST", "/files/..%2Fb", write, 400, invalidPath},
			{"maint", "PUT", "/files/%2Fb", write, 400, invalidPath},
			{"maint", "DELETE", "/files/..%2Fb", write, 400, invalidPath},
			{"", "GET", "/files/a.txt%2F?ref=main", "", 404, `{"message":"404 File Not Found"}`},
			{"", "GET", "/files/a..b?ref=main", "", 404, `{"message":"404 File Not Found"}`},

			{"maint", "POST", "/commits", `{"branch":"s","commit_message":"m","start_project":"none","actions":[{"action":"create","file_path":"n","content":"n"}]}`, 404, `{"message":"404 Project Not Found"}`},
		})
	})
}

// Pages by token go through the whole list once, in every order.
func TestRepository_tokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		for _, name := range []string{"v1.10", "v1.9", "a", "z/1"} {
			p.do("dev", "POST", appPath+"/repository/tags", `{"tag_name":"`+name+`","ref":"main"}`)
			p.do("dev", "POST", appPath+"/repository/branches", `{"branch":"`+name+`","ref":"main"}`)
		}
		for _, tt := range []struct{ list, want string }{
			{"tags?order_by=name&sort=asc", "a v1.10 v1.9 z/1"},
			{"tags?order_by=name&sort=desc", "z/1 v1.9 v1.10 a"},
			{"tags?order_by=version&sort=asc", "a v1.9 v1.10 z/1"},
			{"tags?order_by=updated", "z/1 v1.9 v1.10 a"},
			{"branches?sort=name_asc", "a main v1.10 v1.9 z/1"},
			{"branches?sort=updated_desc", ""},
		} {
			path := appPath + "/repository/" + tt.list
			if tt.want == "" {
				tt.want = p.pick("dev", path, "name")
			}
			var got []string
			for next := path + "&pagination=keyset&per_page=2"; next != "" && len(got) < 20; {
				w := p.send("dev", "GET", next, "")
				got = append(got, strings.Fields(p.pick("dev", next, "name"))...)
				link := w.Header().Get("Link")
				if w.Header().Get("X-Total") != "" || strings.Contains(link, `rel="first"`) {
					t.Errorf("%s: not a page of a keyset: %v", next, w.Header())
				}
				next = ""
				if _, rest, ok := strings.Cut(link, "/api/v4"); ok {
					next, _, _ = strings.Cut(rest, ">")
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.list, strings.Join(got, " "), tt.want)
			}
		}
		p.rows(appPath+"/repository", []codeRow{
			{"dev", "GET", "/tags?pagination=keyset&page_token=gone", "", 400, `{"message":"page_token is invalid"}`},
			{"dev", "GET", "/tree?pagination=keyset&page_token=gone", "", 400, `{"message":"400 Bad request - page_token is invalid"}`},
			{"dev", "GET", "/tree?pagination=keyset&page_token=" + strings.Repeat("0", 40), "", 400, `{"message":"400 Bad request - page_token is invalid"}`},
			{"dev", "GET", "/branches?pagination=keyset&page_token=gone&sort=updated_asc", "", 400, `{"message":"page_token is invalid"}`},
		})
		if got := p.pick("dev", appPath+"/repository/branches?pagination=keyset&page_token=gone", "name"); got != "main v1.10 v1.9 z/1" {
			t.Errorf("after a branch that is gone: %s", got)
		}
	})
}

// A commit may start from a branch of another project of the network of forks, and of no other.
func TestCreateCommit_startProject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.commit("maint", "main", "", "create", "origin.txt", "1\n")
		other := p.World.Project("team/fork", authz.Public, p.World.Group("forks", authz.Public, 0))
		p.World.Join(other, p.users["dev"], authz.Maintainer)
		commit := func(branch, from, more string) (string, string) {
			return "/projects/team%2Ffork/repository/commits", `{"branch":"` + branch + `","commit_message":"m","start_project":"` + from + `"` + more +
				`,"actions":[{"action":"create","file_path":"n.txt","content":"n"}]}`
		}
		path, body := commit("topic", "team/app", `,"start_branch":"main"`)
		p.want("dev", "POST", path, body, 403, `{"message":"403 Forbidden - Project is not included in the fork network for team / fork"}`)
		if _, err := d.Exec(t.Context(), "UPDATE projects SET forked_from_id = ?, fork_root_id = ? WHERE id = ?", p.id, p.id, other); err != nil {
			t.Fatal(err)
		}
		made := p.do("dev", "POST", path, body)
		if from := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"]; made["parent_ids"].([]any)[0] != from {
			t.Errorf("starts from %v, want %v", made["parent_ids"], from)
		}
		p.want("dev", "GET", "/projects/team%2Ffork/repository/files/origin.txt?ref=topic", "", 200, "")
		// The branch of the same name is where a commit starts that names none; one that is there already stays.
		path, body = commit("main", "team/app", "")
		p.want("dev", "POST", path, body, 201, "")
		path, body = commit("main", "team/app", "")
		p.want("dev", "POST", path, body, 400, `{"message":"A branch called 'main' already exists. Switch to that branch in order to make changes"}`)
		path, body = commit("other", "team/app", `,"start_sha":"none"`)
		p.want("dev", "POST", path, body, 400, `{"message":"Cannot find start_sha: none"}`)
	})
}

// Bodies of the wrong shape are refused with words for each, and nothing is committed.
func TestCreateCommit_wrongShapes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		head := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"]
		bad := func(words string) string { return `{"message":"400 Bad request - ` + words + `"}` }
		commit := func(actions string) string {
			return `{"branch":"main","commit_message":"m","actions":` + actions + `}`
		}
		const noArray, file = "actions must be an array", `"action":"create","file_path":"n"`
		for _, tt := range []struct{ body, want string }{
			{commit(`"x"`), bad(noArray)},
			{commit(`5`), bad(noArray)},
			{commit(`{"action":"create"}`), bad(noArray)},
			{commit(`[1]`), bad(noArray)},
			{commit(`null`), bad("Provide at least one action, or set allow_empty to true")},
			{commit(`[]`), bad("Provide at least one action, or set allow_empty to true")},
			{commit(`[null]`), bad("actions[0][action] is required")},
			{commit(`[{}]`), bad("actions[0][action] is required")},
			{commit(`[{"action":5,"file_path":"x"}]`), bad("actions[0][action] must be one of: create, update, move, delete, chmod")},
			{commit(`[{"action":"create"}]`), bad("actions[0][file_path] is required")},
			{commit(`[{"action":"create","file_path":["x"]}]`), `{"error":"actions[0][file_path] is invalid"}`},
			{commit(`[{` + file + `,"content":{"a":1}}]`), `{"error":"actions[0][content] is invalid"}`},
			{commit(`[{` + file + `,"content":"x","encoding":"utf8"}]`), bad("actions[0][encoding] must be text or base64")},
			{commit(`[{` + file + `,"content":"%","encoding":"base64"}]`), `{"message":"content is not valid base64: n"}`},
			{commit(`[{"action":"update","file_path":"a.txt"}]`), bad("actions[0][content] is required for update action")},
			{commit(`[{"action":"move","file_path":"x"}]`), bad("actions[0][previous_path] is required for move action")},
			{commit(`[{"action":"chmod","file_path":"a.txt"}]`), bad("actions[0][execute_filemode] is required for chmod action")},
			{commit(`[{"action":"chmod","file_path":"a.txt","execute_filemode":"maybe"}]`), `{"error":"actions[0][execute_filemode] is invalid"}`},
			{`{"branch":["main"],"commit_message":"m","actions":[]}`, `{"error":"branch is invalid"}`},
			{`{"branch":"main","commit_message":{"a":1},"allow_empty":true}`, `{"error":"commit_message is invalid"}`},
			{`{"branch":"main"`, `{"message":"Invalid json","error":"Invalid json"}`},
			{commit(`[{` + file + `,"content":"a\u0000b"}]`), `{"message":"Invalid json","error":"Invalid json"}`},
			{`[]`, bad("branch is required")},
		} {
			p.want("maint", "POST", appPath+"/repository/commits", tt.body, 400, tt.want)
		}
		// The right to push comes before the shape of the commit, but after the types of what
		// was sent.
		const denied = `{"message":"403 Forbidden - You are not allowed to push into this branch"}`
		for _, body := range []string{commit(`[{}]`), commit(`5`), commit(`"x"`), `{}`} {
			p.want("guest", "POST", appPath+"/repository/commits", body, 403, denied)
		}
		p.want("guest", "POST", appPath+"/repository/commits", `{"branch":["main"]}`, 400, `{"error":"branch is invalid"}`)
		if now := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"]; now != head {
			t.Errorf("main moved from %v to %v", head, now)
		}
	})
}

// A caller who may not see a project learns nothing of it by sending what would be refused: the
// answer is the one for a project that does not exist, byte for byte.
func TestRepository_bad_parameters_do_not_tell_a_hidden_project_from_a_missing_one(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, false)
	p := newCode(t, d)
	if _, err := d.Exec(t.Context(), "UPDATE namespaces SET visibility = ?", authz.Private); err != nil {
		t.Fatal(err)
	}
	p.open("topic")
	const missing = "/projects/team%2Fnone"
	seen := map[int]int{}
	for _, tt := range []struct{ method, path string }{
		{"POST", "/repository/commits"},
		{"POST", "/repository/files/a.txt"},
		{"PUT", "/repository/files/a.txt"},
		{"DELETE", "/repository/files/a.txt"},
		{"POST", "/merge_requests"},
		{"PUT", "/merge_requests/1"},
		{"PUT", "/merge_requests/1/merge"},
		{"POST", "/statuses/main"},
	} {
		for _, body := range []string{
			``, `{}`, `[]`, `{"branch":["main"]}`, `{"branch":"main","commit_message":"m","actions":5}`, `{"branch":"main","commit_message":"m","actions":[{}]}`,
			`{"branch":"main","commit_message":"m","content":{"a":1}}`, `{"branch":"main","commit_message":"m","content":"x","encoding":"utf8"}`,
			`{"branch":"main","commit_message":"m","start_project":{}}`, `{"squash":"maybe"}`, `{"title":"x"}`, `{"title":""}`,
			`{"title":"x","source_branch":"main","target_branch":"main"}`, `{"state":"odd"}`, `{"state":5}`, `{"sha`,
		} {
			there, none := p.send("stranger", tt.method, appPath+tt.path, body), p.send("stranger", tt.method, missing+tt.path, body)
			if there.Code != none.Code || there.Body.String() != none.Body.String() {
				t.Errorf("%s %s %s: %d %s, of a missing project %d %s", tt.method, tt.path, body, there.Code, there.Body, none.Code, none.Body)
			}
			seen[there.Code]++
		}
	}
	if len(seen) != 2 || seen[400] < 10 || seen[404] < 10 {
		t.Errorf("answers by status: got %v, want 400 and 404", seen)
	}
}

// Deleting a file asks for the right to push to the project first, and for the branch then:
// each has a refusal of its own, unlike those of the other writes.
func TestRepository_delete_file_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const write = `{"branch":"guarded","commit_message":"m","content":"x"}`
		const branch = "You are not allowed to push into this branch"
		p.do("maint", "POST", appPath+"/repository/branches?branch=guarded&ref=main", "")
		p.do("maint", "POST", appPath+"/protected_branches", `{"name":"guarded"}`)
		p.rows(appPath+"/repository", []codeRow{
			{"dev", "DELETE", "/files/a.txt", write, 400, `{"message":"` + branch + `"}`},
			{"guest", "DELETE", "/files/a.txt", write, 403, `{"message":"403 Forbidden"}`},
			{"planner", "DELETE", "/files/none", write, 403, `{"message":"403 Forbidden"}`},
			{"dev", "PUT", "/files/a.txt", write, 403, `{"message":"403 Forbidden - ` + branch + `"}`},
			{"guest", "POST", "/files/b.txt", write, 403, `{"message":"403 Forbidden - ` + branch + `"}`},
			{"maint", "DELETE", "/files/none", write, 400, `{"message":"A file with this name doesn't exist"}`},
			{"maint", "DELETE", "/files/a.txt", write, 204, ""},
		})
	})
}
