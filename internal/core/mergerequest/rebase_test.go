package mergerequest_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/protection"
)

func TestService_Rebase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.tip("main")
		w.push("topic", base, files{"c": "1\n"}, "First")
		w.push("topic", "", files{"d": "1\n"}, "There already")
		w.push("topic", "", files{"c": "2\n"}, "Second")
		m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Add topic"})
		w.push("main", "", files{"d": "1\n", "e": "1\n"}, "Meanwhile")
		w.drain()
		if w.rebasing(m) {
			t.Error("a rebase runs that nobody asked for")
		}
		check(t, w.requests.Rebase(ctx, w.maintainer, w.as(w.maintainer), m.IID, mergerequest.RebaseOptions{}))
		if !w.rebasing(m) {
			t.Error("the rebase does not wait")
		}
		err := w.requests.Rebase(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.RebaseOptions{})
		wantError(t, err, errs.Conflict, "")
		w.drain()
		if w.rebasing(m) {
			t.Error("the rebase has not ended")
		}
		second := w.commit(w.tip("topic"))
		first := w.commit(second.Parents[0].String())
		if first.Parents[0].String() != w.tip("main") || len(first.Parents) != 1 {
			t.Errorf("the branch stands on %v, not on %s: what is there already is to go", first.Parents, w.tip("main"))
		}
		if first.Message != "First" || second.Message != "Second" || second.Author.Name != "Dave" || second.Author.Email != "dave@example.com" {
			t.Errorf("got %q and %q by %v", first.Message, second.Message, second.Author)
		}
		if second.Committer.Name != "Mary" {
			t.Errorf("committed by %v", second.Committer)
		}
		if got := w.file(w.tip("topic"), "c") + w.file(w.tip("topic"), "e"); got != "2\n1\n" {
			t.Errorf("files %q", got)
		}
		if got := w.read(m.IID); got.HeadSHA != w.tip("topic") || got.MergeError != nil || got.CommitsCount != 2 {
			t.Errorf("request at %s, %v, %d commits", got.HeadSHA, got.MergeError, got.CommitsCount)
		}

		// A second one has nothing to do.
		tip := w.tip("topic")
		check(t, w.requests.Rebase(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.RebaseOptions{}))
		w.drain()
		if w.tip("topic") != tip || w.rebasing(m) {
			t.Error("a branch that stands where it should has moved")
		}
	})
}

func TestService_Rebase_conflict(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"a": "theirs\n"})
		w.push("main", "", files{"a": "ours\n"}, "Meanwhile")
		w.drain()
		tip := w.tip("topic")
		check(t, w.requests.Rebase(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.RebaseOptions{}))
		w.drain()
		got := w.read(m.IID)
		if got.MergeError == nil || !strings.HasPrefix(*got.MergeError, "Rebase failed: Rebase locally") || w.tip("topic") != tip || w.rebasing(m) {
			t.Errorf("merge error %v, branch at %s", got.MergeError, w.tip("topic"))
		}
	})
}

func TestService_Rebase_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.open("topic", files{"c": "1\n"})
		w.push("main", "", files{"e": "1\n"}, "Meanwhile")
		w.drain()
		wantError(t, w.requests.Rebase(ctx, w.reporter, w.as(w.reporter), m.IID, mergerequest.RebaseOptions{}), errs.Forbidden, "Cannot push to source branch")
		wantError(t, w.requests.Rebase(ctx, w.guest, w.as(w.guest), m.IID, mergerequest.RebaseOptions{}), errs.NotFound, "")

		// A user who may no longer push when its turn comes has asked in vain.
		tip := w.tip("topic")
		check(t, w.requests.Rebase(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.RebaseOptions{}))
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.developer.UserID)
		w.drain()
		if got := w.read(m.IID); w.tip("topic") != tip || w.rebasing(m) || got.MergeError == nil {
			t.Errorf("a blocked user has moved the branch, or nobody hears that he has not: %v", got.MergeError)
		}

		_, err := w.protections.ProtectBranch(ctx, w.owner, w.as(w.owner), protection.Input{Name: "topic"})
		check(t, err)
		wantError(t, w.requests.Rebase(ctx, w.maintainer, w.as(w.maintainer), m.IID, mergerequest.RebaseOptions{}), errs.Forbidden, "Source branch is protected from force push")
		check(t, w.protections.UnprotectBranch(ctx, w.owner, w.as(w.owner), "topic"))
		w.move("topic", "")
		wantError(t, w.requests.Rebase(ctx, w.maintainer, w.as(w.maintainer), m.IID, mergerequest.RebaseOptions{}), errs.Forbidden, "Source branch does not exist")
	})
}

func (w *world) rebasing(m *mergerequest.MergeRequest) bool {
	w.T.Helper()
	yes, err := w.requests.Rebasing(w.T.Context(), m)
	check(w.T, err)
	return yes
}

func TestFork_rebase(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		ctx := t.Context()
		f.pushFork("topic", files{"c": "c\n"})
		m := f.request("topic", nil)
		onto := f.push("main", "", files{"e": "1\n"}, "Meanwhile")
		f.drain()
		wantError(t, f.requests.Rebase(ctx, f.maintainer, f.as(f.maintainer), m.IID, mergerequest.RebaseOptions{}), errs.Forbidden, "Cannot push to source branch")
		check(t, f.requests.Rebase(ctx, f.stranger, f.as(f.stranger), m.IID, mergerequest.RebaseOptions{}))
		f.drain()
		f.in(func() {
			tip := f.commit(f.tip("topic"))
			if len(tip.Parents) != 1 || tip.Parents[0].String() != onto {
				t.Errorf("the fork's branch stands on %v, not on %s", tip.Parents, onto)
			}
		})
		if got := f.read(m.IID); got.MergeError != nil || got.Status != mergerequest.CanBeMerged {
			t.Errorf("request: %v, %s", got.MergeError, got.Status)
		}
	})
}

// The pipelines of a rebase that asks for none are skipped, that of the branch and that of the merge request; those of another one wait for a runner.
func TestService_Rebase_skipCI(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		w.drain()
		for i, tt := range []struct {
			skip bool
			want string
		}{{true, "skipped"}, {false, "pending"}} {
			tip := w.tip("topic")
			w.push("main", "", files{fmt.Sprint("d", i): "1\n"}, "Meanwhile [skip ci]")
			w.drain()
			check(t, w.requests.Rebase(t.Context(), w.maintainer, w.as(w.maintainer), m.IID, mergerequest.RebaseOptions{SkipCI: tt.skip}))
			w.drain()
			w.drain()
			if w.tip("topic") == tip {
				t.Fatal("the branch was not rebased")
			}
			if got := w.lines(m); !strings.HasPrefix(got, "1/head "+tt.want+", ") || !strings.Contains(got, " | topic "+tt.want+", ") {
				t.Errorf("skip_ci %t: got %s, want the newest %s", tt.skip, got, tt.want)
			}
		}
	})
}
