// Package attribute holds the values that administrators attach to users, groups and
// projects under keys of their own.
package attribute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Kind is what an attribute belongs to.
type Kind string

// The kinds, named like their tables.
const (
	User    Kind = "user"
	Group   Kind = "group"
	Project Kind = "project"
)

// Owner is the user, group or project of attributes.
type Owner struct {
	Kind Kind
	ID   int64
}

// Attribute is one value.
type Attribute struct {
	OwnerID int64  `db:"owner_id"`
	Key     string `db:"attribute_key"`
	Value   string `db:"value"`
}

// maxText bounds keys and values, in characters.
const maxText = 255

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Now    func() time.Time
}

// Service reads and changes attributes.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

func (k Kind) table() string { return string(k) + "_attributes" }

// List returns the attributes of an owner by key. Whether the owner exists is the
// caller's to look up.
func (s *Service) List(ctx context.Context, as authz.Actor, o Owner) ([]Attribute, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadAttributes, authz.Subject{}); err != nil {
		return nil, err
	}
	all, err := s.ByOwners(ctx, o.Kind, []int64{o.ID})
	return all[o.ID], err
}

// Find returns one attribute of an owner.
func (s *Service) Find(ctx context.Context, as authz.Actor, o Owner, key string) (Attribute, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadAttributes, authz.Subject{}); err != nil {
		return Attribute{}, err
	}
	a, err := db.Get[Attribute](ctx, s.DB, "SELECT owner_id, attribute_key, value FROM "+o.Kind.table()+
		" WHERE owner_id = ? AND attribute_key = ?", o.ID, key)
	if errors.Is(err, db.ErrNotFound) {
		return Attribute{}, errs.Missing("CustomAttribute")
	}
	if err != nil {
		return Attribute{}, fmt.Errorf("find attribute: %w", err)
	}
	return a, nil
}

// Set gives an owner an attribute, in place of one with the same key.
func (s *Service) Set(ctx context.Context, as authz.Actor, o Owner, key, value string) (Attribute, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminAttributes, authz.Subject{}); err != nil {
		return Attribute{}, err
	}
	var f errs.Fields
	f.Check(strings.TrimSpace(value) != "", "value", "can't be blank")
	f.Check(len([]rune(key)) <= maxText, "key", "is too long (maximum is 255 characters)")
	f.Check(len([]rune(value)) <= maxText, "value", "is too long (maximum is 255 characters)")
	if err := f.Err(); err != nil {
		return Attribute{}, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		// The row may not be there yet, so that no other function of db locks it.
		err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM "+o.Kind.table()+" WHERE owner_id = ? AND attribute_key = ?", o.ID, key)
		if err != nil {
			return err
		}
		now := db.At(s.Now())
		_, err = db.InsertRow(ctx, s.DB, o.Kind.table(), attributeRow{o.ID, key, value, now, now},
			"ON CONFLICT (owner_id, attribute_key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at")
		return err
	})
	if err != nil {
		return Attribute{}, fmt.Errorf("set attribute: %w", err)
	}
	return Attribute{OwnerID: o.ID, Key: key, Value: value}, nil
}

// Delete takes an attribute from an owner.
func (s *Service) Delete(ctx context.Context, as authz.Actor, o Owner, key string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminAttributes, authz.Subject{}); err != nil {
		return err
	}
	row := db.Row{Table: o.Kind.table(), Key: "owner_id", ID: o.ID, If: as.UnmodifiedAt, Missing: errs.Missing("CustomAttribute")}
	row.And.And("attribute_key = ?", key)
	_, err := db.Delete[attributeRow](ctx, s.DB, row, nil)
	return errs.Wrap(err, "delete attribute")
}

type attributeRow struct {
	OwnerID   int64   `db:"owner_id"`
	Key       string  `db:"attribute_key"`
	Value     string  `db:"value"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// ByOwners returns the attributes of several owners by key. It asks for no permission:
// only administrators may be shown them.
func (s *Service) ByOwners(ctx context.Context, kind Kind, ids []int64) (map[int64][]Attribute, error) {
	out := make(map[int64][]Attribute, len(ids))
	for _, id := range ids {
		out[id] = []Attribute{}
	}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("owner_id", ids)
	rows, err := db.Select[Attribute](ctx, s.DB, "SELECT owner_id, attribute_key, value FROM "+kind.table()+w.SQL()+
		" ORDER BY owner_id, attribute_key", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("attributes by owner: %w", err)
	}
	for _, a := range rows {
		out[a.OwnerID] = append(out[a.OwnerID], a)
	}
	return out, nil
}

// Having adds the condition that the owner whose id the SQL id gives has all of the
// attributes. Those who may not read attributes cannot filter by them.
func Having(w *db.Where, as authz.Actor, kind Kind, id string, wanted map[string]string) {
	if !as.Admin {
		return
	}
	keys := slices.Sorted(maps.Keys(wanted))
	if len(keys) == 0 {
		return
	}
	pairs, args := "", []any{}
	for _, key := range keys {
		pairs, args = pairs+", (?, ?)", append(args, key, wanted[key])
	}
	w.And(id+" IN (SELECT owner_id FROM "+kind.table()+" WHERE (attribute_key, value) IN (VALUES "+pairs[2:]+
		") GROUP BY owner_id HAVING COUNT(*) = ?)", append(args, len(keys))...)
}
