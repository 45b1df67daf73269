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

// Load reads the sealing key from the data folder, which must exist. Where there is no
// key yet it makes one, readable by the owner alone, on disk before it is used. It
// refuses a key that others can read and one of the wrong size, and says what to do.
func Load(data string) (*Box, error) {
	name := filepath.Join(data, KeyFile)
	key, err := readKey(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(name); err != nil {
			return nil, err
		}
		key, err = readKey(name)
	}
	if err != nil {
		return nil, err
	}
	return NewBox(key)
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
