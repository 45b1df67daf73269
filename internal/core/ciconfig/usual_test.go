package ciconfig_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"tenon/internal/core/ciconfig"
)

// usual is a configuration as projects have them.
const usual = `stages: [prepare, build, test, review, production]
default:
  image: ruby:3.2
  interruptible: true
workflow:
  rules:
    - if: $CI_MERGE_REQUEST_IID
    - if: $CI_COMMIT_BRANCH && $CI_OPEN_MERGE_REQUESTS
      when: never
    - if: $CI_COMMIT_BRANCH
variables:
  DEPLOY_TARGET: staging
.rules:docs: &docs
  - if: $CI_COMMIT_MESSAGE =~ /\[docs\]/i
    when: never
.cache:
  cache:
    - key: {files: [Gemfile.lock], prefix: $CI_JOB_NAME}
      paths: [vendor/ruby]
install:
  stage: prepare
  extends: .cache
  script: |
    bundle config set path vendor/ruby
    bundle install
rspec:
  stage: test
  extends: [.cache]
  needs: [install]
  parallel:
    matrix:
      - DB: [postgres, mysql]
        RUBY: ["3.1", "3.2"]
  rules:
    - *docs
    - changes: ["**/*.rb", "Gemfile*"]
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
    - !reference [install, script]
    - bundle exec rspec
review:
  stage: review
  script: deploy
  environment: {name: review/$CI_COMMIT_REF_SLUG, url: "https://$CI_ENVIRONMENT_SLUG.example.com", on_stop: stop_review, auto_stop_in: 1 week}
  rules: [{if: $CI_MERGE_REQUEST_IID}]
stop_review:
  stage: review
  script: stop
  environment: {name: review/$CI_COMMIT_REF_SLUG, action: stop}
  rules: [{if: $CI_MERGE_REQUEST_IID, when: manual, allow_failure: true}]
  needs: [{job: review}]
production:
  stage: production
  trigger: {project: group/deploy, strategy: depend}
  rules: [{if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH, when: manual}]
`

func TestConfig_Evaluate_usual(t *testing.T) {
	t.Parallel()
	c := compose(t, usual, nil)
	if !c.Valid() || len(c.Warnings) > 0 {
		t.Fatalf("problems: %+v, warnings: %q", c.Problems, c.Warnings)
	}
	changed := func(paths ...string) func(context.Context, string) ([]string, bool, error) {
		return func(context.Context, string) ([]string, bool, error) { return paths, true, nil }
	}
	mr := branch("feature", "CI_COMMIT_BRANCH=", "CI_MERGE_REQUEST_IID=7")
	mr.MergeRequest, mr.Source, mr.Changes = true, "merge_request_event", changed("app/a.rb")
	main := branch("main")
	main.Changes = changed("README.md")
	docs := branch("main", "CI_COMMIT_MESSAGE=[DOCS] words")
	docs.Changes = changed("app/a.rb")
	matrix := []string{"rspec: [postgres, 3.1]", "rspec: [postgres, 3.2]", "rspec: [mysql, 3.1]", "rspec: [mysql, 3.2]"}
	for name, tt := range map[string]struct {
		run  ciconfig.Run
		want []string
	}{
		"merge request":              {mr, slices.Concat([]string{"install"}, matrix, []string{"review", "stop_review"})},
		"default branch":             {main, slices.Concat([]string{"install"}, matrix, []string{"production"})},
		"words alone":                {docs, []string{"install", "production"}},
		"branch with merge requests": {branch("feature", "CI_OPEN_MERGE_REQUESTS=g/p!7"), nil},
	} {
		p, err := c.Evaluate(t.Context(), tt.run)
		if err != nil || !slices.Equal(names(p), tt.want) || p.Filtered != (tt.want == nil) {
			t.Errorf("%s: %v, jobs are %q, want %q: %+v", name, err, names(p), tt.want, p.Problems)
		}
	}
}

// A configuration that is composed once makes many pipelines at a time.
func TestConfig_Evaluate_together(t *testing.T) {
	t.Parallel()
	c := compose(t, usual, nil)
	merged := c.Merged()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			p, err := c.Evaluate(t.Context(), branch("main", "CI_COMMIT_MESSAGE=[docs]"))
			if err != nil || len(p.Jobs) != 2 || c.Merged() != merged {
				t.Errorf("%v, %q", err, names(p))
			}
		})
	}
	all.Wait()
}
