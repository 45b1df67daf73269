package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"
)

// The bounds of the control member of a binary package.
const (
	maxPacked   = 8 << 20  // bytes as it is compressed
	maxUnpacked = 32 << 20 // bytes that are read of it
	maxWindow   = 64 << 20 // bytes that a decompressor keeps, what xz -9 asks for
	maxMembers  = 16       // of the archive that are looked at
	maxEntries  = 1000     // of the control member that are looked at
)

// Control reads the control file of a binary package: a .deb, .udeb or .ddeb.
func Control(from io.ReadSeeker) (Paragraph, error) {
	magic := make([]byte, 8)
	if _, err := io.ReadFull(from, magic); err != nil || string(magic) != "!<arch>\n" {
		return nil, errors.New("no Debian package")
	}
	for i := range maxMembers {
		name, size, err := member(from)
		if err != nil {
			return nil, err
		}
		pad := size & 1 // members begin at even places
		switch {
		case i == 0:
			version := make([]byte, min(size, 64))
			if _, err := io.ReadFull(from, version); err != nil || name != "debian-binary" || !bytes.HasPrefix(version, []byte("2.")) {
				return nil, errors.New("no Debian package of format 2")
			}
			size -= int64(len(version))
		case name == "control.tar" || strings.HasPrefix(name, "control.tar."):
			if size > maxPacked {
				return nil, fmt.Errorf("control member of more than %d bytes", maxPacked)
			}
			return controlOf(io.LimitReader(from, size), path.Ext(name))
		case !strings.HasPrefix(name, "_"):
			return nil, fmt.Errorf("member %.20q before the control member", name)
		}
		if _, err := from.Seek(size+pad, io.SeekCurrent); err != nil {
			return nil, fmt.Errorf("read package: %w", err)
		}
	}
	return nil, errors.New("no control member")
}

// member reads the header of a member of an archive.
func member(from io.Reader) (name string, size int64, err error) {
	head := make([]byte, 60)
	if _, err := io.ReadFull(from, head); err != nil {
		return "", 0, errors.New("no control member")
	}
	size, err = strconv.ParseInt(strings.TrimRight(string(head[48:58]), " "), 10, 64)
	if err != nil || size < 0 || string(head[58:]) != "`\n" {
		return "", 0, errors.New("header of a member that is none")
	}
	return strings.TrimSuffix(strings.TrimRight(string(head[:16]), " "), "/"), size, nil
}

// controlOf reads the control file out of a control member.
func controlOf(from io.Reader, ext string) (Paragraph, error) {
	switch ext {
	case ".tar":
	case ".gz":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("control member: %w", err)
		}
		from = z
	case ".xz":
		z, err := xz.NewReader(from, maxWindow)
		if err != nil {
			return nil, fmt.Errorf("control member: %w", err)
		}
		from = z
	case ".zst":
		z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("control member: %w", err)
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("control member with the unknown compression %.10q", ext)
	}
	t := tar.NewReader(io.LimitReader(from, maxUnpacked))
	for range maxEntries {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("control member: %w", err)
		}
		if path.Clean(h.Name) != "control" || h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(t, MaxText+1))
		if err != nil {
			return nil, fmt.Errorf("control file: %w", err)
		}
		p, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("control file: %w", err)
		}
		return p, nil
	}
	return nil, errors.New("no control file")
}
