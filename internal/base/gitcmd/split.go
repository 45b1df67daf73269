package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
)

// longestName bounds in bytes what Split takes for the name of a reference; longer ones are
// not valid.
const longestName = 1024

// Split finds where the name of a commit ends in a path that goes on with that of a file, as
// in main/docs/guide.md. It tries a full object id, then the names of branches and tags, then
// those of other references, the longest first, and an abbreviated id at last. Unlike
// [Repo.Resolve] it has a branch before the tag of the same name, which tags/x names. A path
// that does not begin with the name of a commit is ErrNotFound. References are looked up
// without a process for each.
func (r *Repo) Split(ctx context.Context, path string) (name, file string, rev Revision, err error) {
	first, rest, _ := strings.Cut(path, "/")
	if len(first) == 40 && gitstore.IsHex(first) {
		if rev, err = r.Resolve(ctx, first); !errors.Is(err, gitstore.ErrNotFound) {
			return first, rest, rev, err
		}
	}
	for _, choose := range []func(string) []string{common, uncommon} {
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			if end > longestName {
				continue
			}
			rev, err := r.named(ctx, choose(path[:end]))
			if !errors.Is(err, gitstore.ErrNotFound) {
				return path[:end], strings.TrimPrefix(path[end:], "/"), rev, err
			}
		}
	}
	rev, err = r.abbreviated(ctx, first)
	return first, rest, rev, err
}

// common returns the branch and the tag of a name, and the reference whose whole name it is.
func common(name string) []string {
	all := candidates(name)
	if len(all) > 1 && all[0] == gitstore.Tags+name {
		all[0], all[1] = all[1], all[0]
	}
	return all[:max(len(all)-1, min(len(all), 1))]
}

// uncommon returns what common leaves out.
func uncommon(name string) []string {
	if all := candidates(name); len(all) > 1 {
		return all[len(all)-1:]
	}
	return nil
}

// named returns the first of some references that names a commit. ErrNotFound is for none.
func (r *Repo) named(ctx context.Context, names []string) (Revision, error) {
	for _, full := range names {
		ref := gitstore.RefName(full)
		if !ref.Valid() {
			continue
		}
		id, err := r.Ref(ctx, ref)
		if err == nil {
			var rev Revision
			if rev, err = r.revision(ctx, ref, id); err == nil {
				return rev, nil
			}
		}
		if !errors.Is(err, gitstore.ErrNotFound) {
			return Revision{}, err
		}
	}
	return Revision{}, fmt.Errorf("no such reference: %w", gitstore.ErrNotFound)
}
