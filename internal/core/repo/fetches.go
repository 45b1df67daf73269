package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// fetchDay is what fetches are counted by.
type fetchDay struct {
	project project.ID
	day     string
}

// CountFetch counts a fetch or clone of the repository. It asks for no permission and
// writes nothing: that is done once a minute.
func (s *Service) CountFetch(id project.ID) {
	s.counted.Add(fetchDay{id, s.Now().UTC().Format(time.DateOnly)}, 1)
}

// Start begins to write down once a minute how often repositories were fetched. Stop
// ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down fetches", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down how often repositories were fetched.
func (s *Service) Flush(ctx context.Context) error {
	order := func(a, b fetchDay) int { return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.day, b.day)) }
	err := s.counted.Flush(ctx, s.DB, order, func(ctx context.Context, d fetchDay, n int64) error {
		_, err := s.DB.Exec(ctx, `INSERT INTO fetch_counts (project_id, day, count)
			SELECT id, CAST(? AS TEXT), CAST(? AS BIGINT) FROM projects WHERE id = ?
			ON CONFLICT (project_id, day) DO UPDATE SET count = fetch_counts.count + excluded.count`, d.day, n, d.project)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush fetches: %w", err)
	}
	return nil
}

// FetchCount says how often a repository was fetched on a day.
type FetchCount struct {
	Day   string `db:"day"` // YYYY-MM-DD
	Count int64  `db:"count"`
}

// fetchDays is how far back fetches are reported.
const fetchDays = 30

// Fetches returns the days of the last thirty on which the repository was fetched, the
// latest first. It requires ReadStatistics.
func (s *Service) Fetches(ctx context.Context, as authz.Actor, p *project.Project) ([]FetchCount, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadStatistics, p.Subject()); err != nil {
		return nil, err
	}
	since := s.Now().UTC().AddDate(0, 0, -fetchDays).Format(time.DateOnly)
	days, err := db.Select[FetchCount](ctx, s.DB, "SELECT day, count FROM fetch_counts WHERE project_id = ? AND day > ? ORDER BY day DESC", p.ID, since)
	if err != nil {
		return nil, fmt.Errorf("list fetches: %w", err)
	}
	for at, n := range s.counted.Pending() {
		if at.project != p.ID {
			continue
		}
		if i := slices.IndexFunc(days, func(d FetchCount) bool { return d.Day == at.day }); i >= 0 {
			days[i].Count += n
		} else {
			days = append(days, FetchCount{at.day, n})
		}
	}
	slices.SortFunc(days, func(a, b FetchCount) int { return cmp.Compare(b.Day, a.Day) })
	return days, nil
}
