package mergerequest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

func TestService_Merge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		before := w.tip("main")
		m := w.open("topic", files{"c": "c\n"})
		equal(t, "status after create", m.Status, mergerequest.CanBeMerged)
		equal(t, "head", m.HeadSHA, w.tip("topic"))
		done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "state", done.State, mergerequest.StateMerged)
		equal(t, "merge user", *done.MergeUserID, w.maintainer.UserID)
		tip := w.commit(w.tip("main"))
		equal(t, "merge commit", *done.MergeCommitSHA, tip.ID.String())
		equal(t, "parents", parents(tip), before+" "+m.HeadSHA)
		equal(t, "message", tip.Message, "Merge branch 'topic' into 'main'\n\nAdd topic\n\nSee merge request group/shop!1")
		equal(t, "author", tip.Author.Name+" <"+tip.Author.Email+">", "Mary <mary@example.com>")
		equal(t, "content", w.file(tip.ID.String(), "c"), "c\n")
		if done.SquashCommitSHA != nil || done.MergedAt == nil || done.MergeError != nil {
			t.Errorf("got squash %v, merged at %v, error %v", done.SquashCommitSHA, done.MergedAt, done.MergeError)
		}
		equal(t, "source branch", w.tip("topic"), m.HeadSHA)
		last := w.merged[len(w.merged)-1]
		equal(t, "event", last.MergeCommitSHA, tip.ID.String())
		equal(t, "event by", last.By.UserID, w.maintainer.UserID)
		leases, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_leases")
		check(t, err)
		equal(t, "leases", leases, 0)
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "the merge request is not open")
	})
}

// TestService_Merge_processes merges into a branch that has moved since the last look, where both sides
// changed other entries of the same folders: at most one process lists commits.
func TestService_Merge_processes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		w.push("main", "", files{"d": "d\n"}, "Go on")
		w.commit(w.tip("main")) // the process that reads objects is there
		before := w.gitStarts()
		done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "state", done.State, mergerequest.StateMerged)
		if n := w.gitStarts() - before; n > 1 {
			t.Errorf("%d processes, want at most 1", n)
		}
		check(t, w.git().Fsck(t.Context()))
	})
}

// TestService_Merge_refusals goes through the refusals in the order in which they are checked.
func TestService_Merge_refusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		conflict := w.open("conflict", files{"a": "other\n"})
		draft := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "draft-target", Title: "Draft: x"})
		w.push("draft-target", w.tip("main"), files{"z": "z"}, "Target")
		w.move("empty", w.tip("main"))
		empty := w.create(mergerequest.Input{SourceBranch: "empty", TargetBranch: "main", Title: "Nothing"})
		missing := w.create(mergerequest.Input{SourceBranch: "nowhere", TargetBranch: "main", Title: "Nowhere"})
		closed := w.open("closed", files{"d": "d"})
		_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), closed.IID, mergerequest.Changes{Event: mergerequest.Close})
		check(t, err)
		w.push("main", "", files{"a": "mine\n"}, "Conflict with it")
		tip := w.tip("main")
		for _, row := range []struct {
			name string
			who  authz.Actor
			iid  mergerequest.IID
			in   mergerequest.MergeInput
			kind errs.Kind
			text string
		}{
			{"unknown", w.maintainer, 99, mergerequest.MergeInput{}, errs.NotFound, ""},
			{"guest does not see code", w.guest, m.IID, mergerequest.MergeInput{}, errs.NotFound, ""},
			{"reporter", w.reporter, m.IID, mergerequest.MergeInput{}, errs.Unauthorized, ""},
			{"developer on a protected branch", w.developer, m.IID, mergerequest.MergeInput{}, errs.Unauthorized, ""},
			{"401 before 405", w.developer, closed.IID, mergerequest.MergeInput{}, errs.Unauthorized, ""},
			{"closed", w.maintainer, closed.IID, mergerequest.MergeInput{}, errs.NotAllowed, "not open"},
			{"draft", w.maintainer, draft.IID, mergerequest.MergeInput{}, errs.NotAllowed, "draft"},
			{"no commits", w.maintainer, empty.IID, mergerequest.MergeInput{}, errs.NotAllowed, "no commits"},
			{"no branch", w.maintainer, missing.IID, mergerequest.MergeInput{}, errs.NotAllowed, "does not exist"},
			{"pipeline wanted, none there", w.maintainer, m.IID, mergerequest.MergeInput{WhenReady: true}, errs.NotAllowed, "no pipeline"},
			{"conflict", w.maintainer, conflict.IID, mergerequest.MergeInput{SHA: "beef"}, errs.Unprocessable, "Branch cannot be merged"},
			{"sha", w.maintainer, m.IID, mergerequest.MergeInput{SHA: "beef"}, errs.Conflict, "SHA does not match HEAD of source branch: " + m.HeadSHA},
		} {
			_, err := w.merge(row.who, row.iid, row.in)
			if err == nil || !errs.Is(err, row.kind) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("%s: got %v, want %s %q", row.name, err, row.kind, row.text)
			}
		}
		_, err = w.requests.Merge(t.Context(), authz.Actor{}, w.as(w.owner), m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.Unauthorized, "")
		equal(t, "main", w.tip("main"), tip)
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = true WHERE id = ?", w.id)
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "pipeline must succeed")
		// So may a group that it is in say.
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = false WHERE id = ?", w.id)
		w.exec("UPDATE groups SET only_allow_merge_if_pipeline_succeeds = true")
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "pipeline must succeed")
	})
}

func TestService_Merge_methods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, method      string
		squash            bool
		behind            bool // the target has moved on
		forward           bool // the source contains the target
		wantMerge         bool // a merge commit
		wantSquash        bool
		wantUnprocessable bool
	}{
		{name: "merge, behind", method: project.MergeCommit, behind: true, wantMerge: true},
		{name: "merge, squash", method: project.MergeCommit, squash: true, wantMerge: true, wantSquash: true},
		{name: "merge, squash, behind", method: project.MergeCommit, squash: true, behind: true, wantMerge: true, wantSquash: true},
		{name: "semi-linear", method: project.MergeRebase, wantMerge: true},
		{name: "semi-linear, behind", method: project.MergeRebase, behind: true, wantUnprocessable: true},
		{name: "semi-linear, squash", method: project.MergeRebase, squash: true, wantMerge: true, wantSquash: true},
		{name: "ff", method: project.MergeFF},
		{name: "ff, behind", method: project.MergeFF, behind: true, wantUnprocessable: true},
		{name: "ff, squash", method: project.MergeFF, squash: true, wantSquash: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				w.exec("UPDATE projects SET merge_method = ? WHERE id = ?", row.method, w.id)
				start := w.tip("main")
				w.push("topic", start, files{"c": "1\n"}, "One")
				w.push("topic", "", files{"c": "2\n"}, "Two")
				m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Add c"})
				equal(t, "commits", m.CommitsCount, 2)
				if row.behind {
					w.push("main", "", files{"d": "d\n"}, "Move on")
				}
				before := w.tip("main")
				done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{Squash: row.squash})
				if row.wantUnprocessable {
					wantError(t, err, errs.Unprocessable, "Branch cannot be merged")
					equal(t, "main", w.tip("main"), before)
					after := w.read(m.IID)
					equal(t, "state", after.State, mergerequest.StateOpened)
					if after.MergeError == nil || !strings.HasPrefix(*after.MergeError, "Only fast-forward merge") {
						t.Errorf("merge error: got %v", after.MergeError)
					}
					return
				}
				check(t, err)
				tip := w.commit(w.tip("main"))
				equal(t, "content", w.file(tip.ID.String(), "c"), "2\n")
				theirs := m.HeadSHA
				if row.wantSquash {
					theirs = *done.SquashCommitSHA
					s := w.commit(theirs)
					equal(t, "squash parent", parents(s), start)
					equal(t, "squash message", s.Message, "Add c")
					equal(t, "squash author", s.Author.Name, "Dave")
					equal(t, "squash committer", s.Committer.Name, "Mary")
				} else if done.SquashCommitSHA != nil {
					t.Errorf("squash commit: got %s", *done.SquashCommitSHA)
				}
				if !row.wantMerge {
					equal(t, "main", tip.ID.String(), theirs)
					if done.MergeCommitSHA != nil {
						t.Errorf("merge commit: got %s", *done.MergeCommitSHA)
					}
					return
				}
				equal(t, "parents", parents(tip), before+" "+theirs)
				equal(t, "merge commit", *done.MergeCommitSHA, tip.ID.String())
				if row.behind {
					equal(t, "the target's own", w.file(tip.ID.String(), "d"), "d\n")
				}
			})
		})
	}
}

func TestService_Merge_sourceBranch(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, row := range []struct {
		name      string
		request   *bool
		merge     *bool
		protected bool
		gone      bool
	}{
		{"stays", nil, nil, false, false},
		{"the merge asks", nil, &yes, false, true},
		{"the request asks", &yes, nil, false, true},
		{"the merge forbids", &yes, &no, false, false},
		{"protected", nil, &yes, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				w.push("topic", w.tip("main"), files{"c": "c\n"}, "One")
				m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "x", RemoveSource: row.request})
				if row.protected {
					w.Insert("protected_branches", map[string]any{"project_id": w.id, "name": "top*"})
				}
				done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{RemoveSource: row.merge})
				check(t, err)
				equal(t, "state", done.State, mergerequest.StateMerged)
				equal(t, "branch gone", w.tip("topic") == "", row.gone)
				w.drain()
				equal(t, "state after the push was followed", w.read(m.IID).State, mergerequest.StateMerged)
			})
		})
	}
}

func TestService_Merge_messages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.exec("UPDATE projects SET autoclose_referenced_issues = true WHERE id = ?", w.id)
		for iid := 1; iid <= 3; iid++ {
			w.Insert("issues", map[string]any{"iid": iid, "project_id": w.id, "author_id": w.owner.UserID, "state": "opened", "issue_type": "issue"})
		}
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Begin\n\nCloses #2 and #9")
		text := "Fixes #1, #3"
		m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Shop", Description: &text})
		_, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "message", w.commit(w.tip("main")).Message,
			"Merge branch 'topic' into 'main'\n\nShop\n\nCloses #1, #2, and #3\n\nSee merge request group/shop!1")
		got := w.merged[len(w.merged)-1].ClosesIssues
		if len(got) != 3 || got[0].IID != 1 || got[1].IID != 2 || got[2].IID != 3 {
			t.Errorf("issues to close: got %v, want [1 2 3]", got)
		}

		w.exec("UPDATE projects SET merge_commit_template = ? WHERE id = ?", "%{title} by %{merge_request_author}\n\n%{issues}\n%{first_commit}\n%{unknown}", w.id)
		m = w.open("other", files{"d": "d\n"})
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "from the template", w.commit(w.tip("main")).Message, "Add other by Dave <dave@example.com>\n\nChange other\n%{unknown}")

		m = w.open("third", files{"e": "e\n"})
		w.push("third", "", files{"e": "f\n"}, "More")
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{MergeMessage: "mine", SquashMessage: "squashed", Squash: true})
		check(t, err)
		tip := w.commit(w.tip("main"))
		equal(t, "own message", tip.Message, "mine")
		equal(t, "own squash message", w.commit(tip.Parents[1].String()).Message, "squashed")

		w.exec("UPDATE projects SET squash_commit_template = ? WHERE id = ?", "%{title} (%{local_reference}, %{source_project_id})\n\n%{all_commits}\n%{issues}\n%{merged_by}", w.id)
		m = w.open("fourth", files{"f": "f\n"})
		w.push("fourth", "", files{"f": "g\n"}, "More")
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{Squash: true})
		check(t, err)
		equal(t, "squash message from the template", w.commit(w.commit(w.tip("main")).Parents[1].String()).Message,
			fmt.Sprintf("Add fourth (!%d, %d)\n\n* Change fourth\n\n* More\nMary <mary@example.com>", m.IID, w.id))
	})
}

// Fifty merges of one request at once: one merges, the others are refused.
func TestService_Merge_twice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		before := w.tip("main")
		results := make([]error, 50)
		var wait sync.WaitGroup
		for i := range results {
			p := w.as(w.maintainer)
			wait.Go(func() {
				_, results[i] = w.requests.Merge(t.Context(), w.maintainer, p, m.IID, mergerequest.MergeInput{})
			})
		}
		wait.Wait()
		done := 0
		for _, err := range results {
			if err == nil {
				done++
			} else if !errs.Is(err, errs.NotAllowed) {
				t.Errorf("got %v, want 405", err)
			}
		}
		equal(t, "merges", done, 1)
		equal(t, "first parent of main", w.commit(w.tip("main")).Parents[0].String(), before)
	})
}

// Many requests merged into one branch at once all arrive.
func TestService_Merge_parallel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		names := []string{"k", "l", "m", "n", "o", "q"}
		var iids []mergerequest.IID
		for _, name := range names {
			iids = append(iids, w.open(name, files{name: name}).IID)
		}
		var wait sync.WaitGroup
		results := make([]error, len(iids))
		for i, iid := range iids {
			p := w.as(w.maintainer)
			wait.Go(func() {
				_, results[i] = w.requests.Merge(t.Context(), w.maintainer, p, iid, mergerequest.MergeInput{})
			})
		}
		wait.Wait()
		for i, err := range results {
			if err != nil {
				t.Fatalf("merge of %s: %v", names[i], err)
			}
			equal(t, names[i], w.file(w.tip("main"), names[i]), names[i])
		}
	})
}
