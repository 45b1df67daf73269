package gitcmd_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// changed applies some random changes to the files of a commit, renames of files and
// folders among them.
func changed(rng *rand.Rand, files map[string]string, steps int) map[string]string {
	out := maps.Clone(files)
	for range steps {
		names := slices.Sorted(maps.Keys(out))
		if len(names) == 0 {
			break
		}
		name := names[rng.IntN(len(names))]
		folder, _, nested := strings.Cut(name, "/")
		switch rng.IntN(7) {
		case 0:
			delete(out, name)
		case 1:
			out[name] += fmt.Sprintf("more %d\n", rng.IntN(2))
		case 2:
			out[fmt.Sprintf("d%d/new%d", rng.IntN(6), rng.IntN(5))] = fmt.Sprintf("new %d\n", rng.IntN(2))
		case 3:
			out[fmt.Sprintf("d%d/moved%d", rng.IntN(5), rng.IntN(3))] = out[name]
			delete(out, name)
		case 4:
			out[name] = "top\n" + out[name]
		case 5:
			if !nested {
				break
			}
			to := fmt.Sprintf("e%d", rng.IntN(2))
			for _, from := range names {
				if rest, ok := strings.CutPrefix(from, folder+"/"); ok {
					out[to+"/"+rest] = out[from]
					delete(out, from)
				}
			}
		case 6:
			if nested && strings.Count(name, "/") == 1 {
				out[name+"/deep"] = out[name]
				delete(out, name)
			}
		}
	}
	return out
}

// committed stores files as a commit.
func committed(t *testing.T, r *gitcmd.Repo, at int64, files map[string]string, parents ...gitstore.ObjectID) gitstore.ObjectID {
	t.Helper()
	var changes []gitstore.TreeChange
	for name, text := range files {
		id := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), []byte(text)))
		changes = append(changes, gitstore.TreeChange{Path: name, Mode: gitstore.ModeFile, ID: id})
	}
	tree := gittest.Must[gitstore.ObjectID](t)(r.BuildTree(t.Context(), gitstore.ObjectID{}, changes))
	by := gittest.Signature("Ann", at)
	return gittest.Must[gitstore.ObjectID](t)(r.CommitTree(t.Context(), gitstore.CommitInput{
		Tree: tree, Parents: parents, Author: by, Committer: by, Message: fmt.Sprint(at),
	}))
}

// Merges in process give what git gives, whatever was changed, removed and renamed.
func TestRepo_MergeTree_besideGit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	rng := rand.New(rand.NewPCG(7, 11))
	var pairs []gitcmd.MergePair
	for round := range 150 {
		files := map[string]string{}
		for i := range 12 {
			files[fmt.Sprintf("d%d/f%d", i%4, i)] = strings.Repeat(fmt.Sprintf("line of %d in %d\n", i, round), 8)
		}
		files["top"] = fmt.Sprintf("top %d\n", round)
		base := committed(t, r, 1700000000, files)
		ours := committed(t, r, 1700000001, changed(rng, files, 1+rng.IntN(3)), base)
		theirs := committed(t, r, 1700000002, changed(rng, files, 1+rng.IntN(3)), base)
		pairs = append(pairs, gitcmd.MergePair{Ours: ours, Theirs: theirs})
	}
	want, err := r.MergeTrees(ctx, pairs)
	if err != nil {
		t.Fatal(err)
	}
	started := gittest.Started(g, func() {
		for i, pair := range pairs {
			got, err := r.MergeTree(ctx, pair.Ours, pair.Theirs)
			if err != nil || got.Clean != want[i].Clean || got.Tree != want[i].Tree {
				t.Errorf("merge %d: got %+v, %v, want %+v", i, got, err, want[i])
			}
		}
	})
	if int(started) > len(pairs)*3/4 {
		t.Errorf("%d merges took %d processes, want a quarter of them without one", len(pairs), started)
	}
	for i, pair := range pairs {
		trial, err := r.TryMerges(ctx, pair.Ours, []gitstore.ObjectID{pair.Theirs})
		if err != nil || (trial[0] == gitcmd.TrialClean) != want[i].Clean {
			t.Errorf("trial %d: got %v, %v, want clean %t", i, trial, err, want[i].Clean)
		}
	}
}

// Merge bases that are found in process are git's.
func TestRepo_MergeBase_besideGit(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	rng := rand.New(rand.NewPCG(3, 5))
	var all []gitstore.ObjectID
	within := map[gitstore.ObjectID]map[gitstore.ObjectID]bool{} // a commit and its ancestors
	for i := range 60 {
		var parents []gitstore.ObjectID
		for range min(len(all), 1+rng.IntN(2)) {
			if p := all[len(all)-1-rng.IntN(min(len(all), 6))]; !slices.Contains(parents, p) {
				parents = append(parents, p)
			}
		}
		id := committed(t, r, 1700000000+int64(rng.IntN(40)), map[string]string{"f": fmt.Sprint(i)}, parents...) // clocks differ
		within[id] = map[gitstore.ObjectID]bool{id: true}
		for _, p := range parents {
			maps.Copy(within[id], within[p])
		}
		all = append(all, id)
	}
	unique := 0
	started := gittest.Started(g, func() {
		for _, a := range all {
			b := all[rng.IntN(len(all))]
			var best []gitstore.ObjectID
			for c := range within[a] {
				if within[b][c] && !slices.ContainsFunc(all, func(d gitstore.ObjectID) bool {
					return d != c && within[a][d] && within[b][d] && within[d][c]
				}) {
					best = append(best, c)
				}
			}
			got, err := r.MergeBase(t.Context(), a, b)
			if err != nil || !slices.Contains(best, got) {
				t.Errorf("merge base of %s and %s: got %s, %v, want one of %s", a, b, got, err, best)
			}
			if len(best) == 1 {
				unique++
			}
		}
	})
	if int(started) > len(all)-unique+2 {
		t.Errorf("%d processes for %d merge bases, want none for the %d that are the only ones", started, len(all), unique)
	}
}

func TestRepo_TryMerges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	base := gittest.Commit(t, r, 1700000000, map[string]string{"a/f": "1\n2\n3\n4\n5\n", "b/g": "g\n"})
	target := gittest.Commit(t, r, 1700000001, map[string]string{"a/f": "A\n2\n3\n4\n5\n"}, base)
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"))
	far := base
	for i := range 400 {
		far = gittest.Commit(t, r, 1700000002+int64(i), map[string]string{"c": fmt.Sprint(i)}, far)
	}
	x := gittest.Commit(t, r, 1700000002, map[string]string{"b/g": "x\n"}, base)
	sources := []gitstore.ObjectID{
		x, gittest.Commit(t, r, 1700000002, map[string]string{"a/f": "1\n2\n3\n4\nB\n"}, base),
		gittest.Commit(t, r, 1700000002, map[string]string{"a/f": "C\n2\n3\n4\n5\n"}, base),
		base, target, missing, gittest.Commit(t, r, 1700000003, map[string]string{"z": "z"}),
		gittest.Commit(t, r, 1700000004, map[string]string{"b/h": "h\n"}, target, x), far,
	}
	want := []gitcmd.Trial{
		gitcmd.TrialClean, gitcmd.TrialClean, gitcmd.TrialConflict, gitcmd.TrialNothing, gitcmd.TrialNothing,
		gitcmd.TrialUnrelated, gitcmd.TrialUnrelated, gitcmd.TrialClean, gitcmd.TrialClean,
	}
	if got, err := r.TryMerges(ctx, target, sources); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	folders := []gitstore.ObjectID{sources[0], sources[7], far}
	if n := gittest.Started(g, func() { _, _ = r.TryMerges(ctx, target, folders) }); n != 1 {
		t.Errorf("merges that folders decide started %d processes, want 1", n)
	}
}
