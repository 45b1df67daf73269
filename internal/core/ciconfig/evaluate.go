package ciconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a pipeline.
const (
	maxPipelineBytes = 32 << 20 // of all jobs together, estimated
	maxVariables     = 300_000  // of all jobs together
)

const textCostly = "The rules of the configuration take too long to evaluate"

// evaluation is one call of Evaluate.
type evaluation struct {
	ctx     context.Context // lives as long as one call of Evaluate
	c       *Config
	run     Run
	out     *Pipeline
	steps   budget
	globals []Variable // after workflow
	global  map[string]Variable
	changed map[string]changed
	files   map[[2]string][]string
	globs   map[string]glob
	bytes   int
	count   int              // of variables
	made    map[string][]int // indexes of Jobs by the name of their declaration
	byName  map[string]int   // indexes of Jobs by their own name
	wants   []want           // of Jobs
}

// changed is an answer of Run.Changes.
type changed struct {
	paths []string
	known bool
}

// Evaluate finds the pipeline that a configuration has for a run. What keeps it from having one is in Problems of the result; an
// error is one of ctx or a failure of the functions of the run.
func (c *Config) Evaluate(ctx context.Context, run Run) (*Pipeline, error) {
	e := &evaluation{
		ctx: ctx, c: c, run: run, out: &Pipeline{Problems: c.Problems, Warnings: c.Warnings}, steps: budget{maxSteps},
		changed: map[string]changed{}, files: map[[2]string][]string{}, globs: map[string]glob{}, made: map[string][]int{}, byName: map[string]int{},
	}
	if len(c.Problems) > 0 {
		return e.out, ctx.Err()
	}
	err := e.evaluate()
	if r := (*refusal)(nil); errors.As(err, &r) {
		e.out.Problems, err = []Problem{r.Problem}, nil
	}
	if len(e.out.Problems) > 0 {
		e.out.Jobs, e.out.Stages = nil, nil
	}
	return e.out, err
}

func (e *evaluation) evaluate() error {
	e.setGlobals(e.c.Variables)
	e.out.AutoCancel = e.c.cancel
	ok, err := e.workflow()
	if err != nil {
		return err
	}
	e.out.Variables = e.globals
	if !ok {
		e.out.Filtered = true
		return refuse(position{}, `The pipeline did not run. Review the <a href="`+e.c.help("workflowrules")+`">workflow:rules</a> configuration for the pipeline.`)
	}
	e.out.Name = strings.TrimSpace(cut(e.shown(e.c.name), 255))
	for _, d := range e.c.jobs {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		if err := e.job(d); err != nil {
			return err
		}
	}
	if len(e.out.Jobs) == 0 || !slices.ContainsFunc(e.out.Jobs, func(j Job) bool { return j.Stage != ".pre" && j.Stage != ".post" }) {
		e.out.Filtered = true
		return refuse(position{}, `The resulting pipeline would have been empty. Review the <a href="`+e.c.help("rules")+`">rules</a> configuration for the relevant jobs.`)
	}
	if err := e.resolveNeeds(); err != nil {
		return err
	}
	e.finish()
	return e.ctx.Err()
}

func (e *evaluation) setGlobals(list []Variable) {
	e.globals, e.global = list, make(map[string]Variable, len(list))
	for _, v := range list {
		e.global[v.Key] = v
	}
}

// help returns the URL of a heading of the documentation.
func (c *Config) help(heading string) string {
	return c.options.HelpURL + "/ci/yaml/_index.md#" + heading
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n])
	}
	return text
}

// lookup returns the variables of a job or of the pipeline: those of the run win, and those of the configuration may refer to others.
// Later lists win over earlier ones.
func (e *evaluation) lookup(i inherited, lists ...[]Variable) Lookup {
	return e.expansion(i, lists...).get
}

// shown replaces variables in a text that all who see the pipeline read. Secret ones stay as they are written, in the values of others as well.
func (e *evaluation) shown(text string) string {
	x := e.expansion(inherited{})
	x.secret = e.run.Secret
	return expand(text, x.text)
}

func (e *evaluation) expansion(i inherited, lists ...[]Variable) *expansion {
	own := map[string]Variable{}
	for _, list := range lists {
		for _, v := range list {
			own[v.Key] = v
		}
	}
	return &expansion{e: e, own: own, inherits: i, open: map[string]bool{}, done: map[string]string{}}
}

// expansion returns variables whose values refer to each other.
type expansion struct {
	e        *evaluation
	own      map[string]Variable
	inherits inherited
	open     map[string]bool
	done     map[string]string
	secret   func(key string) bool // variables that stay as they are written, nil for none
}

// text returns what stands for a variable in a text.
func (x *expansion) text(written, key string) string {
	if x.secret != nil && x.secret(key) {
		return written
	}
	value, _ := x.get(key)
	return value
}

// expandSteps is what expanding a variable costs for each byte.
const expandSteps = 16

// find returns a variable of the configuration.
func (x *expansion) find(key string) (Variable, bool) {
	if v, ok := x.own[key]; ok {
		return v, true
	}
	v, ok := x.e.global[key]
	return v, ok && x.inherits.has(key)
}

func (x *expansion) get(key string) (string, bool) {
	if v, ok := x.e.run.Variables.get(key); ok {
		return v, true
	}
	v, ok := x.find(key)
	if !ok {
		return x.e.run.Predefined.get(key)
	}
	if v.Raw || !strings.ContainsAny(v.Value, "$%") {
		return v.Value, true
	}
	if done, ok := x.done[key]; ok {
		return done, true
	}
	if x.open[key] || x.e.steps.left < 0 {
		return v.Value, true // it refers to itself, or to too much
	}
	x.open[key] = true
	text := expand(v.Value, x.text)
	delete(x.open, key)
	if !x.e.steps.spend(expandSteps * len(text)) {
		text = v.Value
	}
	x.done[key] = text
	return text, true
}

// workflow decides whether there is a pipeline.
func (e *evaluation) workflow() (bool, error) {
	why := Explanation{Job: "workflow", Present: true, Reason: "there are no rules of workflow"}
	if e.c.hasRules {
		r, number, err := e.first(e.c.rules, e.lookup(inherited{}), &why)
		if err != nil {
			return false, err
		}
		why.Present = r != nil && r.when != "never"
		why.settle(r, number)
		if r != nil {
			e.setGlobals(overlay(e.globals, r.variables))
			e.out.AutoCancel.OnNewCommit = cmp.Or(r.cancel.OnNewCommit, e.out.AutoCancel.OnNewCommit)
			e.out.AutoCancel.OnJobFailure = cmp.Or(r.cancel.OnJobFailure, e.out.AutoCancel.OnJobFailure)
		}
	}
	e.out.Explanations = append(e.out.Explanations, why)
	return why.Present, nil
}

// place says where the rule or the job stands.
func (w *Explanation) place(at position) {
	p := problem(at, "")
	w.File, w.Line, w.Column = p.File, p.Line, p.Column
}

// settle says which rule decided.
func (w *Explanation) settle(r *rule, number int) {
	if r == nil {
		w.Reason = "no rule matches"
		return
	}
	w.Rule = number
	w.place(r.at)
	w.Reason = fmt.Sprintf("rule %d matches", number)
	if r.when != "" {
		w.Reason += ", with when: " + r.when
	}
}

// overlay returns variables with those of another list over them.
func overlay(under, over []Variable) []Variable {
	if len(over) == 0 {
		return under
	}
	out := make([]Variable, 0, len(under)+len(over))
	index := make(map[string]int, len(under)+len(over))
	for _, list := range [][]Variable{under, over} {
		for _, v := range list {
			if i, ok := index[v.Key]; ok {
				out[i] = v
				continue
			}
			index[v.Key] = len(out)
			out = append(out, v)
		}
	}
	return out
}

// job adds the jobs of a declaration. Each row of a matrix is asked by itself, because rules may ask for its variables.
func (e *evaluation) job(d *declaration) error {
	if d.matrix == nil {
		return e.decide(d, nil, 0, max(d.parallel, 1))
	}
	for i, row := range d.matrix {
		if err := e.decide(d, row, i, 1); err != nil {
			return err
		}
	}
	return nil
}

// decide adds n jobs of a declaration from number at on, if they belong to the pipeline.
func (e *evaluation) decide(d *declaration, row []Variable, at, n int) error {
	j := d.job
	why := Explanation{Job: j.Name}
	why.place(d.at)
	if row != nil {
		why.Job = d.name(at)
	}
	w := want{d: d, needs: d.needs, set: d.hasNeeds}
	known := e.lookup(d.inherits, d.own, row)
	var more []Variable
	if d.hasRules {
		r, number, err := e.first(d.rules, known, &why)
		if err != nil {
			return err
		}
		if r != nil {
			more = r.variables
			j.decide(r)
			if r.hasNeeds {
				w.needs, w.set = r.needs, true
			}
		}
		why.Present = r != nil && j.When != "never"
		why.settle(r, number)
	} else {
		present, err := e.filtered(d, known, &why)
		if err != nil {
			return err
		}
		why.Present = present
	}
	e.out.Explanations = append(e.out.Explanations, why)
	if !why.Present {
		return nil
	}
	variables := overlay(overlay(overlay(e.inherited(d), d.own), row), more)
	for i := range n {
		if err := e.add(w, j, variables, at+i); err != nil {
			return err
		}
	}
	return nil
}

// decide applies the rule that matches to a job.
func (j *Job) decide(r *rule) {
	if r.when != "" {
		j.When, j.StartIn = r.when, r.startIn
	}
	if r.allows {
		j.AllowFailure, j.AllowExitCodes = r.allowFailure, r.exitCodes
	}
	if r.interruptible != nil {
		j.Interruptible = r.interruptible
	}
}

// inherited returns the global variables that a job takes over.
func (e *evaluation) inherited(d *declaration) []Variable {
	switch {
	case d.inherits.none:
		return nil
	case d.inherits.some == nil:
		return e.globals
	}
	return slices.DeleteFunc(slices.Clone(e.globals), func(v Variable) bool { return !d.inherits.has(v.Key) })
}

// want is what a job of the pipeline needs, before the names are resolved.
type want struct {
	d     *declaration
	needs []need
	set   bool
}

// add makes one of the jobs of a declaration.
func (e *evaluation) add(w want, j Job, variables []Variable, i int) error {
	d := w.d
	e.bytes += d.bytes
	e.count += len(variables)
	most := cmp.Or(e.c.options.MaxJobs, MaxJobs)
	switch {
	case len(e.out.Jobs) == most:
		return refuse(d.at, fmt.Sprintf("Pipeline has too many jobs! Limit: %d.", most))
	case e.bytes > maxPipelineBytes || e.count > maxVariables:
		return refuse(d.at, "The jobs of the pipeline are too large")
	}
	group := j.Name
	j.Name, j.Variables = d.name(i), variables
	if d.parallel > 0 {
		j.Parallel = &Parallel{Index: i + 1, Total: d.parallel, Group: group}
		if d.matrix != nil {
			j.Parallel.Matrix = d.matrix[i]
		}
	}
	at := len(e.out.Jobs)
	e.made[group] = append(e.made[group], at)
	e.byName[j.Name] = at
	e.wants = append(e.wants, w)
	e.out.Jobs = append(e.out.Jobs, j)
	return nil
}

// finish puts jobs in the order of their stages, and names the stages that have some.
func (e *evaluation) finish() {
	slices.SortStableFunc(e.out.Jobs, func(a, b Job) int { return a.StageIndex - b.StageIndex })
	for _, j := range e.out.Jobs {
		if n := len(e.out.Stages); n == 0 || e.out.Stages[n-1] != j.Stage {
			e.out.Stages = append(e.out.Stages, j.Stage)
		}
	}
}
