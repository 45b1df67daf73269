package importexport

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/scratch"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// write writes the archive of a project or group as a user may read it.
func (s *Service) write(ctx context.Context, as authz.Actor, at authz.Place, e *Export, to io.Writer) (err error) {
	dir, err := scratch.Make(s.Scratch, "export-")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	zip := gzip.NewWriter(to)
	a := &archive{ctx: ctx, tar: tar.NewWriter(newPaced(ctx, zip)), dir: dir.Path, now: s.Now().UTC().Truncate(time.Second), seen: map[string]bool{}, lost: map[string]int{}}
	err = errors.Join(s.fill(ctx, a, as, at, e), a.tar.Close(), zip.Close())
	for _, name := range slices.Sorted(maps.Keys(a.lost)) {
		s.Log.WarnContext(ctx, "rows left out of an export: their line would be too long",
			slog.Int64("export", int64(e.ID)), slog.String("relation", name), slog.Int("rows", a.lost[name]))
	}
	return err
}

// fill writes all entries.
func (s *Service) fill(ctx context.Context, a *archive, as authz.Actor, at authz.Place, e *Export) error {
	for _, text := range []struct{ name, content string }{{"VERSION", version}, {"GITLAB_VERSION", format}, {"GITLAB_REVISION", s.Revision}} {
		if err := a.text(text.name, text.content); err != nil {
			return err
		}
	}
	if at.Group {
		return s.groups(ctx, a, as, at)
	}
	shown := *project.Of(at)
	if e.Description != nil {
		shown.Description = e.Description
	}
	return s.part(ctx, a, as, shown.Place(), part{root: root, file: "tree/project.json", folder: "tree/project", files: slices.Concat(files, countedFiles)})
}

// part is a project or group in an archive.
type part struct {
	root   string // relation of it itself
	file   string // of that relation
	folder string // of the others
	files  []file
}

// reading begins a run over a project or group.
func (s *Service) reading(as authz.Actor, at authz.Place) (*tree.Reading, error) {
	r := &tree.Reading{DB: s.DB, Policy: s.Policy, As: as, At: at}
	all, err := s.Catalogue(r.Tree())
	r.All = all
	return r, err
}

// part writes the files of a project, or of one group.
func (s *Service) part(ctx context.Context, a *archive, as authz.Actor, at authz.Place, p part) error {
	r, err := s.reading(as, at)
	if err != nil {
		return err
	}
	defer func() {
		for name, n := range r.Lost {
			a.lost[name] += n
		}
	}()
	for _, carrier := range s.Carriers() {
		for _, files := range carrier.Moving() {
			if !r.Reads(files) {
				continue
			}
			put := func(name string, size int64, open func(ctx context.Context) (io.ReadCloser, error)) error {
				return a.put(ctx, name, size, open)
			}
			if err := files.Each(ctx, r, put); err != nil {
				return fmt.Errorf("export %s: %w", files.Name, err)
			}
		}
	}
	if err := a.relation(ctx, r, p.file, file{p.root, true}); err != nil {
		return err
	}
	for _, f := range p.files {
		if err := a.relation(ctx, r, p.folder+"/"+f.name+".ndjson", f); err != nil {
			return err
		}
	}
	return nil
}

// archive is one that is being written.
type archive struct {
	ctx  context.Context // of the export
	tar  *tar.Writer
	dir  string // for files whose size is not known before they are written
	now  time.Time
	seen map[string]bool // folders
	lost map[string]int  // rows left out, by relation
}

// folders writes the entries of the folders above a name.
func (a *archive) folders(name string) error {
	path := "./"
	for _, part := range strings.SplitAfter("./"+name[:strings.LastIndexByte(name, '/')+1], "/") {
		if part == "./" || part == "" {
			part = ""
		}
		path += part
		if a.seen[path] {
			continue
		}
		a.seen[path] = true
		if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path, Mode: 0o700, ModTime: a.now}); err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
	}
	return nil
}

// text writes a small file.
func (a *archive) text(name, content string) error {
	return a.copy(name, int64(len(content)), strings.NewReader(content))
}

// copy writes a file of a known size.
func (a *archive) copy(name string, size int64, from io.Reader) error {
	if err := a.folders(name); err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Mode: 0o600, Size: size, ModTime: a.now}); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if _, err := io.CopyN(a.tar, from, size); err != nil {
		return fmt.Errorf("write %s to archive: %w", name, err)
	}
	return nil
}

// put writes a file, or a folder where the name ends in a slash.
func (a *archive) put(ctx context.Context, name string, size int64, open func(ctx context.Context) (io.ReadCloser, error)) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if strings.HasSuffix(name, "/") {
		return a.folders(name)
	}
	from, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if size >= 0 {
		return a.copy(name, size, from)
	}
	return a.spool(name, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// spool writes a file whose size is known once it is written.
func (a *archive) spool(name string, write func(to io.Writer) error) (err error) {
	f, err := os.CreateTemp(a.dir, "")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := write(newPaced(a.ctx, f)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return a.copy(name, size, f)
}

// relation writes the file of a relation.
func (a *archive) relation(ctx context.Context, r *tree.Reading, name string, f file) error {
	rel := r.All.Find(f.name)
	return a.spool(name, func(to io.Writer) error {
		out := bufio.NewWriterSize(to, 64<<10)
		lines := 0
		if rel != nil {
			err := r.Lines(ctx, rel, func(line []byte) error {
				if lines++; !f.single {
					line = append(line, '\n')
				}
				_, err := out.Write(line)
				return err
			})
			if err != nil {
				return err
			}
		}
		if f.single && lines == 0 {
			if _, err := out.WriteString("null"); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}
