package importexport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"testing"
	"time"

	"tenon/internal/core/setting"
)

// Reading an archive ends after as many seconds as the settings say, or never for 0.
func TestUnpack_timeout(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	out := tar.NewWriter(zip)
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "VERSION", Size: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("0.2.4")); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for within, want := range map[time.Duration]string{0: "", time.Hour: "", time.Nanosecond: tooMuch} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := unpack(t.Context(), bytes.NewReader(archive.Bytes()), &unpacking{to: root, within: within}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("within %s: %q, want %q", within, got, want)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}
	set := &setting.Settings{}
	set.DecompressArchiveFileTimeout = 7
	if within := bounded(nil, set).within; within != 7*time.Second {
		t.Errorf("the setting of 7 seconds bounds it to %s", within)
	}
}
