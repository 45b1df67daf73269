package ci_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
)

// validator is an external validation service that answers with a status.
type validator struct {
	*httptest.Server

	status atomic.Int64
	last   atomic.Pointer[http.Request]
	body   atomic.Pointer[[]byte]
}

func newValidator(t *testing.T) *validator {
	t.Helper()
	v := &validator{}
	v.status.Store(http.StatusOK)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		v.last.Store(r)
		v.body.Store(&body)
		status := int(v.status.Load())
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(v.Close)
	return v
}

// TestService_Run_validated asks a service about each new pipeline: 406 refuses it, nothing else does.
func TestService_Run_validated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := newValidator(t)
		w.push("main", yml("build: {script: make, image: alpine, tags: [big], services: [redis]}\n"), "Begin [skip ci]")
		w.set("external_pipeline_validation_service_url", v.URL+"/check")
		w.set("external_pipeline_validation_service_token", "s3cret-validation")
		run := func() (*ci.Pipeline, error) {
			return w.ci.Run(t.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: "main", Source: ci.ByAPI})
		}
		v.status.Store(http.StatusNotAcceptable)
		if _, err := run(); err != nil || v.last.Load() != nil {
			t.Fatalf("a service that may not be reached: %v, asked %v", err, v.last.Load() != nil)
		}
		w.local.Store(true)
		_, err := run()
		wantError(t, "refused", err, errs.Invalid, "External validation failed")
		equal(t, "token", v.last.Load().Header.Get("X-Gitlab-Token"), "s3cret-validation")
		equal(t, "path", v.last.Load().URL.Path, "/check")
		var asked struct {
			Project  struct{ Path string }
			User     struct{ Username string }
			Pipeline struct{ Ref, Type string }
			Builds   []struct {
				Name, Stage, Image string
				TagList            []string `json:"tag_list"`
				Services, Script   []string
			}
			Total int `json:"total_builds_count"`
		}
		check(t, json.Unmarshal(*v.body.Load(), &asked))
		equal(t, "project", asked.Project.Path, "group/shop")
		equal(t, "user", asked.User.Username, "mary")
		equal(t, "pipeline", asked.Pipeline.Ref+" "+asked.Pipeline.Type, "main branch_pipeline")
		if b := asked.Builds; len(b) != 1 || asked.Total != 1 || b[0].Name != "build" || b[0].Stage != "test" || b[0].Image != "alpine" ||
			len(b[0].TagList) != 1 || len(b[0].Services) != 1 || len(b[0].Script) != 1 {
			t.Errorf("jobs: %+v", asked)
		}

		w.push("main", files{"a": "a"}, "Go")
		p := w.newest("main")
		w.wantStates(p, "pushed", "= failed")
		if p.FailureReason == nil || *p.FailureReason != ci.RejectedPipeline || p.YAMLErrors != nil {
			t.Errorf("reason %v, errors %v", p.FailureReason, p.YAMLErrors)
		}
		before := v.last.Load()
		w.push("main", files{"a": "b"}, "Go [skip ci]")
		if v.last.Load() != before {
			t.Error("the service is asked about a pipeline that is skipped")
		}

		for _, status := range []int64{http.StatusOK, http.StatusInternalServerError, http.StatusForbidden} {
			v.status.Store(status)
			_, err := run()
			check(t, err)
		}
		v.status.Store(0)
		w.set("external_pipeline_validation_service_timeout", 1)
		_, err = run() // which ends although the service does not answer
		check(t, err)
		w.set("external_pipeline_validation_service_url", nil)
		v.status.Store(http.StatusNotAcceptable)
		_, err = run()
		check(t, err)
	})
}

// TestService_Run_limited counts pipelines of a user, of a commit, and those that jobs trigger.
func TestService_Run_limited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.deps.Limits.Enforce()
		w.push("main", yml(oneJob), "Begin [skip ci]")
		run := func(ref string) error {
			_, err := w.ci.Run(t.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: ref, Source: ci.ByAPI})
			return err
		}
		const text = "Too many pipelines were created"
		w.set("pipeline_limit_per_project_user_sha", 2)
		check(t, run("main"))
		check(t, run("main"))
		wantError(t, "a third of the commit", run("main"), errs.TooMany, text)
		_, err := w.ci.Run(t.Context(), w.owner, w.as(w.owner), ci.RunInput{Ref: "main", Source: ci.ByAPI})
		check(t, err)
		w.push("side", yml(oneJob), "Another commit [skip ci]")
		check(t, run("side"))
		w.pass(time.Minute)
		check(t, run("main"))

		w.pass(time.Minute)
		w.set("pipeline_limit_per_project_user_sha", 0)
		w.set("pipeline_limit_per_user", 2)
		check(t, run("main"))
		check(t, run("side"))
		wantError(t, "a third of the user", run("side"), errs.TooMany, text)
		made := len(w.pipelines(w.id, "main"))
		w.push("main", files{"a": "a"}, "Go")
		equal(t, "pipelines after a push of the same user", len(w.pipelines(w.id, "main")), made)
		w.set("pipeline_limit_per_user", 0)
		check(t, run("side"))

		w.set("downstream_pipeline_trigger_limit_per_project_user_sha", 2)
		w.push("work", files{
			".gitlab-ci.yml": "a: {trigger: {include: child.yml}}\nb: {trigger: {include: child.yml}}\nc: {trigger: {include: child.yml}}\n",
			"child.yml":      "inner: {script: x}\n",
		}, "Trigger")
		var parent *ci.Pipeline
		failed := 0
		for _, p := range w.pipelines(w.id, "work") {
			if p.Source != ci.ByParentPipeline {
				parent = &p
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			if reason(w.job(parent, name)) == ci.DownstreamLimit {
				failed++
			}
		}
		equal(t, "jobs over the limit of downstream pipelines", failed, 1)
	})
}

// TestService_Request_limited counts requests of runners by their token, those about a job by its token, and lists of jobs by project.
func TestService_Request_limited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.deps.Limits.Enforce()
		w.begin(oneJob)
		token, other := w.runner("instance_type", nil), w.runner("instance_type", nil)
		a := w.take(token, "build")
		ask := func(token string) error {
			_, _, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s_1"})
			return err
		}
		hold := func() error { _, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token); return err }
		log := func() error { _, err := w.ci.HoldForLog(t.Context(), a.Job.ID, a.Token); return err }
		list := func() error {
			_, err := w.ci.Jobs(t.Context(), w.guest, w.as(w.guest), ci.JobFilter{})
			return err
		}
		for _, c := range []struct {
			setting string
			call    func() error
			other   func() error // has counters of its own
		}{
			{"runner_jobs_request_api_limit", func() error { return ask(token) }, func() error { return ask(other) }},
			{"runner_jobs_endpoints_api_limit", hold, log},
			{"runner_jobs_patch_trace_api_limit", log, hold},
			{"project_jobs_api_rate_limit", list, log},
		} {
			w.set(c.setting, 2)
			w.pass(time.Minute)
			check(t, c.call())
			check(t, c.call())
			wantError(t, c.setting, c.call(), errs.TooMany, "")
			check(t, c.other())
			w.set(c.setting, 0)
			check(t, c.call())
		}
	})
}
