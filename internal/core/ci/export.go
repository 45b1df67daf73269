package ci

import (
	"context"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a pipeline as it moves.
type exported struct {
	Ref            string   `db:"ref" tree:"ref"`
	SHA            string   `db:"sha" tree:"sha"`
	BeforeSHA      *string  `db:"before_sha" tree:"before_sha"`
	CreatedAt      db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt      db.Time  `db:"updated_at" tree:"updated_at"`
	Tag            bool     `db:"tag" tree:"tag"`
	YAMLErrors     *string  `db:"yaml_errors" tree:"yaml_errors"`
	ProjectID      int64    `db:"project_id" tree:"project_id,project"`
	Status         string   `db:"status" tree:"status"`
	StartedAt      *db.Time `db:"started_at" tree:"started_at"`
	FinishedAt     *db.Time `db:"finished_at" tree:"finished_at"`
	Duration       *int64   `tree:"duration"`
	UserID         *int64   `db:"user_id" tree:"user_id,user"`
	LockVersion    int64    `tree:"lock_version"`
	Source         string   `db:"source" tree:"source"`
	Protected      bool     `db:"protected" tree:"protected"`
	FailureReason  *string  `db:"failure_reason" tree:"failure_reason"`
	IID            int64    `db:"iid" tree:"iid"`
	SourceSHA      *string  `db:"source_sha" tree:"source_sha"`
	TargetSHA      *string  `db:"target_sha" tree:"target_sha"`
	MergeRequestID *int64   `db:"merge_request_id" child:"merge_request"`
}

// exportedStage is a stage as it moves. Jobs and statuses have the names of stages in their rows.
type exportedStage struct {
	Name        string  `db:"name" tree:"name,max=255"`
	Status      string  `db:"status" tree:"status"`
	Position    int64   `db:"position" tree:"position"`
	LockVersion int64   `tree:"lock_version"`
	ProjectID   int64   `db:"project_id" tree:"project_id,project"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
	PipelineID  int64   `db:"pipeline_id"`
	Key         int64   `child:"builds"`
	KeyExternal int64   `child:"generic_commit_statuses"`
	KeyBridges  int64   `child:"bridges"`
}

// exportedStatus is a job, a bridge or a status of another service as it moves: without script, variables, log and artifacts.
type exportedStatus struct {
	ProjectID     int64    `db:"project_id" tree:"project_id,project"`
	Status        string   `db:"status" tree:"status"`
	FinishedAt    *db.Time `db:"finished_at" tree:"finished_at"`
	CreatedAt     db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt     db.Time  `db:"updated_at" tree:"updated_at"`
	StartedAt     *db.Time `db:"started_at" tree:"started_at"`
	Coverage      *float64 `db:"coverage" tree:"coverage"`
	PipelineID    int64    `db:"pipeline_id" tree:"commit_id"`
	Name          string   `db:"name" tree:"name,max=255"`
	AllowFailure  bool     `db:"allow_failure" tree:"allow_failure"`
	StageIndex    int64    `db:"stage_idx" tree:"stage_idx"`
	Tag           bool     `db:"tag" tree:"tag"`
	Ref           string   `db:"ref" tree:"ref"`
	UserID        *int64   `db:"author_id" tree:"user_id,user"`
	Type          string   `db:"type" tree:"type,names=Ci::Build|Ci::Bridge|GenericCommitStatus"`
	TargetURL     *string  `db:"target_url" tree:"target_url"`
	Description   *string  `db:"description" tree:"description"`
	ErasedAt      *db.Time `db:"erased_at" tree:"erased_at"`
	Environment   *string  `db:"environment" tree:"environment"`
	QueuedAt      *db.Time `db:"queued_at" tree:"queued_at"`
	LockVersion   int64    `tree:"lock_version"`
	Retried       bool     `db:"retried" tree:"retried"`
	Protected     bool     `db:"protected" tree:"protected"`
	FailureReason *string  `db:"failure_reason" tree:"failure_reason"`
	ScheduledAt   *db.Time `db:"scheduled_at" tree:"scheduled_at"`
	Scheduling    string   `db:"scheduling_type" tree:"scheduling_type,names=stage|dag"`
	Stage         string   `db:"stage" tree:"ci_stage"`
}

// maxStages is above the number of stages that a pipeline may have, so that a pipeline and the number of a stage make one key.
const maxStages = 1 << 20

// stageKey is the key of a stage in SQL.
var stageKey = "(c.pipeline_id * " + strconv.Itoa(maxStages) + " + c.stage_idx)"

// statuses describes the jobs, bridges or other statuses of stages.
func statuses(name string, kind Kind, typ string) tree.Relation {
	return tree.Rows(tree.Relation{Name: name, Absent: []string{"artifacts_expire_at", "coverage_regex"}, Tables: []string{"commit_statuses", "jobs"}},
		tree.Query[exportedStatus]{
			Columns: `p.project_id, c.status, c.finished_at, c.created_at, c.updated_at, c.started_at, c.coverage, c.pipeline_id, c.name, c.allow_failure, c.stage_idx, p.tag,
				c.ref, c.author_id, '` + typ + `' AS type, c.target_url, c.description, j.erased_at, c.environment, c.queued_at, c.retried, p.protected, c.failure_reason,
				j.scheduled_at, CASE WHEN j.by_needs THEN 'dag' ELSE 'stage' END AS scheduling_type, c.stage`,
			From: "commit_statuses c JOIN pipelines p ON p.id = c.pipeline_id LEFT JOIN jobs j ON j.job_id = c.id", ID: "c.id", Parent: stageKey,
			Among: func(w *db.Where, parents []int64) {
				ids := make([]int64, 0, len(parents))
				for i, key := range parents {
					if id := key / maxStages; i == 0 || id != ids[len(ids)-1] { // they are sorted
						ids = append(ids, id)
					}
				}
				w.In("c.pipeline_id", ids)
			},
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadPrivatePipeline, "c.kind = ?", kind)
			},
		})
}

// Relations describes the pipelines of a project.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "ci_pipelines", Parts: true, Children: []string{"stages", "merge_request"}, Tables: []string{"pipelines"},
			Absent: []string{"committed_at", "config_source", "external_pull_request", "pipeline_metadata"},
		}, tree.Query[exported]{
			Columns: `p.ref, p.sha, p.before_sha, p.created_at, p.updated_at, p.tag, p.yaml_errors, p.project_id, p.status, p.started_at, p.finished_at, p.user_id, p.source,
				p.protected, p.failure_reason, p.iid, p.source_sha, p.target_sha, p.merge_request_id`,
			From: "pipelines p", ID: "p.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadPrivatePipeline, "p.project_id = ?", r.At.ID)
			},
			Fill: func(_ context.Context, _ *tree.Reading, rows []exported) error {
				for i := range rows {
					if p := &rows[i]; p.StartedAt != nil && p.FinishedAt != nil {
						p.Duration = new(int64(p.FinishedAt.Sub(p.StartedAt.Time).Seconds()))
					}
				}
				return nil
			},
		}),
		tree.Past[oldStatus](tree.Relation{Name: "statuses"}),
		tree.Rows(tree.Relation{Name: "stages", Parts: true, Children: []string{"builds", "generic_commit_statuses", "bridges"}, Old: []string{"statuses"}}, tree.Query[exportedStage]{
			Columns: "g.name, g.status, g.position, g.project_id, g.created_at, g.updated_at, g.pipeline_id",
			From: `(SELECT c.pipeline_id, c.stage_idx AS position, MIN(c.stage) AS name, MIN(p.project_id) AS project_id, MIN(c.created_at) AS created_at, MAX(c.updated_at) AS updated_at,
				CASE WHEN SUM(CASE WHEN c.status = 'failed' AND NOT c.allow_failure AND NOT c.retried THEN 1 ELSE 0 END) > 0 THEN 'failed'
				WHEN SUM(CASE WHEN c.status IN ('success', 'failed', 'skipped') OR c.retried THEN 0 ELSE 1 END) = 0 THEN 'success'
				ELSE MAX(CASE WHEN c.status IN ('success', 'failed', 'skipped') OR c.retried THEN '' ELSE c.status END) END AS status
				FROM commit_statuses c JOIN pipelines p ON p.id = c.pipeline_id GROUP BY c.pipeline_id, c.stage_idx) g`,
			ID: "g.position", Parent: "g.pipeline_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadPrivatePipeline, "true")
			},
			Fill: func(_ context.Context, _ *tree.Reading, rows []exportedStage) error {
				for i := range rows {
					key := rows[i].PipelineID*maxStages + rows[i].Position
					rows[i].Key, rows[i].KeyExternal, rows[i].KeyBridges = key, key, key
				}
				return nil
			},
		}),
		statuses("builds", JobKind, "Ci::Build"),
		statuses("bridges", BridgeKind, "Ci::Bridge"),
		statuses("generic_commit_statuses", ExternalKind, "GenericCommitStatus"),
	}
}
