package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"tenon/internal/base/gitstore"
)

// PatchID returns the stable patch id of a comparison, "" where nothing differs. It is the same
// for a change that was rebased.
func (r *Repo) PatchID(ctx context.Context, a, b gitstore.ObjectID) (string, error) {
	diff, patch := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends with its git, which ends when the reader is closed
		err := r.RawDiff(ctx, a, b, patch)
		patch.CloseWithError(err)
		done <- err
	}()
	var out bytes.Buffer
	err := r.git.run(ctx, call{repo: r, args: []string{"patch-id", "--stable"}, stdin: diff, stdout: &out, load: brief})
	err = errors.Join(err, diff.Close())
	if failed := <-done; failed != nil && err == nil {
		err = failed
	}
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	return id, nil
}
