package mergerequest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/planlimit"
)

// Cancel and merge at once: what the row says first holds, and no user is told both.
func TestService_CancelAutoMerge_race(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		for i, name := range []string{"k", "l", "m", "n"} {
			m := w.waiting(name, mergerequest.MergeInput{})
			w.report(name, ci.Success)
			p := w.as(w.maintainer)
			var wait sync.WaitGroup
			var canceled error
			wait.Go(func() { _, canceled = w.requests.CancelAutoMerge(t.Context(), w.maintainer, p, m.IID) })
			w.drain()
			wait.Wait()
			w.drain()
			after := w.read(mergerequest.IID(i + 1))
			switch {
			case canceled == nil:
				equal(t, "state of what was canceled", after.State, mergerequest.StateOpened)
				equal(t, "told", w.last(), "mary canceled")
			case errs.Is(canceled, errs.NotAllowed), errs.Is(canceled, errs.NotAcceptable):
				equal(t, "state of what was not canceled", after.State, mergerequest.StateMerged)
			default:
				t.Fatal(canceled)
			}
			equal(t, "waits", after.MergeWhenPipelineSucceeds, false)
		}
	})
}

func TestService_CancelAutoMerge(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		m := w.waiting("topic", mergerequest.MergeInput{MergeMessage: "mine"})
		cancel := func(who authz.Actor) error {
			_, err := w.requests.CancelAutoMerge(t.Context(), who, w.as(who), m.IID)
			return err
		}
		wantError(t, cancel(w.reporter), errs.Unauthorized, "")
		_, err := w.requests.CancelAutoMerge(t.Context(), w.guest, w.as(w.guest), m.IID)
		wantError(t, err, errs.NotFound, "")
		check(t, cancel(w.developer)) // its author
		equal(t, "told", w.last(), "dave canceled")
		now := w.read(m.IID)
		equal(t, "waits", now.MergeWhenPipelineSucceeds, false)
		if now.MergeUserID != nil || now.ShouldRemoveSource != nil {
			t.Errorf("got merge user %v, remove source %v", now.MergeUserID, now.ShouldRemoveSource)
		}
		wantError(t, cancel(w.developer), errs.NotAcceptable, "Can't cancel the automatic merge")
		w.report("topic", ci.Success)
		w.drain()
		equal(t, "state", w.read(m.IID).State, mergerequest.StateOpened)
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		wantError(t, cancel(w.maintainer), errs.NotAllowed, "Can't cancel the automatic merge")

		// In an archive no user writes, the author neither.
		other := w.waiting("other", mergerequest.MergeInput{})
		w.exec("UPDATE projects SET archived = ? WHERE id = ?", true, w.id)
		_, err = w.requests.CancelAutoMerge(t.Context(), w.developer, w.as(w.developer), other.IID)
		wantError(t, err, errs.Unauthorized, "")
	})
}

// A server that died in the middle of an automatic merge goes on with it.
func TestService_Settle_automaticMerge(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the branch moved", true: "after it"}[moved], func(t *testing.T) {
			t.Parallel()
			eachChecked(t, func(t *testing.T, w *checked) {
				m := w.waiting("topic", mergerequest.MergeInput{MergeMessage: "By itself"})
				commit := w.write([]string{w.tip("main"), m.HeadSHA}, files{"topic": "x\n"}, "By itself").String()
				w.crash(m, commit, true)
				w.report("topic", ci.Success)
				w.drain()
				equal(t, "state in flight", w.read(m.IID).State, mergerequest.StateLocked)
				if moved {
					w.move("main", commit)
				}
				check(t, w.requests.Settle(t.Context(), db.At(time.Now())))
				w.drain()
				equal(t, "state", w.read(m.IID).State, mergerequest.StateMerged)
				tip := w.commit(w.tip("main"))
				equal(t, "message", tip.Message, "By itself")
				equal(t, "the commit of the crash", tip.ID.String() == commit, moved)
			})
		})
	}
}

// From a fork the checks that count are those of the fork's branch.
func TestService_Merge_whenPipelineSucceeds_fork(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		checks := ci.New(ci.Deps{Plans: &planlimit.Service{}, DB: f.DB, Policy: f.Policy, Bus: f.Bus, Projects: f.Projects, Repos: f.repos, Protections: f.protections, Now: f.Now})
		event.On(f.Bus, "automatic merges", func(ctx context.Context, e ci.PipelineChanged) error {
			return f.requests.OnPipeline(ctx, e.Row().ProjectID, e.Row().Ref, e.Row().State)
		})
		head := f.pushFork("topic", files{"c": "c\n"})
		m, _, err := f.requests.Create(t.Context(), f.stranger, f.Find(f.stranger, f.fork), mergerequest.Input{
			Target: f.id, SourceBranch: "topic", TargetBranch: "main", Title: "From a fork",
		})
		check(t, err)
		report := func(state ci.State) {
			_, _, err := checks.Report(t.Context(), f.stranger, f.Find(f.stranger, f.fork), head, ci.Input{State: state, Name: "test", Ref: "topic"})
			check(t, err)
		}
		report(ci.Pending)
		_, err = f.merge(f.maintainer, m.IID, mergerequest.MergeInput{WhenReady: true})
		check(t, err)
		report(ci.Success)
		f.drain()
		done, err := f.requests.Read(t.Context(), f.maintainer, f.as(f.maintainer), m.IID)
		check(t, err)
		equal(t, "state", done.State, mergerequest.StateMerged)
	})
}

func TestService_PushOptions_autoMerge(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Add c")
		one := []string{"topic"}
		equal(t, "by who may not merge", w.options(w.developer, one, "merge_request.create", "merge_request.auto_merge"),
			"Error encountered with push options 'merge_request.create' 'merge_request.auto_merge': You are not allowed to merge this merge request")
		equal(t, "the request stands", w.read(1).MergeWhenPipelineSucceeds, false)
		equal(t, "set", w.options(w.maintainer, one, "mr.merge_when_pipeline_succeeds"), "")
		m := w.read(1)
		equal(t, "waits", m.MergeWhenPipelineSucceeds, true)
		equal(t, "merge user", *m.MergeUserID, w.maintainer.UserID)
		equal(t, "told", w.last(), "mary enabled at "+m.HeadSHA)

		// The next push is another thing; it may ask for the same.
		w.push("topic", "", files{"c": "d\n"}, "Change c")
		equal(t, "set again", w.options(w.maintainer, one, "merge_request.auto_merge"), "")
		w.drain()
		if !slices.Contains(w.told, " the source branch was updated") {
			t.Errorf("told: %q", w.told)
		}
		equal(t, "waits", w.read(1).MergeWhenPipelineSucceeds, true)
		w.report("topic", ci.Success)
		w.drain()
		equal(t, "state", w.read(1).State, mergerequest.StateMerged)

		w.push("other", w.tip("main"), files{"e": "e\n"}, "Add e")
		equal(t, "a draft", w.options(w.maintainer, []string{"other"}, "merge_request.create", "merge_request.draft", "merge_request.auto_merge"),
			"Error encountered with push options 'merge_request.create' 'merge_request.draft' 'merge_request.auto_merge': "+
				"the merge request is a draft")
	})
}
