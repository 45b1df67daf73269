package repo_test

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// limit says how large the repository may become beyond what it is, in bytes.
func (w *world) limit(more int64) {
	w.T.Helper()
	size, err := w.open().Size(w.T.Context())
	check(w.T, err)
	_, err = w.DB.Exec(w.T.Context(), "UPDATE projects SET repository_size_limit = ? WHERE id = ?", size+more, w.id)
	check(w.T, err)
	check(w.T, w.repos.Measure(w.T.Context(), repo.Measuring{ProjectID: w.id}))
}

// bring makes a commit with a file that does not compress, in a quarantine of its own.
func (w *world) bring(r *gitcmd.Repo, parent gitstore.ObjectID, bytes int) (*gitcmd.Quarantine, gitstore.ObjectID, error) {
	ctx := w.T.Context()
	q, err := r.Quarantine(ctx)
	if err != nil {
		return nil, gitstore.ObjectID{}, err
	}
	content := make([]byte, bytes)
	_, _ = rand.Read(content)
	blob, err := q.WriteBlob(ctx, content)
	if err != nil {
		return q, blob, err
	}
	tree, err := q.BuildTree(ctx, parent, []gitstore.TreeChange{{Path: "large", Mode: gitstore.ModeFile, ID: blob}})
	if err != nil {
		return q, tree, err
	}
	by := gitstore.Signature{Name: "Ann", Email: "ann@example.com", When: w.Now()}
	id, err := q.CommitTree(ctx, gitstore.CommitInput{Tree: tree, Parents: []gitstore.ObjectID{parent}, Author: by, Committer: by, Message: "Large\n"})
	return q, id, err
}

// push pushes the commit of a quarantine to a new branch and returns the refusal.
func (w *world) push(p *project.Project, q *gitcmd.Quarantine, name string, id gitstore.ObjectID) (refusal string, err error) {
	ctx := w.T.Context()
	push, err := w.repos.BeginPush(ctx, w.developer, p)
	if err != nil {
		return "", err
	}
	changes := []repo.RefChange{{Ref: gitstore.RefName(gitstore.Branches + name), New: id}}
	if refusal, err = push.Check(ctx, q.Repo, changes, nil); err != nil || refusal != "" {
		return refusal, err
	}
	if err := q.Commit(ctx); err != nil {
		return "", err
	}
	_, _, err = push.Apply(ctx, changes)
	return "", err
}

// Pushes at the same moment count each other, and those of one moment later: what they
// bring together stays below the limit.
func TestPush_sizeLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		tip := w.put("main", "a", "a\n").ID
		const each = 300 << 10 // which is not held in memory
		w.limit(7 * each / 2)  // three of them, and half a one
		r, p := w.open(), w.as(w.developer)
		var passed atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				q, id, err := w.bring(r, tip, each)
				if err != nil {
					t.Error(err)
					return
				}
				refusal, err := w.push(p, q, fmt.Sprint("large", i), id)
				switch {
				case err != nil:
					t.Error(err)
				case refusal == "":
					passed.Add(1)
				case !strings.Contains(refusal, "(repository_size_limit)") || !strings.Contains(refusal, "over its limit of 1.0 MiB"):
					t.Errorf("refused: %q, want the limit by name and size", refusal)
				}
				if err := q.Discard(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := passed.Load(); n != 3 {
			t.Errorf("%d pushes of 300 KiB went in, want the 3 that there is room for", n)
		}
		// What brings nothing is taken, also by a repository that is full.
		w.limit(-1)
		push, err := w.repos.BeginPush(t.Context(), w.developer, w.as(w.developer))
		check(t, err)
		if refusal, err := push.Check(t.Context(), r, []repo.RefChange{{Ref: "refs/heads/same", New: tip}}, nil); err != nil || refusal != "" {
			t.Errorf("a branch of what is there: %q, %v", refusal, err)
		}
		// Nor does a merge wait for room: it was pushed before.
		q, id, err := w.bring(r, tip, each)
		check(t, err)
		check(t, w.repos.Judge(t.Context(), w.maintainer, w.as(w.maintainer), repo.ByMerge, q.Repo, []repo.RefChange{{Ref: "refs/heads/main", Old: tip, New: id}}))
		check(t, q.Discard())
		// A file by the API is refused with the same words.
		large := strings.Repeat("x", 100)
		_, err = w.repos.Commit(t.Context(), w.owner, w.as(w.owner), repo.CommitInput{
			Branch: "main", Message: "More", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "b", Content: &large}},
		})
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "(repository_size_limit)") {
			t.Errorf("a file by the API: %v, want the limit by name", err)
		}
	})
}

// A push that passed and was given up leaves its room: the repository is measured again
// before it refuses.
func TestPush_sizeLimitMeasured(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		late := time.Duration(0)
		w.deps.Now = func() time.Time { return w.Now().Add(late) }
		w.restart()
		tip := w.put("main", "a", "a\n").ID
		w.limit(150 << 10)
		for i, tt := range []struct {
			late    time.Duration
			refused bool
		}{{0, false}, {0, true}, {2 * time.Minute, false}} {
			late = tt.late
			q, id, err := w.bring(w.open(), tip, 100<<10)
			check(t, err)
			push, err := w.repos.BeginPush(ctx, w.developer, w.as(w.developer))
			check(t, err)
			refusal, err := push.Check(ctx, q.Repo, []repo.RefChange{{Ref: "refs/heads/given-up", New: id}}, nil)
			if err != nil || refusal != "" != tt.refused {
				t.Errorf("push %d: %q, %v, want refused: %v", i, refusal, err, tt.refused)
			}
			check(t, q.Discard())
		}
	})
}

// A process that was killed after a push, before the repository was measured, leaves
// nothing that the next one would not count.
func TestPush_sizeLimitKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		tip := w.put("main", "a", "a\n").ID
		w.limit(150 << 10)
		for i, refused := range []bool{false, true} {
			q, id, err := w.bring(w.open(), tip, 100<<10)
			check(t, err)
			refusal, err := w.push(w.as(w.developer), q, fmt.Sprint("b", i), id)
			if err != nil || refusal != "" != refused {
				t.Errorf("push %d: %q, %v, want refused: %v", i, refusal, err, refused)
			}
			check(t, q.Discard())
			w.restart()
		}
	})
}

// A limit costs a push the same few statements, however much there is.
func TestPush_sizeLimitStatements(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n").ID
		check1 := func(name string) int {
			q, id, err := w.bring(w.open(), tip, 1000)
			check(t, err)
			push, err := w.repos.BeginPush(ctx, w.developer, w.as(w.developer))
			check(t, err)
			n := dbtest.Count(t, w.DB, func() {
				refusal, err := push.Check(ctx, q.Repo, []repo.RefChange{{Ref: gitstore.RefName(gitstore.Branches + name), New: id}}, nil)
				if err != nil || refusal != "" {
					t.Errorf("%s: %q, %v", name, refusal, err)
				}
			})
			check(t, q.Discard())
			return n
		}
		w.limit(1 << 30)
		few := check1("few")
		for i := range 20 {
			o := strings.Repeat(fmt.Sprint(i), 10)
			p := lfs.Pointer{OID: fmt.Sprintf("%x", sha256.Sum256([]byte(o))), Size: int64(len(o))}
			check(t, w.large.Place(ctx, w.developer, w.as(w.developer), p, strings.NewReader(o)))
			w.put("main", fmt.Sprint("f", i), "x\n")
		}
		if many := check1("many"); many != few {
			t.Errorf("a push into a repository with more in it runs %d statements, want %d", many, few)
		}
		_, err := w.DB.Exec(ctx, "UPDATE projects SET repository_size_limit = 0")
		check(t, err)
		if free := check1("free"); few-free != 1 {
			t.Errorf("with a limit it runs %d statements, want one more than the %d without", few, free)
		}
	})
}

// The nearest limit counts: the project's own, that of a group above, the instance's; 0 is
// none.
func TestPush_sizeLimitNearest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n").ID
		const none, small, free = int64(-1), int64(1), int64(0)
		value := func(n int64) any {
			if n == none {
				return nil
			}
			return n
		}
		for i, tt := range []struct {
			name                     string
			instance, group, project int64
			refused                  bool
		}{
			{"no limit", free, none, none, false},
			{"of the instance", small, none, none, true},
			{"the group lets everything through", small, free, none, false},
			{"of the group", free, small, none, true},
			{"the project lets everything through", small, small, free, false},
			{"of the project", free, free, small, true},
		} {
			check(t, w.settings.Set(ctx, "repository_size_limit", tt.instance))
			_, err := w.DB.Exec(ctx, "UPDATE groups SET repository_size_limit = ?", value(tt.group))
			check(t, err)
			_, err = w.DB.Exec(ctx, "UPDATE projects SET repository_size_limit = ?", value(tt.project))
			check(t, err)
			q, id, err := w.bring(w.open(), tip, 1000)
			check(t, err)
			refusal, err := w.push(w.as(w.developer), q, fmt.Sprint("b", i), id)
			if err != nil || refusal != "" != tt.refused {
				t.Errorf("%s: %q, %v, want refused: %v", tt.name, refusal, err, tt.refused)
			}
			check(t, q.Discard())
		}
	})
}
