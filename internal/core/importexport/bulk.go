package importexport

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// BulkID identifies a direct transfer.
type BulkID int64

// EntityID identifies a group or project of a direct transfer.
type EntityID int64

// BulkStatus says how far a direct transfer, or an entity of one, has come.
type BulkStatus string

// The statuses.
const (
	BulkCreated  BulkStatus = "created"
	BulkStarted  BulkStatus = "started"
	BulkFinished BulkStatus = "finished"
	BulkFailed   BulkStatus = "failed"
	BulkCanceled BulkStatus = "canceled"
)

// Bulk is a direct transfer from another server.
type Bulk struct {
	ID        BulkID       `db:"id"`
	UserID    authz.UserID `db:"user_id"`
	URL       string       `db:"url"`     // of the source, without a slash at its end
	Version   string       `db:"version"` // of the source
	Token     string       `db:"token"`   // for the source, sealed; "" once it is forgotten
	Status    BulkStatus   `db:"status"`
	CreatedAt db.Time      `db:"created_at"`
	UpdatedAt db.Time      `db:"updated_at"`

	Failures bool `db:"-"` // an entity has failures
}

// The kinds of entities.
const (
	groupEntity   = "group"
	projectEntity = "project"
)

// Entity is a group or project of a direct transfer.
type Entity struct {
	ID          EntityID      `db:"id"`
	BulkID      BulkID        `db:"bulk_import_id"`
	ParentID    *EntityID     `db:"parent_id"`
	Kind        string        `db:"kind"` // group, project
	SourcePath  string        `db:"source_path"`
	SourceID    *int64        `db:"source_id"`
	Slug        string        `db:"slug"`
	Destination string        `db:"destination"` // full path of the group that it is made in, "" for the top level
	Status      BulkStatus    `db:"status"`
	NamespaceID *namespace.ID `db:"namespace_id"` // of a group, once it is there
	ProjectID   *project.ID   `db:"project_id"`   // of a project, once it is there
	Visibility  int64         `db:"visibility"`
	NoProjects  bool          `db:"no_projects"` // projects stay
	NoMembers   bool          `db:"no_members"`  // memberships stay
	RequestedAt *db.Time      `db:"requested_at"`
	Attempts    int64         `db:"attempts"`
	CreatedAt   db.Time       `db:"created_at"`
	UpdatedAt   db.Time       `db:"updated_at"`

	Failures []BulkFailure          `db:"-"` // the newest 100
	Stats    map[string]EntityStats `db:"-"` // of the relations that had rows, once it is finished
}

// EntityStats counts the rows of a relation.
type EntityStats struct {
	Fetched  int64 // from the source
	Imported int64 // that are here, perhaps not as they were
}

// FullPath is where the entity goes.
func (e *Entity) FullPath() string {
	if e.Destination == "" {
		return e.Slug
	}
	return e.Destination + "/" + e.Slug
}

// BulkFailure is a relation, or a row of one, that could not be moved.
type BulkFailure struct {
	ID            int64    `db:"id"`
	EntityID      EntityID `db:"entity_id"`
	Relation      string   `db:"relation"`
	Step          string   `db:"step"`
	Message       string   `db:"message"`
	Class         string   `db:"class"`
	CorrelationID string   `db:"correlation_id"`
	CreatedAt     db.Time  `db:"created_at"`
}

// BulkFilter selects transfers or entities by the time of their creation.
type BulkFilter struct {
	Status BulkStatus // "" for all
	Asc    bool

	page.Range
}

var (
	bulkColumns   = db.Columns[Bulk]("b")
	entityColumns = db.Columns[Entity]("e")
)

// mayTransfer requires that direct transfers are on, and somebody who is signed in.
func (s *Service) mayTransfer(ctx context.Context, as authz.Actor) error {
	if err := s.Policy.Require(ctx, as, authz.TransferDirectly, authz.Subject{}); err != nil {
		return err
	}
	if !s.Settings.Current().BulkImportEnabled {
		return errs.Missing("")
	}
	return nil
}

// order is by the time of creation, the newest first unless asked otherwise.
func (f BulkFilter) order(alias string) page.Order {
	keys := page.Order{page.Time("created_at", alias+".created_at"), page.ID(alias + ".id")}
	if f.Asc {
		return keys
	}
	return keys.Desc()
}

// Bulks returns a page of the transfers that the actor began.
func (s *Service) Bulks(ctx context.Context, as authz.Actor, f BulkFilter) (page.Page[Bulk], error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return page.Page[Bulk]{}, err
	}
	var w db.Where
	w.And("b.user_id = ?", as.UserID)
	if f.Status != "" {
		w.And("b.status = ?", f.Status)
	}
	list, err := page.Select[Bulk](ctx, s.DB, page.Query{Columns: bulkColumns, From: "bulk_imports b", Where: w, Order: f.order("b")}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list transfers: %w", err)
	}
	return list, s.countFailures(ctx, list.Items)
}

// Bulk returns a transfer that the actor began.
func (s *Service) Bulk(ctx context.Context, as authz.Actor, id BulkID) (*Bulk, error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return nil, err
	}
	one, err := db.Get[Bulk](ctx, s.DB, "SELECT "+bulkColumns+" FROM bulk_imports b WHERE b.id = ? AND b.user_id = ?", id, as.UserID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find transfer: %w", err)
	}
	list := []Bulk{one}
	return &list[0], s.countFailures(ctx, list)
}

// countFailures says of transfers whether they have failures.
func (s *Service) countFailures(ctx context.Context, list []Bulk) error {
	if len(list) == 0 {
		return nil
	}
	places := map[BulkID]*Bulk{}
	ids := make([]BulkID, len(list))
	for i := range list {
		ids[i], places[list[i].ID] = list[i].ID, &list[i]
	}
	var w db.Where
	w.In("e.bulk_import_id", ids)
	w.And("EXISTS (SELECT 1 FROM bulk_import_failures f WHERE f.entity_id = e.id)")
	found, err := db.Select[BulkID](ctx, s.DB, "SELECT DISTINCT e.bulk_import_id FROM bulk_import_entities e"+w.SQL(), w.Args()...)
	if err != nil {
		return fmt.Errorf("failures of transfers: %w", err)
	}
	for _, id := range found {
		places[id].Failures = true
	}
	return nil
}

// Entities returns a page of the entities of a transfer that the actor began, or of all of these where of is 0.
func (s *Service) Entities(ctx context.Context, as authz.Actor, of BulkID, f BulkFilter) (page.Page[Entity], error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return page.Page[Entity]{}, err
	}
	var w db.Where
	w.And("b.user_id = ?", as.UserID)
	if of != 0 {
		if _, err := s.Bulk(ctx, as, of); err != nil {
			return page.Page[Entity]{}, err
		}
		w.And("e.bulk_import_id = ?", of)
	}
	if f.Status != "" {
		w.And("e.status = ?", f.Status)
	}
	list, err := page.Select[Entity](ctx, s.DB, page.Query{
		Columns: entityColumns, From: "bulk_import_entities e JOIN bulk_imports b ON b.id = e.bulk_import_id", Where: w, Order: f.order("e"),
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list entities: %w", err)
	}
	return list, errors.Join(s.readFailures(ctx, list.Items), s.readStats(ctx, list.Items))
}

// Entity returns an entity of a transfer that the actor began.
func (s *Service) Entity(ctx context.Context, as authz.Actor, of BulkID, id EntityID) (*Entity, error) {
	if _, err := s.Bulk(ctx, as, of); err != nil {
		return nil, err
	}
	one, err := db.Get[Entity](ctx, s.DB, "SELECT "+entityColumns+" FROM bulk_import_entities e WHERE e.id = ? AND e.bulk_import_id = ?", id, of)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find entity: %w", err)
	}
	list := []Entity{one}
	return &list[0], errors.Join(s.readFailures(ctx, list), s.readStats(ctx, list))
}

// maxFailures bounds the failures that are shown and kept of an entity.
const maxFailures = 100

// readFailures reads the newest failures of entities.
func (s *Service) readFailures(ctx context.Context, list []Entity) error {
	if len(list) == 0 {
		return nil
	}
	places := map[EntityID]*Entity{}
	ids := make([]EntityID, len(list))
	for i := range list {
		list[i].Failures = []BulkFailure{}
		ids[i], places[list[i].ID] = list[i].ID, &list[i]
	}
	var w db.Where
	w.In("f.entity_id", ids)
	found, err := db.Select[BulkFailure](ctx, s.DB, "SELECT "+db.Columns[BulkFailure]("f")+" FROM bulk_import_failures f"+w.SQL()+" ORDER BY f.id DESC LIMIT ?",
		append(w.Args(), len(list)*maxFailures)...)
	if err != nil {
		return fmt.Errorf("failures of entities: %w", err)
	}
	for _, f := range found {
		e := places[f.EntityID]
		if len(e.Failures) < maxFailures {
			e.Failures = append(e.Failures, f)
		}
	}
	return nil
}

// CancelBulk ends a transfer that goes on, for the user who began it and administrators. What is there stays.
func (s *Service) CancelBulk(ctx context.Context, as authz.Actor, id BulkID) (*Bulk, error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return nil, err
	}
	one, err := db.Get[Bulk](ctx, s.DB, "SELECT "+bulkColumns+" FROM bulk_imports b WHERE b.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find transfer: %w", err)
	}
	if one.UserID != as.UserID && !as.Admin {
		return nil, errs.Denied("")
	}
	if err := s.endBulk(ctx, id, BulkCanceled, "The transfer was canceled."); err != nil {
		return nil, err
	}
	list, err := db.Select[Bulk](ctx, s.DB, "SELECT "+bulkColumns+" FROM bulk_imports b WHERE b.id = ?", id)
	if err != nil || len(list) == 0 {
		return nil, errors.Join(err, errs.Missing(""))
	}
	return &list[0], s.countFailures(ctx, list)
}

// closeBulk notes how a transfer ended, where it has not ended yet. The token of one that failed is kept for another attempt, see [keptToken].
func (s *Service) closeBulk(ctx context.Context, id BulkID, status BulkStatus) error {
	_, err := s.DB.Exec(ctx, "UPDATE bulk_imports SET status = ?, token = CASE WHEN ? THEN token ELSE '' END, updated_at = ? WHERE id = ? AND status IN (?, ?)",
		status, status == BulkFailed, db.At(s.Now()), id, BulkCreated, BulkStarted)
	if err != nil {
		return fmt.Errorf("end transfer: %w", err)
	}
	return nil
}

// endBulk ends a transfer with those of its entities that have not ended.
func (s *Service) endBulk(ctx context.Context, id BulkID, status BulkStatus, why string) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		now := db.At(s.Now())
		if err := s.closeBulk(ctx, id, status); err != nil {
			return err
		}
		open, err := db.Select[Entity](ctx, s.DB, "UPDATE bulk_import_entities SET status = ?, updated_at = ? WHERE bulk_import_id = ? AND status IN (?, ?) RETURNING "+db.Columns[Entity](""),
			status, now, id, BulkCreated, BulkStarted)
		if err != nil {
			return fmt.Errorf("end transfer: %w", err)
		}
		for i := range open {
			if err := s.left(ctx, &open[i], why); err != nil {
				return err
			}
		}
		return nil
	})
}

// left ends the import of a project whose entity has ended without it, and drops the files of the entity, in the caller's transaction.
func (s *Service) left(ctx context.Context, e *Entity, why string) error {
	if e.ProjectID != nil {
		if err := s.Projects.RecordImport(ctx, *e.ProjectID, project.ImportFailed, why); err != nil {
			return err
		}
	}
	return s.dropFiles(ctx, e.ID)
}

// dropFiles forgets the files of an entity, in the caller's transaction.
func (s *Service) dropFiles(ctx context.Context, id EntityID) error {
	objects, err := db.Select[string](ctx, s.DB, "DELETE FROM bulk_import_files WHERE entity_id = ? RETURNING object", id)
	if err != nil {
		return fmt.Errorf("drop files of entity: %w", err)
	}
	s.DB.AfterCommit(ctx, func() {
		for _, key := range objects {
			s.remove(ctx, key)
		}
	})
	return nil
}
