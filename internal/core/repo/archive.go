package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/spool"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Archive is a file with everything that a commit holds.
type Archive struct {
	Name   string // such as "shop-main-<commit>.tar.gz"
	Type   string // of its content
	ETag   string // names the content
	Reader *spool.Reader
}

// archiveFormats says which format and which suffix of the file name each suffix of the
// address asks for (facts-1 §6.3).
var archiveFormats = map[string]gitcmd.ArchiveFormat{
	"": gitcmd.ArchiveTarGzip, "tar.gz": gitcmd.ArchiveTarGzip, "tgz": gitcmd.ArchiveTarGzip, "gz": gitcmd.ArchiveTarGzip,
	"tar.bz2": gitcmd.ArchiveTarBzip2, "tbz": gitcmd.ArchiveTarBzip2, "tbz2": gitcmd.ArchiveTarBzip2,
	"tb2": gitcmd.ArchiveTarBzip2, "bz2": gitcmd.ArchiveTarBzip2,
	"tar": gitcmd.ArchiveTar, "zip": gitcmd.ArchiveZip,
}

// ArchiveInput says what an archive is made of.
type ArchiveInput struct {
	Ref      string // "" is the default branch
	Path     string // one folder or file; "" is everything
	Suffix   string // the format, as the address asks for it
	Pointers bool   // leave the pointers to large objects as they are
}

// Archive opens the archive of a commit, or of one folder or file in it. It is made while
// it is read, kept, and given to whoever asks for the same again. Close its Reader. What
// cannot be archived is NotFound.
func (s *Service) Archive(ctx context.Context, as authz.Actor, p *project.Project, in ArchiveInput) (*Archive, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	ref, path := in.Ref, in.Path
	format, ok := archiveFormats[in.Suffix]
	if !ok {
		return nil, errs.Missing("File")
	}
	if ref == "HEAD" {
		ref = ""
	}
	rev, err := resolve(ctx, r, p, ref, "File")
	if err != nil {
		return nil, err
	}
	if ref == "" {
		ref = *p.DefaultBranch
	}
	path = gitcmd.CleanPath(path)
	if path != "" {
		if _, err := r.Entry(ctx, rev.Commit, path); err != nil {
			return nil, missing(err, "File")
		}
	}
	folder := strings.Map(fileNameRune, p.Path+"-"+ref+"-"+rev.Commit.String())
	if path != "" {
		folder += "-" + strings.Map(fileNameRune, path)
	}
	large := false
	if !in.Pointers {
		if large, err = s.largeFiles(ctx, p); err != nil {
			return nil, err
		}
	}
	parts := []string{strconv.FormatInt(int64(p.ID), 10), rev.Commit.String(), path, folder, string(format)}
	if large {
		parts = append(parts, "large")
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	key := hex.EncodeToString(sum[:])
	out := &Archive{Name: folder + "." + string(format), Type: "application/octet-stream", ETag: `"` + key + `"`}
	if format == gitcmd.ArchiveZip {
		out.Type = "application/zip"
	}
	out.Reader, err = s.archives.Open(ctx, key, func(ctx context.Context, w io.Writer) error {
		c := content{commit: rev.Commit, format: format, folder: folder, path: path}
		if large {
			return s.writeLarge(ctx, p.ID, c, r, w)
		}
		return c.write(ctx, r, w)
	})
	if err != nil {
		return nil, missing(fmt.Errorf("make archive: %w", err), "File")
	}
	return out, nil
}

// fileNameRune replaces what may not stand in the name of a file.
func fileNameRune(c rune) rune {
	if c == '/' || c == '\\' || c == '"' || c < ' ' || c == 0x7f {
		return '-'
	}
	return c
}

// content is what an archive holds: the folder at a path of a commit, below a folder.
type content struct {
	commit       gitcmd.ObjectID
	format       gitcmd.ArchiveFormat
	folder, path string
}

// write lets git make the archive. It compresses here what git would compress with a
// slower implementation.
func (c content) write(ctx context.Context, r *gitcmd.Repo, w io.Writer) error {
	if c.format != gitcmd.ArchiveTarGzip {
		return r.Archive(ctx, c.commit, c.format, c.folder, c.path, w)
	}
	z, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
	if err != nil {
		return fmt.Errorf("compress archive: %w", err)
	}
	if err := r.Archive(ctx, c.commit, gitcmd.ArchiveTar, c.folder, c.path, z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress archive: %w", err)
	}
	return nil
}
