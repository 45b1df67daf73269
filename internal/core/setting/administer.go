package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
)

// Deps is what a Service is made of.
type Deps struct {
	Store  *Store
	Policy *authz.Policy
	Bus    *event.Bus
}

// Service lets administrators read and change the settings.
type Service struct {
	store  *Store
	policy *authz.Policy
	bus    *event.Bus
}

// NewService builds the service.
func NewService(d Deps) *Service {
	return &Service{
		store: d.Store, policy: d.Policy, bus: d.Bus,
	}
}

// Changed is published for each setting that a call gives another value. From and To
// are values of its type, as the API shows them.
type Changed struct {
	authz.Stamp

	Name     string
	From, To any
}

// Find gives the settings in force. The result is shared: do not change it.
func (s *Service) Find(ctx context.Context, as authz.Actor) (*Settings, error) {
	if err := s.policy.Require(ctx, as, authz.AdminSettings, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.store.Current(), nil
}

// RequireVersion is nil where the actor may learn the version of the instance.
func (s *Service) RequireVersion(ctx context.Context, as authz.Actor) error {
	return s.policy.Require(ctx, as, authz.ReadVersion, authz.Subject{})
}

// ErrNothing is the error of a change that names no setting.
var ErrNothing = errors.New("no setting is named")

// Update gives settings other values by their API names, all of them or, where one is
// refused, none; a nil value stands for null. Names that the public API does not have are
// ignored; those that it has and this server does not store are Invalid. It gives the
// settings as they are then.
func (s *Service) Update(ctx context.Context, as authz.Actor, values map[string]any) (*Settings, error) {
	if err := s.policy.Require(ctx, as, authz.AdminSettings, authz.Subject{}); err != nil {
		return nil, err
	}
	values, err := stored(values)
	if err != nil {
		return nil, err
	}
	store := s.store
	err = store.change(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, store.db, "SELECT updated_at FROM settings"); err != nil {
			return err
		}
		// One call after the other, so that each tells what it found and not what was there
		// before another user's.
		if err := store.db.Lock(ctx, "settings"); err != nil {
			return err
		}
		old, err := store.read(ctx)
		if err != nil {
			return err
		}
		next := *old
		for name, value := range values {
			if err := next.set(name, value); err != nil {
				return err
			}
		}
		if wrong := next.problems(); len(wrong) > 0 {
			return &errs.Error{Kind: errs.Invalid, Fields: wrong}
		}
		for _, c := range old.differences(&next) {
			if err := store.put(ctx, c.Name, c.To); err != nil {
				return err
			}
			c.Stamp = as.Stamp(store.now())
			if err := s.bus.Publish(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("change settings: %w", err)
	}
	return s.store.Current(), nil
}

// messageUnstored refuses a value that would not be obeyed.
const messageUnstored = "is not supported by this server"

// stored gives the values whose settings are stored. Settings that are known and not stored
// are Invalid, by name; without any setting the error is ErrNothing.
func stored(values map[string]any) (map[string]any, error) {
	names := map[string]bool{}
	for f := range reflect.TypeFor[Settings]().Fields() {
		names[f.Tag.Get("setting")] = true
	}
	out := map[string]any{}
	var wrong errs.Fields
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case names[name]:
			out[name] = values[name]
		case unstored()[name]:
			wrong.Add(name, messageUnstored)
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, wrong.Err()
	case len(out) == 0:
		return nil, ErrNothing
	}
	return out, nil
}

// set changes one field by its API name. An unknown name or a value of the wrong type is
// Invalid.
func (s *Settings) set(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode setting %s: %w", name, err)
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("setting") != name {
			continue
		}
		fresh := reflect.New(v.Field(i).Type()) // a list that is shared is not written into
		if err := json.Unmarshal(text, fresh.Interface()); err != nil {
			return errs.Plain(name + " is invalid")
		}
		v.Field(i).Set(fresh.Elem())
		return nil
	}
	return errs.Plain(name + " is not a setting")
}

// differences lists the settings whose values in next are others, in their order.
func (s *Settings) differences(next *Settings) []Changed {
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(next).Elem()
	var all []Changed
	for i := range from.NumField() {
		a, b := from.Field(i).Interface(), to.Field(i).Interface()
		if !reflect.DeepEqual(a, b) {
			all = append(all, Changed{Name: from.Type().Field(i).Tag.Get("setting"), From: a, To: b})
		}
	}
	return all
}
