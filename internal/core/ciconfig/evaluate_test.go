package ciconfig_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/ciconfig"
)

func TestConfig_Evaluate_rules(t *testing.T) {
	t.Parallel()
	main := branch("main", "EMPTY=")
	main.Changes = func(_ context.Context, compareTo string) ([]string, bool, error) {
		if compareTo == "gone" {
			return nil, false, ciconfig.ErrNoReference
		}
		return []string{"docs/a/b.md", "main.go", "lib/x.rb"}, true, nil
	}
	main.Files = func(_ context.Context, project, _ string) ([]string, error) {
		if project == "other/p" {
			return []string{"Other"}, nil
		}
		return []string{"Dockerfile", "src/a/b.go", ".hidden/x"}, nil
	}
	unknown := branch("main")
	mr := branch("feature")
	mr.MergeRequest, mr.Source = true, "merge_request_event"
	tag := branch("v1")
	tag.Tag = true
	for _, tt := range []struct {
		name, job string
		run       ciconfig.Run
		want      string // when, "" for absent
	}{
		{"no rules on a branch", "", main, "on_success"},
		{"no rules on a tag", "", tag, "on_success"},
		{"no rules in a merge request", "", mr, ""},
		{"first match", "rules: [{if: $NONE, when: never}, {if: $CI_COMMIT_BRANCH, when: always}, {when: manual}]", main, "always"},
		{"never", "rules: [{when: never}]", main, ""},
		{"no match", "rules: [{if: $NONE}]", main, ""},
		{"no rules in the list", "rules: []", main, ""},
		{"when of the job", "when: manual, rules: [{if: $CI_COMMIT_BRANCH}]", main, "manual"},
		{"changes", "rules: [{changes: ['docs/**/*.md']}]", main, "on_success"},
		{"changes in a folder", "rules: [{changes: ['docs/*.md']}]", main, ""},
		{"changes of one of two", "rules: [{changes: {paths: ['*.{py,go}']}}]", main, "on_success"},
		{"changes with a variable", "variables: {D: lib}, rules: [{changes: ['$D/*']}]", main, "on_success"},
		{"changes without a comparison", "rules: [{changes: [nothing]}]", unknown, "on_success"},
		{"exists", "rules: [{exists: [Dockerfile]}]", main, "on_success"},
		{"exists with wildcards", "rules: [{exists: ['**/b.go']}]", main, "on_success"},
		{"exists in a hidden folder", "rules: [{exists: ['*/x']}]", main, "on_success"},
		{"exists not", "rules: [{exists: ['*.go']}]", main, ""},
		{"exists elsewhere", "rules: [{exists: {paths: [Other], project: other/p}}]", main, "on_success"},
		{"exists and if", "rules: [{exists: [Dockerfile], if: $NONE}]", main, ""},
		{"exists without files", "rules: [{exists: [Dockerfile]}]", unknown, ""},
		{"rules from a reference", "rules: [!reference [.r, rules], {when: never}]", main, "delayed"},
		{"variables refer to others", "variables: {X: a, Y: $X-b}, rules: [{if: $Y == 'a-b'}]", main, "on_success"},
		{"raw variables do not", "variables: {X: a, Y: {value: $X-b, expand: false}}, rules: [{if: $Y == 'a-b'}]", main, ""},
		{"variables in a circle", "variables: {X: $Y, Y: $X}, rules: [{if: $X}]", main, "on_success"},
		{"only a branch", "only: [main]", main, "on_success"},
		{"only another", "only: [other]", main, ""},
		{"only a pattern", "only: ['/^ma.n$/']", main, "on_success"},
		{"only a pattern of a project", "only: ['/^MAIN$/i@group/project']", main, "on_success"},
		{"only another project", "only: [main@group/other]", main, ""},
		{"only tags", "only: [tags]", main, ""},
		{"only tags on a tag", "only: [tags]", tag, "on_success"},
		{"only merge requests", "only: [merge_requests]", mr, "on_success"},
		{"only a name in a merge request", "only: [feature]", mr, ""},
		{"only pushes", "only: [pushes]", main, "on_success"},
		{"only schedules", "only: {refs: [schedules]}", main, ""},
		{"only variables", "only: {variables: [$NONE, $CI_COMMIT_BRANCH]}", main, "on_success"},
		{"only variables in a merge request", "only: {variables: [$CI_COMMIT_BRANCH]}", mr, ""},
		{"only changes", "only: {changes: ['*.go']}", main, "on_success"},
		{"only other changes", "only: {changes: ['*.py']}", main, ""},
		{"only kubernetes", "only: {kubernetes: active}", main, ""},
		{"except", "except: [main]", main, ""},
		{"except another", "except: [other]", main, "on_success"},
		{"except variables", "except: {variables: [$CI_COMMIT_BRANCH]}", main, ""},
		{"except changes", "except: {refs: [tags], changes: ['*.py']}", main, "on_success"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := ".r: {rules: [{if: $CI_COMMIT_BRANCH, when: delayed, start_in: 5 min}]}\nalways: {script: x, rules: [{when: on_success}]}\njob: {script: x, " + tt.job + "}\n"
			p := pipeline(t, text, nil, tt.run)
			got := ""
			for _, j := range p.Jobs {
				if j.Name == "job" {
					got = j.When
				}
			}
			if got != tt.want || len(p.Problems) > 0 {
				t.Errorf("when is %q, want %q: %+v %+v", got, tt.want, p.Problems, p.Explanations)
			}
			why := p.Explanations[len(p.Explanations)-1]
			if why.Job != "job" || why.Present != (tt.want != "") || why.Reason == "" {
				t.Errorf("explanation: %+v", why)
			}
		})
	}
	c := compose(t, "job: {script: x, rules: [{changes: {paths: [a], compare_to: gone}}]}", nil)
	p, err := c.Evaluate(t.Context(), main)
	if want := "Failed to parse rule for job: rules:changes:compare_to is not a valid ref"; err != nil || len(p.Problems) != 1 || p.Problems[0].Text != want {
		t.Errorf("compare_to: %v, %+v", err, p)
	}
	failure := errors.New("disk is gone")
	main.Changes = func(context.Context, string) ([]string, bool, error) { return nil, false, failure }
	if _, err := c.Evaluate(t.Context(), main); !errors.Is(err, failure) {
		t.Errorf("failure: %v", err)
	}
}

func TestConfig_Evaluate_effects(t *testing.T) {
	t.Parallel()
	p := pipeline(t, `
variables: {A: global, B: global}
workflow: {name: $A, rules: [{if: $CI_COMMIT_BRANCH, variables: {A: workflow}, auto_cancel: {on_new_commit: none}}]}
first: {stage: build, script: x}
second: {stage: build, script: x, rules: [{if: $NONE}]}
job:
  script: x
  variables: {B: job}
  interruptible: false
  rules:
    - {if: $A == "workflow" && $B == "job", variables: {C: rule, B: rule}, allow_failure: true, interruptible: true, needs: [{job: first, artifacts: false}, {job: second, optional: true}]}
manual: {script: x, when: manual}
blocking: {script: x, rules: [{when: manual}]}
codes: {script: x, rules: [{when: on_failure, allow_failure: {exit_codes: 3}}]}
merged: {script: x, only: [merge_requests]}
`, nil, branch("main"))
	if want := []string{"first", "job", "manual", "blocking", "codes"}; !slices.Equal(names(p), want) {
		t.Fatalf("jobs are %v, want %v", names(p), want)
	}
	j := p.Jobs[1]
	value := func(key string) string {
		i := slices.IndexFunc(j.Variables, func(v ciconfig.Variable) bool { return v.Key == key })
		if i < 0 {
			return "none"
		}
		return j.Variables[i].Value
	}
	if value("A") != "workflow" || value("B") != "rule" || value("C") != "rule" || len(j.Variables) != 3 {
		t.Errorf("variables: %+v", j.Variables)
	}
	if !j.AllowFailure || !*j.Interruptible || len(j.Needs) != 1 || j.Needs[0] != (ciconfig.Need{Job: "first"}) {
		t.Errorf("job: %+v", j)
	}
	if p.Name != "workflow" || p.AutoCancel.OnNewCommit != "none" || p.Explanations[0].Rule != 1 {
		t.Errorf("pipeline: %+v", p)
	}
	if !p.Jobs[2].AllowFailure || p.Jobs[3].AllowFailure || p.Jobs[4].AllowFailure || !slices.Equal(p.Jobs[4].AllowExitCodes, []int{3}) {
		t.Errorf("allowed failures: %+v", p.Jobs[2:])
	}
	wins := branch("main")
	wins.Variables = ciconfig.OfMap(map[string]string{"A": "pipeline"})
	c := compose(t, "variables: {A: global}\nj: {script: x, rules: [{if: $A == 'pipeline'}]}", nil)
	if p, err := c.Evaluate(t.Context(), wins); err != nil || len(p.Jobs) != 1 {
		t.Errorf("variables of the pipeline do not win: %v, %+v", err, p.Problems)
	}
}

func TestConfig_Evaluate_matrix(t *testing.T) {
	t.Parallel()
	p := pipeline(t, `
build:
  stage: build
  script: x
  parallel: {matrix: [{OS: [linux, mac], ARCH: [arm, x86]}, {OS: bsd}]}
  rules: [{if: $OS != "mac" || $ARCH == "arm"}]
split: {stage: build, script: x, parallel: 2}
all: {script: x, needs: [build, split]}
one: {script: x, needs: ["split 2/2", "build: [bsd]"]}
some: {script: x, needs: [{job: build, parallel: {matrix: [{OS: linux, ARCH: [arm, x86]}]}}]}
gets: {stage: deploy, script: x, dependencies: [split]}
`, nil, branch("main"))
	want := []string{"build: [linux, arm]", "build: [linux, x86]", "build: [mac, arm]", "build: [bsd]", "split 1/2", "split 2/2", "all", "one", "some", "gets"}
	if !slices.Equal(names(p), want) {
		t.Fatalf("jobs are %q, want %q", names(p), want)
	}
	needs := func(i int) string {
		var out []string
		for _, n := range p.Jobs[i].Needs {
			out = append(out, n.Job)
		}
		return strings.Join(out, "; ")
	}
	if got := needs(6); got != strings.Join(want[:6], "; ") {
		t.Errorf("all needs %q", got)
	}
	if got := needs(7); got != "split 2/2; build: [bsd]" {
		t.Errorf("one needs %q", got)
	}
	if got := needs(8); got != "build: [linux, arm]; build: [linux, x86]" {
		t.Errorf("some needs %q", got)
	}
	if got := p.Jobs[9].Dependencies; !slices.Equal(got, []string{"split 1/2", "split 2/2"}) {
		t.Errorf("dependencies: %q", got)
	}
	if m := p.Jobs[2].Parallel; m.Index != 3 || m.Total != 5 || m.Group != "build" || m.Matrix[0].Key != "OS" || m.Matrix[0].Value != "mac" || p.Jobs[2].Variables[1].Value != "arm" {
		t.Errorf("parallel: %+v", m)
	}
}

func TestCompose_include(t *testing.T) {
	t.Parallel()
	f := files{
		"a.yml": "include: /dir/b.yml\njob: {script: [a], tags: [a], variables: {A: a, X: a}}\n", "dir/b.yml": "job: {script: [b], image: b, variables: {B: b, X: b}}",
		"g/p:ci.yml": "include: {local: /deep.yml}\nfrom: {script: p}", "g/p:deep.yml": "deep: {script: [d]}", "deep.yml": "wrong: {script: [w]}",
		"https://host/r.yml": "remote: {script: r}",
		"host/g/p/c@1.0":     "spec: {inputs: {job: {default: made}, n: {type: number, default: 2}, list: {type: array, default: [x, y]}, on: {type: boolean, default: true}}}\n---\n\"$[[ inputs.job ]]-job\": {script: \"$[[ inputs.list ]]\", parallel: \"$[[ inputs.n ]]\", interruptible: \"$[[ inputs.on ]]\", tags: [\"n$[[ inputs.n ]]\", \"$[[ inputs.job | truncate(1,2) ]]\"]}\n",
		"last.yml":           ".x: {}", "more/1.yml": "one: {script: x}", "more/sub/2.yml": "two: {script: x}",
	}
	c, err := ciconfig.Compose(t.Context(), []byte(`
include:
  - a.yml
  - project: g/$NAME
    ref: main
    file: [/ci.yml]
  - remote: https://host/r.yml
  - template: Workflows/Branch-Pipelines.gitlab-ci.yml
  - {component: host/g/p/c@1.0, inputs: {job: own}}
  - {local: "more/**/*.yml"}
  - {local: none.yml, rules: [{if: $NONE}]}
  - {local: none.yml, rules: [{exists: [none.yml]}]}
  - {local: none.yml, rules: [{exists: {paths: [deep.yml], project: g/other, ref: main}}]}
  - {local: last.yml, rules: [{exists: {paths: [deep.yml], project: g/p, ref: main}}]}
job: {tags: [c], variables: {X: root}}
`), ciconfig.Options{Files: f, Variables: ciconfig.OfMap(map[string]string{"NAME": "p"})})
	if err != nil || !c.Valid() {
		t.Fatalf("%v: %+v", err, c.Problems)
	}
	p, err := c.Evaluate(t.Context(), branch("main"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"job", "deep", "from", "remote", "own-job 1/2", "own-job 2/2", "one", "two"}; !slices.Equal(names(p), want) {
		t.Fatalf("jobs are %v, want %v: %v", names(p), want, p.Problems)
	}
	j, own := p.Jobs[0], p.Jobs[4]
	if j.Image.Name != "b" || j.Script[0] != "a" || !slices.Equal(j.Tags, []string{"c"}) || len(j.Variables) != 3 || j.Variables[1].Value != "root" {
		t.Errorf("job: %+v", j)
	}
	if !slices.Equal(own.Script, []string{"x", "y"}) || !*own.Interruptible || !slices.Equal(own.Tags, []string{"n2", "wn"}) {
		t.Errorf("job of a component: %+v", own)
	}
	var kinds []string
	for _, i := range c.Includes {
		kinds = append(kinds, string(i.Kind)+" "+i.Location)
	}
	want := []string{
		"local a.yml", "local /dir/b.yml", "file /ci.yml", "local /deep.yml", "remote https://host/r.yml", "template Workflows/Branch-Pipelines.gitlab-ci.yml", "component host/g/p/c@1.0",
		"local more/1.yml", "local more/sub/2.yml", "local last.yml",
	}
	if !slices.Equal(kinds, want) || c.Includes[3].From.Project != "g/p" || c.Includes[0].Blob == "" || c.Includes[2].Project != "g/$NAME" || c.Includes[2].Blob != "" {
		t.Errorf("includes are %q, want %q: %+v", kinds, want, c.Includes)
	}
}

// A variable in the path of an include may be a secret of the project, which those who may lint need not be able to read.
func TestCompose_include_keeps_secrets(t *testing.T) {
	t.Parallel()
	for _, include := range []string{
		"{local: $SECRET.yml}", "{project: g/$SECRET, file: $SECRET.yml}", "{remote: 'https://host/$SECRET.yml'}", "{project: a/b, ref: $SECRET, file: x.yml}",
		"{local: $SECRET}", "{template: $SECRET.gitlab-ci.yml}", "{component: host/$SECRET@1}", "{local: 'there.yml', inputs: {a: $SECRET}}",
		"{local: 'expands.yml', inputs: {a: $SECRET}}",
	} {
		c, err := ciconfig.Compose(t.Context(), []byte("include: "+include), ciconfig.Options{
			Files: files{
				"there.yml": "spec: {inputs: {a: {options: [b]}}}\n---\nj: {script: x}\n", "expands.yml": "spec: {inputs: {a: }}\n---\nj: {stage: '$[[ inputs.a | expand_vars ]]', script: x}\n",
			}, Variables: ciconfig.OfMap(map[string]string{"SECRET": "hunter2"}),
		})
		if err != nil || c.Valid() {
			t.Fatalf("%s: %v, %+v", include, err, c)
		}
		if l := c.Lint(nil); strings.Contains(strings.Join(l.Errors, " ")+l.MergedYAML, "hunter2") || len(l.Includes) > 0 && strings.Contains(l.Includes[0].Location, "hunter2") {
			t.Errorf("%s: the value is shown: %q", include, l.Errors)
		}
	}
}

// The test of python-gitlab for checks of configurations has keys that Ruby writes.
func TestConfig_symbols(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"symbols":       "---\n:test_job:\n  :script: echo 1\n",
		"quoted ones":   ":\"test_job\":\n  :'script': echo 1\n",
		"with anchors":  "base: &base\n  :script: echo 1\ntest_job:\n  <<: *base\n",
		"beside others": "test_job:\n  script: echo 0\n  :script: echo 1\n",
	} {
		p := pipeline(t, text, nil, branch("main"))
		at := slices.IndexFunc(p.Jobs, func(j ciconfig.Job) bool { return j.Name == "test_job" })
		if at < 0 || !slices.Equal(p.Jobs[at].Script, []string{"echo 1"}) {
			t.Errorf("%s: %+v", name, p.Jobs)
		}
	}
	// What is quoted as a whole, or is no name, is no symbol.
	p := pipeline(t, "':job': {script: echo 1}\n", nil, branch("main"))
	if got := names(p); !slices.Equal(got, []string{":job"}) {
		t.Errorf("a quoted name: %q", got)
	}
}
