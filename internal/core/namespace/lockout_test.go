package namespace_test

import (
	"context"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// ownerOut takes an owner's office.
type ownerOut struct {
	name string
	take func(ctx context.Context, f *fixture, as authz.Actor, p authz.Place, who authz.UserID) error
}

func ownersOut() []ownerOut {
	change := func(c namespace.MemberChanges) func(context.Context, *fixture, authz.Actor, authz.Place, authz.UserID) error {
		return func(ctx context.Context, f *fixture, as authz.Actor, p authz.Place, who authz.UserID) error {
			_, err := f.Change(ctx, as, p, who, c)
			return err
		}
	}
	soon := ptr("2026-06-01")
	return []ownerOut{
		{"demote", change(namespace.MemberChanges{Level: authz.Maintainer})},
		{"let the membership end one day", change(namespace.MemberChanges{Level: authz.Owner, ExpiresOn: &soon})},
		{"remove", func(ctx context.Context, f *fixture, as authz.Actor, p authz.Place, who authz.UserID) error {
			return f.Delete(ctx, as, p, who, namespace.Removal{})
		}},
		{"remove with everything below", func(ctx context.Context, f *fixture, as authz.Actor, p authz.Place, who authz.UserID) error {
			return f.Delete(ctx, as, p, who, namespace.Removal{Below: true})
		}},
	}
}

// A group keeps its last owner, even where there is what looks like
// another owner and does not last.
func TestService_lastOwner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann, bot, blocked, passing, guest := f.user("ann"), f.user("bot"), f.user("blocked"), f.user("passing"), f.user("guest")
		g := f.group(ann, "team", nil, authz.Private)
		for _, who := range []authz.Actor{bot, blocked} {
			f.add(ann, at(g), who, authz.Owner)
		}
		if _, err := f.Add(ctx, ann, at(g), namespace.MemberInput{UserID: passing.UserID, Level: authz.Owner, ExpiresOn: ptr("2026-05-20")}); err != nil {
			t.Fatal(err)
		}
		owners := f.group(guest, "owners", nil, authz.Public)
		f.share(g.ID, owners, authz.Owner) // its members own the group through a share
		for _, q := range []string{"UPDATE users SET user_type = 'bot' WHERE username = 'bot'", "UPDATE users SET state = 'blocked' WHERE username = 'blocked'"} {
			if _, err := f.db.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		for _, way := range ownersOut() {
			for who, as := range map[string]authz.Actor{"herself": ann, "another owner": passing, "an owner through a share": guest, "an administrator": f.admin} {
				t.Run(way.name+" by "+who, func(t *testing.T) {
					wantError(t, way.take(t.Context(), f, as, at(g), ann.UserID), errs.Forbidden, "forbidden")
					if m, err := f.Member(t.Context(), f.admin, at(g), ann.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Owner || m.ExpiresOn != nil {
						t.Errorf("after it: got %+v, %v, want an owner for good", m, err)
					}
				})
			}
		}
		if needed, err := f.Indispensable(ctx, ann.UserID); err != nil || !needed {
			t.Errorf("her account: got %v, %v, want it needed", needed, err)
		}
		if needed, err := f.Indispensable(ctx, passing.UserID); err != nil || needed {
			t.Errorf("the account of one of several owners: got %v, %v, want it not needed", needed, err)
		}

		inner := f.group(ann, "inner", g, authz.Private) // owned from above as well
		for _, way := range ownersOut()[2:] {
			f.add(f.admin, at(inner), guest, authz.Owner)
			if err := way.take(ctx, f, f.admin, at(inner), guest.UserID); err != nil {
				t.Errorf("%s where a group above has an owner: %v", way.name, err)
			}
		}
	})
}

// Two owners who take each other's office at once, in any two ways: one stays.
func TestService_lastOwner_race(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann"), f.user("bob")
		ways := ownersOut()
		for i, one := range ways {
			other := ways[(i+1)%len(ways)]
			t.Run(one.name+" and "+other.name, func(t *testing.T) {
				g := f.group(ann, "team"+string(rune('a'+i)), nil, authz.Public)
				f.add(ann, at(g), bob, authz.Owner)
				var wg sync.WaitGroup
				var failed [2]error
				wg.Go(func() { failed[0] = one.take(context.Background(), f, ann, at(g), bob.UserID) })
				wg.Go(func() { failed[1] = other.take(context.Background(), f, bob, at(g), ann.UserID) })
				wg.Wait()
				refused := 0
				for _, err := range failed {
					if err != nil {
						refused++
						wantError(t, err, errs.Forbidden, "forbidden")
					}
				}
				left, err := db.Get[int](t.Context(), f.db, "SELECT COUNT(*) FROM members WHERE namespace_id = ? AND access_level = 50 AND expires_on IS NULL", g.ID)
				if err != nil || refused != 1 || left != 1 {
					t.Errorf("%d refused, %d owners for good left, %v; want one and one", refused, left, err)
				}
			})
		}
	})
}

// A group that was owned from above has an owner once it is at the top.
func TestService_Transfer_ownerless(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann"), f.user("bob")
		top := f.group(ann, "top", nil, authz.Private)
		f.add(ann, at(top), bob, authz.Maintainer)
		for i, path := range []string{"one", "two"} {
			g := f.group(bob, path, top, authz.Private) // bob owns it, and leaves
			f.add(ann, at(g), ann, authz.Owner)
			for _, who := range []authz.Actor{bob, ann} {
				if err := f.Delete(t.Context(), f.admin, at(g), who.UserID, namespace.Removal{}); err != nil {
					t.Fatal(err)
				}
			}
			if i == 1 { // ann's own membership would be less
				if _, err := f.db.Exec(t.Context(), `INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
					VALUES (?, ?, 10, ?, ?)`, g.ID, ann.UserID, db.At(f.today), db.At(f.today)); err != nil {
					t.Fatal(err)
				}
			}
			moved, err := f.Transfer(t.Context(), ann, "top/"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := f.Member(t.Context(), ann, at(moved), ann.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Owner {
				t.Errorf("%s: got %+v, %v, want who moved it as its owner", path, m, err)
			}
		}
	})
}

// Accounts whose groups have other owners to stay may go; see account for the rest.
func TestService_Delete_owner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann"), f.user("bob")
		g := f.group(ann, "team", nil, authz.Private)
		f.add(ann, at(g), bob, authz.Owner)
		if _, err := f.accounts.Block(t.Context(), f.admin, bob.UserID); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.accounts.Delete(t.Context(), f.admin, ann.UserID, account.Removal{}), errs.Conflict,
			"User cannot be removed while is the sole-owner of a group")
	})
}
