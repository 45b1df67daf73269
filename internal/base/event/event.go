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
}

type handler struct {
	name string
	run  func(ctx context.Context, e any) error
}

// Reaction is one line of the answer to "what happens when ...?".
type Reaction struct {
	Event    string   // such as issue.Closed
	Handlers []string // in the order they run
}

// On makes fn a handler of events of type E, after those registered before. The name
// says what reacts, such as "system note"; it stands in errors and in Reactions.
func On[E Event](b *Bus, name string, fn func(ctx context.Context, e E) error) {
	if b.handlers == nil {
		b.handlers = make(map[reflect.Type][]handler)
	}
	t := reflect.TypeFor[E]()
	b.handlers[t] = append(b.handlers[t], handler{name, func(ctx context.Context, e any) error { return fn(ctx, e.(E)) }})
}

// Publish calls the handlers of e's own type in order, with the caller's ctx and
// so in its transaction. It stops at the first error. An event without handlers is no error.
func (b *Bus) Publish(ctx context.Context, e Event) error {
	for _, h := range b.handlers[reflect.TypeOf(e)] {
		if err := h.run(ctx, e); err != nil {
			return fmt.Errorf("%s on %T: %w", h.name, e, err)
		}
	}
	return nil
}

// Reactions lists all events that have handlers, sorted by name.
func (b *Bus) Reactions() []Reaction {
	out := make([]Reaction, 0, len(b.handlers))
	for t, handlers := range b.handlers {
		r := Reaction{Event: t.String()}
		for _, h := range handlers {
			r.Handlers = append(r.Handlers, h.name)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Reaction) int { return strings.Compare(a.Event, b.Event) })
	return out
}
