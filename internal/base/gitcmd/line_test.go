package gitcmd_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// What is found out in process is what git says, for every pair of commits of a history
// full of merges whose dates are in no order, whether or not merge bases are known.
func TestRepo_Log_line(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	random := rand.New(rand.NewPCG(1, 2))
	chain := []gitstore.ObjectID{gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})}
	for i := 1; i < 16; i++ {
		parents := []gitstore.ObjectID{chain[max(0, i-1-random.IntN(3))]}
		if i%4 == 0 {
			if other := chain[random.IntN(i)]; other != parents[0] {
				parents = append(parents, other)
			}
		}
		chain = append(chain, gittest.Commit(t, r, 1700000000+random.Int64N(1000), map[string]string{"f": fmt.Sprint(i)}, parents...))
	}
	for i, from := range chain {
		gittest.Point(t, r, gitstore.RefName(fmt.Sprintf("refs/heads/c%d", i)), from)
	}
	for i, from := range chain {
		for j, not := range chain {
			if (i+j)%2 == 0 {
				_, _ = r.MergeBase(ctx, not, from) // some are known, and some pairs have none
			}
			want := strings.Fields(gittest.Run(t, r.Path(), "rev-list", from.String(), "^"+not.String()))
			one := gitcmd.LogOptions{From: []gitstore.ObjectID{from}, Not: []gitstore.ObjectID{not}}
			if n := gittest.Must[int](t)(r.Count(ctx, one)); n != len(want) {
				t.Errorf("c%d..c%d: %d commits, want %d", j, i, n, len(want))
			}
			if got := fmt.Sprint(gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, one))); got != fmt.Sprint(want) {
				t.Errorf("c%d..c%d: got %v, want %v", j, i, got, want)
			}
		}
	}
	last, first := chain[len(chain)-1], chain[0]
	for _, tt := range []struct {
		args    string
		options gitcmd.LogOptions
	}{
		{"--first-parent", gitcmd.LogOptions{FirstParent: true}},
		{"--first-parent --reverse --max-count=3", gitcmd.LogOptions{FirstParent: true, Reverse: true, Limit: 3}},
		{"--first-parent --skip=1 --max-count=2", gitcmd.LogOptions{FirstParent: true, Skip: 1, Limit: 2}},
		{"--first-parent --skip=100", gitcmd.LogOptions{FirstParent: true, Skip: 100}},
		{"--no-merges", gitcmd.LogOptions{NoMerges: true}},
	} {
		want := strings.Fields(gittest.Run(t, r.Path(), append(append([]string{"rev-list"}, strings.Fields(tt.args)...), last.String(), "^"+first.String())...))
		tt.options.From, tt.options.Not = []gitstore.ObjectID{last}, []gitstore.ObjectID{first}
		if got := fmt.Sprint(gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, tt.options))); got != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", tt.args, got, want)
		}
	}
}

// A line of commits, and its merge into a branch that went on, take no process once the
// merge base is known.
func TestRepo_Log_lineProcesses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	root := gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})
	target := gittest.Commit(t, r, 1700000001, map[string]string{"g": "1"}, root)
	tip := root
	for i := range 5 {
		tip = gittest.Commit(t, r, 1700000002+int64(i), map[string]string{"f": fmt.Sprint(i + 1)}, tip)
	}
	merge := gittest.Commit(t, r, 1700000010, map[string]string{"f": "5"}, target, tip)
	if base := gittest.Must[gitstore.ObjectID](t)(r.MergeBase(ctx, target, tip)); base != root {
		t.Fatalf("merge base %s", base)
	}
	gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, root)) // the process that reads objects is there
	for _, tt := range []struct {
		name      string
		from, not gitstore.ObjectID
		want      int
	}{
		{"pushed commits", tip, root, 5}, {"a request's commits", tip, target, 5}, {"a merge", merge, target, 6}, {"nothing", tip, tip, 0},
	} {
		o := gitcmd.LogOptions{From: []gitstore.ObjectID{tt.from}, Not: []gitstore.ObjectID{tt.not}}
		n := gittest.Started(g, func() {
			if got := gittest.Must[int](t)(r.Count(ctx, o)); got != tt.want {
				t.Errorf("%s: %d commits, want %d", tt.name, got, tt.want)
			}
			if got := gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, o)); len(got) != tt.want {
				t.Errorf("%s: %d listed, want %d", tt.name, len(got), tt.want)
			}
		})
		if n != 0 {
			t.Errorf("%s: %d processes", tt.name, n)
		}
	}
}
