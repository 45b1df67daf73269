package packages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// publication says in which distribution a package is.
type publication struct {
	ID             int64          `db:"id"`
	PackageID      ID             `db:"package_id"`
	DistributionID DistributionID `db:"distribution_id"`
}

// stanzaRow is what an index has of a file.
type stanzaRow struct {
	ID             int64          `db:"id"`
	FileID         FileID         `db:"file_id"`
	DistributionID DistributionID `db:"distribution_id"`
	Directory      string         `db:"directory"`
	Stanza         string         `db:"stanza"`
	Publication    int64          `db:"publication"` // of which it is a part
}

// settle publishes what was read in one transaction.
func (s *Service) settle(ctx context.Context, d *processed) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if open, err := s.stillOpen(ctx, d); err != nil || !open {
			return err
		}
		k, err := s.versionOf(ctx, d.actor(), d.project, Upload{Kind: Debian, Name: d.source, Version: &d.version, level: d.level})
		if errs.Is(err, errs.Forbidden) {
			return refusal("%s is protected", d.source)
		}
		if err != nil {
			return err
		}
		if err := s.publishIn(ctx, d, k); err != nil {
			return err
		}
		for i := range d.files {
			if err := s.settlePart(ctx, d, k, &d.files[i]); err != nil {
				return err
			}
		}
		if !d.direct {
			if _, err := s.moveFile(ctx, k, &d.file, d.upload.ID); err != nil {
				return err
			}
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "packages", ID: d.upload.ID}); err != nil {
			return err
		}
		return s.republish(ctx, d.distribution.ID)
	})
	return errs.Wrap(err, "publish Debian package")
}

// actor is who uploaded what is processed.
func (d *processed) actor() authz.Actor {
	if d.upload.CreatorID == nil {
		return authz.Actor{}
	}
	return authz.Actor{UserID: *d.upload.CreatorID}
}

// stillOpen locks what waits in the project, and reports whether the upload is still to be processed.
func (s *Service) stillOpen(ctx context.Context, d *processed) (bool, error) {
	if err := s.lockIncoming(ctx, d.project.ID); err != nil {
		return false, err
	}
	open, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM packages WHERE id = ? AND status = ?)", d.upload.ID, Processing)
	if err != nil {
		return false, fmt.Errorf("look for upload: %w", err)
	}
	return open, nil
}

// publishIn puts a package into the distribution, where it is in none.
func (s *Service) publishIn(ctx context.Context, d *processed, k *Package) error {
	// The row is locked from here on: publications of a distribution are committed in the order of their numbers.
	var err error
	d.publication, err = db.Get[int64](ctx, s.DB, "UPDATE debian_distributions SET publications = publications + 1 WHERE id = ? RETURNING publications", d.distribution.ID)
	if errors.Is(err, db.ErrNotFound) {
		return refusal("there is no distribution %.100q", d.distribution.Codename)
	}
	if err != nil {
		return fmt.Errorf("count publications: %w", err)
	}
	in, err := db.Get[publication](ctx, s.DB, "SELECT "+db.Columns[publication]("u")+" FROM debian_publications u WHERE u.package_id = ?", k.ID)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return db.Create(ctx, s.DB, "debian_publications", &publication{PackageID: k.ID, DistributionID: d.distribution.ID})
	case err != nil:
		return fmt.Errorf("look for publication: %w", err)
	case in.DistributionID != d.distribution.ID:
		return refusal("%s %s is in another distribution of the project already", d.source, d.version)
	}
	return nil
}

// settlePart moves a file into the package, or has it refer to the same object, and writes its stanza.
func (s *Service) settlePart(ctx context.Context, d *processed, k *Package, one *part) error {
	var id FileID
	var err error
	switch one.from {
	case fromPackage: // found again by its name
		id, err = s.moveFile(ctx, k, &one.file, k.ID)
	case fromElsewhere:
		id, err = s.linkFile(ctx, d, k, &one.file)
	default:
		id, err = s.moveFile(ctx, k, &one.file, one.file.PackageID)
	}
	if err != nil || one.directory == "" {
		return err
	}
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM debian_stanzas WHERE file_id = ?)", id)
	if err != nil || there {
		return errs.Wrap(err, "look for stanza")
	}
	row := &stanzaRow{FileID: id, DistributionID: d.distribution.ID, Directory: one.directory, Stanza: one.stanza, Publication: d.publication}
	return db.Create(ctx, s.DB, "debian_stanzas", row)
}

// already returns the file of the same name that a package has, 0 where there is none. Another content is refused.
func (s *Service) already(ctx context.Context, k *Package, f *File) (FileID, error) {
	there, err := db.Get[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f WHERE f.package_id = ? AND f.name = ? ORDER BY f.id DESC LIMIT 1", k.ID, f.Name)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look for package file: %w", err)
	case there.SHA256 != f.SHA256:
		return 0, refusal("%s %s has a file %s with other content already", k.Name, *k.Version, f.Name)
	}
	return there.ID, nil
}

// moveFile moves a file from one package into another, and returns its id, or that of the same file that is there already.
func (s *Service) moveFile(ctx context.Context, to *Package, f *File, from ID) (FileID, error) {
	there, err := s.already(ctx, to, f)
	if err != nil {
		return 0, err
	}
	if there != 0 {
		if there != f.ID && from != to.ID {
			_, err = db.Drop(ctx, s.DB, db.Row{Table: "package_files", ID: f.ID})
		}
		return there, err
	}
	moved, err := s.assign(ctx, f.ID, from, to.ID)
	if err != nil {
		return 0, err
	}
	if !moved {
		return 0, fmt.Errorf("file %d of an upload went elsewhere", f.ID) // the job comes again
	}
	return f.ID, nil
}

// assign gives a file of a package to another one; false where it is none of the first any more.
func (s *Service) assign(ctx context.Context, id FileID, from, to ID) (bool, error) {
	n, err := s.DB.Exec(ctx, "UPDATE package_files SET package_id = ?, updated_at = ? WHERE id = ? AND package_id = ?", to, db.At(s.Now()), id, from)
	return n > 0, errs.Wrap(err, "move package file")
}

// linkFile gives a package a file whose object another one has.
func (s *Service) linkFile(ctx context.Context, d *processed, to *Package, f *File) (FileID, error) {
	there, err := s.already(ctx, to, f)
	if err != nil || there != 0 {
		return there, err
	}
	if err := s.lockObject(ctx, f.SHA256); err != nil { // the sweep sees the file that was there, or the new one
		return 0, err
	}
	now := db.At(s.Now())
	named, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM package_files WHERE id = ?)", f.ID)
	if err != nil {
		return 0, fmt.Errorf("look for package file: %w", err)
	}
	if !named {
		return 0, fmt.Errorf("file %d of a source package was deleted", f.ID) // the job comes again
	}
	row := *f
	row.PackageID, row.UserID, row.PipelineID, row.CreatedAt, row.UpdatedAt = to.ID, d.upload.CreatorID, d.file.PipelineID, now, now
	if err := db.Create(ctx, s.DB, "package_files", &row); err != nil {
		return 0, err
	}
	return row.ID, s.Bus.Publish(ctx, FilePublished{change.Created(d.actor(), s.Now(), d.project.Place(), &row)})
}

const maxReason = 1000 // bytes

// refuse writes down why an upload is not published. The files that its .changes names go with it, so that their names are free.
func (s *Service) refuse(ctx context.Context, d *processed, reason string) error {
	reason = budget.Begin(reason, maxReason)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if open, err := s.stillOpen(ctx, d); err != nil || !open {
			return err
		}
		row := db.Row{Table: "packages", ID: d.upload.ID, Now: s.Now}
		_, err := db.Update(ctx, s.DB, row, func(_ context.Context, k *Package) error {
			k.Status, k.StatusMessage = Failed, &reason
			if d.source != "" {
				k.Name, k.Version = d.source, &d.version
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range d.files {
			if f := &d.files[i].file; d.files[i].from == fromIncoming && f.ID != 0 && !d.direct {
				if _, err := s.assign(ctx, f.ID, f.PackageID, d.upload.ID); err != nil {
					return err
				}
			}
		}
		if d.upload.CreatorID == nil {
			return nil
		}
		failure := reason
		if !strings.HasPrefix(reason, d.file.Name) {
			failure = d.file.Name + ": " + reason
		}
		return s.Mailer.PackageRefused(ctx, d.upload.ProjectID, *d.upload.CreatorID, failure)
	})
	return errs.Wrap(err, "write down why an upload failed")
}

const (
	waitsFor   = 24 * time.Hour      // a file waits for its .changes
	failureFor = 30 * 24 * time.Hour // a failed upload is shown
)

// sweepUploads deletes files that no .changes came for, and failed uploads that are old. An upload whose job was given up has failed.
func (s *Service) sweepUploads(ctx context.Context) error {
	for more := true; more; {
		n, err := s.DB.Exec(ctx, `DELETE FROM package_files WHERE id IN (SELECT f.id FROM package_files f JOIN packages k ON k.id = f.package_id
			WHERE k.kind = ? AND k.name = ? AND k.version IS NULL AND k.status = ? AND f.created_at < ? ORDER BY f.id LIMIT ?)`,
			Debian, incoming, Hidden, db.At(s.Now().Add(-waitsFor)), destroyBatch)
		if err != nil {
			return fmt.Errorf("sweep Debian files: %w", err)
		}
		more = n == destroyBatch
	}
	for {
		old, err := db.Select[Package](ctx, s.DB, "SELECT "+packageColumns+` FROM packages k WHERE k.kind = ? AND (k.status = ? AND k.updated_at < ? OR k.status = ? AND k.updated_at < ?)
			ORDER BY k.id LIMIT ?`, Debian, Processing, db.At(s.Now().Add(-waitsFor)), Failed, db.At(s.Now().Add(-failureFor)), destroyBatch)
		if err != nil {
			return fmt.Errorf("look for old uploads: %w", err)
		}
		if err := s.endUploads(ctx, old); err != nil || len(old) < destroyBatch {
			return err
		}
	}
}

// endUploads has uploads fail that are processed too long, and deletes those that failed long ago.
func (s *Service) endUploads(ctx context.Context, old []Package) error {
	for i := range old {
		var err error
		if old[i].Status == Processing {
			err = s.refuse(ctx, &processed{project: &project.Project{ID: old[i].ProjectID}, upload: &old[i]}, "processing did not end")
		} else {
			_, err = db.Drop(ctx, s.DB, db.Row{Table: "packages", ID: old[i].ID})
		}
		if err != nil {
			return fmt.Errorf("sweep Debian uploads: %w", err)
		}
	}
	return nil
}
