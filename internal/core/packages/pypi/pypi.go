// Package pypi keeps the Python packages of projects.
package pypi

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Packages *packages.Service
	Plans    *planlimit.Service
	Settings *setting.Store
}

// Service keeps Python packages. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

const (
	maxText        = 255    // characters of a name, a version, a file name, and of each text that a package is described by
	maxDescription = 4000   // characters
	maxListed      = 10_000 // files of a name, and names, that an index has
)

var (
	nameSyntax    = pattern.New(`(?i)\A[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\z`)
	versionSyntax = pattern.New(`\A[A-Za-z0-9][A-Za-z0-9.!+_-]*\z`)
	fileSyntax    = pattern.New(`\A[A-Za-z0-9][A-Za-z0-9.!+_-]*\z`)
	digestSyntax  = pattern.New(`\A[0-9a-f]{64}\z`)

	errNone = errs.Missing("Package")
)

// fits reports whether a text has a syntax, and is short enough to be stored.
func fits(text string, syntax func() *regexp.Regexp) bool {
	return len(text) <= maxText && syntax().MatchString(text)
}

// normalize returns the name by which all spellings of a name are found.
func normalize(name string) string {
	return strings.ToLower(packages.JoinedPyPI(name))
}

// cut returns the beginning of a text.
func cut(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// storable reports whether a text can be stored.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// MaxFile is how many bytes a file has at most; 0 is no limit.
func (s *Service) MaxFile() int64 { return s.Plans.InForce().PyPIMaxFileSize }

// Link is a file in the index of a name.
type Link struct {
	File           string `db:"name"`
	SHA256         string `db:"sha256"`
	RequiresPython string `db:"requires_python"` // versions of Python that it is for; "" is any
}

// Listing is the index of a name.
type Listing struct {
	Name  string
	Files []Link // the newest first, at most 10,000
	Else  string // address of the index of another registry, where there are no files
}

// List returns the index of a name in a project or group. Where there is none it is NotFound, or the index of the public registry if requests are
// forwarded.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, name string) (*Listing, error) {
	if err := packages.Challenge(as, s.Packages.MayRead(ctx, as, at)); err != nil {
		return nil, err
	}
	if !fits(name, nameSyntax) {
		return nil, errNone
	}
	w := s.Packages.BelowSQL(as, at, packages.PyPI)
	w.And("y.normalized = ?", normalize(name))
	files, err := db.Select[Link](ctx, s.DB, "SELECT f.name, f.sha256, y.requires_python FROM "+packages.From(at)+
		" JOIN pypi_packages y ON y.package_id = k.id JOIN package_files f ON f.package_id = k.id"+w.SQL()+" ORDER BY f.id DESC LIMIT ?", append(w.Args(), maxListed)...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("list files of Python package: %w", err)
	case len(files) > 0:
		return &Listing{Name: name, Files: files}, nil
	case s.Settings.Current().PyPIPackageRequestsForwarding:
		return &Listing{Name: name, Else: "https://pypi.org/simple/" + normalize(name) + "/"}, nil
	}
	return nil, errNone
}

// Name is a name in the index of a project or group.
type Name struct {
	Normalized string `db:"normalized"`
	Name       string `db:"name"` // one of its spellings
}

// Names returns the names of the Python packages of a project or group, the first 10,000.
func (s *Service) Names(ctx context.Context, as authz.Actor, at authz.Place) ([]Name, error) {
	if err := packages.Challenge(as, s.Packages.MayRead(ctx, as, at)); err != nil {
		return nil, err
	}
	w := s.Packages.BelowSQL(as, at, packages.PyPI)
	names, err := db.Select[Name](ctx, s.DB, "SELECT y.normalized, MIN(k.name) AS name FROM "+packages.From(at)+
		" JOIN pypi_packages y ON y.package_id = k.id"+w.SQL()+" GROUP BY y.normalized ORDER BY y.normalized LIMIT ?", append(w.Args(), maxListed)...)
	return names, errs.Wrap(err, "list Python packages")
}

// Open opens a file of a project or group by its digest and name; close what it returns.
func (s *Service) Open(ctx context.Context, as authz.Actor, at authz.Place, sha256, name string) (*packages.File, *blob.Object, error) {
	if err := packages.Challenge(as, s.Packages.MayRead(ctx, as, at)); err != nil {
		return nil, nil, err
	}
	if !fits(sha256, digestSyntax) || !fits(name, fileSyntax) {
		return nil, nil, errNone
	}
	w := s.Packages.BelowSQL(as, at, packages.PyPI)
	w.And("f.sha256 = ?", sha256)
	return s.Packages.OpenNewest(ctx, at, w, name, errNone)
}
