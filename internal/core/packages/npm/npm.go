// Package npm keeps the npm packages of projects: their versions, distribution tags and metadata.
package npm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

const (
	maxName    = 214 // characters, as npm has it
	maxVersion = 255
	maxTag     = 128
	maxTags    = 100 // of a package
)

var (
	nameSyntax = pattern.New(`\A(?:@[A-Za-z0-9_~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*\z`)
	tagSyntax  = pattern.New(`\A[A-Za-z][A-Za-z0-9._~-]*\z`)
	// versionSyntax is that of Semantic Versioning 2.0.0.
	versionSyntax = pattern.New(`\A(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\z`)
	// rangeSyntax is that of tags that npm takes for a range of versions.
	rangeSyntax = pattern.New(`\A(?:v?[0-9].*|[xX])\z`)

	errNoPackages = errs.Missing("Packages")
	errNoPackage  = errs.Missing("Package")
	errNoTag      = errs.Missing("Package Tag")
	errTooLarge   = errs.Plain("File is too large.")
)

func validName(name string) bool { return len(name) <= maxName && nameSyntax().MatchString(name) }

func validVersion(version string) bool {
	return len(version) <= maxVersion && versionSyntax().MatchString(version)
}

// validTag refuses tags that are taken for versions, and names that objects of JavaScript have from the start.
func validTag(tag string) bool {
	return len(tag) <= maxTag && tagSyntax().MatchString(tag) && !rangeSyntax().MatchString(tag) && tag != "constructor" && tag != "prototype"
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Packages *packages.Service
	Plans    *planlimit.Service
	Settings *setting.Store
	URLs     *weburl.Site
	Now      func() time.Time
}

// Service keeps npm packages. It is safe for concurrent use.
type Service struct{ Deps }

// New builds the service.
func New(d Deps) *Service { return &Service{d} }

// Forwards reports whether requests for packages that are not here are sent to the public registry.
func (s *Service) Forwards() bool { return s.Settings.Current().NPMPackageRequestsForwarding }

// MaxFile is how many bytes a tarball has at most; 0 is no limit.
func (s *Service) MaxFile() int64 { return s.Plans.InForce().NPMMaxFileSize }

// MaxDocument is how many bytes a package document has at most, beside its attachment.
func (s *Service) MaxDocument() int64 { return maxDocument }

// Where is where packages are looked for: a project, the projects below a group, or else those below the top-level group or the user that the
// scope of the package names.
type Where struct {
	Project *project.Project
	Group   *authz.Place
}

// maxProjects is how many projects are looked at for packages of one name.
const maxProjects = 50

// Audit requires the right to read packages somewhere. There are no advisories here.
func (s *Service) Audit(ctx context.Context, as authz.Actor, at Where) error {
	switch { // everywhere, anybody may ask
	case at.Project != nil:
		return s.Packages.MayRead(ctx, as, at.Project.Place())
	case at.Group != nil:
		return s.Packages.MayRead(ctx, as, *at.Group)
	}
	return nil
}

// projects returns the projects that have packages of a name and whose packages the actor may read, the one that was published to last first. In an instance
// and in groups there may be none.
func (s *Service) projects(ctx context.Context, as authz.Actor, at Where, name string) ([]*project.Project, error) {
	if err := s.Audit(ctx, as, at); err != nil {
		return nil, err
	}
	if !validName(name) {
		return nil, nil
	}
	if at.Project != nil {
		return []*project.Project{at.Project}, nil
	}
	group := at.Group
	if group == nil {
		scope, _, ok := strings.Cut(strings.TrimPrefix(name, "@"), "/")
		if !ok {
			return nil, nil
		}
		id, err := db.Get[authz.NamespaceID](ctx, s.DB, "SELECT r.namespace_id FROM routes r WHERE r.path_fold = ?", db.Fold(scope))
		if errors.Is(err, db.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find scope: %w", err)
		}
		group = &authz.Place{Namespace: id, Group: true}
	}
	w := s.Packages.BelowSQL(as, *group, packages.NPM)
	w.And("k.name = ?", name)
	ids, err := db.Select[project.ID](ctx, s.DB, "SELECT k.project_id FROM "+packages.From(*group)+w.SQL()+" GROUP BY k.project_id ORDER BY MAX(k.id) DESC LIMIT ?",
		append(w.Args(), maxProjects)...)
	if err != nil {
		return nil, fmt.Errorf("look for packages: %w", err)
	}
	var out []*project.Project
	for _, id := range ids {
		p, err := s.Packages.Project(ctx, as, strconv.FormatInt(int64(id), 10))
		if err == nil {
			err = s.Packages.MayRead(ctx, as, p.Place())
		}
		switch {
		case errs.Is(err, errs.NotFound), errs.Is(err, errs.Forbidden), errs.Is(err, errs.Unauthorized): // a job's token reaches less than its user
		case err != nil:
			return nil, err
		default:
			out = append(out, p)
		}
	}
	return out, nil
}

// Open opens the tarball of a package; close what it returns.
func (s *Service) Open(ctx context.Context, as authz.Actor, p *project.Project, name, file string) (*packages.File, *blob.Object, error) {
	if err := s.Packages.MayRead(ctx, as, p.Place()); err != nil {
		return nil, nil, err
	}
	if scope, _, scoped := strings.Cut(name, "/"); scoped && !strings.Contains(file, "/") {
		file = scope + "/" + file
	}
	return s.Packages.OpenNewest(ctx, p.Place(), of(name, p.ID), file, errNoPackage)
}

// Subscribe has the metadata of packages follow what is deleted of them.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "npm metadata", func(ctx context.Context, e packages.Deleted) error {
		if e.Before.Kind != packages.NPM {
			return nil
		}
		return s.dropped(ctx, e.Before.ProjectID, e.Before.Name, e.Before.ID)
	})
	event.On(b, "npm metadata", func(ctx context.Context, e packages.FileDeleted) error {
		k, err := db.Get[packages.Package](ctx, s.DB, "SELECT "+db.Columns[packages.Package]("k")+" FROM packages k WHERE k.id = ? AND k.kind = ?", e.Before.PackageID, packages.NPM)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find package: %w", err)
		}
		return s.dropped(ctx, k.ProjectID, k.Name, k.ID)
	})
}

// dropped takes a version that lost its tarball out of the metadata.
func (s *Service) dropped(ctx context.Context, p project.ID, name string, id packages.ID) error {
	if err := s.lock(ctx, p, name); err != nil {
		return err
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "npm_versions", Key: "package_id", ID: id}); err != nil {
		return err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM package_tags WHERE package_id = ?", id); err != nil {
		return fmt.Errorf("delete tags of package: %w", err)
	}
	return s.render(ctx, p, name)
}

// lock makes those who change the packages of a name in a project follow one another.
func (s *Service) lock(ctx context.Context, p project.ID, name string) error {
	return s.DB.Lock(ctx, fmt.Sprintf("npm %d %s", p, name))
}
