package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Housekeeping removes empty folders at any moment, also the one that an object is about
// to be put into.
func TestPlacing_folderVanishes(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Remove(filepath.Join(dir, "ab")) // fails while there is something in it
			}
		}
	}()
	for i := range 300 {
		tmp, target := filepath.Join(dir, "tmp"), filepath.Join(dir, "ab", fmt.Sprint(i))
		if err := os.WriteFile(tmp, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := placeIn(dir)
		if err := p.put(tmp, target); err != nil {
			t.Fatal(err)
		}
		if err := p.sync(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(target); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
	if err := placeIn(dir).put(filepath.Join(dir, "missing"), filepath.Join(dir, "cd", "x")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}
