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
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// pair is where a grant of the changing model is and who it is for: a user, or the
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
	invited []invited    // addresses that no user has yet
	sent    int          // addresses invited so far
	blocked map[int]bool // users
}

// invited is an address that waits for its owner.
type invited struct {
	at      int
	address string
	lasting lasting
}

// still returns the model of level_test on one day.
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
// changed and ended, asked for, offered by mail and taken up, groups invited and uninvited,
// places moved, people blocked, days gone by. So are the lists of what a user reaches and of
// who belongs to a place.
func TestLevel_changes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		users := []authz.Actor{f.user("ann"), f.user("bob")}
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			m := f.forest(r, round)
			for _, as := range users { // as the round before may have left them
				if _, err := f.accounts.Unblock(context.Background(), f.admin, as.UserID); err != nil {
					r.Fatal(err)
				}
			}
			for range rapid.IntRange(1, 8).Draw(r, "steps") {
				f.step(r, m, users)
				today := f.today.Format(time.DateOnly)
				plain := m.still(today)
				for u, as := range users {
					_, err := f.accounts.Admit(context.Background(), as.UserID)
					if errs.Is(err, errs.Forbidden) != m.blocked[u] || err != nil && !m.blocked[u] {
						r.Fatalf("user %d, blocked %v, is let in: %v", u, m.blocked[u], err)
					}
					for at, got := range f.levels(r, as, m.ids) {
						if want := plain.level(at, u); got != want {
							r.Fatalf("level of user %d at %d on %s: got %d, want %d in %+v", u, at, today, got, want, m)
						}
					}
				}
				f.compareLists(r, m, plain, users)
			}
		})
	})
}

// forest plants some groups.
func (f *fixture) forest(r *rapid.T, round int) *changing {
	m := &changing{members: map[pair]lasting{}, shares: map[pair]lasting{}, blocked: map[int]bool{}}
	for i := range rapid.IntRange(2, 5).Draw(r, "places") {
		parent := rapid.IntRange(-1, i-1).Draw(r, "parent")
		path := fmt.Sprintf("c%d-%d", round, i)
		in := groupInput(path, nil, authz.Public)
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

// compareLists holds the members of each place, and the places that each user reaches as a
// developer, against the model.
func (f *fixture) compareLists(r *rapid.T, m *changing, plain *forest, users []authz.Actor) {
	ctx := context.Background()
	for u, as := range users {
		query, args := f.policy.ReachSQL(as, authz.Developer)
		var w db.Where
		w.In("n.id", m.ids)
		w.And("n.id IN ("+query+")", args...)
		reached, err := db.Select[namespace.ID](ctx, f.db, "SELECT n.id FROM namespaces n"+w.SQL(), w.Args()...)
		if err != nil {
			r.Fatal(err)
		}
		for at, id := range m.ids {
			if got, want := slices.Contains(reached, id), plain.level(at, u) >= authz.Developer; got != want {
				r.Fatalf("reach of user %d to %d: got %v, want %v in %+v", u, at, got, want, m)
			}
		}
	}
	at := rapid.IntRange(0, len(m.ids)-1).Draw(r, "listed")
	g, err := f.FindByID(ctx, f.admin, m.ids[at])
	if err != nil {
		r.Fatal(err)
	}
	for _, inherited := range []bool{false, true} {
		found, err := f.Members(ctx, f.admin, g.Place(), namespace.MemberFilter{Inherited: inherited, Range: page.Range{Limit: 50}})
		list, total := found.Items, found.Total
		if err != nil || total != len(list) {
			r.Fatalf("members of %d: %d of %d, %v", at, len(list), total, err)
		}
		got := map[authz.UserID]authz.Level{}
		for _, member := range list {
			got[member.UserID] = member.Level
		}
		for u, as := range users {
			want := plain.level(at, u)
			if !inherited {
				want = (&forest{parent: slices.Repeat([]int{-1}, len(m.ids)), members: plain.members}).member(at, u)
			}
			if got[as.UserID] != want {
				r.Fatalf("user %d in the members of %d, inherited %v: got %d, want %d in %+v", u, at, inherited, got[as.UserID], want, m)
			}
		}
	}
}

// join makes a change by which a user comes in other than by being added.
func (f *fixture) join(r *rapid.T, m *changing, how string, users []authz.Actor, p pair, l lasting) error {
	ctx := context.Background()
	g, err := f.FindByID(ctx, f.admin, m.ids[p.at])
	if err != nil {
		return err
	}
	switch how {
	case "ask":
		if _, err = f.Request(ctx, users[p.to], at(g)); err == nil {
			if _, err = f.Approve(ctx, f.admin, at(g), users[p.to].UserID, l.level); err == nil {
				m.members[p] = lasting{level: l.level}
			}
		}
	case "invite":
		in := namespace.InvitationInput{Email: fmt.Sprintf("i%d-%d@new.example", m.ids[0], m.sent), Level: l.level}
		m.sent++
		if l.until != "" {
			in.ExpiresOn = &l.until
		}
		if err = f.Invite(ctx, f.admin, at(g), in); err == nil {
			m.invited = append(m.invited, invited{p.at, in.Email, l})
		}
	case "accept":
		if len(m.invited) == 0 {
			return nil
		}
		taken := m.invited[len(m.invited)-1]
		m.invited = m.invited[:len(m.invited)-1]
		if _, err = f.accounts.AddEmail(ctx, f.admin, users[p.to].UserID, account.EmailInput{Address: taken.address, Confirmed: true}); err != nil {
			return err
		}
		today, into := f.today.Format(time.DateOnly), pair{taken.at, p.to}
		if old, is := m.members[into]; (!is || old.until != "" && old.until <= today) && (taken.lasting.until == "" || taken.lasting.until > today) {
			m.members[into] = taken.lasting
		}
		err = f.AcceptInvitations(ctx, users[p.to].UserID)
	}
	return err
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
	what := rapid.SampledFrom([]string{
		"add", "add", "change", "remove", "share", "share", "unshare", "move", "move", "wait", "ask", "invite", "accept", "block", "unblock",
	}).Draw(r, "step")
	switch what {
	case "ask", "invite", "accept":
		err = f.join(r, m, what, users, p, l)
	case "block":
		if _, err = f.accounts.Block(ctx, f.admin, who); err == nil {
			m.blocked[p.to] = true
		}
	case "unblock":
		if _, err = f.accounts.Unblock(ctx, f.admin, who); err == nil {
			m.blocked[p.to] = false
		}
	case "add":
		if _, err = f.Add(ctx, f.admin, at(g), namespace.MemberInput{UserID: who, Level: l.level, ExpiresOn: until}); err == nil {
			m.members[p] = l
		}
	case "change":
		if _, err = f.Change(ctx, f.admin, at(g), who, namespace.MemberChanges{Level: l.level, ExpiresOn: &until}); err == nil {
			m.members[p] = l
		}
	case "remove":
		if err = f.Delete(ctx, f.admin, at(g), who, namespace.Removal{Below: true}); err == nil {
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
