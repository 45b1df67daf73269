package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/debian"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// process is the job that publishes what a .changes names, or a file that goes straight into a distribution.
type process struct {
	Package ID `json:"package"`
}

// Kind names the job.
func (process) Kind() string { return "debian_process" }

// processed is what is published together: the files of one version of a source package.
type processed struct {
	project      *project.Project
	upload       *Package // that is processed
	file         File     // of the upload: the .changes, or the file that goes straight into a distribution
	direct       bool
	level        *authz.Level // of who uploaded it; nil where that is not known
	source       string
	version      string
	distribution *Distribution
	files        []part
	publication  int64 // its number in the distribution
}

// part is a file that is published.
type part struct {
	file      File
	kind      debianKind
	listed    debian.Listed // by the .changes
	from      origin
	directory string // of the index that has it; "" is none
	stanza    string
}

// origin says where a file is before it is published.
type origin int

const (
	fromIncoming  origin = iota
	fromPackage          // it is in the package already
	fromElsewhere        // another version of the package has it
)

// process publishes an upload, or writes down why it cannot. Doing it twice is harmless.
func (s *Service) process(ctx context.Context, args process) error {
	d, u, err := s.unprocessed(ctx, args.Package)
	if err != nil || d == nil {
		return err
	}
	if d.direct {
		err = s.readDirect(ctx, d, u)
	} else {
		err = s.readChanges(ctx, d)
	}
	if err == nil {
		err = s.settle(ctx, d)
	}
	if reason, ok := errors.AsType[refused](err); ok {
		return s.refuse(ctx, d, string(reason))
	}
	return err
}

// unprocessed reads what a job is to process; nil where there is nothing more to do.
func (s *Service) unprocessed(ctx context.Context, id ID) (*processed, *debianUpload, error) {
	k, err := db.Get[Package](ctx, s.DB, "SELECT "+packageColumns+" FROM packages k WHERE k.id = ? AND k.kind = ? AND k.status = ?", id, Debian, Processing)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find upload: %w", err)
	}
	u, err := db.Get[debianUpload](ctx, s.DB, "SELECT "+db.Columns[debianUpload]("u")+" FROM debian_uploads u WHERE u.package_id = ?", id)
	if err != nil {
		return nil, nil, fmt.Errorf("find upload: %w", err)
	}
	f, err := db.Get[File](ctx, s.DB, "SELECT "+fileColumns+" FROM package_files f WHERE f.package_id = ? ORDER BY f.id LIMIT 1", id)
	if err != nil {
		return nil, nil, fmt.Errorf("find file of upload: %w", err)
	}
	found, err := s.Projects.Load(ctx, []project.ID{k.ProjectID})
	if err != nil || found[k.ProjectID] == nil {
		return nil, nil, err
	}
	return &processed{project: found[k.ProjectID], upload: &k, file: f, direct: u.Distribution != nil, level: u.Level}, &u, nil
}

// distributionNamed finds a distribution of the project by its codename or suite.
func (s *Service) distributionNamed(ctx context.Context, p *project.Project, name string) (*Distribution, error) {
	d, err := s.byName(ctx, p.NamespaceID, name)
	if errors.Is(err, errNoDistribution) {
		return nil, refusal("there is no distribution %.100q", name)
	}
	return d, err
}

// readDirect reads a binary package that goes straight into a distribution.
func (s *Service) readDirect(ctx context.Context, d *processed, u *debianUpload) error {
	one := part{file: d.file, kind: kindOf(d.file.Name)}
	b, err := s.readBinary(ctx, &one.file)
	if err != nil {
		return err
	}
	d.source, d.version = b.source, b.version
	if d.distribution, err = s.distributionNamed(ctx, d.project, *u.Distribution); err != nil {
		return err
	}
	if err := d.place(&one, b, *u.Component); err != nil {
		return err
	}
	d.files = []part{one}
	return nil
}

// place finds the index that a binary package goes into.
func (d *processed) place(one *part, b *binary, component string) error {
	if err := d.has(one.file.Name, component, b.architecture); err != nil {
		return err
	}
	one.directory, one.stanza = b.directory(one.kind, component), b.stanza
	return nil
}

// has refuses a component and an architecture that the distribution does not have.
func (d *processed) has(file, component, architecture string) error {
	switch {
	case !slices.Contains(d.distribution.Components, component):
		return refusal("component %.100q of %s is none of distribution %s", component, file, d.distribution.Codename)
	case architecture != "" && !slices.Contains(d.distribution.Architectures, architecture):
		return refusal("architecture %.100q of %s is none of distribution %s", architecture, file, d.distribution.Codename)
	}
	return nil
}

// watched remembers a failure to read, which is not the fault of who uploaded a file.
type watched struct {
	io.ReadSeeker

	err error
}

// Read passes on.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// readBinary reads the control file of a binary package.
func (s *Service) readBinary(ctx context.Context, f *File) (*binary, error) {
	o, err := s.Objects.Open(ctx, f.key())
	if err != nil {
		return nil, fmt.Errorf("open package file %d: %w", f.ID, err)
	}
	defer o.Close()
	from := &watched{ReadSeeker: o}
	p, err := debian.Control(from)
	if from.err != nil {
		return nil, fmt.Errorf("read package file %d: %w", f.ID, from.err)
	}
	if err != nil {
		return nil, refusal("%s: %s", f.Name, err)
	}
	return binaryOf(f.Name, p)
}

// readParagraph reads a .changes or .dsc.
func (s *Service) readParagraph(ctx context.Context, f *File) (debian.Paragraph, error) {
	o, err := s.Objects.Open(ctx, f.key())
	if err != nil {
		return nil, fmt.Errorf("open package file %d: %w", f.ID, err)
	}
	defer o.Close()
	text, err := io.ReadAll(io.LimitReader(o, debian.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("read package file %d: %w", f.ID, err)
	}
	if text, err = debian.Signed(text); err != nil {
		return nil, refusal("%s: %s", f.Name, err)
	}
	p, err := debian.Parse(text)
	if err != nil {
		return nil, refusal("%s: %s", f.Name, err)
	}
	return p, nil
}
