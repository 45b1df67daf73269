package ci

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// imported is a pipeline of an archive.
type imported struct {
	Ref            string   `tree:"ref,max=255"`
	SHA            string   `tree:"sha,max=64"`
	BeforeSHA      *string  `tree:"before_sha,max=64"`
	CreatedAt      db.Time  `tree:"created_at"`
	UpdatedAt      db.Time  `tree:"updated_at"`
	Tag            bool     `tree:"tag"`
	YAMLErrors     *string  `tree:"yaml_errors,max=10000"`
	Status         string   `tree:"status,max=50"`
	StartedAt      *db.Time `tree:"started_at"`
	FinishedAt     *db.Time `tree:"finished_at"`
	UserID         *int64   `tree:"user_id,user"`
	Source         *string  `tree:"source,max=50"`
	Protected      *bool    `tree:"protected"`
	FailureReason  *string  `tree:"failure_reason,max=255"`
	IID            int64    `tree:"iid"`
	SourceSHA      *string  `tree:"source_sha,max=64"`
	TargetSHA      *string  `tree:"target_sha,max=64"`
	MergeRequestID *int64   `child:"merge_request"`
}

// importedStage is a stage of an archive, which is no row here.
type importedStage struct {
	Name     string `tree:"name,max=255"`
	Position *int64 `tree:"position"`
}

// importedStatus is a job, a bridge or a status of another service of an archive.
type importedStatus struct {
	Status        string   `tree:"status,max=50"`
	FinishedAt    *db.Time `tree:"finished_at"`
	CreatedAt     db.Time  `tree:"created_at"`
	UpdatedAt     db.Time  `tree:"updated_at"`
	StartedAt     *db.Time `tree:"started_at"`
	Coverage      *float64 `tree:"coverage"`
	Name          string   `tree:"name,max=255"`
	AllowFailure  *bool    `tree:"allow_failure"`
	Ref           *string  `tree:"ref,max=255"`
	UserID        *int64   `tree:"user_id,user"`
	TargetURL     *string  `tree:"target_url,max=255"`
	Description   *string  `tree:"description,max=255"`
	ErasedAt      *db.Time `tree:"erased_at"`
	Environment   *string  `tree:"environment,max=255"`
	QueuedAt      *db.Time `tree:"queued_at"`
	Retried       *bool    `tree:"retried"`
	FailureReason *string  `tree:"failure_reason,max=255"`
	ScheduledAt   *db.Time `tree:"scheduled_at"`
	Scheduling    *string  `tree:"scheduling_type,max=50"`
}

// oldStatus is a status of archives up to version 14, of any kind.
type oldStatus struct {
	importedStatus
	Type string `tree:"type,max=50"`
}

// oldKinds are the kinds of statuses by their types.
var oldKinds = map[string]Kind{"Ci::Build": JobKind, "Ci::Bridge": BridgeKind, "GenericCommitStatus": ExternalKind}

// importOld writes the statuses of old archives, each as one of its kind.
func importOld(ctx context.Context, w *tree.Writing, rows []*tree.Row[oldStatus]) error {
	of := map[Kind][]*tree.Row[importedStatus]{}
	for _, r := range rows {
		kind, ok := oldKinds[r.Value.Type]
		if !ok {
			r.Fail("type is not one of its words")
			continue
		}
		of[kind] = append(of[kind], &tree.Row[importedStatus]{State: r.State, Value: &r.Value.importedStatus})
	}
	for _, kind := range []Kind{JobKind, BridgeKind, ExternalKind} {
		if len(of[kind]) == 0 {
			continue
		}
		if err := importStatuses(kind)(ctx, w, of[kind]); err != nil {
			return err
		}
	}
	return nil
}

// Writers says how pipelines are imported: they have ended, belong to the importing user, and have no token, script or variable.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("ci_pipelines", importPipelines),
		tree.Write("stages", importStages),
		tree.Write("builds", importStatuses(JobKind)),
		tree.Write("bridges", importStatuses(BridgeKind)),
		tree.Write("generic_commit_statuses", importStatuses(ExternalKind)),
		tree.Write("statuses", importOld),
	}
}

// ended is the state that an imported pipeline or job has; one that had not ended is canceled.
func ended(state string) State {
	switch now := State(state); now {
	case Success, Failed, Canceled, Skipped:
		return now
	}
	return Canceled
}

// commitOf is the name of a commit, nil for anything else.
func commitOf(text *string) *string {
	if text == nil {
		return nil
	}
	if _, err := gitstore.ParseObjectID(*text); err != nil {
		return nil
	}
	return text
}

var importedSources = []Source{ByPush, ByWeb, ByTrigger, BySchedule, ByAPI, ByPipeline, ByParentPipeline, ByMergeRequest, External}

func importPipelines(ctx context.Context, w *tree.Writing, rows []*tree.Row[imported]) error {
	iids := make([]int64, len(rows))
	for i, r := range rows {
		iids[i] = r.Value.IID
	}
	slices.Sort(iids)
	var where db.Where
	where.And("project_id = ?", w.At.ID)
	where.In("iid", slices.Compact(iids))
	found, err := db.Select[int64](ctx, w.DB, "SELECT iid FROM pipelines"+where.SQL()+" ORDER BY iid", where.Args()...)
	if err != nil {
		return fmt.Errorf("numbers of pipelines: %w", err)
	}
	taken := map[int64]bool{}
	for _, iid := range found {
		taken[iid] = true
	}
	var made []Pipeline
	var of []*tree.Row[imported]
	highest := int64(0)
	for _, r := range rows {
		v := r.Value
		switch {
		case strings.TrimSpace(v.Ref) == "":
			r.Fail("ref is missing")
			continue
		case commitOf(&v.SHA) == nil:
			r.Fail("sha is no commit")
			continue
		case v.IID <= 0 || taken[v.IID]:
			r.Fail("iid has already been taken")
			continue
		}
		taken[v.IID] = true
		highest = max(highest, v.IID)
		p := Pipeline{
			IID: v.IID, ProjectID: project.ID(w.At.ID), SHA: v.SHA, Ref: v.Ref, Tag: v.Tag, Source: ByAPI, State: ended(v.Status), UserID: &w.As.UserID, CreatedAt: v.CreatedAt,
			UpdatedAt: v.UpdatedAt, BeforeSHA: commitOf(v.BeforeSHA), YAMLErrors: v.YAMLErrors, FailureReason: v.FailureReason, Protected: v.Protected != nil && *v.Protected,
			StartedAt: v.StartedAt, FinishedAt: v.FinishedAt, AutoCancel: CancelConservative, MergeRequestID: v.MergeRequestID, SourceSHA: commitOf(v.SourceSHA),
			TargetSHA: commitOf(v.TargetSHA),
		}
		if v.Source != nil && slices.Contains(importedSources, Source(*v.Source)) {
			p.Source = Source(*v.Source)
		}
		p.HasFailed = p.State == Failed
		if string(p.State) != v.Status {
			r.Change("it had not ended: it is canceled")
		}
		made, of = append(made, p), append(of, r)
	}
	if len(made) == 0 {
		return nil
	}
	if err := namespace.RaiseIID(ctx, w.DB, w.At.Namespace, namespace.KindPipeline, highest); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, w.DB, "pipelines", made)
	if err != nil {
		return fmt.Errorf("insert pipelines: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importStages numbers stages for what is nested in them.
func importStages(_ context.Context, _ *tree.Writing, rows []*tree.Row[importedStage]) error {
	next := map[int64]int64{}
	for _, r := range rows {
		at := next[r.Parent]
		if v := r.Value.Position; v != nil && *v >= at {
			at = *v
		}
		if at >= maxStages {
			r.Fail("position is out of range")
			continue
		}
		next[r.Parent] = at + 1
		r.ID = r.Parent*maxStages + at
	}
	return nil
}

// stageOf is the name of the stage that a status is nested in.
func stageOf(r *tree.State) string {
	var name string
	r.Above("name", &name)
	return strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "")
}

// emptyDefinition is what the configuration says of an imported job.
const emptyDefinition = "{}"

// importedTimeout is that of imported jobs, in seconds.
const importedTimeout = 3600

// importStatuses writes the jobs, bridges or other statuses of stages.
func importStatuses(kind Kind) func(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedStatus]) error {
	return func(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedStatus]) error {
		var made []Status
		var builds []Build
		for _, r := range rows {
			v := r.Value
			if strings.TrimSpace(v.Name) == "" {
				r.Fail("name can't be blank")
				continue
			}
			st := Status{
				PipelineID: PipelineID(r.Parent / maxStages), Name: v.Name, Stage: stageOf(r.State), State: ended(v.Status), Retried: v.Retried != nil && *v.Retried,
				TargetURL: v.TargetURL, Description: v.Description, Coverage: v.Coverage, AuthorID: &w.As.UserID, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
				QueuedAt: v.QueuedAt, StartedAt: v.StartedAt, FinishedAt: v.FinishedAt, ProjectID: project.ID(w.At.ID), Kind: kind, StageIndex: int(r.Parent % maxStages),
				AllowFailure: v.AllowFailure != nil && *v.AllowFailure, FailureReason: v.FailureReason, Environment: v.Environment,
			}
			if v.Ref != nil {
				st.Ref = *v.Ref
			}
			if string(st.State) != v.Status {
				r.Change("it had not ended: it is canceled")
			}
			made = append(made, st)
			builds = append(builds, Build{
				Definition: emptyDefinition, When: "on_success", ByNeeds: v.Scheduling != nil && *v.Scheduling == "dag", Timeout: importedTimeout, ErasedAt: v.ErasedAt,
				ScheduledAt: v.ScheduledAt,
			})
		}
		ids, err := db.InsertAll(ctx, w.DB, "commit_statuses", made)
		if err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
		if kind == ExternalKind {
			return nil
		}
		for i, id := range ids {
			builds[i].JobID = StatusID(id)
		}
		if err := db.InsertRows(ctx, w.DB, "jobs", builds, ""); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
		return nil
	}
}
