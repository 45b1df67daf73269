package integration

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/integration/kind"
)

// The codes of refusals.
const (
	CodeInvalid     errs.Code = "integration_invalid"     // settings break a rule
	CodeUnavailable errs.Code = "integration_unavailable" // the kind cannot be set up
)

// Input is what a request sets.
type Input struct {
	Settings kind.Values     // nil removes a value; what is absent stays
	Flags    map[string]bool // by name; what is absent stays
	Inherit  bool            // have the settings of the nearest group above that has any, in place of these
}

// Set sets up an integration of a place with a kind, one of the catalogue, and activates it. Settings that break a rule are an error with CodeInvalid.
func (s *Service) Set(ctx context.Context, as authz.Actor, at authz.Place, slug string, in Input) (*Integration, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminIntegrations, at.Subject); err != nil {
		return nil, err
	}
	k := kind.Find(slug)
	switch {
	case k == nil, !s.Settings.Current().AllowsIntegration(slug):
		return nil, missing()
	case k.App:
		return nil, errs.New(errs.Unprocessable, "You cannot create the "+k.Title+" integration from the API")
	case k.ProjectsOnly && at.Group:
		return nil, errs.Coded(errs.Invalid, CodeUnavailable, k.Title+" is not available for groups")
	case k.Unavailable != "":
		return nil, errs.Coded(errs.Invalid, CodeUnavailable, k.Unavailable)
	}
	var out *Integration
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		before, err := s.lock(ctx, at, slug)
		if err != nil {
			return err
		}
		switch {
		case in.Inherit:
			out, err = s.inheritNow(ctx, as, at, k, before)
		case before == nil:
			out, err = s.create(ctx, as, at, k, in)
		default:
			out, err = s.update(ctx, as, at, before, in)
		}
		if err != nil {
			return err
		}
		return s.spread(ctx, at)
	})
	if err != nil {
		return nil, errs.Wrap(err, "set up integration")
	}
	return out, nil
}

// lock makes changes of the integrations of a place wait for each other.
func (s *Service) lock(ctx context.Context, at authz.Place, slug string) (*Integration, error) {
	if err := s.lockPlace(ctx, at); err != nil {
		return nil, err
	}
	return s.find(ctx, at, slug)
}

func (s *Service) lockPlace(ctx context.Context, at authz.Place) error {
	return s.DB.Lock(ctx, fmt.Sprintf("integrations of %d", at.Namespace))
}

// inheritNow is follow for a request.
func (s *Service) inheritNow(ctx context.Context, as authz.Actor, at authz.Place, k *kind.Kind, before *Integration) (*Integration, error) {
	out, err := s.follow(ctx, at, k, before)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return out, s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, out)})
	}
	return out, s.Bus.Publish(ctx, Updated{change.Between(as, s.Now(), at, before, out)})
}

func (s *Service) create(ctx context.Context, as authz.Actor, at authz.Place, k *kind.Kind, in Input) (*Integration, error) {
	now := db.At(s.Now())
	i := &Integration{Slug: k.Slug, Kind: k, Active: true, Flags: kind.DefaultFlags(), CreatedAt: now, UpdatedAt: now}
	if !at.IsInstance() {
		i.NamespaceID = &at.Namespace
	}
	all, err := s.prepare(ctx, at, k, k.Defaults(), in)
	if err != nil {
		return nil, err
	}
	i.flag(in.Flags)
	if err := s.store(at, i, all); err != nil {
		return nil, err
	}
	if err := db.Create(ctx, s.DB, "integrations", i); err != nil {
		return nil, err
	}
	return i, s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, i)})
}

func (s *Service) update(ctx context.Context, as authz.Actor, at authz.Place, before *Integration, in Input) (*Integration, error) {
	all, err := s.all(at, before)
	if err != nil {
		return nil, err
	}
	if !before.Active {
		all = before.Kind.Defaults()
	}
	if all, err = s.prepare(ctx, at, before.Kind, all, in); err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, s.row(as, before.ID), func(_ context.Context, i *Integration) error {
		sealed := i.Sealed
		i.Kind, i.Active, i.InheritedID = before.Kind, true, nil
		i.flag(in.Flags)
		if err := s.store(at, i, all); err != nil {
			return err
		}
		same, err := s.sameSecrets(at, before, i)
		if same {
			i.Sealed = sealed // sealing the same again gives another text
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !out.Any() {
		return &out.After, nil
	}
	return &out.After, s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
}

func (s *Service) sameSecrets(at authz.Place, a, b *Integration) (bool, error) {
	was, err := s.secrets(at, a)
	if err != nil {
		return false, err
	}
	is, err := s.secrets(at, b)
	return (a.Sealed == nil) == (b.Sealed == nil) && reflect.DeepEqual(was, is), err
}

func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "integrations", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: missing()}
}

// flag sets the flags that a request sends and the kind takes.
func (i *Integration) flag(sent map[string]bool) {
	for name, on := range sent {
		if i.Kind.Takes(name) {
			i.Flags.Set(name, on)
		}
	}
}

// prepare puts what a request sets over settings, checks them, and has the project link to them. Rows of projects are locked before
// those of integrations, as when a project is deleted.
func (s *Service) prepare(ctx context.Context, at authz.Place, k *kind.Kind, all kind.Values, in Input) (kind.Values, error) {
	all = k.Merge(all, in.Settings)
	if err := s.validate(ctx, at, k, all); err != nil {
		return nil, err
	}
	return all, s.link(ctx, at, k, all)
}

func (s *Service) validate(ctx context.Context, at authz.Place, k *kind.Kind, all kind.Values) error {
	var f errs.Fields
	k.Validate(all, &f)
	for _, setting := range k.Settings {
		address := all.Text(setting.Name)
		if !setting.URL || address == "" {
			continue
		}
		u, err := s.Outbound.CheckURL(address)
		blocked, ok := errors.AsType[*safehttp.BlockedError](err)
		switch {
		case ok:
			f.Add(setting.Name, blocked.Error())
		case err != nil:
			return fmt.Errorf("check %s: %w", setting.Name, err)
		case u.User != nil && !setting.Sealed():
			f.Add(setting.Name, "must not contain a user name or password") // it is answered
		}
	}
	if k.Class.Exclusive() {
		if err := s.alone(ctx, at, k, &f); err != nil {
			return err
		}
	}
	if len(f) > 0 {
		return &errs.Error{Kind: errs.Invalid, Code: CodeInvalid, Fields: f}
	}
	return nil
}

// alone refuses a second active integration of an exclusive class.
func (s *Service) alone(ctx context.Context, at authz.Place, k *kind.Kind, f *errs.Fields) error {
	found, err := s.others(ctx, at, k, func(other *kind.Kind) bool { return other.Class == k.Class })
	if err != nil || !found {
		return err
	}
	if k.Class == kind.Tracker {
		f.Add("base", "Another issue tracker is already in use. Only one issue tracker service can be active at a time")
	} else {
		f.Add("base", "Another third-party wiki is already in use. Only one third-party wiki integration can be active at a time")
	}
	return nil
}

// others reports whether a place has an active integration of another kind like that.
func (s *Service) others(ctx context.Context, at authz.Place, k *kind.Kind, like func(other *kind.Kind) bool) (bool, error) {
	var slugs []string
	for _, other := range kind.All() {
		if other != k && like(other) {
			slugs = append(slugs, other.Slug)
		}
	}
	var w db.Where
	within(&w, at)
	w.And("i.active")
	w.In("i.kind", slugs)
	found, err := db.Select[ID](ctx, s.DB, "SELECT i.id FROM integrations i"+w.SQL()+" ORDER BY i.id LIMIT 1", w.Args()...)
	if err != nil {
		return false, fmt.Errorf("find another integration: %w", err)
	}
	return len(found) > 0, nil
}

// Disable disables an integration of a place and resets its settings. One that was never set up stays so.
func (s *Service) Disable(ctx context.Context, as authz.Actor, at authz.Place, slug string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminIntegrations, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		before, err := s.lock(ctx, at, slug)
		if err != nil || before == nil {
			return err
		}
		if err := s.link(ctx, at, before.Kind, nil); err != nil {
			return err
		}
		out, err := db.Update(ctx, s.DB, s.row(as, before.ID), func(_ context.Context, i *Integration) error {
			i.Kind, i.Active, i.InheritedID, i.Flags = before.Kind, false, nil, kind.DefaultFlags()
			return s.store(at, i, kind.Values{})
		})
		if err != nil || !out.Any() {
			return err
		}
		if err := s.Bus.Publish(ctx, Disabled{change.Updated(as, s.Now(), at, &out)}); err != nil {
			return err
		}
		return s.spread(ctx, at)
	})
	return errs.Wrap(err, "disable integration")
}
