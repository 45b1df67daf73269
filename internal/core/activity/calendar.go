package activity

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// mostCounted is how many events a calendar counts, the newest first.
const mostCounted = 5000

// Calendar counts the events of a user since a time that the actor may know of, by day in UTC. Days without one are not in it.
func (r *Recorder) Calendar(ctx context.Context, as authz.Actor, of authz.UserID, since time.Time) (map[time.Time]int, error) {
	if err := r.policy.Require(ctx, as, authz.ReadEvents, authz.Subject{}); err != nil {
		return nil, err
	}
	w := r.readable(as)
	r.author(&w, as, of)
	w.And("e.project_id IS NOT NULL AND e.created_at >= ?", db.At(since))
	times, err := db.Select[db.Time](ctx, r.db, "SELECT e.created_at FROM "+withNotes+w.SQL()+" ORDER BY e.id DESC LIMIT ?", append(w.Args(), mostCounted)...)
	if err != nil {
		return nil, fmt.Errorf("calendar of a user: %w", err)
	}
	out := map[time.Time]int{}
	for _, t := range times {
		out[t.UTC().Truncate(24*time.Hour)]++
	}
	return out, nil
}
