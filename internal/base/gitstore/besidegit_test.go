package gitstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// move is one change of a reference that its maker was told had happened.
type move struct {
	by       string
	old, new gitstore.ObjectID // zero where there was, or is, no reference
	at       time.Time         // when it was told
	with     int               // references in the same transaction
}

// journal is what happened to each reference.
type journal struct {
	mu    sync.Mutex
	moves map[gitstore.RefName][]move
}

func (j *journal) add(by string, updates []gitstore.RefUpdate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, u := range updates {
		j.moves[u.Ref] = append(j.moves[u.Ref], move{by, u.Old, u.New, time.Now(), len(updates)})
	}
}

// check says what is wrong with the moves of one reference, which now holds end: every value
// was given once, so the moves are one chain from nothing to end unless one of them was lost,
// came twice or came back.
func (j *journal) check(name gitstore.RefName, end gitstore.ObjectID) error {
	came, went := map[gitstore.ObjectID]string{}, map[gitstore.ObjectID]string{}
	for _, m := range j.moves[name] {
		if by, again := went[m.old]; again && !m.old.IsZero() {
			return fmt.Errorf("%s was taken away by %s and by %s", m.old.Short(), by, m.by)
		}
		came[m.new], went[m.old] = m.by, m.by
	}
	for value, by := range came {
		if _, gone := went[value]; !gone && value != end && !value.IsZero() {
			return fmt.Errorf("%s, which %s set, is lost: the reference holds %s", value.Short(), by, end.Short())
		}
	}
	if by, gone := went[end]; gone && !end.IsZero() {
		return fmt.Errorf("%s came back after %s took it away", end.Short(), by)
	}
	for value, by := range went {
		if _, set := came[value]; !set && !value.IsZero() {
			return fmt.Errorf("%s, which %s took away, was never set", value.Short(), by)
		}
	}
	return nil
}

// commits returns this many commits that nothing has named yet.
func commits(t *testing.T, r *gitcmd.Repo, n int) (next func() gitstore.ObjectID) {
	t.Helper()
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "commit refs/keep/all\nmark :%d\ncommitter C <c@x> %d +0000\ndata 1\nx\nM 644 inline f\ndata %d\n%0*d\n", i+1, 1700000000+i, 6, 6, i)
	}
	gittest.RunIn(t, r.Path(), in.String(), "fast-import", "--quiet", "--export-marks=marks")
	ids := strings.Fields(gittest.Run(t, r.Path(), "rev-list", "--reverse", "refs/keep/all"))
	var used atomic.Int64
	return func() gitstore.ObjectID {
		id, err := gitstore.ParseObjectID(ids[used.Add(1)-1])
		if err != nil {
			panic(err) // git has printed it
		}
		return id
	}
}

// TestRepo_UpdateRefs_besideGit lets the server and git work on one repository at the same time: both
// make, move and delete the same references, one at a time and many at once, among them names
// that exclude each other; git packs references, collects garbage and fetches. Each change
// names the value that it replaces and sets one that was never there before. No change that
// was told to have happened may be lost, no value may come back, a reference that is never
// deleted may never be absent, and in the end both must read the same.
func TestRepo_UpdateRefs_besideGit(t *testing.T) {
	t.Parallel()
	const rounds = 80
	ctx, r := t.Context(), gittest.NewRepo(t, gittest.New(t))
	next := commits(t, r, 40*rounds)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	var shared, stable []gitstore.RefName // stable ones are never deleted
	for _, name := range []string{"heads/a", "heads/b", "heads/dir", "heads/dir/x", "heads/dir/x/y", "heads/deep/er/z", "tags/v1", "notes/commits"} {
		shared = append(shared, gitstore.RefName("refs/"+name))
	}
	for i := range 6 {
		stable = append(stable, gitstore.RefName(fmt.Sprintf("refs/heads/stable/%d", i)))
	}
	many := make([]gitstore.RefName, 40)
	for i := range many {
		many[i] = gitstore.RefName(fmt.Sprintf("refs/heads/many/%d", i))
	}
	j := &journal{moves: map[gitstore.RefName][]move{}}
	for _, name := range stable {
		first := []gitstore.RefUpdate{{Ref: name, New: next()}}
		if err := r.UpdateRefs(ctx, first); err != nil {
			t.Fatal(err)
		}
		j.add("the test", first)
	}

	// plan chooses what to change, with the values that the references have now.
	plan := func(d *rand.Rand) []gitstore.RefUpdate {
		names := []gitstore.RefName{shared[d.IntN(len(shared))]}
		switch d.IntN(6) {
		case 0:
			names = many[:10+d.IntN(30)]
		case 1, 2:
			names = []gitstore.RefName{stable[d.IntN(len(stable))]}
		case 3:
			names = append(names, stable[d.IntN(len(stable))])
		}
		remove := d.IntN(4) == 0
		var out []gitstore.RefUpdate
		for _, name := range names {
			old, err := r.Ref(ctx, name)
			if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
				t.Errorf("read %s: %v", name, err)
				return nil
			}
			if old.IsZero() && slices.Contains(stable, name) {
				t.Errorf("%s is absent, though it was never deleted", name)
				return nil
			}
			u := gitstore.RefUpdate{Ref: name, Old: old}
			if !remove || slices.Contains(stable, name) {
				u.New = next()
			} else if old.IsZero() {
				continue
			}
			out = append(out, u)
		}
		return out
	}

	var work, beside sync.WaitGroup
	var ours, theirs, gcs, packs, fetches atomic.Int64
	for worker := range 3 {
		work.Go(func() {
			d := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range rounds {
				updates := plan(d)
				err := r.UpdateRefs(ctx, updates)
				switch {
				case err == nil:
					j.add("the server", updates)
					ours.Add(1)
				case !errors.Is(err, gitstore.ErrRefMoved) && !errors.Is(err, gitstore.ErrRefConflict):
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	for worker := range 2 {
		work.Go(func() {
			d := rand.New(rand.NewPCG(seed, uint64(100+worker)))
			for range rounds / 2 {
				updates := plan(d)
				in := "start\n"
				for _, u := range updates {
					if u.New.IsZero() {
						in += fmt.Sprintf("delete %s %s\n", u.Ref, u.Old)
					} else {
						in += fmt.Sprintf("update %s %s %s\n", u.Ref, u.New, u.Old)
					}
				}
				if _, err := gittest.TryIn(r.Path(), in+"prepare\ncommit\n", "update-ref", "--stdin"); err == nil {
					j.add("git", updates)
					theirs.Add(1)
				}
			}
		})
	}
	stop := make(chan struct{})
	repeat := func(fn func(round int)) {
		beside.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
					fn(round)
				}
			}
		})
	}
	again := func(count *atomic.Int64, args ...string) { // gives way to those who hold locks
		repeat(func(int) {
			if _, err := gittest.Try(r.Path(), args...); err == nil {
				count.Add(1)
			}
		})
	}
	again(&gcs, "gc", "--quiet")
	again(&packs, "pack-refs", "--all", "--prune")
	other := gittest.Clone(t, r)
	var fetched string
	repeat(func(round int) {
		gittest.Run(t, other, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("elsewhere ", round))
		gittest.Run(t, other, "branch", "-f", fmt.Sprint("side", round%3))
		if _, err := gittest.Try(r.Path(), "fetch", "-q", "--no-tags", filepath.Join(other, ".git"), "+HEAD:refs/remotes/other/main", "+refs/heads/side*:refs/remotes/other/side*"); err == nil {
			fetches.Add(1)
			fetched = strings.TrimSpace(gittest.Run(t, other, "rev-parse", "HEAD"))
		}
	})
	repeat(func(int) {
		list, err := r.Refs(ctx, "refs/heads/stable/")
		if err != nil || len(list) != len(stable) {
			t.Errorf("%d stable references (%v), want %d: %v", len(list), err, len(stable), list)
		}
	})
	work.Wait()
	close(stop)
	beside.Wait()

	if ours.Load() < rounds/2 || theirs.Load() < rounds/8 {
		t.Errorf("%d changes by the server and %d by git went through, which is no test", ours.Load(), theirs.Load())
	}
	if gcs.Load() == 0 || packs.Load() == 0 || fetches.Load() == 0 {
		t.Errorf("gc ran %d times, pack-refs %d, fetch %d, want each at least once", gcs.Load(), packs.Load(), fetches.Load())
	}
	want := map[string]string{}
	for line := range strings.Lines(gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname) %(objectname)")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = id
	}
	got := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/"))
	for _, ref := range got {
		if want[string(ref.Name)] != ref.ID.String() {
			t.Errorf("%s is %s, git says %q", ref.Name, ref.ID, want[string(ref.Name)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d references, git lists %d", len(got), len(want))
	}
	for name := range j.moves {
		end, err := r.Ref(ctx, name)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if err := j.check(name, end); err != nil {
			t.Errorf("%s: %v", name, err)
			for _, m := range j.moves[name] {
				t.Logf("  %s %s -> %s by %s with %d", m.at.Format("05.000000"), m.old.Short(), m.new.Short(), m.by, m.with)
			}
		}
	}
	if fetched != "" && want["refs/remotes/other/main"] != fetched {
		t.Errorf("fetched main is %s, want %s", want["refs/remotes/other/main"], fetched)
	}
	for _, pattern := range []string{"*.lock", "packed-refs.new", "refs/*/*.lock", "refs/*/*/*.lock"} {
		if left, _ := filepath.Glob(filepath.Join(r.Path(), pattern)); len(left) > 0 {
			t.Errorf("locks are left: %v", left)
		}
	}
	gittest.Fsck(t, r)
}
