package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
)

// MergeResult is the outcome of a merge without a work tree.
type MergeResult struct {
	Tree      gitstore.ObjectID // with conflict markers in it where Conflicts is not empty
	Conflicts []string          // paths, each once, in git's order
	Clean     bool
}

// MergePair is one merge of a batch: two commits.
type MergePair struct{ Ours, Theirs gitstore.ObjectID }

// maxMergeOutput bounds what a merge may say.
const maxMergeOutput = 64 << 20

// MergeTree merges two commits and stores the resulting tree in this view. Conflicts
// are no error: see the result. Commits without a common ancestor are ErrNotFound. A
// quarantine remembers the merges made in it.
func (r *Repo) MergeTree(ctx context.Context, ours, theirs gitstore.ObjectID) (MergeResult, error) {
	if r.merges != nil {
		if known, ok := r.merges.of(MergePair{ours, theirs}); ok {
			return known, nil
		}
	}
	result, err := r.mergeTwo(ctx, ours, theirs)
	if err == nil && r.merges != nil {
		r.merges.note(MergePair{ours, theirs}, result)
	}
	return result, err
}

// mergeTwo merges in process where the folders alone decide, and in a process of git otherwise.
func (r *Repo) mergeTwo(ctx context.Context, ours, theirs gitstore.ObjectID) (MergeResult, error) {
	if bases, err := r.MergeBases(ctx, ours, theirs); err == nil && len(bases) == 1 {
		if tree, ok, err := r.joined(ctx, bases[0], ours, theirs, true); err == nil && ok {
			return MergeResult{Tree: tree, Clean: true}, nil
		}
	}
	return r.mergeTree(ctx, []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours.String(), theirs.String()})
}

func (r *Repo) mergeTree(ctx context.Context, args []string) (MergeResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := capped{left: maxMergeOutput, full: cancel}
	err := r.git.run(ctx, call{repo: r, args: args, stdout: &out})
	if code := exitCode(err); code != 0 && code != 1 {
		if strings.Contains(err.Error(), "unrelated histories") {
			return MergeResult{}, fmt.Errorf("merge: no common ancestor: %w", gitstore.ErrNotFound)
		}
		return MergeResult{}, missing(err)
	}
	fields := strings.Split(strings.TrimSuffix(out.buf.String(), "\x00"), "\x00")
	tree, perr := gitstore.ParseObjectID(fields[0])
	if perr != nil {
		if err == nil {
			err = fmt.Errorf("merge-tree: unexpected answer %q", clip(out.buf.String()))
		}
		return MergeResult{}, missing(err)
	}
	res := MergeResult{Tree: tree, Clean: err == nil}
	if !res.Clean {
		res.Conflicts = unique(fields[1:])
	}
	return res, nil
}

// MergeTreeFrom merges the changes from base to theirs into ours, whatever their
// history: cherry-pick and revert are made of it. All three are commits or trees.
func (r *Repo) MergeTreeFrom(ctx context.Context, base, ours, theirs gitstore.ObjectID) (MergeResult, error) {
	var ids [3]gitstore.ObjectID
	for i, side := range []gitstore.ObjectID{base, ours, theirs} {
		tree, err := r.treeOf(ctx, side)
		if err != nil {
			return MergeResult{}, err
		}
		in := gitstore.CommitInput{Tree: tree, Author: gitstore.Signature{Name: "merge", Email: "merge@localhost"}, Message: fmt.Sprintf("side %d", i)}
		if i > 0 {
			in.Parents = ids[:1]
		}
		if ids[i], err = r.CommitTree(ctx, in); err != nil {
			return MergeResult{}, err
		}
	}
	return r.MergeTree(ctx, ids[1], ids[2])
}

// MergeTrees merges many pairs in one process, in the order given. A pair whose
// commits are missing or unrelated gets a zero Tree.
func (r *Repo) MergeTrees(ctx context.Context, pairs []MergePair) ([]MergeResult, error) {
	results := make([]MergeResult, len(pairs))
	var ask []int
	// One bad name ends the process, so each is looked at first.
	for i, p := range pairs {
		there, err := r.areCommits(ctx, p.Ours, p.Theirs)
		if err != nil {
			return nil, err
		}
		if there {
			ask = append(ask, i)
		}
	}
	for len(ask) > 0 {
		done, err := r.mergeBatch(ctx, pairs, ask, results)
		switch {
		case err != nil && done < len(ask) && strings.Contains(err.Error(), "unrelated histories"):
			ask = ask[done+1:] // the process ended at this pair: go on behind it
		case err != nil:
			return nil, missing(err)
		case done < len(ask):
			return nil, errors.New("merge-tree: answer cut short")
		default:
			return results, nil
		}
	}
	return results, nil
}

func (r *Repo) areCommits(ctx context.Context, ids ...gitstore.ObjectID) (bool, error) {
	for _, id := range ids {
		info, err := r.Info(ctx, id)
		if errors.Is(err, gitstore.ErrNotFound) || err == nil && info.Kind != gitstore.KindCommit {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// mergeBatch merges those pairs whose positions are asked for and says how many it got
// through, also where it fails.
func (r *Repo) mergeBatch(ctx context.Context, pairs []MergePair, ask []int, results []MergeResult) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var in strings.Builder
	for _, i := range ask {
		fmt.Fprintf(&in, "%s %s\n", pairs[i].Ours, pairs[i].Theirs)
	}
	out := capped{left: maxMergeOutput, full: cancel}
	args := []string{"merge-tree", "--write-tree", "-z", "--name-only", "--stdin"}
	err := r.git.run(ctx, call{repo: r, args: args, stdin: strings.NewReader(in.String()), stdout: &out})
	rest := out.buf.Bytes()
	for n, i := range ask {
		if len(rest) == 0 {
			return n, err
		}
		var perr error
		if results[i], rest, perr = nextMerge(rest); perr != nil {
			return n, errors.Join(err, perr)
		}
	}
	return len(ask), err
}

// nextMerge reads one answer of the batch: a status, the tree, the conflicting paths
// up to an empty field; after conflicts also messages (a count, that many paths, a kind,
// a text) up to an empty field.
func nextMerge(in []byte) (MergeResult, []byte, error) {
	field := func() (string, bool) {
		f, rest, ok := bytes.Cut(in, []byte{0})
		in = rest
		return string(f), ok
	}
	bad := func() (MergeResult, []byte, error) {
		return MergeResult{}, nil, errors.New("merge-tree: answer cut short")
	}
	status, ok1 := field()
	id, ok2 := field()
	tree, err := gitstore.ParseObjectID(id)
	if !ok1 || !ok2 || err != nil {
		return bad()
	}
	res := MergeResult{Tree: tree, Clean: status == "1"}
	var paths []string
	for {
		f, ok := field()
		if !ok {
			return bad()
		}
		if f == "" {
			break
		}
		paths = append(paths, f)
	}
	if res.Clean { // says nothing more
		return res, in, nil
	}
	res.Conflicts = unique(paths)
	for {
		count, ok := field()
		if !ok {
			return bad()
		}
		if count == "" {
			return res, in, nil
		}
		var n int
		if _, err := fmt.Sscanf(count, "%d", &n); err != nil || n < 0 {
			return bad()
		}
		for range n + 2 {
			if _, ok := field(); !ok {
				return bad()
			}
		}
	}
}

func unique(in []string) []string {
	seen := make(map[string]bool, len(in))
	var out []string
	for _, s := range in {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
