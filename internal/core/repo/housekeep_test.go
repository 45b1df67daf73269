package repo_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Repositories are looked at as often as the settings say, or never.
func TestService_Due(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		due := func(id project.ID) (at []int) {
			for i := range 21 {
				if w.repos.Due(id) {
					at = append(at, i)
				}
			}
			return at
		}
		if got := due(1); fmt.Sprint(got) != "[0 10 20]" || !w.repos.Due(2) {
			t.Errorf("due at %v, want the first push of each project and every tenth after it", got)
		}
		check(t, w.settings.Set(t.Context(), "housekeeping_optimize_repository_period", 7))
		if got := due(3); fmt.Sprint(got) != "[0 7 14]" {
			t.Errorf("due at %v, want every seventh push", got)
		}
		check(t, w.settings.Set(t.Context(), "housekeeping_enabled", false))
		if got := due(4); got != nil {
			t.Errorf("due at %v although housekeeping is off", got)
		}
	})
}

// Reading goes on while everything is packed again and again, and what is read is right.
func TestService_Housekeep_besideReaders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		random := make([]byte, 1<<20)
		_, _ = rand.Read(random)
		w.put("main", "large", base64.StdEncoding.EncodeToString(random))
		var tips []gitstore.ObjectID
		for i := range 8 {
			tips = append(tips, w.put("main", fmt.Sprintf("f%d", i), fmt.Sprintf("content %d\n", i)).ID)
		}
		r := w.open()
		check(t, r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: gitstore.RefName("refs/keep-around/" + tips[3].String()), New: tips[3]}}))
		done := make(chan struct{})
		var readers sync.WaitGroup
		for n := range 2 {
			readers.Go(func() {
				for i := n; ; i++ {
					select {
					case <-done:
						return
					default:
					}
					w.git.Trim() // nothing is remembered
					k := i % len(tips)
					var got []byte
					entry, err := r.Entry(t.Context(), tips[k], fmt.Sprintf("f%d", k))
					if err == nil {
						got, err = r.Blob(t.Context(), entry.ID, 1<<10)
					}
					if err != nil || string(got) != fmt.Sprintf("content %d\n", k) {
						t.Errorf("f%d: %q, %v", k, got, err)
						return
					}
				}
			})
		}
		for i := range 6 {
			for j := range 10 {
				_, err := r.WriteBlob(t.Context(), fmt.Appendf(nil, "loose %d %d", i, j))
				check(t, err)
			}
			check(t, r.Maintain(t.Context(), gitcmd.Maintenance{Full: i%3 == 2, Grace: time.Nanosecond}))
		}
		close(done)
		readers.Wait()
		s, err := r.Storage(t.Context())
		check(t, err)
		if !s.Bitmap || s.Loose != 0 {
			t.Errorf("%+v, want a bitmap and no loose objects", s)
		}
		if _, err := r.Commit(t.Context(), tips[3]); err != nil {
			t.Error(err)
		}
		check(t, r.Fsck(t.Context()))
	})
}

func TestService_Housekeep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		random := make([]byte, 1<<20)
		_, _ = rand.Read(random)
		w.put("main", "large", base64.StdEncoding.EncodeToString(random))
		tip := w.put("main", "a", "a\n")
		r := w.open()
		keep := func() gitstore.Storage {
			t.Helper()
			check(t, w.repos.Housekeep(ctx, repo.Housekeeping{ProjectID: w.id}))
			s, err := r.Storage(ctx)
			check(t, err)
			return s
		}
		if s := keep(); s.Loose == 0 || s.Packs != 0 {
			t.Errorf("a small repository was packed: %+v", s)
		}
		kept, err := r.WriteBlob(ctx, []byte("nobody names it yet"))
		check(t, err)
		for i := range 200 {
			_, err := r.WriteBlob(ctx, fmt.Appendf(nil, "loose %d", i))
			check(t, err)
		}
		if s := keep(); s.Loose != 0 || s.Packs == 0 || !s.Bitmap {
			t.Errorf("many loose objects: %+v, want them packed, with a bitmap", s)
		}
		if s, again := keep(), keep(); s != again {
			t.Errorf("%+v, then %+v, want nothing to do any more", s, again)
		}
		if _, err := r.Info(ctx, kept); err != nil {
			t.Errorf("a young object that nobody names: %v", err)
		}
		got, err := r.Commit(ctx, tip.ID)
		if err != nil || got.Title() != "Put a" {
			t.Errorf("reading afterwards: %+v, %v", got, err)
		}
		next := w.put("main", "b", "b\n")
		if len(next.Parents) != 1 || next.Parents[0] != tip.ID {
			t.Errorf("writing afterwards: %+v", next)
		}
		check(t, r.Fsck(ctx))
		check(t, w.repos.Housekeep(ctx, repo.Housekeeping{ProjectID: project.ID(1 << 40)}))

		// One that is removed meanwhile is no failure.
		check(t, os.RemoveAll(filepath.Join(r.Path(), "objects", "pack")))
		if err := w.repos.Housekeep(ctx, repo.Housekeeping{ProjectID: w.id}); err == nil {
			t.Error("a repository without its packs was kept well")
		}
		w.exec("DELETE FROM projects WHERE id = ?", w.id)
		check(t, w.repos.Housekeep(ctx, repo.Housekeeping{ProjectID: w.id}))
	})
}
