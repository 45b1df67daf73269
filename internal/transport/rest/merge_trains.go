package rest

import (
	"context"
	"net/http"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_trains", (*Server).mergeTrainRoutes)

func (s *Server) mergeTrainRoutes() []*api.Route {
	const all = "/projects/:id/merge_trains"
	const one = all + "/merge_requests/:merge_request_iid"
	read := []authz.Ability{authz.ReadMergeRequest, authz.ReadMergeTrain}
	return api.Scoped(nil,
		api.Get(all, s.mergeTrains).Doc("List the merge trains of a project").Needs(read...),
		api.Get(all+"/:target_branch", s.mergeTrain).Doc("List the merge requests in a merge train").Needs(read...),
		api.Get(one, s.mergeTrainCar).Doc("Get the status of a merge request on a merge train").Needs(read...),
		api.Post(one, s.addToMergeTrain).Doc("Add a merge request to a merge train").
			Needs(authz.AcceptMergeRequest, authz.ReadMergeRequest, authz.ReadMergeTrain),
	)
}

// mergeTrainEntity is a merge request in a merge train.
type mergeTrainEntity struct {
	ID           mergerequest.CarID     `json:"id"`
	MergeRequest simpleMergeRequest     `json:"merge_request"`
	User         *userBasic             `json:"user"`     // who added it
	Pipeline     *pipelineEntity        `json:"pipeline"` // of the commit that the train made
	CreatedAt    api.Time               `json:"created_at"`
	UpdatedAt    api.Time               `json:"updated_at"`
	TargetBranch string                 `json:"target_branch"`
	Status       mergerequest.CarStatus `json:"status"`
	MergedAt     *api.Time              `json:"merged_at"`
	Duration     *int64                 `json:"duration"` // seconds in the train; null until it is merged
}

func (s *Server) mergeTrainEntity(p *project.Project, c *mergerequest.CarView) mergeTrainEntity {
	m := c.MergeRequest
	e := mergeTrainEntity{
		ID: c.ID, User: s.user(c.User), CreatedAt: api.Time(c.CreatedAt.Time), UpdatedAt: api.Time(c.UpdatedAt.Time),
		TargetBranch: c.TargetBranch, Status: c.Status, MergedAt: api.TimePtr(c.MergedAt.Ptr()),
		MergeRequest: simpleMergeRequest{
			ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
			CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), WebURL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
		},
	}
	if c.Pipeline != nil {
		e.Pipeline = s.pipeline(p, c.Pipeline)
	}
	if c.MergedAt != nil {
		took := int64(c.MergedAt.Sub(c.CreatedAt.Time).Seconds())
		e.Duration = &took
	}
	return e
}

type mergeTrainsParams struct {
	projectPath
	Scope mergerequest.CarScope `param:"scope" values:"active,complete" doc:"active for merge requests that are to be merged, complete for those that were; all by default"`
	Sort  string                `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	api.Page
}

type mergeTrainParams struct {
	mergeTrainsParams
	TargetBranch string `param:"target_branch,required" doc:"Target branch of the merge train"`
}

func (s *Server) mergeTrains(ctx context.Context, as authz.Actor, in mergeTrainsParams) (api.List[mergeTrainEntity], error) {
	return s.cars(ctx, as, mergeTrainParams{mergeTrainsParams: in})
}

func (s *Server) mergeTrain(ctx context.Context, as authz.Actor, in mergeTrainParams) (api.List[mergeTrainEntity], error) {
	return s.cars(ctx, as, in)
}

func (s *Server) cars(ctx context.Context, as authz.Actor, in mergeTrainParams) (api.List[mergeTrainEntity], error) {
	var none api.List[mergeTrainEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.MergeRequests.Cars(ctx, as, p, mergerequest.CarFilter{
		TargetBranch: in.TargetBranch, Scope: in.Scope, Asc: in.Sort == "asc", Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(c *mergerequest.CarView) mergeTrainEntity { return s.mergeTrainEntity(p, c) }), nil
}

func (s *Server) mergeTrainCar(ctx context.Context, as authz.Actor, in requestPath) (mergeTrainEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeTrainEntity{}, err
	}
	c, err := s.MergeRequests.Car(ctx, as, p, in.IID)
	if err != nil {
		return mergeTrainEntity{}, err
	}
	return s.mergeTrainEntity(p, c), nil
}

type addToMergeTrainParams struct {
	requestPath
	SHA          string `param:"sha" doc:"If present, the SHA that must match the HEAD of the source branch"`
	Squash       bool   `param:"squash" doc:"Squash commits into one when merging; false keeps the setting of the merge request"`
	WhenPipeline bool   `param:"when_pipeline_succeeds" alias:"auto_merge" doc:"Add the merge request to the merge train when its pipeline succeeds"`
}

// addToMergeTrain answers 201 with the train of the target branch, in its order, and 202 where
// the merge request enters it later.
func (s *Server) addToMergeTrain(ctx context.Context, as authz.Actor, in addToMergeTrainParams) (api.Reply[[]mergeTrainEntity], error) {
	var out api.Reply[[]mergeTrainEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return out, err
	}
	m, added, err := s.MergeRequests.AddToTrain(ctx, as, p, in.IID, mergerequest.MergeInput{SHA: in.SHA, Squash: in.Squash, WhenReady: in.WhenPipeline})
	if err != nil {
		return out, err
	}
	list, err := s.MergeRequests.Cars(ctx, as, p, mergerequest.CarFilter{
		TargetBranch: m.TargetBranch, Scope: mergerequest.ActiveCars, Asc: true, Range: page.Range{Limit: shownCars, Uncounted: true},
	})
	if err != nil {
		return out, err
	}
	out.Body = make([]mergeTrainEntity, len(list.Items))
	for i := range list.Items {
		out.Body[i] = s.mergeTrainEntity(p, &list.Items[i])
	}
	if out.Status = http.StatusCreated; !added {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// shownCars is how many of a train are shown to who adds to it.
const shownCars = 100
