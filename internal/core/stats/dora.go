package stats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
)

// Metric is one of the four DORA metrics.
type Metric string

// The metrics.
const (
	DeploymentFrequency  Metric = "deployment_frequency"
	LeadTimeForChanges   Metric = "lead_time_for_changes"
	TimeToRestoreService Metric = "time_to_restore_service"
	ChangeFailureRate    Metric = "change_failure_rate"
)

// Metrics are all metrics in the order of the contract.
var Metrics = []Metric{DeploymentFrequency, LeadTimeForChanges, TimeToRestoreService, ChangeFailureRate}

// Interval is what a point covers.
type Interval string

// The intervals.
const (
	All     Interval = "all"
	Monthly Interval = "monthly"
	Daily   Interval = "daily"
)

// Intervals are all intervals in the order of the contract.
var Intervals = []Interval{All, Monthly, Daily}

var tiers = []deploy.Tier{deploy.Production, deploy.Staging, deploy.Testing, deploy.Development, deploy.Other}

const (
	mostDays   = 180
	mostMarked = 500 // projects that one answer counts again
)

// CodeDenied is the error of a caller who may see a project or group and not its metrics.
const CodeDenied errs.Code = "dora_metrics_denied"

// Query selects a metric.
type Query struct {
	Metric   Metric
	Start    time.Time // day; zero is three months ago
	End      time.Time // day, which counts; zero is today
	Interval Interval
	Tiers    []deploy.Tier // none is production
}

// Point is one value of a metric.
type Point struct {
	Date  *time.Time // day, or the first of a month; nil for the whole time
	Value *float64   // nil where there is none
}

// complete fills in what a query leaves out.
func (q *Query) complete(now time.Time) {
	today := midnight(now)
	if q.Start.IsZero() {
		first := time.Date(today.Year(), today.Month()-3, 1, 0, 0, 0, 0, time.UTC)
		q.Start = first.AddDate(0, 0, min(today.Day(), first.AddDate(0, 1, -1).Day())-1)
	}
	if q.End.IsZero() {
		q.End = today
	}
	q.Start, q.End = midnight(q.Start), midnight(q.End)
	if len(q.Tiers) == 0 {
		q.Tiers = []deploy.Tier{deploy.Production}
	}
}

func midnight(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// check refuses a query whose values do not fit.
func (q *Query) check() error {
	switch {
	case q.days() > mostDays+1:
		return errs.Plain(fmt.Sprintf("Date range must be shorter than %d days.", mostDays))
	case !q.Start.Before(q.End):
		return errs.Plain("The start date must be earlier than the end date.")
	case !slices.Contains(Intervals, q.Interval):
		return errs.Plain("The interval must be one of " + words(Intervals, ",") + ".")
	case !slices.Contains(Metrics, q.Metric):
		return errs.Plain("The metric must be one of " + words(Metrics, ",") + ".")
	case slices.ContainsFunc(q.Tiers, func(t deploy.Tier) bool { return !slices.Contains(tiers, t) }):
		return errs.Plain("The environment tiers must be from " + words(tiers, ", ") + ".")
	}
	return nil
}

func words[T ~string](list []T, between string) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return strings.Join(out, between)
}

// days is how many days a query covers.
func (q *Query) days() int { return int(q.End.Sub(q.Start)/(24*time.Hour)) + 1 }

// Readable requires the right to read the metrics of a project or group.
func (s *Service) Readable(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.Policy.Require(ctx, as, authz.ReadDORAMetrics, at.Subject)
}

// DORA returns a metric of a project, or of all projects in a group and its subgroups. It requires ReadDORAMetrics.
func (s *Service) DORA(ctx context.Context, as authz.Actor, at authz.Place, q Query) ([]Point, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadDORAMetrics, at.Subject); err != nil {
		if errs.Is(err, errs.Forbidden) {
			return nil, errs.Coded(errs.Unauthorized, CodeDenied, "")
		}
		return nil, err
	}
	q.complete(s.Now())
	if err := q.check(); err != nil {
		return nil, err
	}
	marked, err := s.marked(ctx, at, q)
	if err != nil {
		return nil, err
	}
	sum := newSums(q)
	if err := s.sumKept(ctx, at, marked, sum); err != nil {
		return nil, fmt.Errorf("read DORA metrics: %w", err)
	}
	if len(marked) > 0 {
		found, err := s.count(ctx, marked, q.Start, q.End.AddDate(0, 0, 1))
		if err != nil {
			return nil, fmt.Errorf("count DORA metrics: %w", err)
		}
		for of, f := range found {
			sum.addFigures(of, f)
		}
	}
	return sum.points(), nil
}

// marked are the projects with months that were marked and not counted yet: an answer counts them itself.
func (s *Service) marked(ctx context.Context, at authz.Place, q Query) ([]project.ID, error) {
	ids, err := db.Select[project.ID](ctx, s.DB, `SELECT DISTINCT m.project_id FROM dora_marks m JOIN projects p ON p.id = m.project_id
		JOIN namespace_ancestors inside ON inside.namespace_id = p.namespace_id AND inside.ancestor_id = ?
		WHERE (m.month = ? OR m.month >= ? AND m.month <= ?) ORDER BY m.project_id LIMIT ?`, at.Namespace, all, MonthOf(db.At(q.Start)), MonthOf(db.At(q.End)), mostMarked+1)
	if err != nil {
		return nil, fmt.Errorf("find marks: %w", err)
	}
	if len(ids) > mostMarked {
		return nil, errs.New(errs.Unavailable, "DORA metrics are being counted")
	}
	return ids, nil
}

// sumKept adds what is kept of the projects that are not marked.
func (s *Service) sumKept(ctx context.Context, at authz.Place, marked []project.ID, sum *sums) error {
	times := "m.counts"
	switch sum.Metric {
	case LeadTimeForChanges:
		times = "m.lead_times"
	case TimeToRestoreService:
		times = "m.restore_times"
	}
	var w db.Where
	w.And("inside.ancestor_id = ? AND m.month >= ? AND m.month <= ?", at.Namespace, MonthOf(db.At(sum.Start)), MonthOf(db.At(sum.End)))
	w.In("m.tier", sum.Tiers)
	if len(marked) > 0 {
		w.NotIn("m.project_id", marked)
	}
	type kept struct {
		Month  Month       `db:"month"`
		Tier   deploy.Tier `db:"tier"`
		Counts []byte      `db:"counts"`
		Times  []byte      `db:"times"`
	}
	rows, err := db.Select[kept](ctx, s.DB, "SELECT m.month, m.tier, m.counts, "+times+` AS times FROM namespace_ancestors inside JOIN projects p ON p.namespace_id = inside.namespace_id
		JOIN dora_months m ON m.project_id = p.id`+w.SQL(), w.Args()...)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		err := counts(r.Counts, func(n int, deployments, incidents uint64) { sum.add(r.Month, n, r.Tier, deployments, incidents) })
		if err == nil && sum.timed(r.Tier) {
			err = values(r.Times, func(n int, ms uint64) { sum.addTime(r.Month, n, ms) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
