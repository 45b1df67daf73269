package ciconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/ciconfig"
)

// problems composes a text and evaluates it for a push to main, and returns what is wrong.
func problems(t *testing.T, text string, f files) []ciconfig.Problem {
	t.Helper()
	c := compose(t, text, f)
	if !c.Valid() {
		return c.Problems
	}
	p, err := c.Evaluate(t.Context(), branch("main"))
	if err != nil {
		t.Fatalf("evaluate: %v", err)
	}
	if len(p.Problems) > 0 && (len(p.Jobs) > 0 || len(p.Stages) > 0) {
		t.Errorf("a pipeline with problems has jobs: %v", names(p))
	}
	return p.Problems
}

func TestCompose_problems(t *testing.T) {
	t.Parallel()
	const j = "j: {script: [x], "
	for _, tt := range []struct{ name, text, want string }{
		{"not a mapping", "- a", "Invalid configuration format"},
		{"a text", "hello", "Invalid configuration format"},
		{"broken", "a:\n  b: c\n d: e\n", "(<unknown>): did not find expected key"},
		{"empty", " \n", "Please provide content of .gitlab-ci.yml"},
		{"list as a key", "? [a]\n: b\n", "Invalid configuration format"},
		{"no visible job", "stages: [a]\n.hidden: {script: x}\n", "jobs config should contain at least one visible job"},
		{"no script", "j: {stage: test}", "jobs j config should implement the script:, run:, or trigger: keyword"},
		{"a job that is a text", "j: x", "jobs j config should implement the script:, run:, or trigger: keyword"},
		{"unknown keys", j + "foo: 1, bar: 2}", "jobs:j config contains unknown keys: foo, bar"},
		{"unknown keys of default", "default: {stage: x}\n" + j + "}", "default config contains unknown keys: stage"},
		{"unknown stage", j + "stage: ship}", "j job: chosen stage ship does not exist; available stages are .pre, build, test, deploy, .post"},
		{"undefined need", j + "needs: [x]}", "j job: undefined need: x"},
		{"undefined dependency", j + "dependencies: [x]}", "j job: undefined dependency: x"},
		{"order", j + "needs: [d]}\nd: {stage: deploy, script: x}", "j job: need d is not defined in current or prior stages"},
		{"order of dependencies", j + "dependencies: [d]}\nd: {stage: deploy, script: x}", "j job: dependency d is not defined in current or prior stages"},
		{"duplicates", j + "needs: [b, b]}\nb: {stage: build, script: x}", "j has the following needs duplicated: b."},
		{"cycle", j + "needs: [b]}\nb: {needs: [j], script: x}", "The pipeline has circular dependencies: j -> b -> j"},
		{"need of itself", j + "needs: [j]}", "The pipeline has circular dependencies: j -> j"},
		{"cycle by a rule", j + "needs: [b]}\nb: {script: x, rules: [{needs: [j]}]}", "The pipeline has circular dependencies: j"},
		{"rules with only", j + "rules: [{when: always}], only: [main]}", "jobs:j config key may not be used with `rules`: only"},
		{"rules with except", j + "rules: [{when: always}], except: [main]}", "jobs:j config key may not be used with `rules`: except"},
		{"when", j + "when: later}", "jobs:j when should be one of: on_success, on_failure, always, manual, delayed"},
		{"when never", j + "when: never}", "jobs:j when should be one of: on_success, on_failure, always, manual, delayed"},
		{"script", "j: {script: [{a: b}]}", "jobs:j:script config should be a string or a nested array of strings up to 10 levels deep"},
		{"deep script", "j: {script: " + strings.Repeat("[", 11) + "x" + strings.Repeat("]", 11) + "}", "jobs:j:script config should be a string or a nested array of strings up to 10 levels deep"},
		{"variables", "variables: [a]\n" + j + "}", "variables config should be a hash of key value pairs"},
		{"variables of a job", j + "variables: [a]}", "jobs:j:variables config should be a hash of key value pairs"},
		{"on_stop", j + "environment: {name: e, on_stop: s}}", "j job: on_stop job s is not defined"},
		{"on_stop without environment", j + "environment: {name: e, on_stop: s}}\ns: {script: x}", "j job: on_stop job s does not have environment defined"},
		{"on_stop elsewhere", j + "environment: {name: e, on_stop: s}}\ns: {script: x, environment: {name: f}}", "j job: on_stop job s have different environment name"},
		{"on_stop without action", j + "environment: {name: e, on_stop: s}}\ns: {script: x, environment: {name: e}}", "j job: on_stop job s needs to have action stop defined"},
		{"local file", "include: x.yml", "Local file `x.yml` does not exist!"},
		{"wildcard", "include: 'x/*.yml'", "Local file `x/*.yml` does not exist!"},
		{"project", "include: {project: hidden/project, file: x.yml}", "Project `hidden/project` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined."},
		{"reference of a project", "include: {project: a/b, file: x.yml, ref: gone}", "Project `a/b` reference `gone` does not exist!"},
		{"file of a project", "include: {project: a/b, file: [x.yml]}", "Project `a/b` file `x.yml` does not exist!"},
		{"remote", "include: https://host/slow.yml", "Remote file `https://host/slow.yml` could not be fetched because of a timeout error!"},
		{"remote that is missing", "include: {remote: 'https://host/x.yml'}", "Remote file `https://host/x.yml` could not be fetched because of HTTP code `404` error!"},
		{"address", "include: {remote: 'ftp://host/x.yml'}", "Remote file `ftp://host/x.yml` does not have a valid address!"},
		{"template", "include: {template: None.gitlab-ci.yml}", "Included file `None.gitlab-ci.yml` is empty or does not exist!"},
		{"template name", "include: {template: None.yml}", "Template file `None.yml` is not a valid location!"},
		{"component", "include: {component: host/g/p/c@1}", "Component 'host/g/p/c@1' - content not found"},
		{"syntax of an include", "include: bad.yml", "Included file `bad.yml` does not have valid YAML syntax!"},
		{"include that is a list", "include: list.yml", "Included file `list.yml` does not have valid YAML syntax!"},
		{"empty include", "include: empty.yml", "Local file `empty.yml` is empty!"},
		{"extension", "include: x.txt", "Included file `x.txt` does not have YAML extension!"},
		{"loop of includes", "include: loop.yml", "Maximum of 150 nested includes are allowed!"},
		{"integrity", "include: {remote: 'https://host/r.yml', integrity: sha256-AAAA}", "File `https://host/r.yml` failed integrity check"},
		{"include of nothing", "include: {foo: x}", "include config contains unknown keys: foo"},
		{"include of two", "include: {local: a.yml, remote: b}", "`{\"local\":\"a.yml\",\"remote\":\"b\"}` does not have a valid subkey for include. Valid subkeys are: `local`, `project`, `remote`, `template`, `component`"},
		{"include without project", "include: {file: a.yml}", "include config must specify the project where to fetch the file from"},
		{"include without file", "include: {project: a}", "include config must specify the file where to fetch the config from"},
		{"input", "include: {local: in.yml}", "`in.yml`: `name` input: required value has not been provided"},
		{"unknown input", "include: {local: in.yml, inputs: {name: a, more: b}}", "`in.yml`: unknown input arguments: more"},
		{"type of an input", "include: {local: in.yml, inputs: {name: 3}}", "`in.yml`: `name` input: provided value is not a string"},
		{"option of an input", "include: {local: in.yml, inputs: {name: a, env: c}}", "`in.yml`: `env` input: `c` cannot be used because it is not in the list of allowed options"},
		{"regex of an input", "include: {local: in.yml, inputs: {name: UP}}", "`in.yml`: `name` input: provided value does not match required RegEx pattern"},
		{"inputs without a header", "include: {local: r.yml, inputs: {a: b}}", "Given inputs not defined in the `spec` section of the included configuration file"},
		{"interpolation", "spec: {inputs: {a: {default: b}}}\n---\nj: {script: '$[[ inputs.b ]]'}", "unknown interpolation key: `inputs.b`"},
		{"function", "spec: {inputs: {a: {default: b}}}\n---\nj: {script: '$[[ inputs.a | upper ]]'}", "no function matching `upper`: check that the function name, arguments, and types are correct"},
		{"workflow", "workflow: {rules: [{if: $NONE}]}\n" + j + "}", `The pipeline did not run. Review the <a href="https://host/help/ci/yaml/_index.md#workflowrules">workflow:rules</a> configuration for the pipeline.`},
		{"no jobs", j + "rules: [{if: $NONE}]}", `The resulting pipeline would have been empty. Review the <a href="https://host/help/ci/yaml/_index.md#rules">rules</a> configuration for the relevant jobs.`},
		{"jobs of .pre alone", j + "stage: .pre}", `The resulting pipeline would have been empty. Review the <a href="https://host/help/ci/yaml/_index.md#rules">rules</a> configuration for the relevant jobs.`},
		{"extends", j + "extends: [.a, .b]}", "j: unknown keys in `extends` (.a, .b)"},
		{"circular extends", j + "extends: .a}\n.a: {extends: j}", "j: circular dependency detected in `extends`"},
		{"reference", j + "before_script: !reference [.a, b]}", `!reference [".a", "b"] could not be found`},
		{"circular reference", ".a: {x: !reference [.b, x]}\n.b: {x: !reference [.a, x]}\n" + j + "}", `!reference [".b", "x"] is part of a circular chain`},
		{"invalid reference", j + "before_script: !reference [[a]]}", `!reference [""] is not valid`},
		{"expression", j + "rules: [{if: '$A =='}]}", "jobs:j:rules:rule if invalid expression syntax"},
		{"when of a rule", j + "rules: [{when: later}]}", "jobs:j:rules:rule when unknown value: later"},
		{"when of workflow", "workflow: {rules: [{when: manual}]}\n" + j + "}", "workflow:rules:rule when unknown value: manual"},
		{"rule", j + "rules: [x]}", "jobs:j:rules config should be an array of hashes"},
		{"key of a rule", j + "rules: [{iff: x}]}", "jobs:j:rules:rule config contains unknown keys: iff"},
		{"start_in", j + "when: delayed}", "jobs:j start in should be a duration"},
		{"start_in without delay", j + "start_in: 1 day}", "jobs:j start in must be blank"},
		{"start_in too late", j + "when: delayed, start_in: 8 days}", "jobs:j start in should not exceed the limit"},
		{"need that is filtered", j + "needs: [b]}\nb: {stage: build, script: x, rules: [{if: $NONE}]}", "'j' job needs 'b' job, but 'b' does not exist in the pipeline. This might be because of the `only`, `except`, or `rules` keywords. To need a job that sometimes does not exist in the pipeline, use `needs:optional`."},
		{"parallel", j + "parallel: 201}", "jobs:j:parallel config must be less than or equal to 200"},
		{"matrix", j + "parallel: {matrix: [{A: " + list(15) + ", B: " + list(15) + "}]}}", "jobs:j:parallel:matrix config generates too many jobs (maximum is 200)"},
		{"tags", j + "tags: " + list(51) + "}", "jobs:j:tags config must be less than the limit of 50 tags"},
		{"long tag", j + "tags: [" + strings.Repeat("x", 256) + "]}", "jobs:j:tags config should have tags of 1 to 255 characters"},
		{"long name", strings.Repeat("x", 256) + ": {script: x}", "jobs:" + strings.Repeat("x", 40) + "... name is too long (maximum is 255 characters)"},
		{"coverage", j + "coverage: x}", "jobs:j:coverage config must be a regular expression"},
		{"retry", j + "retry: 3}", "jobs:j:retry config must be less than or equal to 2"},
		{"retry when", j + "retry: {when: rain}}", "jobs:j:retry when unknown value: rain"},
		{"timeout", j + "timeout: soon}", "jobs:j:timeout config should be a duration"},
		{"secrets", j + "secrets: {}}", "jobs:j:secrets is not supported by this server"},
		{"run", "j: {run: []}", "jobs:j:run is not supported by this server"},
		{"trigger with script", j + "trigger: a/b}", "jobs:j config contains unknown keys: script"},
		{"trigger of nothing", "j: {trigger: {strategy: depend}}", "jobs:j:trigger config should specify either project or include"},
		{"action", j + "environment: {name: e, action: fly}}", "jobs:j:environment action should be start, stop, prepare, verify, or access"},
		{"key of a cache", j + "cache: {key: a/b}}", "jobs:j:cache:key should not be one of: . or .., or contain: /"},
		{"report", j + "artifacts: {reports: {poem: x}}}", "jobs:j:artifacts:reports config contains unknown keys: poem"},
		{"image", j + "image: [x]}", "jobs:j:image config should be a hash or a string"},
		{"dependency beside needs", j + "needs: [], dependencies: [b]}\nb: {stage: build, script: x}", "jobs:j dependencies the b should be part of needs"},
		{"too many jobs", "a: {script: x, parallel: 200}\nb: {script: x, parallel: 200}\nc: {script: x, parallel: 200}", "Pipeline has too many jobs! Limit: 500."},
		{"top level and default", "image: a\ndefault: {image: b}\n" + j + "}", "root image is defined in top-level and `default:` entry"},
		{"only", j + "only: ['/(/']}", "jobs:j:only config should be an array of strings or regular expressions using re2 syntax"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := texts(problems(t, tt.text, files{
				"bad.yml": "a: [", "list.yml": "- a", "empty.yml": "\n", "loop.yml": "include: loop.yml\n", "https://host/r.yml": "r: {script: x}", "r.yml": "r: {script: x}",
				"in.yml": "spec: {inputs: {name: {regex: '^[a-z]+$'}, env: {default: a, options: [a, b]}}}\n---\ni: {script: [x]}\n",
			}))
			if !slices.Equal(got, []string{tt.want}) {
				t.Errorf("problems are\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

// list writes a list of n texts.
func list(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("t%d", i)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func TestCompose_problem_places(t *testing.T) {
	t.Parallel()
	f := files{"sub/a.yml": "\n\na:\n  script: [x]\n  stage: none\n"}
	for _, tt := range []struct {
		text         string
		file         string
		line, column int
	}{
		{"a: {script: x}\nb:\n  script: x\n  when: later\n", "ci.yml", 4, 9},
		{"a: {script: x}\nb:\n  script: x\n  foo: later\n", "ci.yml", 4, 3},
		{"include: sub/a.yml", "sub/a.yml", 3, 1},
		{"a:\n  b: c\n d: e\n", "ci.yml", 2, 0},
		{"b: {script: x}\ninclude:\n  - none.yml", "ci.yml", 3, 5},
	} {
		c, err := ciconfig.Compose(t.Context(), []byte(tt.text), ciconfig.Options{Files: f, Location: ciconfig.Location{Path: "ci.yml"}})
		if err != nil || len(c.Problems) != 1 {
			t.Errorf("%q: %v, %+v", tt.text, err, c.Problems)
			continue
		}
		if p := c.Problems[0]; p.File != tt.file || p.Line != tt.line || p.Column != tt.column || strings.Contains(p.Text, "line") {
			t.Errorf("%q: got %+v, want %s:%d:%d", tt.text, p, tt.file, tt.line, tt.column)
		}
	}
}

// TestCompose_depth bounds the levels of mappings and lists of a file.
func TestCompose_depth(t *testing.T) {
	t.Parallel()
	const text = "j: {script: x, variables: {A: {value: x}}}" // four mappings
	for depth, want := range map[int]bool{0: true, 1: false, 3: false, 4: true, 1000: true} {
		c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{MaxDepth: depth})
		if err != nil {
			t.Fatal(err)
		}
		if c.Valid() != want {
			t.Errorf("at most %d levels: valid %v, want %v (%v)", depth, c.Valid(), want, c.Problems)
		}
	}
}
