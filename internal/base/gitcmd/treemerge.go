package gitcmd

import (
	"bytes"
	"context"
	"fmt"

	"tenon/internal/base/gitstore"
)

// joiner merges folders in process where no entry was changed on both sides. Git merges
// everything else: contents, renames and conflicts. A rename always removes an entry, so that the
// other side changes either nothing of it or the same entry.
type joiner struct {
	repo  *Repo
	write bool // store the merged folders; otherwise ids of new ones stay zero
}

// maxJoined bounds nested folders.
const maxJoined = 1000

// join merges folders that have the folder base in common, and returns the merged one. ok is false
// where git has to decide.
func (j joiner) join(ctx context.Context, base, ours, theirs gitstore.ObjectID, depth int) (merged gitstore.ObjectID, ok bool, err error) {
	switch {
	case base == theirs:
		return ours, true, nil
	case base == ours:
		return theirs, true, nil
	case ours == theirs, depth > maxJoined:
		return merged, false, nil // both may have renamed the same file
	}
	var sides [3]map[string]gitstore.TreeEntry
	for i, id := range []gitstore.ObjectID{base, ours, theirs} {
		tree, err := j.repo.Tree(ctx, id)
		if err != nil {
			return merged, false, err
		}
		sides[i] = make(map[string]gitstore.TreeEntry, len(tree.Entries))
		for _, e := range tree.Entries {
			sides[i][e.Name] = e
		}
	}
	b, o, t := sides[0], sides[1], sides[2]
	out := make([]gitstore.TreeEntry, 0, len(o))
	for name, mine := range o {
		e, ok, err := j.entry(ctx, b[name], mine, t[name], depth)
		if err != nil || !ok {
			return merged, false, err
		}
		if e.Mode != 0 {
			out = append(out, e)
		}
	}
	for name, yours := range t {
		if _, seen := o[name]; seen {
			continue
		}
		switch b[name] {
		case gitstore.TreeEntry{}: // added on their side alone
			out = append(out, yours)
		case yours: // removed on our side alone
		default:
			return merged, false, nil
		}
	}
	for name := range b {
		if o[name].Mode == 0 && t[name].Mode == 0 {
			return merged, false, nil // both removed it, and may have renamed it
		}
	}
	if len(out) == 0 {
		return gitstore.EmptyTree(), true, nil
	}
	if !j.write {
		return merged, true, nil
	}
	merged, err = j.repo.WriteTree(ctx, out)
	return merged, err == nil, err
}

// entry merges one entry of our side; absent ones are zero.
func (j joiner) entry(ctx context.Context, base, ours, theirs gitstore.TreeEntry, depth int) (out gitstore.TreeEntry, ok bool, err error) {
	switch {
	case base == theirs:
		return ours, true, nil
	case base == ours:
		return theirs, true, nil
	case ours.Mode != gitstore.ModeTree, theirs.Mode != gitstore.ModeTree:
		return out, false, nil
	case base.Mode == 0: // both added it
		base.ID = gitstore.EmptyTree()
	case base.Mode != gitstore.ModeTree:
		return out, false, nil
	}
	out = ours
	out.ID, ok, err = j.join(ctx, base.ID, ours.ID, theirs.ID, depth+1)
	if out.ID == gitstore.EmptyTree() {
		out = gitstore.TreeEntry{}
	}
	return out, ok, err
}

// joined merges two commits in process; ok is false where git has to.
func (r *Repo) joined(ctx context.Context, base, ours, theirs gitstore.ObjectID, write bool) (tree gitstore.ObjectID, ok bool, err error) {
	var trees [3]gitstore.ObjectID
	for i, id := range []gitstore.ObjectID{base, ours, theirs} {
		c, err := r.ShortCommit(ctx, id)
		if err != nil {
			return tree, false, err
		}
		trees[i] = c.Tree
	}
	tree, ok, err = joiner{r, write}.join(ctx, trees[0], trees[1], trees[2], 0)
	if err == nil && ok && write && tree == gitstore.EmptyTree() {
		tree, err = r.WriteTree(ctx, nil)
	}
	if err != nil {
		return tree, false, fmt.Errorf("merge folders: %w", err)
	}
	return tree, ok, nil
}

// Trial says how a merge would go.
type Trial int

// The outcomes of a trial merge. Unrelated are also commits that are missing.
const (
	TrialClean Trial = iota
	TrialConflict
	TrialNothing // the target has all of the source's commits
	TrialUnrelated
)

// maxTried bounds the commits of all sources of a batch that are compared in process.
const maxTried = 50_000

// TryMerges says how merges of many sources into one target would go, in the order given. It
// stores nothing. One process finds the merge bases of all, and a second one merges what
// the folders alone do not decide.
func (r *Repo) TryMerges(ctx context.Context, target gitstore.ObjectID, sources []gitstore.ObjectID) ([]Trial, error) {
	out := make([]Trial, len(sources))
	there := make([]gitstore.ObjectID, 0, len(sources))
	for i, id := range sources {
		ok, err := r.areCommits(ctx, target, id)
		if err != nil {
			return nil, err
		}
		if out[i] = TrialUnrelated; ok {
			there = append(there, id)
			out[i] = TrialClean
		}
	}
	if len(there) == 0 {
		return out, nil
	}
	own, err := r.ownCommits(ctx, target, there)
	if err != nil {
		return nil, err
	}
	var pairs []MergePair
	var ask []int
	for i, source := range sources {
		if out[i] == TrialUnrelated {
			continue
		}
		if own != nil && own[source] == nil {
			out[i] = TrialNothing
			continue
		}
		base, ok := own.base(source)
		if !ok { // the target was merged into the source, or all is too much
			bases, err := r.MergeBases(ctx, target, source)
			if err != nil {
				return nil, err
			}
			if ok = len(bases) == 1; ok {
				base = bases[0]
			}
		}
		decided := false
		if ok {
			if _, decided, err = r.joined(ctx, base, target, source, false); err != nil {
				return nil, err
			}
		}
		if !decided {
			pairs, ask = append(pairs, MergePair{target, source}), append(ask, i)
		}
	}
	if len(pairs) == 0 {
		return out, nil
	}
	results, err := r.tryPairs(ctx, pairs)
	if err != nil {
		return nil, err
	}
	for n, i := range ask {
		switch {
		case results[n].Tree.IsZero():
			out[i] = TrialUnrelated
		case !results[n].Clean:
			out[i] = TrialConflict
		case own == nil:
			nothing, err := r.IsAncestor(ctx, sources[i], target)
			if err != nil {
				return nil, err
			}
			if nothing {
				out[i] = TrialNothing
			}
		}
	}
	return out, nil
}

// tryPairs merges in a folder that is thrown away.
func (r *Repo) tryPairs(ctx context.Context, pairs []MergePair) ([]MergeResult, error) {
	q, err := r.Quarantine(ctx)
	if err != nil {
		return nil, err
	}
	results, err := q.MergeTrees(ctx, pairs)
	if derr := q.Discard(); err == nil {
		err = derr
	}
	return results, err
}

// ownCommits are the commits that a target lacks, with their parents.
type ownCommits map[gitstore.ObjectID][]gitstore.ObjectID

// ownCommits lists what the sources have and the target lacks; nil where that is too much.
func (r *Repo) ownCommits(ctx context.Context, target gitstore.ObjectID, sources []gitstore.ObjectID) (ownCommits, error) {
	o := LogOptions{From: sources, Not: []gitstore.ObjectID{target}, Limit: maxTried + 1}
	text, err := r.revList(ctx, o, []string{"--parents"}, maxIDs)
	if err != nil {
		return nil, err
	}
	own := ownCommits{}
	for line := range bytes.Lines(text) {
		ids, err := parseIDs(bytes.ReplaceAll(line, []byte(" "), []byte("\n")))
		if err != nil {
			return nil, err
		}
		own[ids[0]] = ids
	}
	if len(own) > maxTried {
		return nil, nil
	}
	return own, nil
}

// base finds the merge base of a source and the target: the only commit that the source's own
// commits stand on. ok is false where there are several or none.
func (o ownCommits) base(source gitstore.ObjectID) (base gitstore.ObjectID, ok bool) {
	seen := map[gitstore.ObjectID]bool{source: true}
	for queue := []gitstore.ObjectID{source}; len(queue) > 0; queue = queue[1:] {
		ids := o[queue[0]]
		if len(ids) < 2 {
			continue // a root
		}
		for _, parent := range ids[1:] {
			switch {
			case o[parent] == nil && base.IsZero():
				base = parent
			case o[parent] == nil && base != parent:
				return base, false
			case o[parent] != nil && !seen[parent]:
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return base, !base.IsZero()
}
