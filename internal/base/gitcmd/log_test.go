package gitcmd_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// history makes a random history with merges, octopus merges, equal and skewed dates.
func history(t *testing.T, r *gitcmd.Repo, seed int64, n int) []gitstore.ObjectID {
	t.Helper()
	random := rand.New(rand.NewSource(seed))
	all := []gitstore.ObjectID{gittest.Commit(t, r, 1700000000, map[string]string{"f0": "0", "dir/f": "0"})}
	at := int64(1700000000)
	for i := 1; i < n; i++ {
		at += int64(random.Intn(3)) - int64(random.Intn(2)*random.Intn(3))
		parents := []gitstore.ObjectID{all[max(0, len(all)-1-random.Intn(4))]}
		for range random.Intn(6) / 4 * (1 + random.Intn(2)) {
			p := all[random.Intn(len(all))]
			if p != parents[0] {
				parents = append(parents, p)
			}
		}
		if len(parents) == 3 && parents[1] == parents[2] {
			parents = parents[:2]
		}
		if random.Intn(25) == 0 {
			parents = nil // a second root
		}
		all = append(all, gittest.Commit(t, r, at, map[string]string{fmt.Sprintf("f%d", random.Intn(4)): fmt.Sprint(i)}, parents...))
	}
	for i, id := range all {
		if i%7 == 0 || i == len(all)-1 {
			gittest.Point(t, r, gitstore.RefName(fmt.Sprintf("refs/heads/b%d", i)), id)
		}
	}
	return all
}

func lines(ids []gitstore.ObjectID) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(id.String() + "\n")
	}
	return b.String()
}

// Log, MergeBase, IsAncestor, Count and Diff answer as the git command line does.
func TestRepo_differential(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	all := history(t, r, 7, 90)
	random := rand.New(rand.NewSource(8))
	pick := func() gitstore.ObjectID { return all[random.Intn(len(all))] }
	for range 25 {
		a, b := pick(), pick()
		for _, tt := range []struct {
			args string
			o    gitcmd.LogOptions
		}{
			{a.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Limit: 500}},
			{a.String() + " " + b.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a, b}, Limit: 500}},
			{"--first-parent --skip=2 --max-count=5 " + a.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, FirstParent: true, Skip: 2, Limit: 5}},
			{"--max-count=7 --reverse " + a.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Reverse: true, Limit: 7}},
			{a.String() + " ^" + b.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Not: []gitstore.ObjectID{b}}},
			{"--topo-order " + a.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Order: gitcmd.OrderTopo}},
			{a.String() + " -- f1", gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Path: "f1"}},
			{"--no-merges " + a.String() + " -- dir", gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Path: "/dir/", NoMerges: true}},
			{"--min-age=1700000020 --max-age=1700000010 " + a.String(), gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Until: time.Unix(1700000020, 0), Since: time.Unix(1700000010, 0)}},
		} {
			want := gittest.Run(t, r.Path(), append([]string{"rev-list"}, strings.Fields(tt.args)...)...)
			got := lines(gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, tt.o)))
			if got != want {
				t.Fatalf("rev-list %s: got\n%swant\n%s", tt.args, got, want)
			}
			if tt.o.Skip == 0 && tt.o.Limit == 0 {
				if n := gittest.Must[int](t)(r.Count(ctx, tt.o)); n != strings.Count(want, "\n") {
					t.Errorf("count %s: got %d", tt.args, n)
				}
			}
		}
		bases := gittest.RunIn(t, r.Path(), "", "rev-list", "--max-count=1", a.String(), "--")
		if bases == "" {
			t.Fatal("no commits")
		}
		base, err := r.MergeBase(ctx, a, b)
		if errors.Is(err, gitstore.ErrNotFound) {
			if n := gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{a}, Limit: 500})); len(n) == 0 {
				t.Error("no history")
			}
		} else if want := strings.TrimSpace(gittest.Run(t, r.Path(), "merge-base", a.String(), b.String())); err != nil || base.String() != want {
			t.Errorf("merge base: got %s, %v, want %s", base, err, want)
		}
		merged := strings.Contains(gittest.Run(t, r.Path(), "rev-list", b.String()), a.String())
		if got := gittest.Must[bool](t)(r.IsAncestor(ctx, a, b)); got != merged {
			t.Errorf("is %s an ancestor of %s: got %t", a, b, got)
		}
		raw := gittest.Run(t, r.Path(), "diff-tree", "-r", "--no-renames", "--name-status", a.String(), b.String())
		var got strings.Builder
		for _, f := range gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{NoRenames: true})).Files {
			fmt.Fprintf(&got, "%c\t%s\n", f.Status, f.NewPath)
		}
		if got.String() != raw {
			t.Errorf("diff: got\n%swant\n%s", got.String(), raw)
		}
		want := gittest.Run(t, r.Path(), "ls-tree", "-r", "-t", a.String())
		got.Reset()
		err = r.Walk(ctx, a, "", func(e gitcmd.PathEntry) error {
			fmt.Fprintf(&got, "%s %s %s\t%s\n", e.Mode, e.Kind(), e.ID, e.Path)
			return nil
		})
		if err != nil || got.String() != want {
			t.Errorf("tree: %v, got\n%swant\n%s", err, got.String(), want)
		}
	}
	tip := all[len(all)-1]
	refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, gitstore.Branches))
	merged := gittest.Must[map[gitstore.RefName]bool](t)(r.MergedBranches(ctx, refs, tip))
	list := "\n" + gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname)", "--merged="+tip.String(), "refs/heads/")
	for name, yes := range merged {
		if yes != strings.Contains(list, "\n"+string(name)+"\n") {
			t.Errorf("merged %s: got %t", name, yes)
		}
	}
	if n := gittest.Started(g, func() { gittest.Must[map[gitstore.RefName]bool](t)(r.MergedBranches(ctx, refs, tip)) }); n != 0 || len(merged) != len(refs) {
		t.Errorf("second question started %d processes; %d answers for %d branches", n, len(merged), len(refs))
	}
	if got := gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, gitcmd.LogOptions{All: true, Limit: 900})); lines(got) != gittest.Run(t, r.Path(), "rev-list", "--branches") {
		t.Error("all: differs from rev-list --branches")
	}
	gittest.Fsck(t, r)
}

func TestRepo_Log_texts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	from := []gitstore.ObjectID{a}
	by := gittest.Signature("Ann", 1700000001)
	tree := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, a)).Tree
	var encoded []gitstore.ObjectID
	for _, in := range []gitstore.CommitInput{
		{AuthorLine: "J\xf6rg M\xfcller <j@x> 1700000001 +0000", Message: "Gr\xfc\xdfe aus K\xf6ln"},
		{Message: "\x8c\xe1\x94y\x82\xcd\x94L\x82\xc5\x82\xa0\x82\xe9"}, // Shift_JIS
		{Message: "鑫"},
	} {
		in.Tree, in.Author, in.Committer = tree, by, by
		encoded = append(encoded, gittest.Must[gitstore.ObjectID](t)(r.CommitTree(ctx, in)))
	}
	for _, tt := range []struct {
		name string
		o    gitcmd.LogOptions
		want int
	}{
		{"message in Latin-1", gitcmd.LogOptions{From: encoded, Message: "GRüße"}, 1},
		{"message in Shift_JIS", gitcmd.LogOptions{From: encoded, Message: "猫である"}, 1},
		{"author in Latin-1", gitcmd.LogOptions{From: encoded, Author: "jörg"}, 1},
		{"author and message in Latin-1", gitcmd.LogOptions{From: encoded, Author: "Müller", Message: "Köln"}, 1},
		{"author of another message", gitcmd.LogOptions{From: encoded, Author: "Müller", Message: "猫である"}, 0},
		{"message in UTF-8", gitcmd.LogOptions{From: encoded, Message: "鑫"}, 1},
		{"a byte of other characters", gitcmd.LogOptions{From: encoded, Message: "é"}, 0},
		{"author", gitcmd.LogOptions{From: from, Author: "ann@"}, 1},
		{"other author", gitcmd.LogOptions{From: from, Author: "--all"}, 0},
		{"pattern is text", gitcmd.LogOptions{From: from, Author: ".*"}, 0},
		{"message", gitcmd.LogOptions{From: from, Message: "AT 2023"}, 1},
		{"path like an option", gitcmd.LogOptions{From: from, Path: "--output=/tmp/x"}, 0},
		{"nothing", gitcmd.LogOptions{}, 0},
	} {
		ids, err := r.Log(ctx, tt.o)
		if err != nil || len(ids) != tt.want {
			t.Errorf("%s: got %d commits, %v, want %d", tt.name, len(ids), err, tt.want)
		}
	}
	for _, o := range []gitcmd.LogOptions{{From: from, Author: "a\nb"}, {From: from, Path: "a\x00b"}, {From: from, Skip: -1}} {
		if _, err := r.Log(ctx, o); !errors.Is(err, gitstore.ErrBadName) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"))
	if _, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{missing}}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("missing commit: %v", err)
	}
	if _, err := r.MergeBase(ctx, a, missing); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("merge base with missing: %v", err)
	}
	if _, err := r.IsAncestor(ctx, missing, a); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("ancestor missing: %v", err)
	}
}
