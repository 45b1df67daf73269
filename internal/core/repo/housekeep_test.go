package repo_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

func TestService_Due(t *testing.T) {
	t.Parallel()
	var s repo.Service
	var due []int
	for i := range 21 {
		if s.Due(1) {
			due = append(due, i)
		}
	}
	if fmt.Sprint(due) != "[0 10 20]" || !s.Due(2) {
		t.Errorf("due at %v, want the first push of each project and every tenth after it", due)
	}
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
		keep := func() gitcmd.Storage {
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
		if s := keep(); s.Loose != 0 || s.Packs == 0 || s.Bitmap {
			t.Errorf("many loose objects: %+v, want them packed", s)
		}
		if s := keep(); !s.Bitmap {
			t.Errorf("a large pack: %+v, want a bitmap", s)
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
	})
}
