package app

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Limits of the default plan hold beside the server's own bounds; what is there already stays, and 0 leaves the bounds alone.
func TestPlanLimits(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		const path = "/application/plan_limits"
		limit := func(values obj) {
			t.Helper()
			values["plan_name"] = "default"
			s.do("admin", "PUT", path, values)
		}
		s.want("admin", "GET", path+"?plan_name=iron", nil, 400, `{"error":"plan_name does not have a valid value"}`)
		s.want("admin", "PUT", path, obj{"ci_active_jobs": 1}, 400, "plan_name is missing")
		s.want("admin", "PUT", path, obj{"plan_name": "default", "ci_active_jobs": -1}, 400, `"ci_active_jobs":["must be greater than or equal to 0"]`)
		s.want("admin", "GET", path, nil, 200, `{"ci_pipeline_size":0,"ci_active_jobs":0,"ci_active_pipelines":0,"ci_project_subscriptions":2,"ci_pipeline_schedules":10,`)

		group := number(s.do("ann", "POST", "/groups", obj{"name": "Yard", "path": "yard"}), "id")
		id := number(s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true}), "id")
		at := "/projects/" + id
		jobs := func(n int, needs bool) obj {
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, "j%d: {script: make}\n", i)
			}
			if needs {
				text.WriteString("last: {script: make, needs: [j0, j1]}\n")
			}
			return obj{"content": text.String()}
		}
		lint := func(body obj, want string) {
			t.Helper()
			s.want("ann", "POST", at+"/ci/lint", body, 200, want)
		}
		limit(obj{"ci_pipeline_size": 2, "ci_needs_size_limit": 1})
		s.do("ann", "POST", at+"/repository/files/.gitlab-ci.yml", obj{"branch": "main", "content": jobs(3, false)["content"], "commit_message": "Build [skip ci]"})
		s.want("ann", "POST", at+"/pipeline", obj{"ref": "main"}, 400, "Pipeline has too many jobs! Limit: 2.")
		limit(obj{"ci_pipeline_size": 0})
		lint(jobs(2, true), "one job can only need 1 others, but you have listed 2")
		limit(obj{"ci_needs_size_limit": 0, "ci_active_pipelines": 1})
		s.want("ann", "POST", at+"/pipeline", obj{"ref": "main"}, 201, `"status":"`)
		s.want("ann", "POST", at+"/pipeline", obj{"ref": "main"}, 422, "Project exceeded the allowed number of active pipelines (1)")
		limit(obj{"ci_active_pipelines": 0, "ci_active_jobs": 5})
		s.want("ann", "POST", at+"/pipeline", obj{"ref": "main"}, 422, "Project exceeded the allowed number of jobs in active pipelines (5)")
		limit(obj{"ci_active_jobs": 6})
		s.want("ann", "POST", at+"/pipeline", obj{"ref": "main"}, 201, "")
		s.do("ann", "PUT", at+"/repository/files/.gitlab-ci.yml", obj{"branch": "main", "content": "a: {script: make}", "commit_message": "Build"})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.want("ann", "GET", at+"/pipelines?source=push&status=failed", nil, 200, `"source":"push"`)

		schedule := obj{"description": "nightly", "ref": "main", "cron": "0 1 * * *"}
		limit(obj{"ci_pipeline_schedules": 1, "ci_registered_group_runners": 1, "ci_registered_project_runners": 1})
		for _, tt := range []struct {
			name, path, text string
			body             obj
		}{
			{"schedule", at + "/pipeline_schedules", "Maximum number of pipeline schedules (1) exceeded", schedule},
			{"runner of a group", "/user/runners", "Maximum number of group runners (1) exceeded", obj{"runner_type": "group_type", "group_id": group}},
			{"runner of a project", "/user/runners", "Maximum number of project runners (1) exceeded", obj{"runner_type": "project_type", "project_id": id}},
		} {
			s.want("ann", "POST", tt.path, tt.body, 201, "")
			s.want("ann", "POST", tt.path, tt.body, 422, tt.text)
		}
		limit(obj{"ci_pipeline_schedules": 0, "ci_registered_group_runners": 0, "ci_registered_project_runners": 0})
		s.want("ann", "POST", at+"/pipeline_schedules", schedule, 201, "")
		// A pipeline triggers a child, which triggers another one.
		s.do("ann", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "Trigger [skip ci]", "actions": []any{
			obj{"action": "update", "file_path": ".gitlab-ci.yml", "content": "a: {trigger: {include: child.yml}}\n"},
			obj{"action": "create", "file_path": "child.yml", "content": "b: {trigger: {include: last.yml}}\n"},
			obj{"action": "create", "file_path": "last.yml", "content": "c: {script: make}\n"},
		}})
		for _, tt := range []struct{ limit, made int }{{1, 1}, {2, 2}, {3, 3}, {0, 3}} {
			limit(obj{"ci_active_jobs": 0, "pipeline_hierarchy_size": tt.limit})
			next := number(s.do("ann", "POST", at+"/pipeline", obj{"ref": "main"}), "id")
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			made, reason := 1, any(nil)
			for next != "" {
				a := s.send(t.Context(), request{as: "ann", method: "GET", path: at + "/pipelines/" + next + "/bridges"})
				var bridges []obj
				if err := json.Unmarshal(a.Body.Bytes(), &bridges); err != nil {
					t.Fatalf("%v: %d %s", err, a.Code, a.Body)
				}
				next = ""
				for _, bridge := range bridges {
					reason = bridge["failure_reason"]
					if of, ok := bridge["downstream_pipeline"].(obj); ok {
						next, made = number(of, "id"), made+1
					}
				}
			}
			if full := reason == "reached_max_pipeline_hierarchy_size"; made != tt.made || full != (made < 3) {
				t.Errorf("a hierarchy of %d pipelines where the limit is %d, which ends with %v; want %d", made, tt.limit, reason, tt.made)
			}
		}
		if event := s.trail("admin", "/audit_events?per_page=50"); !strings.Contains(eventNames(event), "plan_limits_updated") {
			t.Errorf("audit: %s", eventNames(event))
		}
	})
}

// Each check of readiness fails by its own name.
func TestReadiness(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	ready := func(code int, want string) {
		t.Helper()
		s.wantOf(request{method: "GET", path: "/-/readiness?all=1", whole: true}, code, want)
	}
	const others = `"db_check":[{"status":"ok"}],"master_check":[{"status":"ok"}],"queues_check":[{"status":"ok"}]`
	ready(200, `{"data_check":[{"status":"ok"}],`+others+`,"status":"ok"}`)
	if err := os.Rename(s.data, s.data+".away"); err != nil {
		t.Fatal(err)
	}
	ready(503, `{"data_check":[{"status":"failed"}],`+others+`,"status":"failed"}`)
	if err := os.Rename(s.data+".away", s.data); err != nil {
		t.Fatal(err)
	}
	ready(200, `"data_check":[{"status":"ok"}]`)
	s.exec("ALTER TABLE river_job RENAME TO river_job_away")
	ready(503, `{"data_check":[{"status":"ok"}],"db_check":[{"status":"ok"}],"master_check":[{"status":"ok"}],"queues_check":[{"status":"failed"}],"status":"failed"}`)
	s.exec("ALTER TABLE river_job_away RENAME TO river_job")
	ready(200, `"queues_check":[{"status":"ok"}]`)
}

// Administrators see what the queues of jobs have to do, and monitoring systems which check fails.
func TestQueueFigures(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		before := s.do("admin", "GET", "/sidekiq/job_stats", nil)["jobs"].(obj)
		s.user("ann", nil)
		s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true})
		got := s.do("admin", "GET", "/sidekiq/compound_metrics", nil)
		waiting := 0.0
		for _, name := range []string{"default", "maintenance", "outbound", "mail", "events", "hooks", "hooks_slow", "moving"} {
			queue, ok := got["queues"].(obj)[name].(obj)
			if !ok || queue["latency"].(float64) < 0 {
				t.Errorf("queue %s: %v", name, queue)
				continue
			}
			waiting += queue["backlog"].(float64)
		}
		jobs := got["jobs"].(obj)
		if waiting == 0 || jobs["enqueued"] != waiting {
			t.Errorf("%v jobs wait in the queues, of %v", waiting, jobs["enqueued"])
		}
		process := got["processes"].([]any)[0].(obj)
		if process["pid"] == 0.0 || process["hostname"] == "" || process["concurrency"] != 97.0 || len(process["queues"].([]any)) != 8 {
			t.Errorf("process: %v", process)
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := s.do("admin", "GET", "/sidekiq/job_stats", nil)["jobs"].(obj); after["enqueued"] != 0.0 || after["processed"].(float64) <= before["processed"].(float64) || after["failed"] != before["failed"] {
			t.Errorf("afterwards: %v, before %v", after, before)
		}
		s.exec("UPDATE river_job SET state = 'discarded', finalized_at = created_at WHERE id = (SELECT MAX(id) FROM river_job)")
		if dead := s.do("admin", "GET", "/sidekiq/job_stats", nil)["jobs"].(obj)["dead"]; dead != 1.0 {
			t.Errorf("%v jobs were given up", dead)
		}
		s.want("ann", "GET", "/sidekiq/queue_metrics", nil, 403, "403 Forbidden")
		for query, want := range map[string]string{
			"":       `{"master_check":[{"status":"ok"}],"status":"ok"}`,
			"?all=1": `{"data_check":[{"status":"ok"}],"db_check":[{"status":"ok"}],"master_check":[{"status":"ok"}],"queues_check":[{"status":"ok"}],"status":"ok"}`,
		} {
			s.wantOf(request{method: "GET", path: "/-/readiness" + query, whole: true}, 200, want)
		}
	})
}
