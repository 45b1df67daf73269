package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/gitstore"
)

// Inspect looks at a repository without reading its objects, and says in a few words
// each what is wrong: files that a crash left, references to nothing, a HEAD that is
// none, a pool that is not there.
func (r *Repo) Inspect(ctx context.Context, now time.Time) ([]string, error) {
	if !r.Exists() {
		return []string{"the repository is not there"}, nil
	}
	found, err := r.Leftovers(ctx, now)
	if err != nil {
		return nil, err
	}
	if head, err := r.Head(ctx); err != nil || !head.IsBranch() {
		found = append(found, "HEAD names no branch")
	}
	if pool, err := r.Linked(); err != nil {
		found = append(found, "the file of alternates cannot be read")
	} else if pool != nil && !pool.Exists() {
		found = append(found, "it borrows objects from "+pool.Path()+", which is not there")
	}
	broken, err := r.brokenRefs(ctx)
	if err != nil {
		return nil, err
	}
	return append(found, broken...), nil
}

// brokenRefs looks for references that name nothing, or whose files hold something else
// than they should, as when the power went while one was written.
func (r *Repo) brokenRefs(ctx context.Context) ([]string, error) {
	refs, err := r.RefNames(ctx, "refs/")
	if err != nil {
		return []string{"the references cannot be read: " + err.Error()}, ctx.Err()
	}
	found, err := r.BrokenRefs(refs)
	if err != nil {
		return nil, err
	}
	ids := make([]gitstore.ObjectID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	absent, err := r.Absent(ctx, ids)
	if failed, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil {
		return append(found, "git cannot read the repository: "+strings.Join(strings.Fields(failed.Stderr), " ")), nil
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if absent[ref.ID] {
			found = append(found, fmt.Sprintf("%s names %s, which is not there", ref.Name, ref.ID))
		}
	}
	return found, nil
}

// Absent says which of the objects are not there, or cannot be read at all. A process of
// its own looks: the cache and those that are kept open know what was there before.
func (r *Repo) Absent(ctx context.Context, ids []gitstore.ObjectID) (map[gitstore.ObjectID]bool, error) {
	var in strings.Builder
	for _, id := range ids {
		in.WriteString(id.String() + "\n")
	}
	const line = 64 // bytes of an answer, and some
	out, err := r.git.output(ctx, call{
		repo: r, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: strings.NewReader(in.String()), load: long,
	}, line*len(ids)+line)
	if err != nil {
		return nil, err
	}
	absent := map[gitstore.ObjectID]bool{}
	for text := range strings.Lines(string(out)) {
		name, what, _ := strings.Cut(strings.TrimSpace(text), " ")
		id, err := gitstore.ParseObjectID(name)
		if err != nil {
			return nil, fmt.Errorf("git cat-file answered %q: %w", clip(text), err)
		}
		if what == "missing" {
			absent[id] = true
		}
	}
	return absent, nil
}
