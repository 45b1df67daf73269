package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/featureflag"
)

// TestFeatureFlags has a developer switch something on for a list of users, and an application read it.
func TestFeatureFlags(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.Services.Add(featureflag.New(featureflag.Deps{DB: d, Policy: p.World.Policy, Bus: p.World.Bus, Now: p.World.Now}))
		p.routes(slices.Concat(p.featureFlagRoutes(), p.unleashRoutes())...)
		p.rows(appPath, []codeRow{
			{"guest", "GET", "/feature_flags", "", 403, `{"message":"403 Forbidden"}`},
			{"dev", "GET", "/feature_flags", "", 200, `[]`},
			{"dev", "POST", "/feature_flags", `{}`, 400, `{"error":"name is missing"}`},
			{"dev", "POST", "/feature_flags", `{"name":"flag","version":"legacy_flag"}`, 400, `{"message":"Version is invalid"}`},
			{"dev", "POST", "/feature_flags", `{"name":"flag","strategies":[{"name":"magic","parameters":{}}]}`, 400, `{"message":["Strategies name strategy name is invalid"]}`},
			{"dev", "POST", "/feature_flags", `{"name":"flag","strategies":[{}]}`, 400, `{"error":"strategies[0][name] is missing, strategies[0][parameters] is missing"}`},
			{
				"dev", "POST", "/feature_flags", `{"name":"flag","strategies":[{"name":"default","parameters":{},"scopes":[{}]}]}`, 400,
				`{"error":"strategies[0][scopes][0][environment_scope] is missing"}`,
			},
			{"dev", "GET", "/feature_flags/none", "", 404, `{"message":"404 Not found"}`},
			{
				"dev", "POST", "/feature_flags_user_lists", `{"name":"Friends","user_xids":"ann,ann"}`, 400,
				`{"message":["User xids user_xids must be a string of unique comma separated values each 256 characters or less"]}`,
			},
			{"dev", "POST", "/feature_flags_user_lists", `{}`, 400, `{"message":"name is missing, user_xids is missing"}`},
			{"dev", "GET", "/feature_flags_client", "", 403, `{"message":"403 Forbidden"}`},
		})
		list := p.do("dev", "POST", appPath+"/feature_flags_user_lists", `{"name":"Friends","user_xids":"ann,bob"}`)
		flag := p.do("dev", "POST", appPath+"/feature_flags",
			`{"name":"checkout","strategies":[{"name":"gitlabUserList","parameters":{},"user_list_id":`+fmt.Sprint(list["id"])+`,"scopes":[{"environment_scope":"production"}]}]}`)
		if flag["version"] != "new_version_flag" || flag["active"] != true || flag["description"] != nil {
			t.Errorf("flag: %v", flag)
		}
		client := p.do("maint", "POST", appPath+"/feature_flags_client", "")
		const want = `{"version":1,"features":[{"name":"checkout","enabled":true,"strategies":[{"name":"userWithId","parameters":{"userIds":"ann,bob"}}]}]}`
		url, _ := client["api_url"].(string)
		at := url[strings.Index(url, "/feature_flags"):]
		id, _ := client["instance_id"].(string)
		p.rows("", []codeRow{
			{"", "GET", at + "/client/features?app_name=production&instance_id=" + id, "", 200, want},
			{"", "GET", at + "/features?app_name=production&instance_id=" + id, "", 200, want},
			{"", "GET", at + "/client/features?app_name=staging&instance_id=" + id, "", 200, `{"version":1,"features":[]}`},
			{"", "GET", at + "/client/features?app_name=production&instance_id=wrong", "", 401, `{"message":"401 Unauthorized"}`},
			{"", "POST", at + "/client/metrics?instance_id=wrong", `{}`, 401, `{"message":"401 Unauthorized"}`},
			{"dev", "DELETE", appPath + "/feature_flags_user_lists/1", "", 409, `{"message":["User list is associated with a strategy"]}`},
			{"dev", "PUT", appPath + "/feature_flags/checkout", `{"name":"Check out"}`, 400, `{"message":["Name can contain only lowercase letters, digits, '_' and '-'. Must start with a letter, and cannot end with '-' or '_'"]}`},
		})
		if w := p.send("", "POST", at+"/client/register?instance_id="+id, `{"appName":"production"}`); w.Code != http.StatusOK {
			t.Errorf("register: got %d %s", w.Code, w.Body)
		}
		if w := p.send("dev", "DELETE", appPath+"/feature_flags/checkout", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"name":"checkout"`) {
			t.Errorf("delete: got %d %s", w.Code, w.Body)
		}
		if _, err := d.Exec(t.Context(), "UPDATE projects SET features = ?", `{"feature_flags":"disabled"}`); err != nil {
			t.Fatal(err)
		}
		p.rows("", []codeRow{
			{"maint", "GET", appPath + "/feature_flags", "", 403, `{"message":"403 Forbidden"}`},
			{"", "GET", at + "/client/features?instance_id=" + id, "", 401, `{"message":"401 Unauthorized"}`},
		})
	})
}
