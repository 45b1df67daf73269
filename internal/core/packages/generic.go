package packages

import (
	"context"
	"io"
	"path"
	"strings"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// GenericFile names a file of a generic package.
type GenericFile struct {
	Package, Version string
	File             string // may be in folders
}

var (
	genericName    = pattern.New(`\A[A-Za-z0-9._+/@-]+\z`)
	genericVersion = pattern.New(`\A[A-Za-z0-9][A-Za-z0-9.+~_:/-]*\z`)
	genericFile    = pattern.New(`\A[A-Za-z0-9._+-][A-Za-z0-9._+~@-]*\z`) // each part of a path
)

// check returns the error of a name that does not match its syntax.
func (g *GenericFile) check() error {
	var wrong []string
	check := func(name, value string, ok bool) {
		if !ok || len(value) > maxText || path.Clean("/"+value) != "/"+value {
			wrong = append(wrong, name)
		}
	}
	check("package_name", g.Package, genericName().MatchString(g.Package))
	check("package_version", g.Version, genericVersion().MatchString(g.Version))
	ok := true
	for part := range strings.SplitSeq(g.File, "/") {
		ok = ok && genericFile().MatchString(part) && !strings.HasSuffix(part, "~") && !strings.HasSuffix(part, "@")
	}
	check("file_name", g.File, ok)
	return invalid(wrong)
}

// PublishGeneric adds a file to a generic package, which is created where there is none. Where the version has a file of the name, the new one
// is found in its place. status is default, hidden, or "" to leave that of the package alone.
func (s *Service) PublishGeneric(ctx context.Context, as authz.Actor, p *project.Project, g GenericFile, status Status, from io.Reader) (*File, error) {
	if err := s.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return nil, err
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	limit := s.Plans.InForce().GenericPackagesMaxFileSize
	return s.Publish(ctx, as, p, Upload{Kind: Generic, Name: g.Package, Version: &g.Version, File: g.File, Status: status, Limit: limit}, from)
}

// MaxGeneric is how many bytes a file of a generic package has at most; 0 is no limit.
func (s *Service) MaxGeneric() int64 { return s.Plans.InForce().GenericPackagesMaxFileSize }

// OpenGeneric opens the newest file of a name in a generic package; close what it returns.
func (s *Service) OpenGeneric(ctx context.Context, as authz.Actor, p *project.Project, g GenericFile) (*File, *blob.Object, error) {
	if err := s.MayRead(ctx, as, p.Place()); err != nil {
		return nil, nil, err
	}
	if g.check() != nil {
		return nil, nil, errNoPackage
	}
	var w db.Where
	w.And("k.project_id = ?", p.ID)
	w.And("k.kind = ?", Generic)
	w.And("k.name = ?", g.Package)
	w.And("k.version = ?", g.Version)
	w.In("k.status", []Status{Default, Hidden})
	return s.openNewest(ctx, "packages k", w, g.File, errNoPackage)
}
