package ci

import (
	"encoding/json"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/runner"
)

// Build is what only jobs and bridges have, by the id of their status.
type Build struct {
	JobID             StatusID          `db:"job_id"`
	Definition        string            `db:"definition"` // JSON of a ciconfig.Job, see Config
	When              string            `db:"run_when"`   // on_success, on_failure, always, manual, delayed
	ByNeeds           bool              `db:"by_needs"`   // waits for what it needs instead of earlier stages
	Interruptible     bool              `db:"interruptible"`
	ScheduledAt       *db.Time          `db:"scheduled_at"` // when a delayed job starts
	Timeout           int64             `db:"timeout"`      // seconds
	Attempt           int64             `db:"attempt"`      // 0 for the first of its name, one more for each retry
	RunnerID          *runner.ID        `db:"runner_id"`
	ManagerID         *runner.ManagerID `db:"manager_id"`
	TokenDigest       *string           `db:"token_digest"` // of its job token, nil until it runs
	ContactedAt       *db.Time          `db:"contacted_at"` // when its runner was last heard of
	Deadline          *db.Time          `db:"deadline"`     // when the server ends it, where its runner has not
	ExitCode          *int64            `db:"exit_code"`
	CancelsGracefully bool              `db:"cancelable"` // its runner goes on with after_script when it is canceled
	LogSize           int64             `db:"log_size"`   // bytes
	LogKey            *string           `db:"log_key"`    // object with the whole log, once it is joined
	ErasedAt          *db.Time          `db:"erased_at"`
	ErasedBy          *authz.UserID     `db:"erased_by"`

	UpstreamPipelineID *PipelineID `db:"upstream_pipeline_id"` // the pipeline that a bridge mirrors, which may be gone
}

// Job is a job or a bridge of a pipeline.
type Job struct {
	Status
	Build
}

// Config is what the configuration says of the job.
func (b *Build) Config() (*ciconfig.Job, error) {
	var out ciconfig.Job
	if err := json.Unmarshal([]byte(b.Definition), &out); err != nil {
		return nil, fmt.Errorf("definition of job %d: %w", b.JobID, err)
	}
	return &out, nil
}

const jobTables = "commit_statuses s JOIN jobs j ON j.job_id = s.id"

var jobColumns = db.Columns[Status]("s") + ", " + db.Columns[Build]("j")

// buildColumns are those of a Build, with an empty definition.
var buildColumns = strings.Replace(db.Columns[Build]("j"), "j.definition", "'' AS definition", 1)

// jobRow names the row of a job in its own table.
func jobRow(id StatusID) db.Row { return db.Row{Table: "jobs", Key: "job_id", ID: id} }

// statusRow names the row of a job or status.
func statusRow(id StatusID) db.Row { return db.Row{Table: "commit_statuses", ID: id} }

// Reasons why a job failed.
const (
	UnknownFailure       = "unknown_failure"
	ScriptFailure        = "script_failure"
	StuckFailure         = "stuck_or_timeout_failure"
	TimeoutFailure       = "job_execution_timeout"
	MissingDependency    = "missing_dependency_failure"
	UnsupportedRunner    = "runner_unsupported"
	UserBlocked          = "user_blocked"
	LogTooLarge          = "trace_size_exceeded"
	StaleSchedule        = "stale_schedule"
	OutdatedDeployment   = "failed_outdated_deployment_job"
	ProtectedEnvironment = "protected_environment_failure"
	DeploymentRejected   = "deployment_rejected"
	ArchivedFailure      = "archived_failure"
	DataIntegrity        = "data_integrity_failure"
	EnvironmentFailure   = "environment_creation_failure"
	DownstreamNotFound   = "downstream_bridge_project_not_found"
	InvalidBridge        = "invalid_bridge_trigger"
	DownstreamFailed     = "downstream_pipeline_creation_failed"
	InsufficientBridge   = "insufficient_bridge_permissions"
	UpstreamNotFound     = "upstream_bridge_project_not_found"
	InsufficientUpstream = "insufficient_upstream_permissions"
	DownstreamLimit      = "reached_downstream_pipeline_trigger_rate_limit"
	ConfigError          = "config_error"                // of a pipeline
	RejectedPipeline     = "external_validation_failure" // of a pipeline
	TooManyPipelines     = "activity_limit_exceeded"     // of a pipeline
	TooManyJobs          = "job_activity_limit_exceeded" // of a pipeline
)

// FailureReasons lists the reasons that a runner may report.
func FailureReasons() []string {
	return []string{
		UnknownFailure, ScriptFailure, "api_failure", StuckFailure, "runner_system_failure", MissingDependency, UnsupportedRunner,
		StaleSchedule, TimeoutFailure, ArchivedFailure, "unmet_prerequisites", "scheduler_failure", DataIntegrity, "forward_deployment_failure",
		UserBlocked, "project_deleted", "ci_quota_exceeded", "pipeline_loop_detected", "no_matching_runner", LogTooLarge, "builds_disabled",
		EnvironmentFailure, DeploymentRejected, OutdatedDeployment, "job_execution_server_timeout",
		"image_pull_failure", "configuration_error", "runner_interrupted", "runner_provisioning_timeout",
		ProtectedEnvironment, InsufficientBridge, DownstreamNotFound, InvalidBridge, UpstreamNotFound,
		InsufficientUpstream, DownstreamFailed, "secrets_provider_not_found", "reached_max_descendant_pipelines_depth",
		"ip_restriction_failure", "reached_max_pipeline_hierarchy_size", DownstreamLimit,
	}
}
