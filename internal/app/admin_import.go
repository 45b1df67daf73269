package app

import (
	"context"
	"fmt"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
)

// AdminImportRetry is the command that lets a direct transfer that failed go on.
const AdminImportRetry = "import retry"

// ImportRetryInput names a direct transfer.
type ImportRetryInput struct {
	ID    importexport.BulkID `json:"id"`
	Token string              `json:"token"` // for the source, "" for the one that is there
}

// ImportRetried says what goes on.
type ImportRetried struct {
	ID         importexport.BulkID `json:"id"`
	Entities   int                 `json:"entities"` // groups and projects that go on
	NeedsToken bool                `json:"needs_token"`
}

func (a *App) adminImportRetry(ctx context.Context, in ImportRetryInput, _ func(string)) (ImportRetried, error) {
	got, err := core.Part[*importexport.Service](a.core).RetryBulk(ctx, authz.System(), in.ID, in.Token)
	if err != nil {
		return ImportRetried{}, fmt.Errorf("retry direct transfer %d: %w", in.ID, err)
	}
	return ImportRetried{ID: in.ID, Entities: got.Entities, NeedsToken: got.NeedsToken}, nil
}
