package core

import (
	"context"
	"errors"
	"net/url"
	"reflect"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/noteable"
	"tenon/internal/core/weburl"
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

	// LostSettler ends what a lost connection to the database interrupted, as Settle would within the hour. It is asked each minute, costs
	// one statement where there is nothing, and leaves alone what still runs.
	LostSettler interface {
		SettleLost(ctx context.Context) error
	}

	// Checker compares what is kept twice, and describes what differs; at most 100 problems of each
	// kind. It is for the operator of the server, and asks for no permission.
	Checker interface {
		Check(ctx context.Context) ([]string, error)
	}

	// Cleaner deletes rows whose target was deleted.
	Cleaner interface {
		Clean(ctx context.Context) error
	}

	// Indexed has texts that lists search, to be indexed. It is asked without any dependency, too.
	Indexed interface{ Indexed() db.Trigrams }

	// Starter works beside requests between Start and Stop. Stop writes down what is left.
	Starter interface {
		Start()
		Stop(ctx context.Context) error
	}
)

// parts returns the services that implement an interface: in the order of the fields of Services, then
// those of subjects.
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
	for _, service := range s.subjects {
		if part, ok := service.(I); ok {
			out = append(out, part)
		}
	}
	return out
}

// Subscribe registers every reaction, those to one event in the order of the services.
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

// SettleLost ends what a lost connection to the database interrupted. One service that fails does not hold up the others.
func (s *Services) SettleLost(ctx context.Context) error {
	var failures []error
	for _, p := range parts[LostSettler](s) {
		failures = append(failures, p.SettleLost(ctx))
	}
	return errors.Join(failures...)
}

// Check describes what is wrong in the rows of all services.
func (s *Services) Check(ctx context.Context) ([]string, error) {
	out := []string{}
	for _, p := range parts[Checker](s) {
		found, err := p.Check(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Clean has every service delete rows whose target was deleted.
func (s *Services) Clean(ctx context.Context) error {
	for _, p := range parts[Cleaner](s) {
		if err := p.Clean(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Texts are all texts that lists search.
func (s *Services) Texts() []db.Trigrams {
	var out []db.Trigrams
	for _, p := range parts[Indexed](s) {
		out = append(out, p.Indexed())
	}
	return out
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

// Described returns services that know what there is and answer no calls: for documents that are
// made without a database.
func Described(more ...Subject) *Services {
	s := &Services{Kinds: &noteable.Kinds{}, URLs: weburl.New(&url.URL{}, "")}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if field := v.Field(i); field.CanSet() && field.Kind() == reflect.Pointer && field.IsNil() {
			field.Set(reflect.New(field.Type().Elem()))
		}
	}
	for _, of := range parts[noteable.Provider](s) {
		s.Kinds.Add(of)
	}
	s.add(&Build{Services: s, check: &check{}}, more)
	return s
}
