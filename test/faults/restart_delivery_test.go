package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDatabaseRestart_delivery restarts PostgreSQL three times while deployments are recorded and approved, and releases are made with their tags. What was
// answered is there, nothing is there twice, soon after the last restart each release has its tag and each tag its release, and what had no answer can be asked
// for again.
func TestDatabaseRestart_delivery(t *testing.T) {
	t.Parallel()
	cluster := ownCluster(t)
	w := newWorld(t, cluster.URL+lasting)
	at := fmt.Sprintf("/projects/%d", w.project)
	sha := w.want(200, w.ann, "GET", at+"/repository/commits/main", "").text("id")
	w.want(201, w.ann, "POST", at+"/repository/commits", `{"branch":"ci","start_branch":"main","commit_message":"Configure [skip ci]","actions":[
		{"action":"create","file_path":".gitlab-ci.yml","content":"deploy: {script: make, environment: production}"}]}`)
	w.want(201, w.ann, "POST", at+"/protected_environments", `{"name":"production","deploy_access_levels":[{"access_level":30}],"approval_rules":[{"access_level":40}]}`)

	over, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	var released, deployed, approved atomic.Int64 // that were answered
	// repeat sends a request until it is answered with a status; 0 where the test is over before.
	repeat := func(token, method, path, body string, wants ...int) (*answer, int) {
		for over.Err() == nil {
			if a, err := w.call(over, token, method, path, body); err == nil {
				for _, status := range wants {
					if a.status == status {
						return a, status
					}
				}
				if a.status != http.StatusServiceUnavailable && a.status != http.StatusBadGateway {
					t.Errorf("%s %s: %d %.300s", method, path, a.status, a.body)
				}
			}
			pause(over)
		}
		return nil, 0
	}
	callers.Go(func() {
		for n := 0; over.Err() == nil; n++ {
			// A release that was made although its answer was lost is in conflict with itself.
			if _, status := repeat(w.ann, "POST", at+"/releases", fmt.Sprintf(`{"tag_name":"v%d","ref":"main","description":"What is new"}`, n), 201, 409, 422); status == 201 {
				released.Add(1)
			}
		}
	})
	callers.Go(func() {
		for n := 0; over.Err() == nil; n++ {
			body := fmt.Sprintf(`{"environment":"eu-%d","sha":%q,"ref":"main","tag":false,"status":"running"}`, n, sha)
			a, status := repeat(w.ann, "POST", at+"/deployments", body, 201)
			if status == 0 {
				return
			}
			if _, status = repeat(w.ann, "PUT", fmt.Sprintf("%s/deployments/%d", at, a.number("id")), `{"status":"success"}`, 200); status == 200 {
				deployed.Add(1)
			}
		}
	})
	callers.Go(func() {
		for over.Err() == nil {
			if _, status := repeat(w.ben, "POST", at+"/pipeline", `{"ref":"ci"}`, 201); status == 0 {
				return
			}
			a, status := repeat(w.ann, "GET", at+"/deployments?environment=production&status=blocked&sort=desc", "", 200)
			if status == 0 {
				return
			}
			var id int64
			if _, err := fmt.Sscanf(string(a.body), `[{"id":%d`, &id); err != nil {
				t.Errorf("deployments that wait: %.300s", a.body)
				return
			}
			// One that was approved although its answer was lost does not wait any more.
			if _, status := repeat(w.ann, "POST", fmt.Sprintf("%s/deployments/%d/approval", at, id), `{"status":"approved"}`, 201, 400); status == 201 {
				approved.Add(1)
			}
		}
	})
	for _, mode := range []string{"immediate", "fast", "immediate"} {
		before := [...]int64{released.Load(), deployed.Load(), approved.Load()}
		for deadline := time.Now().Add(time.Minute); released.Load() < before[0]+5 || deployed.Load() < before[1]+5 || approved.Load() < before[2]+5; pause(t.Context()) {
			if time.Now().After(deadline) {
				t.Fatalf("%d releases, %d deployments and %d approvals, and no more", released.Load(), deployed.Load(), approved.Load())
			}
		}
		if err := cluster.Restart(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	repeat(w.ann, "GET", at, "", 200)
	stop()
	callers.Wait()
	back := time.Now()
	db := w.open()
	left := func() int64 {
		return count(t, db, "SELECT (SELECT COUNT(*) FROM releases WHERE pending IS NOT NULL) + (SELECT COUNT(*) FROM ref_intents)")
	}
	interrupted := left()
	for left() > 0 {
		if time.Since(back) > 90*time.Second { // a minute, the age of what is looked at, and what a busy machine takes
			t.Fatalf("%s after PostgreSQL is back %d releases and pushes are interrupted", time.Since(back), left())
		}
		pause(t.Context())
	}
	t.Logf("%d releases, %d deployments, %d approvals; %d interrupted after the last restart, none after %s", released.Load(), deployed.Load(), approved.Load(), interrupted,
		time.Since(back).Round(time.Millisecond))
	type named struct {
		Name string `json:"name"`
		Tag  string `json:"tag_name"`
	}
	tags, releases := map[string]bool{}, map[string]bool{}
	for _, row := range all[named](w, "/repository/tags") {
		tags[row.Name] = true
	}
	for _, row := range all[named](w, "/releases") {
		if releases[row.Tag] || !tags[row.Tag] {
			t.Errorf("release %s: twice %t, its tag is there %t", row.Tag, releases[row.Tag], tags[row.Tag])
		}
		releases[row.Tag] = true
	}
	if len(tags) != len(releases) || int64(len(releases)) < released.Load() {
		t.Errorf("%d tags and %d releases, of which %d were answered", len(tags), len(releases), released.Load())
	}
	for query, want := range map[string]int64{
		"SELECT COUNT(*) - COUNT(DISTINCT iid) FROM deployments":                                                                            0,
		"SELECT COUNT(*) FROM (SELECT d.job_id FROM deployments d WHERE d.by_job GROUP BY d.job_id HAVING COUNT(*) > 1) x":                  0,
		"SELECT COUNT(*) FROM (SELECT a.user_id FROM deployment_approvals a GROUP BY a.deployment_id, a.user_id HAVING COUNT(*) > 1) x":     0,
		"SELECT COUNT(*) FROM deployments d WHERE d.by_job AND NOT EXISTS (SELECT 1 FROM commit_statuses s WHERE s.id = d.job_id)":          0,
		"SELECT COUNT(*) FROM commit_statuses s WHERE NOT EXISTS (SELECT 1 FROM deployments d WHERE d.job_id = s.id)":                       0,
		"SELECT COUNT(*) FROM deployments d WHERE d.approved <> EXISTS (SELECT 1 FROM deployment_approvals a WHERE a.deployment_id = d.id)": 0,
	} {
		if n := count(t, db, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	if n := count(t, db, "SELECT COUNT(*) FROM deployments d WHERE NOT d.by_job AND d.status = 'success'"); n < deployed.Load() {
		t.Errorf("%d of %d deployments have succeeded", n, deployed.Load())
	}
	if n := count(t, db, "SELECT COUNT(*) FROM deployments d WHERE d.approved"); n < approved.Load() {
		t.Errorf("%d of %d deployments are approved", n, approved.Load())
	}
	for tag := range releases {
		w.want(http.StatusConflict, w.ann, "POST", at+"/releases", fmt.Sprintf(`{"tag_name":%q,"ref":"main"}`, tag))
		break
	}
}
