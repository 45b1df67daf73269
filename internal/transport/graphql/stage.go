package graphql

import (
	"context"
	"fmt"

	"tenon/internal/core/ci"
	"tenon/internal/transport/graphql/exec"
)

// stage is a stage of a pipeline.
type stage struct {
	*ci.Stage
	of *pipeline
}

// group is jobs of a stage that belong together.
type group struct {
	name string
	of   *stage
	jobs []*ci.Job
}

// stagesOf sorts the jobs of a pipeline into stages.
func stagesOf(of *pipeline, jobs []*ci.Job) []*stage {
	found := ci.Stages(jobs)
	out := make([]*stage, len(found))
	for i, s := range found {
		out[i] = &stage{s, of}
	}
	return out
}

// groups sorts the jobs of a stage into groups.
func (s *stage) groups() []*group {
	found := map[string]*group{}
	var out []*group
	for _, j := range s.Jobs {
		name := j.Group()
		g := found[name]
		if g == nil {
			g = &group{name: name, of: s}
			found[name], out = g, append(out, g)
		}
		g.jobs = append(g.jobs, j)
	}
	return out
}

// jobsIn returns jobs of one pipeline.
func jobsIn(of *pipeline, list []*ci.Job) []*job {
	out := make([]*job, len(list))
	for i, j := range list {
		out[i] = &job{j, of}
	}
	return out
}

// stages binds the stages of pipelines, and the groups of jobs in them.
func (b *binder) stages() {
	exec.Batch(b.Schema, "Pipeline.stages", func(ctx context.Context, c *exec.Call[paging], of []*pipeline) ([]*exec.Page[*stage], error) {
		found, err := jobsOf(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*stage], len(of))
		for i, jobs := range found {
			if out[i], err = listOf(c.Args, maxPage, stagesOf(of[i], jobs)); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Batch(b.Schema, "CiJob.stage", func(ctx context.Context, c *exec.Call[exec.None], of []*job) ([]*stage, error) {
		found, err := jobsOf(ctx, b, c, pipelinesOf(of))
		out := make([]*stage, len(of))
		for i, jobs := range found {
			for _, s := range stagesOf(of[i].of, jobs) {
				if s.Index == of[i].StageIndex && s.Name == of[i].Stage {
					out[i] = s
				}
			}
		}
		return out, err
	})
	value(b, "CiStage.id", func(s *stage) string { return gid("Ci::Stage", s.ID) })
	value(b, "CiStage.name", func(s *stage) string { return s.Name })
	value(b, "CiStage.status", func(s *stage) string {
		state, _ := ci.Sum(s.Jobs)
		return string(state)
	})
	value(b, "CiStage.detailedStatus", func(s *stage) *detail {
		state, warned := ci.Sum(s.Jobs)
		return detailOf(state.Detail(warned), s.ID, b.pathOf(s.of)+"#"+s.Name)
	})
	kept(b, "CiStage.jobs", func(s *stage) []*job { return jobsIn(s.of, s.Jobs) })
	kept(b, "CiStage.groups", (*stage).groups)
	exec.Connection[*stage](b.Schema, "CiStage")

	value(b, "CiGroup.id", func(g *group) string { return fmt.Sprintf("%d-%s", g.of.ID, g.name) })
	value(b, "CiGroup.name", func(g *group) string { return g.name })
	value(b, "CiGroup.size", func(g *group) int { return len(g.jobs) })
	value(b, "CiGroup.detailedStatus", func(g *group) *detail {
		if len(g.jobs) == 1 {
			return b.jobDetail(&job{g.jobs[0], g.of.of})
		}
		state, warned := ci.Sum(g.jobs)
		return detailOf(state.Detail(warned), fmt.Sprintf("%d-%s", g.of.ID, g.name), "")
	})
	kept(b, "CiGroup.jobs", func(g *group) []*job { return jobsIn(g.of.of, g.jobs) })
	exec.Connection[*group](b.Schema, "CiGroup")
}
