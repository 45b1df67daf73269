package repo

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

// writeLarge is content.write with large objects in the place of the pointers to them:
// git makes a tar, whose files are taken over one by one.
func (s *Service) writeLarge(ctx context.Context, id project.ID, c content, r *gitcmd.Repo, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	made := make(chan error, 1)
	go func() { // ends with git, which ends with ctx or a pipe that is not read
		err := r.Archive(ctx, c.commit, gitcmd.ArchiveTar, c.folder, c.path, to)
		_ = to.CloseWithError(err) // nil is the end of the file
		made <- err
	}()
	err := s.repack(ctx, id, c.format, from, w)
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
	return err
}

// repack writes the files of a tar in another format.
func (s *Service) repack(ctx context.Context, id project.ID, format gitcmd.ArchiveFormat, from io.Reader, w io.Writer) error {
	switch format {
	case gitcmd.ArchiveZip:
		return s.copyArchive(ctx, id, tar.NewReader(from), &zipArchive{zip.NewWriter(w)})
	case gitcmd.ArchiveTarGzip:
		z, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
		if err != nil {
			return fmt.Errorf("compress archive: %w", err)
		}
		err = s.copyArchive(ctx, id, tar.NewReader(from), &tarArchive{tar.NewWriter(z)})
		return errors.Join(err, z.Close())
	case gitcmd.ArchiveTarBzip2:
		in, plain := io.Pipe()
		copied := make(chan error, 1)
		go func() { // ends with its input, or when nobody reads its output
			err := s.copyArchive(ctx, id, tar.NewReader(from), &tarArchive{tar.NewWriter(plain)})
			_ = plain.CloseWithError(err)
			copied <- err
		}()
		err := s.git.Bzip2(ctx, in, w)
		_ = in.CloseWithError(io.ErrClosedPipe)
		return errors.Join(err, <-copied)
	default:
		return s.copyArchive(ctx, id, tar.NewReader(from), &tarArchive{tar.NewWriter(w)})
	}
}

// archiveWriter takes the files of an archive, one after the other.
type archiveWriter interface {
	// Add begins a file; its content is written to what Add gives.
	Add(h *tar.Header) (io.Writer, error)
	Close() error
}

// copyArchive copies files, and large objects where there are pointers to them.
func (s *Service) copyArchive(ctx context.Context, id project.ID, from *tar.Reader, to archiveWriter) error {
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if err := s.copyFile(ctx, id, h, from, to); err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
	}
}

func (s *Service) copyFile(ctx context.Context, id project.ID, h *tar.Header, from io.Reader, to archiveWriter) error {
	if h.Typeflag == tar.TypeReg && h.Size < lfs.MaxPointer {
		content, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		from = strings.NewReader(string(content))
		large, err := s.large(ctx, id, content)
		if err != nil {
			return err
		}
		if large != nil {
			defer large.Close()
			h.Size, from = large.Size, large
		}
	}
	w, err := to.Add(h)
	if err != nil || w == nil {
		return err
	}
	_, err = io.Copy(w, from)
	return err
}

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
