package graphql

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenon/internal/core/ci"
	"tenon/internal/transport/graphql/exec"
)

// stage is the jobs of one stage of a pipeline. It goes by the id of the first of them.
type stage struct {
	id    ci.StatusID
	name  string
	index int
	of    *pipeline
	jobs  []*ci.Job // that no other took the place of, by name
}

// group is jobs of a stage that belong together.
type group struct {
	name string
	of   *stage
	jobs []*ci.Job
}

// stagesOf sorts the jobs of a pipeline into stages.
func stagesOf(of *pipeline, jobs []*ci.Job) []*stage {
	found := map[string]*stage{}
	var out []*stage
	for _, j := range jobs {
		key := fmt.Sprint(j.StageIndex, j.Stage)
		s := found[key]
		if s == nil {
			s = &stage{id: j.ID, name: j.Stage, index: j.StageIndex, of: of}
			found[key], out = s, append(out, s)
		}
		if !j.Retried {
			s.jobs = append(s.jobs, j)
		}
	}
	slices.SortStableFunc(out, func(a, b *stage) int { return cmp.Compare(a.index, b.index) })
	for _, s := range out {
		slices.SortStableFunc(s.jobs, func(a, b *ci.Job) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// groups sorts the jobs of a stage into groups.
func (s *stage) groups() []*group {
	found := map[string]*group{}
	var out []*group
	for _, j := range s.jobs {
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

// jobsIn gives jobs of one pipeline.
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
				if s.index == of[i].StageIndex && s.name == of[i].Stage {
					out[i] = s
				}
			}
		}
		return out, err
	})
	value(b, "CiStage.id", func(s *stage) string { return gid("Ci::Stage", s.id) })
	value(b, "CiStage.name", func(s *stage) string { return s.name })
	value(b, "CiStage.status", func(s *stage) string {
		state, _ := ci.Sum(s.jobs)
		return string(state)
	})
	value(b, "CiStage.detailedStatus", func(s *stage) *detail {
		state, warned := ci.Sum(s.jobs)
		return detailOf(state, warned, s.id, b.pathOf(s.of)+"#"+s.name)
	})
	kept(b, "CiStage.jobs", func(s *stage) []*job { return jobsIn(s.of, s.jobs) })
	kept(b, "CiStage.groups", (*stage).groups)
	exec.Connection[*stage](b.Schema, "CiStage")

	value(b, "CiGroup.id", func(g *group) string { return fmt.Sprintf("%d-%s", g.of.id, g.name) })
	value(b, "CiGroup.name", func(g *group) string { return g.name })
	value(b, "CiGroup.size", func(g *group) int { return len(g.jobs) })
	value(b, "CiGroup.detailedStatus", func(g *group) *detail {
		if len(g.jobs) == 1 {
			return b.jobDetail(&job{g.jobs[0], g.of.of})
		}
		state, warned := ci.Sum(g.jobs)
		return detailOf(state, warned, fmt.Sprintf("%d-%s", g.of.id, g.name), "")
	})
	kept(b, "CiGroup.jobs", func(g *group) []*job { return jobsIn(g.of.of, g.jobs) })
	exec.Connection[*group](b.Schema, "CiGroup")
}
