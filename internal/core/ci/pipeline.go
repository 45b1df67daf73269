package ci

import (
	"context"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/trigger"
)

// PipelineID identifies a pipeline.
type PipelineID int64

// Pipeline is what runs for a commit on a branch or tag, or for a merge request.
type Pipeline struct {
	ID        PipelineID    `db:"id"`
	IID       int64         `db:"iid"`
	ProjectID project.ID    `db:"project_id"`
	SHA       string        `db:"sha"`
	Ref       string        `db:"ref"` // branch or tag, short; of a merge request in its target project, the full name of its reference
	Tag       bool          `db:"tag"` // Ref is a tag
	Source    Source        `db:"source"`
	State     State         `db:"status"`
	UserID    *authz.UserID `db:"user_id"`
	CreatedAt db.Time       `db:"created_at"`
	UpdatedAt db.Time       `db:"updated_at"`

	BeforeSHA       *string   `db:"before_sha"` // where Ref stood before a push
	Name            *string   `db:"name"`
	YAMLErrors      *string   `db:"yaml_errors"`
	FailureReason   *string   `db:"failure_reason"`
	HasFailed       bool      `db:"has_failed"` // at some time, though its jobs may have been retried since
	Protected       bool      `db:"protected"`  // Ref was, when the pipeline was made
	StartedAt       *db.Time  `db:"started_at"`
	FinishedAt      *db.Time  `db:"finished_at"`
	AutoCancel      string    `db:"auto_cancel"`       // conservative, interruptible or none
	CancelOnFailure bool      `db:"cancel_on_failure"` // a job that fails cancels the others
	UpstreamJobID   *StatusID `db:"upstream_job_id"`   // the job that started it: a bridge, or one that used its token

	MergeRequestID *int64  `db:"merge_request_id"` // nil where it runs for none, or it is gone
	SourceSHA      *string `db:"source_sha"`       // head of the source branch of its merge request
	TargetSHA      *string `db:"target_sha"`       // head of the target branch, where SHA is a merge of both

	TriggerID  *trigger.ID `db:"trigger_id"`  // the trigger token that started it
	ScheduleID *ScheduleID `db:"schedule_id"` // the schedule that started it
}

// ScheduleID identifies a schedule of pipelines.
type ScheduleID int64

// Source says what a pipeline was made for.
type Source string

// The sources.
const (
	ByPush           Source = "push"
	ByWeb            Source = "web"
	ByTrigger        Source = "trigger"
	BySchedule       Source = "schedule"
	ByAPI            Source = "api"
	ByPipeline       Source = "pipeline"
	ByParentPipeline Source = "parent_pipeline"
	ByMergeRequest   Source = "merge_request_event"
	External         Source = "external" // of statuses that other systems report
)

// What a newer pipeline of the same reference does to one that is under way.
const (
	CancelConservative  = "conservative"  // cancels it while no job that is not interruptible has started
	CancelInterruptible = "interruptible" // cancels its interruptible jobs
	CancelNone          = "none"
)

// zeroSHA stands for no commit.
func (p *Pipeline) zeroSHA() string { return strings.Repeat("0", len(p.SHA)) }

// Before is BeforeSHA, or zeros.
func (p *Pipeline) Before() string {
	if p.BeforeSHA == nil {
		return p.zeroSHA()
	}
	return *p.BeforeSHA
}

// PipelineChanged is published when a pipeline was made, or its state changed.
type PipelineChanged struct {
	change.Of[Pipeline]

	Project *project.Project
}

// About names the pipeline.
func (p Pipeline) About() change.Subject {
	return change.Subject{Type: "Ci::Pipeline", ID: int64(p.ID), IID: p.IID, Title: p.Ref}
}

// Last returns the newest pipeline of a commit, nil where there is none or the actor may
// not see it.
func (s *Service) Last(ctx context.Context, as authz.Actor, p *project.Project, commit gitstore.ObjectID) (*Pipeline, error) {
	may, err := s.Policy.Can(ctx, as, readable(p), p.Subject())
	if err != nil || !may {
		return nil, err
	}
	return s.newest(ctx, p.ID, commit, "", 0)
}

// LastOf returns the newest pipeline of each of the commits that has one and that the actor may
// see, in one statement.
func (s *Service) LastOf(ctx context.Context, as authz.Actor, p *project.Project, commits []gitstore.ObjectID) (map[gitstore.ObjectID]*Pipeline, error) {
	may, err := s.Policy.Can(ctx, as, readable(p), p.Subject())
	if err != nil || !may || len(commits) == 0 {
		return nil, err
	}
	return s.newestOf(ctx, p.ID, commits)
}
