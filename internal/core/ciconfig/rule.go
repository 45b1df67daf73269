package ciconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxDelay is how long a delayed job may wait.
const maxDelay = 7 * day

// rule is one of the rules of a job, of workflow or of an include.
type rule struct {
	at            position
	condition     *Expression // nil: none
	changes       *changesRule
	exists        *existsRule
	when          string // "" means the job's
	startIn       time.Duration
	allows        bool // allow_failure is set
	allowFailure  bool
	exitCodes     []int
	variables     []Variable
	needs         []need
	hasNeeds      bool
	interruptible *bool
	cancel        AutoCancel
}

type changesRule struct {
	paths     []string // with variables
	compareTo string   // with variables
}

type existsRule struct {
	paths        []string // with variables
	project, ref string   // with variables, "" for the project of the pipeline
}

// conditions are the whens of a job.
var conditions = []string{"on_success", "on_failure", "always", "manual", "delayed"}

// control reads what decides whether a job is there and when it starts.
func (b *builder) control(where string, v *value, d *declaration) {
	j := &d.job
	w := v.get("when")
	if !w.isNull() {
		j.When = b.oneOf(where+" when", w, conditions...)
	}
	j.StartIn = b.delay(where, v.get("start_in"), v.at, j.When)
	a := v.get("allow_failure")
	j.AllowFailure, j.AllowExitCodes = b.allowFailure(where, a)
	if r := v.get("rules"); !r.isNull() {
		d.rules, d.hasRules = b.rules(where+":rules", r, ruleKeys), true
		b.warnDuplicates(where, d.rules)
		for _, other := range []string{"only", "except"} {
			if v.has(other) {
				b.bad(v.get(other).at, where+" config key may not be used with `rules`: "+other)
			}
		}
		return
	}
	if a.isNull() && j.When == "manual" {
		j.AllowFailure = true
	}
	d.only, d.except = b.policy(where+":only", v.get("only")), b.policy(where+":except", v.get("except"))
	if d.only == nil && !b.c.hasRules {
		d.only = &policy{refs: []string{"branches", "tags"}}
	}
	j.Only, j.Except = d.only.filter(), d.except.filter()
}

// warnDuplicates warns of a job that is in pipelines of branches and of merge requests alike, so that one push makes two.
func (b *builder) warnDuplicates(where string, rules []*rule) {
	if b.c.hasRules || len(rules) == 0 {
		return
	}
	last := rules[len(rules)-1]
	if last.condition == nil && last.changes == nil && last.exists == nil && last.when != "" && last.when != "never" {
		b.warn(where + " may allow multiple pipelines to run for a single action due to `rules:when` clause with no `workflow:rules` - read more: " +
			b.c.options.HelpURL + "/ci/troubleshooting.md#pipeline-warnings")
	}
}

// delay reads start_in, which a delayed job must have and others must not.
func (b *builder) delay(where string, v *value, at position, when string) time.Duration {
	switch {
	case when == "delayed" && v.isNull():
		b.bad(at, where+" start in should be a duration")
	case when != "delayed" && !v.isNull():
		b.bad(v.at, where+" start in must be blank")
	case !v.isNull():
		d := b.duration(where+" start in", v)
		if d > maxDelay {
			b.bad(v.at, where+" start in should not exceed the limit")
		}
		return d
	}
	return 0
}

func (b *builder) allowFailure(where string, v *value) (allowed bool, codes []int) {
	if v.isNull() {
		return false, nil
	}
	if v.kind == mapping {
		b.knows(where+":allow_failure", v, []string{"exit_codes"})
		codes = b.exitCodes(where+":allow_failure exit codes", v.get("exit_codes"))
		if codes == nil {
			b.bad(v.at, where+":allow_failure config should be a hash or a boolean value")
		}
		return false, codes
	}
	holds, ok := v.truth()
	if !ok {
		b.bad(v.at, where+":allow_failure config should be a hash or a boolean value")
	}
	return holds, nil
}

var (
	ruleKeys     = []string{"if", "changes", "exists", "when", "start_in", "allow_failure", "variables", "needs", "interruptible"}
	workflowKeys = []string{"if", "changes", "exists", "when", "variables", "auto_cancel"}
	includeRules = []string{"if", "changes", "exists", "when"}
)

// rules reads a list of rules; lists in it, as references make them, count as what is in them.
func (b *builder) rules(where string, v *value, known []string) []*rule {
	var flat []*value
	if v.kind != sequence || !flatRules(v, 0, &flat) {
		b.bad(v.at, where+" config should be an array of hashes")
		return nil
	}
	out := make([]*rule, 0, len(flat))
	for _, r := range flat {
		out = append(out, b.rule(where+":rule", r, known))
	}
	return out
}

func flatRules(v *value, level int, out *[]*value) bool {
	for _, i := range v.items {
		switch {
		case i.kind == mapping:
			*out = append(*out, i)
		case i.kind != sequence || level >= MaxScript || !flatRules(i, level+1, out):
			return false
		}
	}
	return true
}

func (b *builder) rule(where string, v *value, known []string) *rule {
	b.knows(where, v, known)
	r := &rule{at: v.at, changes: b.changes(where, v.get("changes")), exists: b.exists(where, v.get("exists"))}
	if c := v.get("if"); !c.isNull() {
		r.condition = b.expression(where+" if", c)
	}
	if len(v.keys) == 0 {
		b.bad(v.at, where+" config can't be blank")
	}
	if w := v.get("when"); !w.isNull() {
		allowed := append(conditions, "never")
		if !slices.Contains(known, "start_in") {
			allowed = []string{"always", "never"}
		}
		if w.kind != str || !slices.Contains(allowed, w.text) {
			b.bad(w.at, where+" when unknown value: "+w.scalarText())
		}
		r.when = w.text
	}
	r.startIn = b.delay(where, v.get("start_in"), v.at, r.when)
	if a := v.get("allow_failure"); !a.isNull() {
		r.allows = true
		r.allowFailure, r.exitCodes = b.allowFailure(where, a)
	}
	r.variables = b.variables(where+":variables", v.get("variables"))
	if n := v.get("needs"); !n.isNull() {
		r.needs, r.hasNeeds = b.needs(where, n, false), true
	}
	if i := v.get("interruptible"); !i.isNull() {
		holds := b.boolean(where+" interruptible", i)
		r.interruptible = &holds
	}
	r.cancel = b.autoCancel(where+":auto_cancel", v.get("auto_cancel"))
	return r
}

func (b *builder) expression(what string, v *value) *Expression {
	if v.kind != str {
		b.bad(v.at, what+" should be a string")
		return nil
	}
	e := b.parse(v.text)
	if e == nil {
		b.bad(v.at, what+" invalid expression syntax")
	}
	return e
}

// parse parses a condition once for all rules that have it; nil where its syntax is wrong.
func (b *builder) parse(text string) *Expression {
	e, ok := b.parsed[text]
	if !ok {
		e, _ = ParseExpression(text)
		if b.parsed == nil {
			b.parsed = map[string]*Expression{}
		}
		b.parsed[text] = e
	}
	return e
}

func (b *builder) changes(where string, v *value) *changesRule {
	if v.isNull() {
		return nil
	}
	out := &changesRule{}
	where += ":changes"
	if v.kind == mapping {
		b.knows(where, v, []string{"paths", "compare_to"})
		if v.get("paths").isNull() {
			b.bad(v.at, where+" config missing required keys: paths")
		}
		out.compareTo = b.pure(where+" compare to", v.get("compare_to"))
		v = v.get("paths")
	}
	out.paths = b.paths(where+" config", v)
	return out
}

func (b *builder) exists(where string, v *value) *existsRule {
	if v.isNull() {
		return nil
	}
	out := &existsRule{}
	where += ":exists"
	if v.kind == mapping {
		b.knows(where, v, []string{"paths", "project", "ref"})
		if v.get("paths").isNull() {
			b.bad(v.at, where+" config missing required keys: paths")
		}
		out.project, out.ref = b.pure(where+" project", v.get("project")), b.pure(where+" ref", v.get("ref"))
		v = v.get("paths")
	}
	if !v.isNull() && v.kind == str {
		v = newList(sequence, v.at, []*value{v})
	}
	out.paths = b.paths(where+" config", v)
	return out
}

// paths reads the globs of changes or exists.
func (b *builder) paths(what string, v *value) []string {
	if v.isNull() {
		return nil
	}
	out := []string{}
	if v.kind != sequence || !flatten(v, 0, &out) {
		b.bad(v.at, what+" should be an array of strings")
	}
	if len(out) > maxGlobs {
		b.bad(v.at, fmt.Sprintf("%s has too many entries (maximum %d)", what, maxGlobs))
	}
	return out
}

// workflow reads what decides whether there is a pipeline.
func (b *builder) workflow(v *value) {
	if v.isNull() || !b.hash("workflow", v, "rules", "name", "auto_cancel") {
		return
	}
	b.c.name = b.pure("workflow name", v.get("name"))
	if len([]rune(b.c.name)) > 255 {
		b.bad(v.get("name").at, "workflow name is too long (maximum is 255 characters)")
	}
	b.c.cancel = b.autoCancel("workflow:auto_cancel", v.get("auto_cancel"))
	if r := v.get("rules"); !r.isNull() {
		b.c.rules, b.c.hasRules = b.rules("workflow:rules", r, workflowKeys), true
	}
}

func (b *builder) autoCancel(where string, v *value) AutoCancel {
	if v.isNull() || !b.hash(where, v, "on_new_commit", "on_job_failure") {
		return AutoCancel{}
	}
	return AutoCancel{
		OnNewCommit:  b.oneOf(where+" on new commit", v.get("on_new_commit"), "conservative", "interruptible", "none"),
		OnJobFailure: b.oneOf(where+" on job failure", v.get("on_job_failure"), "none", "all"),
	}
}

// policy is what only or except say.
type policy struct {
	refs       []string
	patterns   []*regex // of refs that are /patterns/, nil for others
	variables  []*Expression
	texts      []string // of variables
	changes    []string
	kubernetes string
}

func (p *policy) filter() *Filter {
	if p == nil {
		return nil
	}
	return &Filter{Refs: p.refs, Variables: p.texts, Changes: p.changes, Kubernetes: p.kubernetes}
}

func (b *builder) policy(where string, v *value) *policy {
	if v.isNull() {
		return nil
	}
	p := &policy{}
	refs := v
	if v.kind == mapping {
		b.knows(where, v, []string{"refs", "variables", "changes", "kubernetes"})
		refs = v.get("refs")
		p.texts = b.texts(where+" variables", v.get("variables"))
		p.changes = b.paths(where+" changes", v.get("changes"))
		p.kubernetes = b.oneOf(where+" kubernetes", v.get("kubernetes"), "active")
		if refs.isNull() && strings.HasSuffix(where, ":only") {
			p.refs = []string{"branches", "tags"}
		}
	}
	if !refs.isNull() {
		p.refs = b.textOrTexts(where+" config", refs)
	}
	for _, r := range p.refs {
		var re *regex
		if strings.HasPrefix(r, "/") {
			pattern, _, _ := cutPath(r)
			var rest string
			var ok bool
			if re, rest, ok = cutRegex(pattern); !ok || rest != "" {
				b.bad(v.at, where+" config should be an array of strings or regular expressions using re2 syntax")
			}
		}
		p.patterns = append(p.patterns, re)
	}
	for _, text := range p.texts {
		e := b.parse(text)
		if e == nil {
			b.bad(v.at, where+" variables invalid expression syntax")
		}
		p.variables = append(p.variables, e)
	}
	return p
}

// cutPath splits a ref of only or except from the path of the project that it is for.
func cutPath(ref string) (name, project string, ok bool) {
	if strings.HasPrefix(ref, "/") {
		if end := strings.LastIndex(ref, "/"); end > 0 {
			at := strings.LastIndex(ref, "@")
			if slash := strings.IndexByte(ref[max(at, 0):], '/'); at > 0 && slash > 0 {
				if pattern := ref[:at]; strings.HasSuffix(strings.TrimRight(pattern, "ismU"), "/") {
					return pattern, ref[at+1:], true
				}
			}
		}
		return ref, "", false
	}
	return strings.Cut(ref, "@")
}
