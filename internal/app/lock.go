package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/instance"
	"tenon/internal/base/secret"
)

// lockPatience is how long a start waits for the server before to be gone altogether: a
// killed one holds the lock until the last process that it was just starting has begun.
const lockPatience = 5 * time.Second

// claim makes the data folder and locks it until Close.
func (a *App) claim(ctx context.Context) error {
	if err := os.MkdirAll(a.config.Data, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w (choose another one with --data)", err)
	}
	unlock, err := a.lock(ctx, filepath.Join(a.config.Data, "lock"), lockPatience)
	if err != nil {
		return fmt.Errorf("lock data folder %s: %w", a.config.Data, err)
	}
	a.closing(func(context.Context) error { return unlock() })
	return a.unfinished()
}

// inhabited refuses a data folder without an instance, and changes nothing there: commands
// for administrators make none.
func (a *App) inhabited(ctx context.Context) error {
	marks := []string{filepath.Join(a.config.Data, secret.KeyFile)}
	sqlite, own := strings.CutPrefix(a.config.Database, "sqlite:")
	if own {
		marks = append(marks, sqlite)
	}
	for _, path := range marks {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil // what is wrong with it is said where it is opened
		}
	}
	if !own { // the folder may be all that was lost
		d, err := db.Open(ctx, db.Config{URL: a.config.Database, Logger: a.log})
		if err != nil {
			return err
		}
		users, err := countUsers(ctx, d)
		if err = errors.Join(err, d.Close()); err != nil || users > 0 {
			return err
		}
	}
	folder, err := filepath.Abs(a.config.Data)
	if err != nil {
		folder = a.config.Data
	}
	return fmt.Errorf("there is no instance of Tenon in %s: its key %s is not there (name the folder with --data; "+
		"\"tenon serve\" makes an instance; restore the key of an existing one from a backup)", folder, secret.KeyFile)
}

// lock takes a file for this server alone: a second server on one data folder would settle
// the pushes and merges that this one has in flight. The kernel lets go of it however we end.
// The file says which process has it.
func (a *App) lock(ctx context.Context, path string, patience time.Duration) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			if err := sign(f, instance.This(a.config.Data, time.Now())); err != nil {
				a.log.Warn("write into lock file", "error", err) // only the next one to be refused misses it
			}
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		select {
		case <-ticks.C:
			continue
		case <-ctx.Done():
		}
		err = fmt.Errorf("another server runs on it%s: stop that one, or choose another folder with --data and another database with --database", signature(f))
		break
	}
	return nil, errors.Join(err, f.Close())
}

// sign writes into a locked file which process has it.
func sign(f *os.File, by instance.Server) error {
	text, err := json.Marshal(by)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// signature names the process that a locked file tells of, "" where it tells of none.
func signature(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<14))
	var by instance.Server
	if err != nil || json.Unmarshal(text, &by) != nil || by.PID == 0 {
		return ""
	}
	return " (" + by.String() + ")"
}
