package ci_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
)

func TestService_List(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		sha := w.push("work", yml(oneJob), "Begin") // 1
		w.run(token, "build")
		w.move(w.id, map[string]string{"refs/tags/v1": sha}) // 2
		w.drain()
		w.push("bad", yml("build: {stage: nowhere, script: x}\n"), "Break")     // 3
		w.push("side", files{".gitlab-ci.yml": oneJob}, "Begin")                // 4
		w.push("work", yml("workflow: {name: Nightly run}\n"+oneJob), "Change") // 5
		made, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
		check(t, err) // 6
		_, err = w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), made.ID)
		check(t, err)
		yes, no := true, false
		for _, tt := range []struct {
			name string
			f    ci.PipelineFilter
			want []int64
		}{
			{"all", ci.PipelineFilter{}, []int64{6, 5, 4, 3, 2, 1}},
			{"ascending", ci.PipelineFilter{Asc: true}, []int64{1, 2, 3, 4, 5, 6}},
			{"by branch", ci.PipelineFilter{OrderBy: "ref", Asc: true}, []int64{3, 4, 2, 1, 5, 6}},
			{"of a branch", ci.PipelineFilter{Ref: "work"}, []int64{6, 5, 1}},
			{"of a commit", ci.PipelineFilter{SHA: sha}, []int64{2, 1}},
			{"pending", ci.PipelineFilter{Scope: "pending"}, []int64{5, 4, 2}},
			{"finished", ci.PipelineFilter{Scope: "finished"}, []int64{6, 3, 1}},
			{"running", ci.PipelineFilter{Scope: "running"}, nil},
			{"newest of branches", ci.PipelineFilter{Scope: "branches"}, []int64{6, 4, 3}},
			{"newest of tags", ci.PipelineFilter{Scope: "tags"}, []int64{2}},
			{"success", ci.PipelineFilter{State: ci.Success}, []int64{1}},
			{"by API", ci.PipelineFilter{Source: ci.ByAPI}, []int64{6}},
			{"by name", ci.PipelineFilter{Name: "Nightly run"}, []int64{6, 5}},
			{"with errors", ci.PipelineFilter{YAMLErrors: &yes}, []int64{3}},
			{"without errors", ci.PipelineFilter{YAMLErrors: &no}, []int64{6, 5, 4, 2, 1}},
			{"of a user", ci.PipelineFilter{Username: "DAVE"}, []int64{6}},
			{"of nobody", ci.PipelineFilter{Username: "nobody"}, nil},
		} {
			list, err := w.ci.List(t.Context(), w.guest, w.as(w.guest), tt.f)
			check(t, err)
			var got []int64
			for _, p := range list.Items {
				got = append(got, p.IID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		}
		_, err = w.ci.Latest(t.Context(), w.guest, w.as(w.guest), "nowhere")
		wantError(t, "latest of a branch without pipelines", err, errs.NotFound, "Pipeline not found")
		named, err := w.ci.Rename(t.Context(), w.developer, w.as(w.developer), made.ID, "Mine")
		if err != nil || named.Name == nil || *named.Name != "Mine" {
			t.Errorf("rename: %v, %v", named, err)
		}
		_, err = w.ci.Rename(t.Context(), w.reporter, w.as(w.reporter), made.ID, "Yours")
		wantError(t, "rename as reporter", err, errs.Forbidden, "")
	})
}

func TestService_Views(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.other("group/library", authz.Private, "lib: {script: x}\n")
		p := w.begin("build: {script: x, tags: []}\nother: {script: x, tags: [b, a]}\nlibrary: {trigger: {project: group/library}}\n")
		a := w.take(token, "build")
		w.archive(a, files{"a": "a"})
		w.succeed(a)
		var all []*ci.Job
		for _, kind := range []ci.Kind{ci.JobKind, ci.BridgeKind} {
			list, err := w.ci.JobsOf(t.Context(), w.reporter, w.as(w.reporter), p.ID, ci.JobFilter{Kind: kind, Asc: true})
			check(t, err)
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		}
		equal(t, "jobs", len(all), 3)
		see := func(who authz.Actor, jobs []*ci.Job) []*ci.JobView {
			t.Helper()
			views, err := w.ci.Views(t.Context(), who, w.as(who), jobs)
			check(t, err)
			return views
		}
		views := see(w.reporter, all)
		build, other, library := views[0], views[1], views[2]
		if build.User == nil || build.User.Username != "mary" || build.Runner == nil || build.Commit == nil || build.Of.ID != p.ID || len(build.Artifacts) != 1 {
			t.Errorf("build: %+v", build)
		}
		equal(t, "tags", fmt.Sprint(other.Tags), "[a b]")
		if library.Downstream == nil || library.DownstreamProject.FullPath != "group/library" {
			t.Errorf("downstream: %v, %v", library.Downstream, library.DownstreamProject)
		}
		if seen := see(w.guest, all); seen[0].Commit != nil {
			t.Error("a guest of a private project sees the commit")
		}
		// A user who may not see the other project does not see the pipeline there.
		alone := w.User("alone")
		w.Join(w.id, alone, authz.Maintainer)
		if seen := see(alone, all); seen[2].Downstream != nil {
			t.Error("the pipeline of a hidden project is shown")
		}
		one := dbtest.Count(t, w.DB, func() { see(w.reporter, all[:1]) })
		two := dbtest.Count(t, w.DB, func() { see(w.reporter, all[:2]) })
		equal(t, "statements for two jobs", two, one)
	})
}

func TestService_events(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var pipelines coretest.Facts[ci.Pipeline]
		coretest.Hear(w.Bus, &pipelines, func(e ci.PipelineChanged) coretest.Fact[ci.Pipeline] {
			return coretest.Fact[ci.Pipeline]{Stamp: e.Stamp, Row: *e.Row(), Before: e.Before}
		})
		var jobs coretest.Facts[ci.Job]
		coretest.Hear(w.Bus, &jobs, func(e ci.JobChanged) coretest.Fact[ci.Job] {
			return coretest.Fact[ci.Job]{Stamp: e.Stamp, Row: *e.Row(), Before: e.Before}
		})
		token := w.runner("instance_type", nil)
		w.begin(twoStages)
		w.run(token, "build")
		w.run(token, "test")
		state := func(before *ci.State, now ci.State) string {
			if before == nil {
				return "made " + string(now)
			}
			return string(*before) + "-" + string(now)
		}
		var got []string
		for _, f := range pipelines {
			var before *ci.State
			if f.Before != nil {
				before = &f.Before.State
			}
			got = append(got, state(before, f.Row.State))
		}
		if want := []string{"made created", "created-pending", "pending-running", "running-success"}; !slices.Equal(got, want) {
			t.Errorf("pipeline: %v, want %v", got, want)
		}
		got = nil
		for _, f := range jobs {
			var before *ci.State
			if f.Before != nil {
				before = &f.Before.State
			}
			got = append(got, f.Row.Name+" "+state(before, f.Row.State))
		}
		want := []string{
			"build made created", "test made created", "build created-pending", "build pending-running", "build running-success",
			"test created-pending", "test pending-running", "test running-success",
		}
		if !slices.Equal(got, want) {
			t.Errorf("jobs: %v, want %v", got, want)
		}
	})
}

// Artifacts are found in child pipelines, too, and in their children.
func TestService_LatestOf_descendants(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		configure := func(message string) {
			t.Helper()
			w.push("work", files{
				".gitlab-ci.yml": "build: {script: x}\nsame: {script: x}\nchild: {trigger: {include: child.yml}}\n# " + message,
				"child.yml":      "inner: {script: x}\nsame: {script: x}\nchild: {trigger: {include: grandchild.yml}}\n",
				"grandchild.yml": "innermost: {script: x}\n",
			}, message)
		}
		ends := func(pack bool) map[string]ci.StatusID {
			t.Helper()
			out := map[string]ci.StatusID{}
			for range 5 {
				a := w.ask(token)
				if pack && (a.Job.Name != "same" || a.Pipeline.Source == ci.ByParentPipeline) {
					w.archive(a, files{"a": "a"})
					out[a.Job.Name] = a.Job.ID
				}
				w.succeed(a)
				w.drain()
			}
			return out
		}
		configure("First")
		want := ends(true)
		configure("Second, which does not succeed")
		w.fail(w.take(token, "build"))
		for _, name := range []string{"build", "inner", "innermost", "same"} {
			j, err := w.ci.LatestOf(t.Context(), w.guest, w.as(w.guest), "work", name)
			if err != nil || j.ID != want[name] {
				t.Errorf("%s: got %+v, %v, want job %d", name, j, err, want[name])
			}
		}
		_, err := w.ci.LatestOf(t.Context(), w.guest, w.as(w.guest), "work", "child")
		wantError(t, "a bridge", err, errs.NotFound, "")
	})
}

// A child pipeline is behind its parent: neither does it hide the parent's artifacts, nor are its own kept longer.
func TestService_LatestOf_child(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.push("work", files{
			".gitlab-ci.yml": "build: {script: x}\nchild: {trigger: {include: child.yml}}\n", "child.yml": "inner: {script: x}\n",
		}, "Begin")
		jobs := map[string]*ci.Assignment{}
		for range 2 {
			a := w.ask(token)
			check(t, w.store(a, ci.ArtifactInput{ExpireIn: "1 day"}, zipped(t, files{"a": "a"})))
			w.succeed(a)
			jobs[a.Job.Name] = a
		}
		w.drain()
		j, err := w.ci.LatestOf(t.Context(), w.guest, w.as(w.guest), "work", "build")
		if err != nil || j.ID != jobs["build"].Job.ID {
			t.Fatalf("latest: %v, %v", j, err)
		}
		w.pass(25 * time.Hour)
		check(t, w.ci.Expire(t.Context(), ci.Expiring{}))
		for name, a := range jobs {
			_, o, err := w.ci.OpenArtifact(t.Context(), w.guest, w.as(w.guest), a.Job.ID, "")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			check(t, o.Close())
		}
	})
}
