package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// MergeResult is the outcome of a merge without a work tree.
type MergeResult struct {
	Tree      ObjectID // with conflict markers in it where Conflicts is not empty
	Conflicts []string // paths, each once, in git's order
	Clean     bool
}

// MergePair is one merge of a batch: two commits.
type MergePair struct{ Ours, Theirs ObjectID }

// maxMergeOutput bounds what a merge may say.
const maxMergeOutput = 64 << 20

// MergeTree merges two commits and stores the resulting tree in this view. Conflicts
// are no error: see the result. Commits without a common ancestor are ErrNotFound.
func (r *Repo) MergeTree(ctx context.Context, ours, theirs ObjectID) (MergeResult, error) {
	args := []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours.String(), theirs.String()}
	return r.mergeTree(ctx, args)
}

func (r *Repo) mergeTree(ctx context.Context, args []string) (MergeResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := capped{left: maxMergeOutput, full: cancel}
	err := r.git.run(ctx, call{repo: r, args: args, stdout: &out})
	if code := exitCode(err); code != 0 && code != 1 {
		if strings.Contains(err.Error(), "unrelated histories") {
			return MergeResult{}, fmt.Errorf("merge: no common ancestor: %w", ErrNotFound)
		}
		return MergeResult{}, missing(err)
	}
	fields := strings.Split(strings.TrimSuffix(out.buf.String(), "\x00"), "\x00")
	tree, perr := ParseObjectID(fields[0])
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
func (r *Repo) MergeTreeFrom(ctx context.Context, base, ours, theirs ObjectID) (MergeResult, error) {
	var ids [3]ObjectID
	for i, side := range []ObjectID{base, ours, theirs} {
		tree, err := r.treeOf(ctx, side)
		if err != nil {
			return MergeResult{}, err
		}
		in := CommitInput{Tree: tree, Author: Signature{Name: "merge", Email: "merge@localhost"}, Message: fmt.Sprintf("side %d", i)}
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
	var in strings.Builder
	// One bad name ends the process, so each is looked at first.
	for i, p := range pairs {
		_, err := r.MergeBase(ctx, p.Ours, p.Theirs)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ask = append(ask, i)
		fmt.Fprintf(&in, "%s %s\n", p.Ours, p.Theirs)
	}
	if len(ask) == 0 {
		return results, nil
	}
	args := []string{"merge-tree", "--write-tree", "-z", "--name-only", "--stdin"}
	out, err := r.git.output(ctx, call{repo: r, args: args, stdin: strings.NewReader(in.String())}, maxMergeOutput)
	if err != nil {
		return nil, missing(err)
	}
	rest := out
	for _, i := range ask {
		if results[i], rest, err = nextMerge(rest); err != nil {
			return nil, err
		}
	}
	return results, nil
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
	tree, err := ParseObjectID(id)
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
