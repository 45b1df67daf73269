package gitstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// What Health says is what git has left on disk, before and after housekeeping.
func TestRepo_Health(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	point := func(to gitstore.ObjectID) {
		if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", New: to, AnyOld: true}}); err != nil {
			t.Fatal(err)
		}
	}
	point(gittest.Commit(t, r, 1700000000, map[string]string{"f": "1", "dir/g": "2"}))
	old := time.Now().Add(-30 * 24 * time.Hour)
	loose, err := filepath.Glob(filepath.Join(r.Path(), "objects", "??", "*"))
	if err != nil || len(loose) < 4 {
		t.Fatalf("%d loose objects, %v", len(loose), err)
	}
	if err := os.Chtimes(loose[0], old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(loose[0]), "tmp_obj_x"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := gittest.Must[gitstore.Health](t)(r.Health(ctx, time.Now()))
	if h.Loose != len(loose) || h.StaleLoose != 1 || h.StaleBytes == 0 || h.Garbage != 1 || h.LooseRefs != 1 || h.PackedRefs != 0 || h.Packs != 0 ||
		h.Graph != (gitstore.Graph{}) || h.Bitmap != nil || h.MultiPack != nil || h.FullRepack != nil || h.Borrows != nil {
		t.Errorf("before: %+v", h)
	}
	if err := r.Maintain(ctx, gitcmd.Maintenance{Full: true}); err != nil {
		t.Fatal(err)
	}
	size := gittest.Must[int64](t)(r.Size(ctx))
	h = gittest.Must[gitstore.Health](t)(r.Health(ctx, time.Now()))
	if h.Size != size || h.Loose != 0 || h.Packs != 1 || h.PackBytes == 0 || h.LooseRefs != 0 || h.PackedRefs == 0 ||
		h.Graph.Chain != 1 || !h.Graph.Bloom || !h.Graph.Generation || h.Graph.Overflow || h.Bitmap == nil || h.Bitmap.Version != 1 || h.FullRepack == nil {
		t.Errorf("after: %+v, bitmap %+v", h, h.Bitmap)
	}
	point(gittest.Commit(t, r, 1700000001, map[string]string{"h": "3"}))
	if err := r.Maintain(ctx, gitcmd.Maintenance{}); err != nil {
		t.Fatal(err)
	}
	if h = gittest.Must[gitstore.Health](t)(r.Health(ctx, time.Now())); h.MultiPack == nil || h.MultiPack.Packs != h.Packs || h.MultiPack.Version != 1 {
		t.Errorf("with an index over several packs: %+v, %+v", h, h.MultiPack)
	}
}
