package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
)

// ImportFirst writes when merge requests of an archive were first deployed to production, in the caller's transaction.
func (s *Service) ImportFirst(ctx context.Context, all map[int64]db.Time) error {
	type first struct {
		ID int64   `db:"merge_request_id"`
		At db.Time `db:"deployed_at"`
	}
	var rows []first
	for _, id := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, first{id, all[id]})
	}
	if err := db.InsertRows(ctx, s.DB, "first_deployments", rows, "ON CONFLICT (merge_request_id) DO NOTHING"); err != nil {
		return fmt.Errorf("insert first deployments: %w", err)
	}
	return nil
}
