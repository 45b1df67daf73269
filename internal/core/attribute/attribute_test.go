package attribute_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

func TestService_Set(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		s := attribute.New(attribute.Deps{DB: d, Policy: w.Policy, Now: w.Now})
		admin, ann := w.Admin("root"), w.User("ann")
		of := attribute.Owner{Kind: attribute.User, ID: int64(ann.UserID)}
		long := strings.Repeat("é", 255)
		for _, tt := range []struct {
			name, key, value, want string
		}{
			{"new", "team", "red", ""},
			{"again", "team", "blue", ""},
			{"long", "k" + long[2:], long, ""},
			{"blank", "team", " ", "value can't be blank"},
			{"long value", "team", long + "x", "value is too long (maximum is 255 characters)"},
			{"long key", long + "x", "red", "key is too long (maximum is 255 characters)"},
		} {
			a, err := s.Set(ctx, admin, of, tt.key, tt.value)
			if tt.want == "" && (err != nil || a.Value != tt.value) || tt.want != "" && (!errs.Is(err, errs.Invalid) || err.Error() != tt.want) {
				t.Errorf("%s: got %+v, %v, want error %q", tt.name, a, err, tt.want)
			}
		}
		if list, err := s.List(ctx, admin, of); err != nil || len(list) != 2 || list[1].Value != "blue" {
			t.Errorf("list: got %+v, %v, want the last value of each key", list, err)
		}
		// Administrators alone read and change them, their owner does not.
		if _, err := s.List(ctx, ann, of); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the owner lists: %v", err)
		}
		if _, err := s.Find(ctx, ann, of, "team"); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the owner reads: %v", err)
		}
		if _, err := s.Set(ctx, ann, of, "team", "x"); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the owner sets: %v", err)
		}
		late := admin
		late.UnmodifiedSince = w.Now().Add(-time.Hour)
		if err := s.Delete(ctx, late, of, "team"); !errs.Is(err, errs.PreconditionFailed) {
			t.Errorf("changed meanwhile: %v", err)
		}
		if err := s.Delete(ctx, admin, of, "team"); err != nil {
			t.Error(err)
		}
		if err := s.Delete(ctx, admin, of, "team"); !errs.Is(err, errs.NotFound) {
			t.Errorf("deleted twice: %v", err)
		}
		if _, err := s.Find(ctx, admin, of, "team"); !errs.Is(err, errs.NotFound) {
			t.Errorf("deleted: %v", err)
		}
	})
}

// TestHaving filters users by custom attributes: a user must match every one, and only administrators may filter.
func TestHaving(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		s := attribute.New(attribute.Deps{DB: d, Policy: w.Policy, Now: w.Now})
		admin := w.Admin("root")
		people := map[string]map[string]string{"ann": {"team": "red", "floor": "1"}, "ben": {"team": "red", "floor": "2"}, "cat": {"team": "blue"}}
		for _, name := range []string{"ann", "ben", "cat"} {
			of := attribute.Owner{Kind: attribute.User, ID: int64(w.User(name).UserID)}
			for key, value := range people[name] {
				if _, err := s.Set(ctx, admin, of, key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, tt := range []struct {
			as     authz.Actor
			wanted map[string]string
			want   string
		}{
			{admin, nil, "[root ann ben cat]"},
			{admin, map[string]string{"team": "red"}, "[ann ben]"},
			{admin, map[string]string{"team": "red", "floor": "2"}, "[ben]"},
			{admin, map[string]string{"team": "2", "floor": "red"}, "[]"},
			{admin, map[string]string{"size": "red"}, "[]"},
			{authz.Actor{UserID: 2}, map[string]string{"team": "red"}, "[root ann ben cat]"},
		} {
			var where db.Where
			attribute.Having(&where, tt.as, attribute.User, "u.id", tt.wanted)
			got, err := db.Select[string](ctx, d, "SELECT u.username FROM users u"+where.SQL()+" ORDER BY u.id", where.Args()...)
			if err != nil || fmt.Sprint(got) != tt.want {
				t.Errorf("%v: got %v, %v, want %s", tt.wanted, got, err, tt.want)
			}
		}
	})
}
