package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("jobs", (*Server).buildRoutes)

func (s *Server) buildRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/jobs", s.listJobs).Doc("List the jobs of a project").Needs(authz.ReadPipeline).Public(),
		api.Get("/job", s.currentJob).Doc("Get the job of a job token").Needs(authz.ReadPipeline),
		api.Get("/projects/:id/jobs/:job_id", s.getJob).Doc("Get a job").Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/jobs/:job_id/trace", s.jobLog).Doc("Get the log of a job").Needs(authz.ReadPipeline).Public(),
		api.Post("/projects/:id/jobs/:job_id/cancel", s.cancelJob).Doc("Cancel a job").Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Post("/projects/:id/jobs/:job_id/retry", s.retryJob).Doc("Retry a job").Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Post("/projects/:id/jobs/:job_id/play", s.playJob).Status(http.StatusOK).Doc("Run a manual job").Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Post("/projects/:id/jobs/:job_id/erase", s.eraseJob).Doc("Erase a job").Needs(authz.ReadPipeline, authz.ErasePipeline),
	)
}

type jobPath struct {
	projectPath
	JobID ci.StatusID `param:"job_id" doc:"ID of the job"`
}

type jobProject struct {
	ScopeEnabled bool `json:"ci_job_token_scope_enabled"`
}

type artifactFile struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
}

type artifactEntity struct {
	Type     string `json:"file_type"`
	Size     int64  `json:"size"`
	Filename string `json:"filename"`
	Format   string `json:"file_format"`
}

// jobBasics is what jobs and trigger jobs have in common.
type jobBasics struct {
	ID             ci.StatusID     `json:"id"`
	Status         ci.State        `json:"status"`
	Stage          string          `json:"stage"`
	Name           string          `json:"name"`
	Ref            string          `json:"ref"`
	Tag            bool            `json:"tag"`
	Coverage       *float64        `json:"coverage"`
	AllowFailure   bool            `json:"allow_failure"`
	CreatedAt      api.Time        `json:"created_at"`
	StartedAt      *api.Time       `json:"started_at"`
	FinishedAt     *api.Time       `json:"finished_at"`
	ErasedAt       *api.Time       `json:"erased_at"`
	Duration       *float64        `json:"duration"`        // seconds
	QueuedDuration *float64        `json:"queued_duration"` // seconds
	User           *userBasic      `json:"user"`
	Commit         *commitEntity   `json:"commit"`
	Pipeline       *pipelineEntity `json:"pipeline"`
	FailureReason  string          `json:"failure_reason,omitempty"`
	WebURL         string          `json:"web_url"`
	Project        jobProject      `json:"project"`
}

// jobEntity is a job.
type jobEntity struct {
	jobBasics
	ArtifactsFile     *artifactFile    `json:"artifacts_file,omitempty"`
	Artifacts         []artifactEntity `json:"artifacts"`
	Runner            *jobRunner       `json:"runner"`
	ArtifactsExpireAt *api.Time        `json:"artifacts_expire_at"`
	Archived          bool             `json:"archived"`
	TagList           []string         `json:"tag_list"`
}

// jobRunner is the runner of a job.
type jobRunner struct {
	ID          int64   `json:"id"`
	Description *string `json:"description"`
	IPAddress   *string `json:"ip_address"`
	Active      bool    `json:"active"`
	Paused      bool    `json:"paused"`
	IsShared    bool    `json:"is_shared"`
	RunnerType  string  `json:"runner_type"`
	Name        *string `json:"name"`
	Online      *bool   `json:"online"`
	Status      string  `json:"status"`
}

// bridgeEntity is a trigger job.
type bridgeEntity struct {
	jobBasics
	Downstream *pipelineEntity `json:"downstream_pipeline"`
}

func (s *Server) jobBasics(p *project.Project, v *ci.JobView) jobBasics {
	now := s.Now()
	e := jobBasics{
		ID: v.ID, Status: v.State, Stage: v.Stage, Name: v.Name, Ref: v.Ref, Coverage: v.Coverage, AllowFailure: v.AllowFailure, CreatedAt: api.Time(v.CreatedAt.Time),
		StartedAt: api.TimePtr(v.StartedAt.Ptr()), FinishedAt: api.TimePtr(v.FinishedAt.Ptr()), ErasedAt: api.TimePtr(v.ErasedAt.Ptr()),
		Duration: v.Duration(now), QueuedDuration: v.QueuedDuration(now), User: s.user(v.User), WebURL: v.URL,
		Project: jobProject{p.Settings().CIJobTokenScopeEnabled},
	}
	if v.Of != nil {
		e.Tag, e.Pipeline = v.Of.Tag, s.pipeline(p, v.Of)
	}
	if v.Commit != nil {
		c := s.commitEntity(p, v.Commit)
		e.Commit = &c
	}
	if v.State == ci.Failed && v.FailureReason != nil {
		e.FailureReason = *v.FailureReason
	}
	return e
}

func (s *Server) jobEntity(p *project.Project, v *ci.JobView) jobEntity {
	e := jobEntity{jobBasics: s.jobBasics(p, v), Artifacts: []artifactEntity{}, TagList: append([]string{}, v.Tags...), Archived: p.Archived || v.Archived}
	if v.LogSize > 0 {
		e.Artifacts = append(e.Artifacts, artifactEntity{"trace", v.LogSize, "job.log", "raw"})
	}
	for _, a := range v.Artifacts {
		e.Artifacts = append(e.Artifacts, artifactEntity{a.Type, a.Size, a.Filename, a.Format})
		if a.Type == ci.Archive {
			e.ArtifactsFile = &artifactFile{a.Filename, a.Size}
			e.ArtifactsExpireAt = api.TimePtr(a.ExpireAt.Ptr())
		}
	}
	if r := v.Runner; r != nil {
		e.Runner = &jobRunner{
			ID: int64(r.ID), Description: r.Description, IPAddress: r.IPAddress, Active: !r.Paused, Paused: r.Paused, IsShared: r.Type == "instance_type",
			RunnerType: string(r.Type), Name: r.Name, Status: string(r.Status(s.Now())),
		}
		if r.ContactedAt != nil {
			online := s.Now().Sub(r.ContactedAt.Time) < 2*time.Hour
			e.Runner.Online = &online
		}
	}
	return e
}

// job renders one job.
func (s *Server) job(ctx context.Context, as authz.Actor, p *project.Project, j *ci.Job, err error) (*jobEntity, error) {
	if err != nil {
		return nil, err
	}
	views, err := s.CI.Views(ctx, as, p, []*ci.Job{j})
	if err != nil {
		return nil, err
	}
	e := s.jobEntity(p, views[0])
	return &e, nil
}

type listJobsParams struct {
	projectPath
	Scope api.Strings `param:"scope" doc:"Statuses of the jobs"`
	api.Page
}

// states reads the scope of a list of jobs.
func states(scope []string) ([]ci.State, error) {
	out := make([]ci.State, len(scope))
	known := map[ci.State]bool{}
	for _, s := range ci.States() {
		known[s] = true
	}
	for i, text := range scope {
		if out[i] = ci.State(text); !known[out[i]] {
			return nil, &api.Refusal{Status: http.StatusBadRequest, Text: "scope does not have a valid value"}
		}
	}
	return out, nil
}

// jobList renders a page of jobs.
func (s *Server) jobList(ctx context.Context, as authz.Actor, p *project.Project, list page.Page[ci.Job], err error) (api.List[jobEntity], error) {
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	views, err := s.CI.Views(ctx, as, p, page.Pointers(list).Items)
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	out := make([]jobEntity, len(views))
	for i, v := range views {
		out[i] = s.jobEntity(p, v)
	}
	return api.Listed(list, out), nil
}

func (s *Server) listJobs(ctx context.Context, as authz.Actor, in listJobsParams) (api.List[jobEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	scope, err := states(in.Scope)
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	r := in.Range()
	r.Uncounted = true // as documented
	list, err := s.CI.Jobs(ctx, as, p, ci.JobFilter{States: scope, Range: r})
	return s.jobList(ctx, as, p, list, err)
}

type pipelineJobsParams struct {
	pipelinePath
	Scope   api.Strings `param:"scope" doc:"Statuses of the jobs"`
	Retried bool        `param:"include_retried" default:"false" doc:"Include retried jobs"`
	api.Page
}

func (s *Server) pipelineJobs(ctx context.Context, as authz.Actor, in pipelineJobsParams) (api.List[jobEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	scope, err := states(in.Scope)
	if err != nil {
		return api.List[jobEntity]{}, err
	}
	list, err := s.CI.JobsOf(ctx, as, p, in.PipelineID, ci.JobFilter{States: scope, Retried: in.Retried, Range: in.Range()})
	return s.jobList(ctx, as, p, list, err)
}

type pipelineBridgesParams struct {
	pipelinePath
	Scope api.Strings `param:"scope" doc:"Statuses of the trigger jobs"`
	api.Page
}

func (s *Server) pipelineBridges(ctx context.Context, as authz.Actor, in pipelineBridgesParams) (api.List[bridgeEntity], error) {
	var none api.List[bridgeEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	scope, err := states(in.Scope)
	if err != nil {
		return none, err
	}
	list, err := s.CI.JobsOf(ctx, as, p, in.PipelineID, ci.JobFilter{States: scope, Kind: ci.BridgeKind, Range: in.Range()})
	if err != nil {
		return none, err
	}
	views, err := s.CI.Views(ctx, as, p, page.Pointers(list).Items)
	if err != nil {
		return none, err
	}
	out := make([]bridgeEntity, len(views))
	for i, v := range views {
		out[i] = bridgeEntity{jobBasics: s.jobBasics(p, v)}
		if v.Downstream != nil {
			out[i].Downstream = s.pipeline(v.DownstreamProject, v.Downstream)
		}
	}
	return api.Listed(list, out), nil
}

func (s *Server) currentJob(ctx context.Context, as authz.Actor, _ struct{}) (*jobEntity, error) {
	j, p, err := s.CI.Current(ctx, as)
	return s.job(ctx, as, p, j, err)
}

func (s *Server) getJob(ctx context.Context, as authz.Actor, in jobPath) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	j, _, err := s.CI.FindJob(ctx, as, p, in.JobID)
	return s.job(ctx, as, p, j, err)
}

func (s *Server) jobLog(ctx context.Context, as authz.Actor, in jobPath) (api.RawOrContent, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.RawOrContent{}, err
	}
	log, err := s.CI.Log(ctx, as, p, in.JobID)
	if err != nil {
		return api.RawOrContent{}, err
	}
	return api.RawOrContent{Content: &api.Content{Type: "text/plain; charset=utf-8", From: log, Header: http.Header{}}}, nil
}

type cancelJobParams struct {
	jobPath
	Force bool `param:"force" default:"false" doc:"Cancel a job that is canceling at once; for Maintainers"`
}

func (s *Server) cancelJob(ctx context.Context, as authz.Actor, in cancelJobParams) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	cancel := s.CI.CancelJob
	if in.Force {
		cancel = s.CI.ForceCancelJob
	}
	j, err := cancel(ctx, as, p, in.JobID)
	return s.job(ctx, as, p, j, err)
}

func (s *Server) retryJob(ctx context.Context, as authz.Actor, in jobPath) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	j, err := s.CI.RetryJob(ctx, as, p, in.JobID)
	return s.job(ctx, as, p, j, err)
}

type jobVariable struct {
	Key   string `param:"key,required" doc:"Key of the variable"`
	Value string `param:"value,required" doc:"Value of the variable"`
}

type playJobParams struct {
	jobPath
	Variables []jobVariable `param:"job_variables_attributes" doc:"Variables of the job"`
}

func (s *Server) playJob(ctx context.Context, as authz.Actor, in playJobParams) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	var vars []ci.Variable
	for _, v := range in.Variables {
		vars = append(vars, ci.Variable{Key: v.Key, Value: v.Value})
	}
	j, err := s.CI.PlayJob(ctx, as, p, in.JobID, vars)
	return s.job(ctx, as, p, j, err)
}

func (s *Server) eraseJob(ctx context.Context, as authz.Actor, in jobPath) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	j, err := s.CI.Erase(ctx, as, p, in.JobID)
	return s.job(ctx, as, p, j, err)
}
