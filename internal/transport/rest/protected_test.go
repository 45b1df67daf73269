package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/signature"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// newCode is newMerging with every route of the repository.
func newCode(t *testing.T, d *db.DB) *planning {
	t.Helper()
	p := newMerging(t, d)
	p.routes()
	return p
}

// routes makes a kit of every route of the repository and of more.
func (p *planning) routes(more ...*api.Route) {
	p.Signatures = signature.New(signature.Deps{Accounts: p.Accounts, Repos: p.Repos, Now: p.Server.Now})
	p.kit = api.New(api.Config{
		ExternalURL: "https://tenon.example", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), FindUser: (&httpkit.SignOn{Accounts: p.Accounts}).FindUser, Limits: p.Limits,
		Authenticate: func(_ context.Context, c httpkit.Credential) (authz.Actor, error) {
			as, ok := p.users[c.Secret]
			if !ok {
				return as, errs.New(errs.Unauthorized, "")
			}
			return as, nil
		},
	}, slices.Concat(p.branchRoutes(), p.tagRoutes(), p.protectedRoutes(), p.pushRuleRoutes(), p.commitRoutes(), p.commitHistoryRoutes(), p.commitCommentRoutes(), p.commitStatusRoutes(), p.fileRoutes(),
		p.repositoryRoutes(), p.mergeRequestRoutes(), p.signatureRoutes(), more))
}

// row is a request and its answer; "" of answer compares the status only.
type codeRow struct {
	as, method, path, body string
	status                 int
	answer                 string
}

func (p *planning) rows(base string, rows []codeRow) {
	p.t.Helper()
	for _, r := range rows {
		p.want(r.as, r.method, base+r.path, r.body, r.status, r.answer)
	}
}

const appPath = "/projects/team%2Fapp"

func TestProtectedBranches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.commit("dev", "feature/x", "main", "create", "x.txt", "x\n")
		if _, err := d.Exec(t.Context(), "DELETE FROM protected_branches"); err != nil {
			t.Fatal(err)
		}
		level := func(id, role, words string) string {
			return `{"id":` + id + `,"access_level":` + role + `,"access_level_description":"` + words + `","deploy_key_id":null,"user_id":null,"group_id":null}`
		}
		p.rows(appPath, []codeRow{
			{"", "GET", "/protected_branches", "", 401, `{"message":"401 Unauthorized"}`},
			{"guest", "GET", "/protected_branches", "", 403, `{"message":"403 Forbidden"}`},
			{"dev", "GET", "/protected_branches", "", 200, `[]`},
			{"dev", "POST", "/protected_branches", `{"name":"x"}`, 403, `{"message":"403 Forbidden"}`},
			{"maint", "POST", "/protected_branches", `{}`, 400, `{"error":"name is missing"}`},
			{"maint", "POST", "/protected_branches", `{"name":"x","push_access_level":10}`, 400, `{"error":"push_access_level does not have a valid value"}`},
			{"maint", "POST", "/protected_branches", `{"name":"x","allowed_to_push":[{"user_id":99999}]}`, 422, `{"message":["Push access levels user is not a member of the project"]}`},
			{"maint", "GET", "/protected_branches/none", "", 404, `{"message":"404 Not found"}`},
			{"maint", "DELETE", "/protected_branches/none", "", 404, `{"message":"404 Not found"}`},
		})
		w := p.send("maint", "POST", appPath+"/protected_branches", `{"name":"feature/*","push_access_level":0,"merge_access_level":30,"allow_force_push":true}`)
		made := w.Body.String()
		ids := idsOf(made)
		want := `{"id":` + ids[0] + `,"name":"feature/*","push_access_levels":[` + level(ids[1], "0", "No one") + `],"merge_access_levels":[` +
			level(ids[2], "30", "Developers + Maintainers") + `],"allow_force_push":true,"unprotect_access_levels":[` + level(ids[3], "40", "Maintainers") +
			`],"code_owner_approval_required":false,"inherited":false}`
		if w.Code != http.StatusCreated || made != want {
			t.Errorf("got %d %s\nwant %s", w.Code, made, want)
		}
		p.rows(appPath, []codeRow{
			{"maint", "POST", "/protected_branches", `{"name":"feature/*"}`, 409, `{"message":"Protected branch 'feature/*' already exists"}`},
			{"dev", "GET", "/protected_branches/feature%2F*", "", 200, made},
			{"dev", "GET", "/protected_branches?search=FEAT", "", 200, "[" + made + "]"},
			{"dev", "GET", "/protected_branches?search=nothing", "", 200, "[]"},
			{
				"dev", "DELETE", "/repository/branches/feature%2Fx", "", 400,
				`{"message":"You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch."}`,
			},
			{"dev", "PATCH", "/protected_branches/feature%2F*", `{"allow_force_push":false}`, 403, `{"message":"403 Forbidden"}`},
			{
				"maint", "PATCH", "/protected_branches/feature%2F*", `{"allow_force_push":false,"allowed_to_merge":[{"access_level":30}]}`, 422,
				`{"message":["Merge access levels access level has already been taken"]}`,
			},
			{
				"maint", "PATCH", "/protected_branches/feature%2F*", `{"allow_force_push":false,"allowed_to_merge":[{"id":` + ids[2] + `,"_destroy":true}]}`, 200,
				strings.Replace(strings.Replace(want, level(ids[2], "30", "Developers + Maintainers"), "", 1), `"allow_force_push":true`, `"allow_force_push":false`, 1),
			},
			{"maint", "DELETE", "/protected_branches/feature%2F*", "", 204, ""},
			{"dev", "PUT", "/repository/branches/feature%2Fx/protect", `{}`, 403, ""},
			{"maint", "PUT", "/repository/branches/none/protect", `{}`, 404, `{"message":"404 Branch Not Found"}`},
		})
		for _, step := range []struct {
			path, body string
			want       [3]bool
		}{
			{"protect", `{"developers_can_merge":true}`, [3]bool{true, false, true}},
			{"protect", `{"developers_can_push":true}`, [3]bool{true, true, true}},
			{"unprotect", ``, [3]bool{false, false, false}},
		} {
			b := p.do("maint", "PUT", appPath+"/repository/branches/feature%2Fx/"+step.path, step.body)
			got := [3]bool{b["protected"].(bool), b["developers_can_push"].(bool), b["developers_can_merge"].(bool)}
			if got != step.want {
				t.Errorf("%s %s: got %v, want %v", step.path, step.body, got, step.want)
			}
		}
	})
}

// idsOf lists the numbers behind "id" in a JSON text.
func idsOf(text string) []string {
	var out []string
	for _, part := range strings.Split(text, `"id":`)[1:] {
		out = append(out, part[:strings.IndexByte(part, ',')])
	}
	return out
}

func TestProtectedTags(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		dev := p.users["dev"]
		p.rows(appPath, []codeRow{
			{"dev", "GET", "/protected_tags", "", 403, ""},
			{"maint", "GET", "/protected_tags", "", 200, "[]"},
			{"maint", "POST", "/protected_tags", `{"name":""}`, 422, `{"message":["Name can't be blank"]}`},
		})
		w := p.send("maint", "POST", appPath+"/protected_tags", `{"name":"v*","allowed_to_create":[{"user_id":`+strconv.FormatInt(int64(dev.UserID), 10)+`},{"access_level":40}]}`)
		made := w.Body.String()
		ids := idsOf(made)
		want := `{"name":"v*","create_access_levels":[{"id":` + ids[0] + `,"access_level":null,"access_level_description":"Dev","deploy_key_id":null,"user_id":` +
			strconv.FormatInt(int64(dev.UserID), 10) + `,"group_id":null},{"id":` + ids[1] + `,"access_level":40,"access_level_description":"Maintainers","deploy_key_id":null,"user_id":null,"group_id":null}]}`
		if w.Code != http.StatusCreated || made != want {
			t.Errorf("got %d %s\nwant %s", w.Code, made, want)
		}
		p.rows(appPath, []codeRow{
			{"maint", "POST", "/protected_tags", `{"name":"v*"}`, 422, `{"message":["Name has already been taken"]}`},
			{"maint", "GET", "/protected_tags/v*", "", 200, made},
			{"maint", "GET", "/protected_tags", "", 200, "[" + made + "]"},
			{"maint", "GET", "/protected_tags/w*", "", 404, `{"message":"404 Not found"}`},
			{"maint", "POST", "/protected_tags", `{"name":"no*","create_access_level":0}`, 201, ""},
			{"dev", "POST", "/repository/tags", `{"tag_name":"nope","ref":"main"}`, 400, `{"message":"You are not allowed to create this tag as it is protected."}`},
		})
		if tag := p.do("dev", "POST", appPath+"/repository/tags", `{"tag_name":"v1","ref":"main"}`); tag["protected"] != true {
			t.Errorf("tag %v", tag)
		}
		p.rows(appPath, []codeRow{
			{
				"dev", "DELETE", "/repository/tags/v1", "", 400,
				`{"message":"You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag."}`,
			},
			{"maint", "DELETE", "/protected_tags/v*", "", 204, ""},
			{"dev", "DELETE", "/repository/tags/v1", "", 204, ""},
		})
	})
}
