package feature_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/feature"
)

func newService(w *coretest.World) *feature.Service {
	return feature.New(feature.Deps{DB: w.DB, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
}

// Each gate lets through whom it names, and no other; asking takes no statement.
func TestService_Enabled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s, boss, ann, bob := newService(w), w.Admin("boss"), w.User("ann"), w.User("bob")
		team := w.Group("team", authz.Private, 0)
		app := w.Find(boss, w.Project("team/app", authz.Private, team))
		inTeam := feature.In(authz.Place{Group: true, ID: int64(team)})
		enabled := func() string {
			before, out := d.Statements(), ""
			for _, a := range []struct {
				name  string
				actor feature.Actor
			}{{"ann ", feature.By(ann)}, {"bob ", feature.By(bob)}, {"boss ", feature.By(boss)}, {"app ", feature.In(app.Place())}, {"team ", inTeam}, {"none ", feature.Actor{}}} {
				if s.Enabled("new_thing", a.actor) {
					out += a.name
				}
			}
			if d.Statements() != before {
				t.Errorf("asking took %d statements", d.Statements()-before)
			}
			return strings.TrimSpace(out)
		}
		const all = "ann bob boss app team none"
		for _, tt := range []struct {
			name        string
			gates       feature.Gates
			want, state string
		}{
			{"user", feature.Gates{Value: "true", Users: "ann, boss"}, "ann boss", feature.Conditional},
			{"not the user", feature.Gates{Value: "false", Users: "boss"}, "ann", feature.Conditional},
			{"group", feature.Gates{Value: "true", Groups: "team"}, "ann team", feature.Conditional},
			{"project", feature.Gates{Value: "true", Projects: "team/app"}, "ann app team", feature.Conditional},
			{"not the repository", feature.Gates{Value: "false", Repositories: "team/app.git"}, "ann team", feature.Conditional},
			{"administrators", feature.Gates{Value: "true", FeatureGroups: "administrators"}, "ann boss team", feature.Conditional},
			{"none", feature.Gates{Value: "0"}, "", feature.Off},
			{"all actors", feature.Gates{Value: "100", Key: "percentage_of_actors"}, all, feature.On},
			{"off", feature.Gates{Value: "false"}, "", feature.Off},
			{"on", feature.Gates{Value: "true"}, all, feature.On},
		} {
			f, err := s.Set(t.Context(), boss, "new_thing", tt.gates)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if got := enabled(); got != tt.want || f.State() != tt.state {
				t.Errorf("%s: got %q, %s; want %q, %s", tt.name, got, f.State(), tt.want, tt.state)
			}
		}
		if err := s.Delete(t.Context(), boss, "new_thing"); err != nil || enabled() != "" {
			t.Errorf("deleted: got %v, %q", err, enabled())
		}
		if err := s.Delete(t.Context(), boss, "new_thing"); err != nil {
			t.Errorf("deleted twice: %v", err)
		}
	})
}

// A percentage of actors is of the same ones each time, one of time of none in particular.
func TestService_Enabled_percentage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s, boss := newService(w), w.Admin("boss")
		count := func() (n int) {
			for id := range 1_000 {
				if s.Enabled("part", feature.In(authz.Place{ID: int64(id + 1)})) {
					n++
				}
			}
			return n
		}
		if _, err := s.Set(t.Context(), boss, "part", feature.Gates{Value: "30", Key: "percentage_of_actors"}); err != nil {
			t.Fatal(err)
		}
		if first, again := count(), count(); first != again || first < 200 || first > 400 {
			t.Errorf("30%% of 1,000 actors: %d, then %d", first, again)
		}
		if _, err := s.Set(t.Context(), boss, "part", feature.Gates{Value: "0"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Set(t.Context(), boss, "part", feature.Gates{Value: "50"}); err != nil {
			t.Fatal(err)
		}
		if n := count(); n < 300 || n > 700 {
			t.Errorf("50%% of 1,000 questions: %d", n)
		}
	})
}

// A feature without gates is as its definition says, and what another server of the database writes comes into force by Open.
func TestService_Enabled_default(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s, other, boss := newService(w), newService(w), w.Admin("boss")
		if !s.Enabled(feature.ChangelogLimit) || s.Enabled("unknown") {
			t.Errorf("got %t, %t", s.Enabled(feature.ChangelogLimit), s.Enabled("unknown"))
		}
		if _, err := other.Set(t.Context(), boss, feature.ChangelogLimit, feature.Gates{Value: "false"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Open(t.Context()); err != nil || s.Enabled(feature.ChangelogLimit) {
			t.Errorf("got %v, %t", err, s.Enabled(feature.ChangelogLimit))
		}
	})
}

func TestService_Set_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s, boss := newService(w), w.Admin("boss")
		for _, tt := range []struct {
			as   authz.Actor
			name string
			g    feature.Gates
			kind errs.Kind
			want string
		}{
			{w.User("ann"), "f", feature.Gates{Value: "true"}, errs.Forbidden, ""},
			{authz.Actor{}, "f", feature.Gates{Value: "true"}, errs.Unauthorized, ""},
			{boss, "f", feature.Gates{Value: "maybe"}, errs.BadRequest, "value is true, false or a percentage from 0 to 100"},
			{boss, "f", feature.Gates{Value: "10", Key: "percentage"}, errs.BadRequest, "key is percentage_of_actors or percentage_of_time"},
			{boss, "f", feature.Gates{Value: "101"}, errs.BadRequest, "value is true"},
			{boss, "f", feature.Gates{Value: "30", Users: "boss"}, errs.BadRequest, "a percentage is not for some actors"},
			{boss, "f", feature.Gates{Value: "true", Users: "nobody"}, errs.BadRequest, "User nobody is not found!"},
			{boss, "f", feature.Gates{Value: "true", Projects: "a/b"}, errs.BadRequest, "Project a/b is not found!"},
			{boss, "f", feature.Gates{Value: "true", FeatureGroups: "some"}, errs.BadRequest, "Feature group some is not found!"},
			{boss, strings.Repeat("f", 256), feature.Gates{Value: "true"}, errs.BadRequest, "1 to 255 characters"},
		} {
			if _, err := s.Set(t.Context(), tt.as, tt.name, tt.g); !errs.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got %v, want %s", tt.g, err, tt.want)
			}
		}
		if list, err := s.List(t.Context(), boss); err != nil || len(list) != 0 {
			t.Errorf("stored: %v, %v", list, err)
		}
	})
}
