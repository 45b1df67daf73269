package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/spool"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// Archive is a file with everything that a commit holds.
type Archive struct {
	Name   string // such as "shop-main-<commit>.tar.gz"
	Type   string // of its content
	ETag   string // names the content
	Reader *spool.Reader
}

// archiveFormats says with which suffix the file of an archive ends for each suffix of the
// address.
var archiveFormats = map[string]string{
	"": tarGzip, "tar.gz": tarGzip, "tgz": tarGzip, "gz": tarGzip,
	"tar.bz2": tarBzip2, "tbz": tarBzip2, "tbz2": tarBzip2, "tb2": tarBzip2, "bz2": tarBzip2,
	"tar": plainTar, "zip": zipped,
}

// The formats of archives.
const (
	zipped   = "zip"
	plainTar = "tar"
	tarGzip  = "tar.gz"
	tarBzip2 = "tar.bz2"
)

// ArchiveSuffix returns the format that a file name ends with and the name without it; ok is false for all others.
func ArchiveSuffix(file string) (name, suffix string, ok bool) {
	for suffix := range archiveFormats {
		if before, found := strings.CutSuffix(file, "."+suffix); found && suffix != "" && len(before) > 0 && (!ok || len(before) < len(name)) {
			name, ok = before, true
		}
	}
	return name, strings.TrimPrefix(file[len(name):], "."), ok
}

// maxExcluded bounds how many paths are left out of one archive.
const maxExcluded = 100

// ArchiveInput says what an archive is made of.
type ArchiveInput struct {
	Ref      string   // "" is the default branch
	Path     string   // one folder or file; "" is everything
	Exclude  []string // folders and files to leave out, a hundred at most
	Suffix   string   // the format, as the address asks for it
	Pointers bool     // leave the pointers to large objects as they are
	Short    bool     // name it without the commit, as the addresses of pages do
}

// Archive opens the archive of a commit, or of one folder or file in it. It is made while
// it is read, kept, and given to all who ask for the same again. Close its Reader. What
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
	if len(in.Exclude) > maxExcluded {
		return nil, errs.Plain(fmt.Sprintf("exclude_paths names more than %d paths", maxExcluded))
	}
	if ref == "HEAD" {
		ref = ""
	}
	rev, err := resolve(ctx, r, p, ref, "File")
	if err != nil {
		return nil, err
	}
	if err := s.Limits.CheckAt(limit.Archive, as, p.Place()); err != nil {
		return nil, err
	}
	if err := s.checkDownload(ctx, as, p); err != nil {
		return nil, err
	}
	if ref == "" {
		ref = *p.DefaultBranch
	}
	path = gitstore.CleanPath(path)
	if path != "" {
		if _, err := r.Entry(ctx, rev.Commit, path); err != nil {
			return nil, missing(err, "File")
		}
	}
	folder := p.Path + "-" + ref
	if !in.Short {
		folder += "-" + rev.Commit.String()
	}
	folder = strings.Map(fileNameRune, folder)
	if path != "" {
		folder += "-" + strings.Map(fileNameRune, path)
	}
	large := false
	if !in.Pointers {
		if large, err = s.largeFiles(ctx, p); err != nil {
			return nil, err
		}
	}
	c := content{commit: rev.Commit, format: format, folder: folder, path: path, exclude: cleanPaths(in.Exclude)}
	parts := append([]string{strconv.FormatInt(int64(p.ID), 10), rev.Commit.String(), path, folder, format}, c.exclude...)
	if large {
		parts = append(parts, "", "large") // no path is empty
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	key := hex.EncodeToString(sum[:])
	out := &Archive{Name: folder + "." + format, Type: "application/octet-stream", ETag: `"` + key + `"`}
	if format == zipped {
		out.Type = "application/zip"
	}
	out.Reader, err = s.Archives.Open(ctx, key, func(ctx context.Context, w io.Writer) error {
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

// cleanPaths brings paths into one form and order, so that the same archive is kept once.
func cleanPaths(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if p = gitstore.CleanPath(p); p != "" && !strings.ContainsRune(p, 0) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// content is what an archive holds: the folder at a path of a commit, below a folder.
type content struct {
	commit       gitstore.ObjectID
	format       string
	folder, path string
	exclude      []string
}

// make lets git make an archive without compression beyond its own.
func (c content) make(ctx context.Context, r *gitcmd.Repo, format gitcmd.ArchiveFormat, w io.Writer) error {
	return r.Archive(ctx, gitcmd.ArchiveInput{Commit: c.commit, Format: format, Prefix: c.folder, Path: c.path, Exclude: c.exclude}, w)
}

// write lets git make the archive and compresses it.
func (c content) write(ctx context.Context, r *gitcmd.Repo, w io.Writer) error {
	if c.format == zipped {
		return c.make(ctx, r, gitcmd.ArchiveZip, w)
	}
	z, err := compress(c.format, w)
	if err != nil {
		return err
	}
	if err := c.make(ctx, r, gitcmd.ArchiveTar, z); err != nil {
		return err
	}
	return z.Close()
}

// compress returns what makes the file of a format out of a tar.
func compress(format string, w io.Writer) (io.WriteCloser, error) {
	switch format {
	case tarGzip:
		return gzip.NewWriterLevel(w, gzip.DefaultCompression)
	case tarBzip2:
		return bzip2.NewWriter(w, nil)
	}
	return plain{w}, nil
}

// plain compresses nothing.
type plain struct{ io.Writer }

// Close does nothing: the writer below is the caller's.
func (plain) Close() error { return nil }
