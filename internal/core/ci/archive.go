package ci

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// What is read of the list of files of an archive.
const (
	maxEntries     = 100_000 // files of an archive, and files and folders that it lists
	maxEntryPath   = 4096    // bytes of a path; a longer one is left out
	maxEntryFolder = 100     // folders of a path; a deeper one is left out
)

// ArchiveFile is a file in the archive of a job.
type ArchiveFile struct {
	Name string
	Size int64 // bytes
	io.ReadCloser
}

// ArchiveEntry is a file or folder in the archive of a job.
type ArchiveEntry struct {
	Path   string
	Folder bool
	Size   int64       // bytes, of a file
	Mode   fs.FileMode // permissions
}

// Name is the last part of the path.
func (e *ArchiveEntry) Name() string { return path.Base(e.Path) }

// opened is a whole archive that stays open as long as a file of it is read.
type opened struct {
	*zip.Reader
	object *blob.Object
}

// at reads an object at any place, one caller at a time.
type at struct {
	mu sync.Mutex
	o  io.ReadSeeker
}

// listing reads the list of files of an archive, until there are too many or the caller has
// left. What an archive says of their number need not be true, so that it counts what
// each entry begins with.
type listing struct {
	*at
	ctx  context.Context // of one call of zip.NewReader
	left int
	next int64  // where the last read ended
	tail []byte // of that read, which may be the beginning of an entry
}

const entryMark = "PK\x01\x02"

func (l *listing) ReadAt(p []byte, off int64) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.at.ReadAt(p, off)
	if off != l.next {
		l.tail = nil
	}
	seen := append(l.tail, p[:n]...)
	l.left -= bytes.Count(seen, []byte(entryMark))
	l.next, l.tail = off+int64(n), slices.Clone(seen[max(0, len(seen)-len(entryMark)+1):])
	if l.left < 0 {
		return 0, errEntries
	}
	return n, err
}

var errEntries = errors.New("too many files in an archive")

func (a *at) ReadAt(p []byte, off int64) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.o.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(a.o, p)
}

func (s *Service) openZip(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*opened, error) {
	a, o, err := s.OpenArtifact(ctx, as, p, id, Archive)
	if err != nil {
		return nil, err
	}
	return unzip(ctx, a, o)
}

// unzip opens an artifact as an archive.
func (s *Service) unzip(ctx context.Context, a *Artifact) (*opened, error) {
	a, o, err := s.openArtifact(ctx, a)
	if err != nil {
		return nil, err
	}
	return unzip(ctx, a, o)
}

func unzip(ctx context.Context, a *Artifact, o *blob.Object) (*opened, error) {
	l := &listing{at: &at{o: o}, ctx: ctx, left: maxEntries + maxEntries/10} // the end is read twice
	z, err := zip.NewReader(l, a.Size)
	l.ctx, l.left = context.WithoutCancel(ctx), math.MaxInt // contents may look like entries
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), o.Close())
	case err != nil, len(z.File) > maxEntries:
		_ = o.Close()
		return nil, errs.Missing("")
	}
	return &opened{z, o}, nil
}

// file opens a file of the archive, which is closed with it or where the file is not there.
func (z *opened) file(name string) (*ArchiveFile, error) {
	for _, f := range z.File {
		if f.Name != name || f.FileInfo().IsDir() {
			continue
		}
		content, err := f.Open()
		if err != nil {
			break
		}
		return &ArchiveFile{Name: path.Base(name), Size: f.FileInfo().Size(), ReadCloser: &inside{content, z.object}}, nil
	}
	_ = z.object.Close()
	return nil, errs.Missing("")
}

// OpenFile opens one file in the archive of a job, without unpacking the rest. Close it.
func (s *Service) OpenFile(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, name string) (*ArchiveFile, error) {
	if !validPath(name) {
		return nil, errs.Bad("")
	}
	z, err := s.openZip(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	return z.file(name)
}

// inside is a file in an archive, which is closed with it.
type inside struct {
	io.ReadCloser
	object *blob.Object
}

func (i *inside) Close() error {
	if err := errors.Join(i.ReadCloser.Close(), i.object.Close()); err != nil {
		return fmt.Errorf("close archive: %w", err)
	}
	return nil
}

// TreeFilter selects what ArchiveTree lists.
type TreeFilter struct {
	Folder    string // "" is the root
	Recursive bool   // with all that is below
	page.Range
}

// ArchiveTree lists a folder in the archive of a job: files and folders by name.
func (s *Service) ArchiveTree(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, f TreeFilter) (page.Page[ArchiveEntry], error) {
	var none page.Page[ArchiveEntry]
	folder := strings.Trim(f.Folder, "/")
	if folder != "" && !validPath(folder) {
		return none, errs.Bad("")
	}
	z, err := s.openZip(ctx, as, p, id)
	if err != nil {
		return none, err
	}
	defer func() { _ = z.object.Close() }()
	out, err := z.tree(ctx, folder, f.Recursive)
	if err != nil {
		return none, err
	}
	slices.SortFunc(out, func(a, b ArchiveEntry) int { return strings.Compare(a.Path, b.Path) })
	return page.Slice(out, f.Range, page.Order{page.Text("path", "")}, func(e *ArchiveEntry) []any { return []any{e.Path} })
}

// tree lists what is in a folder, or at any depth below it, in no order.
func (z *opened) tree(ctx context.Context, folder string, recursive bool) ([]ArchiveEntry, error) {
	prefix := ""
	if folder != "" {
		prefix = folder + "/"
	}
	found := map[string]ArchiveEntry{}
	there := folder == ""
	for i, f := range z.File {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		name := strings.TrimSuffix(f.Name, "/")
		if len(name) > maxEntryPath || strings.Count(name, "/") > maxEntryFolder || !validPath(name) {
			continue
		}
		if name == folder && f.FileInfo().IsDir() {
			there = true
		}
		if len(name) <= len(prefix) || !strings.HasPrefix(name, prefix) {
			continue
		}
		there = true
		for at := strings.LastIndexByte(name, '/'); at >= len(prefix); at = strings.LastIndexByte(name[:at], '/') {
			parent := name[:at]
			if !recursive && strings.Contains(parent[len(prefix):], "/") {
				continue
			}
			if _, ok := found[parent]; ok {
				break
			}
			found[parent] = ArchiveEntry{Path: parent, Folder: true, Mode: 0o755}
		}
		if recursive || !strings.Contains(name[len(prefix):], "/") {
			e := ArchiveEntry{Path: name, Folder: f.FileInfo().IsDir(), Mode: f.FileInfo().Mode().Perm()}
			if !e.Folder {
				e.Size = f.FileInfo().Size()
			}
			found[name] = e
		}
		if len(found) > maxEntries {
			return nil, errs.New(errs.Unprocessable, fmt.Sprintf("The archive has more than %d files and folders", maxEntries))
		}
	}
	if !there {
		return nil, errs.Missing("")
	}
	return slices.Collect(maps.Values(found)), nil
}

// validPath refuses paths that leave the archive.
func validPath(name string) bool { return fs.ValidPath(name) && name != "." }
