package quota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
)

type world struct {
	*coretest.World
	*quota.Service
	settings *setting.Store
	id       project.ID
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		w.settings = setting.New(d, w.Now)
		w.Service = quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: w.settings})
		w.id = w.Project("group/shop", authz.Public, w.Group("group", authz.Public, 0))
		fn(t, w)
	})
}

func (w *world) set(name string, value any) {
	w.T.Helper()
	if err := w.settings.Set(w.T.Context(), name, value); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

// storing is a large object for the project.
func (w *world) storing(as authz.Actor, bytes int64) quota.Storing {
	p := w.Find(as, w.id)
	return quota.Storing{As: as, Subject: p.Subject(), Namespace: p.NamespaceID, Project: p.ID, Large: true, Bytes: bytes}
}

// record stores an attached file of a user in the project.
func (w *world) record(as authz.Actor, mark string, bytes int64) {
	w.T.Helper()
	w.exec("INSERT INTO uploads (namespace_id, user_id, secret, name, size, created_at) VALUES (?, ?, ?, ?, ?, ?)",
		w.Find(as, w.id).NamespaceID, as.UserID, mark, mark, bytes, w.Now())
}

// Every limit is one statement more, however much is stored.
func TestService_Reserve_statements(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		stan := w.User("stan")
		w.set("repository_size_limit", int64(1<<30))
		w.set("project_storage_limit", 1000)
		w.set("user_storage_limit", 1000)
		count := func() int {
			in := w.storing(stan, 1)
			return dbtest.Count(t, w.DB, func() {
				release, err := w.Reserve(t.Context(), in)
				if err != nil {
					t.Error(err)
				}
				release()
			})
		}
		none := count()
		for i := range 50 {
			w.record(stan, fmt.Sprint(i), 1)
		}
		if many := count(); many != none || many > 6 {
			t.Errorf("%d statements with nothing stored, %d with 50 files, want the same and at most 6", none, many)
		}
	})
}

// Room is held until it is released, for everyone who stores against the same limit.
func TestService_Reserve_held(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ann, ben := w.User("ann"), w.User("ben")
		w.set("project_storage_limit", 1)
		release, err := w.Reserve(t.Context(), w.storing(ann, 600<<10))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Reserve(t.Context(), w.storing(ben, 600<<10)); !errs.Is(err, errs.TooLarge) || !strings.Contains(err.Error(), "would take more than the limit of 1 MiB (project_storage_limit)") {
			t.Errorf("beside what is being stored: %v, want a refusal", err)
		}
		small, err := w.Reserve(t.Context(), w.storing(ben, 400<<10))
		if err != nil {
			t.Errorf("what still fits: %v", err)
		}
		small()
		release()
		if release, err = w.Reserve(t.Context(), w.storing(ben, 1<<20)); err != nil {
			t.Errorf("after both were released: %v", err)
		}
		release()
	})
}

// Of those who store at the same time exactly as many pass as there is room for, also where
// what one stores is recorded while another looks for room.
func TestService_Reserve_parallel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ann := w.User("ann")
		w.set("project_storage_limit", 1)
		w.set("user_storage_limit", 1)
		in := w.storing(ann, 100<<10)
		namespace := in.Namespace
		var mu sync.Mutex
		passed := 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				release, err := w.Reserve(t.Context(), in)
				if err != nil {
					if !errs.Is(err, errs.TooLarge) {
						t.Error(err)
					}
					return
				}
				defer release()
				mu.Lock()
				passed++
				mu.Unlock()
				if _, err := w.DB.Exec(t.Context(), "INSERT INTO uploads (namespace_id, user_id, secret, name, size, created_at) VALUES (?, ?, ?, ?, ?, ?)",
					namespace, ann.UserID, fmt.Sprint(i), "a", in.Bytes, w.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if passed > 10 || passed < 9 { // one that was just recorded may count twice
			t.Errorf("%d of 100 KiB went below a limit of 1 MiB, want 10", passed)
		}
		if _, err := w.Reserve(t.Context(), in); passed == 10 && !errs.Is(err, errs.TooLarge) {
			t.Errorf("the eleventh: %v, want a refusal", err)
		}
	})
}

// What an instance does not limit needs no room, but for people from outside.
func TestService_Reserve_defaults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		mary, stan, root := w.User("mary"), w.User("stan"), w.User("root")
		w.Join(w.id, mary, authz.Guest)
		root.Admin = true
		external := mary
		external.External = true
		const much = 1<<30 + 1
		for _, tt := range []struct {
			name    string
			as      authz.Actor
			bytes   int64
			refused bool
		}{
			{"a member", mary, much, false},
			{"an administrator", root, much, false},
			{"a user who is no member", stan, much, true},
			{"a user who is no member, below the limit", stan, much - 1, false},
			{"an external member", external, much, true},
		} {
			release, err := w.Reserve(t.Context(), w.storing(tt.as, tt.bytes))
			if errs.Is(err, errs.TooLarge) != tt.refused || err != nil && !tt.refused {
				t.Errorf("%s: %v, want refused: %v", tt.name, err, tt.refused)
			}
			release()
		}
		// In the user's own projects it is the user's own business.
		w.exec("UPDATE users SET namespace_id = (SELECT parent_id FROM projects WHERE id = ?) WHERE id = ?", w.id, mary.UserID)
		release, err := w.Reserve(t.Context(), w.storing(external, much))
		if err != nil {
			t.Errorf("an external user in an own project: %v", err)
		}
		release()
	})
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 5 << 30: "5 GiB", 3 << 29: "1.5 GiB",
	} {
		if got := quota.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestService_Reserve_canceled waits for room that another caller looks for, and ends with its
// own context.
func TestService_Reserve_canceled(t *testing.T) {
	t.Parallel()
	w := &world{World: coretest.New(t, dbtest.OpenPostgres(t))}
	w.settings = setting.New(w.DB, w.Now)
	w.Service = quota.New(quota.Deps{DB: w.DB, Policy: w.Policy, Settings: w.settings})
	w.id = w.Project("group/shop", authz.Public, w.Group("group", authz.Public, 0))
	ann := w.User("ann")
	w.set("project_storage_limit", 1)
	in := w.storing(ann, 100<<10)
	in.Large = false
	w.set("external_user_storage_limit", 0) // so that nothing but the lock comes before the sum
	first := make(chan error, 1)
	err := w.DB.InTx(t.Context(), func(ctx context.Context) error {
		if _, err := w.DB.Exec(ctx, "LOCK TABLE uploads IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		go func() {
			release, err := w.Reserve(t.Context(), in)
			release()
			first <- err
		}()
		dbtest.Waiting(t, w.DB) // the first adds up what is stored
		short, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := w.Reserve(short, in)
			second <- err
		}()
		cancel()
		select {
		case err := <-second:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of the context", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the second waits beyond its context")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}
