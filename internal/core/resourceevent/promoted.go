package resourceevent

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
)

// promoted makes events name the label or milestone of the group for those of projects that
// it replaces.
func promoted[T ~int64](ctx context.Context, d *db.DB, column string, by T, replaced []T) error {
	for chunk := range slices.Chunk(replaced, db.MaxArgs-1) {
		marks, args := db.Marks(chunk)
		if _, err := d.Exec(ctx, "UPDATE resource_events SET "+column+" = ? WHERE "+column+" IN ("+marks+")", append([]any{by}, args...)...); err != nil {
			return fmt.Errorf("promoted %s of resource events: %w", column, err)
		}
	}
	return nil
}
