package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/debian"
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// DebianFile is a file that is uploaded to a Debian repository. With a distribution it goes straight into it; else it waits for the .changes that
// names it, or is that.
type DebianFile struct {
	Name         string
	Distribution string // codename or suite
	Component    string // of a file that goes straight into a distribution
}

const (
	maxDebianFile = 3 << 30 // bytes
	maxUnfinished = 1000    // uploads of a project that are processed, and whose processing failed

	// incoming is the name of the package of a project whose files wait for a .changes.
	incoming = "incoming"
)

var debianFileName = pattern.New(`\A[A-Za-z0-9][A-Za-z0-9.+~_:-]*\z`)

// debianKind is what a file is by its name.
type debianKind string

const (
	kindDeb     debianKind = "deb" // a .ddeb as well
	kindUdeb    debianKind = "udeb"
	kindDsc     debianKind = "dsc"
	kindSource  debianKind = "source" // part of a source package
	kindInfo    debianKind = "buildinfo"
	kindChanges debianKind = "changes"
	kindUnknown debianKind = ""
)

// kindOf returns what a file is by its name.
func kindOf(name string) debianKind {
	ext := name[strings.LastIndexByte(name, '.')+1:]
	switch ext {
	case "ddeb":
		return kindDeb
	case "deb", "udeb", "dsc", "buildinfo", "changes":
		return debianKind(ext)
	}
	for _, packed := range []string{".tar.gz", ".tar.bz2", ".tar.lzma", ".tar.xz", ".tar.zst", ".diff.gz"} {
		if strings.HasSuffix(strings.TrimSuffix(name, ".asc"), packed) { // upstream's signature of a tar lies beside it
			return kindSource
		}
	}
	return kindUnknown
}

// maxOf is how many bytes a file may have; what is read as a whole is small.
func maxOf(kind debianKind) int64 {
	if kind == kindChanges || kind == kindDsc {
		return debian.MaxText
	}
	return maxDebianFile
}

// MaxDebian is how many bytes a file of a Debian package has at most.
func (s *Service) MaxDebian() int64 { return maxDebianFile }

// UploadDebian takes a file for a Debian repository of a project. What names a .changes, and what goes straight into a distribution, is published by a
// job: whether that failed is said by the status of the package.
func (s *Service) UploadDebian(ctx context.Context, as authz.Actor, p *project.Project, u DebianFile, from io.Reader) error {
	if err := s.on(); err != nil {
		return err
	}
	if err := s.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return err
	}
	kind := kindOf(u.Name)
	switch {
	case !debianFileName().MatchString(u.Name) || len(u.Name) > maxText:
		return invalid([]string{"file_name"})
	case u.Distribution != "" && u.Component == "":
		return errs.Coded(errs.Invalid, CodeInvalid, "component is missing")
	case u.Distribution == "" && u.Component != "":
		return errs.Coded(errs.Invalid, CodeInvalid, "distribution is missing")
	case u.Distribution != "" && kind != kindDeb && kind != kindUdeb:
		return errs.Coded(errs.Invalid, CodeInvalid, "file_name Only debs, udebs and ddebs can be directly added to a distribution")
	case u.Distribution != "" && !distributionName().MatchString(u.Distribution):
		return invalid([]string{"distribution"})
	case u.Distribution != "" && !distributionName().MatchString(u.Component):
		return invalid([]string{"component"})
	}
	err := s.keep(ctx, as, p, source{content: from, name: u.Name, limit: maxOf(kind)}, func(ctx context.Context, f *File) error {
		if kind == kindChanges || u.Distribution != "" {
			return s.beginProcessing(ctx, as, p, u, f)
		}
		return s.addIncoming(ctx, as, p, f)
	})
	return errs.Wrap(err, "upload Debian file")
}

// lockIncoming makes those who change what waits in a project follow one another.
func (s *Service) lockIncoming(ctx context.Context, id project.ID) error {
	return s.DB.Lock(ctx, fmt.Sprintf("debian incoming %d", id))
}

// addIncoming has a file wait for a .changes. The same bytes again change nothing, others under the name are refused.
func (s *Service) addIncoming(ctx context.Context, as authz.Actor, p *project.Project, f *File) error {
	if err := s.lockIncoming(ctx, p.ID); err != nil {
		return err
	}
	named, err := db.Select[namedFile](ctx, s.DB, `SELECT f.sha256, k.version FROM package_files f JOIN packages k ON k.id = f.package_id
		WHERE f.project_id = ? AND f.name = ? AND k.kind = ? AND k.status IN (?, ?) ORDER BY f.id LIMIT 100`, p.ID, f.Name, Debian, Default, Hidden)
	if err != nil {
		return fmt.Errorf("look for Debian files: %w", err)
	}
	if slices.ContainsFunc(named, func(n namedFile) bool { return n.SHA256 != f.SHA256 }) {
		return errs.Bad("File name has already been taken by other content")
	}
	if slices.ContainsFunc(named, func(n namedFile) bool { return n.Version == nil }) {
		return nil // it waits already
	}
	k, err := s.incoming(ctx, p)
	if err != nil {
		return err
	}
	return s.add(ctx, as, p, k, f)
}

// namedFile is a file that has a name that another one is about to get.
type namedFile struct {
	SHA256  string  `db:"sha256"`
	Version *string `db:"version"` // of its package; nil where it waits
}

// incoming returns the package whose files wait in a project. The caller has locked them.
func (s *Service) incoming(ctx context.Context, p *project.Project) (*Package, error) {
	k, err := db.Get[Package](ctx, s.DB, "SELECT "+packageColumns+" FROM packages k WHERE k.project_id = ? AND k.kind = ? AND k.name = ? AND k.version IS NULL AND k.status = ?",
		p.ID, Debian, incoming, Hidden)
	if err == nil || !errors.Is(err, db.ErrNotFound) {
		return &k, errs.Wrap(err, "find incoming Debian files")
	}
	now := db.At(s.Now())
	k = Package{ProjectID: p.ID, Kind: Debian, Name: incoming, Status: Hidden, CreatedAt: now, UpdatedAt: now}
	return &k, db.Create(ctx, s.DB, "packages", &k)
}

// debianUpload is what a package was uploaded for that is processed.
type debianUpload struct {
	ID           int64   `db:"id"`
	PackageID    ID      `db:"package_id"`
	Distribution *string `db:"distribution"`
	Component    *string `db:"component"`

	Level *authz.Level `db:"level"` // of who uploaded it; nil where it was uploaded before that was stored
}

// beginProcessing makes a package of a file that a job processes. Its name and version are those in the name of the file until the job has read it.
func (s *Service) beginProcessing(ctx context.Context, as authz.Actor, p *project.Project, u DebianFile, f *File) error {
	now := db.At(s.Now())
	name, version := namesIn(u.Name)
	k := &Package{ProjectID: p.ID, Kind: Debian, Name: name, Version: &version, Status: Processing, CreatedAt: now, UpdatedAt: now}
	if as.SignedIn() {
		k.CreatorID = &as.UserID
	}
	bound := db.Bound{Table: "packages", Most: maxUnfinished, Full: errs.Bad(fmt.Sprintf("Maximum number of uploads that are processed or failed (%d) exceeded", maxUnfinished))}
	bound.Of.And("project_id = ?", p.ID)
	bound.Of.And("status IN (?, ?)", Processing, Failed)
	if err := db.Create(ctx, s.DB, "packages", k, bound); err != nil {
		return err
	}
	level, err := s.levelOf(ctx, as, p)
	if err != nil {
		return err
	}
	row := &debianUpload{PackageID: k.ID, Level: &level}
	if u.Distribution != "" {
		row.Distribution, row.Component = &u.Distribution, &u.Component
	}
	if err := db.Create(ctx, s.DB, "debian_uploads", row); err != nil {
		return err
	}
	if err := s.add(ctx, as, p, k, f); err != nil {
		return err
	}
	return s.Jobs.Enqueue(ctx, process{k.ID})
}

// namesIn are the name and the version in the name of a file: hello_1.0-1_amd64.changes.
func namesIn(file string) (name, version string) {
	name, rest, _ := strings.Cut(file, "_")
	version, _, ok := strings.Cut(rest, "_")
	if ok && version != "" {
		return name, version
	}
	return file, "0"
}
