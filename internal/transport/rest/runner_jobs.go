package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
	"tenon/internal/transport/rest/api"
)

type runnerJobsParams struct {
	ID     runner.ID `param:"id" doc:"ID of the runner"`
	Status string    `param:"status" values:"created,waiting_for_resource,preparing,waiting_for_callback,pending,running,success,failed,canceling,canceled,skipped,manual,scheduled" doc:"Status of the jobs"`
	Order  string    `param:"order_by" values:"id" doc:"Order of the jobs: id"`
	Sort   string    `param:"sort" values:"asc,desc" default:"desc" doc:"Direction of the order"`
	api.Page
}

// runnerJobEntity is a job as its runner lists it.
type runnerJobEntity struct {
	jobBasics
	IPAddress *string         `json:"ip_address"` // of the runner
	Project   projectIdentity `json:"project"`
}

func (s *Server) listRunnerJobs(ctx context.Context, as authz.Actor, in runnerJobsParams) (api.List[runnerJobEntity], error) {
	f := ci.JobFilter{Asc: in.Sort == "asc", Range: in.Range()}
	if in.Status != "" {
		f.States = []ci.State{ci.State(in.Status)}
	}
	list, err := s.CI.OfRunner(ctx, as, in.ID, f)
	if err != nil {
		return api.List[runnerJobEntity]{}, err
	}
	views, err := s.CI.ViewsOfProjects(ctx, as, page.Pointers(list).Items)
	if err != nil {
		return api.List[runnerJobEntity]{}, err
	}
	items := make([]runnerJobEntity, len(views))
	for i, v := range views {
		items[i] = runnerJobEntity{jobBasics: s.jobBasics(v.Project, v), Project: identityOf(v.Project)}
		if v.Runner != nil {
			items[i].IPAddress = v.Runner.IPAddress
		}
	}
	return api.Listed(list, items), nil
}
