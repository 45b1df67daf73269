package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/instance"
)

// hold keeps other servers off the database until Close, and refuses a database that belongs
// to another data folder.
func (a *App) hold(ctx context.Context) error {
	if err := a.takeDatabase(ctx); err != nil {
		return err
	}
	return a.match(ctx)
}

// takeDatabase keeps other servers off the database until Close. Of a file that is not in the
// data folder, which is locked already, it locks a file beside it.
func (a *App) takeDatabase(ctx context.Context) error {
	a.self = instance.This(a.config.Data, a.now())
	if path, ok := strings.CutPrefix(a.config.Database, "sqlite:"); ok && !below(path, a.config.Data) {
		unlock, err := a.lock(ctx, path+".lock", lockPatience)
		if err != nil {
			return fmt.Errorf("lock database %s: %w", path, err)
		}
		a.closing(func(context.Context) error { return unlock() })
	}
	var err error
	if a.held, err = instance.Take(ctx, a.db, a.self, a.db.Place(), lockPatience, a.log); err != nil {
		return err
	}
	a.closing(a.held.Close)
	return nil
}

// below reports whether a path is below a folder.
func below(path, folder string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}

// match refuses a data folder and a database of different instances.
func (a *App) match(ctx context.Context) error {
	f, err := facts(ctx, a.db, a.config.Data)
	if err != nil {
		return err
	}
	return instance.Match(ctx, a.db, f)
}

// facts says what a data folder and a database have.
func facts(ctx context.Context, d *db.DB, folder string) (instance.Facts, error) {
	f := instance.Facts{Folder: folder, Database: d.Place()}
	users, err := countUsers(ctx, d)
	if err != nil {
		return f, fmt.Errorf("count users: %w", err)
	}
	f.Used = users > 0
	entries, err := os.ReadDir(filepath.Join(folder, "repositories"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("look for repositories: %w", err)
	}
	f.Filled = len(entries) > 0
	return f, nil
}

// adopt gives a folder without an id that of the database: the folder was lost, and the
// operator named another one for it.
func (a *App) adopt(ctx context.Context) error {
	id, err := instance.ReadID(a.config.Data)
	if err != nil || id != "" {
		return err
	}
	row, err := instance.Find(ctx, a.db)
	if err != nil || row == nil {
		return err
	}
	return instance.WriteID(a.config.Data, row.ID)
}

// tellMissing logs how many repositories of projects are not there.
func (a *App) tellMissing(ctx context.Context) {
	found, err := a.core.Repos.MissingAtRest(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.Warn("look for missing repositories", "error", err)
	case found.Count > 0:
		a.log.Error("repositories of projects are missing: mount the disk that has them, or restore them from a backup",
			"missing", found.Count, "projects", found.Projects, "first", found.Paths, "folder", filepath.Join(a.config.Data, "repositories"),
			"list_all_with", "tenon admin repo check --data "+a.config.Data)
	}
}
