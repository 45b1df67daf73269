package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

// What a push of many references costs does not depend on how many they are: the same
// statements, the same processes, and none of them for each reference.
func TestPush_many(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		main := w.put("main", "a", "a\n").ID
		next := w.put("next", "b", "b\n").ID
		type cost struct {
			statements uint64
			processes  int64
		}
		move := func(changes []repo.RefChange) cost {
			t.Helper()
			w.git.Trim() // nothing is remembered, no process is open
			statements, started := w.DB.Statements(), w.git.Started()
			push, err := w.repos.BeginPush(ctx, w.maintainer, w.as(w.maintainer))
			check(t, err)
			refusal, err := push.Check(ctx, w.open(), changes, nil)
			if err != nil || refusal != "" {
				t.Fatalf("check: %q, %v", refusal, err)
			}
			results, _, err := push.Apply(ctx, changes)
			check(t, err)
			for _, r := range results {
				if r.Reason != "" {
					t.Fatalf("%s: %s", r.Ref, r.Reason)
				}
			}
			return cost{w.DB.Statements() - statements, w.git.Started() - started}
		}
		costs := map[string][2]cost{}
		for i, n := range []int{100, 1000} {
			steps := map[string][]repo.RefChange{}
			for k := range n {
				for _, prefix := range []string{gitstore.Branches, gitstore.Tags} {
					name := ref(t, fmt.Sprintf("%smany/%d-%d", prefix, i, k))
					steps["make"] = append(steps["make"], repo.RefChange{Ref: name, New: next})
					if prefix == gitstore.Branches {
						steps["move"] = append(steps["move"], repo.RefChange{Ref: name, Old: next, New: main})
						steps["delete"] = append(steps["delete"], repo.RefChange{Ref: name, Old: main})
					}
				}
			}
			for _, step := range []string{"make", "move", "delete"} {
				both := costs[step]
				both[i] = move(steps[step])
				costs[step] = both
			}
		}
		for step, c := range costs {
			if c[0] != c[1] {
				t.Errorf("%s: %+v for 100 branches, %+v for 1,000; want the same", step, c[0], c[1])
			}
			if c[1].processes > 3 {
				t.Errorf("%s: %d processes, want at most 3", step, c[1].processes)
			}
		}
	})
}

// A commit that is too large to be read is refused with the reason: the largest that is taken can be read.
func TestPush_Check_large_commit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		main := w.put("main", "a", "a\n")
		by := gitstore.Signature{Name: "Ann", Email: "ann@example.com", When: w.Now()}
		for name, row := range map[string]struct {
			bytes   int
			refused bool
		}{"large": {15 << 20, false}, "too-large": {16<<20 + 1, true}} {
			q, err := w.open().Quarantine(ctx)
			check(t, err)
			id, err := q.CommitTree(ctx, gitstore.CommitInput{
				Tree: main.Tree, Parents: []gitstore.ObjectID{main.ID}, Author: by, Committer: by, Message: strings.Repeat("x", row.bytes),
			})
			check(t, err)
			refusal, err := w.push(w.as(w.maintainer), q, name, id)
			if err != nil || strings.Contains(refusal, "larger than 16 MiB") != row.refused {
				t.Errorf("%s: %q, %v; want a refusal: %t", name, refusal, err, row.refused)
			}
		}
	})
}

// The look for missing repositories finds as many at rest as at once, over more projects than one piece.
func TestService_MissingAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		dbtest.Copies(t, w.DB, "namespaces", "t.id = (SELECT namespace_id FROM projects ORDER BY id LIMIT 1)", 450,
			map[string]string{"id": "10000 + n.i", "name": "'copy' || n.i", "path": "'copy' || n.i"})
		dbtest.Copies(t, w.DB, "projects", "t.id = (SELECT MIN(id) FROM projects)", 450, map[string]string{"namespace_id": "10000 + n.i", "id": "10000 + n.i"})
		var at repo.Missing
		statements := dbtest.Count(t, w.DB, func() {
			var err error
			at, err = w.repos.Missing(t.Context())
			check(t, err)
		})
		if statements > 20 {
			t.Errorf("a look at 450 projects without repositories takes %d statements, want 2 for each 200 and one for each of 5 paths", statements)
		}
		rest, err := w.repos.MissingAtRest(t.Context())
		check(t, err)
		if at.Count < 450 || at.Projects != rest.Projects || at.Count != rest.Count {
			t.Errorf("%+v at once, %+v at rest; want the same, of 450 and more", at, rest)
		}
	})
}
