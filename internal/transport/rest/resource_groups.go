package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("resource_groups", (*Server).resourceGroupRoutes)

func (s *Server) resourceGroupRoutes() []*api.Route {
	const path = "/projects/:id/resource_groups"
	return api.Scoped(nil,
		api.Get(path, s.listResourceGroups).Doc("List the resource groups of a project").Needs(authz.ReadResourceGroups),
		api.Get(path+"/:key", s.getResourceGroup).Doc("Get a resource group").Needs(authz.ReadResourceGroups),
		api.Put(path+"/:key", s.updateResourceGroup).Timed().Doc("Update a resource group").Needs(authz.UpdateResourceGroup),
		api.Get(path+"/:key/upcoming_jobs", s.upcomingJobs).Doc("List the upcoming jobs of a resource group").Needs(authz.ReadResourceGroups),
		api.Get(path+"/:key/current_job", s.currentResourceJob).Doc("Get the current job of a resource group").Needs(authz.ReadResourceGroups),
	)
}

type resourceGroupEntity struct {
	ID          ci.ResourceGroupID `json:"id"`
	Key         string             `json:"key"`
	ProcessMode string             `json:"process_mode"`
	CreatedAt   api.Time           `json:"created_at"`
	UpdatedAt   api.Time           `json:"updated_at"`
}

func resourceGroupOf(g *ci.ResourceGroup) resourceGroupEntity {
	return resourceGroupEntity{g.ID, g.Key, g.ProcessMode, api.Time(g.CreatedAt.Time), api.Time(g.UpdatedAt.Time)}
}

type listResourceGroupsParams struct {
	projectPath
	api.Page
}

func (s *Server) listResourceGroups(ctx context.Context, as authz.Actor, in listResourceGroupsParams) (api.List[resourceGroupEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[resourceGroupEntity]{}, err
	}
	list, err := s.CI.ResourceGroups(ctx, as, p, in.Range())
	if err != nil {
		return api.List[resourceGroupEntity]{}, err
	}
	return api.ListOf(list, resourceGroupOf), nil
}

type resourceGroupPath struct {
	projectPath
	Key string `param:"key" doc:"Key of the resource group"`
}

func (s *Server) getResourceGroup(ctx context.Context, as authz.Actor, in resourceGroupPath) (*resourceGroupEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	g, err := s.CI.FindResourceGroup(ctx, as, p, in.Key)
	if err != nil {
		return nil, err
	}
	return new(resourceGroupOf(g)), nil
}

type updateResourceGroupParams struct {
	resourceGroupPath
	ProcessMode *string `param:"process_mode" values:"unordered,oldest_first,newest_first,newest_ready_first" doc:"Process mode of the resource group"`
}

func (s *Server) updateResourceGroup(ctx context.Context, as authz.Actor, in updateResourceGroupParams) (*resourceGroupEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	g, err := s.CI.SetProcessMode(ctx, as, p, in.Key, in.ProcessMode)
	if err != nil {
		return nil, err
	}
	return new(resourceGroupOf(g)), nil
}

type upcomingJobsParams struct {
	resourceGroupPath
	api.Page
}

func (s *Server) upcomingJobs(ctx context.Context, as authz.Actor, in upcomingJobsParams) (api.List[jobBasics], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[jobBasics]{}, err
	}
	list, err := s.CI.UpcomingJobs(ctx, as, p, in.Key, in.Range())
	if err != nil {
		return api.List[jobBasics]{}, err
	}
	views, err := s.CI.Views(ctx, as, p, page.Pointers(list).Items)
	if err != nil {
		return api.List[jobBasics]{}, err
	}
	out := make([]jobBasics, len(views))
	for i, v := range views {
		out[i] = s.jobBasics(p, v)
	}
	return api.Listed(list, out), nil
}

func (s *Server) currentResourceJob(ctx context.Context, as authz.Actor, in resourceGroupPath) (*jobBasics, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	j, err := s.CI.CurrentJob(ctx, as, p, in.Key)
	if err != nil {
		return nil, err
	}
	views, err := s.CI.Views(ctx, as, p, []*ci.Job{j})
	if err != nil {
		return nil, err
	}
	return new(s.jobBasics(p, views[0])), nil
}
