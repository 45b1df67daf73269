package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"tenon/internal/base/blob"
)

func open(t *testing.T) (store *blob.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "objects")
	store, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

func put(t *testing.T, s *blob.Store, key, text string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, strings.NewReader(text), blob.Wanted{}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *blob.Store, key string) string {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	text, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(text)) != o.Size {
		t.Errorf("%s says %d bytes and has %d", key, o.Size, len(text))
	}
	return string(text)
}

func keys(t *testing.T, s *blob.Store, prefix string) []string {
	t.Helper()
	var out []string
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.Key)
	}
	slices.Sort(out)
	return out
}

// files counts what lies in a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestStore(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	sum := sha256.Sum256([]byte("first"))
	size := int64(5)
	staged, err := s.Put(t.Context(), "lfs/ab/first", strings.NewReader("first"),
		blob.Wanted{Size: &size, Limit: 5, SHA256: strings.ToUpper(hex.EncodeToString(sum[:]))})
	if err != nil || staged.SHA256 != hex.EncodeToString(sum[:]) || staged.Size != 5 {
		t.Fatalf("put: %+v, %v", staged, err)
	}
	put(t, s, "lfs/cd/second", "second")
	put(t, s, "upload/third", "")
	put(t, s, "lfs/ab/first", "replaced")

	if got := read(t, s, "lfs/ab/first"); got != "replaced" {
		t.Errorf("replaced object reads %q", got)
	}
	if got := read(t, s, "upload/third"); got != "" {
		t.Errorf("empty object reads %q", got)
	}
	if got := keys(t, s, "lfs"); !slices.Equal(got, []string{"lfs/ab/first", "lfs/cd/second"}) {
		t.Errorf("keys below lfs: %v", got)
	}
	if got := keys(t, s, ""); len(got) != 3 {
		t.Errorf("all keys: %v", got)
	}
	if got := keys(t, s, "nothing"); got != nil {
		t.Errorf("keys below nothing: %v", got)
	}
	for info, err := range s.List(t.Context(), "") {
		if err != nil || info.Modified.IsZero() {
			t.Errorf("listed %+v, %v", info, err)
		}
		break // a walk may end early
	}
	info, err := s.Stat(t.Context(), "lfs/cd/second")
	if err != nil || info.Size != 6 || info.Key != "lfs/cd/second" {
		t.Errorf("stat: %+v, %v", info, err)
	}

	held, err := s.Open(t.Context(), "lfs/cd/second")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for range 2 { // the second time there is nothing
		if err := s.Delete(t.Context(), "lfs/cd/second"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := held.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(held); err != nil || string(rest) != "ond" {
		t.Errorf("a deleted object that is open reads %q, %v", rest, err)
	}
	for _, key := range []string{"lfs/cd/second", "lfs", "lfs/ab/first/below"} {
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("open %s: %v", key, err)
		}
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("stat %s: %v", key, err)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %s: %v", key, err)
		}
	}
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("files: %v", got)
	}
}

func TestStore_keys(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "./a", ".staging/a", "a/.hidden",
		"a\\b", "a b", "a\x00", "a\nb", "å", "a%2fb", strings.Repeat("a", 256), strings.Repeat("a/", 300) + "a",
	} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), blob.Wanted{}); !errors.Is(err, blob.ErrKey) {
			t.Errorf("put %q: %v", key, err)
		}
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("open %q: %v", key, err)
		}
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("stat %q: %v", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("delete %q: %v", key, err)
		}
		for _, err := range s.List(t.Context(), key) {
			if key != "" && !errors.Is(err, blob.ErrKey) {
				t.Errorf("list %q: %v", key, err)
			}
		}
	}
	if got := files(t, filepath.Dir(dir)); got != nil {
		t.Errorf("files: %v", got)
	}
}

// An object that does not arrive whole and as announced is never seen, and leaves nothing.
func TestStore_incomplete(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	size := func(n int64) *int64 { return &n }
	broken := errors.New("line is down")
	ctx, cancel := context.WithCancel(t.Context())
	for name, row := range map[string]struct {
		ctx  context.Context
		from io.Reader
		w    blob.Wanted
		want error
	}{
		"above the limit":      {from: strings.NewReader("123456"), w: blob.Wanted{Limit: 5}, want: blob.ErrTooLarge},
		"longer than said":     {from: strings.NewReader("123456"), w: blob.Wanted{Size: size(5)}, want: blob.ErrTooLarge},
		"said above the limit": {from: strings.NewReader("123456"), w: blob.Wanted{Size: size(6), Limit: 5}, want: blob.ErrTooLarge},
		"shorter than said":    {from: strings.NewReader("1234"), w: blob.Wanted{Size: size(5)}, want: blob.ErrMismatch},
		"not empty":            {from: strings.NewReader("1"), w: blob.Wanted{Size: size(0)}, want: blob.ErrTooLarge},
		"other content":        {from: strings.NewReader("12345"), w: blob.Wanted{SHA256: strings.Repeat("0", 64)}, want: blob.ErrMismatch},
		"a broken line":        {from: io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), want: broken},
		"a broken line at the end": {
			from: io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)), w: blob.Wanted{Size: size(5)}, want: broken,
		},
		"a caller that goes": {ctx: ctx, from: io.MultiReader(strings.NewReader("12"), leaving{cancel}), want: context.Canceled},
	} {
		if row.ctx == nil {
			row.ctx = t.Context()
		}
		if _, err := s.Put(row.ctx, "a/b", row.from, row.w); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
	if got := files(t, dir); got != nil {
		t.Errorf("files: %v", got)
	}
}

// leaving is the reader of a caller that goes away while it is read.
type leaving struct{ cancel func() }

func (l leaving) Read(p []byte) (int, error) {
	l.cancel()
	return copy(p, "x"), nil
}

func TestStore_staging(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	staged, err := s.Stage(t.Context(), bytes.NewReader(make([]byte, 1<<20)), blob.Wanted{})
	if err != nil {
		t.Fatal(err)
	}
	if got := keys(t, s, ""); got != nil {
		t.Errorf("staged content is listed: %v", got)
	}
	staged.Discard()
	staged.Discard()
	if got := files(t, dir); got != nil {
		t.Errorf("files after discarding: %v", got)
	}
	if staged, err = s.Stage(t.Context(), strings.NewReader("kept"), blob.Wanted{}); err != nil {
		t.Fatal(err)
	}
	if err := staged.Keep(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	staged.Discard()
	if got := read(t, s, "a/b"); got != "kept" {
		t.Errorf("kept object reads %q after Discard", got)
	}
	if _, err := s.Stage(t.Context(), strings.NewReader("of a process that was killed"), blob.Wanted{}); err != nil {
		t.Fatal(err)
	}
	if s, err = blob.Open(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 1 || read(t, s, "a/b") != "kept" {
		t.Errorf("files after a new start: %v", got)
	}
}

func TestStore_race(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 100_000)}
	done := make(chan error, 8)
	for i := range 8 {
		go func() {
			_, err := s.Put(context.Background(), "deep/er/one", strings.NewReader(texts[i%2]), blob.Wanted{})
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := read(t, s, "deep/er/one"); got != texts[0] && got != texts[1] {
		t.Errorf("object is a mixture of %d bytes", len(got))
	}
}

func TestStore_Import(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	if err := s.Import(t.Context(), "a/b/c", 3, strings.NewReader("one")); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"twice":    s.Import(t.Context(), "a/b/c", 3, strings.NewReader("two")),
		"short":    s.Import(t.Context(), "a/short", 4, strings.NewReader("two")),
		"long":     s.Import(t.Context(), "a/long", 2, strings.NewReader("two")),
		"climbing": s.Import(t.Context(), "a/../../x", 3, strings.NewReader("two")),
		"staging":  s.Import(t.Context(), ".staging/x", 3, strings.NewReader("two")),
		"in a key": s.Import(t.Context(), "a/b/c/d", 3, strings.NewReader("two")),
	} {
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a/b/c")); err != nil || string(got) != "one" {
		t.Errorf("got %q, %v", got, err)
	}
}
