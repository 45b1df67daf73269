package ciconfig_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/starter"
	"tenon/internal/core/ciconfig"
)

// Every template is a configuration by itself or beside others, and makes a pipeline for a push to the default branch.
func TestCompose_templates(t *testing.T) {
	t.Parallel()
	all := starter.Names(starter.Pipelines)
	for _, name := range []string{
		"Go", "Python", "Ruby", "Nodejs", "Rust", "Docker", "Bash", "C++", "Maven", "Gradle", "PHP", "Terraform", "Pages-HTML", "Pages-Hugo", "Pages-Jekyll",
		"Workflows-Branch-Pipelines", "Workflows-MergeRequest-Pipelines", "Security-SAST", "Security-Secret-Detection", "Android", "Swift", "Getting-Started",
	} {
		if !slices.Contains(all, name) {
			t.Errorf("there is no template %s", name)
		}
	}
	run := branch("main", "CI_MERGE_REQUEST_IID=1")
	run.Files = func(context.Context, string, string) ([]string, error) { return []string{"go.mod", "Dockerfile"}, nil }
	for _, name := range all {
		path := strings.Replace(name, "Pages-", "Pages/", 1)
		path = strings.Replace(strings.Replace(path, "Security-", "Security/", 1), "Workflows-", "Workflows/", 1)
		text := "include: {template: " + path + ".gitlab-ci.yml}\nanother job: {stage: .pre, script: x}\n"
		if strings.HasPrefix(name, "Workflows-") {
			text += "job: {script: x}\n"
		}
		c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := c.Lint(nil); !l.Valid || len(l.Includes) != 1 || len(l.Warnings) > 0 {
			t.Errorf("%s: %q, %q", name, l.Errors, l.Warnings)
			continue
		}
		p, err := c.Evaluate(t.Context(), run)
		if err != nil || len(p.Jobs) < 2 {
			t.Errorf("%s: %v, %+v", name, err, p.Problems)
		}
	}
	for _, path := range []string{"../Go", "None", "Go/", "go"} {
		got := texts(problems(t, "include: {template: "+path+".gitlab-ci.yml}\nj: {script: x}", nil))
		if want := "Included file `" + path + ".gitlab-ci.yml` is empty or does not exist!"; !slices.Equal(got, []string{want}) {
			t.Errorf("%q: problems are %q, want %q", path, got, want)
		}
	}
}

func TestConfig_Lint(t *testing.T) {
	t.Parallel()
	c := compose(t, "include: [{local: a.yml}, {project: g/p, file: ci.yml, ref: main}]\nj: {script: x, environment: e, needs: [a], rules: [{if: $NONE}, {when: always}]}\nb: {script: [y], only: [tags], tags: [t]}\n",
		files{"a.yml": "a: {stage: build, script: a, parallel: 2}", "g/p:ci.yml": ".x: {}"})
	l := c.Lint(nil)
	if !l.Valid || len(l.Errors) > 0 || l.Errors == nil || !strings.HasPrefix(l.MergedYAML, "---\na:\n  stage: build\n") || len(l.Includes) != 2 {
		t.Fatalf("lint: %+v", l)
	}
	if i := l.Includes[1]; i.Type != "file" || i.Location != "ci.yml" || i.Extra["project"] != "g/p" || i.Extra["ref"] != "main" || i.ContextProject != nil || *i.Raw == "" {
		t.Errorf("include: %+v", i)
	}
	if want := "jobs:j may allow multiple pipelines to run for a single action due to `rules:when` clause with no `workflow:rules` - read more: https://host/help/ci/troubleshooting.md#pipeline-warnings"; !slices.Equal(l.Warnings, []string{want}) {
		t.Errorf("warnings: %q", l.Warnings)
	}
	if len(l.Jobs) != 4 || l.Jobs[0].Name != "a 1/2" || *l.Jobs[2].Environment != "e" || l.Jobs[2].Needs[0].Job != "a" || l.Jobs[3].Only.Refs[0] != "tags" || l.Jobs[3].TagList[0] != "t" || l.Jobs[0].BeforeScript == nil {
		t.Errorf("jobs: %+v", l.Jobs)
	}
	p, err := c.Evaluate(t.Context(), branch("main"))
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Lint(p); len(l.Jobs) != 3 || !l.Valid || l.Jobs[2].Needs[1].Job != "a 2/2" {
		t.Errorf("simulation: %+v", l.Jobs)
	}
	empty := compose(t, "j: {script: x, rules: [{if: $NONE}]}", nil)
	if p, err = empty.Evaluate(t.Context(), branch("main")); err != nil {
		t.Fatal(err)
	}
	if l := empty.Lint(p); l.Valid || len(l.Errors) != 1 || !p.Filtered || l.Jobs != nil {
		t.Errorf("empty pipeline: %+v", l)
	}
	if l := compose(t, "j: {}", nil).Lint(nil); l.Valid || len(l.Errors) != 1 || l.Problems[0].Line != 1 || l.Jobs != nil || l.Includes == nil {
		t.Errorf("problem: %+v", l)
	}
}
