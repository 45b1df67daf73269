package featureflag_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/project"
)

// world has the projects shop, where dora is a developer, and bakery.
type world struct {
	*coretest.World
	flags         *featureflag.Service
	dora, rita    authz.Actor
	shop, another *project.Project
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	w.flags = featureflag.New(featureflag.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	w.dora, w.rita = w.User("dora"), w.User("rita")
	group := w.Group("group", authz.Private, 0)
	shop, bakery := w.Project("group/shop", authz.Private, group), w.Project("group/bakery", authz.Private, group)
	w.Join(shop, w.dora, authz.Maintainer)
	w.Join(shop, w.rita, authz.Reporter)
	w.Join(bakery, w.dora, authz.Maintainer)
	w.shop, w.another = w.Find(w.dora, shop), w.Find(w.dora, bakery)
	return w
}

func problems(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok && len(e.List) > 0 {
		return strings.Join(e.List, "; ")
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func strategy(name string, parameters map[string]any, scopes ...string) featureflag.StrategyInput {
	in := featureflag.StrategyInput{Name: &name, Parameters: parameters}
	for _, s := range scopes {
		in.Scopes = append(in.Scopes, featureflag.ScopeInput{Environment: &s})
	}
	return in
}

// TestService switches a checkout on, first for some users of production, then for a list of them, and reads it as an application.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		flag, err := w.flags.Create(ctx, w.dora, w.shop, featureflag.Changes{
			Name: new("new_checkout"), Description: new("Pay in one step"), Strategies: []featureflag.StrategyInput{
				strategy(featureflag.ForUsers, map[string]any{"userIds": "ann,bob"}, "production", "review/*"),
				strategy(featureflag.Flexible, map[string]any{"groupId": "shop", "rollout": "30", "stickiness": "userId"}, "staging"),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		id, err := w.flags.RenewClient(ctx, w.dora, w.shop)
		if err != nil {
			t.Fatal(err)
		}
		seen := func(environment string) string {
			t.Helper()
			list, err := w.flags.Features(ctx, w.shop.ID, id, environment)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, f := range list {
				for _, s := range f.Strategies {
					text, err := s.MarshalJSON()
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, f.Name+" "+string(text))
				}
			}
			return strings.Join(out, "\n")
		}
		check := func(when, environment, want string) {
			t.Helper()
			if got := seen(environment); got != want {
				t.Errorf("%s, %s: got %s, want %s", when, environment, got, want)
			}
		}
		const users = `new_checkout {"name":"userWithId","parameters":{"userIds":"ann,bob"}}`
		check("made", "production", users)
		check("made", "review/7", users)
		check("made", "staging", `new_checkout {"name":"flexibleRollout","parameters":{"groupId":"shop","rollout":"30","stickiness":"userId"}}`)
		check("made", "test", "")

		list, err := w.flags.CreateUserList(ctx, w.dora, w.shop, featureflag.ListChanges{Name: new("Friends"), UserXIDs: new("carl, dan")})
		if err != nil || list.IID != 1 {
			t.Fatalf("user list: %+v, %v", list, err)
		}
		first, second := flag.Strategies[0], flag.Strategies[1]
		toList := featureflag.StrategyInput{ID: &first.ID, Name: new(featureflag.ForList), Parameters: map[string]any{}, UserListID: &list.ID, Scopes: []featureflag.ScopeInput{
			{ID: &first.Scopes[1].ID, Destroy: true},
		}}
		changed, err := w.flags.Update(ctx, w.dora, w.shop, "new_checkout", featureflag.Changes{
			Name: new("checkout"), Strategies: []featureflag.StrategyInput{toList, {ID: &second.ID, Destroy: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.flags.Find(ctx, w.dora, w.shop, "checkout")
		if diff := cmp.Diff(changed, again); err != nil || diff != "" {
			t.Errorf("what an update returns is not what is read: %v\n%s", err, diff)
		}
		if len(again.Strategies) != 1 || again.Strategies[0].ID != first.ID || len(again.Strategies[0].Scopes) != 1 || again.Strategies[0].UserList.Name != "Friends" {
			t.Errorf("got %+v", again.Strategies)
		}
		check("changed", "production", `checkout {"name":"userWithId","parameters":{"userIds":"carl, dan"}}`)
		check("changed", "review/7", "")
		if got := problems(w.flags.DeleteUserList(ctx, w.dora, w.shop, 1)); got != "User list is associated with a strategy" {
			t.Errorf("delete a list that a strategy names: %q", got)
		}

		if _, err := w.flags.Delete(ctx, w.dora, w.shop, "checkout"); err != nil {
			t.Fatal(err)
		}
		if err := w.flags.DeleteUserList(ctx, w.dora, w.shop, 1); err != nil {
			t.Error(err)
		}
		check("deleted", "production", "")
		if left, err := db.Get[int](ctx, d, "SELECT (SELECT COUNT(*) FROM feature_flag_strategies) + (SELECT COUNT(*) FROM feature_flag_scopes)"); err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

// TestService_check refuses what no client of Unleash could read.
func TestService_check(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	ctx := t.Context()
	elsewhere, err := w.flags.CreateUserList(ctx, w.dora, w.another, featureflag.ListChanges{Name: new("Bakers"), UserXIDs: new("x")})
	if err != nil {
		t.Fatal(err)
	}
	of := func(s ...featureflag.StrategyInput) featureflag.Changes {
		return featureflag.Changes{Name: new("flag"), Strategies: s}
	}
	foreign := strategy(featureflag.ForList, map[string]any{})
	foreign.UserListID = &elsewhere.ID
	for _, tt := range []struct {
		in   featureflag.Changes
		want string
	}{
		{featureflag.Changes{Name: new("Flag")}, "Name can contain only lowercase letters, digits, '_' and '-'. Must start with a letter, and cannot end with '-' or '_'"},
		{featureflag.Changes{Name: new("f")}, "Name is too short (minimum is 2 characters)"},
		{featureflag.Changes{Name: new(strings.Repeat("f", 64))}, "Name is too long (maximum is 63 characters)"},
		{featureflag.Changes{Name: new("flag"), Description: new(strings.Repeat("d", 256))}, "Description is too long (maximum is 255 characters)"},
		{featureflag.Changes{Name: new("flag"), Version: new("legacy_flag")}, "Version is invalid"},
		{of(strategy("magic", nil)), "Strategies name strategy name is invalid"},
		{of(strategy(featureflag.ForAll, map[string]any{"x": "y"})), "Strategies parameters parameters are invalid"},
		{of(strategy(featureflag.ForUsers, map[string]any{"userIds": 7})), "Strategies parameters parameters are invalid"},
		{of(strategy(featureflag.ForUsers, map[string]any{"userIds": "a,a"})), "Strategies parameters userIds must be a string of unique comma separated values each 256 characters or less"},
		{of(strategy(featureflag.Gradual, map[string]any{"groupId": "a", "percentage": "101"})), "Strategies parameters percentage must be a string between 0 and 100 inclusive"},
		{of(strategy(featureflag.Gradual, map[string]any{"groupId": "A", "percentage": "7"})), "Strategies parameters groupId parameter is invalid"},
		{
			of(strategy(featureflag.Flexible, map[string]any{"groupId": "a", "rollout": "07", "stickiness": "mood"})),
			"Strategies parameters rollout must be a string between 0 and 100 inclusive; Strategies parameters stickiness parameter must be default, userId, sessionId, or random",
		},
		{of(strategy(featureflag.ForList, map[string]any{})), "Strategies user list can't be blank"},
		{of(foreign), "Strategies user list must belong to the same project"},
		{of(strategy(featureflag.ForAll, map[string]any{}, "a", "a")), "Strategies scopes environment scope has already been taken"},
		{
			of(strategy(featureflag.ForAll, map[string]any{}, "<script>")),
			"Strategies scopes environment scope can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces",
		},
	} {
		if _, err := w.flags.Create(ctx, w.dora, w.shop, tt.in); problems(err) != tt.want {
			t.Errorf("got %q, want %q", problems(err), tt.want)
		}
	}
	list, err := w.flags.List(ctx, w.dora, w.shop, featureflag.Filter{Range: page.Range{Limit: 20}})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("there are %d flags, %v", len(list.Items), err)
	}
	for range 2 {
		_, err = w.flags.Create(ctx, w.dora, w.shop, featureflag.Changes{Name: new("flag")})
	}
	if problems(err) != "Name has already been taken" {
		t.Errorf("a second flag of the name: %q", problems(err))
	}
}

// TestService_rights keeps flags from reporters, and from clients with the instance ID of another project.
func TestService_rights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	ctx := t.Context()
	if _, err := w.flags.List(ctx, w.rita, w.Find(w.rita, w.shop.ID), featureflag.Filter{}); !errs.Is(err, errs.Forbidden) {
		t.Errorf("a reporter lists: %v", err)
	}
	id, err := w.flags.RenewClient(ctx, w.dora, w.shop)
	if err != nil || !strings.HasPrefix(id, featureflag.TokenPrefix) {
		t.Fatalf("instance ID %q, %v", id, err)
	}
	for _, tt := range []struct {
		name string
		of   project.ID
		id   string
		want bool
	}{
		{"own", w.shop.ID, id, true},
		{"of another project", w.another.ID, id, false},
		{"none", w.shop.ID, "", false},
		{"wrong", w.shop.ID, id + "x", false},
		{"endless", w.shop.ID, strings.Repeat("x", 1<<20), false},
	} {
		if err := w.flags.Admit(ctx, tt.of, tt.id); (err == nil) != tt.want || err != nil && !errs.Is(err, errs.Unauthorized) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := w.flags.RenewClient(ctx, w.dora, w.shop); err != nil || w.flags.Admit(ctx, w.shop.ID, id) == nil {
		t.Errorf("the instance ID before is of use after it was renewed: %v", err)
	}
	if err := w.flags.DeleteClient(ctx, w.dora, w.shop); err != nil {
		t.Error(err)
	}
	if there, err := w.flags.HasClient(ctx, w.dora, w.shop); there || err != nil {
		t.Errorf("there after it was deleted: %v, %v", there, err)
	}
}
