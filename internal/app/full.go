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

// full reports whether the disk of a folder has no room left, or as good as none. The
// engines do not always say so: SQLite calls a file that it cannot make unusable.
func full(dir string) bool {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return false
	}
	const least = 64 << 10
	return disk.Bavail*uint64(disk.Bsize) < least || disk.Files > 0 && disk.Ffree == 0
}
