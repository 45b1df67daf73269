package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/coretest"
	"tenon/internal/core/runner"
)

func TestService_Authenticate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		r, token := w.row(runner.InstanceType, coretest.Row{"token_expires_at": w.Now().Add(time.Hour)})
		got, err := w.runners.Authenticate(ctx, token)
		if err != nil || got.ID != r.ID || got.Type != runner.InstanceType {
			t.Fatalf("got %+v, %v, want runner %d", got, err, r.ID)
		}
		w.later = 2 * time.Hour
		for name, bad := range map[string]string{
			"expired": token, "unknown": "glrt-00000000000000000000", "empty": "", "the digest": r.Digest, "long": strings.Repeat("x", 10_000),
		} {
			if got, err := w.runners.Authenticate(ctx, bad); !errs.Is(err, errs.Forbidden) {
				t.Errorf("%s: got %+v, %v, want forbidden", name, got, err)
			}
		}
	})
}

func TestService_Contact(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		r, token := w.row(runner.InstanceType, nil)
		if got := r.Status(w.now()); got != runner.NeverContacted {
			t.Errorf("a new runner is %s", got)
		}
		version, long := "16.0.2", strings.Repeat("é", 300)
		info := runner.Info{Version: &version, Platform: &long}
		first, err := w.runners.Contact(ctx, r, "s_1", info, "127.0.0.9")
		if err != nil || first.ID == 0 || *first.Platform != strings.Repeat("é", 255) || *first.IPAddress != "127.0.0.9" || first.Status(w.now()) != runner.Online {
			t.Fatalf("first contact: %+v, %v", first, err)
		}
		// The next one writes nothing, yet everything that reads runners knows of it.
		w.later = time.Minute
		writes := dbtest.Count(t, d, func() {
			var again *runner.Manager
			if r, err = w.runners.Authenticate(ctx, token); err == nil {
				again, err = w.runners.Contact(ctx, r, "s_1", info, "127.0.0.9")
			}
			if err != nil || again.ID != first.ID || !again.ContactedAt.After(first.ContactedAt.Time) {
				t.Fatalf("next contact: %+v, %v", again, err)
			}
		})
		if writes != 2 {
			t.Errorf("a poll takes %d statements, want 2", writes)
		}
		all, err := w.runners.Load(ctx, []runner.ID{r.ID})
		if err != nil || all[r.ID].ContactedAt.Before(first.ContactedAt.Add(time.Minute)) {
			t.Errorf("contacted at %v, %v", all[r.ID].ContactedAt, err)
		}
		if err := w.runners.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"runners", "runner_managers"} {
			at, err := db.Get[db.Time](ctx, d, "SELECT contacted_at FROM "+table)
			if err != nil || at.Before(first.ContactedAt.Add(time.Minute)) {
				t.Errorf("%s: %v, %v", table, at, err)
			}
		}
		// A call without anything about the program leaves what is known.
		other, err := w.runners.Contact(ctx, r, "", runner.Info{}, "127.0.0.9")
		if err != nil || other.ID == first.ID || other.SystemID != runner.LegacySystemID {
			t.Errorf("without a system id: %+v, %v", other, err)
		}
		if all, err = w.runners.Load(ctx, []runner.ID{r.ID}); err != nil || all[r.ID].Version == nil || *all[r.ID].Version != version {
			t.Errorf("version %v, %v, want %s", all[r.ID].Version, err, version)
		}
		if _, err := d.Exec(ctx, "DELETE FROM runners"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.runners.Contact(ctx, r, "s_2", info, ""); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a runner that is gone: %v", err)
		}
	})
}

func TestRunner_Status(t *testing.T) {
	t.Parallel()
	now := time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) db.Time { return db.At(now.Add(-d)) }
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name      string
		created   time.Duration
		contacted time.Duration // 0 for never
		want      runner.Status
	}{
		{"new", 0, 0, runner.NeverContacted},
		{"never used", 80 * day, 0, runner.NeverContacted},
		{"never used for long", 100 * day, 0, runner.Stale},
		{"polling", 100 * day, time.Second, runner.Online},
		{"quiet", 100 * day, 3 * time.Hour, runner.Offline},
		{"two hours ago", 100 * day, 2 * time.Hour, runner.Offline},
		{"gone", 200 * day, 100 * day, runner.Stale},
	} {
		r := runner.Runner{CreatedAt: ago(tt.created)}
		if tt.contacted != 0 {
			at := ago(tt.contacted)
			r.ContactedAt = &at
		}
		if got := r.Status(now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
