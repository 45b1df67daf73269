package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tenon/internal/base/backup"
)

// entry is a file of a backup.
type entry struct{ name, content string }

var some = []entry{
	{"database/users/table.json", "{}"},
	{"database/users/000001.jsonl", strings.Repeat("[1]\n", 100_000)},
	{"repositories/7/refs", ""},
	{"repositories/7/objects/ab/cd", "x"},
	{"objects/upload/upload/5/name", "\x00\x01"},
}

func write(t *testing.T, entries []entry) string {
	t.Helper()
	var out bytes.Buffer
	z, err := backup.NewCompressor(&out)
	if err != nil {
		t.Fatal(err)
	}
	w, err := backup.NewWriter(z, backup.Head{ID: "0a", CreatedAt: time.Unix(1, 0).UTC(), Version: "1", Engine: "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Put(e.name, int64(len(e.content)), strings.NewReader(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	w.Note("a note")
	w.Deleted(9)
	m, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(m); err != nil {
		t.Fatal(err)
	}
	return save(t, out.Bytes())
}

func save(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.tar.zst")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func quiet(int64, int64) {}

// read verifies a backup and reads everything in it.
func read(t *testing.T, name string) ([]entry, *backup.Manifest, error) {
	t.Helper()
	f, err := backup.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	m, err := f.Verify(t.Context(), quiet)
	if err != nil {
		return nil, nil, err
	}
	r, err := f.Reader(m)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var out []entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, m, nil
		}
		if err != nil {
			return out, m, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return out, m, err
		}
		out = append(out, entry{e.Part + "/" + e.Name, string(content)})
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	name := write(t, some)
	got, m, err := read(t, name)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(some) {
		t.Fatalf("got %d entries, want %d", len(got), len(some))
	}
	for i := range got {
		if got[i] != some[i] {
			t.Errorf("entry %d: got %.40v, want %.40v", i, got[i], some[i])
		}
	}
	if len(m.Parts) != 3 || m.Parts[0].Name != "database/users" || m.Parts[1].Entries != 2 || m.Entries != 5 || m.Notes[0] != "a note" || m.Deleted[0] != 9 {
		t.Errorf("got %+v", m)
	}
	f, err := backup.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.ID != "0a" || f.Engine != "sqlite" || f.Tail == nil || f.Tail.Entries != 5 || f.Tail.Notes != 1 {
		t.Errorf("got %+v, %+v", f.Head, f.Tail)
	}
	// The usual tools read it, too.
	if out, err := exec.Command("sh", "-c", "command -v zstd >/dev/null || exit 0; zstd -dc "+name+" | tar tf - | wc -l").Output(); err != nil || len(out) > 0 && strings.TrimSpace(string(out)) != "7" {
		t.Errorf("tar and zstd: %q, %v", out, err)
	}
}

// TestFile_Verify_damage changes one byte, or cuts the file, at many places: the damage is
// found each time, and a file without its end is known without reading all of it.
func TestFile_Verify_damage(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(write(t, some))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 0; at < len(whole); at += 1 + len(whole)/150 {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x41
		if got, _, err := read(t, save(t, broken)); err != nil {
			found++
		} else if len(got) != len(some) || got[1] != some[1] {
			t.Errorf("byte %d: other content was taken", at)
		}
		if f, err := backup.Open(save(t, whole[:at])); err == nil {
			if f.Tail != nil {
				t.Errorf("cut at %d: complete", at)
			}
			if _, err := f.Verify(t.Context(), quiet); err == nil || !strings.Contains(err.Error(), "not complete") {
				t.Errorf("cut at %d: got %v", at, err)
			}
			_ = f.Close()
		}
	}
	if found < 100 {
		t.Errorf("%d damages were found", found)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := backup.Open(save(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Verify(ctx, quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// forge writes an archive by hand, with the end of a backup of so many bytes and entries.
func forge(t *testing.T, headers []*tar.Header, tail backup.Tail, m any) string {
	t.Helper()
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	put := func(name string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text))}), func() error { _, err := w.Write(text); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	put("tenon-backup.json", backup.Head{Format: 1, ID: "0a"})
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, h.Size); err != nil {
			t.Fatal(err)
		}
	}
	put("manifest.json", m)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(raw.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(tail)
	n := len(text)
	out.Write([]byte{0x5e, 0x2a, 0x4d, 0x18, byte(n + 12), byte((n + 12) >> 8), 0, 0})
	out.Write(text)
	out.Write([]byte{byte(n), byte(n >> 8), 0, 0})
	out.WriteString("TENONEND")
	return save(t, out.Bytes())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestFile_Verify_hostile refuses what no backup has.
func TestFile_Verify_hostile(t *testing.T) {
	t.Parallel()
	plain := func(name string, size int64) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600}
	}
	tail := backup.Tail{ID: "0a", Parts: 1, Entries: 1, Bytes: 1 << 20}
	for name, tt := range map[string]struct {
		headers []*tar.Header
		want    string
	}{
		"climbing":        {[]*tar.Header{plain("objects/../../etc/x", 1)}, "bad name"},
		"absolute":        {[]*tar.Header{plain("/etc/cron.d/x", 1)}, "bad name"},
		"only climbing":   {[]*tar.Header{plain("../../x/y", 1)}, "bad name"},
		"backslash":       {[]*tar.Header{plain(`objects/a/..\x`, 1)}, "bad name"},
		"no part":         {[]*tar.Header{plain("x", 1)}, "bad name"},
		"double slash":    {[]*tar.Header{plain("objects//x/y", 1)}, "bad name"},
		"long":            {[]*tar.Header{plain("objects/a/"+strings.Repeat("x", 2000), 1)}, "bad name"},
		"symbolic link":   {[]*tar.Header{{Typeflag: tar.TypeSymlink, Name: "objects/a/b", Linkname: "/etc/passwd"}}, "no plain file"},
		"hard link":       {[]*tar.Header{{Typeflag: tar.TypeLink, Name: "objects/a/b", Linkname: "/etc/passwd"}}, "no plain file"},
		"folder":          {[]*tar.Header{{Typeflag: tar.TypeDir, Name: "objects/a/b/"}}, "no plain file"},
		"device":          {[]*tar.Header{{Typeflag: tar.TypeChar, Name: "objects/a/b", Devmajor: 1}}, "no plain file"},
		"pipe":            {[]*tar.Header{{Typeflag: tar.TypeFifo, Name: "objects/a/b"}}, "no plain file"},
		"bomb":            {[]*tar.Header{plain("objects/a/b", 64<<20)}, "holds more than it says"},
		"many":            {[]*tar.Header{plain("objects/a/b", 1), plain("objects/a/c", 1)}, "holds more than it says"},
		"part twice":      {[]*tar.Header{plain("objects/a/b", 0), plain("objects/b/b", 0), plain("objects/a/c", 0)}, "holds more than it says"},
		"other manifest":  {[]*tar.Header{plain("objects/a/b", 1)}, "manifest"},
		"after manifest":  {nil, "manifest"},
		"second manifest": {[]*tar.Header{plain("manifest.json", 2)}, "manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(t, forge(t, tt.headers, tail, backup.Manifest{ID: "0a"}))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOpen_nothing says what a file that is no backup is.
func TestOpen_nothing(t *testing.T) {
	t.Parallel()
	var z bytes.Buffer
	w, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	for name, content := range map[string][]byte{"empty": nil, "text": []byte("hello"), "zeros": make([]byte, 4096), "other zstd": z.Bytes()} {
		if _, err := backup.Open(save(t, content)); !errors.Is(err, backup.ErrNoBackup) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := backup.Open(t.TempDir()); !errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("a folder: got %v", err)
	}
	if _, err := backup.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: got %v", err)
	}
}

// TestReader_changed notices a file that is changed after it was verified.
func TestReader_changed(t *testing.T) {
	t.Parallel()
	name := write(t, some)
	other := write(t, []entry{{"database/users/table.json", "[]"}, some[1], some[2], some[3], some[4]})
	f, err := backup.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := f.Verify(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := f.Reader(m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("got %v", err)
	}
}
