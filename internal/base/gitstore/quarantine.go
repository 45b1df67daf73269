package gitstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"
	"tenon/internal/base/intx"
)

// Quarantine is a folder of new objects that the repository does not see before
// Commit. Its embedded view reads both and writes into the folder.
type Quarantine struct {
	*Repo
	done bool
}

// Quarantine opens an empty quarantine. End it with Commit or Discard; Discard after
// Commit does nothing, so it may be deferred. Housekeeping deletes what a crash leaves.
func (r *Repo) Quarantine(ctx context.Context) (*Quarantine, error) {
	intx.MustNot(ctx, "a repository is changed")
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open quarantine: %w", err)
	}
	// git prune knows this prefix. The folder is made when it is needed.
	dir := filepath.Join(r.path, "objects", "tmp_objdir-tenon-"+rand.Text())
	return &Quarantine{Repo: &Repo{store: r.store, path: r.path, objects: dir, staging: &staging{}}}, nil
}

// With returns a view of the repository that reads the objects of another one as well. It
// is for reading only.
func (r *Repo) With(other *Repo) *Repo {
	return &Repo{store: r.store, path: r.path, objects: other.objectDir()}
}

// ArrivedBytes returns the bytes of the objects that only this view sees: those of a
// quarantine, 0 for a repository itself.
func (r *Repo) ArrivedBytes() (int64, error) {
	if r.objects == "" {
		return 0, nil
	}
	sum := int64(0)
	if r.staging != nil {
		r.staging.mu.Lock()
		sum = int64(r.staging.size)
		made := r.staging.made
		r.staging.mu.Unlock()
		if !made {
			return sum, nil
		}
	}
	bytes, err := folderBytes(r.objects)
	return sum + bytes, err
}

// ArrivingBytes returns the bytes of each quarantine of the repository on the disk, by its
// folder, as NewObjects names it.
func (r *Repo) ArrivingBytes(ctx context.Context) (map[string]int64, error) {
	objects := filepath.Join(r.path, "objects")
	entries, err := os.ReadDir(objects)
	if err != nil {
		return nil, fmt.Errorf("measure quarantines: %w", err)
	}
	out := map[string]int64{}
	for _, e := range entries {
		dir := filepath.Join(objects, e.Name())
		if !incoming(e) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("measure quarantines: %w", err)
		}
		bytes, err := folderBytes(dir)
		if err != nil {
			return nil, err
		}
		out[dir] = bytes
	}
	return out, nil
}

// folderBytes adds up the files below a folder; what goes away meanwhile does not count.
func folderBytes(dir string) (int64, error) {
	sum := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure quarantine: %w", err)
	}
	return sum, nil
}

// Commit makes the objects part of the repository, durably. Objects that others need
// come first: a crash in between leaves nothing that lacks what it names.
func (q *Quarantine) Commit(ctx context.Context) error {
	if q.done {
		return fmt.Errorf("commit quarantine: %w", ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit quarantine: %w", err)
	}
	if q.staging.made {
		files, err := objectFiles(q.objects)
		if err != nil {
			return fmt.Errorf("commit quarantine: %w", err)
		}
		if err := q.migrate(files); err != nil {
			return fmt.Errorf("commit quarantine: %w", err)
		}
	}
	if err := q.settle(ctx); err != nil { // after the files: they were written before
		return fmt.Errorf("commit quarantine: %w", err)
	}
	q.done = true
	return q.clear()
}

// Discard throws the objects away.
func (q *Quarantine) Discard() error {
	if q.done {
		return nil
	}
	q.done = true
	return q.clear()
}

func (q *Quarantine) clear() error {
	if !q.staging.made {
		return nil
	}
	if err := os.RemoveAll(q.objects); err != nil {
		return fmt.Errorf("remove quarantine: %w", err)
	}
	return nil
}

// objectFiles lists the files of an objects folder, relative to it: packs before their
// indexes, as an index makes its pack visible.
func objectFiles(objects string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(objects, path)
		if err != nil {
			return err
		}
		name := d.Name()
		if d.Type().IsRegular() && !strings.HasPrefix(name, "tmp_") && !strings.HasPrefix(rel, "info"+string(filepath.Separator)) {
			files = append(files, rel)
		}
		return nil
	})
	sort.SliceStable(files, func(i, j int) bool { return migrateRank(files[i]) < migrateRank(files[j]) })
	return files, err
}

func migrateRank(name string) int {
	switch filepath.Ext(name) {
	case ".pack", ".rev", ".keep", ".promisor":
		return 1
	case ".idx":
		return 2
	default:
		return 0
	}
}

func (q *Quarantine) migrate(files []string) error {
	var syncs errgroup.Group
	syncs.SetLimit(8)
	for _, name := range files {
		syncs.Go(func() error { return syncFile(filepath.Join(q.objects, name)) })
	}
	if err := syncs.Wait(); err != nil {
		return err
	}
	to := filepath.Join(q.path, "objects")
	place := placeIn(to)
	for _, name := range files {
		if err := place.put(filepath.Join(q.objects, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return place.sync()
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
