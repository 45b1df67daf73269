package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RefState returns the state of the newest pipeline of a branch or tag, "" without one. Ran leaves out pipelines that were
// skipped.
func (s *Service) RefState(ctx context.Context, as authz.Actor, p *project.Project, ref string, ran bool) (State, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return "", err
	}
	var w db.Where
	w.And("p.project_id = ? AND p.ref = ? AND p.source <> ?", p.ID, ref, ByParentPipeline)
	if ran {
		w.And("p.status <> ?", Skipped)
	}
	list, err := db.Select[State](ctx, s.DB, "SELECT p.status FROM pipelines p"+w.SQL()+" ORDER BY p.id DESC LIMIT 1", w.Args()...)
	if err != nil {
		return "", fmt.Errorf("state of reference: %w", err)
	}
	if len(list) == 0 {
		return "", nil
	}
	return list[0], nil
}

// RefCoverage returns the coverage in percent of the newest successful pipeline of a branch or tag: the mean of its jobs, or
// that of the job of a name. It is nil where none has any.
func (s *Service) RefCoverage(ctx context.Context, as authz.Actor, p *project.Project, ref, name string) (*float64, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, err
	}
	var w db.Where
	w.And(`NOT s.retried AND s.coverage IS NOT NULL AND s.pipeline_id = (SELECT MAX(l.id) FROM pipelines l
		WHERE l.project_id = ? AND l.ref = ? AND l.status = ? AND l.source <> ?)`, p.ID, ref, Success, ByParentPipeline)
	if name != "" {
		w.And("s.name = ?", name)
	}
	list, err := db.Select[float64](ctx, s.DB, "SELECT s.coverage FROM commit_statuses s"+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil || len(list) == 0 {
		if err != nil {
			err = fmt.Errorf("coverage of reference: %w", err)
		}
		return nil, err
	}
	mean := 0.0
	for _, n := range list {
		mean += n / float64(len(list))
	}
	return &mean, nil
}
