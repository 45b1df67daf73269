package ci

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// maxEntries is how many files of an archive are listed.
const maxEntries = 100_000

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
	return unzip(a, o)
}

// unzip opens an artifact as an archive.
func (s *Service) unzip(ctx context.Context, a *Artifact) (*opened, error) {
	a, o, err := s.openArtifact(ctx, a)
	if err != nil {
		return nil, err
	}
	return unzip(a, o)
}

func unzip(a *Artifact, o *blob.Object) (*opened, error) {
	z, err := zip.NewReader(&at{o: o}, a.Size)
	if err != nil || len(z.File) > maxEntries {
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
	found := map[string]ArchiveEntry{}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		if !validPath(name) {
			continue
		}
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if _, ok := found[parent]; ok {
				break
			}
			found[parent] = ArchiveEntry{Path: parent, Folder: true, Mode: 0o755}
		}
		info := f.FileInfo()
		found[name] = ArchiveEntry{Path: name, Folder: info.IsDir(), Size: info.Size(), Mode: info.Mode().Perm()}
	}
	if at, ok := found[folder]; folder != "" && (!ok || !at.Folder) {
		return none, errs.Missing("")
	}
	var out []ArchiveEntry
	for name, e := range found {
		parent := strings.TrimSuffix(path.Dir(name), ".")
		if parent == folder || f.Recursive && (folder == "" || strings.HasPrefix(name, folder+"/")) {
			if e.Folder {
				e.Size = 0
			}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b ArchiveEntry) int { return strings.Compare(a.Path, b.Path) })
	return page.Slice(out, f.Range, page.Order{page.Text("path", "")}, func(e *ArchiveEntry) []any { return []any{e.Path} })
}

// validPath refuses paths that leave the archive.
func validPath(name string) bool { return fs.ValidPath(name) && name != "." }
