package mergerequest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/mergerequest"
)

// crash leaves what a server leaves that dies in the middle of a merge: a locked request
// and its lease for the commit.
func (w *world) crash(m *mergerequest.MergeRequest, commit string, mergeCommit bool) {
	w.T.Helper()
	w.exec("UPDATE merge_requests SET state = 'locked' WHERE id = ?", m.ID)
	var merge any
	if mergeCommit {
		merge = commit
	}
	w.exec(`INSERT INTO merge_leases (merge_request_id, user_id, target_old_sha, target_new_sha, merge_commit_sha, squash_commit_sha,
		remove_source, created_at) VALUES (?, ?, ?, ?, ?, NULL, false, ?)`, m.ID, w.maintainer.UserID, w.tip("main"), commit, merge, w.Now())
}

func TestService_Settle(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		made   bool // the commit was kept
		moved  bool // the branch was moved
		pushed bool // and a user pushed since
		want   mergerequest.State
	}{
		{"before the commit was kept", false, false, false, mergerequest.StateOpened},
		{"before the branch moved", true, false, false, mergerequest.StateOpened},
		{"before the branch moved, pushed since", true, false, true, mergerequest.StateOpened},
		{"after the branch moved", true, true, false, mergerequest.StateMerged},
		{"after the branch moved, pushed since", true, true, true, mergerequest.StateMerged},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				m := w.open("topic", files{"c": "c\n"})
				commit := "0123456789012345678901234567890123456789"
				if row.made {
					commit = w.write([]string{w.tip("main"), m.HeadSHA}, files{"c": "c\n"}, "Merge").String()
				}
				w.crash(m, commit, true)
				equal(t, "state while in flight", w.read(m.IID).State, mergerequest.StateLocked)
				merging, err := w.requests.MergingOf(t.Context(), []mergerequest.ID{m.ID, m.ID + 1})
				check(t, err)
				equal(t, "commit in flight", merging[m.ID], commit)
				equal(t, "merges in flight", len(merging), 1)
				if row.moved {
					w.move("main", commit)
				}
				if row.pushed {
					w.push("main", "", files{"later": "x"}, "Later")
				}
				check(t, mergerequest.New(w.deps).Settle(t.Context(), db.At(time.Now())))
				after := w.read(m.IID)
				equal(t, "state", after.State, row.want)
				leases, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_leases")
				check(t, err)
				equal(t, "leases", leases, 0)
				if row.want == mergerequest.StateMerged {
					equal(t, "merge commit", *after.MergeCommitSHA, commit)
					equal(t, "merged by", *after.MergeUserID, w.maintainer.UserID)
					equal(t, "event", w.merged[len(w.merged)-1].By.Username, "mary")
					return
				}
				equal(t, "can be merged", after.Status, mergerequest.CanBeMerged)
				done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
				check(t, err)
				equal(t, "state after another try", done.State, mergerequest.StateMerged)
				check(t, w.requests.Settle(t.Context(), db.At(time.Now())))
				equal(t, "state after settling again", w.read(m.IID).State, mergerequest.StateMerged)
			})
		})
	}
}

// The references of requests are written after their rows.
func TestService_Settle_pinsHeads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		r := w.git()
		equal(t, "head", w.ref("refs/merge-requests/1/head"), m.HeadSHA)
		check(t, r.UpdateRefs(t.Context(), refUpdates("refs/merge-requests/1/head")))
		equal(t, "head after the crash", w.ref("refs/merge-requests/1/head"), "")
		check(t, w.requests.Settle(t.Context(), db.At(time.Now())))
		equal(t, "head after settling", w.ref("refs/merge-requests/1/head"), m.HeadSHA)
	})
}

// A lease that cannot be written leaves nothing locked behind: the merge fails, and the
// next one succeeds.
func TestService_Merge_unheld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		before := w.tip("main")
		w.crash(m, before, false)
		w.exec("UPDATE merge_requests SET state = 'opened' WHERE id = ?", m.ID)
		if _, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{}); !errors.Is(err, db.ErrDuplicate) {
			t.Fatalf("merge beside a lease: got %v, want ErrDuplicate", err)
		}
		equal(t, "main", w.tip("main"), before)
		merged, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "state", merged.State, mergerequest.StateMerged)
	})
}

// A merge whose connection was lost is found by the check of the administrator, and settled by what
// runs every minute.
func TestService_SettleLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		found, err := w.requests.Check(t.Context())
		check(t, err)
		equal(t, "problems before", len(found), 0)
		w.crash(m, w.tip("main"), false)
		w.exec("UPDATE merge_leases SET target_new_sha = ?", "0123456789012345678901234567890123456789")
		found, err = w.requests.Check(t.Context())
		check(t, err)
		if len(found) != 1 || !strings.Contains(found[0], "is locked") {
			t.Errorf("check: got %q, want one locked merge request", found)
		}
		check(t, w.requests.SettleLost(t.Context()))
		equal(t, "state", w.read(m.IID).State, mergerequest.StateOpened)
		found, err = w.requests.Check(t.Context())
		check(t, err)
		equal(t, "problems after", len(found), 0)
	})
}
