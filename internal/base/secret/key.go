package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// KeyFile is the name of the key file in the data folder.
const KeyFile = "secret.key"

// ErrNoKey reports a data folder without a key file.
var ErrNoKey = errors.New("there is no key file")

// Load reads the sealing key from the data folder. Where there is none it fails with
// ErrNoKey. It refuses a key that others can read and one of the wrong size, and says what
// to do.
func Load(data string) (*Box, error) {
	key, err := readKey(filepath.Join(data, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	if err != nil {
		return nil, err
	}
	return NewBox(key)
}

// Make puts a new key into the data folder, which must exist, readable by the owner alone,
// on disk before it is used. Where there is one by now, that one is used.
func Make(data string) (*Box, error) {
	if err := makeKey(filepath.Join(data, KeyFile)); err != nil {
		return nil, err
	}
	return Load(data)
}

// Replace puts a new key into the data folder and keeps the file that was there under the
// name that it returns, "" for none. What was sealed or signed with the old key is lost.
func Replace(data string) (kept string, err error) {
	name := filepath.Join(data, KeyFile)
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.old-%d", name, n)
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch err := os.Rename(name, kept); {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return "", fmt.Errorf("keep old key file: %w", err)
	}
	return kept, makeKey(name)
}

func readKey(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("inspect key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("key file %s is no regular file: put the key of %d bytes there, or remove it on a new instance", name, KeySize)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s can be read by others (mode %04o): run chmod 600 %s, and if others had access, replace the secrets stored so far", name, mode, name)
	}
	if info.Size() != KeySize {
		return nil, fmt.Errorf("key file %s has %d bytes instead of %d: restore it from a backup; without the right key stored secrets cannot be read", name, info.Size(), KeySize)
	}
	key := make([]byte, KeySize)
	if n, err := f.ReadAt(key, 0); n != KeySize {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	return key, nil
}

// makeKey writes a fresh key. The file appears whole or not at all, and two processes
// that start at once end up with the same one: the link fails for the second.
func makeKey(name string) error {
	dir := filepath.Dir(name)
	pending, err := renameio.NewPendingFile(name, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("create key file: %w", err)
	}
	defer func() { _ = pending.Cleanup() }() // the name of the temporary file; the key keeps its own
	if _, err := pending.Write(NewKey()); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	if err := pending.Sync(); err != nil {
		return fmt.Errorf("sync key file: %w", err)
	}
	if err := os.Link(pending.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("place key file: %w", err)
	}
	return syncFolder(dir)
}

// syncFolder makes a new name in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open data folder: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync data folder: %w", err)
	}
	return nil
}
