package core

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/noteable"
)

// The start of the server asks each service for these interfaces; one that has none of them
// only answers calls.
type (
	// Subscriber reacts to events. A handler writes rows in the transaction of the event; what
	// leaves the process is a job that it enqueues there.
	Subscriber interface{ Subscribe(b *event.Bus) }

	// Worker does jobs.
	Worker interface{ RegisterJobs(r *job.Registry) }

	// Opener reads what it keeps in memory, before the first request and the first job.
	Opener interface {
		Open(ctx context.Context) error
	}

	// Settler ends what a crash interrupted: all of it at the start, before anybody is served;
	// later what began before a time. Doing it twice is harmless.
	Settler interface {
		Settle(ctx context.Context, before db.Time) error
	}

	// Starter works beside requests between Start and Stop. Stop writes down what is left.
	Starter interface {
		Start()
		Stop(ctx context.Context) error
	}
)

// parts gives those services that have an interface, in the order of the fields of Services.
func parts[I any](s *Services) []I {
	var out []I
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		if part, ok := v.Field(i).Interface().(I); ok && !v.Field(i).IsZero() {
			out = append(out, part)
		}
	}
	return out
}

// Subscribe registers every reaction, those to one event in the order of the fields of
// Services.
func (s *Services) Subscribe(b *event.Bus) {
	for _, p := range parts[Subscriber](s) {
		p.Subscribe(b)
	}
}

// RegisterJobs says how every kind of job is done.
func (s *Services) RegisterJobs(r *job.Registry) {
	for _, p := range parts[Worker](s) {
		p.RegisterJobs(r)
	}
}

// Open has every service read what it keeps in memory.
func (s *Services) Open(ctx context.Context) error {
	for _, p := range parts[Opener](s) {
		if err := p.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Settle ends what a crash interrupted before a time.
func (s *Services) Settle(ctx context.Context, before db.Time) error {
	for _, p := range parts[Settler](s) {
		if err := p.Settle(ctx, before); err != nil {
			return err
		}
	}
	return nil
}

// Start begins what works beside requests.
func (s *Services) Start() {
	for _, p := range parts[Starter](s) {
		p.Start()
	}
}

// Stop ends what Start began, what was started last first.
func (s *Services) Stop(ctx context.Context) error {
	var failures []error
	for _, p := range slices.Backward(parts[Starter](s)) {
		failures = append(failures, p.Stop(ctx))
	}
	return errors.Join(failures...)
}

// Described gives services that know what there is and answer no calls: for documents that are
// made without a database.
func Described() *Services {
	s := &Services{Kinds: &noteable.Kinds{}}
	t := reflect.TypeFor[Services]()
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() && field.Type.Kind() == reflect.Pointer && field.Type.Implements(reflect.TypeFor[noteable.Things]()) {
			s.Kinds.Add(reflect.New(field.Type.Elem()).Interface().(noteable.Things))
		}
	}
	return s
}
