package importexport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// keptToken is how long the token of a transfer that failed is kept, for another attempt.
const keptToken = 7 * 24 * time.Hour

// Retried says what is tried again of a transfer.
type Retried struct {
	Entities   int  // that had failed, and go on where they stopped
	NeedsToken bool // nothing is tried: the token of the source is not there any more
}

// RetryBulk lets the entities of a transfer that failed go on where they stopped. Token is a new one for the source, "" takes the one that is
// there. It requires an administrator.
func (s *Service) RetryBulk(ctx context.Context, as authz.Actor, id BulkID, token string) (*Retried, error) {
	if !as.Admin {
		return nil, errs.Denied("")
	}
	var out *Retried
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out = &Retried{}
		b, err := db.Get[Bulk](ctx, s.DB, "SELECT "+bulkColumns+" FROM bulk_imports b WHERE b.id = ?", id)
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("Direct transfer")
		}
		if err != nil {
			return fmt.Errorf("find transfer: %w", err)
		}
		if b.Status == BulkCanceled {
			return errs.New(errs.Unprocessable, "The transfer was canceled: begin another one.")
		}
		sealed := b.Token
		if token != "" {
			sealed = s.Box.Seal(tokenSecret(b.UserID, b.URL), token)
		}
		now := db.At(s.Now())
		entities, err := db.Select[Entity](ctx, s.DB, `UPDATE bulk_import_entities SET status = ?, attempts = 0, requested_at = NULL, updated_at = ? WHERE bulk_import_id = ? AND status = ?
			RETURNING `+db.Columns[Entity](""), BulkStarted, now, id, BulkFailed)
		if err != nil {
			return fmt.Errorf("retry transfer: %w", err)
		}
		if out.Entities = len(entities); out.Entities == 0 {
			return nil
		}
		if sealed == "" {
			out = &Retried{NeedsToken: true}
			return errNoToken
		}
		for i := range entities {
			if p := entities[i].ProjectID; p != nil {
				if err := s.Projects.RecordImport(ctx, *p, project.ImportStarted, ""); err != nil {
					return err
				}
			}
			if err := s.Jobs.Enqueue(ctx, RunEntity{ID: entities[i].ID, Turn: s.Now().UnixNano()}); err != nil {
				return err
			}
		}
		if _, err := s.DB.Exec(ctx, "UPDATE bulk_imports SET status = ?, token = ?, updated_at = ? WHERE id = ?", BulkStarted, sealed, now, id); err != nil {
			return fmt.Errorf("retry transfer: %w", err)
		}
		return nil
	})
	if errors.Is(err, errNoToken) {
		return out, nil
	}
	return out, err
}

// errNoToken takes back what a transaction did that misses a token.
var errNoToken = errors.New("the token of the source is not there any more")

// forgetTokens forgets the tokens of transfers that failed long ago.
func (s *Service) forgetTokens(ctx context.Context) error {
	_, err := s.DB.Exec(ctx, "UPDATE bulk_imports SET token = '' WHERE token <> '' AND status = ? AND updated_at < ?", BulkFailed, db.At(s.Now().Add(-keptToken)))
	if err != nil {
		return fmt.Errorf("forget tokens of transfers: %w", err)
	}
	return nil
}
