package ci_test

import (
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

func TestService_startBridge_mirror(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		library := w.other("group/library", authz.Private, "lib: {script: x}\n")
		token, theirs := w.runner("project_type", nil, w.id), w.runner("project_type", nil, library)
		upstream := func() *ci.Pipeline {
			t.Helper()
			w.pushTo(library, "main", files{"n": w.now().String()}, "Change")
			return &w.pipelines(library, "main")[0]
		}
		const text = "stages: [one, two]\nfirst: {stage: one, script: x}\nlibrary: {stage: two, needs: {pipeline: group/library}}\nafter: {stage: two, script: x, needs: [library]}\n"
		begin := func() *ci.Pipeline {
			t.Helper()
			p := w.begin(text)
			w.wantStates(p, "at first", "first:pending after:created library:created = pending")
			w.run(token, "first")
			w.drain()
			return p
		}
		upstream()
		p := begin()
		w.wantStates(p, "followed", "first:success after:created library:running = running")
		if w.below(p, "library") != nil {
			t.Error("a mirror has started a pipeline")
		}
		w.run(theirs, "lib")
		w.drain()
		w.wantStates(p, "success", "first:success after:pending library:success = running")
		w.run(token, "after")

		// One that has ended is taken over at once, also by a job that names it among others.
		p = w.begin("library: {needs: [first, {pipeline: $WHERE}], variables: {WHERE: group/library}}\nfirst: {script: x}\n")
		w.run(token, "first")
		w.drain()
		w.wantStates(p, "already there", "first:success library:success = success")

		up := upstream()
		p = begin()
		w.fail(w.take(theirs, "lib"))
		w.drain()
		w.wantStates(p, "failure", "first:success after:skipped library:failed = failed")
		equal(t, "reason", reason(w.job(p, "library")), ci.UnknownFailure)

		// It runs again: so does the job that follows it.
		_, err := w.ci.Retry(t.Context(), w.developer, w.Find(w.developer, library), up.ID)
		check(t, err)
		w.drain()
		w.wantStates(p, "again", "first:success after:created library:running = running")
		if why := w.job(p, "library").FailureReason; why != nil {
			t.Errorf("reason of a job that runs: %s", *why)
		}
		w.run(theirs, "lib")
		w.drain()
		w.wantStates(p, "success after all", "first:success after:pending library:success = running")
		w.run(token, "after")

		up = upstream()
		p = begin()
		check(t, w.ci.Delete(t.Context(), w.owner, w.Find(w.owner, library), up.ID))
		w.drain()
		w.wantStates(p, "deleted", "first:success after:skipped library:failed = failed")
		equal(t, "reason", reason(w.job(p, "library")), "upstream_bridge_project_not_found")
	})
}

func TestService_startBridge_mirrorRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.staff(w.Project("group/empty", authz.Private, w.group))
		apart := w.Group("apart", authz.Private, 0)
		hidden := w.Project("apart/hidden", authz.Private, apart)
		w.Join(hidden, w.owner, authz.Owner)
		read := w.Project("apart/read", authz.Private, apart)
		w.Join(read, w.maintainer, authz.Guest)
		w.settings(read, `{"public_jobs": false}`)
		for path, want := range map[string]string{
			"apart/hidden": ci.UpstreamNotFound, "apart/nowhere": ci.UpstreamNotFound, "group/empty": ci.UpstreamNotFound, "apart/read": ci.InsufficientUpstream,
		} {
			p := w.begin("bridge: {needs: {pipeline: " + path + "}}\n")
			w.wantStates(p, path, "bridge:failed = failed")
			equal(t, path, reason(w.job(p, "bridge")), want)
		}
	})
}

// A project that is deleted takes its pipelines with it; a job that follows one of them does not wait for ever.
func TestService_EndStuck_mirror(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		library := w.other("group/library", authz.Private, "lib: {script: x}\n")
		w.pushTo(library, "main", files{"n": "1"}, "Change")
		p := w.begin("library: {needs: {pipeline: group/library}}\n")
		w.wantStates(p, "followed", "library:running = running")
		w.exec("DELETE FROM pipelines WHERE project_id = ?", library)
		check(t, w.ci.EndStuck(t.Context(), ci.Stuck{}))
		w.wantStates(p, "gone", "library:failed = failed")
		equal(t, "reason", reason(w.job(p, "library")), ci.UpstreamNotFound)
	})
}

// A pipeline of another project may be in the same state of things: each follows the other.
func TestService_startBridge_mirrorEachOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		library := w.other("group/library", authz.Private, "first: {script: x, stage: build}\nshop: {stage: test, needs: {pipeline: group/shop}}\n")
		w.pushTo(w.id, "main", yml("library: {needs: {pipeline: group/library}}\n"), "Begin [skip ci]")
		w.pushTo(library, "main", files{"n": "1"}, "Change")
		w.pushTo(w.id, "main", files{"n": "1"}, "Change")
		mine, theirs := w.pipelines(w.id, "main")[0], w.pipelines(library, "main")[0]
		w.wantStates(&mine, "mine", "library:running = running")
		w.run(token, "first")
		w.drain()
		w.wantStates(&theirs, "theirs", "first:success shop:running = running")
		_, err := w.ci.Cancel(t.Context(), w.developer, w.Find(w.developer, library), theirs.ID)
		check(t, err)
		w.drain()
		w.wantStates(&mine, "mine", "library:canceled = canceled")
	})
}

// A job that waits for the pipeline that it started runs again with it.
func TestService_startBridge_dependAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.push("work", files{
			".gitlab-ci.yml": "stages: [one, two]\nchild: {stage: one, trigger: {include: child.yml, strategy: depend}}\ntest: {stage: two, script: x}\n",
			"child.yml":      "inner: {script: x}\n",
		}, "Begin")
		up := &w.pipelines(w.id, "work")[1]
		down := w.wantBelow(up, "child")
		w.fail(w.take(token, "inner"))
		w.drain()
		w.wantStates(up, "failure", "child:failed test:skipped = failed")
		_, err := w.ci.Retry(t.Context(), w.developer, w.as(w.developer), down.ID)
		check(t, err)
		w.drain()
		w.wantStates(up, "again", "child:running test:created = running")
		w.run(token, "inner")
		w.drain()
		w.wantStates(up, "success", "child:success test:pending = running")
		w.run(token, "test")

		// Without its pipeline it does not wait for ever either.
		w.push("work", files{"n": "1"}, "Change")
		up = &w.pipelines(w.id, "work")[1]
		down = w.wantBelow(up, "child")
		check(t, w.ci.Delete(t.Context(), w.owner, w.as(w.owner), down.ID))
		w.drain()
		w.wantStates(up, "deleted", "child:failed test:skipped = failed")
	})
}
