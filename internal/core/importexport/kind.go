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

// OfGroup reports whether an archive is one of a group, or else of a project, by the names in it. It is Unprocessable where it is neither.
func OfGroup(ctx context.Context, from io.Reader) (bool, error) {
	refused := errs.New(errs.Unprocessable, "The file is no archive of a project or group.")
	zip, err := gzip.NewReader(from)
	if err != nil {
		return false, refused
	}
	r := tar.NewReader(&counted{from: zip, of: &unpacking{}, until: time.Now().Add(reading), ctx: ctx})
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
