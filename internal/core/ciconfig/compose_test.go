package ciconfig_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/core/ciconfig"
)

// files is a Reader of files by their names: "path" in the project itself, "group/project:path", URLs, and names of templates.
type files map[string]string

func (f files) Read(_ context.Context, r ciconfig.Reference) (ciconfig.File, error) {
	name, at := r.Path, ciconfig.Location{Project: r.From.Project, Commit: "c1", Path: r.Path}
	switch r.Kind {
	case ciconfig.Local:
		if r.From.Project != "" {
			name = r.From.Project + ":" + name
		}
	case ciconfig.ProjectFile:
		if r.Project == "hidden/project" {
			return ciconfig.File{}, ciconfig.ErrNoProject
		}
		if r.Ref == "gone" {
			return ciconfig.File{}, ciconfig.ErrNoReference
		}
		name, at.Project = r.Project+":"+r.Path, r.Project
	case ciconfig.Remote:
		if strings.Contains(r.Path, "slow") {
			return ciconfig.File{}, &ciconfig.FetchError{Reason: "a timeout error"}
		}
	case ciconfig.Component:
		name = r.Path + "@" + r.Ref
	}
	text, ok := f[name]
	if !ok {
		return ciconfig.File{}, ciconfig.ErrNoFile
	}
	return ciconfig.File{Text: []byte(text), Location: at, Blob: "https://host/blob/" + r.Path, Raw: "https://host/raw/" + r.Path}, nil
}

func (f files) Paths(_ context.Context, at ciconfig.Location) ([]string, error) {
	var out []string
	for name := range f {
		if project, path, ok := strings.Cut(name, ":"); ok && project == at.Project {
			out = append(out, path)
		} else if !ok && at.Project == "" {
			out = append(out, name)
		}
	}
	return out, nil
}

// branch is a push to a branch.
func branch(name string, more ...string) ciconfig.Run {
	m := map[string]string{"CI_COMMIT_BRANCH": name, "CI_COMMIT_REF_NAME": name, "CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "push"}
	for _, pair := range more {
		k, v, _ := strings.Cut(pair, "=")
		m[k] = v
	}
	return ciconfig.Run{Predefined: ciconfig.OfMap(m), Source: "push", Ref: name, Project: "group/project"}
}

func compose(t *testing.T, text string, f files) *ciconfig.Config {
	t.Helper()
	c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{Files: f, HelpURL: "https://host/help"})
	if err != nil {
		t.Fatalf("compose: %v", err)
	}
	return c
}

// pipeline composes a text that is valid, and evaluates it.
func pipeline(t *testing.T, text string, f files, run ciconfig.Run) *ciconfig.Pipeline {
	t.Helper()
	c := compose(t, text, f)
	if !c.Valid() {
		t.Fatalf("problems: %+v\n%s", c.Problems, text)
	}
	p, err := c.Evaluate(t.Context(), run)
	if err != nil {
		t.Fatalf("evaluate: %v", err)
	}
	return p
}

func names(p *ciconfig.Pipeline) []string {
	var out []string
	for _, j := range p.Jobs {
		out = append(out, j.Name)
	}
	return out
}

func texts(problems []ciconfig.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Text)
	}
	return out
}

const everything = `
stages: [build, test, deploy]
variables:
  A: global
  NUMBER: 010
  RATIO: 1.10
  CHOICE: {value: x, options: [x, y], description: Which one}
  RAW: {value: $A, expand: false}
default:
  image: {name: "alpine:3", entrypoint: ["/bin/sh"], pull_policy: always, docker: {platform: arm64, user: me}}
  before_script: [prepare]
  after_script: clean
  tags: [linux]
  retry: {max: 1, when: [runner_system_failure], exit_codes: [3]}
  interruptible: true
  timeout: 1h 30m
workflow:
  name: Pipeline of $CI_COMMIT_BRANCH
  auto_cancel: {on_new_commit: interruptible, on_job_failure: all}
.hidden: &hidden
  variables: {FROM: hidden}
compile:
  <<: *hidden
  stage: build
  script: [make, [more, [most]]]
  services: [redis, {name: "postgres:16", alias: db, command: [postgres, -v], variables: {P: 1}}]
  cache:
    key: {files: [go.sum], prefix: go}
    paths: [.cache]
    policy: pull
    when: always
    fallback_keys: [main]
  artifacts:
    name: out
    paths: [bin/]
    exclude: ["*.o"]
    expire_in: 1 week
    when: always
    untracked: true
    expose_as: binaries
    public: false
    reports: {junit: r.xml, dotenv: v.env, coverage_report: {coverage_format: cobertura, path: c.xml}}
  hooks: {pre_get_sources_script: [hello]}
  id_tokens: {TOKEN: {aud: [a, b]}}
  coverage: '/\d+%/'
unit:
  extends: .hidden
  inherit: {default: [image], variables: [A]}
  script: go test
  needs: [compile]
  parallel: 2
  resource_group: one
  allow_failure: {exit_codes: [137, 255]}
ship:
  stage: deploy
  script: [ship]
  when: manual
  manual_confirmation: Sure?
  dependencies: []
  needs: []
  environment: {name: prod/$A, url: "https://$A", on_stop: unship, deployment_tier: production, auto_stop_in: 1 day, kubernetes: {namespace: ns}}
  release: {tag_name: v1, description: First, name: One, ref: main, milestones: [m], assets: {links: [{name: l, url: "https://x", link_type: other, filepath: /f}]}}
unship:
  stage: deploy
  script: [unship]
  when: delayed
  start_in: 30 minutes
  environment: {name: prod/$A, action: stop}
other:
  stage: .post
  trigger: {project: group/other, branch: main, strategy: depend, forward: {pipeline_variables: true, yaml_variables: false}, inputs: {n: 3}}
child:
  stage: .post
  trigger: {include: [{local: child.yml}, {artifact: gen.yml, job: compile}]}
pages:
  stage: deploy
  script: [site]
  publish: site
`

func TestCompose_everything(t *testing.T) {
	t.Parallel()
	p := pipeline(t, everything, nil, branch("main"))
	want := []string{"compile", "unit 1/2", "unit 2/2", "ship", "unship", "pages", "other", "child"}
	if got := names(p); !slices.Equal(got, want) {
		t.Fatalf("jobs are %v, want %v", got, want)
	}
	if p.Name != "Pipeline of main" || p.AutoCancel != (ciconfig.AutoCancel{OnNewCommit: "interruptible", OnJobFailure: "all"}) {
		t.Errorf("name %q, auto cancel %+v", p.Name, p.AutoCancel)
	}
	if want := []string{"build", "test", "deploy", ".post"}; !slices.Equal(p.Stages, want) {
		t.Errorf("stages are %v, want %v", p.Stages, want)
	}
	yes := true
	globals := []ciconfig.Variable{
		{Key: "A", Value: "global"},
		{Key: "NUMBER", Value: "8"},
		{Key: "RATIO", Value: "1.1"},
		{Key: "CHOICE", Value: "x", Options: []string{"x", "y"}, Description: "Which one"},
		{Key: "RAW", Value: "$A", Raw: true},
	}
	if diff := cmp.Diff(globals, p.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	image := &ciconfig.Image{Name: "alpine:3", Entrypoint: []string{"/bin/sh"}, PullPolicy: []string{"always"}, Platform: "arm64", User: "me"}
	compile := ciconfig.Job{
		Name: "compile", Stage: "build", StageIndex: 1, When: "on_success", Tags: []string{"linux"}, Variables: append(slices.Clone(globals), ciconfig.Variable{Key: "FROM", Value: "hidden"}),
		Script: []string{"make", "more", "most"}, BeforeScript: []string{"prepare"}, AfterScript: []string{"clean"},
		Hooks: ciconfig.Hooks{PreGetSources: []string{"hello"}}, Image: image,
		Services: []ciconfig.ServiceImage{
			{Image: ciconfig.Image{Name: "redis"}},
			{Image: ciconfig.Image{Name: "postgres:16"}, Alias: "db", Command: []string{"postgres", "-v"}, Variables: []ciconfig.Variable{{Key: "P", Value: "1"}}},
		},
		Artifacts: &ciconfig.Artifacts{
			Name: "out", Paths: []string{"bin/"}, Exclude: []string{"*.o"}, Untracked: true, When: "always", ExpireIn: "1 week", ExposeAs: "binaries", Access: "developer",
			Reports: []ciconfig.Report{{"cobertura", "gzip", []string{"c.xml"}}, {"dotenv", "gzip", []string{"v.env"}}, {"junit", "gzip", []string{"r.xml"}}},
		},
		Cache: []ciconfig.Cache{{
			KeyFiles: []string{"go.sum"}, KeyPrefix: "go", Paths: []string{".cache"}, Policy: "pull", When: "always", FallbackKeys: []string{"main"},
		}},
		IDTokens: []ciconfig.IDToken{{"TOKEN", []string{"a", "b"}}}, Coverage: `\d+%`,
		Retry:   ciconfig.Retry{Max: 1, When: []string{"runner_system_failure"}, ExitCodes: []int{3}},
		Timeout: 90 * time.Minute, Interruptible: &yes,
		Only: &ciconfig.Filter{Refs: []string{"branches", "tags"}},
	}
	if diff := cmp.Diff(compile, p.Jobs[0]); diff != "" {
		t.Errorf("compile (-want +got):\n%s", diff)
	}
	unit := p.Jobs[1]
	if unit.BeforeScript != nil || unit.Tags != nil || unit.Image == nil || len(unit.Variables) != 2 || unit.Needs[0] != (ciconfig.Need{Job: "compile", Artifacts: true}) ||
		unit.ResourceGroup != "one" || !slices.Equal(unit.AllowExitCodes, []int{137, 255}) || unit.Parallel.Index != 1 || unit.Parallel.Total != 2 || unit.Parallel.Group != "unit" {
		t.Errorf("unit: %+v", unit)
	}
}

func TestCompose_deployment(t *testing.T) {
	t.Parallel()
	p := pipeline(t, everything, nil, branch("main"))
	ship, unship := p.Jobs[3], p.Jobs[4]
	if ship.When != "manual" || !ship.AllowFailure || ship.ManualConfirmation != "Sure?" || ship.Needs == nil || len(ship.Needs) > 0 || ship.Dependencies == nil || len(ship.Dependencies) > 0 {
		t.Errorf("ship: %+v", ship)
	}
	environment := &ciconfig.Environment{
		Name: "prod/$A", URL: "https://$A", OnStop: "unship", AutoStopIn: "1 day", Tier: "production", Namespace: "ns",
	}
	if diff := cmp.Diff(environment, ship.Environment); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	release := &ciconfig.Release{
		TagName: "v1", Description: "First", Name: "One", Ref: "main", Milestones: []string{"m"},
		Links: []ciconfig.ReleaseLink{{Name: "l", URL: "https://x", Type: "other", FilePath: "/f"}},
	}
	if diff := cmp.Diff(release, ship.Release); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	if unship.When != "delayed" || unship.StartIn != 30*time.Minute || unship.Environment.Action != "stop" || unship.Dependencies != nil || unship.Needs != nil {
		t.Errorf("unship: %+v", unship)
	}
	if site := p.Jobs[5]; !site.Pages || site.Publish != "site" {
		t.Errorf("pages: %+v", site)
	}
	other := ciconfig.Trigger{Project: "group/other", Branch: "main", Strategy: "depend", Inputs: map[string]any{"n": 3.0}, ForwardPipelineVariables: true}
	if diff := cmp.Diff(&other, p.Jobs[6].Trigger); diff != "" || !p.Jobs[6].Bridge {
		t.Errorf("trigger (-want +got):\n%s", diff)
	}
	child := p.Jobs[7].Trigger
	if len(child.Include) != 2 || child.Include[0].Local != "child.yml" || child.Include[1].Artifact != "gen.yml" || child.Include[1].Job != "compile" || !child.ForwardYAMLVariables {
		t.Errorf("child: %+v", child)
	}
	text, err := child.Config()
	c, failed := ciconfig.Compose(t.Context(), text, ciconfig.Options{Files: files{"child.yml": "x: {script: [y]}"}})
	if err != nil || failed != nil || !c.Valid() || len(c.Includes) != 1 {
		t.Errorf("configuration of the child: %v, %v, %+v", err, failed, c)
	}
}

func TestJob_json(t *testing.T) {
	t.Parallel()
	text := everything + `
matrix:
  script: [x]
  parallel: {matrix: [{P: [a, b], Q: c}]}
  needs: [{job: up, project: g/p, ref: main, artifacts: false}, {job: x, pipeline: $UP}, {job: compile, optional: true}]
  rules: [{if: $CI_COMMIT_BRANCH, when: delayed, start_in: 1 day, variables: {R: r}}]
`
	p := pipeline(t, text, nil, branch("main"))
	for _, j := range p.Jobs {
		b, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var back ciconfig.Job
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(j, back); diff != "" {
			t.Errorf("%s (-before +after):\n%s", j.Name, diff)
		}
	}
	if !slices.Contains(names(p), "matrix: [a, c]") {
		t.Errorf("jobs: %v", names(p))
	}
}

func TestConfig_Merged(t *testing.T) {
	t.Parallel()
	f := files{"/inc.yml": "x: {script: [a]}", "inc.yml": ".base: {script: [\"echo: no\", !reference [.s, script]]}\n.s: {script: [\"a\\nb\\n\", \"true\", \"5\", 5, 1.5, true, null, \"- x\"]}\n"}
	text := "include: inc.yml\njob:\n  extends: .base\n  variables: {A: '', B: \"two\\n  lines\", C: \" x\", D: [[a, [b, {c: d, e: f}]], []], \"E: x\": {}}\n"
	c := compose(t, text+everything, f)
	again := compose(t, c.Merged(), nil)
	if got, want := again.Merged(), c.Merged(); got != want || !strings.HasPrefix(got, "---\n.base:\n  script:\n  - \"echo: no\"\n  - - |\n      a\n") {
		t.Errorf("merged again:\n%s\nwant:\n%s", got, want)
	}
	if strings.Contains(c.Merged(), "include") && strings.Contains(c.Merged(), "extends") || strings.Contains(c.Merged(), "!reference") {
		t.Errorf("merged:\n%s", c.Merged())
	}
	if diff := cmp.Diff(texts(c.Problems), texts(again.Problems), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("problems (-first +again):\n%s", diff)
	}
	_ = fmt.Sprint
}
