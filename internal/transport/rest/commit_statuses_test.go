package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitstore"
)

func TestCommitStatuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		// A developer reports on branches that are not protected alone.
		if w := p.send("maint", "DELETE", appPath+"/protected_branches/main", ""); w.Code != 204 {
			t.Fatalf("unprotect main: %d %s", w.Code, w.Body)
		}
		sha := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		post, list := appPath+"/statuses/"+sha, appPath+"/repository/commits/"+sha+"/statuses"
		stuck := func(event, from string) string {
			return `{"message":"Cannot transition status via :` + event + ` from :` + from + ` (Reason(s): Status cannot transition via \"` + event + `\")"}`
		}
		long := strings.Repeat("é", 256)
		p.rows("", []codeRow{
			{"", "GET", list, "", 200, `[]`},
			{"", "POST", post, `{"state":"success"}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", post, `{"state":"success"}`, 403, `{"message":"403 Forbidden"}`},
			{"dev", "POST", post, `{}`, 400, `{"message":"State is required"}`},
			{"dev", "POST", post, `{"state":"done"}`, 400, `{"error":"state does not have a valid value"}`},
			{"dev", "POST", post, `{"state":"success","coverage":"much"}`, 400, `{"error":"coverage is invalid"}`},
			{"dev", "POST", post, `{"state":"success","description":"` + long + `"}`, 400, `{"message":{"description":["is too long (maximum is 255 characters)"]}}`},
			{"dev", "POST", post, `{"state":"success","target_url":"javascript:alert(1)"}`, 400, `{"message":{"target_url":["is blocked: Only allowed schemes are http, https"]}}`},
			{"dev", "POST", post, `{"state":"success","target_url":"https://x/` + long + `"}`, 400, `{"message":{"target_url":["is too long (maximum is 255 characters)"]}}`},
			{"dev", "POST", post, `{"state":"success","name":"` + long + `"}`, 400, `{"message":{"name":["is too long (maximum is 255 characters)"]}}`},
			{"dev", "POST", post, `{"state":"success","pipeline_id":99}`, 404, `{"message":"404 Pipeline for pipeline_id, sha and ref Not Found"}`},
			{"dev", "POST", appPath + "/statuses/none", `{"state":"success"}`, 404, `{"message":"404 Commit Not Found"}`},
			{"dev", "GET", list + "?order_by=name", "", 400, `{"error":"order_by does not have a valid value"}`},
		})
		if n, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM pipelines"); err != nil || n != 0 {
			t.Fatalf("%d pipelines after refusals, %v", n, err)
		}
		w := p.send("dev", "POST", post, `{"state":"pending","context":"lint","target_url":"https://ci.example/1","description":"Waits","coverage":12.5}`)
		const fields = "id sha ref status name target_url description created_at started_at finished_at allow_failure coverage pipeline_id author"
		if got := strings.Join(keys(t, w.Body.String()), " "); w.Code != 201 || got != fields {
			t.Fatalf("%d, fields %s, want %s", w.Code, got, fields)
		}
		var first map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &first); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"sha": sha, "ref": "main", "status": "pending", "name": "lint", "target_url": "https://ci.example/1", "description": "Waits",
			"started_at": nil, "finished_at": nil, "allow_failure": false, "coverage": 12.5,
		}
		for k, v := range want {
			if first[k] != v {
				t.Errorf("%s is %v, want %v", k, first[k], v)
			}
		}
		// A status that has not ended changes in place; one that has is replaced.
		for _, tt := range []struct {
			as, body string
			status   int
			answer   string // "" of a success
			state    string // of the commit afterwards
		}{
			{"dev", `{"state":"pending","name":"lint"}`, 400, stuck("enqueue", "pending"), "pending"},
			{"maint", `{"state":"running","name":"lint"}`, 201, "", "running"},
			{"dev", `{"state":"running","name":"lint"}`, 400, stuck("run", "running"), "running"},
			{"dev", `{"state":"pending","name":"lint"}`, 400, stuck("enqueue", "running"), "running"},
			{"dev", `{"state":"skipped","name":"lint"}`, 400, stuck("skip", "running"), "running"},
			{"dev", `{"state":"success","name":"lint"}`, 201, "", "success"},
			{"dev", `{"state":"failed"}`, 201, "", "failed"},
			{"dev", `{"state":"running"}`, 201, "", "running"},
			{"dev", `{"state":"canceled"}`, 201, "", "canceled"},
			{"dev", `{"state":"skipped","name":"docs"}`, 201, "", "canceled"},
			{"dev", `{"state":"success","name":""}`, 201, "", "success"},
		} {
			p.want(tt.as, "POST", post, tt.body, tt.status, tt.answer)
			commit := p.do("dev", "GET", appPath+"/repository/commits/"+sha, "")
			pipeline, _ := commit["last_pipeline"].(map[string]any)
			if commit["status"] != tt.state || pipeline["status"] != tt.state || pipeline["id"] != first["pipeline_id"] || pipeline["source"] != "external" {
				t.Errorf("after %s the commit is %v, %v, want %s", tt.body, commit["status"], pipeline, tt.state)
			}
		}
		for query, want := range map[string]string{
			"":                          "lint:success docs:skipped default:success",
			"?all=true":                 "lint:success default:failed default:canceled docs:skipped default:success",
			"?all=true&name=default":    "default:failed default:canceled default:success",
			"?name=lint&stage=external": "lint:success",
			"?stage=test":               "",
			"?ref=other":                "",
			"?sort=desc":                "default:success docs:skipped lint:success",
			"?order_by=pipeline_id":     "lint:success docs:skipped default:success",
			"?per_page=1&page=2":        "docs:skipped",
			"?pipeline_id=999":          "",
			fmt.Sprintf("?pipeline_id=%v&name=lint", first["pipeline_id"]): "lint:success",
		} {
			names, states := strings.Fields(p.pick("", list+query, "name")), strings.Fields(p.pick("", list+query, "status"))
			var got []string
			for i := range names {
				got = append(got, names[i]+":"+states[i])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q lists %s, want %s", query, strings.Join(got, " "), want)
			}
		}
		lint := p.send("", "GET", list+"?name=lint", "")
		if body := lint.Body.String(); lint.Header().Get("X-Total") != "1" || strings.Contains(body, `_at":null`) || !strings.Contains(body, `"author":{"id":`) {
			t.Errorf("a status that has ended: %v %s", lint.Header(), body)
		}
		r, err := p.Repos.Open(t.Context(), p.Find(p.users["dev"], p.id))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Ref(t.Context(), gitstore.RefName("refs/keep-around/"+sha)); err != nil {
			t.Errorf("the commit is not kept: %v", err)
		}
	})
}

// A commit that is on no branch needs to be told where it belongs; each ref has a pipeline.
func TestCommitStatuses_refs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.commit("dev", "side", "main", "create", "s.txt", "s\n")
		sha := p.do("dev", "GET", appPath+"/repository/commits/side", "")["id"].(string)
		post := appPath + "/statuses/" + sha
		p.do("maint", "POST", appPath+"/repository/tags", `{"tag_name":"v1","ref":"side"}`)
		p.want("dev", "DELETE", appPath+"/repository/branches/side", "", 204, "")
		p.want("dev", "POST", post, `{"state":"success"}`, 404, `{"message":"404 References for commit Not Found"}`)
		tag := p.do("dev", "POST", post, `{"state":"success","ref":"v1"}`)
		other := p.do("dev", "POST", post, `{"state":"failed","ref":"other"}`)
		if tag["ref"] != "v1" || other["ref"] != "other" || tag["pipeline_id"] == other["pipeline_id"] {
			t.Errorf("two refs: %v and %v", tag, other)
		}
		// Without a ref it is that of the newest pipeline, or of the one that is named.
		newest := p.do("dev", "POST", post, `{"state":"success"}`)
		named := p.do("dev", "POST", post, fmt.Sprintf(`{"state":"running","pipeline_id":%v}`, tag["pipeline_id"]))
		if newest["ref"] != "other" || named["ref"] != "v1" || named["pipeline_id"] != tag["pipeline_id"] {
			t.Errorf("newest %v, named %v", newest, named)
		}
		p.want("dev", "POST", post, fmt.Sprintf(`{"state":"running","ref":"other","pipeline_id":%v}`, tag["pipeline_id"]), 404, "")
		const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
			INSERT INTO commit_statuses (pipeline_id, name, stage, ref, status, retried, created_at, updated_at)
			SELECT p.id, 'x', 'external', 'v1', 'success', true, p.created_at, p.created_at FROM n, pipelines p WHERE p.ref = 'other'`
		if _, err := d.Exec(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		p.want("dev", "POST", post, `{"state":"success","ref":"other"}`, 422, `{"message":"The number of jobs has exceeded the limit"}`)
		if _, err := d.Exec(t.Context(), `UPDATE projects SET settings = '{"public_jobs":false}' WHERE id = ?`, p.id); err != nil {
			t.Fatal(err)
		}
		for as, want := range map[string]string{"guest": "<nil>", "dev": "success"} {
			if got := fmt.Sprint(p.do(as, "GET", appPath+"/repository/commits/"+sha, "")["status"]); got != want {
				t.Errorf("%s sees the status %s where jobs are private, want %s", as, got, want)
			}
		}
		list := appPath + "/repository/commits/" + sha + "/statuses"
		p.want("guest", "GET", list, "", 403, `{"message":"403 Forbidden"}`)
		p.want("", "GET", list, "", 401, "")
		p.want("dev", "GET", list+"?ref=v1", "", 200, "")
	})
}

// Reports of many checks at once share one pipeline, and those of one check one status.
func TestCommitStatuses_together(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		// A developer reports on branches that are not protected alone.
		if w := p.send("maint", "DELETE", appPath+"/protected_branches/main", ""); w.Code != 204 {
			t.Fatalf("unprotect main: %d %s", w.Code, w.Body)
		}
		sha := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		var wg sync.WaitGroup
		codes := make([]int, 8)
		for i := range codes {
			wg.Go(func() {
				codes[i] = p.send("dev", "POST", appPath+"/statuses/"+sha, fmt.Sprintf(`{"state":"pending","name":"check %d"}`, i/2)).Code
			})
		}
		wg.Wait()
		made := 0
		for i, code := range codes {
			switch code {
			case 201:
				made++
			case 400: // its twin came first
			default:
				t.Errorf("report %d: %d", i, code)
			}
		}
		type counts struct {
			Pipelines int `db:"pipelines"`
			Statuses  int `db:"statuses"`
		}
		got, err := db.Get[counts](t.Context(), d, "SELECT (SELECT count(*) FROM pipelines) AS pipelines, (SELECT count(*) FROM commit_statuses) AS statuses")
		if err != nil || got != (counts{1, 4}) || made != 4 {
			t.Errorf("%+v, %d made, %v", got, made, err)
		}
	})
}
