package ciconfig

import "strings"

// Why says which jobs a pipeline would have, and why.
type Why struct {
	Runs     bool       `json:"runs"` // there are no problems
	Name     string     `json:"name,omitempty"`
	Problems []Problem  `json:"problems,omitempty"`
	Decided  []Decision `json:"decided,omitempty"` // of workflow, then in the order of the configuration
	Jobs     []Job      `json:"jobs,omitempty"`
}

// Decision is what became of a job of the configuration.
type Decision struct {
	Explanation
	Stage string `json:"stage,omitempty"` // of a job that is there
	When  string `json:"when,omitempty"`  // of a job that is there
	Times int    `json:"times,omitempty"` // how many jobs it is
	Waits string `json:"waits,omitempty"` // when it starts, in words
}

// Why explains the pipeline.
func (p *Pipeline) Why() Why {
	made := map[string][]*Job{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		name := j.Name
		if j.Parallel != nil && j.Parallel.Matrix == nil {
			name = j.Parallel.Group
		}
		made[name] = append(made[name], j)
	}
	out := Why{Runs: len(p.Problems) == 0, Name: p.Name, Problems: p.Problems, Jobs: p.Jobs}
	for _, e := range p.Explanations {
		d := Decision{Explanation: e}
		if jobs := made[e.Job]; len(jobs) > 0 {
			d.Stage, d.When, d.Times, d.Waits = jobs[0].Stage, jobs[0].When, len(jobs), jobs[0].waits()
		}
		out.Decided = append(out.Decided, d)
	}
	return out
}

// waits says what a job waits for.
func (j *Job) waits() string {
	if j.Needs == nil {
		if j.StageIndex == 0 {
			return "starts at once"
		}
		return "waits for the stages before"
	}
	var names []string
	for _, n := range j.Needs {
		switch {
		case n.Project != "":
			names = append(names, n.Job+" of "+n.Project)
		case n.Pipeline != "":
			names = append(names, strings.TrimSpace(n.Job+" of pipeline "+n.Pipeline))
		default:
			names = append(names, n.Job)
		}
	}
	if names == nil {
		return "starts at once"
	}
	return "waits for " + strings.Join(names, ", ")
}
