package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// runVariable is a variable that a pipeline or a job is started with.
type runVariable struct{ Key, Value string }

func variablesOf(list []runVariable) []ci.Variable {
	out := make([]ci.Variable, len(list))
	for i, v := range list {
		out[i] = ci.Variable{Key: v.Key, Value: v.Value}
	}
	return out
}

// pipelinePayload is what mutations of pipelines give.
type pipelinePayload struct{ Pipeline *pipeline }

// jobPayload is what mutations of jobs give.
type jobPayload struct{ Job *job }

// pipelineMutations binds what is done with pipelines.
func (b *binder) pipelineMutations() {
	type run struct {
		ProjectPath string
		Ref         string
		Variables   []runVariable
	}
	exec.Mutation(b.Schema, "pipelineCreate", func(ctx context.Context, c *exec.Call[run]) (pipelinePayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return pipelinePayload{}, err
		}
		made, err := b.CI.Run(ctx, c.As, p, ci.RunInput{Ref: c.Args.Ref, Source: ci.ByAPI, Variables: variablesOf(c.Args.Variables)})
		if err != nil {
			return pipelinePayload{}, err
		}
		return pipelinePayload{&pipeline{made, p}}, nil
	})
	type which struct{ ID globalID }
	exec.Mutation(b.Schema, "pipelineRetry", func(ctx context.Context, c *exec.Call[which]) (pipelinePayload, error) {
		of, err := needed(ctx, c.As, c.Args.ID, b.pipelinesByIDs)
		if err != nil {
			return pipelinePayload{}, err
		}
		changed, err := b.CI.Retry(ctx, c.As, of.project, of.ID)
		if err != nil {
			return pipelinePayload{}, err
		}
		return pipelinePayload{&pipeline{changed, of.project}}, nil
	})
	exec.Mutation(b.Schema, "pipelineCancel", func(ctx context.Context, c *exec.Call[which]) (exec.None, error) {
		of, err := needed(ctx, c.As, c.Args.ID, b.pipelinesByIDs)
		if err != nil {
			return exec.None{}, err
		}
		_, err = b.CI.Cancel(ctx, c.As, of.project, of.ID)
		return exec.None{}, err
	})
	exec.Mutation(b.Schema, "pipelineDestroy", func(ctx context.Context, c *exec.Call[which]) (exec.None, error) {
		of, err := needed(ctx, c.As, c.Args.ID, b.pipelinesByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.CI.Delete(ctx, c.As, of.project, of.ID)
	})
	b.jobMutations()
}

// jobMutations binds what is done with jobs.
func (b *binder) jobMutations() {
	type which struct{ ID globalID }
	change := func(field string, do func(ctx context.Context, as authz.Actor, p *project.Project, id ci.StatusID) (*ci.Job, error)) {
		exec.Mutation(b.Schema, field, func(ctx context.Context, c *exec.Call[which]) (jobPayload, error) {
			return b.changeJob(ctx, c.As, c.Args.ID, do)
		})
	}
	change("jobRetry", b.CI.RetryJob)
	change("jobUnschedule", b.CI.UnscheduleJob)
	change("jobCancel", func(ctx context.Context, as authz.Actor, p *project.Project, id ci.StatusID) (*ci.Job, error) {
		return b.CI.CancelJob(ctx, as, p, id)
	})
	type play struct {
		ID        globalID
		Variables []runVariable
	}
	exec.Mutation(b.Schema, "jobPlay", func(ctx context.Context, c *exec.Call[play]) (jobPayload, error) {
		return b.changeJob(ctx, c.As, c.Args.ID, func(ctx context.Context, as authz.Actor, p *project.Project, id ci.StatusID) (*ci.Job, error) {
			return b.CI.PlayJob(ctx, as, p, id, variablesOf(c.Args.Variables))
		})
	})
	b.artifactMutations()
}

// changeJob does something with a job, and returns it as it is then.
func (b *binder) changeJob(ctx context.Context, as authz.Actor, id globalID, do func(ctx context.Context, as authz.Actor, p *project.Project, id ci.StatusID) (*ci.Job, error)) (jobPayload, error) {
	j, err := needed(ctx, as, id, b.jobsByIDs)
	if err != nil {
		return jobPayload{}, err
	}
	changed, err := do(ctx, as, j.of.project, j.ID)
	if err != nil {
		return jobPayload{}, err
	}
	found, err := b.jobsWith(ctx, as, []*ci.Job{changed})
	if err != nil {
		return jobPayload{}, err
	}
	return jobPayload{found[0]}, nil
}

// artifactMutations binds the deletion of artifacts.
func (b *binder) artifactMutations() {
	type payload struct {
		jobPayload
		DestroyedArtifactsCount int
	}
	exec.Mutation(b.Schema, "jobArtifactsDestroy", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (payload, error) {
		var out payload
		found, err := b.changeJob(ctx, c.As, c.Args.ID, func(ctx context.Context, as authz.Actor, p *project.Project, id ci.StatusID) (*ci.Job, error) {
			n, err := b.CI.DeleteArtifacts(ctx, as, p, id)
			if err != nil {
				return nil, err
			}
			out.DestroyedArtifactsCount = n
			j, _, err := b.CI.FindJob(ctx, as, p, id)
			return j, err
		})
		out.jobPayload = found
		return out, err
	})
}
