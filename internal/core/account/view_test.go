package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
)

// A part of a view is there for the callers that may see it, and for no one else.
func TestService_Views(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		open, _ := h.User("open")
		closed, self := h.User("closed")
		if _, err := h.Update(t.Context(), h.Root, closed.ID, account.Changes{PrivateProfile: new(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Attributes.Set(t.Context(), h.Root, attribute.Owner{Kind: attribute.User, ID: int64(open.ID)}, "shelf", "3"); err != nil {
			t.Fatal(err)
		}
		_, other := h.User("other")
		for _, tt := range []struct {
			name                                string
			as                                  authz.Actor
			of                                  authz.UserID
			want                                account.ViewOptions
			private, admin, open, counts, attrs bool
		}{
			{"another user", other, open.ID, account.ViewOptions{Own: true, CustomAttributes: true}, false, false, true, true, false},
			{"a closed profile", other, closed.ID, account.ViewOptions{Own: true}, false, false, false, false, false},
			{"the user, own part wanted", self, closed.ID, account.ViewOptions{Own: true}, true, false, true, true, false},
			{"the user, not wanted", self, closed.ID, account.ViewOptions{}, false, false, true, true, false},
			{"administrator", h.Root, open.ID, account.ViewOptions{}, true, true, true, true, false},
			{"administrator, with attributes", h.Root, open.ID, account.ViewOptions{CustomAttributes: true}, true, true, true, true, true},
		} {
			u, err := h.Find(t.Context(), tt.as, tt.of)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			views, err := h.Views(t.Context(), tt.as, []*account.User{u}, tt.want)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			v := views[0]
			if v.Profile == nil {
				t.Fatalf("%s: no profile", tt.name)
			}
			got := [...]bool{v.Private != nil, v.Admin != nil, v.Profile.Open != nil, v.Profile.Open != nil && v.Profile.Open.Followed != nil, v.CustomAttributes != nil}
			if want := [...]bool{tt.private, tt.admin, tt.open, tt.counts, tt.attrs}; got != want {
				t.Errorf("%s: private, admin, open, followed, attributes: got %v, want %v", tt.name, got, want)
			}
		}
	})
}

// A list for those who are no administrators reads summaries: their views have no parts.
func TestService_Views_list(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		_, as := h.User("reader")
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want bool
		}{{"user", as, false}, {"administrator", h.Root, true}} {
			list, err := h.List(t.Context(), tt.as, account.Filter{})
			if err != nil || len(list.Items) < 2 {
				t.Fatalf("%s: got %d users, %v", tt.name, len(list.Items), err)
			}
			views, err := h.Views(t.Context(), tt.as, list.Items, account.ViewOptions{Own: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range views {
				if got := [...]bool{v.Profile != nil, v.Private != nil, v.Admin != nil}; got != [...]bool{tt.want, tt.want, tt.want} {
					t.Errorf("%s: profile, private, admin of %s: got %v, want all %v", tt.name, v.Username, got, tt.want)
				}
			}
		}
	})
}

func TestService_EmailsFor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		open, as := h.User("open")
		closed, _ := h.User("closed")
		if _, err := d.Exec(t.Context(), "UPDATE users SET public_email = 'p@a.b' WHERE id = ?", open.ID); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name         string
			as           authz.Actor
			open, closed string
		}{
			{"a user", as, "p@a.b", ""},
			{"nobody", authz.Actor{}, "p@a.b", ""},
			{"an administrator", h.Root, open.Email, closed.Email},
		} {
			got, err := h.EmailsFor(t.Context(), tt.as, []authz.UserID{open.ID, closed.ID, 99})
			if err != nil || len(got) != 2 {
				t.Fatalf("%s: %v, %v", tt.name, got, err)
			}
			for id, want := range map[authz.UserID]string{open.ID: tt.open, closed.ID: tt.closed} {
				if e := got[id]; (e == nil) != (want == "") || e != nil && *e != want {
					t.Errorf("%s sees %v of user %d, want %q", tt.name, e, id, want)
				}
			}
		}
	})
}
