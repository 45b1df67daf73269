package packages

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
)

// Upload is one file that is about to be published in a version of a package.
type Upload struct {
	Kind    Kind
	Name    string
	Version *string // nil for files that are of all versions
	File    string
	Status  Status // of the package; "" leaves one that is there alone
	Limit   int64  // bytes; 0 is none

	// What a kind does beside that; each may be nil. The row has name, size and digests of the file.
	Arrived func(u *Upload, f *File) error                                  // when the content has arrived, before it is stored
	Begin   func(ctx context.Context, u *Upload) error                      // first in the transaction
	End     func(ctx context.Context, u *Upload, k *Package, f *File) error // when the version is there and locked, before the row of the file is written

	level *authz.Level // of who uploaded it, where that was before; nil is the level of the actor
}

// digests are what a file is known by.
type digests struct {
	md5, sha1, sha256 string
	size              int64
}

// errTooLarge is the refusal of a file that is larger than its kind may be.
var errTooLarge = errs.Bad("File is too large")

// stage reads a file to its end and computes what it is known by, once. Discard what it returns.
func (s *Service) stage(ctx context.Context, from io.Reader, limit int64) (*blob.Staged, *digests, error) {
	m, h := md5.New(), sha1.New()
	staged, err := s.Objects.Stage(ctx, io.TeeReader(from, io.MultiWriter(m, h)), blob.Wanted{Limit: limit})
	if errors.Is(err, blob.ErrTooLarge) {
		return nil, nil, errTooLarge
	}
	if err != nil {
		return nil, nil, err
	}
	return staged, &digests{
		md5: hex.EncodeToString(m.Sum(nil)), sha1: hex.EncodeToString(h.Sum(nil)), sha256: staged.SHA256, size: staged.Size,
	}, nil
}

// keep stores a file, and calls write in the transaction that names its object. The caller has asked for permission.
func (s *Service) keep(ctx context.Context, as authz.Actor, p *project.Project, from source, write func(ctx context.Context, f *File) error) error {
	staged, sums, err := s.stage(ctx, from.content, from.limit)
	if err != nil {
		return err
	}
	defer staged.Discard()
	f := &File{ProjectID: p.ID, Name: from.name, Size: sums.size, MD5: sums.md5, SHA1: sums.sha1, SHA256: sums.sha256}
	if from.arrived != nil {
		if err := from.arrived(f); err != nil {
			return err
		}
	}
	release, err := s.Quota.Reserve(ctx, quota.Storing{As: as, Subject: s.subject(p), Namespace: p.NamespaceID, Project: p.ID, Bytes: f.Size})
	if err != nil {
		return err
	}
	defer release()
	pipeline, err := s.pipelineOf(ctx, as)
	if err != nil {
		return err
	}
	// The sweep deletes no object between here and the end of the transaction that names it.
	c, err := s.claim(ctx, f.SHA256)
	if err != nil {
		return err
	}
	if c.Object != key(f.SHA256) {
		f.Object = c.Object
	}
	err = staged.Keep(ctx, c.Object)
	if err == nil {
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			there, err := s.release(ctx, c)
			if err != nil {
				return err
			}
			if !there {
				return errUnclaimed
			}
			now, row := db.At(s.Now()), *f
			row.PipelineID, row.CreatedAt, row.UpdatedAt = pipeline, now, now
			if as.SignedIn() {
				row.UserID = &as.UserID
			}
			return write(ctx, &row)
		})
	}
	if err != nil {
		_, _ = s.release(context.WithoutCancel(ctx), c) // else the sweep does
	}
	return err
}

// source is a file that arrives.
type source struct {
	content io.Reader
	name    string
	limit   int64               // bytes; 0 is none
	arrived func(f *File) error // before anything is stored; may be nil
}

// add writes the row of a file of a package.
func (s *Service) add(ctx context.Context, as authz.Actor, p *project.Project, k *Package, f *File) error {
	f.PackageID = k.ID
	bound := db.Bound{Table: "package_files", Most: maxFiles, Full: errs.Bad(fmt.Sprintf("Maximum number of files (%d) exceeded", maxFiles))}
	bound.Of.And("package_id = ?", k.ID)
	if err := db.Create(ctx, s.DB, "package_files", f, bound); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, FilePublished{change.Created(as, s.Now(), p.Place(), f)})
}

// Publish stores a file and then, in one transaction, the version that it belongs to, where there is none, and its row.
func (s *Service) Publish(ctx context.Context, as authz.Actor, p *project.Project, u Upload, from io.Reader) (*File, error) {
	if err := s.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return nil, err
	}
	arrived := func(f *File) error {
		if u.Arrived == nil {
			return nil
		}
		return u.Arrived(&u, f)
	}
	var out *File
	err := s.keep(ctx, as, p, source{from, u.File, u.Limit, arrived}, func(ctx context.Context, f *File) error {
		if u.Begin != nil {
			if err := u.Begin(ctx, &u); err != nil {
				return err
			}
		}
		k, err := s.versionOf(ctx, as, p, u)
		if err != nil {
			return err
		}
		if u.End != nil {
			if err := u.End(ctx, &u, k, f); err != nil {
				return err
			}
		}
		out = f
		return s.add(ctx, as, p, k, f)
	})
	if err != nil {
		return nil, errs.Wrap(err, "publish package file")
	}
	return out, nil
}

const maxFiles = 10_000 // of one package

// versionOf finds the version that a file is uploaded to, or creates it, and locks it until the end of the transaction. It refuses what a rule protects
// from the actor: whatever is published goes through here.
func (s *Service) versionOf(ctx context.Context, as authz.Actor, p *project.Project, u Upload) (*Package, error) {
	if err := s.mayPush(ctx, as, p, u); err != nil {
		return nil, err
	}
	lock := fmt.Sprintf("package %d %s %s", p.ID, u.Kind, u.Name)
	if u.Version != nil {
		lock += " " + *u.Version
	}
	if err := s.DB.Lock(ctx, lock); err != nil {
		return nil, err
	}
	var w db.Where
	w.And("k.project_id = ?", p.ID)
	w.And("k.kind = ?", u.Kind)
	w.And("k.name = ?", u.Name)
	w.In("k.status", []Status{Default, Hidden, Deprecated})
	if u.Version == nil {
		w.Raw("k.version IS NULL")
	} else {
		w.And("k.version = ?", *u.Version)
	}
	k, err := db.Get[Package](ctx, s.DB, "SELECT "+packageColumns+" FROM packages k"+w.SQL(), w.Args()...)
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("find package: %w", err)
	case u.Status == "" || u.Status == k.Status:
		return &k, nil
	default:
		out, err := db.Update(ctx, s.DB, s.packageRow(authz.Actor{}, p, k.ID), func(_ context.Context, k *Package) error {
			k.Status = u.Status
			return nil
		})
		return &out.After, err
	}
	now := db.At(s.Now())
	k = Package{ProjectID: p.ID, Kind: u.Kind, Name: u.Name, Version: u.Version, Status: u.Status, CreatedAt: now, UpdatedAt: now}
	if k.Status == "" {
		k.Status = Default
	}
	if as.SignedIn() {
		k.CreatorID = &as.UserID
	}
	if err := db.Create(ctx, s.DB, "packages", &k); err != nil {
		return nil, err
	}
	return &k, s.Bus.Publish(ctx, Published{change.Created(as, s.Now(), p.Place(), &k)})
}

// pipelineOf returns the pipeline of the job that an actor is, nil for other actors.
func (s *Service) pipelineOf(ctx context.Context, as authz.Actor) (*ci.PipelineID, error) {
	if as.Job.ID == 0 {
		return nil, nil
	}
	id, err := db.Get[ci.PipelineID](ctx, s.DB, "SELECT c.pipeline_id FROM commit_statuses c WHERE c.id = ?", as.Job.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find pipeline of job: %w", err)
	}
	return &id, nil
}

// downloaded writes down that a package was downloaded, once an hour.
func (s *Service) downloaded(ctx context.Context, id ID) {
	now := s.Now()
	_, err := s.DB.Exec(context.WithoutCancel(ctx), "UPDATE packages SET last_downloaded_at = ? WHERE id = ? AND (last_downloaded_at IS NULL OR last_downloaded_at < ?)",
		db.At(now), id, db.At(now.Add(-time.Hour)))
	if err != nil {
		s.Log.WarnContext(ctx, "note download of package", "package_id", id, "error", err)
	}
}

// destroy is the job that deletes a package that is marked for it.
type destroy struct {
	Package ID `json:"package"`
}

// Kind names the job.
func (destroy) Kind() string { return "package_destroy" }

// Sweep is the periodic job that deletes marked packages whose job failed, and objects that no file names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "package_sweep" }

// RegisterJobs has signing keys made, Debian packages published, packages deleted that are marked for it, and objects deleted that no file names.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.makeKey, job.On(job.Maintenance), job.Unique(), job.Timeout(5*time.Minute))
	job.Register(r, s.process, job.On(job.Maintenance), job.Unique(), job.Timeout(10*time.Minute))
	job.Register(r, s.publishRelease, job.On(job.Maintenance), job.Unique(), job.Timeout(15*time.Minute))
	job.Register(r, s.publishGroups, job.On(job.Maintenance), job.Unique())
	job.Register(r, s.Renew, job.On(job.Maintenance), job.Unique())
	job.Every(r, time.Hour, Renew{})
	job.Register(r, s.destroy, job.On(job.Maintenance), job.Unique())
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(sweepFor))
	job.Every(r, 24*time.Hour, Sweep{})
}

const destroyBatch = 500 // files

// destroy deletes a marked package: its files in batches, then the package.
func (s *Service) destroy(ctx context.Context, args destroy) error {
	for {
		res, err := s.DB.Exec(ctx, `DELETE FROM package_files WHERE id IN (SELECT f.id FROM package_files f JOIN packages k ON k.id = f.package_id
			WHERE k.id = ? AND k.status = ? ORDER BY f.id LIMIT ?)`, args.Package, Destruction, destroyBatch)
		if err != nil {
			return fmt.Errorf("delete files of package: %w", err)
		}
		if res < destroyBatch {
			break
		}
	}
	row := db.Row{Table: "packages", ID: args.Package}
	row.And.And("status = ?", Destruction)
	_, err := db.Drop(ctx, s.DB, row)
	return errs.Wrap(err, "delete package")
}

// Sweep deletes what is marked, and objects that no file names. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	for more := true; more; {
		marked, err := db.Select[ID](ctx, s.DB, "SELECT k.id FROM packages k WHERE k.status = ? ORDER BY k.id LIMIT ?", Destruction, destroyBatch)
		if err != nil {
			return fmt.Errorf("look for marked packages: %w", err)
		}
		for _, id := range marked {
			if err := s.destroy(ctx, destroy{id}); err != nil {
				return err
			}
		}
		more = len(marked) == destroyBatch
	}
	if err := s.sweepUploads(ctx); err != nil {
		return err
	}
	if err := s.sweepIndices(ctx); err != nil {
		return err
	}
	return s.sweepObjects(ctx)
}

// Check describes files whose object is not there, or has another size.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	var out []string
	for after := FileID(0); ; {
		files, err := db.Select[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f WHERE f.id > ? ORDER BY f.id LIMIT ?", after, destroyBatch)
		if err != nil {
			return nil, fmt.Errorf("check package files: %w", err)
		}
		for i := range files {
			f := &files[i]
			after = f.ID
			info, err := s.Objects.Stat(ctx, f.key())
			switch {
			case errors.Is(err, blob.ErrNotFound):
				out = append(out, fmt.Sprintf("package file %d has no object %s", f.ID, f.key()))
			case err != nil:
				return nil, err
			case info.Size != f.Size:
				out = append(out, fmt.Sprintf("package file %d has %d bytes and its object %d", f.ID, f.Size, info.Size))
			}
			if len(out) == 100 {
				return out, nil
			}
		}
		if len(files) < destroyBatch {
			return out, nil
		}
	}
}
