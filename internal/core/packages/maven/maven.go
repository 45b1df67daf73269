// Package maven keeps the Maven packages of projects.
package maven

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Packages *packages.Service
	Projects *project.Service
	Plans    *planlimit.Service
	Settings *setting.Store
	Jobs     job.Enqueuer
	Now      func() time.Time
	Log      *slog.Logger
}

// Service keeps Maven packages. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

const (
	maxText  = 255 // characters of a name, a version and a file name
	metadata = "maven-metadata.xml"
	snapshot = "-SNAPSHOT"
	central  = "https://repo.maven.apache.org/maven2/"
)

var (
	segment = pattern.New(`\A[A-Za-z0-9_.+~-]+\z`) // of a path

	errNone   = errs.Missing("Package")
	errNoFile = errs.Missing("Package File")
)

// location is what a path of a repository names.
type location struct {
	name    string // folders without the version
	version *string
	file    string
	digest  string // sha1, md5 or sha256 where that of the file is meant
}

// locate reads a path. The metadata of all versions belongs to a package without one.
func locate(path string) (*location, error) {
	folder, file := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		folder, file = path[:i], path[i+1:]
	}
	l := &location{name: folder, file: file}
	for _, digest := range []string{"sha1", "md5", "sha256"} {
		if of, ok := strings.CutSuffix(file, "."+digest); ok && of != "" {
			l.file, l.digest = of, digest
		}
	}
	if !l.describes() || strings.HasSuffix(folder, snapshot) {
		i := strings.LastIndexByte(folder, '/')
		if i < 0 {
			return nil, wrong("path")
		}
		version := folder[i+1:]
		l.name, l.version = folder[:i], &version
	}
	if !proper(file) || len(file) > maxText {
		return nil, wrong("file_name")
	}
	if len(l.name) > maxText || l.version != nil && len(*l.version) > maxText {
		return nil, wrong("path")
	}
	for part := range strings.SplitSeq(folder, "/") {
		if !proper(part) {
			return nil, wrong("path")
		}
	}
	return l, nil
}

// describes reports whether the file is metadata of versions or builds, or a digest of it.
func (l *location) describes() bool {
	return l.file == metadata || strings.HasPrefix(l.file, metadata+".")
}

// proper reports whether a segment of a path names something in its folder.
func proper(part string) bool { return segment().MatchString(part) && part != "." && part != ".." }

func wrong(parameter string) error {
	return errs.Coded(errs.Invalid, packages.CodeInvalid, parameter+" is invalid")
}

// MaxFile is how many bytes a file has at most; 0 is no limit.
func (s *Service) MaxFile() int64 { return s.Plans.InForce().MavenMaxFileSize }

// Found is what is at a path: a file, a digest of one, or an address in another registry.
type Found struct {
	File   *packages.File
	Object *blob.Object // close it; nil where it is not the file itself
	Digest string       // in hex
	Else   string       // address in the public repository
}

// Open returns what is at a path in the repository of a project or group. Where the package is not there it is NotFound, or the address in the
// public repository if requests are forwarded.
func (s *Service) Open(ctx context.Context, as authz.Actor, at authz.Place, path string) (*Found, error) {
	if err := packages.Challenge(as, s.Packages.MayRead(ctx, as, at)); err != nil {
		return nil, err
	}
	l, err := locate(path)
	if err != nil {
		return nil, errNone
	}
	f, err := s.newest(ctx, as, at, l)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s.elsewhere(ctx, as, at, l, path)
	}
	switch l.digest {
	case "sha1":
		return &Found{File: f, Digest: f.SHA1}, nil
	case "md5":
		return &Found{File: f, Digest: f.MD5}, nil
	case "sha256":
		return &Found{File: f, Digest: f.SHA256}, nil
	}
	f, o, err := s.Packages.OpenFile(ctx, f)
	if err != nil {
		return nil, err
	}
	return &Found{File: f, Object: o}, nil
}

// OpenNamed returns what is at a path in the repository of the project whose path is the name of the package.
func (s *Service) OpenNamed(ctx context.Context, as authz.Actor, path string) (*Found, error) {
	l, err := locate(path)
	if err != nil || !strings.Contains(l.name, "/") {
		return nil, packages.Challenge(as, errNone)
	}
	p, err := s.Packages.Project(ctx, as, l.name)
	if errs.Is(err, errs.NotFound) { // a project that was renamed is not there either
		return nil, packages.Challenge(as, errNone)
	}
	if err != nil {
		return nil, packages.Challenge(as, err)
	}
	found, err := s.Open(ctx, as, p.Place(), path)
	if err == nil && found.Else != "" {
		return nil, errNone
	}
	return found, err
}

// of selects the package that a path names.
func (s *Service) of(as authz.Actor, at authz.Place, l *location) db.Where {
	w := s.Packages.BelowSQL(as, at, packages.Maven)
	w.And("k.name = ?", l.name)
	if l.version == nil {
		w.Raw("k.version IS NULL")
	} else {
		w.And("k.version = ?", *l.version)
	}
	return w
}

// newest returns the file at a path, the newest where it was published more than once; nil where there is none.
func (s *Service) newest(ctx context.Context, as authz.Actor, at authz.Place, l *location) (*packages.File, error) {
	return s.Packages.NewestFile(ctx, packages.From(at), s.of(as, at, l), l.file)
}

// elsewhere is what is said of a path that has no file.
func (s *Service) elsewhere(ctx context.Context, as authz.Actor, at authz.Place, l *location, path string) (*Found, error) {
	w := s.of(as, at, l)
	known, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM "+packages.From(at)+w.SQL()+")", w.Args()...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find Maven package: %w", err)
	case known:
		return nil, errNoFile
	case s.Settings.Current().MavenPackageRequestsForwarding:
		return &Found{Else: central + path}, nil
	}
	return nil, errNone
}
