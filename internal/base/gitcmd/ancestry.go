package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// MergeBase gives the best common ancestor of two or more commits: with more than
// two, that of all of them. ErrNotFound where they have none.
func (r *Repo) MergeBase(ctx context.Context, ids ...gitstore.ObjectID) (gitstore.ObjectID, error) {
	if len(ids) == 0 {
		return gitstore.ObjectID{}, fmt.Errorf("merge base of nothing: %w", gitstore.ErrBadName)
	}
	same := true
	args := []string{"merge-base", "--octopus"}
	for _, id := range ids {
		same = same && id == ids[0]
		args = append(args, id.String())
	}
	if same {
		return ids[0], nil
	}
	if len(ids) == 2 {
		args = append(args[:1], args[2:]...)
	}
	key := baseKey(r.Path(), ids)
	if base, ok := lru.Get[gitstore.ObjectID](r.git.results, key); ok {
		return found(base)
	}
	out, err := r.git.output(ctx, call{repo: r, args: args}, 4<<10)
	if code := exitCode(err); code == 1 {
		r.remember(r.git.results, key, gitstore.ObjectID{}, 250)
		return found(gitstore.ObjectID{})
	}
	if err != nil {
		return gitstore.ObjectID{}, missing(err)
	}
	bases, err := parseIDs(out)
	if err != nil || len(bases) == 0 {
		return gitstore.ObjectID{}, fmt.Errorf("merge base: unexpected answer %q", clip(string(out)))
	}
	r.remember(r.git.results, key, bases[0], 250)
	return bases[0], nil
}

// baseKey remembers the merge base of commits.
func baseKey(path string, ids []gitstore.ObjectID) resultKey {
	var all strings.Builder
	for _, id := range ids {
		all.Write(id[:])
	}
	return resultKey{path, "base", all.String()}
}

func found(base gitstore.ObjectID) (gitstore.ObjectID, error) {
	if base.IsZero() {
		return base, fmt.Errorf("merge base: %w", gitstore.ErrNotFound)
	}
	return base, nil
}

// exitCode gives the exit code of a failed process, 0 for no error, -1 for any other failure.
func exitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	default:
		return -1
	}
}

// ancestorKey remembers whether one commit is an ancestor of another.
type ancestorKey struct {
	path      string
	old, tips gitstore.ObjectID
}

// IsAncestor reports whether everything in old is in tip; a commit is its own ancestor.
func (r *Repo) IsAncestor(ctx context.Context, old, tip gitstore.ObjectID) (bool, error) {
	if old == tip {
		return true, nil
	}
	key := ancestorKey{r.Path(), old, tip}
	if yes, ok := lru.Get[bool](r.git.results, key); ok {
		return yes, nil
	}
	if yes, sure := r.near(ctx, old, tip); sure {
		r.remember(r.git.results, key, yes, 100)
		return yes, nil
	}
	err := r.git.run(ctx, call{repo: r, args: []string{"merge-base", "--is-ancestor", old.String(), tip.String()}})
	code := exitCode(err)
	if code != 0 && code != 1 {
		return false, missing(err)
	}
	r.remember(r.git.results, key, code == 0, 100)
	return code == 0, nil
}

// nearBy is how many commits are read before git is asked for an ancestor.
const nearBy = 16

// near looks for an ancestor among the last commits of a history, without a process of its
// own. sure is false where that does not tell.
func (r *Repo) near(ctx context.Context, old, tip gitstore.ObjectID) (yes, sure bool) {
	seen := map[gitstore.ObjectID]bool{tip: true}
	for queue := []gitstore.ObjectID{tip}; len(queue) > 0; queue = queue[1:] {
		if len(seen) > nearBy {
			return false, false
		}
		c, err := r.Commit(ctx, queue[0])
		if err != nil {
			return false, false
		}
		for _, parent := range c.Parents {
			if parent == old {
				return true, true
			}
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	// All of a short history was seen; old may be no commit at all.
	_, err := r.Commit(ctx, old)
	return false, err == nil
}

// MergedBranches reports for each branch whether all of its commits are in tip. Branches
// that did not move since they were last asked about cost nothing, all others one process together.
func (r *Repo) MergedBranches(ctx context.Context, branches []gitstore.Ref, tip gitstore.ObjectID) (map[gitstore.RefName]bool, error) {
	out := make(map[gitstore.RefName]bool, len(branches))
	var ask []gitstore.Ref
	for _, b := range branches {
		yes, ok := lru.Get[bool](r.git.results, ancestorKey{r.Path(), b.Peeled, tip})
		if ok || b.Peeled == tip {
			out[b.Name] = yes || b.Peeled == tip
			continue
		}
		ask = append(ask, b)
	}
	if len(ask) < 2 {
		for _, b := range ask {
			yes, err := r.IsAncestor(ctx, b.Peeled, tip)
			if err != nil {
				return nil, err
			}
			out[b.Name] = yes
		}
		return out, nil
	}
	args := []string{"for-each-ref", "--format=%(objectname)", "--merged=" + tip.String(), gitstore.Branches}
	text, err := r.git.output(ctx, call{repo: r, args: args}, maxIDs)
	if err != nil {
		return nil, missing(err)
	}
	ids, err := parseIDs(text)
	if err != nil {
		return nil, err
	}
	merged := make(map[gitstore.ObjectID]bool, len(ids))
	for _, id := range ids {
		merged[id] = true
	}
	for _, b := range ask {
		if !merged[b.Peeled] {
			now, err := r.Ref(ctx, b.Name)
			if err != nil || now != b.Peeled { // it moved while git looked: ask for this one alone
				if out[b.Name], err = r.IsAncestor(ctx, b.Peeled, tip); err != nil {
					return nil, err
				}
				continue
			}
		}
		out[b.Name] = merged[b.Peeled]
		r.remember(r.git.results, ancestorKey{r.Path(), b.Peeled, tip}, merged[b.Peeled], 100)
	}
	return out, nil
}
