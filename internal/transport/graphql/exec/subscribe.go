package exec

import (
	"context"
	"errors"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/core/authz"
)

// ErrSkip is what a subscription gives for an event that is not for its reader.
var ErrSkip = errors.New("nothing for this reader")

// Subscription answers a field of the type Subscription. open gives what the events come from, and
// refuses readers; value gives the value of the field for one event, of type E, nil where there will
// be no more for the reader.
func Subscription[A, E, R any](s *Schema, field string,
	open func(ctx context.Context, c *Call[A]) (any, error),
	value func(ctx context.Context, c *Call[A], event E) (R, error),
) {
	Batch(s, "Subscription."+field, func(ctx context.Context, c *Call[A], events []E) ([]R, error) {
		v, err := value(ctx, c, events[0])
		if errors.Is(err, ErrSkip) {
			c.run.skipped, err = true, nil
		}
		return []R{v}, err
	}, Costly, func(b *binding) {
		b.open = func(ctx context.Context, q *query) (any, error) {
			c, err := newCall[A](q)
			if err != nil {
				return nil, err
			}
			return open(ctx, c)
		}
	})
}

// Subscribe returns what the events of a subscription come from, as it was bound. Where the reader
// is refused it returns the answer that says so.
func (s *Schema) Subscribe(ctx context.Context, config *Config, op *Operation, as authz.Actor) (any, *Result) {
	r := s.newRun(ctx, config, op, as)
	nodes := r.collect(op.root, []ast.SelectionSet{op.def.SelectionSet})
	if len(nodes) != 1 || nodes[0].bind == nil || nodes[0].bind.open == nil {
		return nil, Refused(Error{Message: "A subscription has exactly one field"})
	}
	source, err := nodes[0].bind.open(ctx, &query{run: r, node: nodes[0]})
	if err != nil {
		r.fail(nodes[0], place{index: -1}, err)
		return nil, &Result{Errors: r.errors, executed: true}
	}
	return source, nil
}

// Event answers a subscription for one event: nothing where that is not for the reader. more
// reports whether the reader may be given further ones.
func (s *Schema) Event(ctx context.Context, config *Config, op *Operation, as authz.Actor, event any) (result *Result, more bool) {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	r := s.newRun(ctx, config, op, as)
	result = r.answer(ctx, event)
	if r.skipped {
		return nil, true
	}
	return result, result.data != nil && result.data.values[0] != nil
}
