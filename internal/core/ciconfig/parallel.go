package ciconfig

import (
	"fmt"
	"strings"
)

// maxParallel is how many jobs parallel makes with a number.
const maxParallel = 200

// parallel reads how often a job runs, and with which variables.
func (b *builder) parallel(where string, v *value, d *declaration) {
	switch {
	case v.isNull():
	case v.kind == integer:
		d.parallel = b.integer(where+" config", v, 1, maxParallel)
	case v.kind == mapping:
		b.knows(where, v, []string{"matrix"})
		if d.matrix = b.matrix(where+":matrix", v.get("matrix")); d.matrix != nil {
			d.parallel = len(d.matrix)
		}
	default:
		b.bad(v.at, where+" config should be an integer or a hash")
	}
}

// matrix reads the variables of every job that a list of mappings makes.
func (b *builder) matrix(where string, v *value) [][]Variable {
	if v.isNull() || v.kind != sequence || len(v.items) == 0 {
		at := b.root.at
		if v != nil {
			at = v.at
		}
		b.bad(at, where+" config should be an array of hashes")
		return nil
	}
	total := 0
	for _, m := range v.items {
		n, ok := b.factors(where, m)
		if !ok {
			return nil
		}
		if total += n; total > MaxMatrix {
			b.bad(v.at, fmt.Sprintf("%s config generates too many jobs (maximum is %d)", where, MaxMatrix))
			return nil
		}
	}
	var out [][]Variable
	for _, m := range v.items {
		rows := [][]Variable{nil}
		for i, k := range m.keys {
			var next [][]Variable
			for _, r := range rows {
				for _, text := range scalars(m.items[i]) {
					next = append(next, append(r[:len(r):len(r)], Variable{Key: k.name, Value: text}))
				}
			}
			rows = next
		}
		out = append(out, rows...)
	}
	return out
}

// factors returns how many jobs one mapping of a matrix makes, at most one more than MaxMatrix.
func (b *builder) factors(where string, m *value) (n int, ok bool) {
	if m.kind != mapping || len(m.keys) == 0 {
		b.bad(m.at, where+" config should be an array of hashes")
		return 0, false
	}
	n = 1
	for i, k := range m.keys {
		texts := scalars(m.items[i])
		if len(texts) == 0 {
			b.bad(m.items[i].at, where+":"+k.name+" config should be a hash of key value pairs, value can be an array")
			return 0, false
		}
		n = min(n*len(texts), MaxMatrix+1)
	}
	return n, true
}

// scalars returns one scalar, or those of a list; nil for anything else.
func scalars(v *value) []string {
	if v.isScalar() {
		return []string{v.scalarText()}
	}
	if v.kind != sequence {
		return nil
	}
	out := make([]string, 0, len(v.items))
	for _, i := range v.items {
		if !i.isScalar() {
			return nil
		}
		out = append(out, i.scalarText())
	}
	return out
}

// names returns the names of the jobs that a declaration makes.
func (d *declaration) names() []string {
	if d.parallel == 0 {
		return []string{d.job.Name}
	}
	out := make([]string, d.parallel)
	for i := range out {
		out[i] = d.name(i)
	}
	return out
}

// name returns the name of one of its jobs, counted from 0.
func (d *declaration) name(i int) string {
	switch {
	case d.parallel == 0:
		return d.job.Name
	case d.matrix == nil:
		return fmt.Sprintf("%s %d/%d", d.job.Name, i+1, d.parallel)
	}
	values := make([]string, len(d.matrix[i]))
	for j, v := range d.matrix[i] {
		values[j] = v.Value
	}
	return d.job.Name + ": [" + strings.Join(values, ", ") + "]"
}
