package mergerequest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/repo"
)

// ref returns what a reference names, "" where there is none.
func (w *world) ref(name gitstore.RefName) string {
	w.T.Helper()
	id, err := w.git().Ref(w.T.Context(), name)
	if errors.Is(err, gitstore.ErrNotFound) {
		return ""
	}
	check(w.T, err)
	return id.String()
}

func refUpdates(gone gitstore.RefName) []gitstore.RefUpdate {
	return []gitstore.RefUpdate{{Ref: gone, AnyOld: true}}
}

func (w *world) versions(iid mergerequest.IID) []mergerequest.Version {
	w.T.Helper()
	list, err := w.requests.Versions(w.T.Context(), w.reporter, w.as(w.reporter), iid, page.Range{})
	check(w.T, err)
	return list.Items
}

func TestService_Versions(t *testing.T) {
	t.Parallel()
	for _, byJob := range []bool{true, false} {
		t.Run(fmt.Sprintf("by job %t", byJob), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				start := w.tip("main")
				m := w.open("topic", files{"c": "c\n", "d": "d\n"})
				list := w.versions(m.IID)
				equal(t, "versions", len(list), 1)
				equal(t, "base", list[0].BaseSHA, start)
				equal(t, "start", list[0].StartSHA, start)
				equal(t, "head", list[0].HeadSHA, m.HeadSHA)
				equal(t, "files", list[0].ChangesCount, 2)
				equal(t, "commits", list[0].CommitsCount, 1)

				w.push("main", "", files{"e": "e\n"}, "Target")
				second := w.push("topic", "", files{"c": "cc\n"}, "Second")
				if byJob {
					w.drain()
					equal(t, "pinned by the job", w.ref("refs/merge-requests/1/head"), second)
				}
				after := w.read(m.IID)
				equal(t, "head of the request", after.HeadSHA, second)
				equal(t, "status", after.Status, mergerequest.CanBeMerged)
				equal(t, "pinned", w.ref("refs/merge-requests/1/head"), second)
				list = w.versions(m.IID)
				equal(t, "versions", len(list), 2)
				equal(t, "newest head", list[0].HeadSHA, second)
				equal(t, "newest start", list[0].StartSHA, w.tip("main"))
				equal(t, "newest base", list[0].BaseSHA, start)
				equal(t, "commits", after.CommitsCount, 2)
			})
		})
	}
}

// What a force push takes off its branch stays for the versions that show it.
func TestService_Versions_forced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		first := m.HeadSHA
		w.push("topic", "", files{"c": "cc\n"}, "On top")
		second := w.read(m.IID).HeadSHA
		equal(t, "kept of what is still in the branch", w.ref(gitstore.RefName("refs/keep-around/"+first)), "")
		w.move("topic", w.tip("main"))
		w.push("topic", "", files{"d": "d\n"}, "Anew")
		w.read(m.IID)
		equal(t, "kept of what was forced away", w.ref(gitstore.RefName("refs/keep-around/"+second)), second)
		check(t, w.git().Maintain(t.Context(), gitcmd.Maintenance{Full: true, Grace: time.Nanosecond}))
		for _, v := range w.versions(m.IID) {
			if _, err := w.requests.Diff(t.Context(), w.reporter, w.as(w.reporter), m, &v); err != nil {
				t.Errorf("the version at %s: %v", v.HeadSHA, err)
			}
		}
		wrong := func() []repo.Problem {
			found, err := w.repos.Check(t.Context(), repo.CheckOptions{Project: w.id}, func(int, int, string) {})
			check(t, err)
			return found
		}
		equal(t, "problems", len(wrong()), 0)
		gone := strings.Repeat("01", 20)
		w.exec("UPDATE merge_request_versions SET head_sha = ? WHERE head_sha = ?", gone, first)
		if found := wrong(); len(found) != 1 || found[0].Text != "a merge request shows the commit "+gone+", which is not there" {
			t.Errorf("the check found %v", found)
		}
	})
}

// A request may come before its branches.
func TestService_Create_withoutBranches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "next", Title: "Early"})
		equal(t, "head", m.HeadSHA, "")
		equal(t, "status", m.Status, mergerequest.CannotBeMerged)
		head := w.push("topic", w.tip("main"), files{"c": "c\n"}, "One")
		after := w.read(m.IID)
		equal(t, "head", after.HeadSHA, head)
		equal(t, "base", after.BaseSHA, "")
		equal(t, "versions without a target", len(w.versions(m.IID)), 0)
		w.move("next", w.tip("main"))
		after = w.read(m.IID)
		equal(t, "status", after.Status, mergerequest.CanBeMerged)
		equal(t, "commits", after.CommitsCount, 1)
		equal(t, "versions", len(w.versions(m.IID)), 1)

		w.move("topic", "")
		after = w.read(m.IID)
		equal(t, "status without the source", after.Status, mergerequest.CannotBeMerged)
		equal(t, "head without the source", after.HeadSHA, head)
		w.move("topic", head)
		equal(t, "status with the source again", w.read(m.IID).Status, mergerequest.CanBeMerged)
	})
}

// A push to the target makes every request unchecked at once; the job tries all of them.
func TestService_trials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"k", "l", "m", "n"} {
			w.open(name, files{name: name})
		}
		w.open("conflict", files{"a": "theirs\n"})
		w.move("empty", w.tip("main"))
		w.create(mergerequest.Input{SourceBranch: "empty", TargetBranch: "main", Title: "Nothing"})
		list := func() (out []mergerequest.MergeStatus) {
			page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{Asc: true})
			check(t, err)
			for _, m := range page.Items {
				out = append(out, m.Status)
			}
			return out
		}
		equal(t, "before", fmt.Sprint(list()), "[can_be_merged can_be_merged can_be_merged can_be_merged can_be_merged cannot_be_merged]")
		w.push("main", "", files{"a": "ours\n"}, "Mine")
		equal(t, "after the push", fmt.Sprint(list()), "[unchecked unchecked unchecked unchecked unchecked cannot_be_merged_recheck]")
		before := w.gitStarts()
		w.drain()
		if n := w.gitStarts() - before; n > 4 {
			t.Errorf("the job started %d processes for six requests", n)
		}
		equal(t, "after the job", fmt.Sprint(list()), "[can_be_merged can_be_merged can_be_merged can_be_merged cannot_be_merged cannot_be_merged]")
		w.push("main", "", files{"a": "again\n"}, "Mine again")
		equal(t, "after another push", fmt.Sprint(list()), "[unchecked unchecked unchecked unchecked cannot_be_merged_recheck cannot_be_merged_recheck]")
		equal(t, "read alone", w.read(5).Status, mergerequest.CannotBeMerged)
		equal(t, "read alone", w.read(1).Status, mergerequest.CanBeMerged)
	})
}

// The trial merges of many requests take as many statements and processes as those of a few, and
// a request that got into conflict is told.
func TestService_trials_many(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		const few, many = 6, 36
		for i := range few {
			w.open(fmt.Sprintf("b%d", i), files{fmt.Sprintf("d%d/f", i%4): "x"})
		}
		w.open("conflict", files{"a": "theirs\n"})
		cost := func(text string) (statements uint64, processes int64) {
			w.push("main", "", files{"a": text, "d1/" + text: text}, "Mine")
			s, p := w.DB.Statements(), w.gitStarts()
			check(t, w.requests.Retry(t.Context(), w.id, "main"))
			return w.DB.Statements() - s, w.gitStarts() - p
		}
		told := map[mergerequest.ID]bool{}
		event.On(w.Bus, "conflicts", func(_ context.Context, e mergerequest.Unmergeable) error {
			told[e.Row().ID] = true
			return nil
		})
		cost("ours")
		equal(t, "conflicts told", len(told), 1)
		clear(told)
		one, _ := cost("again")
		for i := few; i < many; i++ {
			w.open(fmt.Sprintf("b%d", i), files{fmt.Sprintf("d%d/f%d", i%4, i): "x"})
		}
		all, processes := cost("more")
		if all != one || one > 6 {
			t.Errorf("statements: got %d for %d requests and %d for %d, want the same, 6 at most", one, few, all, many)
		}
		if processes > 2 { // the conflict needs a merge
			t.Errorf("%d processes for %d requests, want 2 at most", processes, many)
		}
		page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{Range: page.Range{Limit: 100}})
		check(t, err)
		found := map[mergerequest.MergeStatus]int{}
		for _, m := range page.Items {
			found[m.Status]++
		}
		equal(t, "results", fmt.Sprint(found), fmt.Sprintf("map[can_be_merged:%d cannot_be_merged:1]", many))
		equal(t, "conflicts told again", len(told), 0)
	})
}

// A request whose commits a user pushed to the target is merged.
func TestService_mergedByHand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		merged, forward, stays := w.open("merged", files{"c": "c"}), w.open("forward", files{"d": "d"}), w.open("stays", files{"e": "e"})
		w.move("empty", w.tip("main"))
		empty := w.create(mergerequest.Input{SourceBranch: "empty", TargetBranch: "main", Title: "Nothing"})
		w.move("main", forward.HeadSHA)
		commit := w.write([]string{w.tip("main"), merged.HeadSHA}, files{"c": "c"}, "By hand").String()
		w.move("main", commit)
		w.push("main", "", files{"f": "f"}, "Later")
		w.drain()
		equal(t, "merged", w.read(merged.IID).State, mergerequest.StateMerged)
		equal(t, "merge commit", *w.read(merged.IID).MergeCommitSHA, commit)
		equal(t, "merged by", *w.read(merged.IID).MergeUserID, w.developer.UserID)
		equal(t, "fast-forwarded", w.read(forward.IID).State, mergerequest.StateMerged)
		equal(t, "what brought it", *w.read(forward.IID).MergeCommitSHA, forward.HeadSHA)
		equal(t, "not merged", w.read(stays.IID).State, mergerequest.StateOpened)
		equal(t, "empty", w.read(empty.IID).State, mergerequest.StateOpened)
	})
}

func TestService_MergeRef(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		conflict := w.open("conflict", files{"a": "theirs\n"})
		ref := func(iid mergerequest.IID) (string, error) {
			id, err := w.requests.MergeRef(t.Context(), w.reporter, w.as(w.reporter), iid)
			return id.String(), err
		}
		first, err := ref(m.IID)
		check(t, err)
		equal(t, "parents", parents(w.commit(first)), w.tip("main")+" "+m.HeadSHA)
		equal(t, "reference", w.ref("refs/merge-requests/1/merge"), first)
		again, err := ref(m.IID)
		check(t, err)
		equal(t, "kept", again, first)
		w.push("main", "", files{"a": "ours\n"}, "Mine")
		next, err := ref(m.IID)
		check(t, err)
		equal(t, "parents", parents(w.commit(next)), w.tip("main")+" "+m.HeadSHA)
		_, err = ref(conflict.IID)
		wantError(t, err, errs.Invalid, "Merge request is not mergeable")
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		_, err = ref(m.IID)
		wantError(t, err, errs.Invalid, "Merge request is not mergeable")
	})
}
