package pypi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

// Upload is a file that a client publishes.
type Upload interface {
	// Open returns the name of the file and its content. It is called first, and once.
	Open() (file string, content io.Reader, err error)

	// Describe returns what the client says of the file. It is called when the content was read to its end.
	Describe() (*Metadata, error)
}

// Metadata is what a client says of a file. Texts beside name, version and RequiresPython are cut where they are too long.
type Metadata struct {
	Name, Version  string
	RequiresPython string
	MD5, SHA256    string // of the content, in hex; "" is compared with nothing

	Summary, Keywords, AuthorEmail, MetadataVersion, Description, DescriptionContentType string
}

// row is what is stored of a version.
type row struct {
	ID                     int64       `db:"id"`
	PackageID              packages.ID `db:"package_id"`
	ProjectID              project.ID  `db:"project_id"`
	Normalized             string      `db:"normalized"`
	RequiresPython         string      `db:"requires_python"`
	Summary                string      `db:"summary"`
	Keywords               string      `db:"keywords"`
	AuthorEmail            string      `db:"author_email"`
	MetadataVersion        string      `db:"metadata_version"`
	Description            string      `db:"description"`
	DescriptionContentType string      `db:"description_content_type"`
}

// refused is a refusal of what is stored, in the words that clients look for.
func refused(reason string) error { return errs.New(errs.Invalid, "Validation failed: "+reason) }

// missing is a refusal of an upload that lacks a parameter.
func missing(name string) error {
	return errs.Coded(errs.Invalid, packages.CodeInvalid, name+" is missing")
}

// check refuses what cannot be stored.
func (m *Metadata) check(file string) error {
	switch {
	case m.Name == "":
		return missing("name")
	case m.Version == "":
		return missing("version")
	case !fits(m.Name, nameSyntax):
		return refused("Name is invalid")
	case !fits(m.Version, versionSyntax):
		return refused("Version is invalid")
	case !fits(file, fileSyntax):
		return refused("File name is invalid")
	case !storable(m.RequiresPython):
		return refused("Required python is invalid")
	case cut(m.RequiresPython, maxText) != m.RequiresPython:
		return refused(fmt.Sprintf("Required python is too long (maximum is %d characters)", maxText))
	}
	for _, text := range []string{m.Summary, m.Keywords, m.AuthorEmail, m.MetadataVersion, m.Description, m.DescriptionContentType} {
		if !storable(text) {
			return refused("Metadata is invalid")
		}
	}
	return nil
}

// Publish adds a file to a version of a Python package, which is created where there is none. A version has one file of a name. All spellings of a
// name are one package, which keeps the first of them.
func (s *Service) Publish(ctx context.Context, as authz.Actor, p *project.Project, in Upload) error {
	if err := s.Packages.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return err
	}
	file, content, err := in.Open()
	if err != nil {
		return err
	}
	var m *Metadata
	_, err = s.Packages.Publish(ctx, as, p, packages.Upload{
		Kind: packages.PyPI, File: file, Limit: s.MaxFile(),
		Arrived: func(u *packages.Upload, f *packages.File) (err error) {
			if m, err = in.Describe(); err != nil {
				return err
			}
			if err := m.check(file); err != nil {
				return err
			}
			if differs(m.MD5, f.MD5) || differs(m.SHA256, f.SHA256) {
				return errs.New(errs.Unprocessable, "The digest differs from that of the content")
			}
			u.Name, u.Version = m.Name, &m.Version
			return nil
		},
		Begin: func(ctx context.Context, u *packages.Upload) error { return s.spelling(ctx, p, u) },
		End: func(ctx context.Context, _ *packages.Upload, k *packages.Package, f *packages.File) error {
			return s.describe(ctx, k, f, m)
		},
	}, content)
	return errs.Wrap(err, "publish Python package")
}

// add takes over what is said of a version with another of its files, and keeps what is not said again.
func (r *row) add(more *row) {
	r.RequiresPython, r.Summary, r.Keywords = cmp.Or(more.RequiresPython, r.RequiresPython), cmp.Or(more.Summary, r.Summary), cmp.Or(more.Keywords, r.Keywords)
	r.AuthorEmail, r.MetadataVersion = cmp.Or(more.AuthorEmail, r.AuthorEmail), cmp.Or(more.MetadataVersion, r.MetadataVersion)
	r.Description, r.DescriptionContentType = cmp.Or(more.Description, r.Description), cmp.Or(more.DescriptionContentType, r.DescriptionContentType)
}

// differs reports whether a digest was sent and is another one.
func differs(sent, is string) bool { return sent != "" && !strings.EqualFold(sent, is) }

// spelling has the upload use the spelling of the name that its project has already, and makes those who publish the name follow one another.
func (s *Service) spelling(ctx context.Context, p *project.Project, u *packages.Upload) error {
	name := normalize(u.Name)
	if err := s.DB.Lock(ctx, fmt.Sprintf("pypi %d %s", p.ID, name)); err != nil {
		return err
	}
	known, err := db.Get[string](ctx, s.DB, `SELECT k.name FROM pypi_packages y JOIN packages k ON k.id = y.package_id
		WHERE y.project_id = ? AND y.normalized = ? AND k.status = ? ORDER BY k.id LIMIT 1`, p.ID, name, packages.Default)
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		return fmt.Errorf("find Python package: %w", err)
	default:
		u.Name = known
	}
	return nil
}

// describe refuses a file whose name the version has already, and writes what is said of the version.
func (s *Service) describe(ctx context.Context, k *packages.Package, f *packages.File, m *Metadata) error {
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM package_files f WHERE f.package_id = ? AND f.name = ?)", k.ID, f.Name)
	if err != nil {
		return fmt.Errorf("look for file of Python package: %w", err)
	}
	if taken {
		return refused("File name has already been taken")
	}
	r := row{
		PackageID: k.ID, ProjectID: k.ProjectID, Normalized: normalize(k.Name), RequiresPython: m.RequiresPython, Summary: cut(m.Summary, maxText), Keywords: cut(m.Keywords, maxText),
		AuthorEmail: cut(m.AuthorEmail, maxText), MetadataVersion: cut(m.MetadataVersion, maxText), Description: cut(m.Description, maxDescription),
		DescriptionContentType: cut(m.DescriptionContentType, maxText),
	}
	_, err = db.Update(ctx, s.DB, db.Row{Table: "pypi_packages", Key: "package_id", ID: k.ID}, func(_ context.Context, was *row) error {
		was.add(&r)
		return nil
	})
	if errors.Is(err, db.ErrNotFound) {
		return db.Create(ctx, s.DB, "pypi_packages", &r)
	}
	return err
}
