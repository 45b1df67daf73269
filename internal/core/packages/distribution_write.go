package packages

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Text is what a call sets of a text that may be absent: the zero value leaves it alone, a nil Value clears it.
type Text struct {
	Set   bool
	Value *string
}

// DistributionChanges are the attributes of a distribution that a call sets.
type DistributionChanges struct {
	Suite, Origin, Label, Version, Description Text

	ValidTime    *int64
	NoValidTime  bool     // clears it
	Components   []string // nil leaves them alone, none are the default
	Architecture []string // likewise
}

// syntax returns the error of what does not match the syntax of its attribute.
func (c *DistributionChanges) syntax(codename string) error {
	var wrong []string
	check := func(name string, ok bool) {
		if !ok {
			wrong = append(wrong, name)
		}
	}
	named := func(t Text) bool { return t.Value == nil || distributionName().MatchString(*t.Value) }
	check("codename", distributionName().MatchString(codename))
	check("suite", named(c.Suite))
	check("origin", named(c.Origin))
	check("label", named(c.Label))
	check("version", c.Version.Value == nil || debianVersion().MatchString(*c.Version.Value))
	check("components", !slices.ContainsFunc(c.Components, func(n string) bool { return !distributionName().MatchString(n) }))
	check("architectures", !slices.ContainsFunc(c.Architecture, func(n string) bool { return !architectureName().MatchString(n) }))
	return invalid(wrong)
}

func (c *DistributionChanges) apply(d *Distribution) {
	for to, from := range map[**string]Text{&d.Suite: c.Suite, &d.Origin: c.Origin, &d.Label: c.Label, &d.Version: c.Version, &d.Description: c.Description} {
		if from.Set {
			*to = from.Value
		}
	}
	switch {
	case c.ValidTime != nil:
		d.ValidTime = c.ValidTime
	case c.NoValidTime:
		d.ValidTime = nil
	}
	if c.Components != nil {
		d.Components = sorted(c.Components, defaultComponent)
	}
	if c.Architecture != nil {
		d.Architectures = sorted(append(slices.Clone(c.Architecture), orDefault(c.Architecture)...), allArchitectures)
	}
}

// orDefault is what is added to chosen architectures.
func orDefault(chosen []string) []string {
	if len(chosen) == 0 {
		return []string{allArchitectures, defaultArchitecture}
	}
	return []string{allArchitectures}
}

func (d *Distribution) check(f *errs.Fields) {
	f.Length("codename", &d.Codename, maxText)
	f.Length("suite", d.Suite, maxText)
	f.Length("origin", d.Origin, maxText)
	f.Length("label", d.Label, maxText)
	f.Length("version", d.Version, maxText)
	f.Length("description", d.Description, maxText)
	f.Range("valid_time_duration_seconds", d.ValidTime, minValidTime, maxValidTime)
	for name, list := range map[string][]string{"components": d.Components, "architectures": d.Architectures} {
		f.Check(len(list) <= maxParts+1, name, fmt.Sprintf("are too many (maximum is %d)", maxParts))
		long := slices.ContainsFunc(list, func(n string) bool { return len(n) > maxText })
		f.Check(!long, name, fmt.Sprintf("is too long (maximum is %d characters)", maxText))
	}
}

// taken records which name of a distribution another one of its place has.
func (s *Service) taken(ctx context.Context, d *Distribution, f *errs.Fields) error {
	var w db.Where
	w.And("d.namespace_id = ?", d.NamespaceID)
	w.And("d.id <> ?", d.ID)
	w.In("n.name", d.names())
	others, err := db.Select[Distribution](ctx, s.DB, "SELECT DISTINCT "+distributionColumns+" FROM debian_distributions d JOIN debian_distribution_names n ON n.distribution_id = d.id"+
		w.SQL()+" ORDER BY d.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("look for names of distributions: %w", err)
	}
	for i := range others {
		o := &others[i]
		suite := func(name string) bool { return o.Suite != nil && *o.Suite == name }
		f.Check(o.Codename != d.Codename, "codename", "has already been taken")
		f.Check(!suite(d.Codename), "codename", "has already been taken as Suite")
		if d.Suite != nil {
			f.Check(!suite(*d.Suite), "suite", "has already been taken")
			f.Check(o.Codename != *d.Suite, "suite", "has already been taken as Codename")
		}
	}
	return nil
}

// names are what clients call a distribution by.
func (d *Distribution) names() []string {
	out := []string{d.Codename}
	if d.Suite != nil && *d.Suite != d.Codename {
		out = append(out, *d.Suite)
	}
	return out
}

// valid returns what is wrong with a distribution.
func (s *Service) valid(ctx context.Context, d *Distribution) error {
	var f errs.Fields
	d.check(&f)
	if err := s.taken(ctx, d, &f); err != nil {
		return err
	}
	return f.Err()
}

// keepNames writes the names of a distribution.
func (s *Service) keepNames(ctx context.Context, d *Distribution) error {
	type row struct {
		ID           int64             `db:"id"`
		NamespaceID  authz.NamespaceID `db:"namespace_id"`
		Distribution DistributionID    `db:"distribution_id"`
		Name         string            `db:"name"`
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "debian_distribution_names", Key: "distribution_id", ID: d.ID}); err != nil {
		return fmt.Errorf("delete names of distribution: %w", err)
	}
	for _, name := range d.names() {
		if err := db.Create(ctx, s.DB, "debian_distribution_names", &row{NamespaceID: d.NamespaceID, Distribution: d.ID, Name: name}); err != nil {
			return fmt.Errorf("write names of distribution: %w", err)
		}
	}
	return nil
}

// nameTaken is the error of a name that another call took at the same time.
func nameTaken(err error) error {
	switch {
	case db.Duplicate(err, "debian_distributions"):
		return errs.Broken("", "codename", "has already been taken")
	case db.Duplicate(err, "debian_distribution_names"):
		return errs.Broken("", "suite", "has already been taken")
	}
	return err
}

// CreateDistribution makes a distribution of a project or group. A job makes the key that signs it.
func (s *Service) CreateDistribution(ctx context.Context, as authz.Actor, at authz.Place, codename string, c DistributionChanges) (*Distribution, error) {
	if err := s.writeDistributions(ctx, as, at); err != nil {
		return nil, err
	}
	if err := c.syntax(codename); err != nil {
		return nil, err
	}
	if c.Components == nil {
		c.Components = []string{}
	}
	if c.Architecture == nil {
		c.Architecture = []string{}
	}
	now := db.At(s.Now())
	d := &Distribution{NamespaceID: at.Namespace, Codename: codename, CreatedAt: now, UpdatedAt: now}
	c.apply(d)
	full := errs.Broken("", "base", fmt.Sprintf("Maximum number of distributions (%d) exceeded", maxDistributions))
	bound := db.Bound{Table: "debian_distributions", Most: maxDistributions, Full: full}
	bound.Of.And("namespace_id = ?", at.Namespace)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		d.ID = 0
		if err := s.valid(ctx, d); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "debian_distributions", d, bound); err != nil {
			return err
		}
		if err := s.keepNames(ctx, d); err != nil {
			return err
		}
		if err := s.Jobs.Enqueue(ctx, makeKey{d.ID}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, DistributionCreated{change.Created(as, s.Now(), at, d)})
	})
	if err != nil {
		return nil, errs.Wrap(nameTaken(err), "create distribution")
	}
	return d, nil
}

// writeDistributions requires the right to create and change the distributions of a project or group.
func (s *Service) writeDistributions(ctx context.Context, as authz.Actor, at authz.Place) error {
	if err := s.on(); err != nil {
		return err
	}
	return s.Require(ctx, as, at.Ability(authz.CreatePackage, authz.CreateGroupPackage), at)
}

// UpdateDistribution changes the distribution with a codename.
func (s *Service) UpdateDistribution(ctx context.Context, as authz.Actor, at authz.Place, codename string, c DistributionChanges) (*Distribution, error) {
	if err := s.writeDistributions(ctx, as, at); err != nil {
		return nil, err
	}
	known, err := s.distribution(ctx, at, codename)
	if err != nil {
		return nil, err
	}
	if err := c.syntax(known.Codename); err != nil {
		return nil, err
	}
	row := s.row(as, at, known.ID)
	row.Now = s.Now
	var out db.Change[Distribution]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, row, func(ctx context.Context, d *Distribution) error {
			c.apply(d)
			return s.valid(ctx, d)
		})
		if err != nil || !out.Any() {
			return err
		}
		if out.Has("suite") {
			if err := s.keepNames(ctx, &out.After); err != nil {
				return err
			}
		}
		if err := s.republish(ctx, known.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, DistributionUpdated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(nameTaken(err), "update distribution")
	}
	return &out.After, nil
}

// DeleteDistribution deletes the distribution with a codename, its key as well.
func (s *Service) DeleteDistribution(ctx context.Context, as authz.Actor, at authz.Place, codename string) error {
	if err := s.on(); err != nil {
		return err
	}
	if err := s.Require(ctx, as, at.Ability(authz.DestroyPackage, authz.DestroyGroupPackage), at); err != nil {
		return err
	}
	known, err := s.distribution(ctx, at, codename)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Distribution](ctx, s.DB, s.row(as, at, known.ID), nil)
		if err != nil {
			return err
		}
		if !at.Group {
			if err := s.republishAbove(ctx, &was); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, DistributionDeleted{change.Deleted(as, s.Now(), at, &was)})
	})
	return errs.Wrap(err, "delete distribution")
}

func (s *Service) row(as authz.Actor, at authz.Place, id DistributionID) db.Row {
	r := db.Row{Table: "debian_distributions", ID: id, If: as.UnmodifiedAt, Missing: errNoDistribution}
	r.And.And("namespace_id = ?", at.Namespace)
	return r
}
