package broadcast_test

import (
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/coretest"
)

// A message is shown between its times, on pages with its path, to the roles that it names; looking takes no statement.
func TestService_Shown(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		boss, now := w.Admin("boss"), w.Now()
		s := broadcast.New(broadcast.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: func() time.Time { return now }})
		ids := map[broadcast.ID]string{}
		later, past := now.Add(2*time.Hour), now.Add(-time.Hour)
		for _, m := range []struct {
			text string
			c    broadcast.Changes
		}{
			{"everywhere", broadcast.Changes{}},
			{"later", broadcast.Changes{StartsAt: &later}},
			{"over", broadcast.Changes{StartsAt: new(past.Add(-time.Hour)), EndsAt: &past}},
			{"team", broadcast.Changes{Path: new("/team/*")}},
			{"issues", broadcast.Changes{Path: new("*/issues")}},
			{"developers", broadcast.Changes{Levels: []authz.Level{authz.Developer}}},
		} {
			m.c.Message = &m.text
			made, err := s.Create(t.Context(), boss, m.c)
			if err != nil {
				t.Fatalf("%s: %v", m.text, err)
			}
			ids[made.ID] = m.text
		}
		team := w.Group("team", authz.Private, 0)
		dev := w.User("dev")
		w.Member(team, dev, authz.Developer)
		id := w.Project("team/app", authz.Private, team)
		app := w.Find(dev, id).Subject()
		at := func(as authz.Actor, path string, in authz.Subject) string {
			list, err := s.Shown(t.Context(), as, path, in)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			var out []string
			for i := range list {
				out = append(out, list[i].Message)
			}
			return strings.Join(out, " ")
		}
		before, none := d.Statements(), authz.Subject{}
		for _, tt := range []struct {
			as   authz.Actor
			path string
			in   authz.Subject
			want string
		}{
			{dev, "/", none, "everywhere"},
			{authz.Actor{}, "/team/app", app, "team everywhere"},
			{dev, "/teams", none, "everywhere"},
			{dev, "/other/-/issues/1", none, "everywhere"},
		} {
			if got := at(tt.as, tt.path, tt.in); got != tt.want {
				t.Errorf("%s as %d: got %q, want %q", tt.path, tt.as.UserID, got, tt.want)
			}
		}
		if n := d.Statements() - before; n != 0 {
			t.Errorf("looking took %d statements", n)
		}
		if got := at(dev, "/team/app/-/issues", app); got != "developers issues team everywhere" {
			t.Errorf("for developers: got %q", got)
		}
		if got := at(boss, "/team/app/-/issues", w.Find(boss, id).Subject()); got != "issues team everywhere" {
			t.Errorf("for administrators: got %q", got)
		}
		if now = now.Add(90 * time.Minute); at(dev, "/team/x", app) != "" {
			t.Errorf("after an hour: %s", at(dev, "/team/x", app))
		}
		if now = now.Add(time.Hour); at(dev, "/", none) != "later" {
			t.Errorf("later: %s", at(dev, "/", none))
		}
		for id, text := range ids {
			if text == "later" {
				if err := s.Delete(t.Context(), boss, id); err != nil || at(dev, "/", none) != "" {
					t.Errorf("deleted: %v, %s", err, at(dev, "/", none))
				}
			}
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		boss := w.Admin("boss")
		s := broadcast.New(broadcast.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		for _, tt := range []struct {
			as   authz.Actor
			c    broadcast.Changes
			kind errs.Kind
			want string
		}{
			{authz.Actor{}, broadcast.Changes{}, errs.Unauthorized, ""},
			{w.User("ann"), broadcast.Changes{}, errs.Forbidden, ""},
			{boss, broadcast.Changes{Message: new(" ")}, errs.Invalid, "message can't be blank"},
			{boss, broadcast.Changes{Color: new("red")}, errs.Invalid, "color must be a valid color code"},
			{boss, broadcast.Changes{Theme: new("purple")}, errs.Invalid, "theme is not included in the list"},
			{boss, broadcast.Changes{Type: new("popup")}, errs.Invalid, "broadcast_type is not included in the list"},
			{boss, broadcast.Changes{Levels: []authz.Level{5}}, errs.Invalid, "target_access_levels is not included in the list"},
			{boss, broadcast.Changes{EndsAt: new(w.Now().Add(-time.Hour))}, errs.Invalid, "ends_at must be after starts_at"},
			{boss, broadcast.Changes{Path: new(strings.Repeat("*", 11))}, errs.Invalid, "target_path has more than 10 wildcards"},
		} {
			if tt.c.Message == nil {
				tt.c.Message = new("Hello")
			}
			if _, err := s.Create(t.Context(), tt.as, tt.c); !errs.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got %v, want %s", tt.c, err, tt.want)
			}
		}
	})
}
