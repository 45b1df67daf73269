package ci

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// OfRunner lists the jobs that a runner has or had, of projects where the actor is at least Reporter. It requires the right to change the runner.
func (s *Service) OfRunner(ctx context.Context, as authz.Actor, id runner.ID, f JobFilter) (page.Page[Job], error) {
	if _, err := s.Runners.Owned(ctx, as, id); err != nil {
		return page.Page[Job]{}, err
	}
	var w db.Where
	w.And("j.runner_id = ?", id)
	if !as.Admin {
		places, args := s.Policy.ReachSQL(as, authz.Reporter)
		w.And("s.project_id IN (SELECT o.id FROM projects o WHERE NOT o.pending_delete AND o.builds_access > ? AND o.namespace_id IN ("+places+"))",
			append([]any{authz.FeatureDisabled}, args...)...)
	}
	f.Retried = true
	return s.listJobs(ctx, w, f)
}

// ViewsOfProjects is Views for jobs of several projects, without those of projects that the caller may not read.
func (s *Service) ViewsOfProjects(ctx context.Context, as authz.Actor, jobs []*Job) ([]*JobView, error) {
	ids := make([]project.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ProjectID
	}
	projects, err := s.Projects.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, fmt.Errorf("projects of jobs: %w", err)
	}
	readable := make([]*Job, 0, len(jobs))
	for _, j := range jobs {
		if projects[j.ProjectID] != nil {
			readable = append(readable, j)
		}
	}
	return s.viewsOf(ctx, as, projects, readable)
}

// Executing tells those of the runners that run jobs now. Runners whose details the actor may not read are left out.
func (s *Service) Executing(ctx context.Context, as authz.Actor, ids []runner.ID) (map[runner.ID]bool, error) {
	readable, err := s.Runners.ByIDs(ctx, as, ids)
	if err != nil || len(readable) == 0 {
		return nil, err
	}
	var w db.Where
	w.In("j.runner_id", slices.Sorted(maps.Keys(readable)))
	w.In("s.status", []State{Running, Canceling})
	busy, err := db.Select[runner.ID](ctx, s.DB, "SELECT DISTINCT j.runner_id FROM "+jobTables+w.SQL()+" ORDER BY j.runner_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("runners with jobs: %w", err)
	}
	out := make(map[runner.ID]bool, len(readable))
	for id := range readable {
		out[id] = slices.Contains(busy, id)
	}
	return out, nil
}
