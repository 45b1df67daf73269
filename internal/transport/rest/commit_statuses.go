package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("commits", (*Server).commitStatusRoutes)

func (s *Server) commitStatusRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/repository/commits/:sha/statuses", s.commitStatuses).Doc("List the statuses of a commit").Public().
			Needs(authz.ReadPipeline, authz.ReadCode),
		api.Post("/projects/:id/statuses/:sha", s.reportStatus).Doc("Set the pipeline status of a commit").
			Needs(authz.SetCommitStatus, authz.ReadCode),
	)
}

// pipelineEntity is the short form of a pipeline.
type pipelineEntity struct {
	ID        ci.PipelineID `json:"id"`
	IID       int64         `json:"iid"`
	ProjectID project.ID    `json:"project_id"`
	SHA       string        `json:"sha"`
	Ref       string        `json:"ref"`
	Status    ci.State      `json:"status"`
	Source    ci.Source     `json:"source"`
	CreatedAt api.Time      `json:"created_at"`
	UpdatedAt api.Time      `json:"updated_at"`
	WebURL    string        `json:"web_url"`
	Name      *string       `json:"name"`
}

func (s *Server) pipeline(p *project.Project, of *ci.Pipeline) *pipelineEntity {
	return &pipelineEntity{
		ID: of.ID, IID: of.IID, ProjectID: of.ProjectID, SHA: of.SHA, Ref: of.Ref, Status: of.State, Source: of.Source,
		CreatedAt: api.Time(of.CreatedAt.Time), UpdatedAt: api.Time(of.UpdatedAt.Time),
		WebURL: s.URLs.Pipeline(p.FullPath, int64(of.ID)), Name: of.Name,
	}
}

// checkEntity is one check of a commit.
type checkEntity struct {
	ID           ci.StatusID   `json:"id"`
	SHA          string        `json:"sha"`
	Ref          string        `json:"ref"`
	Status       ci.State      `json:"status"`
	Name         string        `json:"name"`
	TargetURL    *string       `json:"target_url"`
	Description  *string       `json:"description"`
	CreatedAt    api.Time      `json:"created_at"`
	StartedAt    *api.Time     `json:"started_at"`
	FinishedAt   *api.Time     `json:"finished_at"`
	AllowFailure bool          `json:"allow_failure"`
	Coverage     *float64      `json:"coverage"`
	PipelineID   ci.PipelineID `json:"pipeline_id"`
	Author       *userBasic    `json:"author"`
}

func (s *Server) checkEntities(ctx context.Context, sha string, list ...ci.Status) ([]checkEntity, error) {
	var ids []authz.UserID
	for i := range list {
		if by := list[i].AuthorID; by != nil {
			ids = append(ids, *by)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]checkEntity, len(list))
	for i := range list {
		out[i] = s.checkEntity(sha, &list[i], users)
	}
	return out, nil
}

func (s *Server) checkEntity(sha string, st *ci.Status, users map[authz.UserID]*account.Summary) checkEntity {
	e := checkEntity{
		ID: st.ID, SHA: sha, Ref: st.Ref, Status: st.State, Name: st.Name, TargetURL: st.TargetURL, Description: st.Description,
		CreatedAt: api.Time(st.CreatedAt.Time), Coverage: st.Coverage, AllowFailure: st.AllowFailure, PipelineID: st.PipelineID,
	}
	if st.StartedAt != nil {
		e.StartedAt = api.TimePtr(&st.StartedAt.Time)
	}
	if st.FinishedAt != nil {
		e.FinishedAt = api.TimePtr(&st.FinishedAt.Time)
	}
	if st.AuthorID != nil {
		e.Author = s.user(users[*st.AuthorID])
	}
	return e
}

type listStatusesParams struct {
	commitParams
	Ref        string        `param:"ref" doc:"Branch or tag"`
	Stage      string        `param:"stage" doc:"Stage"`
	Name       string        `param:"name" doc:"Label that tells this status from those of other systems"`
	PipelineID ci.PipelineID `param:"pipeline_id" doc:"ID of the pipeline"`
	All        bool          `param:"all" default:"false" doc:"Include statuses replaced by a later one of the same name"`
	OrderBy    string        `param:"order_by" values:"id,pipeline_id" default:"id" doc:"Column to order by"`
	Sort       string        `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
	api.Page
}

func (s *Server) commitStatuses(ctx context.Context, as authz.Actor, in listStatusesParams) (api.List[checkEntity], error) {
	var none api.List[checkEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, sha, err := s.CI.Statuses(ctx, as, p, in.SHA, ci.Filter{
		Ref: in.Ref, Stage: in.Stage, Name: in.Name, PipelineID: in.PipelineID, All: in.All,
		ByPipeline: in.OrderBy == "pipeline_id", Desc: in.Sort == "desc", Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	out, err := s.checkEntities(ctx, sha, list.Items...)
	return api.Listed(list, out), err
}

type reportStatusParams struct {
	commitParams
	State       string        `param:"state" values:"pending,running,success,failed,canceled,skipped" doc:"State of the status"`
	Ref         string        `param:"ref" doc:"Branch or tag; defaults to that of the latest pipeline of the commit"`
	Name        string        `param:"name" alias:"context" default:"default" doc:"Label that tells this status from those of other systems"`
	TargetURL   *string       `param:"target_url" doc:"Target URL of the status"`
	Description *string       `param:"description" doc:"Short description"`
	Coverage    *float64      `param:"coverage" doc:"Total code coverage in percent"`
	PipelineID  ci.PipelineID `param:"pipeline_id" doc:"ID of the pipeline; required if the commit has several"`
}

func (s *Server) reportStatus(ctx context.Context, as authz.Actor, in reportStatusParams) (checkEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return checkEntity{}, err
	}
	name := in.Name
	if name == "" {
		name = "default"
	}
	st, sha, err := s.CI.Report(ctx, as, p, in.SHA, ci.Input{
		State: ci.State(in.State), Name: name, Ref: in.Ref, PipelineID: in.PipelineID,
		TargetURL: in.TargetURL, Description: in.Description, Coverage: in.Coverage,
	})
	if err != nil {
		return checkEntity{}, err
	}
	out, err := s.checkEntities(ctx, sha, *st)
	if err != nil {
		return checkEntity{}, err
	}
	return out[0], nil
}
