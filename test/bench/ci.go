package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// plantSize is what pipelines are measured with.
type plantSize struct {
	pipelines int // in lists
	runners   int // that take jobs at the same time
	jobs      int // that they take
	idle      int // runners that wait
	chain     int // jobs that need one another, in a row
}

var (
	fullPlant  = plantSize{pipelines: 500, runners: 100, jobs: 4000, idle: 1000, chain: 400}
	quickPlant = plantSize{pipelines: 50, runners: 20, jobs: 400, idle: 100, chain: 40}
)

const (
	wide       = 500 // jobs of the largest pipeline
	included   = 20  // files that the largest configuration includes
	lines      = 100 // of each
	logs       = 16  // jobs that write their logs at the same time
	wideRounds = 5
)

// plant is a project whose pipelines are measured.
type plant struct {
	plantSize
	url    string
	root   *api
	server *server
	at     string // path of the project
	tokens []string
}

// measureCI measures pipelines, jobs and runners.
func measureCI(ctx context.Context, o options, s *server, out *report) error {
	p := &plant{plantSize: fullPlant, url: s.url, root: newAPI(s.url, rootToken), server: s}
	if o.quick {
		p.plantSize = quickPlant
	}
	l := &loader{server: s, length: o.length}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{{"configurations", p.configure}, {"pipelines", p.fill}, {"runners", p.register}} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	if err := errors.Join(vacuum(ctx, o.database), s.quiet(ctx), l.background(ctx)); err != nil {
		return err
	}
	failed, err := l.measureAll(ctx, o, p.operations(), out)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d requests failed", failed)
	}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context, l *loader, out *report) error
	}{{"wide", p.measureWide}, {"handover", p.measureHandover}, {"throughput", p.measureThroughput}, {"logs", p.measureLogs}, {"idle", p.measureIdle}} {
		if err == nil && o.only.MatchString(step.name) {
			err = errors.Join(step.run(ctx, l, out), s.quiet(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// configure makes the project, with a branch for each configuration.
func (p *plant) configure(ctx context.Context) (int, error) {
	m, err := p.root.post(ctx, "/projects", map[string]any{"name": "Plant", "initialize_with_readme": true, "auto_cancel_pending_pipelines": "disabled"})
	if err != nil {
		return 0, err
	}
	p.at = fmt.Sprintf("/projects/%d", m.ID)
	branches := map[string]map[string]string{
		"small": {".gitlab-ci.yml": "build: {stage: build, script: make}\ntest: {script: make test}\nship: {stage: deploy, script: make ship}\n"},
		"wide":  {".gitlab-ci.yml": wideConfiguration()},
		"chain": {".gitlab-ci.yml": chainConfiguration(min(p.chain, wide))},
		"flat":  {".gitlab-ci.yml": flatConfiguration(min(p.jobs, wide))},
		"parts": partsConfiguration(),
	}
	for name, files := range branches {
		var actions []map[string]any
		for file, content := range files {
			actions = append(actions, map[string]any{"action": "create", "file_path": file, "content": content})
		}
		_, err := p.root.send(ctx, http.MethodPost, p.at+"/repository/commits", map[string]any{
			"branch": name, "start_branch": "main", "commit_message": "Configure [skip ci]", "actions": actions,
		})
		if err != nil {
			return 0, err
		}
	}
	return len(branches), nil
}

// wideConfiguration has as many jobs as a pipeline may have; each of the later half needs two of the earlier.
func wideConfiguration() string {
	var out strings.Builder
	out.WriteString("stages: [one, two]\n")
	for i := range wide / 2 {
		fmt.Fprintf(&out, "first-%d: {stage: one, script: ['make %d']}\n", i, i)
	}
	for i := range wide / 2 {
		fmt.Fprintf(&out, "second-%d: {stage: two, needs: [first-%d, first-%d], script: ['make %d']}\n", i, i, (i+1)%(wide/2), i)
	}
	return out.String()
}

func chainConfiguration(n int) string {
	var out strings.Builder
	out.WriteString("job-0: {script: x}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&out, "job-%d: {needs: [job-%d], script: x}\n", i, i-1)
	}
	return out.String()
}

func flatConfiguration(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "job-%d: {script: x}\n", i)
	}
	return out.String()
}

// partsConfiguration is one of 2,000 lines in files that are included.
func partsConfiguration() map[string]string {
	out := map[string]string{}
	var main strings.Builder
	main.WriteString("include:\n")
	for part := range included {
		name := fmt.Sprintf("ci/part%02d.yml", part)
		fmt.Fprintf(&main, "  - local: %s\n", name)
		var text strings.Builder
		for job := range lines / 10 {
			fmt.Fprintf(&text, "part%d-%d:\n  stage: test\n  variables:\n    NAME: part-%d\n  rules:\n    - if: $CI_COMMIT_BRANCH == \"parts\"\n    - if: $CI_PIPELINE_SOURCE == \"schedule\"\n"+
				"  script:\n    - echo $NAME\n    - make test\n", part, job, job)
		}
		out[name] = text.String()
	}
	out[".gitlab-ci.yml"] = main.String()
	return out
}

// run makes a pipeline of a branch.
func (p *plant) run(ctx context.Context, branch string) (id int, err error) {
	m, err := p.root.post(ctx, p.at+"/pipeline", map[string]any{"ref": branch})
	return m.ID, err
}

func (p *plant) fill(ctx context.Context) (int, error) {
	n, err := each(ctx, p.pipelines, func(ctx context.Context, _ int) error {
		_, err := p.run(ctx, "small")
		return err
	})
	if err != nil {
		return n, err
	}
	return n, p.cancel(ctx)
}

// cancel ends all pipelines that are under way, so that no runner finds their jobs.
func (p *plant) cancel(ctx context.Context) error {
	for _, state := range []string{"pending", "running"} {
		for {
			text, err := p.root.get(ctx, p.at+"/pipelines?per_page=100&status="+state)
			if err != nil {
				return err
			}
			var list []made
			if err := json.Unmarshal(text, &list); err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			for _, one := range list {
				if _, err := p.root.send(ctx, http.MethodPost, fmt.Sprintf("%s/pipelines/%d/cancel", p.at, one.ID), map[string]any{}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *plant) register(ctx context.Context) (int, error) {
	p.tokens = make([]string, p.idle)
	return each(ctx, p.idle, func(ctx context.Context, i int) error {
		m, err := p.root.post(ctx, "/user/runners", map[string]any{"runner_type": "instance_type", "run_untagged": true, "description": fmt.Sprintf("runner %d", i)})
		p.tokens[i] = m.Token
		return err
	})
}

func (p *plant) operations() []operation {
	read := func(name string, g goal, check func([]byte) error, path string) operation {
		ready := request(p.url, rootToken, http.MethodGet, p.at+path, nil)
		return operation{name: name, goal: g, wants: http.StatusOK, check: check, sends: func(int) []byte { return ready }}
	}
	list := goal{rate: 1500, statements: 10, noGit: true}
	valid := func(body []byte) error {
		var out struct {
			Valid  bool
			Errors []string
			Jobs   []json.RawMessage
		}
		if err := json.Unmarshal(body, &out); err != nil {
			return err
		}
		if want := included * lines / 10; !out.Valid || len(out.Jobs) != want {
			return fmt.Errorf("%d jobs instead of %d, %v", len(out.Jobs), want, out.Errors)
		}
		return nil
	}
	return []operation{
		read("list 20 pipelines", list, rows(20), "/pipelines?per_page=20"),
		read("list 20 jobs", list, rows(20), "/jobs?per_page=20"),
		read("get one pipeline", goal{noGit: true}, nil, "/pipelines/latest?ref=small"),
		read("lint 2,000 lines, 20 includes", goal{p99: 30 * time.Millisecond}, valid,
			"/ci/lint?include_jobs=true&dry_run=true&ref=parts&sha="+url.QueryEscape("parts")+"&dry_run_ref=parts"),
	}
}

// measureWide makes pipelines of as many jobs as one may have.
func (p *plant) measureWide(ctx context.Context, l *loader, out *report) error {
	var took []time.Duration
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	for range wideRounds {
		began := time.Now()
		if _, err := p.run(ctx, "wide"); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	after, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	used, half := after.minus(before), median(slices.Clone(took))
	out.line("\nA pipeline of %d jobs with needs: %.2f s, median of %d (%s), %d + %d ms of processor time in server and git, %.0f statements.", wide, half.Seconds(), wideRounds,
		met(half <= 600*time.Millisecond, "0.6 s"), used.own.Milliseconds()/wideRounds, used.git.Milliseconds()/wideRounds, used.statements/wideRounds)
	return p.cancel(ctx)
}
