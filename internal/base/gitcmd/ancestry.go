package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// MergeBase returns the best common ancestor of two or more commits: with more than
// two, that of all of them. ErrNotFound where they have none.
func (r *Repo) MergeBase(ctx context.Context, ids ...gitstore.ObjectID) (gitstore.ObjectID, error) {
	if len(ids) == 0 {
		return gitstore.ObjectID{}, fmt.Errorf("merge base of nothing: %w", gitstore.ErrBadName)
	}
	same := true
	for _, id := range ids {
		same = same && id == ids[0]
	}
	if same {
		return ids[0], nil
	}
	bases, err := r.MergeBases(ctx, ids...)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	if len(bases) == 0 {
		return gitstore.ObjectID{}, fmt.Errorf("merge base: %w", gitstore.ErrNotFound)
	}
	return bases[0], nil
}

// MergeBases returns all best common ancestors, none being no error. Those of two commits
// that are near each other take no process.
func (r *Repo) MergeBases(ctx context.Context, ids ...gitstore.ObjectID) ([]gitstore.ObjectID, error) {
	key := baseKey(r.Path(), ids)
	if bases, ok := lru.Get[[]gitstore.ObjectID](r.git.results, key); ok {
		return bases, nil
	}
	if len(ids) == 2 {
		if base, sure := r.nearBase(ctx, ids[0], ids[1]); sure {
			bases := []gitstore.ObjectID{base}
			r.remember(r.git.results, key, bases, 250)
			return bases, nil
		}
	}
	args := []string{"merge-base", "--all"}
	if len(ids) > 2 {
		args = append(args, "--octopus")
	}
	for _, id := range ids {
		args = append(args, id.String())
	}
	out, err := r.git.output(ctx, call{repo: r, args: args}, 64<<10)
	if code := exitCode(err); code == 1 {
		r.remember(r.git.results, key, []gitstore.ObjectID(nil), 250)
		return nil, nil
	}
	if err != nil {
		return nil, missing(err)
	}
	bases, err := parseIDs(out)
	if err != nil || len(bases) == 0 {
		return nil, fmt.Errorf("merge base: unexpected answer %q", clip(string(out)))
	}
	r.remember(r.git.results, key, bases, 250+20*len(bases))
	return bases, nil
}

// nearBases is how many commits are read before git is asked for a merge base.
const nearBases = 256

// nearBase looks for the only best common ancestor of two commits, without a process of its
// own. sure is false where that does not tell: far away, none, or several.
func (r *Repo) nearBase(ctx context.Context, a, b gitstore.ObjectID) (base gitstore.ObjectID, sure bool) {
	const left, right, below = 1, 2, 4 // of a, of b, of a common ancestor
	marks := map[gitstore.ObjectID]int{}
	var queue []*gitstore.Commit // the newest last; a commit may come again with more marks
	push := func(id gitstore.ObjectID, mark int) bool {
		if marks[id]&mark == mark {
			return true
		}
		marks[id] |= mark
		c, err := r.ShortCommit(ctx, id)
		if err != nil || len(marks) > nearBases {
			return false
		}
		when := c.Committer.When.Unix()
		at := sort.Search(len(queue), func(i int) bool { return queue[i].Committer.When.Unix() > when })
		queue = slices.Insert(queue, at, c)
		return true
	}
	if !push(a, left) || !push(b, right) {
		return base, false
	}
	open := func(c *gitstore.Commit) bool { return marks[c.ID]&below == 0 }
	var found []gitstore.ObjectID
	for slices.ContainsFunc(queue, open) {
		c := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		mark := marks[c.ID]
		if mark == left|right {
			if !slices.Contains(found, c.ID) {
				found = append(found, c.ID)
			}
			mark |= below
		}
		for _, parent := range c.Parents {
			if !push(parent, mark) {
				return base, false
			}
		}
	}
	found = slices.DeleteFunc(found, func(id gitstore.ObjectID) bool { return marks[id]&below != 0 })
	if len(found) != 1 {
		return base, false
	}
	return found[0], true
}

// baseKey remembers the merge base of commits.
func baseKey(path string, ids []gitstore.ObjectID) resultKey {
	var all strings.Builder
	for _, id := range ids {
		all.Write(id[:])
	}
	return resultKey{path, "base", all.String()}
}

// exitCode returns the exit code of a failed process, 0 for no error, -1 for any other failure.
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
		c, err := r.ShortCommit(ctx, queue[0])
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
	_, err := r.ShortCommit(ctx, old)
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
