package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"tenon/internal/base/backup"
	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/core/audit"
	"tenon/migrations"
)

// RestoreInput says what is restored, and how.
type RestoreInput struct {
	File string
	Fsck bool // read every object of every repository in the end
}

// Restored says what was restored.
type Restored struct {
	CreatedAt    string   `json:"created_at"` // of the backup
	Version      string   `json:"version"`    // of the program that made it
	Rows         int64    `json:"rows"`
	Repositories int      `json:"repositories"`
	Objects      int      `json:"objects"`
	Bytes        int64    `json:"bytes"`
	Key          bool     `json:"secret_key"` // whether the key was in the backup
	HostKeys     int      `json:"host_keys"`  // how many of those of SSH were
	Notes        []string `json:"notes"`      // of the backup, and what restoring left out
	Checked      Checked  `json:"check"`
}

// restoring is the file that marks a data folder whose restore has not ended.
const restoring = "restoring"

// Restore fills an empty data folder and an empty database, those of c, from a backup.
// Nothing is written before all of the file has been compared with its manifest. A restore
// that did not end leaves a mark: servers refuse the folder, and another restore into it
// begins from nothing.
func Restore(ctx context.Context, c *config.Config, log *slog.Logger, build Build, in RestoreInput, tell func(string)) (_ *Restored, err error) {
	f, err := backup.Open(in.File)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	schema, err := schemaOf(f.Head)
	if err != nil {
		return nil, err
	}
	p := &progress{tell: tell}
	m, err := f.Verify(ctx, func(done, all int64) { p.line(done, all, "reading the backup: %s of %s", size(done), size(all)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.File, err)
	}
	r := &restore{
		App: &App{config: c, build: build, log: log, now: time.Now}, file: f, manifest: m, schema: schema, progress: p,
		out: &Restored{CreatedAt: f.CreatedAt.Format("2006-01-02T15:04:05Z"), Version: f.Version, Bytes: m.Bytes, Key: f.SecretKey, Notes: m.Notes},
	}
	defer func() { err = r.startError(errors.Join(err, r.Close(context.WithoutCancel(ctx)))) }()
	if err := r.all(ctx, in); err != nil {
		return nil, err
	}
	return r.out, nil
}

// restore is a restore in progress.
type restore struct {
	*App
	file     *backup.File
	manifest *backup.Manifest
	schema   fs.FS // the migrations that the backup has
	from     *backup.Reader
	progress *progress
	out      *Restored
}

func (r *restore) all(ctx context.Context, in RestoreInput) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	var err error
	if r.from, err = r.file.Reader(r.manifest); err != nil {
		return err
	}
	r.closing(func(context.Context) error {
		r.from.Close()
		return nil
	})
	for _, step := range []func(context.Context) error{r.keys, r.database, r.assembled, r.resume, r.files, r.settle} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	if r.out.Checked, err = r.adminCheck(ctx, CheckInput{Fsck: in.Fsck, Repair: true}, r.progress.tell); err != nil {
		return err
	}
	if err := errors.Join(r.objects.Sync(ctx), r.git.Sync()); err != nil {
		return err
	}
	return r.end()
}

// begin takes the folder, which must be empty, and marks it.
func (r *restore) begin(ctx context.Context) error {
	dir := r.config.Data
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w (choose another one with --data)", err)
	}
	unlock, err := r.lock(ctx, filepath.Join(dir, "lock"), 0)
	if err != nil {
		return fmt.Errorf("lock data folder %s: %w", dir, err)
	}
	r.closing(func(context.Context) error { return unlock() })
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	again := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == restoring })
	for _, e := range entries {
		switch {
		case e.Name() == "lock" || e.Name() == restoring:
		case !again:
			return fmt.Errorf("restore into an empty folder: %s has %s (name another one with --data)", dir, e.Name())
		default: // of a restore that did not end
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return err
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < r.manifest.Bytes {
		return fmt.Errorf("the backup needs %s, and the disk of %s has %s", size(r.manifest.Bytes), dir, size(free))
	}
	text := "A backup is being restored into this folder, or that was interrupted: restore it again.\n"
	if err := renameio.WriteFile(filepath.Join(dir, restoring), []byte(text), 0o600); err != nil {
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}

// end removes the mark.
func (r *restore) end() error {
	if err := os.Remove(filepath.Join(r.config.Data, restoring)); err != nil {
		return fmt.Errorf("end restore: %w", err)
	}
	return syncFolder(r.config.Data)
}

// unfinished refuses a data folder with the mark of a restore.
func (a *App) unfinished() error {
	if _, err := os.Lstat(filepath.Join(a.config.Data, restoring)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("a backup was being restored into %s and that did not end: restore it again with \"tenon admin backup restore\"", a.config.Data)
}

// schemaOf returns the migrations that the schema of a backup has, which must be the first of
// this program's.
func schemaOf(head backup.Head) (fs.FS, error) {
	own, err := db.Steps(migrations.FS)
	if err != nil {
		return nil, err
	}
	for i, s := range head.Schema {
		if i >= len(own) {
			return nil, fmt.Errorf("the backup is newer than this program: its database has %s (restore it with Tenon %s or later)", s.Name, head.Version)
		}
		if own[i] != db.Migration(s) {
			return nil, fmt.Errorf("the backup is of another program: its %s is not the one of this program (Tenon %s made it)", s.Name, head.Version)
		}
	}
	if len(head.Schema) == 0 {
		return nil, errors.New("the backup has no schema")
	}
	return firstFiles{migrations.FS, head.Schema}, nil
}

// firstFiles are some of the files of a folder.
type firstFiles struct {
	fs.FS
	steps []backup.Step
}

// Glob names them.
func (f firstFiles) Glob(string) ([]string, error) {
	names := make([]string, len(f.steps))
	for i, s := range f.steps {
		names[i] = s.Name
	}
	return names, nil
}

// database fills the database and brings its schema up to date.
func (r *restore) database(ctx context.Context) error {
	var err error
	if r.db, err = db.Open(ctx, db.Config{URL: r.config.Database, Logger: r.log}); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	r.closing(func(context.Context) error { return r.db.Close() })
	if err := r.takeDatabase(ctx); err != nil {
		return err
	}
	if err := r.db.Vacant(ctx); err != nil {
		return fmt.Errorf("%w (restore into a new one)", err)
	}
	return r.db.Loosely(ctx, func() error {
		if err := job.Migrate(ctx, r.db); err != nil {
			return err
		}
		if err := r.db.Migrate(ctx, r.schema); err != nil {
			return err
		}
		if err := r.db.Load(ctx, r.tables); err != nil {
			return err
		}
		if err := r.migrate(ctx); err != nil {
			return err
		}
		if err := audit.Trust(ctx, r.db); err != nil {
			return err
		}
		if err := r.adopt(ctx); err != nil {
			return err
		}
		return r.db.Analyze(ctx)
	})
}

// tables loads every table of the schema, each exactly once, and the last ids.
func (r *restore) tables(ctx context.Context, l *db.Loader) error {
	want, err := r.db.DumpTables(ctx)
	if err != nil {
		return err
	}
	loaded := map[string]bool{}
	for {
		e, err := r.from.Next()
		if err != nil {
			return err
		}
		if e.Part == partIDs {
			break
		}
		name, ok := strings.CutPrefix(e.Part, partTables)
		if !ok || e.Name != "table.json" {
			return fmt.Errorf("%s/%s stands where a table should begin", e.Part, e.Name)
		}
		var t db.DumpTable
		if err := r.document(e, &t); err != nil {
			return err
		}
		if t.Name != name || loaded[name] {
			return fmt.Errorf("%s has the table %q", e.Part, t.Name)
		}
		loaded[name] = true
		rows := &jsonLines{from: r.from, part: e.Part}
		n, err := l.Rows(ctx, t, func() ([]byte, error) {
			r.progress.line(int64(len(loaded)-1), int64(len(want)), "database: %s (%d rows so far)", name, r.out.Rows)
			return rows.next()
		})
		r.out.Rows += n
		if err != nil {
			return err
		}
	}
	for _, t := range want {
		if !loaded[t.Name] {
			return fmt.Errorf("the backup does not have the table %s", t.Name)
		}
	}
	last := map[string]int64{}
	if err := r.document(&backup.Entry{Size: 0}, &last); err != nil {
		return err
	}
	return l.LastIDs(ctx, last)
}

// maxDocument bounds what is read into memory at once, in bytes: a row with the longest
// texts is far shorter.
const maxDocument = 64 << 20

func (r *restore) document(e *backup.Entry, into any) error {
	if e.Size > maxDocument {
		return fmt.Errorf("%s/%s has %d bytes", e.Part, e.Name, e.Size)
	}
	text, err := io.ReadAll(io.LimitReader(r.from, maxDocument))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s/%s: %w", e.Part, e.Name, err)
	}
	return nil
}

// jsonLines reads the lines of the entries of one part.
type jsonLines struct {
	from *backup.Reader
	part string
	in   *bufio.Reader
}

func (j *jsonLines) next() ([]byte, error) {
	for {
		if j.in != nil {
			line, err := j.in.ReadBytes('\n')
			if err == nil {
				return bytes.TrimSuffix(line, []byte("\n")), nil
			}
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			if len(line) > 0 {
				return nil, errors.New("a line of rows does not end")
			}
		}
		e, err := j.from.Peek()
		if err != nil {
			return nil, err
		}
		if e.Part != j.part {
			return nil, io.EOF
		}
		if _, err := j.from.Next(); err != nil {
			return nil, err
		}
		if e.Size > maxDocument || !strings.HasSuffix(e.Name, ".jsonl") {
			return nil, fmt.Errorf("%s/%s is no part of a table", e.Part, e.Name)
		}
		j.in = bufio.NewReader(j.from)
	}
}

// assembled builds the product over what is restored.
func (r *restore) assembled(ctx context.Context) error {
	if err := r.openFiles(ctx); err != nil {
		return err
	}
	r.addressed()
	return r.services(ctx)
}
