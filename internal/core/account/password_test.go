package account_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
)

const rightPassword = "zebra-crossing-42"

// guarded returns a person with a password and what it takes to try it.
func guarded(h *accounttest.World, name string) (*account.User, func(login, password string) error) {
	u, _ := h.User(name, func(in *account.Input) { in.ForceRandomPassword = false; in.Password = rightPassword })
	return u, func(login, password string) error {
		_, err := h.AuthenticatePassword(h.T.Context(), login, password, "")
		return err
	}
}

func find(h *accounttest.World, id authz.UserID) *account.User {
	h.T.Helper()
	u, err := h.Find(h.T.Context(), h.Root, id)
	if err != nil {
		h.T.Fatal(err)
	}
	return u
}

func count(h *accounttest.World, match func(e any) bool) int {
	n := 0
	for _, e := range h.Events() {
		if match(e) {
			n++
		}
	}
	return n
}

// The attack: guess on, by every name and every door that takes a password, until one fits
// (CVE-2022-3031).
func TestService_AuthenticatePassword_locks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		accounttest.Record(h, account.AccessLocked{})
		accounttest.Record(h, account.AccessUnlocked{})
		mona, try := guarded(h, "mona")
		nora, tryNora := guarded(h, "nora")
		_, key := h.Token(mona.ID, "ci")
		git := func(login, password string) error {
			_, _, err := h.Tokens.AuthenticateGit(t.Context(), login, password, "")
			return err
		}
		for i := range 10 {
			login := []string{"mona", "MONA", "mona@example.com"}[i%3]
			err := []func(string, string) error{try, git}[i%2](login, fmt.Sprintf("guess number %d", i))
			accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		}
		if u := find(h, mona.ID); !h.Locked(u) || u.FailedAttempts != 10 {
			t.Errorf("after ten guesses: locked %t, %d attempts", h.Locked(u), u.FailedAttempts)
		}
		// The right password gets the answer of a wrong one; a token goes on working.
		accounttest.WantError(t, try("mona", rightPassword), errs.Unauthorized, "unauthorized")
		accounttest.WantError(t, git("mona@example.com", rightPassword), errs.Unauthorized, "unauthorized")
		if err := git("mona", key); err != nil {
			t.Errorf("a token of the locked account: %v", err)
		}
		if err := tryNora("nora", rightPassword); err != nil || h.Locked(find(h, nora.ID)) {
			t.Errorf("somebody else: %v", err)
		}
		// A user who starts the server again finds the lock; guessing on does not prolong it.
		h.Pass(10*time.Minute - time.Second)
		again := account.New(h.Deps)
		if _, err := again.AuthenticatePassword(t.Context(), "mona", rightPassword, ""); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("after a restart: %v", err)
		}
		accounttest.WantError(t, try("mona", "one more"), errs.Unauthorized, "unauthorized")
		h.Pass(time.Second)
		if h.Locked(find(h, mona.ID)) {
			t.Error("still locked after ten minutes")
		}
		accounttest.WantError(t, try("mona", "wrong once more"), errs.Unauthorized, "unauthorized")
		if u := find(h, mona.ID); u.FailedAttempts != 1 || u.LockedAt != nil {
			t.Errorf("the count did not start again: %d, %v", u.FailedAttempts, u.LockedAt)
		}
		if err := try("mona", rightPassword); err != nil {
			t.Errorf("the right password: %v", err)
		}
		if u := find(h, mona.ID); u.FailedAttempts != 0 || u.LockedAt != nil {
			t.Errorf("after the right password: %d, %v", u.FailedAttempts, u.LockedAt)
		}
		if n := count(h, func(e any) bool { l, ok := e.(account.AccessLocked); return ok && l.UserID == mona.ID }); n != 1 {
			t.Errorf("the lock was told %d times, want once", n)
		}
	})
}

// The attack: make all guesses at once, before the first is counted.
func TestService_AuthenticatePassword_parallel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		for name, value := range map[string]int{"max_login_attempts": 4} {
			if err := h.Settings.Set(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
		mona, try := guarded(h, "mona")
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				if err := try([]string{"mona", "mona@example.com"}[i%2], fmt.Sprintf("guess number %d", i)); err == nil {
					t.Error("a wrong password was taken")
				}
			})
		}
		wg.Wait()
		if u := find(h, mona.ID); !h.Locked(u) || u.FailedAttempts != 4 {
			t.Errorf("locked %t after %d attempts, want 4", h.Locked(u), u.FailedAttempts)
		}
		// Many who know the password do not lock one another out.
		_, tryNora := guarded(h, "nora")
		var in atomic.Int64
		for range 12 {
			wg.Go(func() {
				if err := tryNora("nora", rightPassword); err != nil {
					t.Errorf("the right password, at the same time as others: %v", err)
					return
				}
				in.Add(1)
			})
		}
		wg.Wait()
		if in.Load() != 12 {
			t.Errorf("%d of 12 came in", in.Load())
		}
	})
}

// The attack: tell names that exist from those that do not, by the work an answer takes
// (CVE-2025-69413 of Gitea).
func TestService_AuthenticatePassword_unknown(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		if err := h.Settings.Set(t.Context(), "max_login_attempts", 2); err != nil {
			t.Fatal(err)
		}
		_, try := guarded(h, "mona")
		work := func(login string) int {
			return dbtest.Count(t, d, func() {
				accounttest.WantError(t, try(login, "guess"), errs.Unauthorized, "unauthorized")
			})
		}
		nobody, somebody := work("nobody"), work("mona")
		work("mona")
		if locked := work("mona"); nobody != somebody || nobody != locked {
			t.Errorf("statements: %d for nobody, %d for mona, %d when she is locked", nobody, somebody, locked)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT attempts FROM unknown_sign_ons WHERE day = '2026-05-04'"); err != nil || n != 1 {
			t.Errorf("%d attempts of nobody, %v", n, err)
		}
	})
}

// A user who hangs up before the answer is counted all the same once the password was looked
// at, and not before.
func TestService_AuthenticatePassword_hangUp(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	mona, _ := guarded(h, "mona")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.AuthenticatePassword(ctx, "mona", "guess", ""); err == nil {
		t.Error("no error for who is gone")
	}
	if u := find(h, mona.ID); u.FailedAttempts != 0 {
		t.Errorf("%d attempts counted of a password nobody looked at", u.FailedAttempts)
	}
}

func TestService_Unlock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		accounttest.Record(h, account.AccessUnlocked{})
		for name, value := range map[string]int{"max_login_attempts": 1, "failed_login_attempts_unlock_period_in_minutes": 600} {
			if err := h.Settings.Set(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
		mona, try := guarded(h, "mona")
		_, asNora := h.User("nora")
		lock := func() {
			t.Helper()
			accounttest.WantError(t, try("mona", "guess"), errs.Unauthorized, "unauthorized")
			h.Pass(9 * time.Hour)
			if !h.Locked(find(h, mona.ID)) {
				t.Fatal("not locked")
			}
		}
		lock()
		_, err := h.Unlock(t.Context(), asNora, mona.ID)
		accounttest.WantError(t, err, errs.Forbidden, "forbidden")
		if u, err := h.Unlock(t.Context(), h.Root, mona.ID); err != nil || h.Locked(u) || u.FailedAttempts != 0 {
			t.Errorf("unlocked: %v, %v", u, err)
		}
		if _, err := h.Unlock(t.Context(), h.Root, mona.ID); err != nil {
			t.Errorf("once more: %v", err)
		}
		if n := count(h, func(e any) bool { _, ok := e.(account.AccessUnlocked); return ok }); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		if err := try("mona", rightPassword); err != nil {
			t.Errorf("the right password: %v", err)
		}
		lock()
		if _, err := h.Update(t.Context(), h.Root, mona.ID, account.Changes{Password: new("another-zebra-42"), KeepPassword: true}); err != nil {
			t.Fatal(err)
		}
		if err := try("mona", "another-zebra-42"); err != nil {
			t.Errorf("with a new password: %v", err)
		}
	})
}
