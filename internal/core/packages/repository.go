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
	"tenon/internal/base/lru"
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
	for range publishTries {
		shown, err := s.distFile(ctx, at, name, file)
		if !errors.Is(err, errReplaced) {
			return shown, err
		}
	}
	return nil, errReplaced
}

// distFile returns a file of a distribution as it is now.
func (s *Service) distFile(ctx context.Context, at authz.Place, name, file string) (*Shown, error) {
	d, err := s.current(ctx, at.Namespace, name)
	if err != nil {
		return nil, err
	}
	if d.ReleaseID == nil {
		return nil, errs.Missing("Release")
	}
	if at.Group {
		fit, err := s.fits(ctx, at, d.ID, *d.Projects)
		if err == nil && !fit {
			err = s.unfit(ctx, at, name, d)
		}
		if err != nil {
			return nil, err
		}
	}
	if file != "Release" && file != "InRelease" && file != "Release.gpg" {
		return s.index(ctx, d, file)
	}
	texts, err := s.textsOf(ctx, releaseKey{*d.ReleaseID, *d.Generation})
	if err != nil {
		return nil, err
	}
	return &Shown{Text: texts.of(file), Modified: d.ModifiedAt.Time}, nil
}

// unfit is the error of a distribution of a group that does not show what its readers may see: it was replaced just now, or is not to be read.
func (s *Service) unfit(ctx context.Context, at authz.Place, name string, was *current) error {
	now, err := s.current(ctx, at.Namespace, name)
	if err == nil && now.ReleaseID != nil && *now.ReleaseID != *was.ReleaseID {
		return errReplaced
	}
	return cmp.Or[error](err, errs.Missing("Release"))
}

// current is a distribution with what its readers see; without a Release file its parts are nil.
type current struct {
	Distribution

	ReleaseID  *int64   `db:"release_id"`
	Generation *int64   `db:"generation"`
	Projects   *int64   `db:"projects"`
	ModifiedAt *db.Time `db:"modified_at"`
}

// current returns the distribution of a namespace that has a codename or suite.
func (s *Service) current(ctx context.Context, of authz.NamespaceID, name string) (*current, error) {
	d, err := db.Get[current](ctx, s.DB, "SELECT "+distributionColumns+`, l.id AS release_id, l.generation, l.projects, l.modified_at
		FROM debian_distribution_names n JOIN debian_distributions d ON d.id = n.distribution_id LEFT JOIN debian_releases l ON l.distribution_id = d.id
		WHERE n.namespace_id = ? AND n.name = ?`, of, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoDistribution
	}
	if err != nil {
		return nil, errs.Wrap(err, "find distribution")
	}
	return &d, nil
}

// releaseKey names the row of a Release file, which is never changed: the next one has a row of its own.
type releaseKey struct{ id, generation int64 }

// releaseTexts are the Release file in its forms.
type releaseTexts struct {
	Release   string `db:"release"`
	InRelease string `db:"in_release"`
	Signature string `db:"signature"`
}

func (t *releaseTexts) of(file string) string {
	switch file {
	case "Release":
		return t.Release
	case "InRelease":
		return t.InRelease
	}
	return t.Signature
}

// errReplaced reports a Release file that was replaced since its row was found.
var errReplaced = errors.New("the Release file was replaced meanwhile")

// textsOf returns the texts of a Release file, which are kept in memory.
func (s *Service) textsOf(ctx context.Context, of releaseKey) (*releaseTexts, error) {
	if s.DB.InTransaction(ctx) { // what is read may be undone
		return s.readTexts(ctx, of)
	}
	if t, ok := lru.Get[*releaseTexts](s.texts, of); ok {
		return t, nil
	}
	t, err := s.readTexts(ctx, of)
	if err != nil {
		return nil, err
	}
	s.texts.Put(of, t, len(t.Release)+len(t.InRelease)+len(t.Signature))
	return t, nil
}

func (s *Service) readTexts(ctx context.Context, of releaseKey) (*releaseTexts, error) {
	t, err := db.Get[releaseTexts](ctx, s.DB, "SELECT l.release, l.in_release, l.signature FROM debian_releases l WHERE l.id = ? AND l.generation = ?", of.id, of.generation)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, fmt.Errorf("read Release file: %w", err)
	}
	return &t, nil
}

// index returns an index by its name, or by its digest.
func (s *Service) index(ctx context.Context, d *current, file string) (*Shown, error) {
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
			return &Shown{Empty: true, Digest: emptyDigest, Modified: d.ModifiedAt.Time}, nil
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
	return &Shown{Object: o, Digest: x.SHA256, Modified: d.ModifiedAt.Time}, nil
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
	var w db.Where
	w.And("k.project_id = ?", project.Of(of).ID)
	w.And("k.kind = ?", Debian)
	w.And("k.name = ?", parts[2])
	w.And("k.version = ?", parts[3])
	w.And("k.status = ?", Default)
	w.And("u.distribution_id = ?", d.ID)
	return s.openNewest(ctx, "packages k JOIN debian_publications u ON u.package_id = k.id", w, parts[4], errNoFile)
}
