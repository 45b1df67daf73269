package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// pair is where a grant of the changing model is and whom it is for: a user, or the
// place of an invited group.
type pair struct{ at, to int }

// lasting is what a membership or share gives until a day, "" for ever.
type lasting struct {
	level authz.Level
	until string
}

// changing is a plain model of places whose memberships, shares and parents change.
type changing struct {
	parent  []int // -1 for none
	ids     []namespace.ID
	members map[pair]lasting
	shares  map[pair]lasting
}

// still gives the model of level_test on one day.
func (m *changing) still(today string) *forest {
	out := &forest{parent: m.parent}
	grants := func(from map[pair]lasting) (list []grant) {
		for p, l := range from {
			list = append(list, grant{at: p.at, to: p.to, level: l.level, alive: l.until == "" || l.until > today})
		}
		return list
	}
	out.members, out.shares = grants(m.members), grants(m.shares)
	return out
}

// TestLevel_changes compares the level that SQL computes with the plain definition after
// every step of random sequences of changes made through the service: memberships given,
// changed and ended, groups invited and uninvited, places moved, days gone by.
func TestLevel_changes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		users := []authz.Actor{f.user("ann"), f.user("bob")}
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			m := f.forest(r, round)
			for range rapid.IntRange(1, 8).Draw(r, "steps") {
				f.step(r, m, users)
				today := f.today.Format(time.DateOnly)
				plain := m.still(today)
				for u, as := range users {
					for at, got := range f.levels(r, as, m.ids) {
						if want := plain.level(at, u); got != want {
							r.Fatalf("level of user %d at %d on %s: got %d, want %d in %+v", u, at, today, got, want, m)
						}
					}
				}
			}
		})
	})
}

// forest plants some groups.
func (f *fixture) forest(r *rapid.T, round int) *changing {
	m := &changing{members: map[pair]lasting{}, shares: map[pair]lasting{}}
	for i := range rapid.IntRange(2, 5).Draw(r, "places") {
		parent := rapid.IntRange(-1, i-1).Draw(r, "parent")
		path := fmt.Sprintf("c%d-%d", round, i)
		in := groupInput(path, nil, authz.Private)
		if parent >= 0 {
			in.ParentID = &m.ids[parent]
		}
		g, err := f.Create(context.Background(), f.admin, in)
		if err != nil {
			r.Fatal(err)
		}
		m.parent, m.ids = append(m.parent, parent), append(m.ids, g.ID)
	}
	return m
}

// levels reads the actor's level at each place.
func (f *fixture) levels(r *rapid.T, as authz.Actor, ids []namespace.ID) []authz.Level {
	type row struct {
		ID    namespace.ID `db:"id"`
		Level authz.Level  `db:"level"`
	}
	var w db.Where
	w.In("n.id", ids)
	expr, args := f.policy.LevelSQL(as, "n.id")
	rows, err := db.Select[row](context.Background(), f.db, "SELECT n.id, "+expr+" AS level FROM namespaces n"+w.SQL(), append(args, w.Args()...)...)
	if err != nil || len(rows) != len(ids) {
		r.Fatalf("levels: got %d, %v", len(rows), err)
	}
	out := make([]authz.Level, len(ids))
	for _, got := range rows {
		out[slices.Index(ids, got.ID)] = got.Level
	}
	return out
}

// step makes one change of the model and of the database. What the service refuses
// changes neither.
func (f *fixture) step(r *rapid.T, m *changing, users []authz.Actor) {
	ctx := context.Background()
	place := rapid.IntRange(0, len(m.ids)-1)
	p := pair{place.Draw(r, "at"), rapid.IntRange(0, len(users)-1).Draw(r, "user")}
	l := lasting{level: rapid.SampledFrom([]authz.Level{10, 15, 20, 30, 40, 50}).Draw(r, "level")}
	var until *string
	if days := rapid.IntRange(-1, 3).Draw(r, "days"); days >= 0 {
		l.until = f.today.AddDate(0, 0, days).Format(time.DateOnly)
		until = &l.until
	}
	other := place.Draw(r, "other")
	g, err := f.FindByID(ctx, f.admin, m.ids[p.at])
	if err != nil {
		r.Fatal(err)
	}
	who, shared := users[p.to].UserID, pair{p.at, other}
	switch rapid.SampledFrom([]string{"add", "add", "change", "remove", "share", "share", "unshare", "move", "move", "wait"}).Draw(r, "step") {
	case "add":
		if _, err = f.Add(ctx, f.admin, at(g), namespace.MemberInput{UserID: who, Level: l.level, ExpiresOn: until}); err == nil {
			m.members[p] = l
		}
	case "change":
		if _, err = f.Change(ctx, f.admin, at(g), who, namespace.MemberChanges{Level: l.level, ExpiresOn: &until}); err == nil {
			m.members[p] = l
		}
	case "remove":
		if err = f.Delete(ctx, f.admin, at(g), who, namespace.RemoveBelow); err == nil {
			for i := range m.ids {
				if slices.Contains((&forest{parent: m.parent}).chain(i), p.at) {
					delete(m.members, pair{i, p.to})
				}
			}
		}
	case "share":
		if _, err = f.Share(ctx, f.admin, at(g), namespace.ShareInput{GroupID: m.ids[other], Level: l.level, ExpiresOn: until}); err == nil {
			m.shares[shared] = l
		}
	case "unshare":
		if err = f.Unshare(ctx, f.admin, at(g), m.ids[other]); err == nil {
			delete(m.shares, shared)
		}
	case "move":
		if into := rapid.IntRange(-1, len(m.ids)-1).Draw(r, "into"); into < 0 {
			if _, err = f.Transfer(ctx, f.admin, fmt.Sprint(g.ID), nil); err == nil {
				m.parent[p.at] = -1
			}
		} else if _, err = f.Transfer(ctx, f.admin, fmt.Sprint(g.ID), &m.ids[into]); err == nil {
			m.parent[p.at] = into
		}
	case "wait":
		f.today = f.today.AddDate(0, 0, 1)
	}
	if refused := (*errs.Error)(nil); err != nil && !errors.As(err, &refused) {
		r.Fatal(err)
	}
}
