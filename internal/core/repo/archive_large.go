package repo

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/spool"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

// larges puts large objects into an archive of a project.
type larges struct {
	*Service
	project project.ID
	left    int64 // bytes of large objects that may still go in
	absent  bool  // a pointer stayed, because the project has not what it points to
}

// maxRepeated is how many times the large objects that the project has an archive holds at
// most, unless they are fewer than Deps.ArchiveLarge: a thousand pointers to one object are
// a small commit and would be a huge archive.
const maxRepeated = 4

// writeLarge is content.write with large objects in the place of the pointers to them:
// git makes a tar, whose files are taken over one by one. An archive in which a pointer
// stayed is not kept, because the object may come yet.
func (s *Service) writeLarge(ctx context.Context, id project.ID, c content, r *gitcmd.Repo, w io.Writer) error {
	sizes, err := s.LFS.Sizes(ctx, []project.ID{id})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	made := make(chan error, 1)
	go func() { // ends with git, which ends with ctx or a pipe that is not read
		err := c.make(ctx, r, gitcmd.ArchiveTar, to)
		_ = to.CloseWithError(err) // nil is the end of the file
		made <- err
	}()
	l := larges{Service: s, project: id, left: max(s.ArchiveLarge, maxRepeated*sizes[id])}
	err = l.repack(ctx, c.format, from, w)
	if err == nil {
		_, err = io.Copy(io.Discard, from) // a tar ends with padding
	}
	_ = from.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		cancel()
	}
	if failed := <-made; failed != nil && err == nil {
		err = failed
	}
	if err == nil && l.absent {
		err = spool.ErrUnkept
	}
	return err
}

// repack writes the files of a tar in another format.
func (l *larges) repack(ctx context.Context, format string, from io.Reader, w io.Writer) error {
	if format == zipped {
		return l.copy(ctx, tar.NewReader(from), &zipArchive{zip.NewWriter(w)})
	}
	z, err := compress(format, w)
	if err != nil {
		return err
	}
	err = l.copy(ctx, tar.NewReader(from), &tarArchive{tar.NewWriter(z)})
	return errors.Join(err, z.Close())
}

// archiveWriter takes the files of an archive, one after the other.
type archiveWriter interface {
	// Add begins a file; its content is written to what Add gives.
	Add(h *tar.Header) (io.Writer, error)
	Close() error
}

// copy copies files, and large objects where there are pointers to them.
func (l *larges) copy(ctx context.Context, from *tar.Reader, to archiveWriter) error {
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if err := l.copyFile(ctx, h, from, to); err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
	}
}

func (l *larges) copyFile(ctx context.Context, h *tar.Header, from io.Reader, to archiveWriter) error {
	if h.Typeflag == tar.TypeReg && h.Size < lfs.MaxPointer {
		content, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		from = bytes.NewReader(content)
		if pointer, ok := lfs.ParsePointer(content); ok {
			large, err := l.open(ctx, pointer)
			if err != nil {
				return err
			}
			if large != nil {
				defer large.Close()
				h.Size, from = large.Size, large
			}
		}
	}
	w, err := to.Add(h)
	if err != nil || w == nil {
		return err
	}
	_, err = io.Copy(w, from)
	return err
}

// open returns the object of a pointer, nil where the project has it not.
func (l *larges) open(ctx context.Context, pointer lfs.Pointer) (*blob.Object, error) {
	large, err := l.LFS.Content(ctx, l.project, pointer.OID)
	if errs.Is(err, errs.NotFound) {
		l.absent = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if l.left -= large.Size; l.left < 0 {
		return nil, errors.Join(errLarges, large.Close())
	}
	return large, nil
}

// errLarges ends an archive in which the same large objects come too often.
var errLarges = errs.New(errs.TooLarge, "")

type tarArchive struct{ *tar.Writer }

// Add begins a file.
func (t *tarArchive) Add(h *tar.Header) (io.Writer, error) {
	h.Format = tar.FormatUnknown // whatever its new size needs
	return t.Writer, t.WriteHeader(h)
}

type zipArchive struct{ *zip.Writer }

// Add begins a file; folders and links have no content to copy.
func (z *zipArchive) Add(h *tar.Header) (io.Writer, error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil, z.SetComment(h.PAXRecords["comment"])
	}
	info, err := zip.FileInfoHeader(h.FileInfo())
	if err != nil {
		return nil, err
	}
	info.Name, info.Modified, info.Method = h.Name, h.ModTime, zip.Deflate
	if h.Typeflag == tar.TypeDir {
		info.Method = zip.Store
	}
	w, err := z.CreateHeader(info)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Typeflag == tar.TypeReg:
		return w, nil
	case info.Mode()&fs.ModeSymlink != 0:
		_, err = io.WriteString(w, h.Linkname)
	}
	return nil, err
}
