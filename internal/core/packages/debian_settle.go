package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		files, err := s.settleFiles(ctx, d, k)
		if err != nil {
			return err
		}
		if err := s.keepStanzas(ctx, d, files); err != nil {
			return err
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

// settleFiles moves the files of the upload into the package, or has them refer to the same objects, and returns the id of each part. What is there
// already stays, and other content under its name is refused.
func (s *Service) settleFiles(ctx context.Context, d *processed, k *Package) ([]FileID, error) {
	files := make([]*part, 0, len(d.files)+1)
	for i := range d.files {
		files = append(files, &d.files[i])
	}
	if !d.direct {
		files = append(files, &part{file: d.file})
	}
	there, err := s.namesakes(ctx, k, files)
	if err != nil {
		return nil, err
	}
	ids, moved := make([]FileID, len(files)), map[ID][]FileID{}
	for i, one := range files {
		f := &one.file
		known, ok := there[f.Name]
		switch {
		case ok && known.SHA256 != f.SHA256:
			return nil, refusal("%s %s has a file %s with other content already", k.Name, *k.Version, f.Name)
		case ok && one.from == fromIncoming && known.ID != f.ID:
			ids[i] = known.ID
			_, err = db.Drop(ctx, s.DB, db.Row{Table: "package_files", ID: f.ID})
		case ok:
			ids[i] = known.ID
		case one.from == fromElsewhere:
			ids[i], err = s.linkFile(ctx, d, k, f)
		default:
			ids[i], moved[f.PackageID] = f.ID, append(moved[f.PackageID], f.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	for from, some := range moved {
		n, err := s.assign(ctx, some, from, k.ID)
		if err != nil {
			return nil, err
		}
		if n < len(some) {
			return nil, fmt.Errorf("%d files of an upload went elsewhere", len(some)-n) // the job comes again
		}
	}
	return ids, nil
}

// namesakes returns the files that a package has under the names of others.
func (s *Service) namesakes(ctx context.Context, k *Package, files []*part) (map[string]File, error) {
	out := make(map[string]File, len(files))
	for some := range slices.Chunk(files, listedBatch) {
		names := make([]string, len(some))
		for i := range some {
			names[i] = some[i].file.Name
		}
		var w db.Where
		w.And("f.package_id = ?", k.ID)
		w.In("f.name", names)
		found, err := db.Select[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f"+w.SQL()+" ORDER BY f.id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("look for package files: %w", err)
		}
		for _, f := range found {
			out[f.Name] = f
		}
	}
	return out, nil
}

// keepStanzas writes what indices have of the parts of an upload, whose files have the ids.
func (s *Service) keepStanzas(ctx context.Context, d *processed, ids []FileID) error {
	var rows []stanzaRow
	for i := range d.files {
		if one := &d.files[i]; one.directory != "" {
			rows = append(rows, stanzaRow{FileID: ids[i], DistributionID: d.distribution.ID, Directory: one.directory, Stanza: one.stanza, Publication: d.publication})
		}
	}
	known := map[FileID]bool{}
	for some := range slices.Chunk(rows, listedBatch) {
		of := make([]FileID, len(some))
		for i := range some {
			of[i] = some[i].FileID
		}
		var w db.Where
		w.In("t.file_id", of)
		found, err := db.Select[FileID](ctx, s.DB, "SELECT t.file_id FROM debian_stanzas t"+w.SQL()+" ORDER BY t.file_id", w.Args()...)
		if err != nil {
			return fmt.Errorf("look for stanzas: %w", err)
		}
		for _, id := range found {
			known[id] = true
		}
	}
	rows = slices.DeleteFunc(rows, func(r stanzaRow) bool { return known[r.FileID] })
	_, err := db.InsertAll(ctx, s.DB, "debian_stanzas", rows)
	return errs.Wrap(err, "write stanzas")
}

// assign gives files of a package to another one, and returns how many of them were still in the first.
func (s *Service) assign(ctx context.Context, ids []FileID, from, to ID) (int, error) {
	moved := int64(0)
	for some := range slices.Chunk(ids, listedBatch) {
		var w db.Where
		w.In("id", some)
		w.And("package_id = ?", from)
		n, err := s.DB.Exec(ctx, "UPDATE package_files SET package_id = ?, updated_at = ?"+w.SQL(), append([]any{to, db.At(s.Now())}, w.Args()...)...)
		if err != nil {
			return 0, fmt.Errorf("move package files: %w", err)
		}
		moved += n
	}
	return int(moved), nil
}

// linkFile gives a package a file whose object another one has.
func (s *Service) linkFile(ctx context.Context, d *processed, to *Package, f *File) (FileID, error) {
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
		waited := map[ID][]FileID{}
		for i := range d.files {
			if f := &d.files[i].file; d.files[i].from == fromIncoming && f.ID != 0 && !d.direct {
				waited[f.PackageID] = append(waited[f.PackageID], f.ID)
			}
		}
		for from, some := range waited {
			if _, err := s.assign(ctx, some, from, d.upload.ID); err != nil {
				return err
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
