package importexport

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"tenon/internal/base/errs"
)

// reading bounds the time for looking at an archive.
const reading = 210 * time.Second

// OfGroup reports whether an archive is one of a group, or else of a project, by the names in it. It is Unprocessable where it is neither.
func OfGroup(ctx context.Context, from io.Reader) (bool, error) {
	refused := errs.New(errs.Unprocessable, "The file is no archive of a project or group.")
	zip, err := gzip.NewReader(from)
	if err != nil {
		return false, refused
	}
	r := tar.NewReader((&unpacking{within: reading}).counted(ctx, zip))
	for range maxEntries {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return false, refused
		}
		if err != nil {
			return false, errors.Join(ctx.Err(), refused)
		}
		switch name := strings.TrimPrefix(h.Name, "./"); {
		case strings.HasPrefix(name, "tree/groups/"):
			return true, nil
		case strings.HasPrefix(name, "tree/project"), name == "project.json":
			return false, nil
		}
	}
	return false, refused
}
