package job

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/base/db"
)

// Waiting returns the arguments of all jobs of type A that are not done yet, those that run
// or wait for another attempt among them.
func Waiting[A Args](ctx context.Context, d *db.DB) ([]A, error) {
	var zero A
	texts, err := db.Select[string](ctx, d, `SELECT CAST(args AS TEXT) FROM river_job
		WHERE kind = ? AND state NOT IN ('completed', 'cancelled', 'discarded') ORDER BY id`, zero.Kind())
	if err != nil {
		return nil, fmt.Errorf("list jobs of kind %s: %w", zero.Kind(), err)
	}
	out := make([]A, len(texts))
	for i, text := range texts {
		args, err := unpack([]byte(text))
		if err == nil {
			err = json.Unmarshal(args, &out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read job of kind %s: %w", zero.Kind(), err)
		}
	}
	return out, nil
}
