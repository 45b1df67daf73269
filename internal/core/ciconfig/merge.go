package ciconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxMerge bounds the keys that includes and extends merge, of one configuration.
const maxMerge = 300_000

// merger merges mappings and counts the work.
type merger struct{ work int }

// merge returns b over a: mappings key by key, anything else as a whole.
func (m *merger) merge(a, b *value) (*value, error) {
	if a == nil || a.kind != mapping || b.kind != mapping || len(a.keys) == 0 {
		return b, nil
	}
	out := newMap(b.at, len(a.keys)+len(b.keys))
	for i, k := range a.keys {
		out.set(k, a.items[i])
	}
	if m.work += len(a.keys); m.work > maxMerge {
		return nil, refuse(b.at, textTooBig)
	}
	if err := m.into(out, b); err != nil {
		return nil, err
	}
	return out.done(), nil
}

// into merges b into a mapping that is being made.
func (m *merger) into(out *mapBuilder, b *value) error {
	if m.work += len(b.keys); m.work > maxMerge {
		return refuse(b.at, textTooBig)
	}
	for i, k := range b.keys {
		v := b.items[i]
		if j := out.v.find(k.name); j >= 0 {
			var err error
			if v, err = m.merge(out.v.items[j], v); err != nil {
				return err
			}
		}
		out.set(k, v)
	}
	return nil
}

// extender resolves extends of the jobs of a configuration.
type extender struct {
	merger
	root *value
	done map[string]extended // without a value while a job is resolved
}

// extended is a job with what it extends, through so many levels.
type extended struct {
	*value
	levels int
}

// extend returns a configuration whose jobs have what they extend.
func (m *merger) extend(root *value) (*value, error) {
	e := &extender{merger: *m, root: root, done: map[string]extended{}}
	out := newMap(root.at, len(root.keys))
	for i, k := range root.keys {
		v := root.items[i]
		if v.has("extends") {
			job, err := e.resolve(k, v, 0)
			if err != nil {
				return nil, err
			}
			v = job.value
		}
		out.set(k, v)
	}
	m.work = e.work
	return out.done(), nil
}

func (e *extender) resolve(name key, v *value, level int) (extended, error) {
	none := extended{}
	bases := v.get("extends")
	if bases == nil {
		return extended{value: v}, nil
	}
	if job, ok := e.done[name.name]; ok {
		if job.value == nil {
			return none, refuse(name.at, name.name+": circular dependency detected in `extends`")
		}
		return job, nil
	}
	if level >= MaxExtends {
		return none, tooDeep(name)
	}
	e.done[name.name] = none
	list, ok := stringsOf(bases)
	if !ok || len(list) == 0 {
		return none, refuse(bases.at, fmt.Sprintf("jobs:%s:extends config should be an array of strings or a string", name.name))
	}
	var unknown []string
	for _, b := range list {
		if e.root.get(b) == nil {
			unknown = append(unknown, b)
		}
	}
	if unknown != nil {
		return none, refuse(bases.at, fmt.Sprintf("%s: unknown keys in `extends` (%s)", name.name, strings.Join(unknown, ", ")))
	}
	out, levels := newMap(v.at, len(v.keys)), 0
	for _, b := range list {
		base := e.root.get(b)
		if base.kind != mapping {
			return none, refuse(bases.at, name.name+": invalid base hash in `extends`")
		}
		job, err := e.resolve(key{b, base.at}, base, level+1)
		if err == nil {
			err = e.into(out, job.value)
		}
		if err != nil {
			return none, err
		}
		levels = max(levels, job.levels+1)
	}
	if levels > MaxExtends {
		return none, tooDeep(name)
	}
	if err := e.into(out, v.without("extends")); err != nil {
		return none, err
	}
	e.done[name.name] = extended{out.done(), levels}
	return e.done[name.name], nil
}

func tooDeep(job key) error { return refuse(job.at, job.name+": nesting too deep in `extends`") }

// without returns a mapping without one of its keys.
func (v *value) without(name string) *value {
	if !v.has(name) {
		return v
	}
	out := newMap(v.at, len(v.keys))
	for i, k := range v.keys {
		if k.name != name {
			out.set(k, v.items[i])
		}
	}
	return out.done()
}

// referrer resolves !reference.
type referrer struct {
	root  *value
	done  map[*value]*value // nil while a value is resolved
	level int               // of references in references
}

// resolveReferences returns a configuration without !reference.
func resolveReferences(root *value) (*value, error) {
	return (&referrer{root: root, done: map[*value]*value{}}).resolve(root)
}

func (r *referrer) resolve(v *value) (*value, error) {
	if len(v.items) == 0 && v.kind != referenced {
		return v, nil
	}
	if done, ok := r.done[v]; ok {
		if done == nil {
			return nil, refuse(v.at, referenceText(v)+" is part of a circular chain")
		}
		return done, nil
	}
	if v.kind == referenced {
		return r.follow(v)
	}
	out := v
	for i, item := range v.items {
		resolved, err := r.resolve(item)
		if err != nil {
			return nil, err
		}
		if resolved == item {
			continue
		}
		if out == v {
			copied := *v
			out = &copied
			out.items = slices.Clone(v.items)
		}
		out.items[i] = resolved
	}
	if out != v {
		out.measure()
	}
	r.done[v] = out
	return out, nil
}

func (r *referrer) follow(v *value) (*value, error) {
	path, ok := stringsOf(&value{kind: sequence, items: v.items})
	if !ok || len(path) == 0 {
		return nil, refuse(v.at, referenceText(v)+" is not valid")
	}
	r.done[v] = nil
	if r.level++; r.level > MaxReferences {
		return nil, refuse(v.at, referenceText(v)+" is nested too deep")
	}
	target := r.root
	for _, name := range path {
		for target != nil && target.kind == referenced {
			var err error
			if target, err = r.resolve(target); err != nil {
				return nil, err
			}
		}
		target = target.get(name)
	}
	if target == nil {
		return nil, refuse(v.at, referenceText(v)+" could not be found")
	}
	out, err := r.resolve(target)
	if err != nil {
		return nil, err
	}
	r.level--
	r.done[v] = out
	return out, nil
}

func referenceText(v *value) string {
	parts := make([]string, len(v.items))
	for i, item := range v.items {
		parts[i] = strconv.Quote(item.text)
	}
	return "!reference [" + strings.Join(parts, ", ") + "]"
}

// stringsOf returns a text, or a list of texts; ok is false for anything else.
func stringsOf(v *value) (out []string, ok bool) {
	if v == nil {
		return nil, false
	}
	if v.kind == str {
		return []string{v.text}, true
	}
	if v.kind != sequence {
		return nil, false
	}
	out = make([]string, len(v.items))
	for i, item := range v.items {
		if item.kind != str {
			return nil, false
		}
		out[i] = item.text
	}
	return out, true
}
