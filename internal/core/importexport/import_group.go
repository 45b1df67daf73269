package importexport

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
)

// groupImportRow is an import of a group from an archive.
type groupImportRow struct {
	ID          ImportID     `db:"id"`
	NamespaceID namespace.ID `db:"namespace_id"`
	UserID      authz.UserID `db:"user_id"`
	Object      string       `db:"object"`
	Status      groupStatus  `db:"status"`
	Error       *string      `db:"error"`
	Attempts    int64        `db:"attempts"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// groupStatus says how far the import of a group is.
type groupStatus string

// The states.
const (
	groupScheduled groupStatus = "scheduled"
	groupStarted   groupStatus = "started"
	groupFinished  groupStatus = "finished"
	groupFailed    groupStatus = "failed"
)

// importedGroup is a group that an import made.
type importedGroup struct {
	progress

	ID          int64        `db:"id"`
	NamespaceID namespace.ID `db:"namespace_id"`
	ImportID    *ImportID    `db:"import_id"`
	SourceID    int64        `db:"source_id"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// GroupImportInput says what is imported, and as what.
type GroupImportInput struct {
	FileName   string
	File       io.Reader
	Name, Path string
	ParentID   *namespace.ID // nil makes a top-level group
}

// ImportGroup makes a group that a job fills from an archive, with the groups below it. It is private until everything is there. It
// requires what making a group there does.
func (s *Service) ImportGroup(ctx context.Context, as authz.Actor, in GroupImportInput) (*namespace.Group, error) {
	if err := s.Namespaces.MayCreate(ctx, as, in.ParentID); err != nil {
		return nil, err
	}
	if !slices.Contains(s.Settings.Current().ImportSources, source) {
		return nil, errs.Denied("")
	}
	if err := s.Limits.Check(limit.GroupImport, as); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.ToLower(in.FileName), ".gz") {
		return nil, errs.Coded(errs.Unprocessable, CodeFileName, "")
	}
	key := Uploaded + "/" + blob.Random()
	if err := s.keep(ctx, key, in.File); err != nil {
		return nil, err
	}
	var made *namespace.Group
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		made, err = s.Namespaces.Create(ctx, as, namespace.GroupInput{
			ParentID: in.ParentID, GroupChanges: namespace.GroupChanges{Name: &in.Name, Path: &in.Path, Visibility: new(authz.Private)},
		})
		if err != nil {
			return err
		}
		now := db.At(s.Now())
		row := groupImportRow{NamespaceID: made.ID, UserID: as.UserID, Object: key, Status: groupScheduled, CreatedAt: now, UpdatedAt: now}
		if err := db.Create(ctx, s.DB, "group_imports", &row); err != nil {
			return fmt.Errorf("schedule import: %w", err)
		}
		return s.Jobs.Enqueue(ctx, RunGroupImport{ID: row.ID})
	})
	if err != nil {
		s.remove(ctx, key)
		return nil, err
	}
	return made, nil
}
