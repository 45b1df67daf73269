package app

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/transport/rest/api"
)

// TestDelivery_statements counts what lists of environments, deployments and releases ask the database, with one row and with twenty, and that they
// start no git; and that a client of feature flags that has them already costs its sign-on alone, until they change.
func TestDelivery_statements(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		deploys := func(n int) string {
			var out strings.Builder
			for i := range n {
				fmt.Fprintf(&out, "to-%d: {script: x, environment: {name: e-%d/one, url: 'https://e%d.example.com', on_stop: stop-%d}}\n", i, i, i, i)
				fmt.Fprintf(&out, "stop-%d: {script: x, when: manual, environment: {name: e-%d/one, action: stop}}\n", i, i)
			}
			return out.String()
		}
		release := func(i int) {
			s.do("mona", "POST", d.at+"/milestones", obj{"title": fmt.Sprint("m", i)})
			s.do("dave", "POST", d.at+"/releases", obj{
				"tag_name": fmt.Sprint("v", i), "ref": "main", "description": "x", "milestones": []string{fmt.Sprint("m", i), "m0"},
				"assets": obj{"links": []obj{{"name": "a", "url": "https://example.com/a"}, {"name": "b", "url": "https://example.com/b"}}},
			})
		}
		d.commit("main", ".gitlab-ci.yml", deploys(1))
		release(0)
		d.drained()
		lists := []struct {
			path string
			most int
		}{{"/environments", 8}, {"/deployments", 8}, {"/releases", 10}}
		one := map[string]int{}
		for _, l := range lists {
			one[l.path] = d.counted(t, l.path, 1)
		}
		d.commit("main", ".gitlab-ci.yml", deploys(20))
		for i := range 19 {
			release(i + 1)
		}
		d.drained()
		for _, l := range lists {
			if n := d.counted(t, l.path, 20); n > l.most || n > one[l.path] {
				t.Errorf("%s: %d statements for 20 rows and %d for one, want %d at most", l.path, n, one[l.path], l.most)
			}
		}
		d.flagsCounted(t)
	})
}

// counted reads a page of a list and returns the statements that it takes.
func (d *deployer) counted(t *testing.T, path string, rows int) int {
	t.Helper()
	least := math.MaxInt
	for range 3 { // what is cached for seconds only may lapse in between
		before, started := d.db.Statements(), d.git.Started()
		a := d.send(t.Context(), get("rita", d.at+path+fmt.Sprint("?per_page=", rows)))
		statements := int(d.db.Statements() - before)
		var list []json.RawMessage
		if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || len(list) != rows {
			t.Fatalf("%s: %d rows, want %d: %d %.300s", path, len(list), rows, a.Code, a.Body)
		}
		if statements < least {
			least = statements
			if n := d.git.Started() - started; n != 0 {
				t.Errorf("%s: %d git processes, want none", path, n)
			}
		}
	}
	return least
}

// flagsCounted counts the statements of a client of feature flags.
func (d *deployer) flagsCounted(t *testing.T) {
	t.Helper()
	list := d.do("dave", "POST", d.at+"/feature_flags_user_lists", obj{"name": "Friends", "user_xids": "ann"})
	for i := range 20 {
		d.do("dave", "POST", d.at+"/feature_flags", obj{"name": fmt.Sprint("flag", i), "strategies": []obj{
			{"name": "default", "parameters": obj{}}, {"name": "gitlabUserList", "parameters": obj{}, "user_list_id": list["id"], "scopes": []obj{{"environment_scope": "prod*"}}},
		}})
	}
	client := d.do("mona", "POST", d.at+"/feature_flags_client", nil)
	at, err := url.Parse(client["api_url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(tag string) (a *httptest.ResponseRecorder, statements int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.Prefix+strings.TrimPrefix(at.Path, api.Prefix)+"/client/features", http.NoBody)
		r.Header.Set("Unleash-Instanceid", client["instance_id"].(string))
		r.Header.Set("Unleash-Appname", "production")
		r.Header.Set("If-None-Match", tag)
		a = httptest.NewRecorder()
		before := d.db.Statements()
		d.http.Handler.ServeHTTP(a, r)
		return a, int(d.db.Statements() - before)
	}
	a, n := ask("")
	if a.Code != http.StatusOK || n > 6 || !strings.Contains(a.Body.String(), `"userIds":"ann"`) {
		t.Fatalf("flags: %d with %d statements, want 6 at most: %.300s", a.Code, n, a.Body)
	}
	// What has just changed may change again within a tick of the clock, and is read each time.
	hours := 0
	unchanged := func(what string) {
		t.Helper()
		hours++
		for _, table := range []string{"feature_flags", "feature_flag_user_lists"} {
			if _, err := d.db.Exec(t.Context(), "UPDATE "+table+" SET updated_at = ?", db.At(time.Now().Add(time.Duration(hours-10)*time.Hour))); err != nil {
				t.Fatal(err)
			}
		}
		tag := a.Header().Get("Etag")
		ask(tag)
		if a, n := ask(tag); a.Code != http.StatusNotModified || n != 1 {
			t.Errorf("%s: %d with %d statements, want 304 with 1", what, a.Code, n)
		}
	}
	unchanged("flags that have not changed")
	d.do("dave", "PUT", d.at+"/feature_flags_user_lists/1", obj{"user_xids": "ben"})
	if a, _ = ask(a.Header().Get("Etag")); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"userIds":"ben"`) {
		t.Errorf("flags with another user list: %d %.300s", a.Code, a.Body)
	}
	unchanged("flags with another user list")
	d.do("dave", "DELETE", d.at+"/feature_flags/flag3", nil)
	if a, _ = ask(a.Header().Get("Etag")); a.Code != http.StatusOK || strings.Contains(a.Body.String(), `"flag3"`) {
		t.Errorf("flags without one: %d %.300s", a.Code, a.Body)
	}
	d.do("mona", "DELETE", d.at+"/feature_flags_client", nil)
	if a, _ = ask(a.Header().Get("Etag")); a.Code != http.StatusUnauthorized {
		t.Errorf("flags with a secret that was deleted: %d", a.Code)
	}
}
