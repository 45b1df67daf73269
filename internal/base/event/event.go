// Package event calls the handlers of what happened, in the caller's transaction.
//
// An event is a struct in the past tense. Handlers may only write rows; what leaves
// the process is a job that a handler enqueues. An error of a handler undoes the
// whole operation.
package event

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Event is a struct that says what happened, and when.
type Event interface {
	Happened() time.Time
}

// Bus knows the handlers of each type of event. Register everything before the first
// Publish; afterwards it is safe for concurrent use. The zero value is ready.
type Bus struct {
	handlers map[reflect.Type][]handler
	wide     []handler // of interfaces, in the order in which they were registered
}

type handler struct {
	of   reflect.Type
	name string
	run  func(ctx context.Context, e any) error
}

// Reaction is one line of the answer to "what happens when ...?".
type Reaction struct {
	Event    string   // such as issue.Closed
	Handlers []string // in the order they run
}

// On makes fn a handler of events of type E, after those registered before. Where E is an interface,
// these are the events of all types that have its methods. The name
// says what reacts, such as "system note"; it is in errors and in Reactions.
func On[E Event](b *Bus, name string, fn func(ctx context.Context, e E) error) {
	t := reflect.TypeFor[E]()
	h := handler{t, name, func(ctx context.Context, e any) error { return fn(ctx, e.(E)) }}
	if t.Kind() == reflect.Interface {
		b.wide = append(b.wide, h)
		for known := range b.handlers {
			if known.Implements(t) {
				b.handlers[known] = append(b.handlers[known], h)
			}
		}
		return
	}
	if b.handlers == nil {
		b.handlers = make(map[reflect.Type][]handler)
	}
	b.handlers[t] = append(b.of(t), h)
}

// of lists the handlers of a type in order.
func (b *Bus) of(t reflect.Type) []handler {
	known, ok := b.handlers[t]
	if !ok {
		for _, h := range b.wide {
			if t.Implements(h.of) {
				known = append(known, h)
			}
		}
	}
	return known
}

// Publish calls the handlers of e's own type in order, with the caller's ctx and
// so in its transaction. It stops at the first error. An event without handlers is no error.
func (b *Bus) Publish(ctx context.Context, e Event) error {
	for _, h := range b.of(reflect.TypeOf(e)) {
		if err := h.run(ctx, e); err != nil {
			return fmt.Errorf("%s on %T: %w", h.name, e, err)
		}
	}
	return nil
}

// Reactions lists all events that have handlers, sorted by name, and the interfaces that have.
func (b *Bus) Reactions() []Reaction {
	out := make([]Reaction, 0, len(b.handlers)+len(b.wide))
	for _, h := range b.wide {
		out = append(out, Reaction{h.of.String(), []string{h.name}})
	}
	for t, handlers := range b.handlers {
		r := Reaction{Event: t.String()}
		for _, h := range handlers {
			r.Handlers = append(r.Handlers, h.name)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reaction) int { return strings.Compare(a.Event, b.Event) })
	return out
}
