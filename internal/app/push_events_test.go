package app

import (
	"fmt"
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// A push of more references of a kind than push_event_activities_limit is one activity,
// and costs the statements of a push of few.
func TestPush_activities(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
		as := authz.Actor{UserID: 1, Username: "root", Admin: true}
		p, err := s.core.Projects.Find(ctx, as, "root/shop")
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.core.Repos.Open(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		tip, err := r.Branch(ctx, "main")
		if err != nil {
			t.Fatal(err)
		}
		type event struct {
			ID      int64  `db:"id"`
			Action  string `db:"action"`
			Payload string `db:"payload"`
		}
		last := int64(0)
		news := func() []string {
			t.Helper()
			rows, err := db.Select[event](ctx, s.db, "SELECT id, action, payload FROM events WHERE id > ? AND payload IS NOT NULL ORDER BY id", last)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, e := range rows {
				last = e.ID
				out = append(out, e.Action+" "+e.Payload)
			}
			return out
		}
		news()
		changes := func(prefix string, n int, remove bool) []repo.RefChange {
			var out []repo.RefChange
			for i := range n {
				c := repo.RefChange{Ref: gitstore.RefName(fmt.Sprint(prefix, i)), New: tip}
				if remove {
					c.Old, c.New = tip, gitstore.ObjectID{}
				}
				out = append(out, c)
			}
			return out
		}
		move := func(changes []repo.RefChange) uint64 {
			t.Helper()
			before := s.db.Statements()
			if err := s.core.Repos.MoveRefs(ctx, as, p, repo.ByPush, changes); err != nil {
				t.Fatal(err)
			}
			return s.db.Statements() - before
		}
		bulk := func(n int, action, kind string) string {
			return fmt.Sprintf(`pushed {"commit_count":0,"action":%q,"ref_type":%q,"commit_from":null,"commit_to":null,"ref":null,"commit_title":null,"ref_count":%d}`, action, kind, n)
		}
		move(slices.Concat(changes("refs/heads/a", 3, false), changes("refs/tags/a", 3, false)))
		if got := news(); len(got) != 6 {
			t.Errorf("three branches and three tags: %q, want an activity of each", got)
		}
		move(slices.Concat(changes("refs/heads/b", 4, false), changes("refs/tags/b", 1, false)))
		if got := news(); len(got) != 2 || got[0] != bulk(4, "created", "branch") {
			t.Errorf("four branches and a tag: %q, want %q and that of the tag", got, bulk(4, "created", "branch"))
		}
		few := move(changes("refs/heads/c", 100, false))
		many := move(changes("refs/heads/d", 1000, false))
		if got, want := news(), []string{bulk(100, "created", "branch"), bulk(1000, "created", "branch")}; !slices.Equal(got, want) {
			t.Errorf("many branches: %q, want %q", got, want)
		}
		// Merge requests are looked for by some hundreds of branches at a time.
		if most := few + 1000/(db.MaxArgs/4) + 1; many > most {
			t.Errorf("%d statements for 100 branches, %d for 1,000, want at most %d", few, many, most)
		}
		move(changes("refs/heads/d", 1000, true))
		if got, want := news(), []string{bulk(1000, "removed", "branch")}; !slices.Equal(got, want) {
			t.Errorf("deleted branches: %q, want %q", got, want)
		}
	})
}
