package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes the data folder for this server alone: a second one would settle the pushes
// and merges that this one has in flight. The kernel lets go of it however we end.
func (a *App) lock() (unlock func() error, err error) {
	path := filepath.Join(a.config.Data, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // a file of our own data folder
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another server runs on it (stop that one, or choose another folder with --data)")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data folder %s: %w", a.config.Data, err), f.Close())
	}
	return f.Close, nil
}
