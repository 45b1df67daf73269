package ciconfig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// declaration is a job of a configuration, before rules and parallel.
type declaration struct {
	job          Job
	at           position
	own          []Variable // of the job itself
	inherits     inherited  // variables
	needs        []need
	hasNeeds     bool
	rules        []*rule
	hasRules     bool
	only, except *policy
	matrix       [][]Variable // of each job that parallel makes, nil without matrix
	parallel     int          // jobs that parallel makes, 0 without
	bytes        int          // that one job of it takes at least
}

var (
	reserved = []string{
		"default", "include", "before_script", "image", "services", "after_script", "variables", "stages", "cache", "workflow", "spec",
	}
	defaultKeys = []string{
		"before_script", "after_script", "hooks", "cache", "image", "services", "interruptible", "timeout", "retry", "tags", "artifacts", "id_tokens",
	}
	rootDefaults = []string{"before_script", "after_script", "cache", "image", "services"}
	jobKeys      = []string{
		"tags", "script", "image", "services", "start_in", "artifacts", "cache", "dependencies", "before_script", "after_script", "hooks", "coverage",
		"retry", "parallel", "release", "id_tokens", "publish", "pages", "manual_confirmation", "extends", "stage", "only", "except", "rules",
		"variables", "inherit", "allow_failure", "when", "needs", "resource_group", "environment", "interruptible", "timeout", "trigger",
	}
	bridgeKeys = []string{
		"trigger", "stage", "allow_failure", "only", "except", "when", "start_in", "extends", "variables", "inherit", "needs", "rules", "resource_group", "environment",
		"interruptible", "parallel", "manual_confirmation",
	}
	unsupported = []string{"secrets", "identity", "run", "dast_configuration", "inputs"}
)

// declare makes the jobs of a configuration whose includes, extends and references are resolved.
func (c *Config) declare(root *value) {
	b := &builder{c: c, root: root, byName: map[string]*declaration{}}
	c.Stages = b.stages(root.get("stages"))
	c.Variables = b.variables("variables", root.get("variables"))
	b.workflow(root.get("workflow"))
	b.setDefaults()
	visible := 0
	for i, k := range root.keys {
		if slices.Contains(reserved, k.name) || strings.HasPrefix(k.name, ".") {
			continue
		}
		visible++
		b.declareJob(k, root.items[i])
	}
	if visible == 0 {
		b.bad(root.at, "jobs config should contain at least one visible job")
	}
	if len(c.Problems) == 0 {
		b.checkOrder()
	}
}

func (b *builder) stages(v *value) []string {
	named := []string{"build", "test", "deploy"}
	if !v.isNull() {
		named = b.texts("stages config", v)
	}
	out := []string{".pre"}
	seen := map[string]bool{".pre": true, ".post": true}
	for _, s := range named {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return append(out, ".post")
}

// setDefaults finds what jobs take over: the keys of default, and those of the root that stand for them.
func (b *builder) setDefaults() {
	d := b.root.get("default")
	if d.isNull() {
		d = newMap(b.root.at, 0).done()
	}
	if !b.hash("default", d, defaultKeys...) {
		d = newMap(b.root.at, 0).done()
	}
	out := newMap(d.at, len(defaultKeys))
	for i, k := range d.keys {
		if slices.Contains(defaultKeys, k.name) {
			out.set(k, d.items[i])
		}
	}
	for _, name := range rootDefaults {
		v := b.root.get(name)
		if v == nil {
			continue
		}
		if out.has(name) {
			b.bad(v.at, "root "+name+" is defined in top-level and `default:` entry")
		}
		out.set(key{name, v.at}, v)
	}
	b.defaults = out.done()
}

// inherited says what a job takes over: all, or the names of a list.
type inherited struct {
	none bool
	some []string
}

func (i inherited) has(name string) bool {
	return !i.none && (i.some == nil || slices.Contains(i.some, name))
}

func (b *builder) inherit(where string, v *value) inherited {
	switch {
	case v.isNull():
		return inherited{}
	case v.kind == sequence:
		return inherited{some: b.texts(where+" config", v)}
	case v.kind != boolean:
		b.bad(v.at, where+" config should be a bool or an array of strings")
	}
	return inherited{none: v.text != "true"}
}

// withDefaults returns a job with what it takes over.
func (b *builder) withDefaults(where string, v *value, d *declaration) *value {
	inherits := inherited{}
	if i := v.get("inherit"); !i.isNull() && b.hash(where+":inherit", i, "default", "variables") {
		inherits = b.inherit(where+":inherit:default", i.get("default"))
		d.inherits = b.inherit(where+":inherit:variables", i.get("variables"))
	}
	out := newMap(v.at, len(v.keys)+len(b.defaults.keys))
	for i, k := range v.keys {
		out.set(k, v.items[i])
	}
	for i, k := range b.defaults.keys {
		if !out.has(k.name) && inherits.has(k.name) {
			out.set(k, b.defaults.items[i])
		}
	}
	return out.done()
}

// bridge tells whether a job starts or mirrors another pipeline instead of running.
func bridge(v *value) bool {
	if !v.get("trigger").isNull() {
		return true
	}
	needs := v.get("needs")
	if !v.get("script").isNull() || v.has("run") || needs == nil {
		return false
	}
	return upstream(needs) || needs.kind == sequence && slices.ContainsFunc(needs.items, upstream)
}

// upstream tells whether a need is of the latest pipeline of another project.
func upstream(need *value) bool {
	return need.kind == mapping && !need.get("pipeline").isNull() && need.get("job").isNull()
}

func (b *builder) declareJob(name key, v *value) {
	where := "jobs:" + name.name
	d := &declaration{at: name.at, job: Job{Name: name.name, Stage: "test", When: "on_success"}}
	known := jobKeys
	isBridge := v.kind == mapping && bridge(v)
	switch {
	case utf8.RuneCountInString(name.name) > MaxName:
		b.bad(name.at, fmt.Sprintf("jobs:%s... name is too long (maximum is %d characters)", string([]rune(name.name)[:40]), MaxName))
		return
	case v.kind != mapping || !isBridge && v.get("script").isNull() && !v.has("run"):
		b.bad(name.at, "jobs "+name.name+" config should implement the script:, run:, or trigger: keyword")
		return
	case isBridge:
		known = bridgeKeys
	}
	for _, key := range unsupported {
		if u := v.get(key); u != nil {
			b.bad(u.at, where+":"+key+" is not supported by this server")
		}
	}
	b.knows(where, v, slices.Concat(known, unsupported))
	if d.job.Bridge = isBridge; isBridge {
		if i := v.get("inherit"); !i.isNull() && b.hash(where+":inherit", i, "default", "variables") {
			d.inherits = b.inherit(where+":inherit:variables", i.get("variables"))
		}
	} else {
		v = b.withDefaults(where, v, d)
	}
	if b.size += v.size; b.size > 2*maxSize {
		b.bad(name.at, textTooBig)
		return
	}
	b.common(where, v, d)
	b.control(where, v, d)
	if isBridge {
		b.trigger(where, v, &d.job)
	} else {
		b.running(where, v, &d.job)
	}
	d.bytes = weigh(&d.job, d.own)
	b.byName[name.name] = d
	b.c.jobs = append(b.c.jobs, d)
}

// common reads what jobs and bridges have alike.
func (b *builder) common(where string, v *value, d *declaration) {
	j := &d.job
	if s := v.get("stage"); !s.isNull() {
		j.Stage = b.pure(where+":stage config", s)
	}
	if j.StageIndex = slices.Index(b.c.Stages, j.Stage); j.StageIndex < 0 {
		b.bad(d.at, fmt.Sprintf("%s job: chosen stage %s does not exist; available stages are %s", j.Name, j.Stage, strings.Join(b.c.Stages, ", ")))
	}
	d.own = b.variables(where+":variables", v.get("variables"))
	if g := v.get("resource_group"); !g.isNull() {
		j.ResourceGroup = b.pure(where+" resource group", g)
	}
	if i := v.get("interruptible"); !i.isNull() {
		holds := b.boolean(where+":interruptible config", i)
		j.Interruptible = &holds
	}
	j.ManualConfirmation = b.pure(where+" manual confirmation", v.get("manual_confirmation"))
	j.Environment = b.environment(where+":environment", v.get("environment"))
	b.needsOf(where, v, d)
	b.parallel(where+":parallel", v.get("parallel"), d)
}

// running reads what jobs have that run.
func (b *builder) running(where string, v *value, j *Job) {
	j.Script = b.script(where+":script", v.get("script"))
	j.BeforeScript = b.script(where+":before_script", v.get("before_script"))
	j.AfterScript = b.script(where+":after_script", v.get("after_script"))
	if h := v.get("hooks"); !h.isNull() && b.hash(where+":hooks", h, "pre_get_sources_script") {
		j.Hooks.PreGetSources = b.script(where+":hooks:pre_get_sources_script", h.get("pre_get_sources_script"))
	}
	j.Tags = b.tags(where, v.get("tags"))
	j.Image = b.image(where+":image", v.get("image"))
	j.Services = b.services(where+":services", v.get("services"))
	j.Artifacts = b.artifacts(where+":artifacts", v.get("artifacts"))
	j.Cache = b.caches(where+":cache", v.get("cache"))
	j.Release = b.release(where+":release", v.get("release"))
	j.IDTokens = b.idTokens(where+":id_tokens", v.get("id_tokens"))
	j.Coverage = b.coverage(where+":coverage", v.get("coverage"))
	j.Retry = b.retry(where+":retry", v.get("retry"))
	j.Timeout = b.duration(where+":timeout config", v.get("timeout"))
	b.pages(where, v, j)
}

func (b *builder) tags(where string, v *value) []string {
	tags := b.texts(where+":tags config", v)
	if len(tags) > MaxTags {
		b.bad(v.at, fmt.Sprintf("%s:tags config must be less than the limit of %d tags", where, MaxTags))
	}
	for i, t := range tags {
		if t == "" || len(t) > MaxTag {
			b.bad(v.items[i].at, fmt.Sprintf("%s:tags config should have tags of 1 to %d characters", where, MaxTag))
		}
	}
	return tags
}

func (b *builder) coverage(where string, v *value) string {
	if v.isNull() {
		return ""
	}
	text, ok := strings.CutPrefix(v.text, "/")
	text, closed := strings.CutSuffix(text, "/")
	if v.kind != str || !ok || !closed || compile(text, "") == nil {
		b.bad(v.at, where+" config must be a regular expression")
		return ""
	}
	return text
}

func (b *builder) pages(where string, v *value, j *Job) {
	j.Pages = j.Name == "pages"
	j.Publish = b.pure(where+" publish", v.get("publish"))
	p := v.get("pages")
	switch {
	case p.isNull():
	case p.kind == boolean:
		j.Pages = p.text == "true"
	case b.hash(where+":pages", p, "path_prefix", "expire_in", "publish"):
		j.Pages = true
		if s := p.get("publish"); !s.isNull() {
			j.Publish = b.pure(where+":pages publish", s)
		}
	}
}

// weigh estimates the bytes of a job.
func weigh(j *Job, own []Variable) int {
	n := 500
	for _, texts := range [][]string{j.Script, j.BeforeScript, j.AfterScript, j.Hooks.PreGetSources, j.Tags} {
		for _, t := range texts {
			n += len(t) + 16
		}
	}
	for _, v := range own {
		n += len(v.Key) + len(v.Value) + 48
	}
	return n
}
