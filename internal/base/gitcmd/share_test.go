package gitcmd_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// shared is a source with a branch, an annotated tag and something hidden, its pool, and
// a fork linked to that.
type shared struct {
	git                *gitcmd.Git
	source, pool, fork *gitcmd.Repo
	tip, hidden        gitstore.ObjectID
}

func newShared(t *testing.T) *shared {
	t.Helper()
	ctx := t.Context()
	s := &shared{git: gittest.New(t)}
	s.source = gittest.NewRepo(t, s.git)
	first := gittest.Commit(t, s.source, 1000, map[string]string{"a": "a\n", "dir/b": "b\n"})
	s.tip = gittest.Commit(t, s.source, 2000, map[string]string{"c": "c\n"}, first)
	s.hidden = gittest.Commit(t, s.source, 3000, map[string]string{"secret": "secret\n"}, s.tip)
	gittest.Point(t, s.source, "refs/heads/main", s.tip)
	gittest.Point(t, s.source, "refs/merge-requests/1/head", s.hidden)
	tag := gittest.Must[gitstore.ObjectID](t)(s.source.CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: first, Tagger: gittest.Signature("Ann", 1500), Message: "One"}))
	gittest.Point(t, s.source, "refs/tags/v1", tag)
	s.pool = s.git.Repo("@pools/aa/bb/pool.git")
	if err := s.pool.Pool(ctx, s.source); err != nil {
		t.Fatal(err)
	}
	s.fork = s.newFork(t, "fork")
	return s
}

func (s *shared) newFork(t *testing.T, name string) *gitcmd.Repo {
	t.Helper()
	ctx := t.Context()
	fork := s.git.Repo("@hashed/cc/dd/" + name + ".git")
	if err := fork.Init(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	if err := fork.Link(ctx, s.pool); err != nil {
		t.Fatal(err)
	}
	refs := append(gittest.Must[[]gitstore.Ref](t)(s.source.Refs(ctx, gitstore.Branches)), gittest.Must[[]gitstore.Ref](t)(s.source.Refs(ctx, gitstore.Tags))...)
	ids := make([]gitstore.ObjectID, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	if _, err := fork.Copy(ctx, s.source, ids); err != nil {
		t.Fatal(err)
	}
	if err := fork.Begin(ctx, refs); err != nil {
		t.Fatal(err)
	}
	return fork
}

func TestRepo_Pool(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	if _, err := s.pool.Info(ctx, s.hidden); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("what no branch or tag reaches is in the pool: %v", err)
	}
	if err := s.pool.Pool(ctx, s.source); !errors.Is(err, gitstore.ErrExists) {
		t.Errorf("a second pool at the same place: %v", err)
	}
	got, want := gittest.Run(t, s.fork.Path(), "show-ref"), gittest.Run(t, s.source.Path(), "show-ref", "--tags", "--heads")
	if got != want {
		t.Errorf("references of the fork:\n%swant\n%s", got, want)
	}
	if st := gittest.Must[gitstore.Storage](t)(s.fork.Storage(ctx)); st.Loose+st.Packs != 0 || !st.Borrows {
		t.Errorf("a fresh fork stores %+v, want nothing of its own", st)
	}
	// A new commit goes into the fork and nowhere else.
	own := gittest.Commit(t, s.fork, 4000, map[string]string{"own": "own\n"}, s.tip)
	gittest.Point(t, s.fork, "refs/heads/main", own)
	for name, r := range map[string]*gitcmd.Repo{"pool": s.pool, "source": s.source} {
		if _, err := r.Info(ctx, own); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("a commit of the fork can be read through the %s: %v", name, err)
		}
	}
	work := gittest.Clone(t, s.fork)
	if got := gittest.Run(t, work, "ls-files"); got != "a\nc\ndir/b\nown\n" {
		t.Errorf("clone of the fork: %q", got)
	}
	for _, r := range []*gitcmd.Repo{s.source, s.pool, s.fork} {
		gittest.Fsck(t, r)
	}
}

// A push through a quarantine reads the pool two links away.
func TestRepo_Link_push(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	work := gittest.Clone(t, s.fork)
	if err := os.WriteFile(filepath.Join(work, "new"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, work, "add", "new")
	gittest.Run(t, work, "commit", "-qm", "New")
	gittest.Run(t, work, "push", "-q", "origin", "HEAD:main")
	gittest.Fsck(t, s.fork)
	q := gittest.Must[*gitcmd.Quarantine](t)(s.fork.Quarantine(t.Context()))
	defer func() { _ = q.Discard() }()
	if _, err := q.MergeTree(t.Context(), s.tip, gittest.Commit(t, q.Repo, 5000, map[string]string{"m": "m\n"}, s.tip)); err != nil {
		t.Errorf("merge in a quarantine of the fork: %v", err)
	}
}

func TestRepo_Link_refuses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	other := s.newFork(t, "other")
	for name, pool := range map[string]*gitcmd.Repo{
		"itself": other, "a fork": s.fork, "nothing": s.git.Repo("@pools/none.git"),
	} {
		if err := other.Link(ctx, pool); err == nil {
			t.Errorf("linked to %s", name)
		}
	}
	for _, text := range []string{
		"/etc\n", "../../../../../../../../etc/objects\n", "../../../..\n", "../../../../../@pools/aa/bb/pool.git/objects\n/etc\n",
	} {
		if err := os.WriteFile(filepath.Join(other.Path(), "objects/info/alternates"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Linked(); !errors.Is(err, gitstore.ErrBadName) {
			t.Errorf("link %q: %v, want it refused", text, err)
		}
		if err := other.Unlink(ctx); err == nil {
			t.Errorf("took objects through %q", text)
		}
	}
}

// Housekeeping of a fork keeps the link and copies nothing out of the pool.
func TestRepo_Maintain_linked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	random := make([]byte, 2<<20)
	_, _ = rand.Read(random)
	big := gittest.Commit(t, s.source, 2500, map[string]string{"big": fmt.Sprintf("%x", random)}, s.tip)
	gittest.Point(t, s.source, "refs/heads/big", big)
	s.pool = s.git.Repo("@pools/aa/bb/second.git")
	if err := s.pool.Pool(ctx, s.source); err != nil {
		t.Fatal(err)
	}
	if st := gittest.Must[gitstore.Storage](t)(s.pool.Storage(ctx)); st.Packs != 1 || !st.Bitmap {
		t.Errorf("a large pool: %+v, want one pack with a bitmap", st)
	}
	fork := s.newFork(t, "big")
	tip := big
	for i := range 5 {
		tip = gittest.Commit(t, fork, int64(6000+i), map[string]string{"own": fmt.Sprint(i)}, tip)
	}
	gittest.Point(t, fork, "refs/heads/big", tip)
	young := gittest.Must[gitstore.ObjectID](t)(fork.WriteBlob(ctx, []byte("nobody names it yet")))
	for _, full := range []bool{false, true, true} {
		if err := fork.Maintain(ctx, gitcmd.Maintenance{Full: full}); err != nil {
			t.Fatal(err)
		}
	}
	if st := gittest.Must[gitstore.Storage](t)(fork.Storage(ctx)); !st.Borrows || st.PackBytes > 1<<20 || st.PackBytes == 0 {
		t.Errorf("after housekeeping: %+v", st)
	}
	if _, err := fork.Info(ctx, young); err != nil {
		t.Errorf("a young object: %v", err)
	}
	gittest.Fsck(t, fork)
	if got := gittest.Run(t, gittest.Clone(t, fork), "rev-parse", "origin/big"); strings.TrimSpace(got) != tip.String() {
		t.Errorf("clone has %s, want %s", got, tip)
	}
}

// A process that reads a fork while its link ends misses nothing, and the pool may go afterwards.
func TestRepo_Unlink(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	stop, failed := make(chan struct{}), make(chan error, 4)
	var readers sync.WaitGroup
	for range cap(failed) {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s.git.Trim() // what is remembered proves nothing
				if _, err := s.fork.LogCommits(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{s.tip}}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	// A crash after the first file was taken leaves something to go on with.
	packs := gittest.Must[[]string](t)(filepath.Glob(filepath.Join(s.pool.Path(), "objects/pack/*.pack")))
	for _, p := range packs {
		if err := os.Link(p, filepath.Join(s.fork.Path(), "objects/pack", filepath.Base(p))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second has nothing to do
		if err := s.fork.Unlink(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.pool.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	close(stop)
	readers.Wait()
	select {
	case err := <-failed:
		t.Errorf("reading meanwhile: %v", err)
	default:
	}
	if err := s.source.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	gittest.Fsck(t, s.fork)
	if err := s.fork.Maintain(ctx, gitcmd.Maintenance{Full: true}); err != nil {
		t.Fatal(err)
	}
	gittest.Fsck(t, s.fork)
	gittest.Clone(t, s.fork)
}

// Copy brings what is missing, as files of their own or as a pack, and nothing twice.
func TestRepo_Copy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	small := gittest.Commit(t, s.fork, 7000, map[string]string{"small": "small\n"}, s.tip)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	large := gittest.Commit(t, s.fork, 8000, files, small)
	gittest.Point(t, s.fork, "refs/heads/feature", large)
	for _, tt := range []struct {
		name  string
		id    gitstore.ObjectID
		packs int
	}{{"a few", small, 0}, {"many", large, 1}} {
		before := gittest.Must[gitstore.Storage](t)(s.source.Storage(ctx)).Packs
		n, err := s.source.Copy(ctx, s.fork, []gitstore.ObjectID{tt.id})
		if err != nil || n == 0 {
			t.Fatalf("%s: %d bytes, %v", tt.name, n, err)
		}
		if got := gittest.Must[gitstore.Storage](t)(s.source.Storage(ctx)).Packs - before; got != tt.packs {
			t.Errorf("%s: %d packs more, want %d", tt.name, got, tt.packs)
		}
		gittest.Point(t, s.source, "refs/merge-requests/2/head", tt.id)
		gittest.Fsck(t, s.source)
		if n, err := s.source.Copy(ctx, s.fork, []gitstore.ObjectID{tt.id}); n != 0 || err != nil {
			t.Errorf("%s, again: %d bytes, %v, want nothing", tt.name, n, err)
		}
	}
	absent := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(strings.Repeat("ab", 20)))
	if _, err := s.source.Copy(ctx, s.fork, []gitstore.ObjectID{absent}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("an object that is nowhere: %v", err)
	}
	// A view of both sees what only the pool holds.
	view := s.source.With(s.fork)
	defer view.CloseView()
	if _, err := view.Commit(ctx, s.tip); err != nil {
		t.Errorf("through a view: %v", err)
	}
}

func TestRepo_Begin(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	if err := s.fork.Begin(t.Context(), []gitstore.Ref{{Name: "refs/heads/other", ID: s.tip, Peeled: s.tip}}); !errors.Is(err, gitstore.ErrExists) {
		t.Errorf("where there are references: %v", err)
	}
	if _, err := s.fork.Branch(t.Context(), "main"); err != nil {
		t.Errorf("the references that were there: %v", err)
	}
	// A push afterwards finds no lock.
	gittest.Point(t, s.fork, "refs/heads/next", s.tip)
	if err := s.fork.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/main", AnyOld: true}}); err != nil {
		t.Errorf("delete a packed reference: %v", err)
	}
}
