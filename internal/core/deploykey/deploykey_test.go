package deploykey_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
)

// world has two projects: mary maintains both, and sue the second alone.
type world struct {
	*coretest.World
	keys             *deploykey.Service
	admin, mary, sue authz.Actor
	first, second    project.ID
	told             []string
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	settings := setting.New(d, w.Now)
	accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now})
	w.keys = deploykey.New(deploykey.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Projects: w.Projects, Now: w.Now,
		Keys: sshkey.New(sshkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: accounts, Now: w.Now}),
	})
	w.admin, w.mary, w.sue = w.Admin("root"), w.User("mary"), w.User("sue")
	group := w.Group("group", authz.Private, 0)
	w.first, w.second = w.Project("group/first", authz.Private, group), w.Project("group/second", authz.Private, group)
	w.Join(w.first, w.mary, authz.Maintainer)
	w.Join(w.second, w.mary, authz.Maintainer)
	w.Join(w.second, w.sue, authz.Maintainer)
	tell := func(what string, e change.Of[deploykey.Key]) error {
		w.told = append(w.told, fmt.Sprintf("%s %s push=%v", what, e.Place.Path, e.Row().CanPush))
		return nil
	}
	event.On(w.Bus, "test", func(_ context.Context, e deploykey.Added) error { return tell("added", e.Of) })
	event.On(w.Bus, "test", func(_ context.Context, e deploykey.Updated) error { return tell("updated", e.Of) })
	event.On(w.Bus, "test", func(_ context.Context, e deploykey.Removed) error { return tell("removed", e.Of) })
	return w
}

// line is a new public key.
func line(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func (w *world) create(as authz.Actor, in project.ID, key string, push bool) (*deploykey.Key, error) {
	w.T.Helper()
	return w.keys.Create(w.T.Context(), as, w.Find(as, in), deploykey.Input{Input: sshkey.Input{Title: "CI", Key: key}, CanPush: push})
}

func wantKind(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errs.Is(err, kind) {
		t.Errorf("%s: got %v, want %v", what, err, kind)
	}
}

// TestService_Create enables one key in several projects, where their maintainers reach it.
func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, key := newWorld(t, d), line(t)
		made, err := w.create(w.mary, w.first, key, true)
		if err != nil || !made.CanPush {
			t.Fatalf("got %+v, %v", made, err)
		}
		if again, err := w.create(w.mary, w.first, key, false); err != nil || again.ID != made.ID || !again.CanPush {
			t.Errorf("the same key again: %+v, %v, want it as it is", again, err)
		}
		_, err = w.create(w.sue, w.second, key, false)
		wantKind(t, "a key of a project that the actor does not maintain", err, errs.Invalid)
		if joined, err := w.create(w.mary, w.second, key, false); err != nil || joined.ID != made.ID || joined.CanPush {
			t.Errorf("a second project: %+v, %v, want the same key, to read", joined, err)
		}
		dev := w.User("dora")
		w.Join(w.first, dev, authz.Developer)
		_, err = w.create(dev, w.first, line(t), false)
		wantKind(t, "a developer", err, errs.Forbidden)
		_, err = w.create(w.mary, w.first, "ssh-ed25519 nonsense", false)
		wantKind(t, "no key", err, errs.Invalid)
		if got, want := fmt.Sprint(w.told), "[added group/first push=true added group/second push=false]"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

func TestService_Enable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		private, err := w.create(w.mary, w.first, line(t), true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.keys.CreatePublic(ctx, w.mary, sshkey.Input{Title: "All", Key: line(t)})
		wantKind(t, "a public key by a user", err, errs.Forbidden)
		public, err := w.keys.CreatePublic(ctx, w.admin, sshkey.Input{Title: "All", Key: line(t)})
		if err != nil {
			t.Fatal(err)
		}
		in := w.Find(w.sue, w.second)
		_, err = w.keys.Enable(ctx, w.sue, in, private.ID)
		wantKind(t, "a key of a hidden project", err, errs.NotFound)
		_, err = w.keys.Enable(ctx, w.sue, in, 999_999)
		wantKind(t, "no key", err, errs.NotFound)
		if k, err := w.keys.Enable(ctx, w.sue, in, public.ID); err != nil || k.CanPush {
			t.Errorf("a public key: %+v, %v", k, err)
		}
		if k, err := w.keys.Enable(ctx, w.mary, w.Find(w.mary, w.second), private.ID); err != nil || k.CanPush {
			t.Errorf("a key of another project of the actor, to read: %+v, %v", k, err)
		}
	})
}

// TestService_Update gives the right to push to each project for itself. The title is one for all projects, so that
// only the maker and administrators change it once others have the key.
func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		k, err := w.create(w.mary, w.first, line(t), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.keys.Enable(ctx, w.mary, w.Find(w.mary, w.second), k.ID); err != nil {
			t.Fatal(err)
		}
		w.told = nil
		in := w.Find(w.sue, w.second)
		_, err = w.keys.Update(ctx, w.sue, in, k.ID, deploykey.Changes{Title: new("Mine")})
		wantKind(t, "rename by another user", err, errs.Forbidden)
		if got, err := w.keys.Update(ctx, w.sue, in, k.ID, deploykey.Changes{CanPush: new(true), Title: new("CI")}); err != nil || !got.CanPush {
			t.Errorf("push: %+v, %v", got, err)
		}
		if got, err := w.keys.Find(ctx, w.mary, w.Find(w.mary, w.first), k.ID); err != nil || got.CanPush {
			t.Errorf("in the other project: %+v, %v", got, err)
		}
		if got, err := w.keys.Update(ctx, w.mary, w.Find(w.mary, w.first), k.ID, deploykey.Changes{Title: new("Ours")}); err != nil || got.Title != "Ours" {
			t.Errorf("rename by the maker: %+v, %v", got, err)
		}
		if got, err := w.keys.Update(ctx, w.mary, w.Find(w.mary, w.first), k.ID, deploykey.Changes{Title: new("Ours"), CanPush: new(false)}); err != nil || got.Title != "Ours" {
			t.Errorf("nothing new: %+v, %v", got, err)
		}
		if got, want := fmt.Sprint(w.told), "[updated group/second push=true updated group/first push=false]"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

// TestService_Delete removes a key with its last project, unless it is public.
func TestService_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		private, err := w.create(w.mary, w.first, line(t), false)
		if err != nil {
			t.Fatal(err)
		}
		public, err := w.keys.CreatePublic(ctx, w.admin, sshkey.Input{Title: "All", Key: line(t)})
		if err != nil {
			t.Fatal(err)
		}
		first, second := w.Find(w.mary, w.first), w.Find(w.mary, w.second)
		for _, step := range []func() error{
			func() error { _, err := w.keys.Enable(ctx, w.mary, second, private.ID); return err },
			func() error { _, err := w.keys.Enable(ctx, w.mary, second, public.ID); return err },
			func() error { return w.keys.Delete(ctx, w.mary, first, private.ID) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		wantKind(t, "twice", w.keys.Delete(ctx, w.mary, first, private.ID), errs.NotFound)
		left := func() string {
			ids, err := db.Select[sshkey.ID](ctx, d, "SELECT id FROM ssh_keys ORDER BY id")
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(ids)
		}
		if got, want := left(), fmt.Sprint([]sshkey.ID{private.ID, public.ID}); got != want {
			t.Errorf("keys %s are left while a project has them, want %s", got, want)
		}
		for _, id := range []sshkey.ID{private.ID, public.ID} {
			if err := w.keys.Delete(ctx, w.mary, second, id); err != nil {
				t.Error(err)
			}
		}
		if got, want := left(), fmt.Sprint([]sshkey.ID{public.ID}); got != want {
			t.Errorf("keys %s are left, want the public one %s", got, want)
		}
	})
}

// TestService_Pusher gives the maker of a key, as long as that user may act and sees the project.
func TestService_Pusher(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		k, err := w.create(w.mary, w.first, line(t), true)
		if err != nil {
			t.Fatal(err)
		}
		as := authz.Actor{Deploy: authz.Deploy{KeyID: int64(k.ID)}, Address: "192.0.2.1"}
		p := w.Find(w.mary, w.first)
		if by, err := w.keys.Pusher(ctx, as, p); err != nil || by.UserID != w.mary.UserID || by.Address != as.Address {
			t.Errorf("got %+v, %v, want mary at the key's address", by, err)
		}
		if _, err := d.Exec(ctx, "DELETE FROM members WHERE user_id = ?", w.mary.UserID); err != nil {
			t.Fatal(err)
		}
		_, err = w.keys.Pusher(ctx, as, p)
		wantKind(t, "a maker who left the project", err, errs.NotFound)
		w.Join(w.first, w.mary, authz.Maintainer)
		if _, err := d.Exec(ctx, "UPDATE users SET state = 'blocked' WHERE id = ?", w.mary.UserID); err != nil {
			t.Fatal(err)
		}
		if _, err = w.keys.Pusher(ctx, as, p); err == nil {
			t.Error("a blocked maker pushes")
		}
		as.Deploy.KeyID = 999_999
		_, err = w.keys.Pusher(ctx, as, p)
		wantKind(t, "no such key", err, errs.Forbidden)
	})
}
