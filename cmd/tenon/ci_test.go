package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/core/ciconfig"
)

// ci runs a command of tenon ci in a folder of files and returns what it prints and its exit code.
func ci(t *testing.T, files map[string]string, args ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newFlags()
	p := f.program()
	var out bytes.Buffer
	p.SetOut(&out)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	p.SetArgs(append([]string{"ci"}, args...))
	err := p.ExecuteContext(t.Context())
	return strings.ReplaceAll(out.String(), dir, "DIR"), f.report(err)
}

func TestCI_lint(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"ci.yml": "include: [{local: /sub/a.yml}, {template: Go.gitlab-ci.yml}, {local: 'sub/*.yml'}]\nj: {script: x}\n", "sub/a.yml": "a: {script: x}\n",
		"bad.yml":  "j:\n  script: x\n  when: later\nk: {script: x, foo: bar}\n",
		"away.yml": "include: {project: g/p, file: x.yml}\nj: {script: x}\n", "up.yml": "include: ../secret.yml\nj: {script: x}\n",
		"sub/main.yml": "include: sub/a.yml\nj: {script: x}\n",
	}
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"lint DIR/ci.yml", "DIR/ci.yml is valid (jobs: 4, stages: 2, included files: 5)\n", 0},
		{"lint DIR/bad.yml", "bad.yml:3:9: jobs:j when should be one of: on_success, on_failure, always, manual, delayed\nbad.yml:4:16: jobs:k config contains unknown keys: foo\n", 1},
		{"lint DIR/away.yml", "away.yml:1:31: Project `g/p` file `x.yml` is not available here\n", 1},
		{"lint DIR/up.yml", "up.yml:1:10: Local file `../secret.yml` does not exist!\n", 1},
		{"lint DIR/sub/main.yml", "main.yml:1:10: Local file `sub/a.yml` does not exist!\n", 1},
		{"lint DIR/sub/main.yml --root DIR", "DIR/sub/main.yml is valid (jobs: 2, stages: 1, included files: 1)\n", 0},
		{"lint DIR/none.yml", "", 1},
		{"lint DIR/ci.yml --root DIR/sub", "", 2},
		{"lint", "", 2},
	} {
		got, code := ci(t, files, strings.Fields(tt.args)...)
		if got != tt.want || code != tt.code {
			t.Errorf("tenon ci %s: got %d and\n%s\nwant %d and\n%s", tt.args, code, got, tt.code, tt.want)
		}
	}
	text, code := ci(t, files, "lint", "DIR/bad.yml", "--json")
	var l ciconfig.Lint
	if err := json.Unmarshal([]byte(text), &l); err != nil || code != 1 || l.Valid || len(l.Errors) != 2 || l.Problems[0].Line != 3 {
		t.Errorf("JSON: %v, %d, %+v", err, code, l)
	}
}

func TestCI_why(t *testing.T) {
	t.Parallel()
	files := map[string]string{"go.mod": "module x", ".git/config": "", "ci.yml": `
workflow: {rules: [{if: $CI_MERGE_REQUEST_IID}, {if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}, {if: $CI_COMMIT_TAG}]}
build: {stage: build, script: x, rules: [{exists: [go.mod]}]}
unit: {script: x, parallel: 2, needs: [build], rules: [{changes: ["*.go"]}, {if: $ALL}]}
ship: {stage: deploy, script: x, rules: [{if: $CI_COMMIT_TAG, when: manual}]}
git: {script: x, rules: [{exists: [.git/config]}]}
`}
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"--changed README.md", `yes workflow: rule 2 matches
      rule 1: if $CI_MERGE_REQUEST_IID does not hold
      rule 2: if $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH holds
yes build: rule 1 matches
      rule 1: existing file go.mod matches
      on_success in stage build, waits for the stages before
no  unit: no rule matches
      rule 1: no changed file matches changes
      rule 2: if $ALL does not hold
no  ship: no rule matches
      rule 1: if $CI_COMMIT_TAG does not hold
no  git: no rule matches
      rule 1: no file matches exists
`, 0},
		{"--mr feature --var ALL=1 --changed README.md", "yes unit: rule 2 matches\n", 0},
		{"--mr feature", "      on_success in stage test, 2 times, waits for build\n", 0},
		{"--tag v1", "yes ship: rule 1 matches, with when: manual\n", 0},
		{"--branch other", "The pipeline did not run.", 1},
		{"--branch a --tag b", "", 2},
		{"--var A", "", 2},
	} {
		got, code := ci(t, files, append([]string{"why", "DIR/ci.yml"}, strings.Fields(tt.args)...)...)
		if !strings.Contains(got, tt.want) || code != tt.code {
			t.Errorf("tenon ci why %s: got %d and\n%s\nwant %d and\n%s", tt.args, code, got, tt.code, tt.want)
		}
	}
	text, code := ci(t, files, "why", "DIR/ci.yml", "--json")
	var r whyResult
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 || !r.Runs || len(r.Jobs) != 3 || len(r.Decided) != 5 {
		t.Errorf("JSON: %v, %d, %s", err, code, text)
	}
}

func TestCI_run(t *testing.T) {
	t.Parallel()
	files := map[string]string{".gitlab-ci.yml": `
variables: {GREETING: "hello $NAME", NAME: ann, LITERAL: {value: "$NAME", expand: false}}
default: {before_script: [echo before]}
greet:
  script: ['echo "$GREETING to $CI_JOB_NAME on $CI_COMMIT_REF_NAME, $LITERAL"', "echo it''s here > made", "test \"$(pwd -P)\" = \"$(cd $CI_PROJECT_DIR && pwd -P)\""]
  after_script: ['echo "after $CI_JOB_STATUS"']
broken: {script: ["false | true", echo never], after_script: ['echo "after $CI_JOB_STATUS"']}
lenient: {script: [exit 3], allow_failure: {exit_codes: [3]}}
late: {script: [sleep 30], timeout: 1 second}
many: {script: ["echo part $CI_NODE_INDEX of $CI_NODE_TOTAL"], parallel: 2}
tagged: {script: [echo "$CI_COMMIT_TAG"], rules: [{if: $CI_COMMIT_TAG}]}
child: {trigger: {include: child.yml}}
`, "child.yml": "x: {script: x}\n"}
	const file = " --file DIR/.gitlab-ci.yml"
	for _, tt := range []struct {
		args []string
		want []string // in what it prints
		not  string
		code int
	}{
		{[]string{"greet"}, []string{"before\n", "$ echo it''s here > made\n", "hello ann to greet on main, $NAME\n", "after success\n"}, "", 0},
		{[]string{"greet", "--var", "NAME=bob", "--branch", "side"}, []string{"hello bob to greet on side"}, "", 0},
		{[]string{"broken"}, []string{"$ false | true\n", "after failed\n"}, "never\n", 1},
		{[]string{"lenient"}, nil, "", 0},
		{[]string{"late"}, nil, "", 1},
		{[]string{"many 2/2"}, []string{"part 2 of 2\n"}, "", 0},
		{[]string{"many"}, nil, "part", 1},
		{[]string{"tagged"}, nil, "$ echo", 1},
		{[]string{"tagged", "--tag", "v1"}, []string{"v1\n"}, "", 0},
		{[]string{"child"}, nil, "", 1},
		{[]string{"none"}, nil, "", 1},
		{nil, nil, "", 2},
	} {
		got, code := ci(t, files, append(append([]string{"run"}, tt.args...), strings.Fields(file)...)...)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("tenon ci run %q: want %q in\n%s", tt.args, want, got)
			}
		}
		if code != tt.code || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("tenon ci run %q: got %d and\n%s", tt.args, code, got)
		}
	}
}
