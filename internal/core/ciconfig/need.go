package ciconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxUpstream is how many jobs of other projects a job may need.
const maxUpstream = 5

// need is a Need before parallel, with the matrix values that it asks for.
type need struct {
	Need
	at     position
	matrix [][]Variable // nil: every job of the name
}

// needsOf reads needs and dependencies.
func (b *builder) needsOf(where string, v *value, d *declaration) {
	if n := v.get("needs"); !n.isNull() {
		d.needs, d.hasNeeds = b.needs(where, n, d.job.Bridge), true
	}
	if deps := v.get("dependencies"); !deps.isNull() {
		d.job.Dependencies = append([]string{}, b.texts(where+" dependencies", deps)...)
		for _, name := range d.job.Dependencies {
			listed := func(n need) bool { return n.Job == name }
			if d.hasNeeds && !slices.ContainsFunc(d.needs, listed) {
				b.bad(deps.at, where+" dependencies the "+name+" should be part of needs")
			}
		}
	}
}

// needs reads a list of needs.
func (b *builder) needs(where string, v *value, isBridge bool) []need {
	items := []*value{v}
	switch {
	case v.kind == sequence:
		items = flatItems(v, 0, nil)
	case !isBridge || v.kind != mapping && v.kind != str:
		b.bad(v.at, where+":needs config can only be a hash or an array")
		return nil
	}
	out := make([]need, 0, len(items))
	seen, upstream, mirrored := map[string]bool{}, 0, 0
	for _, i := range items {
		n, ok := b.need(where+":needs:need", i, isBridge)
		if !ok {
			continue
		}
		if n.Project != "" {
			upstream++
		}
		if n.Mirrors() {
			mirrored++
		}
		if seen[n.Job] && !n.Elsewhere() && n.matrix == nil {
			name := strings.TrimPrefix(where, "jobs:")
			b.bad(i.at, name+" has the following needs duplicated: "+n.Job+".")
			continue
		}
		seen[n.Job] = seen[n.Job] || n.Project == "" && n.Pipeline == ""
		out = append(out, n)
	}
	if most := cmp.Or(b.c.options.MaxNeeds, MaxNeeds); len(out) > most {
		b.bad(v.at, fmt.Sprintf("%s: one job can only need %d others, but you have listed %d. See needs keyword documentation for more details",
			strings.TrimPrefix(where, "jobs:"), most, len(out)))
	}
	if mirrored > 1 {
		b.bad(v.at, where+":needs config should name one upstream pipeline")
	}
	if upstream > maxUpstream {
		b.bad(v.at, fmt.Sprintf("%s:needs config cross dependencies count must be less than or equal to %d", where, maxUpstream))
	}
	return out
}

// flatItems returns the items of a list with those of the lists in it, as inputs and references make them.
func flatItems(v *value, level int, out []*value) []*value {
	for _, i := range v.items {
		if i.kind == sequence && level < MaxScript {
			out = flatItems(i, level+1, out)
			continue
		}
		out = append(out, i)
	}
	return out
}

func (b *builder) need(where string, v *value, isBridge bool) (n need, ok bool) {
	n = need{Need: Need{Artifacts: true}, at: v.at}
	if v.kind == str {
		n.Job = v.text
		return n, n.Job != ""
	}
	if v.kind != mapping {
		b.bad(v.at, where+" has an unsupported type")
		return n, false
	}
	b.knows(where, v, []string{"job", "artifacts", "optional", "project", "ref", "pipeline", "parallel"})
	n.Job, n.Project = b.text(where+" job", v.get("job")), b.text(where+" project", v.get("project"))
	n.Ref, n.Pipeline = b.text(where+" ref", v.get("ref")), b.text(where+" pipeline", v.get("pipeline"))
	n.Optional = b.boolean(where+" optional", v.get("optional"))
	if a := v.get("artifacts"); !a.isNull() {
		n.Artifacts = b.boolean(where+" artifacts", a)
	}
	switch {
	case n.Job == "" && (n.Pipeline == "" || !isBridge):
		b.bad(v.at, where+" job can't be blank")
		return n, false
	case n.Project != "" && n.Ref == "":
		b.bad(v.at, where+" ref can't be blank")
		return n, false
	}
	if p := v.get("parallel"); !p.isNull() && b.hash(where+":parallel", p, "matrix") {
		n.matrix = b.matrix(where+":parallel:matrix", p.get("matrix"))
	}
	return n, true
}

// checkOrder checks what jobs say about each other.
func (b *builder) checkOrder() {
	b.nameInstances()
	for _, d := range b.c.jobs {
		for _, n := range d.needs {
			b.checkNeed(d, n)
		}
		for _, r := range d.rules {
			for _, n := range r.needs {
				b.checkNeed(d, n)
			}
		}
		for _, name := range d.job.Dependencies {
			b.checkEarlier(d, d.at, name, "dependency")
		}
		if e := d.job.Environment; e != nil && e.OnStop != "" {
			b.checkStop(d, e)
		}
	}
	if len(b.c.Problems) == 0 {
		b.checkCycles()
	}
}

func (b *builder) checkNeed(d *declaration, n need) {
	if n.Elsewhere() {
		return
	}
	if n.Optional && b.find(n.Job) == nil {
		return
	}
	b.checkEarlier(d, n.at, n.Job, "need")
}

// checkEarlier checks that a job exists and does not stand in a later stage.
func (b *builder) checkEarlier(d *declaration, at position, name, what string) {
	other := b.find(name)
	if other == nil {
		b.bad(at, fmt.Sprintf("%s job: undefined %s: %s", d.job.Name, what, name))
		return
	}
	if other.job.StageIndex > d.job.StageIndex {
		b.bad(at, fmt.Sprintf("%s job: %s %s is not defined in current or prior stages", d.job.Name, what, name))
	}
}

// maxInstances is how many jobs all parallel keywords of a configuration make.
const maxInstances = 20_000

// nameInstances finds the names of the jobs that parallel makes.
func (b *builder) nameInstances() {
	b.instances = map[string]*declaration{}
	total := 0
	for _, d := range b.c.jobs {
		if total += d.parallel; total > maxInstances {
			b.bad(d.at, fmt.Sprintf("jobs config generates too many jobs (maximum is %d)", maxInstances))
			return
		}
		for _, name := range d.names() {
			b.instances[name] = d
		}
	}
}

// find returns the job that a name means, of its own or of one of its parallel jobs; nil where there is none.
func (b *builder) find(name string) *declaration {
	if d := b.byName[name]; d != nil {
		return d
	}
	return b.instances[name]
}

func (b *builder) checkStop(d *declaration, e *Environment) {
	other := b.byName[e.OnStop]
	switch name := d.job.Name; {
	case other == nil:
		b.bad(d.at, name+" job: on_stop job "+e.OnStop+" is not defined")
	case other.job.Environment == nil:
		b.bad(d.at, name+" job: on_stop job "+e.OnStop+" does not have environment defined")
	case other.job.Environment.Name != e.Name:
		b.bad(d.at, name+" job: on_stop job "+e.OnStop+" have different environment name")
	case other.job.Environment.Action != "stop":
		b.bad(d.at, name+" job: on_stop job "+e.OnStop+" needs to have action stop defined")
	}
}

// checkCycles finds jobs that wait for each other.
func (b *builder) checkCycles() {
	const open, done = 1, 2
	state := map[*declaration]int{}
	var path []*declaration
	var visit func(d *declaration) bool
	visit = func(d *declaration) bool {
		switch state[d] {
		case done:
			return true
		case open:
			var names []string
			for _, p := range append(path[slices.Index(path, d):], d) {
				names = append(names, p.job.Name)
			}
			b.bad(d.at, "The pipeline has circular dependencies: "+strings.Join(names, " -> "))
			return false
		}
		state[d] = open
		path = append(path, d)
		for _, n := range d.needs {
			other := b.find(n.Job)
			if n.Project == "" && n.Pipeline == "" && other != nil && !visit(other) {
				return false
			}
		}
		path = path[:len(path)-1]
		state[d] = done
		return true
	}
	for _, d := range b.c.jobs {
		if !visit(d) {
			return
		}
	}
}
