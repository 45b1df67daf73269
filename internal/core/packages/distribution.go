package packages

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// DistributionID identifies a Debian distribution.
type DistributionID int64

// Distribution is a Debian distribution of a project or a group, such as bookworm.
type Distribution struct {
	ID            DistributionID    `db:"id"`
	NamespaceID   authz.NamespaceID `db:"namespace_id"` // of the project or group
	Codename      string            `db:"codename"`
	Suite         *string           `db:"suite"`
	Origin        *string           `db:"origin"`
	Label         *string           `db:"label"`
	Version       *string           `db:"version"`
	Description   *string           `db:"description"`
	ValidTime     *int64            `db:"valid_time_duration_seconds"` // of a Release file
	Components    db.List[string]   `db:"components"`                  // sorted
	Architectures db.List[string]   `db:"architectures"`               // sorted; all is one of them
	CreatedAt     db.Time           `db:"created_at"`
	UpdatedAt     db.Time           `db:"updated_at"`
}

// About names it for events.
func (d Distribution) About() change.Subject {
	return change.Subject{Type: "Packages::Debian::Distribution", ID: int64(d.ID), Title: d.Codename}
}

// DistributionCreated is published when a project or group gets a distribution.
type DistributionCreated struct{ change.Of[Distribution] }

// DistributionUpdated is published when a distribution changes.
type DistributionUpdated struct{ change.Of[Distribution] }

// DistributionDeleted is published when a distribution is deleted.
type DistributionDeleted struct{ change.Of[Distribution] }

const (
	maxDistributions = 200 // of a project or group
	maxText          = 255 // characters
	maxParts         = 100 // components, or architectures, of a distribution
	minValidTime     = 24 * 60 * 60
	maxValidTime     = 1<<31 - 1

	defaultComponent    = "main"
	defaultArchitecture = "amd64"
	allArchitectures    = "all"
)

var (
	distributionColumns = db.Columns[Distribution]("d")
	errNoDistribution   = errs.Missing("Distribution")

	distributionName = pattern.New(`(?i)\A[a-z0-9][a-z0-9.-]*\z`) // of components as well
	architectureName = pattern.New(`\A[a-z0-9][-a-z0-9]*\z`)
	debianVersion    = pattern.New(`\A(?:[0-9]{1,9}:)?[0-9][A-Za-z0-9.+~-]*\z`)
)

// DistributionFilter selects from the distributions of a project or group; nil selects all.
type DistributionFilter struct {
	Codename, Suite, Origin, Label, Version, Description *string

	ValidTime                 *int64
	Components, Architectures []string // that the distribution has, all of them
	page.Range
}

func (f *DistributionFilter) where(at authz.Place) db.Where {
	var w db.Where
	w.And("d.namespace_id = ?", at.Namespace)
	for _, c := range []struct {
		column string
		value  *string
	}{
		{"codename", f.Codename}, {"suite", f.Suite}, {"origin", f.Origin}, {"label", f.Label}, {"version", f.Version}, {"description", f.Description},
	} {
		if c.value != nil {
			w.And("d."+c.column+" = ?", *c.value)
		}
	}
	if f.ValidTime != nil {
		w.And("d.valid_time_duration_seconds = ?", *f.ValidTime)
	}
	for column, names := range map[string][]string{"components": f.Components, "architectures": f.Architectures} {
		for _, name := range names {
			w.And("REPLACE(d."+column+", ?, '') <> d."+column, `"`+name+`"`) // LIKE has no regard for case on SQLite
		}
	}
	return w
}

// on returns NotFound where the server has no Debian distributions.
func (s *Service) on() error {
	if s.NoDebian {
		return errs.Coded(errs.NotFound, CodeOff, "")
	}
	return nil
}

// readDistributions requires the right to read the distributions of a project or group.
func (s *Service) readDistributions(ctx context.Context, as authz.Actor, at authz.Place) error {
	if err := s.on(); err != nil {
		return err
	}
	return s.MayRead(ctx, as, at)
}

// Distributions returns a page of the distributions of a project or group by id.
func (s *Service) Distributions(ctx context.Context, as authz.Actor, at authz.Place, f DistributionFilter) (page.Page[Distribution], error) {
	if err := s.readDistributions(ctx, as, at); err != nil {
		return page.Page[Distribution]{}, err
	}
	list, err := page.Select[Distribution](ctx, s.DB, page.Query{
		Columns: distributionColumns, From: "debian_distributions d", Where: f.where(at), Order: page.Order{page.ID("d.id")},
	}, f.Range)
	return list, errs.Wrap(err, "list distributions")
}

// Distribution returns the distribution with a codename.
func (s *Service) Distribution(ctx context.Context, as authz.Actor, at authz.Place, codename string) (*Distribution, error) {
	if err := s.readDistributions(ctx, as, at); err != nil {
		return nil, err
	}
	return s.distribution(ctx, at, codename)
}

func (s *Service) distribution(ctx context.Context, at authz.Place, codename string) (*Distribution, error) {
	d, err := db.Get[Distribution](ctx, s.DB, "SELECT "+distributionColumns+" FROM debian_distributions d WHERE d.namespace_id = ? AND d.codename = ?", at.Namespace, codename)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoDistribution
	}
	if err != nil {
		return nil, errs.Wrap(err, "find distribution")
	}
	return &d, nil
}

// requireDistribution is errNoDistribution where a distribution was deleted.
func (s *Service) requireDistribution(ctx context.Context, id DistributionID) error {
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM debian_distributions WHERE id = ?)", id)
	if err != nil {
		return errs.Wrap(err, "find distribution")
	}
	if !there {
		return errNoDistribution
	}
	return nil
}

// byName returns the distribution of a namespace that has a codename or suite.
func (s *Service) byName(ctx context.Context, of authz.NamespaceID, name string) (*Distribution, error) {
	d, err := db.Get[Distribution](ctx, s.DB, "SELECT "+distributionColumns+` FROM debian_distributions d JOIN debian_distribution_names n ON n.distribution_id = d.id
		WHERE n.namespace_id = ? AND n.name = ?`, of, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoDistribution
	}
	if err != nil {
		return nil, errs.Wrap(err, "find distribution")
	}
	return &d, nil
}

// invalid is the refusal of parameters that do not match their syntax.
func invalid(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for i := range names {
		names[i] += " is invalid"
	}
	return errs.Coded(errs.Invalid, CodeInvalid, strings.Join(names, ", "))
}

// sorted returns names in their order, each once, or a default where there are none.
func sorted(names []string, none string) db.List[string] {
	out := db.List[string](slices.Clone(names))
	if len(out) == 0 {
		out = db.List[string]{none}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// PublishedIn returns the distribution of a project that a Debian package, which was read for the caller, is published in; nil for none.
func (s *Service) PublishedIn(ctx context.Context, p *project.Project, k *Package) (*Distribution, error) {
	if k.Kind != Debian {
		return nil, nil
	}
	d, err := db.Get[Distribution](ctx, s.DB, "SELECT "+distributionColumns+` FROM debian_distributions d JOIN debian_publications u ON u.distribution_id = d.id
		WHERE u.package_id = ? AND d.namespace_id = ?`, k.ID, p.NamespaceID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	return &d, errs.Wrap(err, "find distribution of package")
}
