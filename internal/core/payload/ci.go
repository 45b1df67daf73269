package payload

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// PipelineBody is the body about a pipeline.
type PipelineBody struct {
	Kind         string                     `json:"object_kind"`
	Attributes   PipelineAttributes         `json:"object_attributes"`
	MergeRequest *PipelineMergeRequestBlock `json:"merge_request"` // null for a branch or tag
	User         *UserBlock                 `json:"user"`
	Project      *PlainProjectBlock         `json:"project"`
	Commit       *CommitBlock               `json:"commit"`
	Source       *SourcePipelineBlock       `json:"source_pipeline,omitempty"` // what started it
	Builds       []BuildBlock               `json:"builds"`                    // without those that were retried
}

// PipelineAttributes are those of a pipeline.
type PipelineAttributes struct {
	ID             ci.PipelineID   `json:"id"`
	IID            int64           `json:"iid"`
	Name           *string         `json:"name"`
	Ref            string          `json:"ref"`
	Tag            bool            `json:"tag"`
	SHA            string          `json:"sha"`
	BeforeSHA      string          `json:"before_sha"`
	Source         ci.Source       `json:"source"`
	Status         ci.State        `json:"status"`
	DetailedStatus string          `json:"detailed_status"`
	Stages         []string        `json:"stages"`
	CreatedAt      string          `json:"created_at"`
	FinishedAt     *string         `json:"finished_at"`
	Duration       *int64          `json:"duration"`        // seconds
	QueuedDuration *int64          `json:"queued_duration"` // seconds
	Protected      bool            `json:"protected_ref"`
	Variables      []VariableBlock `json:"variables"` // that it was started with
	URL            string          `json:"url"`
}

// VariableBlock is a variable that a pipeline was started with.
type VariableBlock struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// PipelineMergeRequestBlock is the merge request that a pipeline is for.
type PipelineMergeRequestBlock struct {
	ID                  mergerequest.ID          `json:"id"`
	IID                 mergerequest.IID         `json:"iid"`
	Title               string                   `json:"title"`
	SourceBranch        string                   `json:"source_branch"`
	SourceProjectID     *project.ID              `json:"source_project_id"`
	TargetBranch        string                   `json:"target_branch"`
	TargetProjectID     project.ID               `json:"target_project_id"`
	State               mergerequest.State       `json:"state"`
	MergeStatus         mergerequest.MergeStatus `json:"merge_status"`
	DetailedMergeStatus string                   `json:"detailed_merge_status"`
	URL                 string                   `json:"url"`
}

// SourcePipelineBlock is what started a pipeline.
type SourcePipelineBlock struct {
	Project    SourceProjectBlock `json:"project"`
	JobID      ci.StatusID        `json:"job_id"`
	PipelineID ci.PipelineID      `json:"pipeline_id"`
}

// SourceProjectBlock is the project of what started a pipeline.
type SourceProjectBlock struct {
	ID     project.ID `json:"id"`
	WebURL string     `json:"web_url"`
	Path   string     `json:"path_with_namespace"`
}

// BuildBlock is a job of a pipeline.
type BuildBlock struct {
	ID             ci.StatusID       `json:"id"`
	Stage          string            `json:"stage"`
	Name           string            `json:"name"`
	Status         ci.State          `json:"status"`
	CreatedAt      string            `json:"created_at"`
	StartedAt      *string           `json:"started_at"`
	FinishedAt     *string           `json:"finished_at"`
	Duration       *float64          `json:"duration"`        // seconds
	QueuedDuration *float64          `json:"queued_duration"` // seconds
	FailureReason  *string           `json:"failure_reason"`  // null unless it failed
	When           string            `json:"when"`
	Manual         bool              `json:"manual"`
	AllowFailure   bool              `json:"allow_failure"`
	User           *UserBlock        `json:"user"`
	Runner         *RunnerBlock      `json:"runner"`
	Artifacts      ArtifactsBlock    `json:"artifacts_file"`
	Environment    *EnvironmentBlock `json:"environment"`
}

// RunnerBlock is a runner.
type RunnerBlock struct {
	ID          runner.ID   `json:"id"`
	Description *string     `json:"description"`
	Type        runner.Type `json:"runner_type"`
	Active      bool        `json:"active"`
	Shared      bool        `json:"is_shared"`
	Tags        []string    `json:"tags"`
}

// ArtifactsBlock is the archive of a job.
type ArtifactsBlock struct {
	Name *string `json:"filename"`
	Size *int64  `json:"size"` // bytes
}

// EnvironmentBlock is where a job deploys to.
type EnvironmentBlock struct {
	Name   string  `json:"name"`
	Action string  `json:"action"`          // start, prepare, stop, verify or access
	Tier   *string `json:"deployment_tier"` // null unless the configuration names it
}

// JobBody is the body about a job.
type JobBody struct {
	Kind           string               `json:"object_kind"` // build
	Ref            string               `json:"ref"`
	Tag            bool                 `json:"tag"`
	BeforeSHA      string               `json:"before_sha"`
	SHA            string               `json:"sha"`
	ID             ci.StatusID          `json:"build_id"`
	Name           string               `json:"build_name"`
	Stage          string               `json:"build_stage"`
	Status         ci.State             `json:"build_status"`
	CreatedAt      string               `json:"build_created_at"` // as all times here RFC 3339
	StartedAt      *string              `json:"build_started_at"`
	FinishedAt     *string              `json:"build_finished_at"`
	Duration       *float64             `json:"build_duration"`        // seconds
	QueuedDuration *float64             `json:"build_queued_duration"` // seconds
	AllowFailure   bool                 `json:"build_allow_failure"`
	FailureReason  string               `json:"build_failure_reason"` // unknown_failure unless it failed
	PipelineID     ci.PipelineID        `json:"pipeline_id"`
	Runner         *RunnerBlock         `json:"runner"`
	ProjectID      project.ID           `json:"project_id"`
	ProjectName    string               `json:"project_name"` // with those of the groups above
	User           *UserBlock           `json:"user"`
	Commit         JobCommitBlock       `json:"commit"`
	Repository     PushedRepository     `json:"repository"`
	Environment    *EnvironmentBlock    `json:"environment"`
	Retries        int64                `json:"retries_count"`
	Project        *PlainProjectBlock   `json:"project"`
	Source         *SourcePipelineBlock `json:"source_pipeline,omitempty"`
}

// JobCommitBlock is the pipeline of a job with its commit.
type JobCommitBlock struct {
	ID          ci.PipelineID `json:"id"`
	Name        *string       `json:"name"`
	SHA         string        `json:"sha"`
	Message     *string       `json:"message"` // null where the commit no longer exists
	AuthorName  *string       `json:"author_name"`
	AuthorEmail *string       `json:"author_email"`
	AuthorURL   *string       `json:"author_url"` // of the user, or a mailto link
	Status      ci.State      `json:"status"`
	Duration    *int64        `json:"duration"` // seconds
	StartedAt   *string       `json:"started_at"`
	FinishedAt  *string       `json:"finished_at"`
}

// maxBuilds bounds the jobs in the body of a pipeline.
const maxBuilds = 1000

// Pipeline builds the body about a pipeline of p. It is nil where a blocked user started it or it no longer exists.
func (s *Service) Pipeline(ctx context.Context, p *project.Project, of *ci.Pipeline) (*PipelineBody, error) {
	system := authz.System()
	list, err := s.CI.JobsOf(ctx, system, p, of.ID, ci.JobFilter{Asc: true, Range: page.Range{Limit: maxBuilds}})
	if errs.Is(err, errs.NotFound) {
		return nil, nil // deleted
	}
	if err != nil {
		return nil, err
	}
	jobs := make([]*ci.Job, len(list.Items))
	for i := range list.Items {
		jobs[i] = &list.Items[i]
	}
	views, err := s.CI.Views(ctx, system, p, jobs)
	if err != nil {
		return nil, err
	}
	var ids []authz.UserID
	if of.UserID != nil {
		ids = append(ids, *of.UserID)
	}
	for _, j := range jobs {
		if j.AuthorID != nil {
			ids = append(ids, *j.AuthorID)
		}
	}
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	var by *account.User
	if of.UserID != nil {
		if by = users[*of.UserID]; blocked(by) {
			return nil, nil
		}
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	environments, err := s.CI.Environments(ctx, p, of, jobs)
	if err != nil {
		return nil, err
	}
	attributes, err := s.pipelineAttributes(ctx, p, of)
	if err != nil {
		return nil, err
	}
	out := &PipelineBody{Kind: "pipeline", User: s.user(by), Project: &block.PlainProjectBlock, Builds: []BuildBlock{}, Attributes: *attributes}
	for _, v := range views {
		if n := len(out.Attributes.Stages); n == 0 || out.Attributes.Stages[n-1] != v.Stage {
			out.Attributes.Stages = append(out.Attributes.Stages, v.Stage)
		}
		b := s.build(v, users)
		b.Environment = environment(v.Job, environments)
		out.Builds = append(out.Builds, b)
	}
	if out.Commit, err = s.commit(ctx, p, of.SHA); err != nil {
		return nil, err
	}
	if out.Source, err = s.startedBy(ctx, of); err != nil {
		return nil, err
	}
	out.MergeRequest, err = s.pipelineMergeRequest(ctx, of)
	return out, err
}

// pipelineAttributes returns the attributes of a pipeline but the names of its stages.
func (s *Service) pipelineAttributes(ctx context.Context, p *project.Project, of *ci.Pipeline) (*PipelineAttributes, error) {
	course, err := s.CI.Course(ctx, of)
	if err != nil {
		return nil, err
	}
	out := &PipelineAttributes{
		ID: of.ID, IID: of.IID, Name: of.Name, Ref: of.Ref, Tag: of.Tag, SHA: of.SHA, BeforeSHA: of.Before(), Source: of.Source, Status: of.State,
		DetailedStatus: of.State.Detail(false).Text, Stages: []string{}, CreatedAt: Stamp(of.CreatedAt), FinishedAt: stampAt(course.FinishedAt),
		Duration: course.Duration(), QueuedDuration: course.Queued(of), Protected: of.Protected, Variables: []VariableBlock{},
		URL: s.URLs.Pipeline(p.FullPath, int64(of.ID)),
	}
	variables, err := s.CI.VariablesOf(ctx, authz.System(), p, of.ID)
	for _, v := range variables {
		if !v.Masked {
			out.Variables = append(out.Variables, VariableBlock{v.Key, v.Value})
		}
	}
	return out, err
}

func (s *Service) pipelineMergeRequest(ctx context.Context, of *ci.Pipeline) (*PipelineMergeRequestBlock, error) {
	if of.MergeRequestID == nil {
		return nil, nil
	}
	p, m, err := s.MergeRequests.Standing(ctx, mergerequest.ID(*of.MergeRequestID))
	if err != nil || m == nil {
		return nil, err
	}
	return &PipelineMergeRequestBlock{
		m.ID, m.IID, m.Title, m.SourceBranch, m.SourceProjectID, m.TargetBranch, m.ProjectID, m.State, m.Status, m.DetailedStatus(p),
		s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
	}, nil
}

func (s *Service) build(v *ci.JobView, users map[authz.UserID]*account.User) BuildBlock {
	now := s.Now()
	out := BuildBlock{
		ID: v.ID, Stage: v.Stage, Name: v.Name, Status: v.State, CreatedAt: Stamp(v.CreatedAt), StartedAt: stampOf(v.StartedAt), FinishedAt: stampOf(v.FinishedAt),
		Duration: v.Duration(now), QueuedDuration: v.QueuedDuration(now), When: v.When, Manual: v.When == "manual", AllowFailure: v.AllowFailure,
		Runner: runnerBlock(v.Runner),
	}
	if v.State == ci.Failed {
		out.FailureReason = v.FailureReason
	}
	if v.AuthorID != nil {
		out.User = s.user(users[*v.AuthorID])
	}
	for i := range v.Artifacts {
		if a := &v.Artifacts[i]; a.Type == "archive" {
			out.Artifacts = ArtifactsBlock{&a.Filename, &a.Size}
		}
	}
	return out
}

// blocked reports whether a user was shut out.
func blocked(u *account.User) bool {
	return u != nil && u.State.Barred()
}

func runnerBlock(r *runner.Runner) *RunnerBlock {
	if r == nil {
		return nil
	}
	return &RunnerBlock{r.ID, r.Description, r.Type, !r.Paused, r.Type == runner.InstanceType, append([]string{}, r.Tags()...)}
}

func environment(j *ci.Job, all map[ci.StatusID]ciconfig.Environment) *EnvironmentBlock {
	e, ok := all[j.ID]
	if !ok {
		return nil
	}
	out := &EnvironmentBlock{Name: e.Name, Action: cmp.Or(e.Action, "start")}
	if e.Tier != "" {
		out.Tier = &e.Tier
	}
	return out
}

// startedBy is the job of another pipeline that started this one, nil where none did or it no longer exists.
func (s *Service) startedBy(ctx context.Context, of *ci.Pipeline) (*SourcePipelineBlock, error) {
	if of.UpstreamJobID == nil {
		return nil, nil
	}
	type row struct {
		ID         ci.StatusID   `db:"id"`
		ProjectID  project.ID    `db:"project_id"`
		PipelineID ci.PipelineID `db:"pipeline_id"`
	}
	j, err := db.Get[row](ctx, s.DB, "SELECT id, project_id, pipeline_id FROM commit_statuses WHERE id = ?", *of.UpstreamJobID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read upstream job: %w", err)
	}
	found, err := s.Projects.Load(ctx, []project.ID{j.ProjectID})
	p := found[j.ProjectID]
	if err != nil || p == nil {
		return nil, err
	}
	return &SourcePipelineBlock{SourceProjectBlock{p.ID, s.URLs.Project(p.FullPath), p.FullPath}, j.ID, j.PipelineID}, nil
}

// Job builds the body about a job of a pipeline of p. It is nil where a blocked user started it.
func (s *Service) Job(ctx context.Context, p *project.Project, j *ci.Job, of *ci.Pipeline) (*JobBody, error) {
	var by *account.User
	var err error
	if j.AuthorID != nil {
		if by, err = s.actor(ctx, *j.AuthorID); err != nil {
			return nil, err
		}
	}
	if blocked(by) {
		return nil, nil
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	course, err := s.CI.Course(ctx, of)
	if err != nil {
		return nil, err
	}
	environments, err := s.CI.Environments(ctx, p, of, []*ci.Job{j})
	if err != nil {
		return nil, err
	}
	now := s.Now()
	out := &JobBody{
		Kind: "build", Ref: j.Ref, Tag: of.Tag, BeforeSHA: of.Before(), SHA: of.SHA, ID: j.ID, Name: j.Name, Stage: j.Stage, Status: j.State,
		CreatedAt: at(j.CreatedAt.Time), StartedAt: atOf(j.StartedAt), FinishedAt: atOf(j.FinishedAt), Duration: j.Duration(now),
		QueuedDuration: j.QueuedDuration(now), AllowFailure: j.AllowFailure, FailureReason: ci.UnknownFailure, PipelineID: of.ID, ProjectID: p.ID,
		ProjectName: p.FullName, User: s.user(by), Repository: pushedRepository(p, block), Environment: environment(j, environments), Retries: j.Attempt,
		Project: &block.PlainProjectBlock,
		Commit: JobCommitBlock{
			ID: of.ID, Name: of.Name, SHA: of.SHA, Status: of.State, Duration: course.Duration(), StartedAt: atTime(course.StartedAt), FinishedAt: atTime(course.FinishedAt),
		},
	}
	if j.State == ci.Failed && j.FailureReason != nil {
		out.FailureReason = *j.FailureReason
	}
	if j.RunnerID != nil {
		found, err := s.Runners.Load(ctx, []runner.ID{*j.RunnerID})
		if err != nil {
			return nil, err
		}
		out.Runner = runnerBlock(found[*j.RunnerID])
	}
	c, err := s.commit(ctx, p, of.SHA)
	if err != nil {
		return nil, err
	}
	if c != nil {
		link := "mailto:" + c.Author.Email
		out.Commit.Message, out.Commit.AuthorName, out.Commit.AuthorEmail, out.Commit.AuthorURL = &c.Message, &c.Author.Name, &c.Author.Email, &link
	}
	out.Source, err = s.startedBy(ctx, of)
	return out, err
}
