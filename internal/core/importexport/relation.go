package importexport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// RelationID identifies the export of a relation.
type RelationID int64

// RelationStatus says how far the export of a relation has come.
type RelationStatus int64

// The statuses.
const (
	RelationFailed   RelationStatus = -1
	RelationStarted  RelationStatus = 0
	RelationFinished RelationStatus = 1
)

// RelationExport is one relation of a project or group that a destination of a direct transfer asked for.
type RelationExport struct {
	ID          RelationID        `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`
	UserID      authz.UserID      `db:"user_id"`
	Run         string            `db:"run"` // names the request
	Relation    string            `db:"relation"`
	Status      RelationStatus    `db:"status"`
	Error       *string           `db:"error"`
	Batched     bool              `db:"batched"` // it has a file for each batch
	Objects     int64             `db:"objects"` // lines
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`

	Files []RelationFile `db:"-"` // in order
}

// RelationFile is a file of a relation, or of one batch of it.
type RelationFile struct {
	ID        int64      `db:"id"`
	ExportID  RelationID `db:"export_id"`
	Number    int64      `db:"number"` // of the batch, from 1; 0 for the only file
	Object    string     `db:"object"`
	Name      string     `db:"name"`
	Objects   int64      `db:"objects"` // lines
	CreatedAt db.Time    `db:"created_at"`
}

// Portable names a project or group that is transferred.
type Portable struct {
	Group bool
	Ref   string // id or full path
}

// Why a file of a relation cannot be downloaded.
const (
	CodeNoRelation  errs.Code = "no export of relation"
	CodeNoFile      errs.Code = "no file of relation"
	CodeBatched     errs.Code = "export is batched"
	CodeNotBatched  errs.Code = "export is not batched"
	CodeNoBatch     errs.Code = "no batch"
	CodeNoBatchFile errs.Code = "no file of batch"
	CodeNotPortable errs.Code = "relation is not portable"
)

// reuse is how long an export of relations answers a further request for the same.
const reuse = 3 * time.Minute

// portable returns a project or group whose relations the actor may export.
func (s *Service) portable(ctx context.Context, as authz.Actor, of Portable) (authz.Place, error) {
	if !s.Settings.Current().BulkImportEnabled {
		return authz.Place{}, errs.Missing("")
	}
	if of.Group {
		return s.findGroup(ctx, as, of.Ref)
	}
	p, err := s.Projects.Find(ctx, as, of.Ref)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), s.Policy.Require(ctx, as, authz.ExportProject, p.Subject())
}

// ExportRelations has all relations of a project or group exported for the actor, each to a file, or in batches where that is wanted.
// A request for the same within three minutes is answered by the export that there is.
func (s *Service) ExportRelations(ctx context.Context, as authz.Actor, of Portable, batched bool) error {
	at, err := s.portable(ctx, as, of)
	if err != nil {
		return err
	}
	if err := s.Limits.Check(limit.RelationExport, as); err != nil {
		return err
	}
	now := db.At(s.Now())
	run := RelationRun{NamespaceID: at.Namespace, UserID: as.UserID, Run: blob.Random()}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, fmt.Sprintf("exports:%d", at.Namespace)); err != nil {
			return err
		}
		fresh, err := db.Select[RelationID](ctx, s.DB, `SELECT id FROM relation_exports WHERE namespace_id = ? AND user_id = ? AND created_at > ? AND relation = ?
			AND batched = ?`, at.Namespace, as.UserID, db.At(s.Now().Add(-reuse)), labels, batched)
		if err != nil || len(fresh) > 0 {
			return err
		}
		if err := s.dropRelations(ctx, "namespace_id = ? AND user_id = ?", at.Namespace, as.UserID); err != nil {
			return err
		}
		var rows []RelationExport
		for _, rel := range portables(at.Group) {
			rows = append(rows, RelationExport{
				NamespaceID: at.Namespace, UserID: as.UserID, Run: run.Run, Relation: rel.name, Batched: batched && rel.lines(), CreatedAt: now, UpdatedAt: now,
			})
		}
		if _, err := db.InsertAll(ctx, s.DB, "relation_exports", rows); err != nil {
			return fmt.Errorf("schedule export of relations: %w", err)
		}
		return s.Jobs.Enqueue(ctx, run)
	})
}

// RelationExports lists the relations that the actor had exported, by name; one of them where relation is not "".
func (s *Service) RelationExports(ctx context.Context, as authz.Actor, of Portable, relation string) ([]RelationExport, error) {
	at, err := s.portable(ctx, as, of)
	if err != nil {
		return nil, err
	}
	if _, known := portableOf(at.Group, relation); relation != "" && !known {
		return nil, errs.Coded(errs.BadRequest, CodeNotPortable, "")
	}
	var w db.Where
	w.And("e.namespace_id = ? AND e.user_id = ?", at.Namespace, as.UserID)
	if relation != "" {
		w.And("e.relation = ?", relation)
	}
	found, err := db.Select[RelationExport](ctx, s.DB, "SELECT "+db.Columns[RelationExport]("e")+" FROM relation_exports e"+w.SQL()+" ORDER BY e.relation LIMIT ?",
		append(w.Args(), maxListed)...)
	if err != nil {
		return nil, fmt.Errorf("read exports of relations: %w", err)
	}
	if relation != "" && len(found) == 0 {
		return nil, errs.Coded(errs.NotFound, CodeNoRelation, "")
	}
	return found, s.readFiles(ctx, found)
}

// maxBatches bounds how many files a relation has; the last one takes what is left.
const maxBatches = 1000

// readFiles reads the files of exports.
func (s *Service) readFiles(ctx context.Context, of []RelationExport) error {
	ids := make([]RelationID, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}
	var w db.Where
	w.In("f.export_id", ids)
	files, err := db.Select[RelationFile](ctx, s.DB, "SELECT "+db.Columns[RelationFile]("f")+" FROM relation_export_files f"+w.SQL()+" ORDER BY f.export_id, f.number LIMIT ?",
		append(w.Args(), maxListed*maxBatches)...)
	if err != nil {
		return fmt.Errorf("read files of relations: %w", err)
	}
	for _, f := range files {
		i := slices.Index(ids, f.ExportID)
		of[i].Files = append(of[i].Files, f)
	}
	return nil
}

// Wanted names a file of a relation.
type Wanted struct {
	Relation string
	Batched  bool
	Batch    int64 // from 1
}

// RelationArchive is a file of a relation that is open for reading.
type RelationArchive struct {
	*blob.Object
	Name string
}

// DownloadRelation opens a file of a relation that the actor had exported.
func (s *Service) DownloadRelation(ctx context.Context, as authz.Actor, of Portable, want Wanted) (*RelationArchive, error) {
	found, err := s.RelationExports(ctx, as, of, want.Relation)
	if err != nil {
		return nil, err
	}
	e, number := &found[0], want.Batch
	switch {
	case e.Batched && !want.Batched:
		return nil, errs.Coded(errs.BadRequest, CodeBatched, "")
	case !e.Batched && want.Batched:
		return nil, errs.Coded(errs.BadRequest, CodeNotBatched, "")
	case !want.Batched:
		number = 0
	}
	missing, lost := CodeNoFile, CodeNoFile
	if want.Batched {
		missing, lost = CodeNoBatch, CodeNoBatchFile
	}
	i := slices.IndexFunc(e.Files, func(f RelationFile) bool { return f.Number == number })
	if e.Status != RelationFinished || i < 0 {
		return nil, errs.Coded(errs.NotFound, missing, "")
	}
	object, err := s.Objects.Open(ctx, e.Files[i].Object)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errs.Coded(errs.NotFound, lost, "")
	}
	if err != nil {
		return nil, fmt.Errorf("open file of relation: %w", err)
	}
	return &RelationArchive{object, e.Files[i].Name}, nil
}

// dropRelations deletes exports of relations in the caller's transaction, and their files after it.
func (s *Service) dropRelations(ctx context.Context, cond string, args ...any) error {
	objects, err := db.Select[string](ctx, s.DB, "SELECT f.object FROM relation_export_files f WHERE f.export_id IN (SELECT id FROM relation_exports WHERE "+cond+")", args...)
	if err != nil {
		return fmt.Errorf("delete exports of relations: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM relation_exports WHERE "+cond, args...); err != nil {
		return fmt.Errorf("delete exports of relations: %w", err)
	}
	s.DB.AfterCommit(ctx, func() {
		for _, key := range objects {
			s.remove(ctx, key)
		}
	})
	return nil
}
