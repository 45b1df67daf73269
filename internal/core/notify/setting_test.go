package notify_test

import (
	"context"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/notify"
)

// addresses returns the primary address of each user.
type addresses struct{ d *db.DB }

func (a addresses) Load(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.User, error) {
	out := map[authz.UserID]*account.User{}
	for _, id := range ids {
		email, err := db.Get[string](ctx, a.d, "SELECT email FROM emails WHERE user_id = ? AND is_primary", id)
		if err != nil {
			return nil, err
		}
		out[id] = &account.User{ID: id, Email: email}
	}
	return out, nil
}

func (addresses) AddressOwners(context.Context, []string) (map[string]authz.UserID, error) {
	return nil, nil
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		w := coretest.New(t, d)
		s := notify.New(notify.Deps{DB: d, Policy: w.Policy, Accounts: addresses{d}, Now: w.Now})
		ann, bob := w.User("ann"), w.User("bob")
		id := w.Project("team/app", authz.Private, w.Group("team", authz.Private, 0))
		w.Join(id, ann, authz.Guest)
		here := w.Find(ann, id).Place()
		here.Subject.Known = false
		words := func(s string) *string { return &s }
		find := func(as authz.Actor, at authz.Place) *notify.Setting {
			t.Helper()
			set, err := s.Find(ctx, as, at)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		if set := find(ann, authz.Place{}); set.Level != notify.Participating || !set.Wants("failed_pipeline") || set.Wants("new_note") {
			t.Errorf("at first %+v", set)
		}
		if set := find(ann, here); set.Level != notify.Global {
			t.Errorf("of a project at first %+v", set)
		}
		if _, err := s.Update(ctx, ann, here, notify.Changes{Level: words("custom"), Events: map[string]bool{"new_note": true, "failed_pipeline": false}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Update(ctx, ann, here, notify.Changes{Events: map[string]bool{"new_issue": true}}); err != nil {
			t.Fatal(err)
		}
		if set := find(ann, here); set.Level != notify.Custom || !set.Wants("new_note") || !set.Wants("new_issue") || set.Wants("failed_pipeline") {
			t.Errorf("of a project %+v", set)
		}
		if set := find(ann, authz.Place{}); set.Level != notify.Participating {
			t.Errorf("everywhere %+v: a project's setting changed it", set)
		}
		for _, c := range []struct {
			name    string
			as      authz.Actor
			at      authz.Place
			changes notify.Changes
			want    errs.Kind
		}{
			{"no level", ann, here, notify.Changes{Level: words("loud")}, errs.Invalid},
			{"a hidden project", bob, here, notify.Changes{Level: words("watch")}, errs.NotFound},
			{"no user", authz.Actor{}, authz.Place{}, notify.Changes{Level: words("watch")}, errs.Unauthorized},
			{"another's address", ann, authz.Place{}, notify.Changes{Email: words("bob@example.com")}, errs.Invalid},
		} {
			if _, err := s.Update(ctx, c.as, c.at, c.changes); errs.KindOf(err) != c.want || err == nil {
				t.Errorf("%s: got %v, want %s", c.name, err, c.want)
			}
		}
		w.Insert("emails", coretest.Row{"user_id": ann.UserID, "email": "Ann@work.example", "email_fold": "ann@work.example", "confirmed_at": w.Now()})
		set, err := s.Update(ctx, ann, authz.Place{}, notify.Changes{Email: words("ann@work.example"), Level: words("watch")})
		if err != nil || set.Level != notify.Watch {
			t.Fatalf("updated %+v, %v", set, err)
		}
		if got, err := s.Address(ctx, set); got != "ann@work.example" || err != nil {
			t.Errorf("address %q, %v", got, err)
		}
		if _, err := d.Exec(ctx, "DELETE FROM emails WHERE email_fold = 'ann@work.example'"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Address(ctx, set); got != "ann@example.com" || err != nil {
			t.Errorf("address after the other one is gone: %q, %v", got, err)
		}
	})
}
