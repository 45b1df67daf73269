package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Shown is a file of a distribution: a text, an object, or an index that is empty.
type Shown struct {
	Text     string
	Object   *blob.Object // close it; nil for a text and an empty index
	Empty    bool
	Digest   string // SHA-256; "" for a text
	Modified time.Time
}

// errUnknown is for what a distribution does not have.
var errUnknown = errs.New(errs.NotFound, "")

// Challenge has a caller without credentials come again with some where nothing is there for it: what is private looks like what is not there.
// Where there is no registry at all, that is the answer.
func Challenge(as authz.Actor, err error) error {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || as.Known() || e.Code == CodeOff || e.Kind != errs.NotFound && e.Kind != errs.Forbidden {
		return err
	}
	return errs.New(errs.Unauthorized, "")
}

// Dist returns a file below dists of a project or group, the path without that folder.
func (s *Service) Dist(ctx context.Context, as authz.Actor, at authz.Place, path string) (*Shown, error) {
	if err := Challenge(as, s.readDistributions(ctx, as, at)); err != nil {
		return nil, err
	}
	name, file, ok := strings.Cut(path, "/")
	if !ok || !distributionName().MatchString(name) {
		return nil, errUnknown
	}
	d, err := s.byName(ctx, at.Namespace, name)
	if err != nil {
		return nil, err
	}
	r, err := s.releaseOf(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errs.Missing("Release")
	}
	if at.Group {
		if fit, err := s.fits(ctx, at, r); err != nil || !fit {
			return nil, cmp.Or[error](err, errs.Missing("Release"))
		}
	}
	switch file {
	case "Release":
		return &Shown{Text: r.Release, Modified: r.ModifiedAt.Time}, nil
	case "InRelease":
		return &Shown{Text: r.InRelease, Modified: r.ModifiedAt.Time}, nil
	case "Release.gpg":
		return &Shown{Text: r.Signature, Modified: r.ModifiedAt.Time}, nil
	}
	return s.index(ctx, d, r, file)
}

// index returns an index by its name, or by its digest.
func (s *Service) index(ctx context.Context, d *Distribution, r *release, file string) (*Shown, error) {
	var w db.Where
	w.And("x.distribution_id = ?", d.ID)
	var directory, name string
	byHash := false
	if directory, name, byHash = strings.Cut(file, "/by-hash/SHA256/"); byHash {
		w.And("x.sha256 = ?", name)
		w.And("(x.retired_at IS NULL OR x.retired_at > ?)", db.At(s.Now().Add(-retiredFor)))
	} else {
		i := max(strings.LastIndexByte(file, '/'), 0)
		directory, name = file[:i], strings.TrimPrefix(file[i:], "/")
		w.And("x.name = ?", name)
		w.Raw("x.retired_at IS NULL")
	}
	w.And("x.directory = ?", directory)
	folders := d.folders()
	i := slices.IndexFunc(folders, func(f folder) bool { return f.directory == directory })
	if i < 0 {
		return nil, errUnknown
	}
	known := folders[i].name
	base, format, _ := strings.Cut(name, ".")
	switch {
	case byHash && name == emptyDigest, !byHash && name == known:
	case !byHash && base == known && format != "gz":
		return nil, errs.Missing("Format " + format + " is not supported")
	case !byHash && name != known+".gz":
		return nil, errUnknown
	}
	x, err := db.Get[index](ctx, s.DB, "SELECT "+db.Columns[index]("x")+" FROM debian_indices x"+w.SQL()+" ORDER BY x.id DESC LIMIT 1", w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		if name == known || byHash && name == emptyDigest {
			return &Shown{Empty: true, Digest: emptyDigest, Modified: r.ModifiedAt.Time}, nil
		}
		return nil, errUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("find index: %w", err)
	}
	o, err := s.Objects.Open(ctx, x.Object)
	if errors.Is(err, blob.ErrNotFound) { // it was replaced an hour ago, and deleted just now
		return nil, errUnknown
	}
	if err != nil {
		return nil, err
	}
	return &Shown{Object: o, Digest: x.SHA256, Modified: r.ModifiedAt.Time}, nil
}

// OpenPool opens a file below pool of a project or group, the path without that folder; close what it returns. A file of a group's asks its own
// project whether it may be read.
func (s *Service) OpenPool(ctx context.Context, as authz.Actor, at authz.Place, path string) (*File, *blob.Object, error) {
	if err := Challenge(as, s.readDistributions(ctx, as, at)); err != nil {
		return nil, nil, err
	}
	parts := strings.Split(path, "/")
	of := at
	if at.Group {
		if len(parts) != 6 {
			return nil, nil, errNoFile
		}
		if _, err := s.byName(ctx, at.Namespace, parts[0]); err != nil {
			return nil, nil, err
		}
		p, err := s.below(ctx, as, parts[1])
		if err != nil {
			return nil, nil, Challenge(as, err)
		}
		of, parts = p.Place(), slices.Delete(parts, 1, 2)
	}
	if len(parts) != 5 || parts[2] == "" || parts[1] != letter(parts[2]) {
		return nil, nil, errNoFile
	}
	d, err := s.byName(ctx, of.Namespace, parts[0])
	if err != nil {
		return nil, nil, err
	}
	f, err := db.Get[File](ctx, s.DB, "SELECT "+fileColumns+` FROM packages k JOIN debian_publications u ON u.package_id = k.id JOIN package_files f ON f.package_id = k.id
		WHERE k.project_id = ? AND k.kind = ? AND k.name = ? AND k.version = ? AND k.status = ? AND u.distribution_id = ? AND f.name = ? ORDER BY f.id DESC LIMIT 1`,
		project.Of(of).ID, Debian, parts[2], parts[3], Default, d.ID, parts[4])
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, errNoFile
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find package file: %w", err)
	}
	return s.open(ctx, &f)
}
