package coretest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Fact is what an event says of a row of type T.
type Fact[T any] struct {
	authz.Stamp

	Row    T
	Before *T // nil where the row was created or deleted
}

// FactOf is what an event in its generic form says.
func FactOf[T change.Row](e change.Of[T]) Fact[T] {
	out := Fact[T]{Stamp: e.Stamp, Row: *e.Row()}
	if e.After != nil {
		out.Before = e.Before
	}
	return out
}

// Facts collects what events say.
type Facts[T any] []Fact[T]

// Hear adds to facts what each event of type E says.
func Hear[E event.Event, T any](b *event.Bus, facts *Facts[T], read func(E) Fact[T]) {
	event.On(b, "test", func(_ context.Context, e E) error {
		*facts = append(*facts, read(e))
		return nil
	})
}

// Step is one change of a row.
type Step struct {
	name   string
	change func() error
	events int
}

// Do is a change that publishes a number of events.
func Do(name string, change func() error, events int) Step { return Step{name, change, events} }

// CheckFacts makes the changes in order. It compares the events of each with what find reads
// before and after; find gives nil where there is no row. The events say that by changed it.
func CheckFacts[T any](t *testing.T, facts *Facts[T], by authz.Actor, find func() *T, steps []Step, options ...cmp.Option) {
	t.Helper()
	now := find()
	for _, step := range steps {
		*facts = nil
		before := now
		if err := step.change(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if now = find(); len(*facts) != step.events {
			t.Errorf("%s: %d events, want %d", step.name, len(*facts), step.events)
		}
		for _, fact := range *facts {
			want, wantBefore := now, before
			if now == nil {
				want, wantBefore = before, nil
			}
			if diff := cmp.Diff(want, &fact.Row, options...); diff != "" {
				t.Errorf("%s: row (-found +published):\n%s", step.name, diff)
			}
			if diff := cmp.Diff(wantBefore, fact.Before, options...); diff != "" {
				t.Errorf("%s: before (-found +published):\n%s", step.name, diff)
			}
			if fact.By.UserID != by.UserID || fact.At.IsZero() {
				t.Errorf("%s: by %d at %s, want %d", step.name, fact.By.UserID, fact.At, by.UserID)
			}
		}
	}
}
