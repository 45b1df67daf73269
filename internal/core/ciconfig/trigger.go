package ciconfig

import "strings"

// maxChildFiles is how many files a child pipeline may be made of.
const maxChildFiles = 3

// trigger reads the pipeline that a bridge starts.
func (b *builder) trigger(where string, v *value, j *Job) {
	t := v.get("trigger")
	where += ":trigger"
	if t.isNull() {
		return // it mirrors the pipeline that it needs
	}
	out := &Trigger{ForwardYAMLVariables: true}
	j.Trigger = out
	if t.kind == str {
		out.Project = t.text
		return
	}
	if t.kind != mapping {
		b.bad(t.at, where+" config has an unknown strategy")
		return
	}
	b.knows(where, t, []string{"project", "branch", "include", "strategy", "forward", "inputs"})
	out.Project, out.Branch = b.pure(where+" project", t.get("project")), b.pure(where+" branch", t.get("branch"))
	out.Strategy = b.pure(where+" strategy", t.get("strategy"))
	if out.Strategy != "" && out.Strategy != "depend" && out.Strategy != "mirror" {
		b.bad(t.get("strategy").at, where+" strategy should be depend or mirror")
	}
	if f := t.get("forward"); !f.isNull() && b.hash(where+":forward", f, "yaml_variables", "pipeline_variables") {
		if y := f.get("yaml_variables"); !y.isNull() {
			out.ForwardYAMLVariables = b.boolean(where+":forward yaml variables", y)
		}
		out.ForwardPipelineVariables = b.boolean(where+":forward pipeline variables", f.get("pipeline_variables"))
	}
	if in := t.get("inputs"); !in.isNull() && b.anyHash(where+":inputs", in) {
		out.Inputs = in.object()
	}
	include := t.get("include")
	switch {
	case include.isNull() == (out.Project == ""):
		b.bad(t.at, where+" config should specify either project or include")
	case !include.isNull():
		out.Include = b.triggerIncludes(where+":include", include)
	}
	if !include.isNull() && out.Branch != "" {
		b.bad(t.at, where+" config contains unknown keys: branch")
	}
}

// anyHash tells whether a value is a mapping, with any keys.
func (b *builder) anyHash(where string, v *value) bool {
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash")
	}
	return v.kind == mapping
}

func (b *builder) triggerIncludes(where string, v *value) []TriggerInclude {
	items := []*value{v}
	if v.kind == sequence {
		items = v.items
	}
	if len(items) > maxChildFiles {
		b.bad(v.at, where+" config is too long (maximum is 3)")
		return nil
	}
	var out []TriggerInclude
	for _, i := range items {
		if i.kind == str {
			if strings.HasPrefix(i.text, "https://") || strings.HasPrefix(i.text, "http://") {
				out = append(out, TriggerInclude{Remote: i.text})
			} else {
				out = append(out, TriggerInclude{Local: i.text})
			}
			continue
		}
		if !b.hash(where, i, "local", "file", "project", "ref", "remote", "template", "component", "artifact", "job", "inputs") {
			continue
		}
		out = append(out, b.triggerInclude(where, i)...)
	}
	return out
}

func (b *builder) triggerInclude(where string, v *value) []TriggerInclude {
	one := TriggerInclude{
		Local: b.pure(where+" local", v.get("local")), Project: b.pure(where+" project", v.get("project")), Ref: b.text(where+" ref", v.get("ref")),
		Remote: b.pure(where+" remote", v.get("remote")), Template: b.pure(where+" template", v.get("template")),
		Component: b.pure(where+" component", v.get("component")), Artifact: b.pure(where+" artifact", v.get("artifact")), Job: b.pure(where+" job", v.get("job")),
	}
	if in := v.get("inputs"); !in.isNull() && b.anyHash(where+":inputs", in) {
		one.Inputs = in.object()
	}
	files := b.textOrTexts(where+" file", v.get("file"))
	kinds := 0
	for _, text := range []string{one.Local, one.Remote, one.Template, one.Component, one.Artifact, strings.Join(files, ",")} {
		if text != "" {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		b.bad(v.at, where+" config must specify one of local, file, remote, template, component and artifact")
	case (one.Artifact != "") != (one.Job != ""):
		b.bad(v.at, where+" config must specify the job where to fetch the artifact from")
	case (one.Project != "") != (files != nil):
		b.bad(v.at, where+" config must specify the project where to fetch the file from")
	}
	if files == nil {
		return []TriggerInclude{one}
	}
	out := make([]TriggerInclude, len(files))
	for i, f := range files {
		out[i] = one
		out[i].File = f
	}
	return out
}
