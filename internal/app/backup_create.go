package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"tenon/internal/base/backup"
	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/importexport"
	"tenon/internal/core/repo"
)

// Parts of a backup: the beginning of their names.
const (
	partKey      = "key/secret"
	partHostKeys = "key/ssh"
	partTables   = "database/"
	partIDs      = "ids/last"
	partJobs     = "jobs/waiting"
	partPools    = "pools/"
	partProjects = "repositories/"
	partAttached = "attached/" // repositories of wikis and snippets
	partObjects  = "objects/"
)

// rowsAtOnce is how many bytes of rows an entry has at least, but for the last of a table.
const rowsAtOnce = 1 << 20

// backup writes the archive of a backup. The database comes first, in one snapshot: what
// its rows name is in the repositories and objects, which are read after it. A repository
// whose deletion was under way or begins meanwhile may be missing; restoring finishes that.
func (a *App) backup(ctx context.Context, in BackupInput, out io.Writer, tell func(string)) (*backup.Manifest, error) {
	if !a.backingUp.TryLock() {
		return nil, errs.Plain("another backup is being made; try again when it is done")
	}
	defer a.backingUp.Unlock()
	if err := a.git.SweepExports(); err != nil {
		return nil, err
	}
	b := &backupRun{a: a, tell: tell, progress: progress{tell: tell}}
	var all []repo.Stored
	if err := a.db.Snapshot(ctx, func(ctx context.Context) error {
		if err := b.begin(ctx, in, out); err != nil {
			return err
		}
		if err := b.database(ctx); err != nil {
			return err
		}
		var err error
		all, err = a.core.Repos.Inventory(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("back up database: %w", err)
	}
	if err := b.repositories(ctx, all); err != nil {
		return nil, fmt.Errorf("back up repositories: %w", err)
	}
	if err := b.objects(ctx); err != nil {
		return nil, fmt.Errorf("back up objects: %w", err)
	}
	return b.w.Close()
}

// backupRun is a backup that is being written.
type backupRun struct {
	a        *App
	w        *backup.Writer
	tell     func(string)
	progress progress
}

func (b *backupRun) begin(ctx context.Context, in BackupInput, out io.Writer) error {
	head := backup.Head{
		ID: blob.Random(), CreatedAt: b.a.now().UTC(), Version: b.a.build.Version, Revision: b.a.build.Revision,
		Engine: b.a.db.Dialect().Name(), SecretKey: in.SecretKey, Instance: b.a.id,
	}
	steps, err := b.a.db.Migrations(ctx)
	if err != nil {
		return err
	}
	for _, s := range steps {
		head.Schema = append(head.Schema, backup.Step(s))
	}
	if b.w, err = backup.NewWriter(out, head); err != nil || !in.SecretKey {
		return err
	}
	return b.keys()
}

// database writes every table, the last ids, and the jobs that wait.
func (b *backupRun) database(ctx context.Context) error {
	tables, err := b.a.db.DumpTables(ctx)
	if err != nil {
		return err
	}
	for i, t := range tables {
		b.progress.line(int64(i), int64(len(tables)), "database: table %d of %d (%s), %s so far", i+1, len(tables), t.Name, size(b.w.Bytes()))
		head, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if err := b.w.Put(partTables+t.Name+"/table.json", int64(len(head)), bytes.NewReader(head)); err != nil {
			return err
		}
		rows := b.chunks(partTables + t.Name)
		if err := b.a.db.DumpRows(ctx, t, rows.add); err != nil {
			return err
		}
		if err := rows.flush(); err != nil {
			return err
		}
	}
	last, err := b.a.db.LastIDs(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	if err := b.w.Put(partIDs+"/ids.json", int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	jobs := b.chunks(partJobs)
	if err := job.Save(ctx, b.a.db, func(s job.Saved) error {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return jobs.add(append(line, '\n'))
	}); err != nil {
		return err
	}
	return jobs.flush()
}

// chunks gathers lines to entries of bounded size.
type chunks struct {
	w      *backup.Writer
	part   string
	buffer bytes.Buffer
	number int
}

func (b *backupRun) chunks(part string) *chunks { return &chunks{w: b.w, part: part} }

func (c *chunks) add(line []byte) error {
	c.buffer.Write(line)
	if c.buffer.Len() < rowsAtOnce {
		return nil
	}
	return c.flush()
}

func (c *chunks) flush() error {
	if c.buffer.Len() == 0 {
		return nil
	}
	c.number++
	err := c.w.Put(fmt.Sprintf("%s/%06d.jsonl", c.part, c.number), int64(c.buffer.Len()), &c.buffer)
	c.buffer.Reset()
	return err
}

// repositories writes the pools and then the projects of the snapshot.
func (b *backupRun) repositories(ctx context.Context, all []repo.Stored) error {
	pools := map[int64]bool{}
	for i, st := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.progress.line(int64(i), int64(len(all)), "repositories: %d of %d (%s), %s so far", i+1, len(all), st, size(b.w.Bytes()))
		prefix := partOf(st) + "/"
		began := b.w.Bytes()
		err := b.a.core.Repos.Export(ctx, st, pools, func(name string, size int64, content io.Reader) error {
			return b.w.Put(prefix+name, size, content)
		})
		switch {
		case err == nil:
			pools[st.ID] = pools[st.ID] || st.Pool()
		case errors.Is(err, gitstore.ErrNotFound) && b.w.Bytes() == began:
			if err := b.missing(ctx, st); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// partOf names the part of a backup that has a repository.
func partOf(st repo.Stored) string {
	switch {
	case st.Pool():
		return partPools + strconv.FormatInt(st.ID, 10)
	case st.Attached != "":
		return partAttached + string(st.Attached)
	}
	return partProjects + strconv.FormatInt(st.ID, 10)
}

// missing notes a repository that is not there.
func (b *backupRun) missing(ctx context.Context, st repo.Stored) error {
	if st.Pool() || st.Attached != "" { // nothing borrows from it any more; it was never opened, or went meanwhile
		return nil
	}
	deleted, err := b.a.core.Repos.Deleted(ctx, st.ID)
	switch {
	case err != nil:
		return err
	case deleted:
		b.w.Deleted(st.ID)
		b.w.Note(fmt.Sprintf("%s was deleted while the backup was made", st.Path))
	default:
		b.w.Note(fmt.Sprintf("%s has no repository on disk", st.Path))
	}
	return nil
}

// objects writes the files that people gave. What goes meanwhile is left out.
func (b *backupRun) objects(ctx context.Context) error {
	n := 0
	for info, err := range b.a.objects.List(ctx, "") {
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(info.Key, "/")
		if first == importexport.Objects || first == importexport.Uploaded {
			continue
		}
		n++
		b.progress.line(0, 0, "objects: %d, %s so far", n, size(b.w.Bytes()))
		o, err := b.a.objects.Open(ctx, info.Key)
		if errors.Is(err, blob.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = b.w.Put(partObjects+first+"/"+info.Key, o.Size, o)
		if err := errors.Join(err, o.Close()); err != nil {
			return err
		}
	}
	return ctx.Err()
}
