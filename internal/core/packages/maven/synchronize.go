package maven

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

// synchronize is the job that takes versions out of the metadata of a package which are not there any more, or builds out of that of a snapshot.
type synchronize struct {
	Project project.ID `json:"project"`
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"` // of a snapshot; "" is the metadata of the versions
}

// Kind names the job.
func (synchronize) Kind() string { return "maven_metadata" }

// RegisterJobs has the metadata of versions follow what is deleted.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.synchronize, job.On(job.Maintenance), job.Unique(), job.Timeout(5*time.Minute))
}

// Subscribe has a job look at the metadata of a package when a version is deleted, or its last file, and at that of a snapshot when a file of it is.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "Maven metadata", func(ctx context.Context, e packages.Deleted) error {
		k := e.Before
		if k.Kind != packages.Maven || k.Version == nil {
			return nil
		}
		return s.Jobs.Enqueue(ctx, synchronize{Project: k.ProjectID, Name: k.Name})
	})
	event.On(b, "Maven metadata", func(ctx context.Context, e packages.FileDeleted) error {
		of, err := db.Get[emptied](ctx, s.DB, `SELECT k.name, k.version, NOT EXISTS (SELECT 1 FROM package_files f WHERE f.package_id = k.id) AS whole
			FROM packages k WHERE k.id = ? AND k.kind = ? AND k.version IS NOT NULL`, e.Before.PackageID, packages.Maven)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find package of deleted file: %w", err)
		}
		args := synchronize{Project: e.Before.ProjectID, Name: of.Name}
		if !of.Whole {
			if args.Version = of.Version; !strings.HasSuffix(of.Version, snapshot) || strings.HasPrefix(e.Before.Name, metadata) {
				return nil
			}
		}
		return s.Jobs.Enqueue(ctx, args)
	})
}

// emptied is a version that lost a file.
type emptied struct {
	Name    string `db:"name"`
	Version string `db:"version"`
	Whole   bool   `db:"whole"` // it was the last one
}

// errReplaced says that a client has deployed since the metadata was read.
var errReplaced = errors.New("the metadata was deployed again")

// synchronize publishes metadata without the versions, or the builds of a snapshot, that are not there; where none is left, the metadata is deleted as
// well. What is no metadata is left alone.
func (s *Service) synchronize(ctx context.Context, args synchronize) error {
	found, err := s.Projects.Load(ctx, []project.ID{args.Project})
	if err != nil {
		return err
	}
	p := found[args.Project]
	if p == nil {
		return nil
	}
	at := &location{name: args.Name, file: metadata}
	if args.Version != "" {
		at.version = &args.Version
	}
	f, err := s.newest(ctx, authz.System(), p.Place(), at)
	if err != nil || f == nil {
		return err
	}
	text, err := s.textOf(ctx, f)
	if err != nil {
		return err
	}
	d, err := parse(text)
	if err != nil {
		s.Log.WarnContext(ctx, "Maven metadata is left as it is", "project_id", p.ID, "package_name", args.Name, "error", err)
		return nil
	}
	next, err := s.current(ctx, args, f, d)
	if err != nil || next == nil {
		return err
	}
	if next.empty {
		return errs.Wrap(s.drop(ctx, p, args, f), "delete metadata of nothing")
	}
	_, err = s.Packages.Publish(ctx, authz.System(), p, packages.Upload{Kind: packages.Maven, Name: args.Name, Version: at.version, File: metadata, End: func(ctx context.Context, u *packages.Upload, k *packages.Package, _ *packages.File) error {
		return s.rewrite(ctx, u, k, f.ID)
	}}, bytes.NewReader(next.text))
	return errs.Wrap(err, "synchronize Maven metadata") // a job that failed comes again, and reads what was deployed
}

// renewed is metadata without what is not there.
type renewed struct {
	text  []byte
	empty bool // nothing is left of it
}

// current returns metadata as it should be; nil where it is so.
func (s *Service) current(ctx context.Context, args synchronize, f *packages.File, d *document) (*renewed, error) {
	moment := s.Now().UTC().Format("20060102150405")
	if args.Version != "" {
		there, err := db.Select[string](ctx, s.DB, "SELECT DISTINCT f.name FROM package_files f WHERE f.package_id = ? ORDER BY f.name", f.PackageID) // 10,000 at most
		if err != nil {
			return nil, fmt.Errorf("list files of snapshot: %w", err)
		}
		if text, left, changed := d.keepBuilds(path.Base(args.Name), args.Version, there, moment); changed {
			return &renewed{text, left == 0}, nil
		}
		return nil, nil
	}
	there, err := s.present(ctx, args.Project, args.Name, d.versions)
	if err != nil {
		return nil, err
	}
	if text, left, changed := d.keep(func(version string) bool { return there[version] }, moment); changed {
		return &renewed{text, len(left) == 0}, nil
	}
	return nil, nil
}

// drop deletes metadata of nothing: the package that it is alone in, or of a snapshot the file with what clients have uploaded of it.
func (s *Service) drop(ctx context.Context, p *project.Project, args synchronize, f *packages.File) error {
	if args.Version == "" {
		return s.Packages.Delete(ctx, authz.System(), p, f.PackageID)
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		ids, err := db.Select[packages.FileID](ctx, s.DB, "SELECT f.id FROM package_files f WHERE f.package_id = ? AND (f.name = ? OR f.name LIKE ?) ORDER BY f.id LIMIT 100",
			f.PackageID, metadata, metadata+".%")
		if err != nil {
			return fmt.Errorf("list files of metadata: %w", err)
		}
		for _, id := range ids {
			if err := s.Packages.DeleteFile(ctx, authz.System(), p, f.PackageID, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// textOf reads a file of metadata; one that is too large reads as a document that is none.
func (s *Service) textOf(ctx context.Context, f *packages.File) ([]byte, error) {
	if f.Size > maxMetadata {
		return []byte("<"), nil
	}
	o, err := s.Packages.OpenUnseen(ctx, f)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(o, maxMetadata))
	return text, errors.Join(err, o.Close())
}

const versionBatch = 500 // of one statement

// present are those of the versions of a package that have files.
func (s *Service) present(ctx context.Context, p project.ID, name string, versions []element) (map[string]bool, error) {
	out := map[string]bool{}
	for part := range slices.Chunk(versions, versionBatch) {
		var w db.Where
		w.And("k.project_id = ?", p)
		w.And("k.kind = ?", packages.Maven)
		w.And("k.name = ?", name)
		w.In("k.status", append(packages.Installable(), packages.Hidden))
		texts := make([]string, len(part))
		for i := range part {
			texts[i] = part[i].text
		}
		w.In("k.version", texts)
		w.Raw("EXISTS (SELECT 1 FROM package_files f WHERE f.package_id = k.id)")
		found, err := db.Select[string](ctx, s.DB, "SELECT k.version FROM packages k"+w.SQL()+" ORDER BY k.id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("look for versions of Maven package: %w", err)
		}
		for _, v := range found {
			out[v] = true
		}
	}
	return out, nil
}

// rewrite removes the metadata that was read, with the digests and signatures of it that clients have uploaded.
func (s *Service) rewrite(ctx context.Context, _ *packages.Upload, k *packages.Package, read packages.FileID) error {
	newest, err := db.Get[packages.FileID](ctx, s.DB, "SELECT f.id FROM package_files f WHERE f.package_id = ? AND f.name = ? ORDER BY f.id DESC LIMIT 1", k.ID, metadata)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("find metadata: %w", err)
	}
	if newest != read {
		return errReplaced
	}
	_, err = s.DB.Exec(ctx, "DELETE FROM package_files WHERE package_id = ? AND (name = ? OR name LIKE ?)", k.ID, metadata, metadata+".%")
	return errs.Wrap(err, "delete replaced metadata")
}
