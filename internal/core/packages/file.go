package packages

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// FileID identifies a file of a package.
type FileID int64

// File is a file of a package.
type File struct {
	ID         FileID         `db:"id"`
	PackageID  ID             `db:"package_id"`
	ProjectID  project.ID     `db:"project_id"`
	UserID     *authz.UserID  `db:"user_id"`     // who uploaded it
	PipelineID *ci.PipelineID `db:"pipeline_id"` // whose job uploaded it
	Name       string         `db:"name"`
	Size       int64          `db:"size"` // bytes
	MD5        string         `db:"md5"`
	SHA1       string         `db:"sha1"`
	SHA256     string         `db:"sha256"`
	Object     string         `db:"object"` // key of the object; "" is that of the digest
	CreatedAt  db.Time        `db:"created_at"`
	UpdatedAt  db.Time        `db:"updated_at"`
}

// About names it for events.
func (f File) About() change.Subject {
	return change.Subject{Type: "Packages::PackageFile", ID: int64(f.ID), Title: f.Name}
}

// FilePublished is published when a package has a new file.
type FilePublished struct{ change.Of[File] }

// FileDeleted is published when a file of a package is deleted.
type FileDeleted struct{ change.Of[File] }

// Audit is what the audit trail records of it.
func (FileDeleted) Audit() []change.Entry {
	return change.Record("package_file_deleted", "Deleted package file {title}")
}

var (
	fileColumns = db.Columns[File]("f")
	errNoFile   = errs.Missing("Package File")

	fileOrders = page.Orders{
		"":           {page.ID("f.id")},
		"created_at": {page.Time("created_at", "f.created_at"), page.ID("f.id")},
		"file_name":  {page.Text("name", "f.name"), page.ID("f.id")},
	}
)

// FileFilter orders the files of a package.
type FileFilter struct {
	OrderBy string // id, created_at or file_name; "" is id
	Desc    bool
	page.Range
}

// Files returns a page of the files of a package.
func (s *Service) Files(ctx context.Context, as authz.Actor, p *project.Project, id ID, f FileFilter) (page.Page[File], error) {
	if _, err := s.Find(ctx, as, p, id); err != nil {
		return page.Page[File]{}, err
	}
	return s.FilesOf(ctx, id, f)
}

// FilesOf is Files for a package that was read for the caller.
func (s *Service) FilesOf(ctx context.Context, id ID, f FileFilter) (page.Page[File], error) {
	var w db.Where
	w.And("f.package_id = ?", id)
	order := fileOrders.By(f.OrderBy)
	if f.Desc {
		order = order.Desc()
	}
	list, err := page.Select[File](ctx, s.DB, page.Query{Columns: fileColumns, From: "package_files f", Where: w, Order: order}, f.Range)
	return list, errs.Wrap(err, "list package files")
}

// PlacedFile is a file with its package.
type PlacedFile struct {
	File
	Of *View
}

// FilesByIDs returns files of packages that the actor may read.
func (s *Service) FilesByIDs(ctx context.Context, as authz.Actor, ids []FileID) (map[FileID]*PlacedFile, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("f.id", ids)
	files, err := db.Select[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f"+w.SQL()+" ORDER BY f.id", w.Args()...)
	if err != nil {
		return nil, errs.Wrap(err, "read package files")
	}
	of := make([]ID, len(files))
	for i := range files {
		of[i] = files[i].PackageID
	}
	found, err := s.ByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	out := make(map[FileID]*PlacedFile, len(files))
	for i := range files {
		if k := found[files[i].PackageID]; k != nil {
			out[files[i].ID] = &PlacedFile{files[i], k}
		}
	}
	return out, nil
}

// Open opens a file of a package; close what it returns.
func (s *Service) Open(ctx context.Context, as authz.Actor, p *project.Project, id ID, file FileID) (*File, *blob.Object, error) {
	if _, err := s.Find(ctx, as, p, id); err != nil {
		return nil, nil, err
	}
	f, err := db.Get[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f WHERE f.package_id = ? AND f.id = ?", id, file)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, errNoFile
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find package file: %w", err)
	}
	return s.OpenFile(ctx, &f)
}

// OpenFile opens a file that was read for the caller; close what it returns. The package counts as downloaded.
func (s *Service) OpenFile(ctx context.Context, f *File) (*File, *blob.Object, error) {
	o, err := s.Objects.Open(ctx, f.key())
	if err != nil {
		return nil, nil, fmt.Errorf("open package file %d: %w", f.ID, err)
	}
	s.downloaded(ctx, f.PackageID)
	return f, o, nil
}

// DeleteFile deletes a file of a package.
func (s *Service) DeleteFile(ctx context.Context, as authz.Actor, p *project.Project, id ID, file FileID) error {
	if err := s.Require(ctx, as, authz.DestroyPackage, p.Place()); err != nil {
		return err
	}
	k, err := s.find(ctx, p, id)
	if err != nil {
		return err
	}
	row := db.Row{Table: "package_files", ID: file, If: as.UnmodifiedAt, Missing: errNoFile}
	row.And.And("package_id = ?", id)
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.mayDelete(ctx, as, p, k); err != nil {
			return err
		}
		was, err := db.Delete[File](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		if err := s.republishOf(ctx, id); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, FileDeleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete package file")
}

// Pipelines returns a page of the pipelines whose jobs uploaded files of a package, the newest first. Who may not read the pipelines of the
// project gets none.
func (s *Service) Pipelines(ctx context.Context, as authz.Actor, p *project.Project, id ID, r page.Range) (page.Page[ci.Pipeline], error) {
	none := page.Page[ci.Pipeline]{}
	if _, err := s.Find(ctx, as, p, id); err != nil {
		return none, err
	}
	ability := authz.ReadPrivatePipeline
	if p.Settings().PublicJobs {
		ability = authz.ReadPipeline
	}
	may, err := s.Policy.Can(ctx, as, ability, p.Subject())
	if err != nil {
		return none, err
	}
	var w db.Where
	w.And("p.id IN (SELECT f.pipeline_id FROM package_files f WHERE f.package_id = ? AND f.pipeline_id IS NOT NULL)", id)
	w.And("p.project_id = ?", p.ID) // of another project a pipeline is not the reader's to see
	if !may {
		w.Raw("1 = 0")
	}
	list, err := page.Select[ci.Pipeline](ctx, s.DB, page.Query{
		Columns: db.Columns[ci.Pipeline]("p"), From: "pipelines p", Where: w, Order: page.Order{page.ID("p.id")}.Desc(),
	}, r)
	return list, errs.Wrap(err, "list pipelines of package")
}
