package gitstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// References that only move, or are new, take no process, wherever they stand now; what is
// wrong is found as git would find it.
func TestRepo_UpdateRefs_files(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	blob := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte("no commit")))
	tag := gittest.Must[gitstore.ObjectID](t)(r.CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: a, Tagger: gittest.Signature("Ann", 1), Message: "m"}))
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(strings.Repeat("ab", 20)))
	for _, ref := range []gitstore.RefName{"refs/heads/packed", "refs/heads/dir/packed"} {
		gittest.Point(t, r, ref, a)
	}
	gittest.Run(t, r.Path(), "pack-refs", "--all", "--prune")
	gittest.Point(t, r, "refs/heads/loose", a)
	gittest.Point(t, r, "refs/heads/deep/er/loose", a)
	gittest.Must[gitstore.Info](t)(r.Info(ctx, a)) // the process that reads objects is there
	var none gitstore.ObjectID
	type updates []gitstore.RefUpdate
	for _, tt := range []struct {
		name    string
		updates updates
		most    int64 // processes
		err     error
	}{
		{"move a file", updates{{Ref: "refs/heads/loose", Old: a, New: b}}, 0, nil},
		{"move what is packed", updates{{Ref: "refs/heads/packed", Old: a, New: b}}, 0, nil},
		{"move what is packed in a folder", updates{{Ref: "refs/heads/dir/packed", Old: a, New: b}}, 0, nil},
		{"make", updates{{Ref: "refs/heads/new", New: a}}, 0, nil},
		{"make in folders", updates{{Ref: "refs/heads/x/y/z", New: a}}, 0, nil},
		{"several", updates{{Ref: "refs/heads/loose", Old: b, New: a}, {Ref: "refs/heads/more", New: b}, {Ref: "refs/tags/v1", New: tag}}, 0, nil},
		{"whatever it holds", updates{{Ref: "refs/heads/loose", New: b, AnyOld: true}, {Ref: "refs/heads/any", New: b, AnyOld: true}}, 0, nil},

		{"not where it was thought", updates{{Ref: "refs/heads/loose", Old: a, New: b}}, 1, gitstore.ErrRefMoved},
		{"there already", updates{{Ref: "refs/heads/loose", New: b}}, 1, gitstore.ErrRefMoved},
		{"packed already", updates{{Ref: "refs/heads/packed", New: b}}, 1, gitstore.ErrRefMoved},
		{"not there", updates{{Ref: "refs/heads/none", Old: a, New: b}}, 1, gitstore.ErrRefMoved},
		{"below a file", updates{{Ref: "refs/heads/loose/x", New: b}}, 1, gitstore.ErrRefConflict},
		{"below what is packed", updates{{Ref: "refs/heads/dir/packed/x", New: b}}, 1, gitstore.ErrRefConflict},
		{"where a folder is", updates{{Ref: "refs/heads/deep", New: b}}, 1, gitstore.ErrRefConflict},
		{"where a packed folder is", updates{{Ref: "refs/heads/dir", New: b}}, 1, gitstore.ErrRefConflict},
		{"both at once", updates{{Ref: "refs/heads/one", New: b}, {Ref: "refs/heads/one/two", New: b}}, 1, gitstore.ErrRefConflict},
		{"twice", updates{{Ref: "refs/heads/loose", Old: b, New: a}, {Ref: "refs/heads/loose", Old: b, New: a}}, 1, gitstore.ErrBadName},
		{"a branch of no commit", updates{{Ref: "refs/heads/blob", New: blob}}, 1, gitstore.ErrWrongKind},
		{"what is not there", updates{{Ref: "refs/heads/missing", New: missing}}, 1, gitstore.ErrNotFound},
		{"one of two", updates{{Ref: "refs/heads/new", Old: a, New: b}, {Ref: "refs/heads/loose", Old: a, New: b}}, 1, gitstore.ErrRefMoved},
		{"delete", updates{{Ref: "refs/heads/deep/er/loose", Old: a, New: none}}, 0, nil},
		{"where an empty folder is", updates{{Ref: "refs/heads/deep", New: b}}, 1, nil},
	} {
		before := gittest.Run(t, r.Path(), "for-each-ref")
		n := gittest.Started(g, func() {
			if err := r.UpdateRefs(ctx, tt.updates); !errors.Is(err, tt.err) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
			}
		})
		if n > tt.most {
			t.Errorf("%s: %d processes, want at most %d", tt.name, n, tt.most)
		}
		if after := gittest.Run(t, r.Path(), "for-each-ref"); tt.err != nil && after != before {
			t.Errorf("%s: refused, and yet:\n%swas\n%s", tt.name, after, before)
		}
		for _, u := range tt.updates {
			if at, err := r.Ref(ctx, u.Ref); tt.err == nil && !u.New.IsZero() && at != u.New {
				t.Errorf("%s: %s stands at %s, %v", tt.name, u.Ref, at, err)
			}
		}
	}
	if err := filepath.WalkDir(filepath.Join(r.Path(), "refs"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	gittest.Fsck(t, r)
}

// Many who move one reference, while git packs it and deletes its neighbour: each value
// is taken once and the last one stands.
func TestRepo_UpdateRefs_contended(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	const writers, each = 4, 6
	chain := []gitstore.ObjectID{gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})}
	for i := range writers * each {
		chain = append(chain, gittest.Commit(t, r, 1700000001+int64(i), map[string]string{"f": fmt.Sprint(i + 1)}, chain[i]))
	}
	next := map[gitstore.ObjectID]gitstore.ObjectID{}
	for i := range writers * each {
		next[chain[i]] = chain[i+1]
	}
	const ref = gitstore.RefName("refs/heads/dir/busy")
	gittest.Point(t, r, ref, chain[0])
	stop := make(chan struct{})
	var packing, moving sync.WaitGroup
	packing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = gittest.Try(r.Path(), "pack-refs", "--all", "--prune") // it gives way to those who hold locks
			}
		}
	})
	for range writers {
		moving.Go(func() {
			for done := 0; done < each; {
				at, err := r.Ref(ctx, ref)
				if err != nil {
					t.Error(err)
					return
				}
				err = r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: ref, Old: at, New: next[at]}})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, gitstore.ErrRefMoved):
					t.Error(err)
					return
				}
			}
		})
	}
	moving.Wait()
	close(stop)
	packing.Wait()
	if at := gittest.Must[gitstore.ObjectID](t)(r.Ref(ctx, ref)); at != chain[len(chain)-1] {
		t.Errorf("stands at %s, want the last of the chain", at)
	}
}
