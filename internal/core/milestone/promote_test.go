package milestone_test

import (
	"net/url"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/weburl"
)

// A project that left its groups gets the milestones of the nearest new group by title, and
// copies of the rest; those that exist take no statement each.
func TestService_Successors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s := milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")})
		ann := w.User("ann")
		former, top := w.Group("former", authz.Public, 0), w.Group("top", authz.Public, 0)
		near := w.Group("top/near", authz.Public, top)
		app := w.Project("top/near/app", authz.Public, near)
		w.Join(app, ann, authz.Owner)
		for _, g := range []authz.NamespaceID{former, top, near} {
			w.Member(g, ann, authz.Owner)
		}
		create := func(g authz.NamespaceID, title string) milestone.ID {
			m, err := s.Create(t.Context(), ann, authz.Place{Namespace: g, Subject: authz.Subject{Noun: "Group", Namespace: g}}, milestone.Input{Title: title})
			if err != nil {
				t.Fatal(err)
			}
			return m.ID
		}
		var old []milestone.ID
		for _, title := range []string{"far", "both", "lost"} {
			old = append(old, create(former, title))
		}
		create(top, "both")
		far, both := create(top, "far"), create(near, "both")
		p := w.Find(ann, app)
		successors := func(ids ...milestone.ID) (map[milestone.ID]milestone.ID, uint64) {
			before := d.Statements()
			list, err := s.Successors(t.Context(), ann, p.Place(), ids)
			if err != nil || len(list) != len(ids) {
				t.Fatalf("got %v, %v, want %d", list, err, len(ids))
			}
			out := map[milestone.ID]milestone.ID{}
			for _, next := range list {
				out[next.From] = next.To
			}
			return out, d.Statements() - before
		}
		got, _ := successors(old...)
		if got[old[0]] != far || got[old[1]] != both {
			t.Errorf("got %v, want %d and %d for %v", got, far, both, old[:2])
		}
		copied, err := s.ByIDs(t.Context(), ann, []milestone.ID{got[old[2]]})
		if m := copied[got[old[2]]]; err != nil || m == nil || m.Title != "lost" || m.NamespaceID != p.NamespaceID {
			t.Errorf("lost: got %+v, %v, want a copy in the project", m, err)
		}
		if list, err := s.Successors(t.Context(), ann, p.Place(), []milestone.ID{far, both}); err != nil || len(list) != 0 {
			t.Errorf("of groups that the project stands in: got %v, %v, want none", list, err)
		}
		_, one := successors(old[0])
		again, many := successors(old...)
		if one != many || again[old[2]] != got[old[2]] {
			t.Errorf("one took %d statements, three %d; the second time got %v, want %v", one, many, again, got)
		}
	})
}
