package maven

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

// Taken is what became of an upload.
type Taken int

// What becomes of uploads.
const (
	Stored   Taken = iota
	Ignored        // an MD5, which the server computes itself
	Compared       // a digest that fits
)

const maxDigest = 256 // bytes of an uploaded digest

// Publish adds a file to a version of a Maven package, which is created where there is none. Where the version has a file of the name, the new one is
// found in its place. A digest is compared with that of its file, and Conflict where it differs.
func (s *Service) Publish(ctx context.Context, as authz.Actor, p *project.Project, path string, from io.Reader) (Taken, error) {
	if err := s.Packages.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return Ignored, err
	}
	l, err := locate(path)
	if err != nil {
		return Ignored, err
	}
	switch l.digest {
	case "":
	case "md5":
		return Ignored, nil
	default:
		return Compared, s.compare(ctx, as, p, l, from)
	}
	u := packages.Upload{Kind: packages.Maven, Name: l.name, Version: l.version, File: l.file, Limit: s.MaxFile()}
	if l.describes() {
		u.End = s.replace // each deployment writes it again
	}
	_, err = s.Packages.Publish(ctx, as, p, u, from)
	return Stored, errs.Wrap(err, "publish Maven package")
}

// compare compares an uploaded digest with that of its file.
func (s *Service) compare(ctx context.Context, as authz.Actor, p *project.Project, l *location, from io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(from, maxDigest))
	if err != nil {
		return fmt.Errorf("read digest: %w", err)
	}
	f, err := s.newest(ctx, as, p.Place(), l)
	if err != nil {
		return err
	}
	if f == nil {
		return errNoFile
	}
	is := f.SHA1
	if l.digest == "sha256" {
		is = f.SHA256
	}
	sent := strings.Fields(string(text)) // some clients write the name of the file behind it
	if len(sent) == 0 || !strings.EqualFold(sent[0], is) {
		return errs.New(errs.Conflict, "")
	}
	return nil
}

// replace removes the files that a new one takes the place of.
func (s *Service) replace(ctx context.Context, _ *packages.Upload, k *packages.Package, f *packages.File) error {
	_, err := s.DB.Exec(ctx, "DELETE FROM package_files WHERE package_id = ? AND name = ?", k.ID, f.Name)
	return errs.Wrap(err, "delete replaced metadata")
}
