package graphql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// job is a job, a bridge or a status with its pipeline.
type job struct {
	*ci.Job

	of *pipeline
}

func (j *job) key() ci.StatusID { return j.ID }

// need is a job that another one waits for by name.
type need struct{ ci.Need }

// jobModels are the models of global ids of jobs.
var jobModels = map[ci.Kind]string{ci.JobKind: "Ci::Build", ci.BridgeKind: "Ci::Bridge", ci.ExternalKind: "GenericCommitStatus"}

// jobs binds jobs.
func (b *binder) jobs() {
	exec.Batch(b.Schema, "Project.job", func(ctx context.Context, c *exec.Call[struct{ ID globalID }], of []*project.Project) ([]*job, error) {
		found, err := byID(ctx, c.As, c.Args.ID, b.jobsByIDs)
		out := make([]*job, len(of))
		for i, p := range of {
			if found != nil && found.ProjectID == p.ID {
				out[i] = found
			}
		}
		return out, err
	}, exec.Costly)
	type filter struct {
		paging
		Statuses []string
	}
	exec.Batch(b.Schema, "Project.jobs", func(ctx context.Context, c *exec.Call[filter], of []*project.Project) ([]*exec.Page[*job], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*ci.Job], error) {
			list, err := b.CI.Jobs(ctx, c.As, p, ci.JobFilter{States: lower[ci.State](c.Args.Statuses), Range: r})
			return page.Pointers(list), err
		}, func(ctx context.Context, rows []*ci.Job) ([]*job, error) { return b.jobsWith(ctx, c.As, rows) })
	})
	b.jobFields()
	b.jobTimes()
	b.jobParts()
	b.jobControls()
	b.jobNeeds()
	b.stages()
	exec.Connection[*job](b.Schema, "CiJob")
}

// jobsWith returns jobs with their pipelines: nil where one is gone by now.
func (b *binder) jobsWith(ctx context.Context, as authz.Actor, rows []*ci.Job) ([]*job, error) {
	ids := make([]ci.PipelineID, len(rows))
	for i, j := range rows {
		ids[i] = j.PipelineID
	}
	found, err := b.pipelinesByIDs(ctx, as, ids)
	out := make([]*job, len(rows))
	for i, j := range rows {
		if of := found[j.PipelineID]; of != nil {
			out[i] = &job{j, of}
		}
	}
	return out, err
}

// jobsByIDs returns the jobs that the caller may read.
func (b *binder) jobsByIDs(ctx context.Context, as authz.Actor, ids []ci.StatusID) (map[ci.StatusID]*job, error) {
	found, err := b.CI.JobsByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]*ci.Job, 0, len(found))
	for _, j := range found {
		rows = append(rows, j)
	}
	list, err := b.jobsWith(ctx, as, rows)
	out := make(map[ci.StatusID]*job, len(list))
	for _, j := range list {
		if j != nil {
			out[j.ID] = j
		}
	}
	return out, err
}

// jobFields binds what jobs tell of themselves.
func (b *binder) jobFields() {
	value(b, "CiJob.id", func(j *job) string { return gid(jobModels[j.Kind], j.ID) })
	value(b, "CiJob.name", func(j *job) string { return j.Name })
	value(b, "CiJob.kind", func(j *job) string { return kindOf(j.Job) })
	value(b, "CiJob.status", func(j *job) string { return enumOf(j.State) })
	value(b, "CiJob.detailedStatus", b.jobDetail)
	value(b, "CiJob.active", func(j *job) bool { return j.State.Active() })
	value(b, "CiJob.allowFailure", func(j *job) bool { return j.AllowFailure })
	value(b, "CiJob.retried", func(j *job) bool { return j.Retried })
	value(b, "CiJob.manualJob", func(j *job) bool { return j.When == "manual" })
	value(b, "CiJob.scheduled", func(j *job) bool { return j.State == ci.Scheduled })
	value(b, "CiJob.triggered", func(j *job) bool { return j.of.Source == ci.ByTrigger })
	value(b, "CiJob.coverage", func(j *job) *float64 { return j.Coverage })
	value(b, "CiJob.pipeline", func(j *job) *pipeline { return j.of })
	value(b, "CiJob.project", func(j *job) *project.Project { return j.of.project })
	value(b, "CiJob.refName", func(j *job) string { return j.Ref })
	value(b, "CiJob.createdByTag", func(j *job) bool { return j.of.Tag })
	value(b, "CiJob.shortSha", func(j *job) string { return j.of.SHA[:min(8, len(j.of.SHA))] })
	value(b, "CiJob.refPath", func(j *job) string { return b.URLs.Path(b.URLs.Commits(j.of.project.FullPath, j.Ref, "")) })
	value(b, "CiJob.commitPath", func(j *job) string { return b.URLs.Path(b.URLs.Commit(j.of.project.FullPath, j.of.SHA)) })
	value(b, "CiJob.webPath", func(j *job) *string { return text(b.jobPath(j)) })
	value(b, "CiJob.schedulingType", func(j *job) *string {
		switch {
		case j.Kind == ci.ExternalKind:
			return nil
		case j.ByNeeds:
			return new("dag")
		}
		return new("stage")
	})
	one(b, "CiJob.userPermissions", "permissions of pipelines", func(j *job) ci.PipelineID { return j.PipelineID }, b.CI.Permissions)
	value(b, "JobPermissions.readBuild", func(ci.Permissions) bool { return true }) // or it is not shown
	value(b, "JobPermissions.readJobArtifacts", func(may ci.Permissions) bool { return may.Artifacts })
	value(b, "JobPermissions.updateBuild", func(may ci.Permissions) bool { return may.Update })
}

// jobPath is the path of the page of a job, "" where it has none here.
func (b *binder) jobPath(j *job) string {
	if j.Kind == ci.ExternalKind {
		return ""
	}
	return b.URLs.Path(b.URLs.Job(j.of.project.FullPath, int64(j.ID)))
}

func (b *binder) jobDetail(j *job) *detail {
	return detailOf(j.Detail(), j.ID, b.jobPath(j))
}

// jobTimes binds when jobs did what, and how long.
func (b *binder) jobTimes() {
	value(b, "CiJob.createdAt", func(j *job) time.Time { return j.CreatedAt.Time })
	value(b, "CiJob.queuedAt", func(j *job) *time.Time { return j.QueuedAt.Ptr() })
	value(b, "CiJob.startedAt", func(j *job) *time.Time { return j.StartedAt.Ptr() })
	value(b, "CiJob.finishedAt", func(j *job) *time.Time { return j.FinishedAt.Ptr() })
	value(b, "CiJob.erasedAt", func(j *job) *time.Time { return j.ErasedAt.Ptr() })
	value(b, "CiJob.scheduledAt", func(j *job) *time.Time { return j.ScheduledAt.Ptr() })
	value(b, "CiJob.duration", func(j *job) *int { return fullSeconds(j.Duration(b.Now())) })
	value(b, "CiJob.queuedDuration", func(j *job) *float64 { return j.QueuedDuration(b.Now()) })
}

// artifactsOf returns the artifacts of jobs that are for the caller.
func artifactsOf[A any](ctx context.Context, b *binder, c *exec.Call[A], ids []ci.StatusID) (map[ci.StatusID][]ci.Artifact, error) {
	return exec.Load(ctx, c, "artifacts of jobs", ids, func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID][]ci.Artifact, error) {
		return b.CI.ArtifactsFor(ctx, c.As, ids)
	})
}

// keys returns the ids of jobs.
func keys(list []*job) []ci.StatusID {
	out := make([]ci.StatusID, len(list))
	for i, j := range list {
		out[i] = j.ID
	}
	return out
}

// jobParts binds what jobs have: tags, artifacts, and the pipelines of bridges.
func (b *binder) jobParts() {
	one(b, "CiJob.tags", "tags of jobs", (*job).key, func(ctx context.Context, _ authz.Actor, ids []ci.StatusID) (map[ci.StatusID][]string, error) {
		found, err := b.CI.TagsOf(ctx, ids)
		out := make(map[ci.StatusID][]string, len(ids))
		for _, id := range ids {
			out[id] = append([]string{}, found[id]...)
		}
		return out, err
	})
	exec.Batch(b.Schema, "CiJob.artifacts", func(ctx context.Context, c *exec.Call[paging], of []*job) ([]*exec.Page[*ci.Artifact], error) {
		found, err := artifactsOf(ctx, b, c, keys(of))
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*ci.Artifact], len(of))
		for i, j := range of {
			if out[i], err = listOf(c.Args, maxPage, pointers(found[j.ID])); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	value(b, "CiJobArtifact.id", func(a *ci.Artifact) string { return gid("Ci::JobArtifact", a.ID) })
	value(b, "CiJobArtifact.name", func(a *ci.Artifact) string { return a.Filename })
	value(b, "CiJobArtifact.fileType", func(a *ci.Artifact) string { return strings.ToUpper(a.Type) })
	value(b, "CiJobArtifact.expireAt", func(a *ci.Artifact) *time.Time { return a.ExpireAt.Ptr() })
	exec.Struct[*ci.Artifact](b.Schema, "CiJobArtifact")
	exec.Connection[*ci.Artifact](b.Schema, "CiJobArtifact")
	exec.Batch(b.Schema, "CiJob.downstreamPipeline", func(ctx context.Context, c *exec.Call[exec.None], of []*job) ([]*pipeline, error) {
		var bridges []ci.StatusID
		for _, j := range of {
			if j.Kind == ci.BridgeKind {
				bridges = append(bridges, j.ID)
			}
		}
		found, err := startedBy(ctx, b, c, bridges)
		out := make([]*pipeline, len(of))
		for i, j := range of {
			out[i] = found[j.ID]
		}
		return out, err
	})
}

// needsOf returns what jobs wait for by name.
func needsOf[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*job) ([][]*need, error) {
	found, err := exec.LoadEach(ctx, c, "needs of jobs", of, (*job).key, func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID][]ci.Need, error) {
		return b.CI.NeedsOf(ctx, ids)
	})
	out := make([][]*need, len(of))
	for i, list := range found {
		for _, n := range list {
			out[i] = append(out[i], &need{n})
		}
	}
	return out, err
}

// jobNeeds binds what jobs wait for.
func (b *binder) jobNeeds() {
	exec.Batch(b.Schema, "CiJob.needs", func(ctx context.Context, c *exec.Call[paging], of []*job) ([]*exec.Page[*need], error) {
		found, err := needsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*need], len(of))
		for i, list := range found {
			if out[i], err = listOf(c.Args, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Batch(b.Schema, "CiJob.previousStageJobsOrNeeds", func(ctx context.Context, c *exec.Call[paging], of []*job) ([]*exec.Page[any], error) {
		found, err := needsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		all, err := jobsOf(ctx, b, c, pipelinesOf(of))
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[any], len(of))
		for i, j := range of {
			var list []any
			for _, n := range found[i] {
				list = append(list, n)
			}
			if !j.ByNeeds {
				for _, before := range stageBefore(j, all[i]) {
					list = append(list, before)
				}
			}
			if out[i], err = listOf(c.Args, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	value(b, "CiBuildNeed.id", func(n *need) string { return gid("Ci::BuildNeed", fmt.Sprintf("%d-%d", n.JobID, n.Position)) })
	value(b, "CiBuildNeed.name", func(n *need) string { return n.Name })
	exec.Connection[*need](b.Schema, "CiBuildNeed")
	exec.Connection[any](b.Schema, "JobNeedUnion")
}

// pipelinesOf returns the pipelines of jobs.
func pipelinesOf(list []*job) []*pipeline {
	out := make([]*pipeline, len(list))
	for i, j := range list {
		out[i] = j.of
	}
	return out
}

// stageBefore returns the jobs of the stage before that of a job.
func stageBefore(j *job, all []*ci.Job) []*job {
	before := -1
	for _, x := range all {
		if x.StageIndex < j.StageIndex && x.StageIndex > before {
			before = x.StageIndex
		}
	}
	var out []*job
	for _, x := range all {
		if x.StageIndex == before && !x.Retried {
			out = append(out, &job{x, j.of})
		}
	}
	return out
}
