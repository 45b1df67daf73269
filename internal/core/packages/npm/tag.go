package npm

import (
	"cmp"
	"context"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

// Tags returns the versions of the tags of a package.
func (s *Service) Tags(ctx context.Context, as authz.Actor, at Where, name string) (map[string]string, error) {
	projects, err := s.projects(ctx, as, at, name)
	if err != nil {
		return nil, err
	}
	if len(projects) == 0 {
		return nil, errNoPackages
	}
	d, err := s.merged(ctx, projects, name, named)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, t := range d.distTags() {
		out[t.Name] = t.Version
	}
	return out, nil
}

// Tag is a distribution tag of a package.
type Tag struct {
	Package string
	Name    string
	Version string
}

// SetTag gives a tag to a version of a package, and takes it from another one.
func (s *Service) SetTag(ctx context.Context, as authz.Actor, at Where, t Tag) error {
	return s.change(ctx, as, at, t.Package, func(ctx context.Context, p project.ID) error {
		if !validTag(t.Name) {
			return errTagName
		}
		w := of(t.Package, p)
		w.And("k.version = ?", t.Version)
		found, err := db.Select[packages.ID](ctx, s.DB, "SELECT k.id FROM packages k JOIN npm_versions v ON v.package_id = k.id"+w.SQL()+" ORDER BY k.id DESC LIMIT 1", w.Args()...)
		if err != nil {
			return errs.Wrap(err, "find version")
		}
		if len(found) == 0 {
			return errNoPackage
		}
		return s.tag(ctx, p, t.Package, t.Name, found[0])
	})
}

// DeleteTag deletes a tag of a package.
func (s *Service) DeleteTag(ctx context.Context, as authz.Actor, at Where, t Tag) error {
	return s.change(ctx, as, at, t.Package, func(ctx context.Context, p project.ID) error {
		tags, err := s.tagsOf(ctx, t.Package, p)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(tags, func(of tagged) bool { return of.Name == t.Name })
		if i < 0 {
			return errNoTag
		}
		_, err = db.Drop(ctx, s.DB, db.Row{Table: "package_tags", ID: tags[i].ID})
		return err
	})
}

// change changes the packages of a name, in the first of the projects that have what fn looks for.
func (s *Service) change(ctx context.Context, as authz.Actor, at Where, name string, fn func(ctx context.Context, p project.ID) error) error {
	projects, err := s.projects(ctx, as, at, name)
	if err != nil {
		return err
	}
	var failed, denied error
	for _, p := range projects {
		err := s.Packages.Require(ctx, as, authz.CreatePackage, p.Place())
		if errs.Is(err, errs.Forbidden) { // another project may take it
			denied = err
			continue
		}
		if err != nil {
			return err
		}
		failed = s.DB.InTx(ctx, func(ctx context.Context) error {
			if err := s.lock(ctx, p.ID, name); err != nil {
				return err
			}
			if err := fn(ctx, p.ID); err != nil {
				return err
			}
			return s.render(ctx, p.ID, name)
		})
		if !errs.Is(failed, errs.NotFound) {
			return failed
		}
	}
	return cmp.Or[error](failed, denied, errNoPackage)
}

// tag gives a tag to a version. The caller has locked the name.
func (s *Service) tag(ctx context.Context, p project.ID, name, tag string, version packages.ID) error {
	tags, err := s.tagsOf(ctx, name, p)
	if err != nil {
		return err
	}
	now := db.At(s.Now())
	if i := slices.IndexFunc(tags, func(t tagged) bool { return t.Name == tag }); i >= 0 {
		_, err := db.Update(ctx, s.DB, db.Row{Table: "package_tags", ID: tags[i].ID, Now: s.Now}, func(_ context.Context, t *packages.Tag) error {
			t.PackageID = version
			return nil
		})
		return err
	}
	if len(tags) >= maxTags {
		return errManyTags
	}
	return db.Create(ctx, s.DB, "package_tags", &packages.Tag{PackageID: version, Name: tag, CreatedAt: now, UpdatedAt: now})
}
