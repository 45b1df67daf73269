package app

import (
	"errors"
	"fmt"
	"syscall"

	"tenon/internal/base/db"
)

// startError says that a disk is full where that is why a start failed.
func (a *App) startError(err error) error {
	switch {
	case err == nil:
		return nil
	case a.db != nil:
		err = a.db.Explain(err)
	}
	switch {
	case (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, db.ErrUnavailable)) && full(a.config.Data):
		return fmt.Errorf("the disk of the data folder %s is full: make room on it and start again (%w)", a.config.Data, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("a disk is full, that of the database or of %s: make room on it and start again (%w)", a.config.Data, err)
	}
	return err
}

// room is what a disk has, in bytes and files; Files is 0 where the disk does not count them.
type room struct{ Size, Free, Files, FreeFiles uint64 }

// roomOf looks at the disk of a folder. What is reserved for root is not free.
func roomOf(dir string) (room, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return room{}, fmt.Errorf("look at disk: %w", err)
	}
	size := uint64(disk.Bsize)
	return room{Size: disk.Blocks * size, Free: disk.Bavail * size, Files: disk.Files, FreeFiles: disk.Ffree}, nil
}

// fullBytes is the room below which a disk is as good as full.
const fullBytes = 64 << 10

// full reports whether the disk of a folder has no room left, or as good as none. The
// engines do not always say so: SQLite calls a file that it cannot make unusable.
func full(dir string) bool {
	disk, err := roomOf(dir)
	return err == nil && (disk.Free < fullBytes || disk.Files > 0 && disk.FreeFiles == 0)
}
