package ci_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
)

// below returns the pipeline that a bridge started, nil where there is none.
func (w *world) below(of *ci.Pipeline, bridge string) *ci.Pipeline {
	w.T.Helper()
	list, err := db.Select[ci.Pipeline](w.T.Context(), w.DB, "SELECT "+db.Columns[ci.Pipeline]("p")+" FROM pipelines p WHERE p.upstream_job_id = ?", w.job(of, bridge).ID)
	check(w.T, err)
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// wantBelow returns the pipeline that a bridge started and fails the test where there is none.
func (w *world) wantBelow(of *ci.Pipeline, bridge string) *ci.Pipeline {
	w.T.Helper()
	p := w.below(of, bridge)
	if p == nil {
		w.T.Fatalf("%s has started no pipeline: %s, %s", bridge, w.states(of), reason(w.job(of, bridge)))
	}
	return p
}

// other makes another project below the group, with a configuration on its branch main.
func (w *world) other(path string, v authz.Visibility, text string) project.ID {
	w.T.Helper()
	id := w.Project(path, v, w.group)
	w.staff(id)
	w.pushTo(id, "main", yml(text), "Begin [skip ci]")
	return id
}

func TestService_startBridge_child(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.push("work", files{
			".gitlab-ci.yml": "stages: [one, two]\nvariables: {COLOR: blue}\nchild: {stage: one, trigger: {include: child.yml}}\ntest: {stage: two, script: x, tags: [none]}\n",
			"child.yml":      "inner: {script: x, rules: [{if: $CI_PIPELINE_SOURCE == \"parent_pipeline\"}]}\n",
		}, "Begin")
		p := w.pipelines(w.id, "work")[1]
		w.wantStates(&p, "started", "child:success test:pending = running")
		child := w.wantBelow(&p, "child")
		equal(t, "source", child.Source, ci.ByParentPipeline)
		equal(t, "commit", child.SHA, p.SHA)
		equal(t, "COLOR", value(w.take(token, "inner"), "COLOR"), "blue")
		list, err := w.ci.List(t.Context(), w.guest, w.as(w.guest), ci.PipelineFilter{})
		check(t, err)
		equal(t, "pipelines without children", len(list.Items), 1)
		latest, err := w.ci.Latest(t.Context(), w.guest, w.as(w.guest), "work")
		if err != nil || latest.ID != p.ID {
			t.Errorf("latest: %v, %v", latest, err)
		}
		// What cannot be read starts nothing.
		p = *w.begin("child: {trigger: {include: nowhere.yml}}\n")
		w.wantStates(&p, "no such file", "child:failed = failed")
		equal(t, "reason", reason(w.job(&p, "child")), ci.DownstreamFailed)
	})
}

func TestService_startBridge_depend(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		begin := func() (up, down *ci.Pipeline) {
			t.Helper()
			w.push("work", files{
				".gitlab-ci.yml": "stages: [one, two]\nchild: {stage: one, trigger: {include: child.yml, strategy: depend}}\ntest: {stage: two, script: x}\n",
				"child.yml":      "inner: {script: x}\n", "n": w.now().String(),
			}, "Begin")
			p := w.pipelines(w.id, "work")[1]
			w.wantStates(&p, "started", "child:running test:created = running")
			return &p, w.wantBelow(&p, "child")
		}
		up, _ := begin()
		w.run(token, "inner")
		w.drain()
		w.wantStates(up, "success", "child:success test:pending = running")
		w.run(token, "test")

		up, _ = begin()
		w.fail(w.take(token, "inner"))
		w.drain()
		w.wantStates(up, "failure", "child:failed test:skipped = failed")

		up, down := begin()
		_, err := w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), up.ID)
		check(t, err)
		w.drain()
		w.wantStates(up, "canceled", "child:canceled test:canceled = canceled")
		w.wantStates(down, "canceled from above", "inner:canceled = canceled")

		up, down = begin()
		_, err = w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), down.ID)
		check(t, err)
		w.drain()
		w.wantStates(up, "canceled below", "child:canceled test:skipped = canceled")

		// A pipeline in which nothing runs by itself ends as soon as it is made.
		w.push("work", files{
			".gitlab-ci.yml": "child: {trigger: {include: child.yml, strategy: depend}}\n", "child.yml": "inner: {script: x, when: manual}\n",
		}, "Begin")
		up = &w.pipelines(w.id, "work")[1]
		w.wantStates(up, "nothing to run", "child:skipped = skipped")
	})
}

func TestService_startBridge_artifact(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		const text = "stages: [one, two]\nwrite: {stage: one, script: x, artifacts: {paths: [made.yml]}}\nchild: {stage: two, trigger: {include: [{artifact: made.yml, job: write}]}}\n"
		p := w.begin(text)
		a := w.take(token, "write")
		w.archive(a, files{"made.yml": "inner: {script: made}\n"})
		w.succeed(a)
		w.drain()
		w.wantStates(p, "made", "write:success child:success = success")
		w.wantStates(w.wantBelow(p, "child"), "the child", "inner:pending = pending")
		w.run(token, "inner")

		for name, content := range map[string]files{"another file": {"other.yml": "x"}, "no archive": nil} {
			p = w.begin(text)
			a = w.take(token, "write")
			if content != nil {
				w.archive(a, content)
			}
			w.succeed(a)
			w.drain()
			w.wantStates(p, name, "write:success child:failed = failed")
			equal(t, name, reason(w.job(p, "child")), ci.InvalidBridge)
		}
		p = w.begin(text)
		a = w.take(token, "write")
		w.archive(a, files{"made.yml": "inner: {stage: nowhere, script: x}\n"})
		w.succeed(a)
		w.drain()
		equal(t, "an invalid configuration", reason(w.job(p, "child")), ci.DownstreamFailed)

		for _, c := range []struct {
			most int
			want string
		}{{10, ci.DownstreamFailed}, {0, ""}} {
			w.set("max_artifacts_content_include_size", c.most)
			p = w.begin(text)
			a = w.take(token, "write")
			w.archive(a, files{"made.yml": "inner: {script: made}\n"})
			w.succeed(a)
			w.drain()
			equal(t, "artifacts over the limit", reason(w.job(p, "child")), c.want)
		}
	})
}

func TestService_startBridge_project(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		shown := w.other("group/library", authz.Private, "lib: {script: x}\n")
		_, err := w.variables.Create(t.Context(), w.maintainer, w.loaded().Place(), variable.Input{Key: "SHARED", Value: "of the project"})
		check(t, err)
		p := w.begin("variables: {COLOR: blue}\nlibrary: {variables: {SIZE: $CI_PROJECT_NAME, COLOR: red, WHO: '$GITLAB_USER_LOGIN and $SHARED'}, trigger: {project: group/library, branch: main, strategy: depend}}\n")
		w.wantStates(p, "started", "library:running = running")
		down := w.wantBelow(p, "library")
		equal(t, "project", down.ProjectID, shown)
		equal(t, "source", down.Source, ci.ByPipeline)
		equal(t, "user", *down.UserID, w.maintainer.UserID)
		a := w.take(token, "lib")
		equal(t, "SIZE", value(a, "SIZE"), "shop")
		equal(t, "COLOR", value(a, "COLOR"), "red")
		equal(t, "WHO", value(a, "WHO"), w.maintainer.Username+" and of the project")
		w.succeed(a)
		w.drain()
		w.wantStates(p, "run", "library:success = success")

		// Variables that a pipeline was started with go on where the bridge says so.
		w.push("work", yml("one: {trigger: {project: group/library, forward: {pipeline_variables: true}}}\ntwo: {trigger: {project: group/library, forward: {yaml_variables: false}}, variables: {OWN: x}}\n"), "Change")
		made, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "GIVEN", Value: "yes"}}})
		check(t, err)
		w.drain()
		for bridge, want := range map[string]string{"one": "GIVEN=yes", "two": ""} {
			vars, err := w.ci.VariablesOf(t.Context(), w.developer, w.Find(w.developer, shown), w.wantBelow(made, bridge).ID)
			check(t, err)
			var got []string
			for _, v := range vars {
				got = append(got, v.Key+"="+v.Value)
			}
			equal(t, bridge, strings.Join(got, " "), want)
		}

		// Projects in which the user may not run pipelines. That there is one is not told to those who may not see it.
		apart := w.Group("apart", authz.Private, 0)
		hidden := w.Project("apart/hidden", authz.Private, apart)
		w.Join(hidden, w.owner, authz.Owner)
		read := w.Project("apart/read", authz.Private, apart)
		w.Join(read, w.maintainer, authz.Reporter)
		for path, want := range map[string]string{
			"apart/hidden": ci.DownstreamNotFound, "apart/nowhere": ci.DownstreamNotFound, "apart/read": ci.InsufficientBridge,
		} {
			p = w.begin("bridge: {trigger: {project: " + path + "}}\n")
			w.wantStates(p, path, "bridge:failed = failed")
			equal(t, path, reason(w.job(p, "bridge")), want)
		}
	})
}

func TestService_startBridge_blocked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.other("group/library", authz.Private, "lib: {script: x}\n")
		before := len(w.pipelines(id, "main"))
		sha := w.commit(w.id, "", yml("bridge: {trigger: {project: group/library}}\n"), "Begin")
		w.move(w.id, map[string]string{"refs/heads/work": sha})
		// The user is blocked after the push and before the bridge starts.
		p, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
		check(t, err)
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.developer.UserID)
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		w.drain()
		w.wantStates(p, "blocked", "bridge:failed = failed")
		equal(t, "reason", reason(w.job(p, "bridge")), ci.UserBlocked)
		equal(t, "pipelines of the other project", len(w.pipelines(id, "main")), before)
	})
}

// Child pipelines stand in one another up to a depth, and projects whose pipelines start one another do so a few times. Attack: two
// configurations that trigger each other fill the server with pipelines.
func TestService_startBridge_deep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("work", files{".gitlab-ci.yml": "again: {trigger: {include: .gitlab-ci.yml}}\n"}, "Begin")
		list := w.pipelines(w.id, "work")
		equal(t, "generations", len(list), 3)
		w.wantStates(&list[0], "the last", "again:failed = failed")
		equal(t, "reason", reason(w.job(&list[0], "again")), "reached_max_descendant_pipelines_depth")

		w.other("group/ping", authz.Private, "go: {trigger: {project: group/pong}}\n")
		w.other("group/pong", authz.Private, "go: {trigger: {project: group/ping}}\n")
		p := w.begin("go: {trigger: {project: group/ping}}\n")
		hops := 0
		for next := w.below(p, "go"); next != nil; next = w.below(p, "go") {
			p, hops = next, hops+1
			if hops > 50 {
				t.Fatal("it does not end")
			}
		}
		equal(t, "pipelines after the first", hops, 10)
		equal(t, "reason", reason(w.job(p, "go")), "reached_max_pipeline_hierarchy_size")
	})
}

func TestService_startBridge_cancelsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		// A child pipeline does not make its own parent needless, and a newer push cancels both.
		push := func() (up, down *ci.Pipeline) {
			t.Helper()
			w.push("work", files{
				".gitlab-ci.yml": "child: {interruptible: true, trigger: {include: child.yml, strategy: depend}}\n", "child.yml": "inner: {script: x}\n", "n": w.now().String(),
			}, "Begin")
			list := w.pipelines(w.id, "work")
			return &list[1], &list[0]
		}
		up, down := push()
		w.wantStates(up, "at first", "child:running = running")
		w.wantStates(down, "at first", "inner:pending = pending")
		push()
		w.drain()
		w.wantStates(up, "after a newer push", "child:canceled = canceled")
		w.wantStates(down, "after a newer push", "inner:canceled = canceled")
		_, err := w.ci.Find(t.Context(), w.stranger, w.loaded(), down.ID)
		wantError(t, "stranger", err, errs.NotFound, "")
	})
}
