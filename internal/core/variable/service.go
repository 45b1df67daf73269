package variable

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// columns are those of a variable, alias v.
var columns = db.Columns[Variable]("v")

// Input is what a variable is made of.
type Input struct {
	Key         string
	Value       string
	Type        Type // "" is EnvVar
	Description *string
	Scope       string // "" is AnyScope; of the instance always so
	Protected   bool
	Masked      bool
	Hidden      bool // and masked, for good
	Raw         bool
}

// Changes are the attributes of a variable that a call sets; nil leaves one alone.
type Changes struct {
	Value       *string
	Type        *Type
	Description *string
	Scope       *string
	Protected   *bool
	Masked      *bool
	Raw         *bool
}

// Filter selects from the variables of a place that have one key.
type Filter struct {
	Scope *string // nil is any
}

// within selects the variables of a place.
func within(w *db.Where, at authz.Place) {
	if at.IsInstance() {
		w.Raw("v.namespace_id IS NULL")
		return
	}
	w.And("v.namespace_id = ?", at.Namespace)
}

// ListFilter says which part of a list of variables is wanted, and in which order.
type ListFilter struct {
	OrderBy string // key; "" is by id
	Desc    bool
	page.Range
}

var orders = page.Orders{
	"":    {page.ID("v.id")},
	"key": {page.Text("key", "v.name"), page.ID("v.id")},
}

func (f *ListFilter) order() page.Order {
	if f.Desc {
		return orders.By(f.OrderBy).Desc()
	}
	return orders.By(f.OrderBy)
}

// List returns the variables of a place.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f ListFilter) (page.Page[Variable], error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return page.Page[Variable]{}, err
	}
	var w db.Where
	within(&w, at)
	list, err := page.Select[Variable](ctx, s.DB, page.Query{Columns: columns, From: "ci_variables v", Where: w, Order: f.order()}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list variables: %w", err)
	}
	for i := range list.Items {
		s.shown(&list.Items[i])
	}
	return list, nil
}

// Find returns the variable of a place with a key. Where several environments have one of their
// own and the filter names none, that is a Conflict.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, key string, f Filter) (*Variable, error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return nil, err
	}
	v, err := s.find(ctx, at, key, f)
	if err != nil {
		return nil, err
	}
	s.shown(v)
	return v, nil
}

// CodeAmbiguous is the error of a key that several variables have, each for another environment
// scope.
const CodeAmbiguous errs.Code = "variable_ambiguous"

func (s *Service) find(ctx context.Context, at authz.Place, key string, f Filter) (*Variable, error) {
	var w db.Where
	within(&w, at)
	w.And("v.name = ?", key)
	if f.Scope != nil && !at.IsInstance() {
		w.And("v.environment_scope = ?", *f.Scope)
	}
	rows, err := db.Select[Variable](ctx, s.DB, "SELECT "+columns+" FROM ci_variables v"+w.SQL()+" ORDER BY v.id LIMIT 2", w.Args()...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find variable: %w", err)
	case len(rows) == 0:
		return nil, errs.Missing(thing(at))
	case len(rows) > 1:
		return nil, errs.Coded(errs.Conflict, CodeAmbiguous, "there are several variables with this key: name the environment scope")
	}
	return &rows[0], nil
}

func (s *Service) fact(as authz.Actor, at authz.Place, before, after *Variable) Fact {
	return Fact{change.Between(as, s.Now(), at, unvalued(before), unvalued(after))}
}

func taken(key string) error {
	var f errs.Fields
	f.Add("key", "("+key+") has already been taken")
	return f.Err()
}

// Create adds a variable to a place.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Variable, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	v := Variable{
		Type: in.Type, Key: in.Key, Description: in.Description, Scope: in.Scope,
		Protected: in.Protected, Masked: in.Masked || in.Hidden, Hidden: in.Hidden, Raw: in.Raw, CreatedAt: now, UpdatedAt: now,
	}
	if !at.IsInstance() {
		v.NamespaceID = &at.Namespace
	}
	if v.Type == "" {
		v.Type = EnvVar
	}
	if v.Scope == "" || at.IsInstance() {
		v.Scope = AnyScope
	}
	if err := v.check(at, in.Value); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		v.Sealed = "" // the seal names the row
		if err := db.Create(ctx, s.DB, "ci_variables", &v, bound(at)); err != nil {
			return err
		}
		s.seal(&v, in.Value)
		if _, err := s.DB.Exec(ctx, "UPDATE ci_variables SET sealed = ? WHERE id = ?", v.Sealed, v.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{s.fact(as, at, nil, &v)})
	})
	if db.Duplicate(err, "ci_variables") {
		return nil, taken(v.Key)
	}
	if err != nil {
		return nil, errs.Wrap(err, "create variable")
	}
	s.shown(&v)
	return &v, nil
}

// bound is how many variables a place has at most.
func bound(at authz.Place) db.Bound {
	n, noun := most(at)
	b := db.Bound{Table: "ci_variables v", Most: n, Full: errs.Broken("", "base", fmt.Sprintf("Maximum number of %s (%d) exceeded", noun, n))}
	within(&b.Of, at)
	return b
}

// Update changes the variable of a place that Find would give. One that is hidden stays hidden
// and masked.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, key string, f Filter, c Changes) (*Variable, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	found, err := s.find(ctx, at, key, f)
	if err != nil {
		return nil, err
	}
	var out db.Change[Variable]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		changed := false
		out, err = db.Update(ctx, s.DB, db.Row{Table: "ci_variables", ID: found.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing(thing(at))}, func(_ context.Context, v *Variable) error {
			changed, err = s.change(at, v, c)
			return err
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{Fact: s.fact(as, at, &out.Before, &out.After), ValueChanged: changed})
	})
	switch {
	case db.Duplicate(err, "ci_variables"):
		return nil, taken(key)
	case err != nil:
		return nil, errs.Wrap(err, "update variable")
	}
	s.shown(&out.After)
	return &out.After, nil
}

// change applies changes to a row and reports whether the value is another one.
func (s *Service) change(at authz.Place, v *Variable, c Changes) (bool, error) {
	was, err := s.open(v)
	lost := err != nil
	if lost && c.Value == nil {
		return false, err
	}
	value := was
	if c.Value != nil {
		value = *c.Value
	}
	if v.Hidden && c.Masked != nil && !*c.Masked {
		var f errs.Fields
		f.Add("base", "Updating masked attribute on a hidden variable is not allowed.")
		return false, f.Err()
	}
	if c.Type != nil {
		v.Type = *c.Type
	}
	if c.Description != nil {
		v.Description = c.Description
	}
	if c.Scope != nil && !at.IsInstance() {
		v.Scope = *c.Scope
	}
	for to, from := range map[*bool]*bool{&v.Protected: c.Protected, &v.Masked: c.Masked, &v.Raw: c.Raw} {
		if from != nil {
			*to = *from
		}
	}
	changed := lost || value != was
	if changed {
		s.seal(v, value)
	}
	return changed, v.check(at, value)
}

// Delete removes the variable of a place that Find would give.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, key string, f Filter) error {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return err
	}
	v, err := s.find(ctx, at, key, f)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Variable](ctx, s.DB, db.Row{Table: "ci_variables", ID: v.ID, If: as.UnmodifiedAt, Missing: errs.Missing(thing(at))}, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{s.fact(as, at, &was, nil)})
	})
	return errs.Wrap(err, "delete variable")
}
