package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Storage is how the objects of a repository are stored.
type Storage struct {
	Loose     int // files of one object each
	Packs     int
	PackBytes int64
	Bitmap    bool // a pack says what is reachable, for fast clones
	Borrows   bool // the rest is in a pool
}

// Storage looks at how objects are stored, without any process.
func (r *Repo) Storage(ctx context.Context) (Storage, error) {
	var s Storage
	objects := filepath.Join(r.path, "objects")
	if _, err := os.Lstat(r.alternates()); err == nil {
		s.Borrows = true
	}
	folders, err := os.ReadDir(objects)
	if err != nil {
		return s, fmt.Errorf("look at objects: %w", err)
	}
	for _, f := range folders {
		if err := ctx.Err(); err != nil {
			return s, fmt.Errorf("look at objects: %w", err)
		}
		if len(f.Name()) != 2 || !IsHex(f.Name()) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(objects, f.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("look at objects: %w", err)
		}
		s.Loose += len(files)
	}
	packs, err := os.ReadDir(filepath.Join(objects, "pack"))
	if err != nil {
		return s, fmt.Errorf("look at packs: %w", err)
	}
	for _, p := range packs {
		switch filepath.Ext(p.Name()) {
		case ".bitmap":
			s.Bitmap = true
		case ".pack":
			s.Packs++
			if info, err := p.Info(); err == nil { // it may just have been replaced
				s.PackBytes += info.Size()
			}
		}
	}
	return s, nil
}

// NoteFullRepack leaves a file whose time tells Health that everything was repacked.
func (r *Repo) NoteFullRepack() error {
	name := filepath.Join(r.path, fullRepack)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return fmt.Errorf("note full repack: %w", err)
	}
	now := time.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		return fmt.Errorf("note full repack: %w", err)
	}
	return nil
}
