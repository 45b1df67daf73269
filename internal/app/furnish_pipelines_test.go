package app

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"tenon/internal/base/db"
	"tenon/internal/base/secret"
	"tenon/internal/core/ci"
)

// configuration makes a pipeline with a job that leaves a file, a job that waits for a user, and a trigger job.
const configuration = `
made:
  script: [make]
  artifacts: {paths: [out]}
  resource_group: $CI_COMMIT_REF_NAME
by hand:
  script: [echo]
  when: manual
`

// pipelines runs a pipeline in a project and returns what is in paths for it.
func (w *world) pipelines(path, id string) map[string]string {
	ctx, branch := context.WithoutCancel(w.tb.Context()), "ci-"+id // each place has its own
	w.do("owner", "POST", path+"/repository/commits", obj{
		"branch": branch, "start_branch": "main", "commit_message": "Configure", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": configuration}},
	})
	made := w.do("owner", "POST", path+"/pipeline", obj{"ref": branch, "variables": []obj{{"key": "COLOR", "value": "red"}}})
	w.do("owner", "DELETE", path+"/repository/branches/"+branch, nil)
	jobs := map[string]string{}
	for _, j := range w.list(path + "/pipelines/" + number(made, "id") + "/jobs") {
		jobs[j["name"].(string)] = number(j, "id")
	}
	if err := w.jobs.Drain(ctx); err != nil { // the job gets its resource group
		w.tb.Fatal(err)
	}
	w.runJob(ctx, id)
	return map[string]string{":pipeline_id": number(made, "id"), ":job_id": jobs["made"], "manual job": jobs["by hand"], ":ref_name": branch, "resource_groups/:key": branch}
}

// list returns what a path lists to the owner.
func (w *world) list(path string) []map[string]any {
	a := w.send(w.tb.Context(), get("owner", path))
	var out []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != http.StatusOK {
		w.tb.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	return out
}

// takeJob makes a runner of the project with a token, which takes a job.
func (w *world) takeJob(ctx context.Context, id, token string) *ci.Assignment {
	w.tb.Helper()
	now := db.At(w.now())
	w.exec(`INSERT INTO runners (runner_type, registered, digest, paused, locked, run_untagged, ref_protected, tags, created_at, updated_at)
		VALUES ('project_type', ?, ?, ?, ?, ?, ?, '[]', ?, ?)`, false, secret.Digest(token), false, false, true, false, now, now)
	w.exec("INSERT INTO runner_projects (runner_id, project_id, created_at) SELECT MAX(id), ?, ? FROM runners", id, now)
	got, _, err := w.core.CI.Request(ctx, ci.Ask{Token: token, Features: map[string]bool{"upload_multiple_artifacts": true}})
	if err != nil || got == nil {
		w.tb.Fatalf("ask for a job: %v %v", got, err)
	}
	return got
}

// runJob is a runner of the project that runs one job and is gone.
func (w *world) runJob(ctx context.Context, id string) {
	w.tb.Helper()
	token := "glrt-of-the-tests-" + id
	got := w.takeJob(ctx, id, token)
	held, err := w.core.CI.Hold(ctx, got.Job.ID, got.Token)
	if err == nil {
		_, _, err = w.core.CI.Append(ctx, held, 0, []byte("it works\n"))
	}
	if err == nil {
		err = w.core.CI.Store(ctx, held, ci.ArtifactInput{Content: bytes.NewReader(archived("out", "made by "+id)), Filename: "artifacts.zip"})
	}
	if err == nil {
		report := packed(fmt.Sprintf("<testsuite><testcase name=%q classname=%q/></testsuite>", "works "+id, "place "+id))
		err = w.core.CI.Store(ctx, held, ci.ArtifactInput{Type: "junit", Format: "gzip", Content: bytes.NewReader(report)})
	}
	if err == nil {
		_, err = w.core.CI.Finish(ctx, held, ci.Outcome{State: "success"})
	}
	if err != nil {
		w.tb.Fatalf("run a job: %v", err)
	}
	w.exec("DELETE FROM runners WHERE digest = '" + secret.Digest(token) + "'")
}

// archived is a zip file with one file in it.
func archived(name, content string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = fmt.Fprint(f, content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// packed is text under gzip.
func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := fmt.Fprint(z, text)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// pipelineSamples are those of routes of pipelines and jobs.
func pipelineSamples(all map[string][]sample) {
	maps.Copy(all, map[string][]sample{
		// The token is the permission: TestService_Trigger of core/ci has one.
		"POST /projects/:id/trigger/pipeline":                                          {{body: obj{"token": "glptt-none", "ref": "main", "variables": obj{"COLOR": "red"}}, status: http.StatusNotFound}},
		"POST /projects/:id/ref/:ref/trigger/pipeline":                                 {{body: obj{"token": "glptt-none"}, values: with{"ref": "main"}, status: http.StatusNotFound}},
		"POST /projects/:id/deployments/:deployment_id/approval":                       {{body: obj{"status": "approved"}, status: http.StatusBadRequest}}, // waits for none: TestProtectedEnvironments_approvals has one
		"POST /projects/:id/protected_environments":                                    {{body: obj{"name": "staging", "deploy_access_levels": []obj{{"access_level": 40}}}}},
		"PUT /projects/:id/protected_environments/:name":                               {{body: obj{"required_approval_count": 1}}},
		"DELETE /projects/:id/protected_environments/:name":                            {{}},
		"POST /groups/:id/protected_environments":                                      {{body: obj{"name": "staging", "deploy_access_levels": []obj{{"access_level": 40}}}}},
		"PUT /groups/:id/protected_environments/:name":                                 {{body: obj{"required_approval_count": 1}}},
		"DELETE /groups/:id/protected_environments/:name":                              {{}},
		"GET /projects/:id/dora/metrics":                                               {{query: "metric=deployment_frequency"}},
		"GET /groups/:id/dora/metrics":                                                 {{query: "metric=change_failure_rate"}},
		"POST /projects/:id/freeze_periods":                                            {{body: obj{"freeze_start": "0 20 24 12 *", "freeze_end": "0 8 2 1 *"}}},
		"PUT /projects/:id/freeze_periods/:freeze_period_id":                           {{body: obj{"freeze_end": "0 8 * * 2"}}},
		"DELETE /projects/:id/freeze_periods/:freeze_period_id":                        {{}},
		"POST /projects/:id/environments":                                              {{body: obj{"name": "staging"}}},
		"PUT /projects/:id/environments/:environment_id":                               {{body: obj{"external_url": "https://shop.example"}}},
		"DELETE /projects/:id/environments/:environment_id":                            {{values: with{"environment_id": "=stopped environment"}}},
		"POST /projects/:id/environments/:environment_id/stop":                         {{}},
		"POST /projects/:id/environments/stop_stale":                                   {{body: obj{"before": "2026-01-01T00:00:00Z"}}},
		"DELETE /projects/:id/environments/review_apps":                                {{body: obj{"dry_run": false}}},
		"POST /projects/:id/deployments":                                               {{body: obj{"environment": "production", "sha": "=deployed", "ref": "main", "tag": false, "status": "running"}}},
		"PUT /projects/:id/deployments/:deployment_id":                                 {{body: obj{"status": "failed"}}},
		"DELETE /projects/:id/deployments/:deployment_id":                              {{values: with{"deployment_id": "=failed deployment"}}},
		"POST /projects/:id/pipeline_schedules":                                        {{body: obj{"description": "Weekly", "ref": "main", "cron": "0 1 * * 0"}}},
		"PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id":                   {{body: obj{"description": "Monthly"}}},
		"DELETE /projects/:id/pipeline_schedules/:pipeline_schedule_id":                {{}},
		"POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/take_ownership":   {{}},
		"POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/play":             {{}},
		"POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables":        {{body: obj{"key": "NEW", "value": "value"}}},
		"PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key":    {{body: obj{"value": "other"}}},
		"DELETE /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key": {{}},
		"PUT /projects/:id/resource_groups/:key":                                       {{body: obj{"process_mode": "oldest_first"}}},
		"GET /projects/:id/resource_groups/:key/current_job":                           {{status: http.StatusNotFound}}, // it has ended
		"POST /projects/:id/ci/lint":                                                   {{body: obj{"content": "test: {script: make}"}}},
		"GET /projects/:id/ci/explain":                                                 {{query: "ref==:ref_name", status: http.StatusNotFound}}, // the branch is gone
		"GET /projects/:id/pipelines/latest":                                           {{query: "ref==:ref_name"}},
		"POST /projects/:id/pipeline":                                                  {{body: obj{"ref": "main"}, status: http.StatusBadRequest}}, // it has no configuration
		"POST /projects/:id/pipelines/:pipeline_id/retry":                              {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/pipelines":               {{status: http.StatusBadRequest}}, // the same
		"POST /projects/:id/pipelines/:pipeline_id/cancel":                             {{}},
		"DELETE /projects/:id/pipelines/:pipeline_id":                                  {{}},
		"PUT /projects/:id/pipelines/:pipeline_id/metadata":                            {{body: obj{"name": "Nightly"}}},
		"POST /projects/:id/jobs/:job_id/cancel":                                       {{}},
		"POST /projects/:id/jobs/:job_id/retry":                                        {{}},
		"POST /projects/:id/jobs/:job_id/play":                                         {{values: with{"job_id": "=manual job"}}},
		"POST /projects/:id/jobs/:job_id/erase":                                        {{}},
		"POST /projects/:id/jobs/:job_id/artifacts/keep":                               {{}},
		"DELETE /projects/:id/jobs/:job_id/artifacts":                                  {{}},
		"DELETE /projects/:id/artifacts":                                               {{}},
		"GET /job":                                                                     {{status: http.StatusUnauthorized}}, // takes tokens of jobs alone
		"GET /projects/:id/jobs/:job_id/artifacts/*artifact_path":                      {{values: with{"artifact_path": "out"}}},
		"GET /projects/:id/jobs/artifacts/:ref_name/download":                          {{query: "job=made"}},
		"GET /projects/:id/jobs/artifacts/:ref_name/raw/*artifact_path":                {{query: "job=made", values: with{"artifact_path": "out"}}},
	})
}
