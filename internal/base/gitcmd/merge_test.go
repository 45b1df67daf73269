package gitcmd_test

import (
	"errors"
	"slices"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

func TestRepo_MergeTree(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	base := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1\n2\n3\n4\n5\n", "odd \xff\n": "x\n", "g": "g\n"})
	a := gittest.Commit(t, r, 1700000001, map[string]string{"f": "A\n2\n3\n4\n5\n"}, base)
	b := gittest.Commit(t, r, 1700000002, map[string]string{"f": "1\n2\n3\n4\nB\n"}, base)
	c := gittest.Commit(t, r, 1700000003, map[string]string{"f": "C\n2\n3\n4\n5\n", "odd \xff\n": "c\n"}, base)
	d := gittest.Commit(t, r, 1700000003, map[string]string{"odd \xff\n": "d\n"}, c, a)
	lonely := gittest.Commit(t, r, 1700000004, map[string]string{"z": "z"})
	// Criss-cross: two merge bases.
	x := gittest.Commit(t, r, 1700000005, map[string]string{"f": "A\n2\n3\n4\nB\n", "x": "x"}, a, b)
	y := gittest.Commit(t, r, 1700000006, map[string]string{"f": "A\n2\n3\n4\nB\n", "y": "y"}, b, a)
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"))
	tests := []struct {
		name         string
		ours, theirs gitstore.ObjectID
		conflicts    []string
		err          error
	}{
		{"clean", a, b, nil, nil},
		{"conflict", a, c, []string{"f"}, nil},
		{"odd name", gittest.Commit(t, r, 1700000007, map[string]string{"odd \xff\n": "q\n"}, base), c, []string{"odd \xff\n"}, nil},
		{"fast-forward", base, a, nil, nil},
		{"same", a, a, nil, nil},
		{"criss-cross", x, y, nil, nil},
		{"through octopus", d, b, nil, nil},
		{"unrelated", a, lonely, nil, gitstore.ErrNotFound},
		{"missing", a, missing, nil, gitstore.ErrNotFound},
	}
	var pairs []gitcmd.MergePair
	var want []gitcmd.MergeResult
	for _, tt := range tests {
		res, err := r.MergeTree(ctx, tt.ours, tt.theirs)
		if !errors.Is(err, tt.err) || !slices.Equal(res.Conflicts, tt.conflicts) || err == nil && res.Clean != (len(tt.conflicts) == 0) {
			t.Errorf("%s: got %+v, %v", tt.name, res, err)
		}
		pairs = append(pairs, gitcmd.MergePair{Ours: tt.ours, Theirs: tt.theirs})
		want = append(want, res)
	}
	results, err := r.MergeTrees(ctx, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range results {
		if results[i].Tree != want[i].Tree || results[i].Clean != want[i].Clean || !slices.Equal(results[i].Conflicts, want[i].Conflicts) {
			t.Errorf("%s in a batch: got %+v, want %+v", tests[i].name, results[i], want[i])
		}
	}
	if n := gittest.Started(g, func() { _, _ = r.MergeTrees(ctx, pairs) }); n > 2 {
		t.Errorf("warm batch started %d processes, want 1 (and one for the missing commit)", n)
	}
	// A cherry-pick of b onto a; then its revert gives a's tree again.
	pick, err := r.MergeTreeFrom(ctx, base, a, b)
	if err != nil || !pick.Clean || pick.Tree != want[0].Tree {
		t.Errorf("pick: %+v, %v", pick, err)
	}
	back, err := r.MergeTreeFrom(ctx, b, pick.Tree, base)
	if tree := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, a)).Tree; err != nil || back.Tree != tree {
		t.Errorf("revert: %+v, %v, want %s", back, err, tree)
	}
	octopus := gittest.Must[gitstore.ObjectID](t)(r.MergeBase(ctx, a, b, c))
	if octopus != base {
		t.Errorf("merge base of three: %s, want %s", octopus, base)
	}
}
