package ciconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// first finds the rule that matches, nil where none does. number counts from 1.
func (e *evaluation) first(rules []*rule, l Lookup, why *Explanation) (r *rule, number int, err error) {
	for i, r := range rules {
		ok, said, err := e.holds(r, l, why.Job)
		if err != nil {
			return nil, 0, err
		}
		why.Steps = append(why.Steps, fmt.Sprintf("rule %d: %s", i+1, said))
		if ok {
			return r, i + 1, nil
		}
	}
	return nil, 0, nil
}

// holds asks the conditions of one rule, of the job with a name.
func (e *evaluation) holds(r *rule, l Lookup, job string) (ok bool, said string, err error) {
	var all []string
	if r.condition != nil {
		if !r.condition.holds(l, &e.steps) {
			return false, "if " + r.condition.text + " does not hold", e.spent(r.at)
		}
		all = append(all, "if "+r.condition.text+" holds")
	}
	if r.changes != nil {
		ok, said, err := e.changes(r, l, job)
		if err != nil || !ok {
			return false, said, err
		}
		all = append(all, said)
	}
	if r.exists != nil {
		ok, said, err := e.exists(r, l, job)
		if err != nil || !ok {
			return false, said, err
		}
		all = append(all, said)
	}
	if all == nil {
		all = append(all, "it has no conditions")
	}
	return true, strings.Join(all, ", "), e.spent(r.at)
}

func (e *evaluation) spent(at position) error {
	if e.steps.left < 0 {
		return refuse(at, textCostly)
	}
	return nil
}

// globsOf makes the globs of paths with variables. Those that come again are made once.
func (e *evaluation) globsOf(texts []string, l Lookup) []glob {
	out := make([]glob, len(texts))
	for i, t := range texts {
		t = ExpandKnown(t, l)
		g, ok := e.globs[t]
		if !ok {
			g = newGlob(t)
			e.globs[t] = g
		}
		out[i] = g
	}
	return out
}

// changedAgainst lists what changed; the answer is kept for other rules.
func (e *evaluation) changedAgainst(compareTo string) (changed, error) {
	if c, ok := e.changed[compareTo]; ok || e.run.Changes == nil {
		return c, nil
	}
	paths, known, err := e.run.Changes(e.ctx, compareTo)
	if err != nil {
		return changed{}, err
	}
	e.changed[compareTo] = changed{paths, known}
	return e.changed[compareTo], nil
}

func (e *evaluation) changes(r *rule, l Lookup, job string) (ok bool, said string, err error) {
	c, err := e.changedAgainst(Expand(r.changes.compareTo, l))
	if errors.Is(err, ErrNoReference) {
		return false, "", refuse(r.at, "Failed to parse rule for "+job+": rules:changes:compare_to is not a valid ref")
	}
	if err != nil {
		return false, "", fmt.Errorf("find changes: %w", err)
	}
	if !c.known {
		return true, "changes counts as true, because there is nothing to compare with", nil
	}
	path, ok := anyMatch(e.globsOf(r.changes.paths, l), c.paths, &e.steps)
	if !ok {
		return false, "no changed file matches changes", e.spent(r.at)
	}
	return true, matchText("changed", path), e.spent(r.at)
}

func matchText(what, path string) string {
	if path == "" {
		return what + " files are too many to compare, which counts as true"
	}
	return what + " file " + path + " matches"
}

func (e *evaluation) exists(r *rule, l Lookup, job string) (ok bool, said string, err error) {
	at := [2]string{Expand(r.exists.project, l), Expand(r.exists.ref, l)}
	paths, known := e.files[at]
	if !known && e.run.Files != nil {
		paths, err = e.run.Files(e.ctx, at[0], at[1])
		switch {
		case errors.Is(err, ErrNoProject):
			return false, "", refuse(r.at, "Failed to parse rule for "+job+": rules:exists:project `"+r.exists.project+"` is not a valid project path")
		case errors.Is(err, ErrNoReference):
			return false, "", refuse(r.at, "Failed to parse rule for "+job+": rules:exists:ref `"+r.exists.ref+"` is not a valid ref in project `"+r.exists.project+"`")
		case err != nil:
			return false, "", fmt.Errorf("list files: %w", err)
		}
		e.files[at] = paths
	}
	path, ok := anyMatch(e.globsOf(r.exists.paths, l), paths, &e.steps)
	if !ok {
		return false, "no file matches exists", e.spent(r.at)
	}
	return true, matchText("existing", path), e.spent(r.at)
}

// filtered asks only and except of a job without rules.
func (e *evaluation) filtered(d *declaration, l Lookup, why *Explanation) (bool, error) {
	if d.only == nil && d.except == nil {
		why.Reason = "it has no rules"
		return true, nil
	}
	if d.only != nil {
		parts, err := e.policy(d.only, l, d.at)
		if err != nil {
			return false, err
		}
		if slices.Contains(parts, false) {
			why.Reason = "only does not hold"
			if d.job.Only != nil && len(d.only.patterns) == 0 {
				why.Reason = "it has no rules, and is then for branches and tags only"
			}
			return false, nil
		}
	}
	if d.except != nil {
		parts, err := e.policy(d.except, l, d.at)
		if err != nil {
			return false, err
		}
		if slices.Contains(parts, true) {
			why.Reason = "except holds"
			return false, nil
		}
	}
	why.Reason = "only and except let it pass"
	return true, nil
}

// policy asks the parts that a policy has.
func (e *evaluation) policy(p *policy, l Lookup, at position) (parts []bool, err error) {
	if p.refs != nil {
		parts = append(parts, slices.ContainsFunc(p.refs, func(r string) bool { return e.ref(r) }))
	}
	if p.variables != nil {
		parts = append(parts, slices.ContainsFunc(p.variables, func(x *Expression) bool { return x.holds(l, &e.steps) }))
	}
	if p.changes != nil {
		c, err := e.changedAgainst("")
		if err != nil {
			return nil, fmt.Errorf("find changes: %w", err)
		}
		_, ok := anyMatch(e.globsOf(p.changes, l), c.paths, &e.steps)
		parts = append(parts, ok || !c.known)
	}
	if p.kubernetes != "" {
		parts = append(parts, false) // there are no clusters
	}
	return parts, e.spent(at)
}

// ref tells whether one ref of only or except is that of the run.
func (e *evaluation) ref(text string) bool {
	name, project, scoped := cutPath(text)
	if scoped && project != e.run.Project {
		return false
	}
	branch := !e.run.Tag && !e.run.MergeRequest
	switch name {
	case "branches":
		return branch
	case "tags":
		return e.run.Tag
	case "merge_requests":
		return e.run.MergeRequest
	}
	source := strings.TrimSuffix(e.run.Source, "_event")
	if name == source || name == source+"s" || name == source+"es" {
		return true
	}
	if !branch && !e.run.Tag {
		return false
	}
	if strings.HasPrefix(name, "/") {
		re, _, _ := cutRegex(name)
		return re.match(e.run.Ref, &e.steps)
	}
	return name == e.run.Ref
}

// resolveNeeds finds the jobs that needs and dependencies mean, and refuses those that wait for each other.
func (e *evaluation) resolveNeeds() error {
	for i := range e.out.Jobs {
		j := &e.out.Jobs[i]
		if e.wants[i].set {
			j.Needs = []Need{}
		}
		seen := map[string]bool{}
		for _, n := range e.wants[i].needs {
			if err := e.resolveNeed(j, n, seen); err != nil {
				return err
			}
		}
		if j.Dependencies == nil {
			continue
		}
		names := []string{}
		for _, d := range j.Dependencies {
			for _, k := range e.meant(d, nil) {
				names = append(names, e.out.Jobs[k].Name)
			}
		}
		j.Dependencies = names
	}
	return e.checkCycles()
}

// meant returns the indexes of the jobs of a name: all that parallel made of it, or those with values of a matrix, or one.
func (e *evaluation) meant(name string, matrix [][]Variable) []int {
	all, ok := e.made[name]
	if !ok {
		if i, ok := e.byName[name]; ok {
			return []int{i}
		}
		return nil
	}
	if matrix == nil {
		return all
	}
	var out []int
	for _, i := range all {
		p := e.out.Jobs[i].Parallel
		if p != nil && slices.ContainsFunc(matrix, func(row []Variable) bool { return sameValues(row, p.Matrix) }) {
			out = append(out, i)
		}
	}
	return out
}

// sameValues tells whether all variables of a row have the same values in another.
func sameValues(row, of []Variable) bool {
	for _, v := range row {
		if !slices.ContainsFunc(of, func(o Variable) bool { return o.Key == v.Key && o.Value == v.Value }) {
			return false
		}
	}
	return true
}

func (e *evaluation) resolveNeed(j *Job, n need, seen map[string]bool) error {
	if n.Elsewhere() {
		j.Needs = append(j.Needs, n.Need)
		return nil
	}
	meant := e.meant(n.Job, n.matrix)
	if len(meant) == 0 && !n.Optional {
		return refuse(n.at, fmt.Sprintf("'%s' job needs '%s' job, but '%s' does not exist in the pipeline. This might be because of the `only`, `except`, "+
			"or `rules` keywords. To need a job that sometimes does not exist in the pipeline, use `needs:optional`.", j.Name, n.Job, n.Job))
	}
	for _, k := range meant {
		one := n.Need
		one.Job = e.out.Jobs[k].Name
		if !seen[one.Job] {
			seen[one.Job] = true
			j.Needs = append(j.Needs, one)
		}
	}
	return nil
}

// checkCycles refuses jobs that wait for each other by needs of rules.
func (e *evaluation) checkCycles() error {
	const open, done = 1, 2
	state := make([]int, len(e.out.Jobs))
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case done:
			return nil
		case open:
			return refuse(e.wants[i].d.at, "The pipeline has circular dependencies: "+e.out.Jobs[i].Name)
		}
		state[i] = open
		for _, n := range e.out.Jobs[i].Needs {
			if k, ok := e.byName[n.Job]; ok && n.Project == "" && n.Pipeline == "" {
				if err := visit(k); err != nil {
					return err
				}
			}
		}
		state[i] = done
		return nil
	}
	for i := range e.out.Jobs {
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}
