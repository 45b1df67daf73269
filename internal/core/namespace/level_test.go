package namespace_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// grant is one membership or share of the model.
type grant struct {
	at    int // place in the forest
	to    int // user, or for a share the place of the invited group
	level authz.Level
	alive bool
}

// forest is a plain model of places, memberships and shares.
type forest struct {
	parent  []int // -1 for none
	members []grant
	shares  []grant
}

// chain returns the place and everything above it.
func (m *forest) chain(at int) []int {
	var out []int
	for ; at >= 0; at = m.parent[at] {
		out = append(out, at)
	}
	return out
}

// member is the highest level of membership at the place or above.
func (m *forest) member(at, user int) authz.Level {
	var best authz.Level
	for _, place := range m.chain(at) {
		for _, g := range m.members {
			if g.at == place && g.to == user && g.alive {
				best = max(best, g.level)
			}
		}
	}
	return best
}

// level adds what shares with groups give.
func (m *forest) level(at, user int) authz.Level {
	best := m.member(at, user)
	for _, place := range m.chain(at) {
		for _, g := range m.shares {
			if g.at == place && g.alive {
				best = max(best, min(g.level, m.member(g.to, user)))
			}
		}
	}
	return best
}

// TestLevel compares the level that SQL computes with the plain definition, over
// random forests, memberships and shares, and the lists of what is reached with it.
func TestLevel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		users := []authz.Actor{f.user("ann"), f.user("bob")}
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			m, ids := plant(f, r, users, round)
			for at, id := range ids {
				for u, as := range users {
					got, err := f.policy.Level(context.Background(), as, authz.Subject{Namespace: id})
					if want := m.level(at, u); err != nil || got != want {
						r.Fatalf("level of user %d at %d: got %d, %v, want %d in %+v", u, at, got, err, want, m)
					}
					query, args := f.policy.ReachSQL(as, authz.Developer)
					reached, err := db.Get[bool](context.Background(), f.db, "SELECT CAST(? AS BIGINT) IN ("+query+")", append([]any{id}, args...)...)
					if want := m.level(at, u) >= authz.Developer; err != nil || reached != want {
						r.Fatalf("reach of user %d to %d: got %v, %v, want %v in %+v", u, at, reached, err, want, m)
					}
				}
			}
		})
	})
}

// plant draws a forest and writes it.
func plant(f *fixture, r *rapid.T, users []authz.Actor, round int) (*forest, []namespace.ID) {
	ctx, m := context.Background(), &forest{}
	levels := rapid.SampledFrom([]authz.Level{10, 15, 20, 30, 40, 50})
	var ids []namespace.ID
	for i := range rapid.IntRange(1, 6).Draw(r, "places") {
		parent := rapid.IntRange(-1, i-1).Draw(r, "parent")
		entry := namespace.Entry{Kind: namespace.GroupKind, Path: fmt.Sprintf("g%d-%d", round, i), Name: fmt.Sprint(i)}
		if parent >= 0 {
			entry.Parent = &ids[parent]
		}
		id, err := f.Plant(ctx, entry)
		if err != nil {
			r.Fatal(err)
		}
		m.parent, ids = append(m.parent, parent), append(ids, id)
	}
	place := rapid.IntRange(0, len(ids)-1)
	expiry := rapid.SampledFrom([]string{"", "2026-04-30", "2026-05-01", "2026-05-02"})
	write := func(table, column string, g *grant, other any) {
		ends := expiry.Draw(r, "expiry")
		g.alive = ends == "" || ends > "2026-05-01"
		var until *string
		if ends != "" {
			until = &ends
		}
		n, err := f.db.Exec(ctx, "INSERT INTO "+table+" (namespace_id, "+column+`, access_level, expires_on, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, ids[g.at], other, g.level, until, db.At(f.today), db.At(f.today))
		if err != nil {
			r.Fatal(err)
		}
		g.alive = g.alive && n == 1
	}
	for range rapid.IntRange(0, 4).Draw(r, "members") {
		g := grant{at: place.Draw(r, "at"), to: rapid.IntRange(0, 1).Draw(r, "user"), level: levels.Draw(r, "level")}
		write("members", "user_id", &g, users[g.to].UserID)
		m.members = append(m.members, g)
	}
	for range rapid.IntRange(0, 3).Draw(r, "shares") {
		g := grant{at: place.Draw(r, "at"), to: place.Draw(r, "group"), level: levels.Draw(r, "level")}
		write("shares", "group_id", &g, ids[g.to])
		m.shares = append(m.shares, g)
	}
	return m, ids
}
