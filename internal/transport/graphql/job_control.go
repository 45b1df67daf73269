package graphql

import (
	"context"
	"fmt"

	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
	"tenon/internal/transport/graphql/exec"
)

// controlsOf tells what may still be done with jobs.
func controlsOf[A any](ctx context.Context, b *binder, c *exec.Call[A], jobs []*ci.Job) (map[ci.StatusID]ci.Controls, error) {
	known, ids := make(map[ci.StatusID]*ci.Job, len(jobs)), make([]ci.StatusID, len(jobs))
	for i, j := range jobs {
		known[j.ID], ids[i] = j, j.ID
	}
	return exec.Load(ctx, c, "controls of jobs", ids, func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID]ci.Controls, error) {
		missing := make([]*ci.Job, len(ids))
		for i, id := range ids {
			missing[i] = known[id]
		}
		return b.CI.Controls(ctx, c.As, missing)
	})
}

// jobControls binds what users may do with jobs, and what they gave them.
func (b *binder) jobControls() {
	for field, of := range map[string]func(ci.Controls) bool{
		"cancelable": func(c ci.Controls) bool { return c.Cancelable },
		"playable":   func(c ci.Controls) bool { return c.Playable },
		"retryable":  func(c ci.Controls) bool { return c.Retryable },
	} {
		exec.Batch(b.Schema, "CiJob."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*job) ([]bool, error) {
			jobs := make([]*ci.Job, len(list))
			for i, j := range list {
				jobs[i] = j.Job
			}
			found, err := controlsOf(ctx, b, c, jobs)
			out := make([]bool, len(list))
			for i, j := range list {
				out[i] = of(found[j.ID])
			}
			return out, err
		})
	}
	exec.Batch(b.Schema, "CiJob.manualVariables", func(ctx context.Context, c *exec.Call[paging], of []*job) ([]*exec.Page[*ciVariable], error) {
		found, err := exec.Load(ctx, c, "manual variables", keys(of), func(ctx context.Context, ids []ci.StatusID) (map[ci.StatusID][]ci.Variable, error) {
			return b.CI.ManualVariables(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*ciVariable], len(of))
		for i, j := range of {
			vars, may := found[j.ID]
			if !may {
				continue
			}
			list := make([]*ciVariable, len(vars))
			for k, v := range vars {
				list[k] = &ciVariable{ID: gid("Ci::JobVariable", fmt.Sprintf("%d-%s", j.ID, v.Key)), Key: v.Key, Value: &v.Value, Raw: v.Raw, VariableType: "ENV_VAR"}
			}
			if out[i], err = listOf(c.Args, maxPage, list); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Connection[*ciVariable](b.Schema, "CiManualVariable")
	one(b, "CiJob.runnerManager", "machines of runners", func(j *job) runner.ManagerID { return zeroOr(j.ManagerID) }, b.Runners.ManagersByIDs)
}
