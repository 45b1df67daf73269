package ci_test

import (
	"strconv"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/token"
)

// cacheKeys runs the first job of a pipeline and returns the keys of its caches.
func (w *world) cacheKeys(branch string) []string {
	w.T.Helper()
	a := w.take(w.runner("project_type", nil, w.id), "build")
	equal(w.T, "branch", value(a, "CI_COMMIT_BRANCH"), branch)
	keys := make([]string, len(a.Config.Cache))
	for i, c := range a.Config.Cache {
		keys[i] = c.Key
	}
	w.succeed(a)
	return keys
}

// Keys of caches that are made of files change when one of the files does, and with nothing else.
func TestService_cacheKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const text = `build:
  script: x
  cache:
    - {key: {files: [go.mod, sub/go.sum]}, paths: [a]}
    - {key: {files: [go.mod], prefix: $CI_JOB_NAME}, paths: [b]}
    - {key: {files: [none.lock], prefix: p}, paths: [c]}
    - {key: plain, paths: [d]}
`
		w.push("one", files{".gitlab-ci.yml": text, "go.mod": "module a", "sub/go.sum": "1"}, "Begin")
		first := w.cacheKeys("one")
		equal(t, "without files", first[2], "p-default")
		equal(t, "of a text", first[3], "plain")
		equal(t, "length of a digest", len(first[0]), 40)
		equal(t, "prefix", first[1][:len("$CI_JOB_NAME-")], "$CI_JOB_NAME-")

		w.push("one", files{"README": "x"}, "Write")
		for i, key := range w.cacheKeys("one") {
			equal(t, "after another file changed, cache "+strconv.Itoa(i), key, first[i])
		}
		w.push("one", files{"sub/go.sum": "2"}, "Update")
		then := w.cacheKeys("one")
		if then[0] == first[0] {
			t.Error("one of two files changed, the key did not")
		}
		equal(t, "of the file that did not change", then[1], first[1])
	})
}

// A pipeline asks git for the last commits of a bounded number of files.
func TestService_cacheKeys_bound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		text := ""
		for i := range 51 {
			n := strconv.Itoa(i)
			text += "j" + n + ": {script: x, cache: {key: {files: [a" + n + ", b" + n + "]}, paths: [x]}}\n"
		}
		p := w.begin(text)
		equal(t, "state", p.State, ci.Failed)
		equal(t, "errors", *p.YAMLErrors, "j50 job: the keys of caches are made of too many files (maximum is 100)")
	})
}

// Jobs know the message of their tag, the languages of their project and the deploy token that is meant for them.
func TestService_predefined(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.deps.Revision = "0123456789a"
		w.ci = w.another()
		runner := w.runner("project_type", nil, w.id)
		p := w.loaded()
		check(t, w.Projects.RecordMeasure(t.Context(), p.ID, project.Measure{LanguagesOf: map[string]int64{"Go": 90, "Shell": 10}}))
		group := token.DeployToken{NamespaceID: w.group, Name: "gitlab-deploy-token", Username: "robot", ScopeText: "read_repository"}
		key, err := w.tokens.KeepDeployToken(t.Context(), &group)
		check(t, err)
		sha := w.commit(w.id, "", yml("build: {script: x}"), "Begin")
		g := w.git(w.id)
		tag, err := g.CreateTag(t.Context(), gitstore.TagInput{
			Target: parse(t, sha), Name: "v1", Message: "The first\n", Tagger: gitstore.Signature{Name: "Dave", Email: "dave@example.com", When: w.now()},
		})
		check(t, err)
		w.move(w.id, map[string]string{"refs/tags/v1": tag.String()})
		w.drain()
		a := w.take(runner, "build")
		for name, want := range map[string]string{
			"CI_COMMIT_TAG": "v1", "CI_COMMIT_TAG_MESSAGE": "The first", "CI_PROJECT_REPOSITORY_LANGUAGES": "go,shell", "CI_SERVER_REVISION": "0123456789a",
			"CI_DEPLOY_USER": "robot", "CI_DEPLOY_PASSWORD": key, "CI_PROJECT_CLASSIFICATION_LABEL": "", "CI_TEMPLATE_REGISTRY_HOST": "registry.gitlab.com",
		} {
			equal(t, name, value(a, name), want)
		}
		for _, v := range a.Variables {
			if v.Key == "CI_DEPLOY_PASSWORD" && (!v.Masked || v.Public) {
				t.Errorf("the password of the deploy token is %+v, want it masked", v)
			}
		}
		w.succeed(a)

		own := token.DeployToken{NamespaceID: p.NamespaceID, Name: "gitlab-deploy-token", Username: "own", ScopeText: "read_repository"}
		_, err = w.tokens.KeepDeployToken(t.Context(), &own)
		check(t, err)
		w.push("main", yml("build: {script: x}\ndown: {trigger: {include: child.yml}}"), "Begin again")
		a = w.take(runner, "build")
		equal(t, "the project's stands above the group's", value(a, "CI_DEPLOY_USER"), "own")
		equal(t, "without a tag", value(a, "CI_COMMIT_TAG_MESSAGE"), "")
		check(t, w.tokens.DropDeployToken(t.Context(), authz.Actor{}, own.ID))
		check(t, w.tokens.DropDeployToken(t.Context(), authz.Actor{}, group.ID))
		w.succeed(a)
	})
}

// A pipeline that a job started knows it.
func TestService_predefined_upstream(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		runner := w.runner("instance_type", nil)
		w.other("group/below", authz.Private, "inner: {script: x}\n")
		w.push("main", yml("down: {trigger: group/below}\n"), "Begin")
		p := w.newest("main")
		a := w.take(runner, "inner")
		equal(t, "project", value(a, "CI_UPSTREAM_PROJECT_ID"), strconv.FormatInt(int64(w.id), 10))
		equal(t, "pipeline", value(a, "CI_UPSTREAM_PIPELINE_ID"), strconv.FormatInt(int64(p.ID), 10))
		equal(t, "job", value(a, "CI_UPSTREAM_JOB_ID"), strconv.FormatInt(int64(w.job(p, "down").ID), 10))
	})
}
