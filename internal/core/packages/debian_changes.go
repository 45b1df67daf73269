package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/debian"
)

// readChanges reads a .changes, finds the files that it names, and reads those that indices have.
func (s *Service) readChanges(ctx context.Context, d *processed) error {
	p, err := s.readParagraph(ctx, &d.file)
	if err != nil {
		return err
	}
	if !p.Has("Source") || !p.Has("Version") || !p.Has("Distribution") {
		return refusal("%s is not a changes file", d.file.Name)
	}
	source, _, _ := strings.Cut(p.Get("Source"), " ") // a binary-only upload has the version of its source behind it
	switch version := p.Get("Version"); {
	case !debianName().MatchString(source) || len(source) > maxText:
		return refusal("Source is invalid")
	case !debianVersion().MatchString(version) || len(version) > maxText:
		return refusal("Version is invalid")
	default:
		d.source, d.version = source, version
	}
	listed, err := p.Files()
	if err != nil {
		return refused(err.Error())
	}
	for _, l := range listed {
		d.files = append(d.files, part{listed: l, kind: kindOf(l.Name), from: -1})
	}
	if err := s.findListed(ctx, d); err != nil {
		return err
	}
	if d.distribution, err = s.distributionNamed(ctx, d.project, p.Get("Distribution")); err != nil {
		return err
	}
	for i := range len(d.files) { // a .dsc may add some
		if err := s.readPart(ctx, d, &d.files[i]); err != nil {
			return err
		}
	}
	return nil
}

// listedBatch is how many names of files one statement looks for.
const listedBatch = 200

// findListed finds the files that a .changes names among those that wait, and in the package where that is published already.
func (s *Service) findListed(ctx context.Context, d *processed) error {
	at, names := map[string]*part{}, make([]string, len(d.files))
	for i := range d.files {
		one := &d.files[i]
		if one.kind == kindUnknown || one.kind == kindChanges || !debianFileName().MatchString(one.listed.Name) {
			return refusal("unsupported file extension for file %.100s", one.listed.Name)
		}
		at[one.listed.Name], names[i] = one, one.listed.Name
	}
	for some := range slices.Chunk(names, listedBatch) {
		var w db.Where
		w.And("f.project_id = ?", d.project.ID)
		w.In("f.name", some)
		w.And("k.kind = ?", Debian)
		w.And("(k.name = ? AND k.version IS NULL AND k.status = ? OR k.name = ? AND k.version = ? AND k.status = ?)", incoming, Hidden, d.source, d.version, Default)
		found, err := db.Select[candidate](ctx, s.DB, "SELECT "+fileColumns+", k.version AS of_version FROM package_files f JOIN packages k ON k.id = f.package_id"+w.SQL()+
			" ORDER BY f.id LIMIT ?", append(w.Args(), 10*len(some))...) // a name waits once, and is in a version once
		if err != nil {
			return fmt.Errorf("look for files of upload: %w", err)
		}
		for _, c := range found {
			one := at[c.Name]
			if one.from >= 0 && same(&one.file, &one.listed) == "" {
				continue
			}
			one.file, one.from = c.File, fromIncoming
			if c.OfVersion != nil {
				one.from = fromPackage
			}
		}
	}
	for i := range d.files {
		if one := &d.files[i]; one.from < 0 {
			return refusal("%s is listed in Files but was not uploaded", one.listed.Name)
		} else if what := same(&one.file, &one.listed); what != "" {
			return refusal("%s of %s differs from that in the changes file", what, one.listed.Name)
		}
	}
	return nil
}

// candidate is a file that may be the one that is listed.
type candidate struct {
	File

	OfVersion *string `db:"of_version"` // nil where it waits
}

// same returns what of a file differs from how it is listed, "" for nothing.
func same(f *File, l *debian.Listed) string {
	switch {
	case f.Size != l.Size:
		return "size"
	case !strings.EqualFold(f.MD5, l.MD5):
		return "MD5"
	case !strings.EqualFold(f.SHA1, l.SHA1):
		return "SHA1"
	case !strings.EqualFold(f.SHA256, l.SHA256):
		return "SHA256"
	}
	return ""
}

// readPart reads a file that an index has.
func (s *Service) readPart(ctx context.Context, d *processed, one *part) error {
	component := componentOf(one.listed.Section)
	switch one.kind {
	case kindDeb, kindUdeb:
		b, err := s.readBinary(ctx, &one.file)
		if err != nil {
			return err
		}
		return d.place(one, b, component)
	case kindDsc:
		return s.readSource(ctx, d, one, component)
	}
	return nil
}

// readSource reads a .dsc. What it lists is in the upload, in the package, or with the same bytes in another version of the package.
func (s *Service) readSource(ctx context.Context, d *processed, one *part, component string) error {
	p, err := s.readParagraph(ctx, &one.file)
	if err != nil {
		return err
	}
	if p.Get("Source") != d.source || p.Get("Version") != d.version {
		return refusal("Source and Version of %s are not those of the changes file", one.file.Name)
	}
	listed, err := p.Files()
	if err != nil {
		return refusal("%s: %s", one.file.Name, err)
	}
	if err := d.has(one.file.Name, component, ""); err != nil {
		return err
	}
	one.directory, one.stanza = component+"/source", sourceStanza(p, &one.file, &one.listed)
	dsc := one.file.Name // one may move when files are added
	for i := range listed {
		if err := s.findPart(ctx, d, dsc, &listed[i]); err != nil {
			return err
		}
	}
	return nil
}

// findPart finds a file that a .dsc lists.
func (s *Service) findPart(ctx context.Context, d *processed, dsc string, l *debian.Listed) error {
	if kindOf(l.Name) != kindSource {
		return refusal("unsupported file extension for file %.100s", l.Name)
	}
	for i := range d.files {
		if d.files[i].file.Name != l.Name {
			continue
		}
		if what := same(&d.files[i].file, l); what != "" {
			return refusal("%s of %s differs from that in %s", what, l.Name, dsc)
		}
		return nil
	}
	found, err := db.Select[candidate](ctx, s.DB, "SELECT "+fileColumns+`, k.version AS of_version FROM package_files f JOIN packages k ON k.id = f.package_id
		WHERE f.project_id = ? AND f.name = ? AND f.sha256 = ? AND k.kind = ? AND k.name = ? AND k.version IS NOT NULL AND k.status = ? ORDER BY f.id DESC LIMIT 100`,
		d.project.ID, l.Name, strings.ToLower(l.SHA256), Debian, d.source, Default)
	if err != nil {
		return fmt.Errorf("look for files of source package: %w", err)
	}
	if len(found) == 0 {
		return refusal("%s is listed in %s but was not uploaded", l.Name, dsc)
	}
	if what := same(&found[0].File, l); what != "" {
		return refusal("%s of %s differs from that in %s", what, l.Name, dsc)
	}
	add := part{file: found[0].File, kind: kindSource, from: fromElsewhere}
	for _, c := range found {
		if *c.OfVersion == d.version {
			add.file, add.from = c.File, fromPackage
		}
	}
	d.files = append(d.files, add)
	return nil
}
