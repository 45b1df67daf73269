package exec

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/core/authz"
)

// Deadline is how long one request may take. Fields that are not answered by then are null.
const Deadline = 30 * time.Second

// maxErrors is how many errors one answer lists at most.
const maxErrors = 100

// Config is what answering needs from outside.
type Config struct {
	// Present says what a client may read of an error.
	Present func(ctx context.Context, err error) string

	// Broken returns the sentences about a mutation that breaks a rule, nil for all other errors.
	Broken func(err error) []string
}

// run is one operation that is being answered.
type run struct {
	schema *Schema
	op     *Operation
	config *Config
	as     authz.Actor
	errors []Error
	words  func(err error) string // for an error that a client may read
	memory memory

	skipped bool // the event of a subscription is not for its reader
}

// place is where a value is in the answer, below the place of its parent.
type place struct {
	above *place
	key   string
	index int // in a list; -1 where it is in none
}

func (p place) path() []any {
	var out []any
	for at := &p; at != nil; at = at.above {
		if at.index >= 0 {
			out = append(out, at.index)
		}
		if at.key != "" {
			out = append(out, at.key)
		}
	}
	slices.Reverse(out)
	return out
}

// Answers of a field that are not values.
var (
	errored = new(int) // null, and the error is noted
	broken  = new(int) // null where null may not stand: its parent is null as well
)

// Run answers an operation. What it returns is written with [Result.Write].
func (s *Schema) Run(ctx context.Context, config *Config, op *Operation, as authz.Actor) *Result {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	return s.newRun(ctx, config, op, as).answer(ctx, RootValue{})
}

func (s *Schema) newRun(ctx context.Context, config *Config, op *Operation, as authz.Actor) *run {
	return &run{schema: s, op: op, config: config, as: as, memory: memory{}, words: func(err error) string { return config.Present(ctx, err) }}
}

// answer answers the fields of the root, whose parent is given.
func (r *run) answer(ctx context.Context, parent any) *Result {
	out := r.objects(ctx, r.op.root, []ast.SelectionSet{r.op.def.SelectionSet}, []any{parent}, []place{{index: -1}})
	result := &Result{Errors: r.errors, executed: true}
	if o, ok := out[0].(*row); ok {
		result.data = o
	}
	return result
}

// row is an object of the answer: keys are shared by all objects of its level.
type row struct {
	keys   []string
	values []any
}

// objects answers the fields of objects of one type, all at once. An object in which null
// stands where it may not is broken.
func (r *run) objects(ctx context.Context, typ *ast.Definition, sets []ast.SelectionSet, parents []any, places []place) []any {
	nodes := r.collect(typ, sets)
	keys := make([]string, len(nodes))
	for i, n := range nodes {
		keys[i] = n.key
	}
	out := make([]any, len(parents))
	for i := range parents {
		out[i] = &row{keys: keys, values: make([]any, len(nodes))}
	}
	for k, n := range nodes {
		if r.op.Mutates() && typ == r.op.root {
			r.memory = memory{}
		}
		for i, v := range r.field(ctx, n, parents, places) {
			switch {
			case v == any(broken):
				out[i] = broken
			case out[i] != any(broken):
				out[i].(*row).values[k] = v
			}
		}
	}
	return out
}

// field answers one field of all parents.
func (r *run) field(ctx context.Context, n *node, parents []any, places []place) []any {
	if n.bind == nil {
		out := make([]any, len(parents))
		for i := range out {
			out[i] = n.typ.Name
		}
		return out
	}
	raw := r.resolve(ctx, n, parents, places)
	at := make([]place, len(parents))
	for i := range places {
		at[i] = place{above: &places[i], key: n.key, index: -1}
	}
	return r.complete(ctx, n, n.definition().Type, raw, at)
}

// resolve calls what answers a field.
func (r *run) resolve(ctx context.Context, n *node, parents []any, places []place) (raw []any) {
	raw = make([]any, len(parents))
	if n.bind.value != nil {
		for i, p := range parents {
			raw[i] = n.bind.value(p)
		}
		return raw
	}
	q := &query{run: r, node: n, places: places, failed: make([]bool, len(parents))}
	err := ctx.Err()
	if err == nil {
		raw, err = n.bind.batch(ctx, q, parents)
	}
	if err != nil {
		raw = make([]any, len(parents))
		for i := range parents {
			r.fail(n, places[i], err)
			raw[i] = errored
		}
		return raw
	}
	for i, failed := range q.failed {
		if failed {
			raw[i] = errored
		}
	}
	return raw
}

// fail notes an error of a field of one parent.
func (r *run) fail(n *node, parent place, err error) {
	r.failAt(n, place{above: &parent, key: n.key, index: -1}, err)
}

func (r *run) failAt(n *node, at place, err error) {
	if len(r.errors) >= maxErrors {
		return
	}
	e := Error{Locations: locations(n.fields[0].Position), Path: at.path()}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Message = "Timeout on " + n.typ.Name + "." + n.fields[0].Name
	} else {
		e.Message = r.words(err)
	}
	r.errors = append(r.errors, e)
}

// complete returns the values of a field the form of its type.
func (r *run) complete(ctx context.Context, n *node, t *ast.Type, raw []any, at []place) []any {
	if t.NonNull {
		nullable := *t
		nullable.NonNull = false
		out := r.complete(ctx, n, &nullable, raw, at)
		for i, v := range out {
			if v != nil {
				continue
			}
			if raw[i] != any(errored) && !r.reported(at[i]) {
				r.null(n, at[i])
			}
			out[i] = broken
		}
		return out
	}
	def := r.schema.types.Types[t.Name()]
	switch {
	case t.Elem != nil:
		return r.lists(ctx, n, t.Elem, raw, at)
	case def.IsLeafType():
		out := make([]any, len(raw))
		for i, v := range raw {
			out[i] = r.leaf(n, def, v, at[i])
		}
		return out
	}
	return r.composite(ctx, n, def, raw, at)
}

// null notes that null stands where it may not.
func (r *run) null(n *node, at place) {
	if len(r.errors) < maxErrors {
		r.errors = append(r.errors, Error{
			Message:   "Cannot return null for non-nullable field " + n.typ.Name + "." + n.fields[0].Name,
			Locations: locations(n.fields[0].Position), Path: at.path(),
		})
	}
}

// reported reports whether an error below a place explains why it is null.
func (r *run) reported(at place) bool {
	path := at.path()
	return slices.ContainsFunc(r.errors, func(e Error) bool {
		return len(e.Path) >= len(path) && slices.Equal(e.Path[:len(path)], path)
	})
}

// lists completes the elements of all lists at once.
func (r *run) lists(ctx context.Context, n *node, elem *ast.Type, raw []any, at []place) []any {
	out := make([]any, len(raw))
	var (
		all    []any
		places []place
		ends   = make([]int, len(raw))
	)
	for i, v := range raw {
		if !null(v) {
			list := reflect.Indirect(reflect.ValueOf(v))
			for j := range list.Len() {
				all = append(all, list.Index(j).Interface())
				places = append(places, element(&at[i], j))
			}
			out[i] = []any{}
		}
		ends[i] = len(all)
	}
	if len(all) == 0 {
		return out
	}
	done := r.complete(ctx, n, elem, all, places)
	start := 0
	for i, end := range ends {
		if out[i] != nil {
			list := done[start:end:end]
			if slices.Contains(list, any(broken)) {
				out[i] = nil
			} else {
				out[i] = list
			}
		}
		start = end
	}
	return out
}

// element is the place of an element of a list.
func element(list *place, index int) place {
	if list.index < 0 {
		return place{above: list.above, key: list.key, index: index}
	}
	return place{above: list, index: index}
}

// composite answers the fields of objects, all of one type at once.
func (r *run) composite(ctx context.Context, n *node, def *ast.Definition, raw []any, at []place) []any {
	out := make([]any, len(raw))
	byType := map[string][]int{}
	var order []string
	values := make([]any, len(raw))
	for i, v := range raw {
		if null(v) {
			continue
		}
		name := def.Name
		if t, ok := v.(typed); ok {
			if name, v = t.name, t.value; null(v) {
				continue
			}
		} else if def.IsAbstractType() {
			if name = r.schema.names[reflect.TypeOf(v)]; name == "" {
				r.failAt(n, at[i], fmt.Errorf("%T is no %s", v, def.Name))
				continue
			}
		}
		values[i] = v
		if byType[name] == nil {
			order = append(order, name)
		}
		byType[name] = append(byType[name], i)
	}
	sets := n.sets()
	for _, name := range order {
		indexes := byType[name]
		parents, places := make([]any, len(indexes)), make([]place, len(indexes))
		for k, i := range indexes {
			parents[k], places[k] = values[i], at[i]
		}
		for k, v := range r.objects(ctx, r.schema.types.Types[name], sets, parents, places) {
			if v != any(broken) {
				out[indexes[k]] = v
			}
		}
	}
	return out
}

// null reports whether a value of Go is null in the answer. A list is never null unless it is a
// nil pointer: a nil slice has no elements.
func null(v any) bool {
	switch v {
	case nil, any(errored):
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Interface, reflect.Func:
		return rv.IsNil()
	default:
		return false
	}
}
