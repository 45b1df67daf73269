package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"tenon/internal/base/secret"
	"tenon/internal/transport/gitssh"
)

// maxHostKey bounds the file of an SSH host key in a backup, in bytes; the longest has 3 kB.
const maxHostKey = 64 << 10

// keys writes secret.key and the SSH host keys, as far as there are any.
func (b *backupRun) keys() error {
	key, err := os.ReadFile(filepath.Join(b.a.config.Data, secret.KeyFile))
	if err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	if err := b.w.Put(partKey+"/"+secret.KeyFile, int64(len(key)), bytes.NewReader(key)); err != nil {
		return err
	}
	for _, name := range gitssh.HostKeyFiles() {
		key, err := os.ReadFile(filepath.Join(b.a.config.Data, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read SSH host key: %w", err)
		}
		if err := b.w.Put(partHostKeys+"/"+name, int64(len(key)), bytes.NewReader(key)); err != nil {
			return err
		}
	}
	return nil
}

// keys puts the keys of the backup into the folder, or makes a secret key that is never stored.
func (r *restore) keys(context.Context) error {
	var err error
	if !r.file.SecretKey {
		r.box, err = secret.NewBox(secret.NewKey())
		return err
	}
	e, err := r.from.Next()
	if err != nil {
		return err
	}
	if e.Part != partKey || e.Name != secret.KeyFile || e.Size != secret.KeySize {
		return fmt.Errorf("%s/%s is no key", e.Part, e.Name)
	}
	if err := r.keep(e.Name); err != nil {
		return err
	}
	for { // backups of older programs have none of these
		e, err := r.from.Peek()
		if err != nil {
			return err
		}
		if e.Part != partHostKeys {
			break
		}
		if !slices.Contains(gitssh.HostKeyFiles(), e.Name) || e.Size > maxHostKey {
			return fmt.Errorf("%s/%s is no SSH host key", e.Part, e.Name)
		}
		if _, err := r.from.Next(); err != nil {
			return err
		}
		if err := r.keep(e.Name); err != nil {
			return err
		}
		r.out.HostKeys++
	}
	r.box, err = secret.Load(r.config.Data)
	return err
}

// keep writes a key, which no other user may read, from the backup into the folder.
func (r *restore) keep(name string) error {
	key, err := io.ReadAll(r.from)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(r.config.Data, name), key, 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
