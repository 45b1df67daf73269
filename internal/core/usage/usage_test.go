package usage_test

import (
	"context"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/usage"
)

// Administrators see how much there is, in one statement; the license is the server's own,
// whatever is done about it.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s, ctx, boss, ann := usage.New(usage.Deps{DB: d, Policy: w.Policy}), context.Background(), w.Admin("boss"), w.User("ann")
		w.Group("team", authz.Private, 0)
		if _, err := d.Exec(ctx, "UPDATE users SET state = 'blocked' WHERE id = ?", w.User("carl").UserID); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, "INSERT INTO instance (one, id, server, created_at) VALUES (1, 'x', '', ?)", db.At(w.Now())); err != nil {
			t.Fatal(err)
		}
		before := d.Statements()
		got, err := s.Counts(ctx, boss)
		if n := d.Statements() - before; err != nil || n != 1 {
			t.Errorf("%d statements, %v", n, err)
		}
		if want := (usage.Counts{Users: 3, ActiveUsers: 2, Groups: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		l, err := s.License(ctx, boss)
		if err != nil || l.ID != 1 || l.ActiveUsers != 2 || l.Users != 3 || l.CreatedAt.IsZero() {
			t.Errorf("license: %+v %v", l, err)
		}
		for name, call := range map[string]struct {
			err  error
			want errs.Kind
		}{
			"add":             {s.AddLicense(ctx, boss, "text"), errs.Invalid},
			"delete":          {s.DeleteLicense(ctx, boss, 1), errs.Forbidden},
			"delete another":  {s.DeleteLicense(ctx, boss, 2), errs.NotFound},
			"recount another": {s.RecountLicense(ctx, boss, 2), errs.NotFound},
			"add as a user":   {s.AddLicense(ctx, ann, "text"), errs.Forbidden},
		} {
			if !errs.Is(call.err, call.want) {
				t.Errorf("%s: got %v, want kind %v", name, call.err, call.want)
			}
		}
		if _, err := s.FindLicense(ctx, boss, 2); !errs.Is(err, errs.NotFound) {
			t.Errorf("another license: %v", err)
		}
		if _, err := s.Counts(ctx, ann); !errs.Is(err, errs.Forbidden) {
			t.Errorf("counts for a user: %v", err)
		}
	})
}
