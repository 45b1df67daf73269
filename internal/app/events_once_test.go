package app

import (
	"context"
	"fmt"
	"sync"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/change"
)

// once checks that one event alone says of a row that it was created, and one that it was deleted: who
// counts rows by events counts each once.
func (s *server) once() {
	var mu sync.Mutex
	told := map[string]string{}
	event.On(s.bus, "test", func(ctx context.Context, e change.Event) error {
		f := e.Changed()
		row, what := f.After, "created"
		if row == nil {
			row, what = f.Before, "deleted"
		}
		if f.Subject.ID == 0 || f.Before != nil && f.After != nil {
			return nil
		}
		made, ok := change.Attributes(row)["created_at"].(db.Time) // numbers of deleted rows are given again
		if !ok || made.IsZero() {
			return nil
		}
		s.db.AfterCommit(ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprintf("%s %d (%T) of %s in %q was %s", f.Subject.Type, f.Subject.ID, row, made, f.Place.Path, what)
			if by := told[key]; by != "" {
				s.tb.Errorf("%s: %s says so, and %T again", key, by, e)
			}
			told[key] = fmt.Sprintf("%T", e)
		})
		return nil
	})
}
