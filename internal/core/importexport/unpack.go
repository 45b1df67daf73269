package importexport

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"tenon/internal/core/setting"
)

// Bounds of an archive that is read.
const (
	maxEntries  = 1_000_000
	maxPath     = 1024 // bytes of a name
	maxFolders  = 16   // above a file
	maxNamesLen = 128 << 20
)

// Why an archive is refused, in words for its user.
const (
	tooMuch     = "Decompressed archive size validation failed."
	invalidFile = "Invalid file"
)

// unpacking is one archive that is written to a folder.
type unpacking struct {
	to    *os.Root
	limit int64 // bytes of all entries together, 0 for no limit

	within time.Duration // for reading one file, 0 for no limit

	rename func(name string) string // of what an entry is written as; nil keeps names
	joined map[string]bool          // files that go on with what is written under their names again

	bytes   int64
	entries int
	names   int64
	outside []string // files that are not of the format, the first of them
}

// maxOutside bounds the files that are not of the format and are reported.
const maxOutside = 100

// counted counts what comes out of the compression.
type counted struct {
	from  io.Reader
	of    *unpacking
	until time.Time       // zero for no limit
	ctx   context.Context // of one unpacking
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	if !c.until.IsZero() && time.Now().After(c.until) {
		return 0, failure{tooMuch}
	}
	n, err := c.from.Read(p)
	if c.of.bytes += int64(n); c.of.limit > 0 && c.of.bytes > c.of.limit {
		return n, failure{tooMuch}
	}
	return n, err
}

// counted counts what is read of a file, and bounds the time of it.
func (u *unpacking) counted(ctx context.Context, from io.Reader) *counted {
	out := &counted{from: from, of: u, ctx: ctx}
	if u.within > 0 {
		out.until = time.Now().Add(u.within)
	}
	return out
}

// bounded is an unpacking into a folder within the bounds of the settings.
func bounded(to *os.Root, set *setting.Settings) *unpacking {
	return &unpacking{to: to, limit: int64(set.MaxDecompressedArchiveSize) << 20, within: time.Duration(set.DecompressArchiveFileTimeout) * time.Second}
}

// unpack writes the files of an archive below a folder. Links, devices, names that lead elsewhere, names that come twice and sparse files
// are refused, as is anything behind the end; what is not of the format is left aside.
func unpack(ctx context.Context, from io.Reader, u *unpacking) error {
	buffered := bufio.NewReaderSize(from, 64<<10)
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return failure{invalidFile}
	}
	zip.Multistream(false)
	in := u.counted(ctx, zip)
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := unreadable(ctx, err); err != nil {
			return err
		}
		if u.entries++; u.entries > maxEntries {
			return failure{"The archive has too many files."}
		}
		if err := u.entry(h, r); err != nil {
			return unreadable(ctx, err)
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return unreadable(ctx, err)
	}
	if _, err := buffered.ReadByte(); !errors.Is(err, io.EOF) {
		return failure{"The archive goes on behind its end."}
	}
	return nil
}

// unreadable words an error of reading an archive: what is not the fault of this server is the archive's.
func unreadable(ctx context.Context, err error) error {
	if _, known := errors.AsType[failure](err); err == nil || known || ctx.Err() != nil {
		return err
	}
	if _, of := errors.AsType[*fs.PathError](err); of { // of our own disk
		return err
	}
	return failure{invalidFile}
}

// entry writes one entry.
func (u *unpacking) entry(h *tar.Header, content io.Reader) error {
	name, err := entryName(h.Name)
	if err != nil {
		return err
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return failure{"The archive holds a sparse file: " + name}
		}
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir, tar.TypeReg:
	default:
		return failure{"The archive holds a link or a device: " + name}
	}
	if name == "." {
		return nil
	}
	if u.rename != nil {
		name = u.rename(name)
	}
	switch {
	case h.Typeflag == tar.TypeDir: // made with the files
		return nil
	case !ofFormat(name):
		if len(u.outside) < maxOutside && !passed(name) {
			u.outside = append(u.outside, name)
		}
		return nil
	}
	if u.names += int64(len(name)); u.names > maxNamesLen {
		return failure{"The archive has too many files."}
	}
	return u.file(name, content)
}

// file writes a file that is not there yet, or goes on with one that is joined of batches.
func (u *unpacking) file(name string, content io.Reader) (err error) {
	if folder := path.Dir(name); folder != "." {
		if err := u.to.MkdirAll(folder, 0o700); err != nil {
			return taken(name, err)
		}
	}
	how := os.O_EXCL
	if u.joined[name] {
		how = os.O_APPEND
	}
	f, err := u.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return taken(name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, content)
	return err
}

// taken words that a name cannot be made because of an entry before it.
func taken(name string, err error) error {
	if errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "not a directory") {
		return failure{"The archive holds a file twice: " + name}
	}
	return fmt.Errorf("unpack: %w", err)
}

// entryName is the name of an entry below the folder of the archive.
func entryName(name string) (string, error) {
	if len(name) > maxPath || strings.ContainsAny(name, "\x00\\") || path.IsAbs(name) {
		return "", failure{"The archive holds a file with a name that is not allowed."}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", failure{"The archive holds a file with a name that is not allowed."}
		}
	}
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || strings.Count(clean, "/") > maxFolders {
		return "", failure{"The archive holds a file with a name that is not allowed."}
	}
	return clean, nil
}

// ofApple reports whether file systems of Apple add a file of a name.
func ofApple(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, "._") || part == ".DS_Store" || part == "__MACOSX" {
			return true
		}
	}
	return false
}

// passed reports whether a file that is left aside says nothing that could be lost: it is added by a file system, or tells who wrote the archive.
func passed(name string) bool {
	return ofApple(name) || name == "GITLAB_VERSION" || name == "GITLAB_REVISION"
}

// ofFormat reports whether the format has a file or folder of a name. What file systems of Apple add is not of it.
func ofFormat(name string) bool {
	if ofApple(name) {
		return false
	}
	first, _, nested := strings.Cut(name, "/")
	switch first {
	case "VERSION", "project.json", "project.bundle", "project.wiki.bundle", "project.design.bundle", "lfs-objects.json":
		return !nested
	case "tree", "snippets", "uploads", "avatar", "lfs-objects", "repositories":
		return true
	}
	return false
}
