package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tenon/internal/base/backup"
	"tenon/internal/base/config"
	"tenon/internal/transport/admin"
)

// AdminBackupCreate is the command that returns the archive of a backup.
const AdminBackupCreate = "backup create"

// adminStreams are the commands that give bytes.
func (a *App) adminStreams() map[string]admin.Streamer {
	return map[string]admin.Streamer{
		AdminBackupCreate: func(ctx context.Context, text json.RawMessage, out io.Writer, tell func(string)) (any, error) {
			var in BackupInput
			if err := json.Unmarshal(text, &in); err != nil {
				return nil, fmt.Errorf("read arguments: %w", err)
			}
			return a.backup(ctx, in, out, tell)
		},
		AdminAuditExport: func(ctx context.Context, text json.RawMessage, out io.Writer, tell func(string)) (any, error) {
			var in AuditInput
			if err := json.Unmarshal(text, &in); err != nil {
				return nil, fmt.Errorf("read arguments: %w", err)
			}
			return a.adminAuditExport(ctx, in, out, tell)
		},
	}
}

// BackupInput says what a backup has.
type BackupInput struct {
	SecretKey bool `json:"secret_key"` // the key that encrypts stored secrets and the SSH host keys, too
}

// BackupTarget says where a backup goes.
type BackupTarget struct {
	BackupInput
	File string    // "-" is Out
	Out  io.Writer // for "-"
}

// BackupMade says what a new backup holds.
type BackupMade struct {
	File  string   `json:"file"`
	Size  int64    `json:"size"`  // of the file
	Bytes int64    `json:"bytes"` // before compression
	Parts int      `json:"parts"`
	Notes []string `json:"notes"` // what is not as it should be
}

// CreateBackup makes a backup of the data of c, through the server that runs on it or, where
// none does, right here. The file belongs to the caller, appears whole and durable, and can
// be read by no other user; a backup that had its name is replaced only then.
func CreateBackup(ctx context.Context, c *config.Config, log *slog.Logger, build Build, to BackupTarget, tell func(string)) (*BackupMade, error) {
	take := func(out io.Writer) (*BackupMade, error) {
		counted := &counter{to: out}
		z, err := backup.NewCompressor(counted)
		if err != nil {
			return nil, err
		}
		m := new(backup.Manifest)
		if err := Administer(ctx, c, log, build, Order{Command: AdminBackupCreate, Args: to.BackupInput, Result: m, Out: z, Tell: tell}); err != nil {
			z.Abort()
			return nil, err
		}
		if err := z.Close(m); err != nil {
			return nil, err
		}
		return &BackupMade{File: to.File, Size: counted.n, Bytes: m.Bytes, Parts: len(m.Parts), Notes: m.Notes}, nil
	}
	if to.File == "-" {
		return take(to.Out)
	}
	return toFile(to.File, take)
}

// partial ends the name of a file that is being written.
const partial = ".partial"

// toFile has a file written under another name first.
func toFile(name string, take func(io.Writer) (*BackupMade, error)) (_ *BackupMade, err error) {
	if err := replaceable(name); err != nil {
		return nil, err
	}
	dir, base := filepath.Split(name)
	dir = filepath.Clean(dir)
	if err := sweepPartial(dir, base); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "."+base+".*"+partial) // mode 0600
	if err != nil {
		return nil, fmt.Errorf("make backup: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock backup: %w", err)
	}
	made, err := take(f)
	if err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("write backup: %w", err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return nil, fmt.Errorf("name backup: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("write backup: %w", err)
	}
	return made, syncFolder(dir)
}

// replaceable refuses to replace what is no backup.
func replaceable(name string) error {
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := backup.Open(name)
	if err != nil {
		return fmt.Errorf("%s is there and no backup, so it is not replaced: name another file (%w)", name, err)
	}
	return f.Close()
}

// sweepPartial removes what a command that was killed left of the file of this name. What is
// locked is being written.
func sweepPartial(dir, base string) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	for _, e := range left {
		if !strings.HasPrefix(e.Name(), "."+base+".") || !strings.HasSuffix(e.Name(), partial) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // it has just got its name, or is another user's
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(f.Name())
		}
		_ = f.Close()
	}
	return nil
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

type counter struct {
	to io.Writer
	n  int64
}

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// ListedBackup is a backup in a folder.
type ListedBackup struct {
	File      string    `json:"file"`
	CreatedAt time.Time `json:"created_at"`
	Size      int64     `json:"size"` // of the file
	Version   string    `json:"version"`
	Engine    string    `json:"engine"`
	SecretKey bool      `json:"secret_key"`
	Complete  bool      `json:"complete"` // its end is there; only verifying reads all of it
	Notes     int       `json:"notes"`    // how many its manifest has
}

// ListBackups looks at the files of a folder. What is no backup is left out.
func ListBackups(dir string) ([]ListedBackup, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	out := []ListedBackup{}
	for _, e := range files {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := backup.Open(filepath.Join(dir, e.Name()))
		if errors.Is(err, backup.ErrNoBackup) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		b := ListedBackup{
			File: e.Name(), CreatedAt: f.CreatedAt, Size: f.Size, Version: f.Version, Engine: f.Engine, SecretKey: f.SecretKey, Complete: f.Tail != nil,
		}
		if f.Tail != nil {
			b.Notes = f.Tail.Notes
		}
		out = append(out, b)
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
	}
	return out, nil
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d kB", (n+1023)>>10)
}
