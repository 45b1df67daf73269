package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sweep is the job that removes what crashes have left in repositories.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "repository_sweep" }

// SweepAll looks into every repository for locks and for objects that never came in and
// belong to no project any more. It costs a look at a few folders for each.
func (s *Service) SweepAll(ctx context.Context, _ Sweep) error {
	var freed int64
	for _, folder := range []string{"@hashed", poolFolder, attachedFolder} {
		root := s.Git.Repo(folder).Path()
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, os.ErrNotExist):
				return nil
			case err == nil:
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			if !d.IsDir() || !strings.HasSuffix(path, ".git") {
				return nil
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			n, err := s.Git.Repo(filepath.ToSlash(filepath.Join(folder, rel))).Sweep(ctx, s.Now())
			freed += n
			if err != nil {
				return err
			}
			return fs.SkipDir
		})
		if err != nil {
			return fmt.Errorf("sweep repositories: %w", err)
		}
	}
	if err := s.SweepAttached(ctx, AttachedSweep{}); err != nil {
		return err
	}
	if freed > 0 {
		s.Log.Info("removed objects that never came in", "bytes", freed)
	}
	return nil
}
