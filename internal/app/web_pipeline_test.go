package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

// build makes a pipeline of the project, on a branch of its own, and returns its first job.
func (w *webWorld) build() (id int64) {
	w.tb.Helper()
	at := "/projects/work%2Finner%2Ftools"
	w.do("mona", "POST", at+"/repository/commits", obj{
		"branch": "build", "start_branch": "main", "commit_message": "Build it [skip ci]",
		"actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "stages: [make, ship]\npress <b>: {stage: make, script: x}\ncarry: {stage: ship, script: x}\n"}},
	})
	made := w.do("mona", "POST", at+"/pipeline", obj{"ref": "build"})
	w.built = number(made, "id")
	var jobs []struct {
		ID    int64
		Stage string
	}
	if err := json.Unmarshal(w.fetch("mona", api.Prefix+at+"/pipelines/"+w.built+"/jobs").Body.Bytes(), &jobs); err != nil || len(jobs) != 2 {
		w.tb.Fatalf("jobs: %v, %v", jobs, err)
	}
	for _, j := range jobs {
		if j.Stage == "make" {
			id = j.ID
		}
	}
	return id
}

// Pages of pipelines and jobs show stages and the log, for those who may read jobs of the project.
func TestWeb_jobs(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		callers, in := w.callers(t), "/"+w.path+"/-/"
		page := fmt.Sprint(in, "jobs/", w.job)
		if p := callers["owner"].get(page); p.status != http.StatusOK || !strings.Contains(p.text, "There is no log.") || !strings.Contains(p.text, "pending") {
			t.Errorf("before it ran: got %d %s", p.status, p.text)
		}
		machine := s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type"})
		taken := s.do("", "POST", "/jobs/request", obj{"token": machine["token"]})
		log := "\x1b[0Ksection_start:1:prepare[collapsed=true]\r\x1b[0K\x1b[32;1mMaking <b>\x1b[0;m\n10%\r100%\r\nbell\x07 \xff\n"
		s.appendLog(t.Context(), taken, log)
		s.do("", "PUT", "/jobs/"+number(taken, "id"), obj{"token": taken["token"], "state": "success"})
		p := callers["reporter"].get(page)
		for _, want := range []string{"press &lt;b&gt;", "<td>Making &lt;b&gt;</td>", "<td>100%</td>", "<td>bell \ufffd</td>", "Passed", `alt=""`, "make"} {
			if p.status != http.StatusOK || !strings.Contains(strings.Join(strings.Fields(p.text), " "), want) {
				t.Errorf("the page of a job: got %d, no %q in %s", p.status, want, p.text)
			}
		}
		if strings.ContainsAny(p.text, "\x1b\x07") || strings.Contains(p.text, "section_start") {
			t.Errorf("the log is shown as it is for terminals: %q", p.text)
		}
		p = callers["reporter"].get(in + "pipelines/" + w.built)
		for _, want := range []string{"<h2>make</h2>", "<h2>ship</h2>", fmt.Sprintf(`href="%s">press &lt;b&gt;</a>`, page), "/assets/ci_favicons/favicon_status_success.png", `<span class="badge good">Passed</span>`} {
			if p.status != http.StatusOK || !strings.Contains(p.text, want) {
				t.Errorf("the page of a pipeline: got %d, no %q in %s", p.status, want, p.text)
			}
		}
		for role, want := range map[string]int{"nobody": http.StatusNotFound, "stranger": http.StatusNotFound, "owner": http.StatusOK} {
			if p := callers[role].get(page); p.status != want {
				t.Errorf("a job for %s: got %d, want %d", role, p.status, want)
			}
		}
		other := s.do("mona", "POST", "/projects", obj{"name": "Other"})
		for _, path := range []string{in + "jobs/999999", in + "jobs/x", fmt.Sprint("/", other["path_with_namespace"], "/-/jobs/", w.job)} {
			if p := callers["owner"].get(path); p.status != http.StatusNotFound {
				t.Errorf("%s: got %d, want 404", path, p.status)
			}
		}
		// Jobs are for members alone where the project says so.
		at := "/projects/work%2Finner%2Ftools"
		s.do("mona", "PUT", at, obj{"builds_access_level": "disabled"})
		if p := callers["reporter"].get(page); p.status == http.StatusOK {
			t.Errorf("a job of a project without CI: got %d %s", p.status, p.text)
		}
	})
}

// appendLog sends a piece of a log as a runner does.
func (s *server) appendLog(ctx context.Context, taken obj, text string) {
	s.tb.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodPatch, api.Prefix+"/jobs/"+number(taken, "id")+"/trace", strings.NewReader(text))
	r.Header.Set("JOB-TOKEN", taken["token"].(string))
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Content-Range", fmt.Sprintf("0-%d", len(text)-1))
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		s.tb.Fatalf("append to log: got %d %s", w.Code, w.Body)
	}
}
