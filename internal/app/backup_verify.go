package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"tenon/internal/base/config"
)

// VerifyBackup restores a backup into a new folder below scratch ("" is the system's one for
// temporary files), with a database there, checks everything and removes the folder again.
func VerifyBackup(ctx context.Context, log *slog.Logger, build Build, file, scratch string, tell func(string)) (_ *Restored, err error) {
	dir, err := os.MkdirTemp(scratch, "tenon-verify-")
	if err != nil {
		return nil, fmt.Errorf("verify backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data := filepath.Join(dir, "data")
	c := &config.Config{Data: data, Database: "sqlite:" + filepath.Join(data, "tenon.db"), HTTP: "127.0.0.1:0"}
	return Restore(ctx, c, log, build, RestoreInput{File: file, Fsck: true}, tell)
}
