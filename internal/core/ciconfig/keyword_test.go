package ciconfig_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/ciconfig"
)

func TestJob_keywords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keyword, want string }{
		{"image", "image: go", `"image":{"name":"go"}`},
		{"image with all", "image: {name: go, entrypoint: sh, pull_policy: [never, always], kubernetes: {user: 7}}", `"image":{"name":"go","entrypoint":["sh"],"pull_policy":["never","always"],"kubernetes_user":"7"}`},
		{"no image", "image: null", `"hooks"`},
		{"services", "services: [a, 5]", `"services":[{"name":"a"},{"name":"5"}]`},
		{"tags", "tags: [a, 1]", `"tags":["a","1"]`},
		{"script of lines", "before_script: [\"a\\nb\", [[c]]]", `"before_script":["a\nb","c"]`},
		{"after_script", "after_script: x", `"after_script":["x"]`},
		{"cache with a text", "cache: {key: $CI_COMMIT_REF_SLUG, paths: [a], untracked: true, unprotect: yes}", `"cache":[{"key":"$CI_COMMIT_REF_SLUG","paths":["a"],"untracked":true,"unprotect":true}]`},
		{"several caches", "cache: [{key: a, paths: [a]}, {key: {files: [b]}, paths: [b], policy: $P}]", `"cache":[{"key":"a","paths":["a"]},{"key_files":["b"],"paths":["b"],"policy":"$P"}]`},
		{"no cache", "cache: {}", `"hooks"`},
		{"artifacts", "artifacts: {paths: [a], expire_in: never, access: none, when: on_failure}", `"artifacts":{"paths":["a"],"when":"on_failure","expire_in":"never","access":"none"}`},
		{"public artifacts", "artifacts: {paths: [a], public: true}", `"artifacts":{"paths":["a"]}`},
		{"reports", "artifacts: {reports: {junit: [a, b], sast: s, coverage_report: {coverage_format: jacoco, path: j}}}", `"reports":[{"type":"jacoco","format":"gzip","paths":["j"]},{"type":"junit","format":"gzip","paths":["a","b"]},{"type":"sast","format":"raw","paths":["s"]}]`},
		{"retry", "retry: 2", `"retry":{"max":2}`},
		{"retry always", "retry: {max: 1, when: always}", `"retry":{"max":1}`},
		{"retry always, and of a code", "retry: {max: 1, when: [always, api_failure], exit_codes: 5}", `"retry":{"max":1}`},
		{"retry of a code", "retry: {exit_codes: 5}", `"retry":{"max":2,"exit_codes":[5]}`},
		{"timeout", "timeout: 90", `"timeout":90000000000`},
		{"interruptible", "interruptible: off", `"interruptible":false`},
		{"allow_failure", "allow_failure: true", `"allow_failure":true`},
		{"allow_failure of codes", "allow_failure: {exit_codes: [1, 2]}", `"allow_exit_codes":[1,2]`},
		{"when", "when: on_failure", `"when":"on_failure"`},
		{"delayed", "when: delayed, start_in: 5", `"start_in":5000000000`},
		{"coverage", "coverage: '/x/'", `"coverage":"x"`},
		{"resource_group", "resource_group: $G", `"resource_group":"$G"`},
		{"environment", "environment: prod", `"environment":{"name":"prod"}`},
		{"environment with a variable", "environment: {name: $E, auto_stop_in: $D, deployment_tier: $T, action: verify}", `"environment":{"name":"$E","action":"verify","auto_stop_in":"$D","deployment_tier":"$T"}`},
		{"release", "release: {tag_name: 1.10, description: d, milestones: m}", `"release":{"tag_name":"1.1","description":"d","milestones":["m"]}`},
		{"id_tokens", "id_tokens: {T: {aud: https://x}}", `"id_tokens":[{"key":"T","aud":["https://x"]}]`},
		{"hooks", "hooks: {pre_get_sources_script: [a]}", `"hooks":{"pre_get_sources_script":["a"]}`},
		{"pages", "pages: true", `"pages":true`},
		{"pages with a folder", "pages: {publish: site, expire_in: 1 day}", `"pages":true,"publish":"site"`},
		{"variables", "variables: {A: 1, B: 1.50, C: true, D: null, E: 0x1F, F: 1_000, G: 2024-01-02}", `"variables":[{"key":"A","value":"1"},{"key":"B","value":"1.5"},{"key":"C","value":"true"},{"key":"D","value":""},{"key":"E","value":"31"},{"key":"F","value":"1000"},{"key":"G","value":"2024-01-02"}]`},
		{"need of another project", "needs: [{project: g/p, job: x, ref: main, artifacts: true}]", `"needs":[{"job":"x","artifacts":true,"project":"g/p","ref":"main"}]`},
		{"need of another pipeline", "needs: [{pipeline: $P, job: x}]", `"needs":[{"job":"x","artifacts":true,"pipeline":"$P"}]`},
		{"optional need", "needs: [{job: none, optional: true}]", `"needs":[]`},
		{"needs in lists", "needs: [[other], [[{job: none, optional: true}]], []]", `"needs":[{"job":"other","artifacts":true}]`},
		{"no needs", "needs: []", `"needs":[]`},
		{"needs of stages", "stage: .post", `"needs":null,"dependencies":null`},
		{"dependencies", "dependencies: []", `"dependencies":[]`},
		{"extends in a list", "extends: [.one, .two]", `"script":["x"],"before_script":["two"]`},
		{"inherit nothing", "inherit: {variables: false, default: false}", `"hooks"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := ".one: {script: one, before_script: [one]}\n.two: {script: two, before_script: two}\nother: {script: y}\nj: {script: x, " + tt.keyword + "}\n"
			p := pipeline(t, text, nil, branch("main"))
			i := slices.IndexFunc(p.Jobs, func(j ciconfig.Job) bool { return j.Name == "j" })
			b, err := json.Marshal(p.Jobs[i])
			if err != nil || !strings.Contains(string(b), tt.want) {
				t.Errorf("got %s, want %s", b, tt.want)
			}
		})
	}
}

func TestJob_triggers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ trigger, want string }{
		{"g/p", `{"project":"g/p","forward_yaml_variables":true}`},
		{"{project: g/p, branch: $B, strategy: mirror}", `{"project":"g/p","branch":"$B","strategy":"mirror","forward_yaml_variables":true}`},
		{"{include: a.yml}", `{"include":[{"local":"a.yml"}],"forward_yaml_variables":true}`},
		{"{include: ['https://h/a.yml']}", `{"include":[{"remote":"https://h/a.yml"}],"forward_yaml_variables":true}`},
		{"{include: [{file: [a.yml, b.yml], project: g/p, ref: r}], forward: {yaml_variables: false}}", `{"include":[{"file":"a.yml","project":"g/p","ref":"r"},{"file":"b.yml","project":"g/p","ref":"r"}],"forward_yaml_variables":false}`},
		{"{include: [{template: T.gitlab-ci.yml}, {component: c@1, inputs: {a: [1, x, true, null, 1.5]}}]}", `{"include":[{"template":"T.gitlab-ci.yml"},{"component":"c@1","inputs":{"a":[1,"x",true,null,1.5]}}],"forward_yaml_variables":true}`},
	} {
		p := pipeline(t, "j: {trigger: "+tt.trigger+", variables: {A: b}}\nm: {needs: {pipeline: g/up}}\nl: {needs: [{job: m}, {pipeline: g/up}]}\n", nil, branch("main"))
		b, err := json.Marshal(p.Jobs[0].Trigger)
		if err != nil || string(b) != tt.want || !p.Jobs[0].Bridge || len(p.Jobs[0].Variables) != 1 {
			t.Errorf("%s: got %s, want %s", tt.trigger, b, tt.want)
		}
		if m := p.Jobs[1]; !m.Bridge || m.Trigger != nil || len(m.Needs) != 1 || m.Needs[0].Pipeline != "g/up" {
			t.Errorf("mirror: %+v", m)
		}
		if m := p.Jobs[2]; !m.Bridge || m.Trigger != nil || len(m.Needs) != 2 || m.Needs[0].Job != "m" || m.Needs[1].Pipeline != "g/up" {
			t.Errorf("mirror after another job: %+v", m)
		}
	}
}

func TestCompose_keyword_problems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ keyword, want string }{
		{"image: {}", "jobs:j:image name can't be blank"},
		{"image: {name: [a]}", "jobs:j:image name should be a string"},
		{"image: {name: a, pull_policy: often}", "jobs:j:image:pull_policy config should be one of: always, if-not-present, never"},
		{"image: {name: a, entrypoint: {a: b}}", "jobs:j:image entrypoint should be an array of strings or a string"},
		{"services: a", "jobs:j:services config should be an array"},
		{"services: [[a]]", "jobs:j:services:service config should be a hash or a string"},
		{"services: [{alias: a}]", "jobs:j:services:service name can't be blank"},
		{"tags: a", "jobs:j:tags config should be an array of strings"},
		{"tags: [[a]]", "jobs:j:tags config should be an array of strings"},
		{"cache: [{}, {}, {}, {}, {key: a}]", "jobs:j:cache config no more than 4 caches can be created"},
		{"cache: {when: never}", "jobs:j:cache when should be one of: on_success, on_failure, always"},
		{"cache: {policy: none}", "jobs:j:cache policy should be a variable or one of: pull-push, push, pull"},
		{"cache: {key: [a]}", "jobs:j:cache:key should be a hash, a string or a symbol"},
		{"cache: {key: {files: [a, b, c]}}", "jobs:j:cache:key:files config requires 1 to 2 items"},
		{"cache: {fallback_keys: [a, b, c, d, e, f]}", "jobs:j:cache:fallback_keys config has too many entries (maximum 5)"},
		{"cache: {untracked: 3}", "jobs:j:cache:untracked config should be a boolean value"},
		{"artifacts: [a]", "jobs:j:artifacts config should be a hash"},
		{"artifacts: {paths: a}", "jobs:j:artifacts paths should be an array of strings"},
		{"artifacts: {expire_in: soon}", "jobs:j:artifacts expire in should be a duration"},
		{"artifacts: {expose_as: a}", "jobs:j:artifacts paths can't be blank"},
		{"artifacts: {public: true, access: all}", "jobs:j:artifacts config these keys cannot be used together: access, public"},
		{"artifacts: {reports: {coverage_report: {coverage_format: x, path: y}}}", "jobs:j:artifacts:reports:coverage_report coverage format should be one of: cobertura, jacoco"},
		{"retry: many", "jobs:j:retry config has to be either an integer or a hash"},
		{"retry: {max: -1}", "jobs:j:retry max must be greater than or equal to 0"},
		{"retry: {max: x}", "jobs:j:retry max is not a number"},
		{"retry: {exit_codes: [a]}", "jobs:j:retry exit codes should be an array of integers or an integer"},
		{"parallel: 0", "jobs:j:parallel config must be greater than or equal to 1"},
		{"parallel: x", "jobs:j:parallel config should be an integer or a hash"},
		{"parallel: {matrix: {}}", "jobs:j:parallel:matrix config should be an array of hashes"},
		{"parallel: {matrix: [a]}", "jobs:j:parallel:matrix config should be an array of hashes"},
		{"parallel: {matrix: [{A: []}]}", "jobs:j:parallel:matrix:A config should be a hash of key value pairs, value can be an array"},
		{"parallel: {matrix: [{A: [[x]]}]}", "jobs:j:parallel:matrix:A config should be a hash of key value pairs, value can be an array"},
		{"interruptible: maybe", "jobs:j:interruptible config should be a boolean value"},
		{"allow_failure: [a]", "jobs:j:allow_failure config should be a hash or a boolean value"},
		{"allow_failure: {}", "jobs:j:allow_failure config should be a hash or a boolean value"},
		{"environment: [a]", "jobs:j:environment config should be a hash or a string"},
		{"environment: {url: u}", "jobs:j:environment name can't be blank"},
		{"environment: {name: a, deployment_tier: high}", "jobs:j:environment deployment tier must be one of production, staging, testing, development, other"},
		{"environment: {name: a, auto_stop_in: soon}", "jobs:j:environment auto stop in should be a duration"},
		{"release: {tag_name: a}", "jobs:j:release description can't be blank"},
		{"release: {description: a}", "jobs:j:release tag name can't be blank"},
		{"release: {tag_name: a, description: b, assets: {links: a}}", "jobs:j:release:assets links should be an array of hashes"},
		{"id_tokens: [a]", "jobs:j:id_tokens config should be a hash"},
		{"id_tokens: {A: {}}", "jobs:j:id_tokens:A config missing required keys: aud"},
		{"stage: 3", "jobs:j:stage config should be a string"},
		{"inherit: {default: x}", "jobs:j:inherit:default config should be a bool or an array of strings"},
		{"variables: {A: [x]}", "jobs:j:variables config should be a hash of key value pairs"},
		{"variables: {A: {value: x, description: y}}", "jobs:j:variables:A config contains unknown keys: description"},
		{"needs: a", "jobs:j:needs config can only be a hash or an array"},
		{"needs: [3]", "jobs:j:needs:need has an unsupported type"},
		{"needs: [{optional: true}]", "jobs:j:needs:need job can't be blank"},
		{"needs: [{job: a, project: b}]", "jobs:j:needs:need ref can't be blank"},
		{"needs: " + list(51), "j: one job can only need 50 others, but you have listed 51. See needs keyword documentation for more details"},
		{"rules: [{changes: {compare_to: a}}]", "jobs:j:rules:rule:changes config missing required keys: paths"},
		{"rules: [{exists: {project: a}}]", "jobs:j:rules:rule:exists config missing required keys: paths"},
		{"rules: [{exists: 3}]", "jobs:j:rules:rule:exists config should be an array of strings"},
		{"rules: [{changes: " + list(51) + "}]", "jobs:j:rules:rule:changes config has too many entries (maximum 50)"},
		{"rules: [{if: 3}]", "jobs:j:rules:rule if should be a string"},
		{"rules: [{}]", "jobs:j:rules:rule config can't be blank"},
		{"rules: [{when: delayed}]", "jobs:j:rules:rule start in should be a duration"},
		{"only: {variables: ['$A ==']}", "jobs:j:only variables invalid expression syntax"},
		{"extends: 3", "jobs:j:extends config should be an array of strings or a string"},
		{"timeout: [a]", "jobs:j:timeout config should be a duration"},
	} {
		got := texts(problems(t, "j: {script: x, "+tt.keyword+"}", nil))
		if !slices.Contains(got, tt.want) || len(got) > 2 && !strings.Contains(tt.keyword, "t50") {
			t.Errorf("%s: problems are %q, want %q", tt.keyword, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"j: {trigger: [a]}":                                        "jobs:j:trigger config has an unknown strategy",
		"j: {trigger: {include: " + list(4) + "}}":                 "jobs:j:trigger:include config is too long (maximum is 3)",
		"j: {trigger: {include: [{artifact: a}]}}":                 "jobs:j:trigger:include config must specify the job where to fetch the artifact from",
		"j: {trigger: {include: [{file: a}]}}":                     "jobs:j:trigger:include config must specify the project where to fetch the file from",
		"j: {trigger: {include: [{local: a, template: b}]}}":       "jobs:j:trigger:include config must specify one of local, file, remote, template, component and artifact",
		"j: {trigger: {include: a.yml, branch: b}}":                "jobs:j:trigger config contains unknown keys: branch",
		"j: {needs: [{pipeline: a}, {pipeline: b}]}":               "jobs:j:needs config should name one upstream pipeline",
		"j: {trigger: {project: a, strategy: hope}}":               "jobs:j:trigger strategy should be depend or mirror",
		"j: {trigger: {project: a, inputs: [x]}}":                  "jobs:j:trigger:inputs config should be a hash",
		"workflow: {name: [a]}\nj: {script: x}":                    "workflow name should be a string",
		"workflow: x\nj: {script: x}":                              "workflow config should be a hash",
		"stages: x\nj: {script: x, stage: .pre}":                   "stages config should be an array of strings",
		"variables: {A: {value: x, options: [y]}}\nj: {script: x}": "variables:A value must be one of the options",
	} {
		if got := texts(problems(t, text, nil)); !slices.Contains(got, want) {
			t.Errorf("%s: problems are %q, want %q", text, got, want)
		}
	}
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob string
		yes  string
		no   string
	}{
		{"*.go", "a.go .x.go", "d/a.go a.gox"},
		{"**/*.go", "a.go d/a.go d/e/a.go", "a.rb"},
		{"d/**/*", "d/a d/e/a", "e/a d"},
		{"d/**", "d/a", "d/e/a"},
		{"a?c", "abc", "a/c ac"},
		{"[a-c]x", "bx", "dx"},
		{"[!a]x", "bx", "ax /x"},
		{"[a", "[a", "a"},
		{"[]]", "", "]"},
		{"*.{rb,p{y,l}}", "a.rb a.py a.pl", "a.p"},
		{"{a", "{a", "a"},
		{"a,b*", "a,b", "a"},
		{`\*`, "*", "a"},
		{"é*", "éa", "e"},
		{"/a", "a", "b"},
		{"./a", "a", "b"},
		{"a.b*", "a.b", "axb"},
	} {
		for _, path := range strings.Fields(tt.yes + " ! " + tt.no) {
			run := branch("main")
			run.Files = func(context.Context, string, string) ([]string, error) { return []string{path}, nil }
			quoted, err := json.Marshal(tt.glob)
			if err != nil {
				t.Fatal(err)
			}
			p := pipeline(t, "k: {script: x}\nj: {script: x, rules: [{exists: ["+string(quoted)+"]}]}", nil, run)
			if got := len(p.Jobs) == 2; path != "!" && got != slices.Contains(strings.Fields(tt.yes), path) {
				t.Errorf("%s matches %s: %t", tt.glob, path, got)
			}
		}
	}
}

func TestOptions_Inputs(t *testing.T) {
	t.Parallel()
	text := "spec: {inputs: {s: {default: a b}, n: {type: number}, b: {type: boolean}, l: {type: array, default: []}, o: {default: $X$NONE}}}\n---\n" +
		"j: {script: 'echo $[[ inputs.s | posix_escape ]] $[[ inputs.n ]] $[[ inputs.b ]] $[[ inputs.l ]] $[[ inputs.o | expand_vars ]]', timeout: '$[[ inputs.n ]]'}\n"
	c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{
		Unmasked: ciconfig.OfMap(map[string]string{"X": "x"}), Inputs: map[string]any{"n": 90.0, "b": false, "l": []any{"x", 1.5, true, nil, 3, map[string]any{"k": "v"}}},
	})
	if err != nil || !c.Valid() {
		t.Fatalf("%v, %+v", err, c.Problems)
	}
	p, err := c.Evaluate(t.Context(), branch("main"))
	want := `echo a\ b 90 false ["x",1.5,true,null,3,{"k":"v"}] x$NONE`
	if err != nil || len(p.Jobs) != 1 || p.Jobs[0].Script[0] != want || p.Jobs[0].Timeout != 90*time.Second {
		t.Errorf("got %v, %+v, want the script %s", err, p, want)
	}
	for name, inputs := range map[string]map[string]any{
		"`n` input: required value has not been provided": nil,
		"`n` input: provided value is not a number":       {"n": "x", "b": true},
		"`b` input: provided value is not a boolean":      {"n": 1, "b": "x"},
		"`l` input: provided value is not an array":       {"n": 1, "b": true, "l": "x"},
		"inputs of type struct {} are not supported":      {"n": struct{}{}},
	} {
		c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{Inputs: inputs})
		if err != nil || !slices.Equal(texts(c.Problems), []string{name}) {
			t.Errorf("%v: got %v, %q, want %q", inputs, err, texts(c.Problems), name)
		}
	}
}
