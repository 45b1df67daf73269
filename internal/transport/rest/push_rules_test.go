package rest

import (
	"context"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

func TestPushRules(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const rule = appPath + "/push_rule"
		p.rows("", []codeRow{
			{"", "GET", rule, "", 401, `{"message":"401 Unauthorized"}`},
			{"dev", "GET", rule, "", 403, `{"message":"403 Forbidden"}`},
			{"dev", "POST", rule, `{"member_check":true}`, 403, `{"message":"403 Forbidden"}`},
			{"maint", "GET", rule, "", 200, `null`},
			{"maint", "PUT", rule, `{"member_check":true}`, 404, `{"message":"404 Push rule Not Found"}`},
			{"maint", "DELETE", rule, "", 404, `{"message":"404 Push rule Not Found"}`},
			{"maint", "POST", rule, `{"commit_message_regex":"("}`, 400, "{\"message\":{\"commit_message_regex\":[\"not valid RE2 syntax: missing closing ): `(`\"]}}"},
			{"maint", "POST", rule, `{"max_file_size":"x"}`, 400, `{"error":"max_file_size is invalid"}`},
			{"maint", "POST", rule, `{"commit_message_regex":"^Change","max_file_size":1}`, 201, ""},
			{"maint", "POST", rule, `{}`, 422, `{"message":"Project push rule exists"}`},
			{"maint", "PUT", rule, `{"max_file_size":-1}`, 400, `{"message":{"max_file_size":["must be greater than or equal to 0"]}}`},
		})
		w := p.send("maint", "PUT", rule, `{"prevent_secrets":true,"max_file_size":0}`)
		const fields = "id project_id created_at commit_message_regex commit_message_negative_regex branch_name_regex deny_delete_tag member_check" +
			" prevent_secrets author_email_regex file_name_regex max_file_size commit_committer_check commit_committer_name_check" +
			" reject_unsigned_commits reject_non_dco_commits"
		if got := strings.Join(keys(t, w.Body.String()), " "); got != fields || w.Code != 200 {
			t.Errorf("%d, fields\n got %s\nwant %s", w.Code, got, fields)
		}
		if r := p.do("maint", "GET", rule, ""); r["commit_message_regex"] != "^Change" || r["prevent_secrets"] != true || r["max_file_size"] != float64(0) {
			t.Errorf("rule %v", r)
		}
		// The rule is the same through every door of the API.
		request := p.open("feature")
		path := appPath + "/repository"
		p.rows("", []codeRow{
			{
				"maint", "POST", path + "/commits", `{"branch":"main","commit_message":"No","actions":[{"action":"create","file_path":"n","content":"n"}]}`, 400,
				`{"message":"Commit message does not follow the pattern '^Change'"}`,
			},
			{
				"maint", "POST", path + "/files/id_rsa", `{"branch":"main","commit_message":"Change","content":"n"}`, 400,
				`{"message":"File name id_rsa was prohibited by the pattern \"(^|/)\\.?id_(rsa|dsa|ed25519|ed25519_sk|ecdsa|ecdsa_sk)$\"."}`,
			},
			{"maint", "POST", path + "/commits/feature/cherry_pick", `{"branch":"main","message":"Pick"}`, 400, `{"message":"Commit message does not follow the pattern '^Change'"}`},
			{"maint", "PUT", requestsPath + "/1/merge", `{}`, 422, `{"message":"Branch cannot be merged"}`},
		})
		if got := p.do("maint", "GET", requestsPath+"/1", ""); got["merge_error"] != "Commit message does not follow the pattern '^Change'" || got["state"] != "opened" {
			t.Errorf("after a merge that the rule forbids: %v %v", got["merge_error"], got["state"])
		}
		p.rows("", []codeRow{
			{"maint", "PUT", requestsPath + "/1/merge", `{"merge_commit_message":"Change by merge"}`, 200, ""},
			{"dev", "DELETE", rule, "", 403, ""},
			{"maint", "DELETE", rule, "", 204, ""},
			{"maint", "GET", rule, "", 200, "null"},
		})
		if request["iid"] != float64(1) {
			t.Errorf("request %v", request["iid"])
		}
	})
}

func TestPushRules_group(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const rule = "/groups/team/push_rule"
		p.rows("", []codeRow{
			{"", "GET", rule, "", 401, ""},
			{"maint", "GET", rule, "", 403, `{"message":"403 Forbidden"}`},
			{"root", "GET", rule, "", 404, `{"message":"404 Push rule Not Found"}`},
			{"root", "PUT", rule, `{}`, 404, ""},
			{"root", "POST", rule, `{"branch_name_regex":"^a/"}`, 201, ""},
			{"root", "POST", rule, `{}`, 422, `{"message":"Group push rule exists, try updating"}`},
			{"root", "PUT", rule, `{"branch_name_regex":"^b/","member_check":true}`, 200, ""},
			{"root", "GET", rule, "", 200, ""},
			{"maint", "GET", appPath + "/push_rule", "", 200, "null"}, // projects that are there keep what they have
		})
		if w := p.send("root", "GET", rule, ""); strings.Contains(w.Body.String(), "project_id") || !strings.Contains(w.Body.String(), `"branch_name_regex":"^b/"`) {
			t.Errorf("rule of the group: %s", w.Body)
		}
		team, err := db.Get[authz.NamespaceID](t.Context(), d, "SELECT id FROM namespaces WHERE path = 'team'")
		if err != nil {
			t.Fatal(err)
		}
		sub := p.World.Group("team/sub", authz.Private, team)
		deep := p.World.Group("team/sub/deep", authz.Private, sub)
		p.want("root", "POST", "/groups/team%2Fsub/push_rule", `{"branch_name_regex":"^c/"}`, 201, "")
		for path, parent := range map[string]authz.NamespaceID{"team/heir": team, "team/sub/deep/heir": deep} {
			e := project.Created{Fact: project.Fact{After: &project.Project{ID: p.World.Project(path, authz.Private, parent), ParentID: parent}}}
			if err := d.InTx(t.Context(), func(ctx context.Context) error { return p.PushRules.OnProjectCreated(ctx, e) }); err != nil {
				t.Fatal(err)
			}
		}
		for path, want := range map[string]string{"team%2Fheir": "^b/", "team%2Fsub%2Fdeep%2Fheir": "^c/"} {
			if r := p.do("root", "GET", "/projects/"+path+"/push_rule", ""); r["branch_name_regex"] != want || r["member_check"] != (want == "^b/") {
				t.Errorf("the new project %s has %v, want the rule of its nearest group, %s", path, r, want)
			}
		}
		p.want("root", "DELETE", rule, "", 204, "")
		p.want("root", "GET", rule, "", 404, "")
	})
}
