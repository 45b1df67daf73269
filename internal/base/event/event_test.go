package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/event"
)

type opened struct{ ID int }

func (opened) Happened() time.Time { return time.Time{} }

type closed struct{ ID int }

func (closed) Happened() time.Time { return time.Time{} }

func TestBus_Publish(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var bus event.Bus
	var calls []string
	record := func(name string, err error) func(context.Context, opened) error {
		return func(_ context.Context, e opened) error {
			if e.ID != 7 {
				t.Errorf("%s got event %d, want 7", name, e.ID)
			}
			calls = append(calls, name)
			return err
		}
	}
	event.On(&bus, "first", record("first", nil))
	event.On(&bus, "second", record("second", refused))
	event.On(&bus, "third", record("third", nil))

	err := bus.Publish(t.Context(), opened{7})
	if !errors.Is(err, refused) {
		t.Errorf("got error %v, want the handler's", err)
	}
	if want := "second on event_test.opened: refused"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %q", err, want)
	}
	if want := []string{"first", "second"}; !slices.Equal(calls, want) {
		t.Errorf("got calls %v, want %v: a failure stops the rest", calls, want)
	}
}

func TestBus_Publish_context(t *testing.T) {
	t.Parallel()
	type key struct{}
	var bus event.Bus
	var got any
	event.On(&bus, "reader", func(ctx context.Context, _ closed) error {
		got = ctx.Value(key{})
		return nil
	})
	ctx := context.WithValue(t.Context(), key{}, "transaction")
	if err := bus.Publish(ctx, closed{1}); err != nil {
		t.Fatal(err)
	}
	if got != "transaction" {
		t.Errorf("handler saw %v in its context, want what the caller put there", got)
	}
}

func TestBus_Publish_unheard(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	heard := false
	event.On(&bus, "reader", func(context.Context, closed) error { heard = true; return nil })
	if err := bus.Publish(t.Context(), opened{1}); err != nil {
		t.Errorf("got error %v, want none when nobody reacts", err)
	}
	if err := bus.Publish(t.Context(), &closed{1}); err != nil || heard {
		t.Errorf("a pointer is another type: got error %v, heard %v", err, heard)
	}
}

// counted is an interface of some events.
type counted interface {
	event.Event
	Count() int
}

func (o opened) Count() int { return o.ID }

// TestBus_interface: a handler of an interface gets the events of every type that has its methods,
// in the order of registration.
func TestBus_interface(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	var calls []string
	note := func(name string) func(context.Context, opened) error {
		return func(context.Context, opened) error { calls = append(calls, name); return nil }
	}
	event.On(&bus, "all", func(_ context.Context, e counted) error {
		calls = append(calls, fmt.Sprintf("all %d", e.Count()))
		return nil
	})
	if err := bus.Publish(t.Context(), opened{3}); err != nil {
		t.Fatal(err)
	}
	event.On(&bus, "one", note("one"))
	event.On(&bus, "last", func(context.Context, counted) error { calls = append(calls, "last"); return nil })
	event.On(&bus, "other", func(context.Context, closed) error { calls = append(calls, "other"); return nil })
	for _, e := range []event.Event{opened{7}, closed{8}} {
		if err := bus.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"all 3", "all 7", "one", "last", "other"}; !slices.Equal(calls, want) {
		t.Errorf("got calls %q, want %q", calls, want)
	}
	want := []event.Reaction{
		{Event: "event_test.closed", Handlers: []string{"other"}},
		{Event: "event_test.counted", Handlers: []string{"all"}},
		{Event: "event_test.counted", Handlers: []string{"last"}},
		{Event: "event_test.opened", Handlers: []string{"all", "one", "last"}},
	}
	if diff := cmp.Diff(want, bus.Reactions()); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
}

func TestBus_Reactions(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	event.On(&bus, "todos", func(context.Context, opened) error { return nil })
	event.On(&bus, "audit", func(context.Context, closed) error { return nil })
	event.On(&bus, "webhooks", func(context.Context, opened) error { return nil })
	want := []event.Reaction{
		{Event: "event_test.closed", Handlers: []string{"audit"}},
		{Event: "event_test.opened", Handlers: []string{"todos", "webhooks"}},
	}
	if diff := cmp.Diff(want, bus.Reactions()); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
}
