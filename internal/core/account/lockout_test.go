package account_test

import (
	"context"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

const lastAdministrator = "The last administrator cannot be removed from office, blocked or deactivated"

// wayOut takes an administrator out of office.
type wayOut struct {
	name string
	take func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error
}

func waysOut() []wayOut {
	return []wayOut{
		{"demote", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			_, err := h.Update(ctx, as, id, account.Changes{Admin: new(false)})
			return err
		}},
		{"block", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			_, err := h.Block(ctx, as, id)
			return err
		}},
		{"ban", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			return h.Ban(ctx, as, id)
		}},
		{"deactivate", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			_, err := h.Deactivate(ctx, as, id)
			return err
		}},
		{"delete", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			return h.Delete(ctx, as, id, account.Removal{})
		}},
		{"delete with everything", func(ctx context.Context, h *accounttest.World, as authz.Actor, id authz.UserID) error {
			return h.Delete(ctx, as, id, account.Removal{Hard: true})
		}},
	}
}

// The last administrator stays in office whichever way is tried, by the operator too.
func TestService_lastAdministrator(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		departing(h)
		// A user who may not act does not count, nor does who is no administrator any more.
		for _, name := range []string{"blocked", "demoted"} {
			u, _ := h.User(name, func(in *account.Input) { in.Admin = true })
			way := waysOut()[1]
			if name == "demoted" {
				way = waysOut()[0]
			}
			if err := way.take(t.Context(), h, h.Root, u.ID); err != nil {
				t.Fatal(err)
			}
		}
		h.Pass(100 * 24 * time.Hour)
		for _, way := range waysOut() {
			t.Run(way.name, func(t *testing.T) {
				accounttest.WantError(t, way.take(t.Context(), h, authz.System(), h.Root.UserID), errs.Forbidden, lastAdministrator)
				if u, err := h.Find(t.Context(), h.Root, h.Root.UserID); err != nil || !u.Admin || u.State != account.Active {
					t.Errorf("after it: got %+v, %v, want an active administrator", u, err)
				}
			})
		}
	})
}

// Two administrators who take each other out of office at once, each in one of the ways:
// one stays.
func TestService_lastAdministrator_race(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		departing(h)
		h.Pass(100 * 24 * time.Hour)
		for i, one := range waysOut() {
			other := waysOut()[(i+2)%len(waysOut())]
			t.Run(one.name+" and "+other.name, func(t *testing.T) {
				zoe, asZoe := h.User("zoe"+string(rune('a'+i)), func(in *account.Input) { in.Admin = true })
				failed := make(chan error, 2)
				go func() { failed <- one.take(context.Background(), h, h.Root, zoe.ID) }()
				go func() { failed <- other.take(context.Background(), h, asZoe, h.Root.UserID) }()
				refused := 0
				for range 2 {
					if err := <-failed; err != nil {
						refused++
						accounttest.WantError(t, err, errs.Forbidden, lastAdministrator)
					}
				}
				left, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM users WHERE admin AND state = 'active' AND user_type = 'human'")
				if err != nil || refused != 1 || left != 1 {
					t.Errorf("%d refused, %d administrators left, %v; want one and one", refused, left, err)
				}
				if _, err := d.Exec(t.Context(), "UPDATE users SET admin = (id = ?), state = 'active'", h.Root.UserID); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// Two owners of a group who are deleted at once: the group keeps one of them, who would
// leave it to no user.
func TestService_Delete_owners(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		departing(h)
		ann, asAnn := h.User("ann")
		bob, _ := h.User("bob")
		name, hidden := "team", authz.Private
		g, err := h.Namespaces.Create(t.Context(), asAnn, namespace.GroupInput{
			GroupChanges: namespace.GroupChanges{Name: &name, Path: &name, Visibility: &hidden},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Namespaces.Add(t.Context(), h.Root, g.Place(), namespace.MemberInput{UserID: bob.ID, Level: authz.Owner}); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 2)
		for _, id := range []authz.UserID{ann.ID, bob.ID} {
			go func() { failed <- h.Delete(context.Background(), h.Root, id, account.Removal{}) }()
		}
		refused := 0
		for range 2 {
			if err := <-failed; err != nil {
				refused++
				accounttest.WantError(t, err, errs.Conflict, "User cannot be removed while is the sole-owner of a group")
			}
		}
		if refused != 1 {
			t.Errorf("%d of two were refused, want one", refused)
		}
	})
}

// A user who does things right now is not put to sleep, whether it is written down yet or
// not.
func TestService_Deactivate_active(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	mona, _ := h.User("mona")
	const refusal = "The user you are trying to deactivate has been active in the past 90 days and cannot be deactivated"
	if _, err := h.Admit(t.Context(), mona.ID); err != nil {
		t.Fatal(err)
	}
	_, err := h.Deactivate(t.Context(), h.Root, mona.ID)
	accounttest.WantError(t, err, errs.Forbidden, refusal)
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = h.Deactivate(t.Context(), h.Root, mona.ID)
	accounttest.WantError(t, err, errs.Forbidden, refusal)
	h.Pass(91 * 24 * time.Hour)
	if done, err := h.Deactivate(t.Context(), h.Root, mona.ID); err != nil || !done {
		t.Errorf("after a quiet quarter: got %v, %v", done, err)
	}
}
