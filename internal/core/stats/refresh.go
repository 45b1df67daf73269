package stats

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
)

const (
	refreshEvery = time.Minute
	refreshMost  = 10_000 // times that one job counts months of a project
	markPiece    = 500    // marks that are read together
	yearPiece    = 12     // months of a project that are counted together
)

// Refresh is the job that counts the months that were marked.
type Refresh struct{}

// Kind names the job.
func (Refresh) Kind() string { return "refresh_dora_metrics" }

// stored is a mark as it is stored.
type stored struct {
	ID int64 `db:"id"`
	mark
}

// Refresh counts the months that were marked, those of a project together.
func (s *Service) Refresh(ctx context.Context, _ Refresh) error {
	for range refreshMost {
		marks, err := db.Select[stored](ctx, s.DB, "SELECT m.id, m.project_id, m.month FROM dora_marks m ORDER BY m.project_id, m.month, m.id LIMIT ?", markPiece)
		if err != nil {
			return fmt.Errorf("find marks: %w", err)
		}
		if len(marks) == 0 {
			return nil
		}
		first := marks[0]
		if n := slices.IndexFunc(marks, func(m stored) bool { return m.ProjectID != first.ProjectID || m.Month >= first.Month+yearPiece }); n > 0 {
			marks = marks[:n]
		}
		if first.Month == all {
			err = s.spread(ctx, first.ProjectID, marks)
		} else {
			err = s.refresh(ctx, first.ProjectID, marks)
		}
		if err != nil {
			return fmt.Errorf("count deployments and incidents: %w", err)
		}
	}
	return nil
}

// unmark deletes marks, and reports whether all of them were there: otherwise another run has counted the same months later than the caller.
func (s *Service) unmark(ctx context.Context, marks []stored) (bool, error) {
	ids := make([]int64, len(marks))
	for i := range marks {
		ids[i] = marks[i].ID
	}
	in, args := db.Marks(ids)
	n, err := s.DB.Exec(ctx, "DELETE FROM dora_marks WHERE id IN ("+in+")", args...)
	return n == int64(len(marks)), err
}

// spread replaces the mark of a whole project by those of its months.
func (s *Service) spread(ctx context.Context, id project.ID, marks []stored) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if whole, err := s.unmark(ctx, marks); err != nil || !whole {
			return err
		}
		type span struct {
			First *db.Time `db:"first"`
			Last  *db.Time `db:"last"`
		}
		var months []Month
		for _, query := range []string{
			"SELECT MIN(d.finished_at) AS first, MAX(d.finished_at) AS last FROM deployments d WHERE d.project_id = ? AND d.status = 'success'",
			"SELECT MIN(i.created_at) AS first, MAX(i.created_at) AS last FROM issues i WHERE i.project_id = ? AND i.issue_type = 'incident'",
			"SELECT MIN(i.closed_at) AS first, MAX(i.closed_at) AS last FROM issues i WHERE i.project_id = ? AND i.issue_type = 'incident'",
		} {
			found, err := db.Get[span](ctx, s.DB, query, id)
			if err != nil {
				return err
			}
			if found.First != nil && found.Last != nil {
				for m := MonthOf(*found.First); m <= MonthOf(*found.Last); m++ {
					months = append(months, m)
				}
			}
		}
		kept, err := db.Select[Month](ctx, s.DB, "SELECT DISTINCT m.month FROM dora_months m WHERE m.project_id = ? ORDER BY m.month", id)
		if err != nil {
			return err
		}
		return s.mark(ctx, id, append(months, kept...)...)
	})
}

// refresh counts the marked months of a project. It counts before it opens the transaction that writes: what changes meanwhile leaves another mark.
func (s *Service) refresh(ctx context.Context, id project.ID, marks []stored) error {
	months := make([]Month, len(marks))
	for i := range marks {
		months[i] = marks[i].Month
	}
	months = sorted(months)
	found, err := s.count(ctx, []project.ID{id}, months[0].Start(), (months[len(months)-1] + 1).Start())
	if err != nil {
		return err
	}
	var rows []row
	for of, f := range found {
		if slices.Contains(months, of.Month) {
			rows = append(rows, f.pack(of))
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if whole, err := s.unmark(ctx, marks); err != nil || !whole {
			return err
		}
		in, args := db.Marks(months)
		if _, err := s.DB.Exec(ctx, "DELETE FROM dora_months WHERE project_id = ? AND month IN ("+in+")", append([]any{id}, args...)...); err != nil {
			return err
		}
		return db.InsertRows(ctx, s.DB, "dora_months", rows, "")
	})
}

// count counts what projects have deployed, and the incidents of those that have an environment of production, from a time until before another.
func (s *Service) count(ctx context.Context, ids []project.ID, from, to time.Time) (map[key]*figures, error) {
	out := map[key]*figures{}
	at := func(id project.ID, tier deploy.Tier, t db.Time) *day {
		of := key{id, MonthOf(t), tier}
		if out[of] == nil {
			out[of] = &figures{}
		}
		return out[of].at(t.UTC().Day())
	}
	var w db.Where
	w.In("d.project_id", ids)
	w.And("d.status = 'success' AND d.finished_at >= ? AND d.finished_at < ?", db.At(from), db.At(to))
	type deployed struct {
		ProjectID   project.ID  `db:"project_id"`
		Tier        deploy.Tier `db:"tier"`
		Day         db.Time     `db:"day"`
		Deployments uint64      `db:"deployments"`
	}
	on := s.DB.Dialect().Day("d.finished_at")
	days, err := db.Select[deployed](ctx, s.DB, "SELECT d.project_id, e.tier, "+on+" AS day, COUNT(*) AS deployments FROM deployments d JOIN environments e ON e.id = d.environment_id"+
		w.SQL()+" GROUP BY d.project_id, e.tier, "+on+" ORDER BY 1, 2, 3", w.Args()...)
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		at(d.ProjectID, d.Tier, d.Day).deployments += d.Deployments
	}
	type shipped struct {
		ProjectID  project.ID  `db:"project_id"`
		Tier       deploy.Tier `db:"tier"`
		FinishedAt db.Time     `db:"finished_at"`
		MergedAt   db.Time     `db:"merged_at"`
	}
	pairs, err := db.Select[shipped](ctx, s.DB, `SELECT d.project_id, e.tier, d.finished_at, m.merged_at FROM deployments d JOIN environments e ON e.id = d.environment_id
		JOIN deployment_merge_requests l ON l.deployment_id = d.id JOIN merge_requests m ON m.id = l.merge_request_id`+w.SQL()+" AND m.merged_at IS NOT NULL ORDER BY d.id, m.id", w.Args()...)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		d := at(p.ProjectID, p.Tier, p.FinishedAt)
		d.leads = append(d.leads, between(p.MergedAt, p.FinishedAt))
	}
	return out, s.countIncidents(ctx, ids, from, to, at)
}

// countIncidents counts incidents by the day that they were created, duplicates left out, and how long those took that were closed.
func (s *Service) countIncidents(ctx context.Context, ids []project.ID, from, to time.Time, at func(id project.ID, tier deploy.Tier, t db.Time) *day) error {
	type incident struct {
		ProjectID project.ID `db:"project_id"`
		CreatedAt db.Time    `db:"created_at"`
		ClosedAt  *db.Time   `db:"closed_at"` // nil where it is counted by the day that it was created
	}
	query := func(columns, column, cond string) (string, []any) {
		var w db.Where
		w.In("i.project_id", ids)
		w.And("i.issue_type = 'incident' AND i."+column+" >= ? AND i."+column+" < ? AND "+cond, db.At(from), db.At(to))
		w.And("EXISTS (SELECT 1 FROM environments e WHERE e.project_id = i.project_id AND e.tier = ?)", deploy.Production)
		return "SELECT i.project_id, i.created_at, " + columns + " FROM issues i" + w.SQL(), w.Args()
	}
	created, args := query("NULL AS closed_at", "created_at", "i.duplicated_to_id IS NULL")
	closed, more := query("i.closed_at", "closed_at", "i.state = 'closed'")
	rows, err := db.Select[incident](ctx, s.DB, closed+" UNION ALL "+created+" ORDER BY 1, 2", append(more, args...)...)
	if err != nil {
		return err
	}
	for _, i := range rows {
		if i.ClosedAt == nil {
			at(i.ProjectID, deploy.Production, i.CreatedAt).incidents++
			continue
		}
		d := at(i.ProjectID, deploy.Production, *i.ClosedAt)
		d.restores = append(d.restores, between(i.CreatedAt, *i.ClosedAt))
	}
	return nil
}

// between is how many milliseconds there are between two times as answers show them, 0 where the second is before the first.
func between(from, to db.Time) uint64 {
	return uint64(max(to.UnixMilli()-from.UnixMilli(), 0))
}
