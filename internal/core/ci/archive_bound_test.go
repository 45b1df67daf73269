package ci_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/ci"
)

// TestService_ArchiveTree_bounds lists archives that are small and cost much: paths of very many folders, lists
// of very many files, and lists that say they are short. It counts what the process allocates, so that no other test runs
// beside it.
func TestService_ArchiveTree_bounds(t *testing.T) {
	w := newWorld(t, dbtest.Open(t, false))
	store := func(content []byte) (list func(ctx context.Context, f ci.TreeFilter) ([]string, error)) {
		w.begin(oneJob)
		a := w.take(w.runner("instance_type", nil), "build")
		check(t, w.store(a, ci.ArtifactInput{Filename: "artifacts.zip"}, content))
		w.succeed(a)
		return func(ctx context.Context, f ci.TreeFilter) ([]string, error) {
			f.Range = page.Range{Limit: 100}
			got, err := w.ci.ArchiveTree(ctx, w.guest, w.as(w.guest), a.Job.ID, f)
			var paths []string
			for _, e := range got.Items {
				paths = append(paths, e.Path)
			}
			return paths, err
		}
	}
	allocated := func(call func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}

	deep := map[string]string{"top.txt": "x", "a/b/c.txt": "x", "a/d.txt": "x", strings.Repeat("e/", 100) + "f": "x", strings.Repeat("e/", 101) + "f": "x"}
	for i := range 40 {
		deep[fmt.Sprintf("%d", i)+strings.Repeat("/x", 30_000)] = "x"
	}
	list := store(zipped(t, deep))
	var names []string
	var err error
	if took := allocated(func() { names, err = list(t.Context(), ci.TreeFilter{Recursive: true}) }); took > 32<<20 {
		t.Errorf("40 paths of 30,000 folders: %d MB allocated", took>>20)
	}
	check(t, err)
	equal(t, "files and folders", len(names), 100)
	for folder, want := range map[string]string{"": "a e top.txt", "a": "a/b a/d.txt", "a/b/": "a/b/c.txt"} {
		names, err := list(t.Context(), ci.TreeFilter{Folder: folder})
		check(t, err)
		equal(t, "files of "+folder, strings.Join(names, " "), want)
	}
	for _, folder := range []string{"top.txt", "b", "a/b/c.txt", "a/bb"} {
		_, err := list(t.Context(), ci.TreeFilter{Folder: folder})
		wantError(t, folder, err, errs.NotFound, "")
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := list(gone, ci.TreeFilter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has left: got %v, want Canceled", err)
	}

	var many bytes.Buffer
	z := zip.NewWriter(&many)
	for i := range 400_000 {
		_, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("%06d", i)})
		check(t, err)
	}
	check(t, z.Close())
	short := bytes.Clone(many.Bytes()) // whose end says that there are none, but for multiples of 65,536
	end := bytes.LastIndex(short, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(short[end+8:], uint16(400_000%65_536))
	binary.LittleEndian.PutUint16(short[end+10:], uint16(400_000%65_536))
	for name, content := range map[string][]byte{"many files": many.Bytes(), "many files that are said to be few": short} {
		list := store(content)
		if took := allocated(func() { _, err = list(t.Context(), ci.TreeFilter{}) }); took > 96<<20 {
			t.Errorf("%s: %d MB allocated", name, took>>20)
		}
		wantError(t, name, err, errs.NotFound, "")
	}
}
