package graphql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// pipeline is a pipeline with its project.
type pipeline struct {
	*ci.Pipeline

	project *project.Project
}

func (p *pipeline) key() ci.PipelineID { return p.ID }

// detail is how a status is shown.
type detail struct {
	ID string
	ci.Detail

	path string
}

// pipelines binds pipelines.
func (b *binder) pipelines() {
	ofRequest(b, "headPipeline", "pipelines of merge requests", func(ctx context.Context, as authz.Actor, m *mergerequest.View) (*mergerequest.BuildView, error) {
		return b.MergeRequests.Builds(ctx, as, m.Project, &m.MergeRequest)
	}, func(v *mergerequest.BuildView) *pipeline {
		if v == nil || v.Head == nil {
			return nil
		}
		return &pipeline{&v.Head.Pipeline, v.Head.Project}
	})
	value(b, "Pipeline.id", func(p *pipeline) string { return gid("Ci::Pipeline", p.ID) })
	value(b, "Pipeline.iid", func(p *pipeline) string { return strconv.FormatInt(p.IID, 10) })
	value(b, "Pipeline.ref", func(p *pipeline) *string { return text(p.Ref) })
	value(b, "Pipeline.sha", func(p *pipeline) *string { return text(p.SHA) })
	value(b, "Pipeline.beforeSha", func(p *pipeline) *string { return p.BeforeSHA })
	value(b, "Pipeline.name", func(p *pipeline) *string { return p.Name })
	value(b, "Pipeline.source", func(p *pipeline) string { return string(p.Source) })
	value(b, "Pipeline.status", func(p *pipeline) string { return string(p.State) })
	value(b, "Pipeline.active", func(p *pipeline) bool { return p.State.Active() })
	value(b, "Pipeline.complete", func(p *pipeline) bool { return p.State.Complete() })
	value(b, "Pipeline.createdAt", func(p *pipeline) time.Time { return p.CreatedAt.Time })
	value(b, "Pipeline.updatedAt", func(p *pipeline) time.Time { return p.UpdatedAt.Time })
	value(b, "Pipeline.project", func(p *pipeline) *project.Project { return p.project })
	value(b, "Pipeline.path", b.pathOf)
	value(b, "Pipeline.refPath", func(p *pipeline) string { return b.URLs.Path(b.URLs.Commits(p.project.FullPath, p.Ref, "")) })
	value(b, "Pipeline.commitPath", func(p *pipeline) string { return b.URLs.Path(b.URLs.Commit(p.project.FullPath, p.SHA)) })
	one(b, "Pipeline.user", "users", func(p *pipeline) authz.UserID { return zeroOr(p.UserID) }, b.usersByIDs)
	b.courses()
	b.pipelineJobs()
	b.pipelineFamily()
	b.pipelineLists()
	b.pipelineMutations()
	one(b, "Pipeline.userPermissions", "permissions of pipelines", (*pipeline).key, b.CI.Permissions)
	value(b, "PipelinePermissions.adminPipeline", func(may ci.Permissions) bool { return may.Admin })
	value(b, "PipelinePermissions.destroyPipeline", func(may ci.Permissions) bool { return may.Delete })
	value(b, "PipelinePermissions.updatePipeline", func(may ci.Permissions) bool { return may.Update })

	value(b, "DetailedStatus.detailsPath", func(d *detail) *string { return text(d.path) })
	value(b, "DetailedStatus.hasDetails", func(d *detail) bool { return d.path != "" })
	value(b, "DetailedStatus.tooltip", func(d *detail) string { return d.Label })
	exec.Struct[*detail](b.Schema, "DetailedStatus")
	exec.Connection[*pipeline](b.Schema, "Pipeline")
}

// pathOf is the path of the page of a pipeline.
func (b *binder) pathOf(p *pipeline) string {
	return b.URLs.Path(b.URLs.Pipeline(p.project.FullPath, int64(p.ID)))
}

// detailOf shows a status of what has a number, such as a pipeline, and a page.
func detailOf(d ci.Detail, id any, path string) *detail {
	return &detail{fmt.Sprintf("%s-%v", d.Group, id), d, path}
}

// jobsOf reads the jobs of pipelines: all of each, once for all fields.
func jobsOf[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*pipeline) ([][]*ci.Job, error) {
	return exec.LoadEach(ctx, c, "jobs of pipelines", of, (*pipeline).key, func(ctx context.Context, ids []ci.PipelineID) (map[ci.PipelineID][]*ci.Job, error) {
		return b.CI.InPipelines(ctx, c.As, ids)
	})
}

// fromJobs binds a field of pipelines that their jobs tell.
func fromJobs[R any](b *binder, field string, f func(p *pipeline, jobs []*ci.Job) R) {
	exec.Batch(b.Schema, "Pipeline."+field, func(ctx context.Context, c *exec.Call[exec.None], of []*pipeline) ([]R, error) {
		found, err := jobsOf(ctx, b, c, of)
		out := make([]R, len(of))
		for i, jobs := range found {
			out[i] = f(of[i], jobs)
		}
		return out, err
	})
}

// courses binds how pipelines go.
func (b *binder) courses() {
	seconds := func(from, to *time.Time) *float64 {
		if from == nil || to == nil {
			return nil
		}
		return new(to.Sub(*from).Seconds())
	}
	fromJobs(b, "startedAt", func(p *pipeline, jobs []*ci.Job) *time.Time { return ci.CourseOf(p.Pipeline, jobs).StartedAt })
	fromJobs(b, "finishedAt", func(p *pipeline, jobs []*ci.Job) *time.Time { return ci.CourseOf(p.Pipeline, jobs).FinishedAt })
	fromJobs(b, "coverage", func(p *pipeline, jobs []*ci.Job) *float64 { return ci.CourseOf(p.Pipeline, jobs).Coverage })
	fromJobs(b, "duration", func(p *pipeline, jobs []*ci.Job) *int {
		c := ci.CourseOf(p.Pipeline, jobs)
		return fullSeconds(seconds(c.StartedAt, c.FinishedAt))
	})
	fromJobs(b, "queuedDuration", func(p *pipeline, jobs []*ci.Job) *float64 {
		return seconds(&p.CreatedAt.Time, ci.CourseOf(p.Pipeline, jobs).StartedAt)
	})
	fromJobs(b, "detailedStatus", func(p *pipeline, jobs []*ci.Job) *detail {
		return detailOf(p.State.Detail(ci.CourseOf(p.Pipeline, jobs).Warned), p.ID, b.pathOf(p))
	})
	fromJobs(b, "warnings", func(p *pipeline, jobs []*ci.Job) bool {
		return ci.CourseOf(p.Pipeline, jobs).Warned
	})
	fromJobs(b, "totalJobs", func(_ *pipeline, jobs []*ci.Job) int { return len(jobs) })
	fromJobs(b, "usesNeeds", func(_ *pipeline, jobs []*ci.Job) bool {
		return slices.ContainsFunc(jobs, func(j *ci.Job) bool { return j.ByNeeds })
	})
	fromJobs(b, "cancelable", func(_ *pipeline, jobs []*ci.Job) bool { return slices.ContainsFunc(jobs, (*ci.Job).CanBeCanceled) })
	exec.Batch(b.Schema, "Pipeline.retryable", func(ctx context.Context, c *exec.Call[exec.None], of []*pipeline) ([]bool, error) {
		found, err := jobsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		may, err := controlsOf(ctx, b, c, slices.Concat(found...))
		out := make([]bool, len(of))
		for i, jobs := range found {
			out[i] = slices.ContainsFunc(jobs, func(j *ci.Job) bool { return may[j.ID].WithPipeline })
		}
		return out, err
	})
}

// fullSeconds leaves out fractions.
func fullSeconds(seconds *float64) *int {
	if seconds == nil {
		return nil
	}
	return new(int(*seconds))
}

// pipelineJobs binds the jobs of pipelines.
func (b *binder) pipelineJobs() {
	type which struct {
		ID   *globalID
		Name *string
	}
	exec.Batch(b.Schema, "Pipeline.job", func(ctx context.Context, c *exec.Call[which], of []*pipeline) ([]*job, error) {
		found, err := jobsOf(ctx, b, c, of)
		out := make([]*job, len(of))
		for i, jobs := range found {
			for _, j := range jobs {
				if c.Args.ID != nil && int64(j.ID) == c.Args.ID.ID || c.Args.ID == nil && c.Args.Name != nil && !j.Retried && j.Name == *c.Args.Name {
					out[i] = &job{j, of[i]}
				}
			}
		}
		return out, err
	}, exec.Costly)
	type filter struct {
		paging
		JobKind                *string
		Retried                *bool
		Statuses, WhenExecuted []string
	}
	exec.Batch(b.Schema, "Pipeline.jobs", func(ctx context.Context, c *exec.Call[filter], of []*pipeline) ([]*exec.Page[*job], error) {
		found, err := jobsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		f, states := c.Args, lower[ci.State](c.Args.Statuses)
		out := make([]*exec.Page[*job], len(of))
		for i, jobs := range found {
			var list []*job
			for _, j := range slices.Backward(jobs) {
				if f.JobKind != nil && kindOf(j) != *f.JobKind || f.Retried != nil && j.Retried != *f.Retried ||
					len(states) > 0 && !slices.Contains(states, j.State) || len(f.WhenExecuted) > 0 && !slices.Contains(f.WhenExecuted, j.When) {
					continue
				}
				list = append(list, &job{j, of[i]})
			}
			if out[i], err = listOf(f.paging, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Batch(b.Schema, "Pipeline.jobArtifacts", func(ctx context.Context, c *exec.Call[exec.None], of []*pipeline) ([][]*ci.Artifact, error) {
		found, err := jobsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		var ids []ci.StatusID
		for _, jobs := range found {
			for _, j := range jobs {
				ids = append(ids, j.ID)
			}
		}
		files, err := artifactsOf(ctx, b, c, ids)
		out := make([][]*ci.Artifact, len(of))
		for i, jobs := range found {
			out[i] = []*ci.Artifact{}
			for _, j := range jobs {
				out[i] = append(out[i], pointers(files[j.ID])...)
			}
		}
		return out, err
	}, exec.Costly)
}

// pipelineFamily binds the pipelines that started others.
func (b *binder) pipelineFamily() {
	one(b, "Pipeline.sourceJob", "jobs by id", func(p *pipeline) ci.StatusID { return zeroOr(p.UpstreamJobID) }, b.jobsByIDs)
	exec.Batch(b.Schema, "Pipeline.upstream", func(ctx context.Context, c *exec.Call[exec.None], of []*pipeline) ([]*pipeline, error) {
		found, err := exec.LoadEach(ctx, c, "jobs by id", of, func(p *pipeline) ci.StatusID { return zeroOr(p.UpstreamJobID) }, func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID]*job, error) {
			return b.jobsByIDs(ctx, c.As, ids)
		})
		out := make([]*pipeline, len(of))
		for i, j := range found {
			if j != nil {
				out[i] = j.of
			}
		}
		return out, err
	})
	exec.Batch(b.Schema, "Pipeline.downstream", func(ctx context.Context, c *exec.Call[paging], of []*pipeline) ([]*exec.Page[*pipeline], error) {
		found, err := jobsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		var bridges []ci.StatusID
		for _, jobs := range found {
			for _, j := range jobs {
				if j.Kind == ci.BridgeKind {
					bridges = append(bridges, j.ID)
				}
			}
		}
		started, err := startedBy(ctx, b, c, bridges)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*pipeline], len(of))
		for i, jobs := range found {
			var list []*pipeline
			for _, j := range jobs {
				if p := started[j.ID]; p != nil {
					list = append(list, p)
				}
			}
			if out[i], err = listOf(c.Args, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// startedBy returns the pipelines that bridges started.
func startedBy[A any](ctx context.Context, b *binder, c *exec.Call[A], bridges []ci.StatusID) (map[ci.StatusID]*pipeline, error) {
	return exec.Load(ctx, c, "downstream pipelines", bridges, func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID]*pipeline, error) {
		found, err := b.CI.DownstreamOf(ctx, c.As, ids)
		out := make(map[ci.StatusID]*pipeline, len(found))
		for id, f := range found {
			out[id] = &pipeline{f.Row, f.Project}
		}
		return out, err
	})
}

// pipelinesByIDs returns the pipelines that the caller may read, with their projects.
func (b *binder) pipelinesByIDs(ctx context.Context, as authz.Actor, ids []ci.PipelineID) (map[ci.PipelineID]*pipeline, error) {
	found, err := b.CI.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var in []project.ID
	for _, p := range found {
		in = append(in, p.ProjectID)
	}
	projects, err := b.Projects.ByIDs(ctx, as, in)
	out := make(map[ci.PipelineID]*pipeline, len(found))
	for id, p := range found {
		if at := projects[p.ProjectID]; at != nil {
			out[id] = &pipeline{p, at}
		}
	}
	return out, err
}

// kindOf says who runs a job.
func kindOf(j *ci.Job) string {
	if j.Kind == ci.BridgeKind {
		return "BRIDGE"
	}
	return "BUILD"
}

// enumOf returns a state as enums have it.
func enumOf(s ci.State) string { return strings.ToUpper(string(s)) }
