package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tenon/test/form"
)

// notOfPushes begins configurations that make no pipelines of pushes.
const notOfPushes = "workflow: {rules: [{if: $CI_PIPELINE_SOURCE != \"push\"}]}\n"

// work lets the server do its background jobs until the test ends.
func (s *server) work() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- s.Run(ctx, func(string) { close(ready) }) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("run the server: %v", err)
		}
	})
	select {
	case <-ready:
	case <-time.After(patience):
		s.t.Fatal("the server does not start")
	}
}

// until asks again and again until the answer is there.
func (s *server) until(what string, there func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for !there() {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			s.t.Fatalf("%s: not there", what)
		}
	}
}

// projectWith makes a project of the administrator with files, read by the public; "dev" is its Developer.
func (s *server) projectWith(name string, files map[string]string) {
	s.t.Helper()
	s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":%q,"path":%q,"visibility":"public","initialize_with_readme":true}`, name, name))
	s.rest("root", "DELETE", "/projects/root%2F"+name+"/protected_branches/main", "")
	if s.ids["dev"] == 0 {
		s.user("dev")
		s.user("stranger")
	}
	s.rest("root", "POST", "/projects/root%2F"+name+"/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
	type action struct {
		Action  string `json:"action"`
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	var actions []action
	for path, content := range files {
		actions = append(actions, action{"create", path, content})
	}
	body, err := json.Marshal(map[string]any{"branch": "main", "commit_message": "Begin", "actions": actions})
	if err != nil {
		s.t.Fatal(err)
	}
	s.rest("root", "POST", "/projects/root%2F"+name+"/repository/commits", string(body))
}

// take returns the next job to a runner.
func (s *server) take(runner string) map[string]any {
	s.t.Helper()
	w := s.send("", "POST", "/api/v4/jobs/request", fmt.Sprintf(`{"token":%q,"system_id":"m-1","info":{"features":{"upload_multiple_artifacts":true}}}`, runner))
	if w.Code != http.StatusCreated {
		s.t.Fatalf("take a job: got %d %s", w.Code, w.Body)
	}
	out := map[string]any{}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// upload leaves an archive with one file as the artifacts of a job.
func (s *server) upload(job map[string]any) {
	s.t.Helper()
	body, kind := form.File(s.t, "file", "artifacts.zip", form.Archive(s.t, map[string]string{"out": "made"}))
	r := httptest.NewRequestWithContext(s.t.Context(), "POST", fmt.Sprintf("/api/v4/jobs/%d/artifacts?artifact_type=archive&artifact_format=zip", id(job)), bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Job-Token", job["token"].(string))
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != http.StatusCreated {
		s.t.Fatalf("upload: got %d %s", w.Code, w.Body)
	}
}

// TestJobs runs a job by hand: its artifacts, its runner, and what users gave it.
func TestJobs(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.projectWith("app", map[string]string{".gitlab-ci.yml": "build: {script: x, when: manual, artifacts: {paths: [out]}}\nship: {script: x, when: manual, environment: production}\n"})
		runner := s.rest("root", "POST", "/user/runners", `{"runner_type":"instance_type","description":"r","maintenance_note":"see *this*"}`)
		token, gid := runner["token"].(string), fmt.Sprintf("gid://gitlab/Ci::Runner/%d", id(runner))
		made := s.rest("dev", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"main"}`)
		jobs := map[string]string{}
		for _, j := range s.list("dev", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/jobs", id(made))) {
			jobs[j["name"].(string)] = fmt.Sprintf("gid://gitlab/Ci::Build/%d", id(j))
		}
		s.want("dev", `mutation($id: CiProcessableID!) { jobPlay(input: {id: $id, variables: [{key: "SECRET", value: "for few"}]}) { errors job { status } } }`, variables{"id": jobs["build"]},
			`{"data":{"jobPlay":{"errors":[],"job":{"status":"PENDING"}}}}`)
		job := func(as, name, fields, want string) {
			t.Helper()
			s.want(as, fmt.Sprintf(`{ project(fullPath: "root/app") { job(id: %q) { %s } } }`, jobs[name], fields), nil, `{"data":{"project":{"job":{`+want+`}}}}`)
		}
		const vars = `manualVariables { nodes { id key value raw variableType } }`
		key := jobs["build"][len("gid://gitlab/Ci::Build/"):] + "-SECRET"
		for _, as := range []string{"dev", "root"} {
			job(as, "build", vars, fmt.Sprintf(`"manualVariables":{"nodes":[{"id":"gid://gitlab/Ci::JobVariable/%s","key":"SECRET","value":"for few","raw":false,"variableType":"ENV_VAR"}]}`, key))
		}
		for _, as := range []string{"stranger", ""} {
			job(as, "build", vars, `"manualVariables":null`)
		}
		job("dev", "ship", vars, `"manualVariables":{"nodes":[]}`)
		s.want("root", fmt.Sprintf(`{ runner(id: %q) { jobExecutionStatus projectCount maintenanceNoteHtml status(legacyMode: "14.5") } }`, gid), nil,
			`{"data":{"runner":{"jobExecutionStatus":"IDLE","projectCount":null,"maintenanceNoteHtml":"<p dir=\"auto\">see <em>this</em></p>\n","status":"NEVER_CONTACTED"}}}`)

		taken := s.take(token)
		const onMachine = `runner { jobExecutionStatus maintenanceNoteHtml } runnerManager { systemId runner { description } }`
		job("root", "build", onMachine, `"runner":{"jobExecutionStatus":"RUNNING","maintenanceNoteHtml":"<p dir=\"auto\">see <em>this</em></p>\n"},"runnerManager":{"systemId":"m-1","runner":{"description":"r"}}`)
		job("stranger", "build", onMachine, `"runner":{"jobExecutionStatus":"RUNNING","maintenanceNoteHtml":null},"runnerManager":{"systemId":"m-1","runner":{"description":"r"}}`)
		job("", "build", onMachine, `"runner":null,"runnerManager":null`)
		s.upload(taken)
		s.rest("root", "PUT", "/runners/"+gid[len("gid://gitlab/Ci::Runner/"):], `{"paused":true}`)
		s.want("root", fmt.Sprintf(`{ runner(id: %q) { now: status then: status(legacyMode: "14.5") } }`, gid), nil, `{"data":{"runner":{"now":"ONLINE","then":"PAUSED"}}}`)
		if w := s.send("", "PUT", fmt.Sprintf("/api/v4/jobs/%d", id(taken)), fmt.Sprintf(`{"token":%q,"state":"success"}`, taken["token"])); w.Code != http.StatusOK {
			t.Fatalf("finish: got %d %s", w.Code, w.Body)
		}
		const left = `artifacts { nodes { name fileType } }`
		job("", "build", left+` retryable playable`, `"artifacts":{"nodes":[{"name":"artifacts.zip","fileType":"ARCHIVE"}]},"retryable":true,"playable":false`)
		s.want("", `{ project(fullPath: "root/app") { pipeline(iid: "1") { jobArtifacts { name } } } }`, nil, `{"data":{"project":{"pipeline":{"jobArtifacts":[{"name":"artifacts.zip"}]}}}}`)

		const destroy = `mutation($id: CiBuildID!) { jobArtifactsDestroy(input: {id: $id}) { errors destroyedArtifactsCount job { name artifacts { nodes { name } } } } }`
		for _, as := range []string{"", "stranger", "dev"} {
			if got := s.ask(as, destroy, variables{"id": jobs["build"]}); at(decoded(t, got), "data", "jobArtifactsDestroy") != nil {
				t.Errorf("jobArtifactsDestroy as %q: got %s", as, got)
			}
		}
		s.want("root", destroy, variables{"id": jobs["build"]}, `{"data":{"jobArtifactsDestroy":{"errors":[],"destroyedArtifactsCount":1,"job":{"name":"build","artifacts":{"nodes":[]}}}}}`)
		job("dev", "build", left, `"artifacts":{"nodes":[]}`)

		job("dev", "ship", `playable cancelable`, `"playable":true,"cancelable":true`)
		s.want("", `{ project(fullPath: "root/app") { none: ciTemplate(name: "Nothing") { name } } }`, nil, `{"data":{"project":{"none":null}}}`)
		rest := s.list("", "/templates/gitlab_ci_ymls")[0]["name"].(string)
		if got := s.data("", `query($n: String!) { project(fullPath: "root/app") { ciTemplate(name: $n) { name content } } }`, variables{"n": rest}); at(got, "project", "ciTemplate", "name") != rest ||
			at(got, "project", "ciTemplate", "content") != s.rest("", "GET", "/templates/gitlab_ci_ymls/"+rest, "")["content"] {
			t.Errorf("ciTemplate: got %v", got)
		}
	})
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// TestJobs_bridge looks at a pipeline of another project that a job started, from both ends, as those who may read both or one.
func TestJobs_bridge(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.projectWith("lower", map[string]string{".gitlab-ci.yml": notOfPushes + "inner: {script: x}\n"})
		s.projectWith("upper", map[string]string{".gitlab-ci.yml": notOfPushes + "bridge: {trigger: root/lower}\n"})
		s.work()
		s.rest("dev", "POST", "/projects/root%2Fupper/pipeline", `{"ref":"main"}`)
		s.until("the pipeline below", func() bool { return len(s.list("dev", "/projects/root%2Flower/pipelines")) == 1 })
		const down = `{ project(fullPath: "root/upper") { pipeline(iid: "1") { job(name: "bridge") { kind downstreamPipeline { iid project { fullPath } } } downstream { nodes { iid project { fullPath } } } } } }`
		const up = `{ project(fullPath: "root/lower") { pipeline(iid: "1") { source sourceJob { name kind } upstream { iid project { fullPath } } } } }`
		for _, as := range []string{"dev", "stranger", ""} {
			s.want(as, down, nil, `{"data":{"project":{"pipeline":{"job":{"kind":"BRIDGE","downstreamPipeline":{"iid":"1","project":{"fullPath":"root/lower"}}},"downstream":{"nodes":[{"iid":"1","project":{"fullPath":"root/lower"}}]}}}}}`)
			s.want(as, up, nil, `{"data":{"project":{"pipeline":{"source":"pipeline","sourceJob":{"name":"bridge","kind":"BRIDGE"},"upstream":{"iid":"1","project":{"fullPath":"root/upper"}}}}}}`)
		}
		s.rest("root", "PUT", "/projects/root%2Flower", `{"visibility":"private"}`)
		for as, sees := range map[string]bool{"dev": true, "stranger": false, "": false} {
			want := `{"data":{"project":{"pipeline":{"job":{"kind":"BRIDGE","downstreamPipeline":null},"downstream":{"nodes":[]}}}}}`
			if got := s.ask(as, down, nil); (got == want) == sees {
				t.Errorf("downstream that is hidden, as %q: got %s", as, got)
			}
		}
		s.rest("root", "PUT", "/projects/root%2Flower", `{"visibility":"public"}`)
		s.rest("root", "PUT", "/projects/root%2Fupper", `{"visibility":"private"}`)
		for as, sees := range map[string]bool{"dev": true, "stranger": false, "": false} {
			want := `{"data":{"project":{"pipeline":{"source":"pipeline","sourceJob":null,"upstream":null}}}}`
			if got := s.ask(as, up, nil); (got == want) == sees {
				t.Errorf("upstream that is hidden, as %q: got %s", as, got)
			}
		}
	})
}

// TestPipelines_ofRequest selects from the pipelines of a merge request.
func TestPipelines_ofRequest(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.projectWith("app", map[string]string{".gitlab-ci.yml": "build: {script: x}\n"})
		s.rest("dev", "POST", "/projects/root%2Fapp/repository/commits", `{"branch":"topic","start_branch":"main","commit_message":"Change","actions":[{"action":"create","file_path":"a","content":"a"}]}`)
		s.rest("dev", "POST", "/projects/root%2Fapp/merge_requests", `{"source_branch":"topic","target_branch":"main","title":"Change"}`)
		first := s.rest("dev", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"topic"}`)
		s.rest("root", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"topic"}`)
		s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/cancel", id(first)), "")
		for filter, want := range map[string]string{
			"": "2 1", "(ref: \"topic\")": "2 1", "(ref: \"main\")": "", "(status: CANCELED)": "1", "(status: PENDING)": "2", "(scope: FINISHED)": "1", "(scope: PENDING)": "2", "(scope: BRANCHES)": "2",
			"(username: \"root\")": "2", "(username: \"none\")": "", "(source: \"api\")": "2 1", "(source: \"push\")": "", "(sha: \"" + first["sha"].(string) + "\")": "2 1", "(sha: \"0\")": "",
			"(updatedAfter: \"2099-01-01\")": "", "(updatedBefore: \"2099-01-01\")": "2 1", "(first: 1)": "2",
		} {
			data := s.data("dev", `{ project(fullPath: "root/app") { mergeRequest(iid: "1") { pipelines`+filter+` { count nodes { iid } } } } }`, nil)
			got := ""
			list, _ := at(data, "project", "mergeRequest", "pipelines", "nodes").([]any)
			for i, p := range list {
				if i > 0 {
					got += " "
				}
				got += at(p, "iid").(string)
			}
			if got != want || filter != "(first: 1)" && at(data, "project", "mergeRequest", "pipelines", "count") != float64(len(list)) {
				t.Errorf("pipelines%s: got %v, want %s", filter, data, want)
			}
		}
	})
}
