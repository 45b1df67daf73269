package rest

import (
	"encoding/json"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// What other systems report of a branch shows in its merge request, and decides over the
// merge where the project says so.
func TestMergeRequest_pipelines(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		list := func(path string) []map[string]any {
			p.t.Helper()
			var out []map[string]any
			if err := json.Unmarshal(p.send("dev", "GET", path, "").Body.Bytes(), &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		exec := func(column string, value any) {
			p.t.Helper()
			if _, err := d.Exec(t.Context(), "UPDATE projects SET "+column+" = ?", value); err != nil {
				t.Fatal(err)
			}
		}
		p.open("topic")
		one := requestsPath + "/1"
		get := func() map[string]any { p.t.Helper(); return p.do("dev", "GET", one, "") }
		head := get()["sha"].(string)
		report := func(ref, state string) {
			p.t.Helper()
			as := "dev"
			if ref == "main" { // which is protected
				as = "maint"
			}
			p.do(as, "POST", "/projects/team%2Fapp/statuses/"+head, `{"state":"`+state+`","ref":"`+ref+`","coverage":80}`)
		}
		status := func(want string) {
			p.t.Helper()
			for _, m := range []map[string]any{get(), list(requestsPath)[0]} {
				if m["detailed_merge_status"] != want {
					p.t.Errorf("got %v, want %s", m["detailed_merge_status"], want)
				}
			}
		}
		if m := get(); m["head_pipeline"] != nil || m["pipeline"] != nil {
			t.Errorf("without a pipeline: %v", m)
		}
		report("main", "failed") // the same commit on another branch says nothing of this one
		if m := get(); m["head_pipeline"] != nil {
			t.Errorf("of another branch: %v", m["head_pipeline"])
		}
		status("mergeable")
		exec("only_allow_merge_if_pipeline_succeeds", true)
		status("ci_must_pass")
		merge := func(status int, body, answer string) {
			p.t.Helper()
			p.want("maint", "PUT", one+"/merge", body, status, answer)
		}
		const must = `{"message":"405 Method Not Allowed - the pipeline must succeed"}`
		merge(405, "", must)
		report("topic", "running")
		status("ci_still_running")
		merge(405, "", must)
		m := get()
		full, short := m["head_pipeline"].(map[string]any), m["pipeline"].(map[string]any)
		if full["status"] != "running" || full["ref"] != "topic" || full["sha"] != head || full["source"] != "external" || full["started_at"] == nil ||
			full["finished_at"] != nil || full["coverage"] != "80.00" || full["user"].(map[string]any)["username"] != "dev" ||
			full["detailed_status"].(map[string]any)["text"] != "Running" || short["id"] != full["id"] || m["latest_build_started_at"] != full["started_at"] {
			t.Errorf("running: %v", m)
		}
		report("topic", "failed")
		status("ci_must_pass")
		merge(405, "", must)
		report("topic", "skipped")
		status("ci_must_pass")
		exec("allow_merge_on_skipped_pipeline", true)
		status("mergeable")
		report("topic", "success")
		status("mergeable")
		if full := get()["head_pipeline"].(map[string]any); full["finished_at"] == nil || full["detailed_status"].(map[string]any)["label"] != "passed" {
			t.Errorf("passed: %v", full)
		}

		// A commit more: the pipeline of the old one no longer counts, and stays in the list.
		head = p.commit("dev", "topic", "", "create", "more.txt", "x\n")
		status("ci_must_pass")
		merge(405, "", must)
		report("topic", "success")
		status("mergeable")
		found := list(one + "/pipelines")
		if len(found) != 2 || found[0]["sha"] != head || found[1]["sha"] == head || found[0]["status"] != "success" {
			t.Errorf("pipelines: %v", found)
		}
		p.want("", "GET", one+"/pipelines", "", 401, "")
		shows := func(as string, want ...bool) {
			p.t.Helper()
			m := p.do(as, "GET", one, "")
			for i, key := range []string{"pipeline", "latest_build_started_at", "head_pipeline"} {
				if v, has := m[key]; has != want[i] {
					p.t.Errorf("%s as %s: got %v %v, want %v", key, as, has, v, want[i])
				}
			}
		}
		exec("settings", `{"public_jobs":false}`)
		shows("dev", true, true, true)
		shows("planner", true, true, false)
		if m := p.do("planner", "GET", one, ""); m["pipeline"] != nil {
			t.Errorf("of private jobs: %v", m["pipeline"])
		}
		exec("builds_access", 0)
		shows("dev", false, false, false)
		if found := list(one + "/pipelines"); len(found) != 0 {
			t.Errorf("without pipelines: %v", found)
		}
		if m := get(); m["head_pipeline"] != nil {
			t.Errorf("without pipelines: %v", m["head_pipeline"])
		}
		merge(200, "", "")
	})
}

// A merge request pipeline is made by hand, and is what the merge request waits for.
func TestMergeRequest_createPipeline(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.open("topic")
		one := requestsPath + "/1"
		path := one + "/pipelines"
		p.want("dev", "POST", path, "", 400, `{"message":{"base":["Missing CI config file"]}}`)
		p.commit("dev", "topic", "", "create", ".gitlab-ci.yml", "test: {script: make}\n")
		p.want("dev", "POST", path, "", 400, "")
		head := p.commit("dev", "topic", "", "update", ".gitlab-ci.yml", "test: {script: make, only: [merge_requests]}\n")
		w := p.send("dev", "POST", path, "")
		if w.Code != 200 {
			t.Fatalf("create: %d %s", w.Code, w.Body)
		}
		var made map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		if made["ref"] != "refs/merge-requests/1/head" || made["sha"] != head || made["source"] != "merge_request_event" || made["status"] != "pending" || made["tag"] != false ||
			made["before_sha"] != strings.Repeat("0", 40) || made["user"].(map[string]any)["username"] != "dev" || made["detailed_status"] == nil {
			t.Errorf("created: %v", made)
		}
		m := p.do("planner", "GET", one, "")
		if full, short := m["head_pipeline"].(map[string]any), m["pipeline"].(map[string]any); full["id"] != made["id"] || short["ref"] != made["ref"] {
			t.Errorf("pipelines of the merge request: %v %v", full, short)
		}
		var list []map[string]any
		if err := json.Unmarshal(p.send("dev", "GET", path, "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0]["id"] != made["id"] || list[0]["web_url"] != made["web_url"] {
			t.Errorf("list: %v", list)
		}
		p.want("", "POST", path, "", 401, "")
		p.want("planner", "POST", path, "", 403, "")
		p.want("dev", "POST", requestsPath+"/9/pipelines", "", 404, "")
		p.do("dev", "PUT", one, `{"state_event":"close"}`)
		p.want("dev", "POST", path, "", 405, `{"message":"405 Method Not Allowed"}`)
	})
}
