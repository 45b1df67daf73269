package mergerequest_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// checked is a world with another system that reports checks, and what it hears of
// automatic merges.
type checked struct {
	*world
	mu   sync.Mutex
	told []string // one line for each event
}

func eachChecked(t *testing.T, fn func(t *testing.T, w *checked)) {
	t.Helper()
	each(t, func(t *testing.T, w *world) {
		c := &checked{world: w}
		event.On(w.Bus, "automatic merges", func(ctx context.Context, e ci.PipelineChanged) error {
			return w.requests.OnPipeline(ctx, e.Row().ProjectID, e.Row().Ref, e.Row().State)
		})
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.AutoMergeEnabled) error {
			return c.hear(e.Fact, "enabled at "+e.SHA)
		})
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.AutoMergeCanceled) error {
			return c.hear(e.Fact, "canceled")
		})
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.AutoMergeAborted) error {
			return c.hear(e.Fact, e.Reason)
		})
		fn(t, c)
	})
}

func (c *checked) hear(f mergerequest.Fact, what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, f.By.Username+" "+what)
	return nil
}

// last is the latest event of an automatic merge.
func (c *checked) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.told) == 0 {
		return ""
	}
	return c.told[len(c.told)-1]
}

// report says how the checks of a branch's tip stand.
func (c *checked) report(branch string, state ci.State) {
	c.T.Helper()
	_, _, err := c.checks.Report(c.T.Context(), c.developer, c.as(c.developer), c.tip(branch), ci.Input{State: state, Name: "test", Ref: branch})
	check(c.T, err)
}

// waiting opens a request whose checks run and has mary set it to merge.
func (c *checked) waiting(branch string, in mergerequest.MergeInput) *mergerequest.MergeRequest {
	c.T.Helper()
	m := c.open(branch, files{branch: "x\n"})
	c.report(branch, ci.Running)
	in.WhenReady = true
	out, err := c.merge(c.maintainer, m.IID, in)
	check(c.T, err)
	equal(c.T, "state of "+branch, out.State, mergerequest.StateOpened)
	equal(c.T, branch+" waits", out.MergeWhenPipelineSucceeds, true)
	return out
}

func TestService_Merge_whenPipelineSucceeds(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		yes := true
		before := w.tip("main")
		m := w.waiting("topic", mergerequest.MergeInput{
			SHA: w.tip("topic"), MergeMessage: "By itself", SquashMessage: "All in one", Squash: true, RemoveSource: &yes,
		})
		equal(t, "merge user", *m.MergeUserID, w.maintainer.UserID)
		equal(t, "detailed status", m.DetailedStatus(w.as(w.owner)), "ci_still_running")
		equal(t, "removes source", *m.ShouldRemoveSource, true)
		equal(t, "told", w.last(), "mary enabled at "+m.HeadSHA)
		w.drain()
		equal(t, "main while the checks run", w.tip("main"), before)
		page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{})
		check(t, err)
		equal(t, "detailed status in a list", page.Items[0].DetailedStatus(w.as(w.owner)), "ci_still_running")

		// A failure changes nothing: the checks may run again.
		w.report("topic", ci.Failed)
		w.drain()
		equal(t, "waits after a failure", w.read(m.IID).MergeWhenPipelineSucceeds, true)
		w.report("topic", ci.Success)
		w.drain()
		done := w.read(m.IID)
		equal(t, "state", done.State, mergerequest.StateMerged)
		equal(t, "waits after the merge", done.MergeWhenPipelineSucceeds, false)
		equal(t, "merged by", *done.MergeUserID, w.maintainer.UserID)
		equal(t, "source branch", w.tip("topic"), "")
		tip := w.commit(w.tip("main"))
		equal(t, "message", tip.Message, "By itself")
		equal(t, "committer", tip.Committer.Name, "Mary")
		equal(t, "squash message", w.commit(*done.SquashCommitSHA).Message, "All in one")
		equal(t, "merged events by", w.merged[len(w.merged)-1].By.UserID, w.maintainer.UserID)
		kept, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_requests WHERE auto_merge_sha IS NOT NULL OR auto_merge_message IS NOT NULL")
		check(t, err)
		equal(t, "plans kept", kept, 0)

		// With checks that have succeeded the merge is done at once, with failed ones not at all.
		next := w.open("next", files{"next": "x\n"})
		w.report("next", ci.Failed)
		_, err = w.merge(w.maintainer, next.IID, mergerequest.MergeInput{WhenReady: true})
		wantError(t, err, errs.NotAllowed, "the pipeline must succeed")
		w.report("next", ci.Success)
		done, err = w.merge(w.maintainer, next.IID, mergerequest.MergeInput{WhenReady: true})
		check(t, err)
		equal(t, "state", done.State, mergerequest.StateMerged)
	})
}

// What is not fit to be merged is refused when it is set to merge, as if it were merged.
func TestService_Merge_whenPipelineSucceeds_refusals(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		m := w.open("topic", files{"c": "c\n"})
		conflict := w.open("conflict", files{"a": "other\n"})
		w.push("draft", w.tip("main"), files{"d": "d\n"}, "Change")
		draft := w.create(mergerequest.Input{SourceBranch: "draft", TargetBranch: "main", Title: "Draft: x"})
		w.push("main", "", files{"a": "mine\n"}, "Conflict with it")
		for _, b := range []string{"topic", "conflict", "draft"} {
			w.report(b, ci.Running)
		}
		for _, row := range []struct {
			name string
			who  authz.Actor
			iid  mergerequest.IID
			sha  string
			kind errs.Kind
			text string
		}{
			{"reporter", w.reporter, m.IID, "", errs.Unauthorized, ""},
			{"developer on a protected branch", w.developer, m.IID, "", errs.Unauthorized, ""},
			{"draft", w.maintainer, draft.IID, "", errs.NotAllowed, "draft"},
			{"conflict", w.maintainer, conflict.IID, "beef", errs.Unprocessable, "Branch cannot be merged"},
			{"sha", w.maintainer, m.IID, "beef", errs.Conflict, "SHA does not match HEAD of source branch"},
		} {
			_, err := w.merge(row.who, row.iid, mergerequest.MergeInput{WhenReady: true, SHA: row.sha})
			if err == nil || !errs.Is(err, row.kind) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("%s: got %v, want %s %q", row.name, err, row.kind, row.text)
			}
		}
		equal(t, "told", w.last(), "")
	})
}

// Everything that the one who set it may have lost since is asked for again.
func TestService_Merge_whenPipelineSucceeds_looksAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		before func(w *checked) // the checks succeed
		told   string
	}{
		{"demoted", func(w *checked) {
			w.exec("UPDATE members SET access_level = 30 WHERE user_id = ?", w.maintainer.UserID)
		}, "the user who enabled it may no longer merge"},
		{"removed", func(w *checked) {
			w.exec("DELETE FROM members WHERE user_id = ?", w.maintainer.UserID)
		}, "the user who enabled it may no longer merge"},
		{"blocked", func(w *checked) {
			w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		}, "the user who enabled it may no longer merge"},
		{"made an administrator without asking for it", func(w *checked) {
			w.exec("UPDATE users SET admin = ? WHERE id = ?", true, w.maintainer.UserID)
			w.exec("DELETE FROM members WHERE user_id = ?", w.maintainer.UserID)
		}, "the user who enabled it may no longer merge"},
		{"branch protected from everybody", func(w *checked) {
			w.exec("UPDATE protected_branch_levels SET access_level = 0")
		}, "the user who enabled it may no longer merge"},
		{"archived", func(w *checked) {
			w.exec("UPDATE projects SET archived = ? WHERE id = ?", true, w.id)
		}, "the user who enabled it may no longer merge"},
		{"in conflict", func(w *checked) {
			w.push("main", "", files{"topic": "another\n"}, "Conflict with it")
		}, "the branch cannot be merged"},
		{"source branch gone", func(w *checked) {
			// Without the push that would close the request.
			check(w.T, w.git().UpdateRefs(w.T.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/topic", AnyOld: true}}))
		}, "the source or target branch does not exist"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachChecked(t, func(t *testing.T, w *checked) {
				m := w.waiting("topic", mergerequest.MergeInput{})
				head := w.tip("topic")
				row.before(w)
				before := w.tip("main")
				_, err := w.DB.Exec(t.Context(), "UPDATE pipelines SET status = 'success' WHERE sha = ?", head)
				check(t, err)
				check(t, w.requests.OnPipeline(t.Context(), w.id, "topic", ci.Success))
				w.drain()
				equal(t, "main", w.tip("main"), before)
				if got := w.last(); !strings.HasSuffix(got, row.told) {
					t.Errorf("told: got %q, want %q", got, row.told)
				}
				waits, err := db.Get[bool](t.Context(), w.DB, "SELECT merge_when_pipeline_succeeds FROM merge_requests WHERE id = ?", m.ID)
				check(t, err)
				equal(t, "waits", waits, false)
			})
		})
	}
}

// What happens to the request takes the wish back, and says so in the name of who did it.
func TestService_Merge_whenPipelineSucceeds_aborted(t *testing.T) {
	t.Parallel()
	title := "Draft: Add topic"
	target := "stable"
	for _, row := range []struct {
		name    string
		changes mergerequest.Changes
		do      func(w *checked)
		told    string
		state   mergerequest.State
	}{
		{name: "pushed", do: func(w *checked) { w.push("topic", "", files{"topic": "y\n"}, "More") }, told: "dave the source branch was updated"},
		{name: "pushed and read before the job has run", do: func(w *checked) {
			w.push("topic", "", files{"topic": "y\n"}, "More")
			equal(w.T, "waits when read at once", w.read(1).MergeWhenPipelineSucceeds, false)
		}, told: " the source branch was updated"},
		{name: "closed", changes: mergerequest.Changes{Event: mergerequest.Close}, told: "dave the merge request was closed", state: mergerequest.StateClosed},
		{name: "drafted", changes: mergerequest.Changes{Title: &title}, told: "dave the merge request was marked as draft"},
		{name: "redirected", changes: mergerequest.Changes{TargetBranch: &target}, told: "dave the target branch was changed"},
		{name: "overtaken", do: func(w *checked) {
			w.exec("UPDATE projects SET merge_method = ? WHERE id = ?", project.MergeFF, w.id)
			w.push("main", "", files{"later": "x\n"}, "Go on")
		}, told: "dave the target branch was updated"},
		{name: "user deleted", do: func(w *checked) {
			e := account.Estate{Departure: account.Departure{UserID: w.maintainer.UserID, By: w.owner.UserID}, Ghost: w.owner.UserID}
			for {
				more, err := w.requests.Depart(w.T.Context(), e)
				check(w.T, err)
				if !more {
					return
				}
			}
		}, told: " the user who enabled it was deleted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachChecked(t, func(t *testing.T, w *checked) {
				w.move("stable", w.tip("main"))
				m := w.waiting("topic", mergerequest.MergeInput{MergeMessage: "mine"})
				if row.do != nil {
					row.do(w)
				} else {
					_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, row.changes)
					check(t, err)
				}
				w.drain()
				equal(t, "told", w.last(), row.told)
				now := w.read(m.IID)
				equal(t, "waits", now.MergeWhenPipelineSucceeds, false)
				equal(t, "merge user kept", now.MergeUserID != nil, false)
				if row.state == "" {
					row.state = mergerequest.StateOpened
				}
				equal(t, "state", now.State, row.state)
				w.report("topic", ci.Success)
				w.drain()
				equal(t, "state after the checks", w.read(m.IID).State, row.state)
			})
		})
	}
}

// A branch that is pushed over to the very commit the wish was about keeps it; a merge that
// needs no fast-forward does not mind that its target moves.
func TestService_Merge_whenPipelineSucceeds_staysSet(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		m := w.waiting("topic", mergerequest.MergeInput{})
		text := "Other text"
		_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Description: &text})
		check(t, err)
		w.push("main", "", files{"later": "x\n"}, "Go on")
		w.drain()
		equal(t, "waits", w.read(m.IID).MergeWhenPipelineSucceeds, true)
		// Set once more by another user: it is merged as that one wants.
		_, err = w.merge(w.owner, m.IID, mergerequest.MergeInput{WhenReady: true, MergeMessage: "As Olga says"})
		check(t, err)
		equal(t, "events", len(w.told), 1)
		w.report("topic", ci.Success)
		w.drain()
		equal(t, "merged by", *w.read(m.IID).MergeUserID, w.owner.UserID)
		equal(t, "message", w.commit(w.tip("main")).Message, "As Olga says")
	})
}

// A wish that is written while the success is being reported is not forgotten: the transaction that
// commits second finds the other.
func TestService_Merge_whenPipelineSucceeds_atOnce(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		var names []string
		for _, name := range []string{"k", "l", "m", "n"} {
			w.open(name, files{name: name})
			w.report(name, ci.Running)
			names = append(names, name)
		}
		var wait sync.WaitGroup
		for i, name := range names {
			iid, p, d := mergerequest.IID(i+1), w.as(w.maintainer), w.as(w.developer)
			tip := w.tip(name)
			wait.Go(func() {
				_, err := w.requests.Merge(t.Context(), w.maintainer, p, iid, mergerequest.MergeInput{WhenReady: true})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			for range 2 { // two systems, and one of them twice
				wait.Go(func() {
					_, _, err := w.checks.Report(t.Context(), w.developer, d, tip, ci.Input{State: ci.Success, Name: "test", Ref: name})
					if err != nil {
						t.Errorf("report %s: %v", name, err)
					}
				})
			}
		}
		wait.Wait()
		w.drain()
		for i, name := range names {
			equal(t, name, w.read(mergerequest.IID(i+1)).State, mergerequest.StateMerged)
			equal(t, "content of "+name, w.file(w.tip("main"), name), name)
		}
		line := w.commit(w.tip("main"))
		merges := 0
		for len(line.Parents) == 2 {
			merges++
			line = w.commit(line.Parents[0].String())
		}
		equal(t, "merge commits", merges, len(names))
	})
}
