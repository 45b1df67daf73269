package lfs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// world has two private projects with a developer each, a reader of the first, and
// a user who belongs nowhere.
type world struct {
	*coretest.World
	*lfs.Service
	tokens   *token.Service
	keys     *sshkey.Service
	objects  *blob.Store
	settings *setting.Store
	later    time.Duration // what the service's clock is ahead

	shop, den                           project.ID
	dave, dora, rita, mary, stan, admin authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		var err error
		if w.objects, err = blob.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		box, err := secret.NewBox(secret.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		w.settings = setting.New(d, w.Now)
		accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now})
		later := func() time.Time { return w.World.Now().Add(w.later) }
		w.tokens = token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Accounts: accounts, Now: w.Now})
		w.keys = sshkey.New(sshkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Accounts: accounts, Now: later})
		w.Service = lfs.New(lfs.Deps{
			DB: d, Policy: w.Policy, Settings: w.settings, Objects: w.objects, Quota: quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: w.settings}), Signer: box.Signer(), Log: slog.New(slog.DiscardHandler),
			Accounts: accounts, Now: later,
			Tokens: w.tokens, Keys: w.keys,
		})
		w.dave, w.dora, w.rita, w.mary, w.stan = w.User("dave"), w.User("dora"), w.User("rita"), w.User("mary"), w.User("stan")
		w.admin = w.Admin("root")
		g := w.Group("group", authz.Private, 0)
		w.shop, w.den = w.World.Project("group/shop", authz.Private, g), w.World.Project("group/den", authz.Private, g)
		w.Join(w.shop, w.dave, authz.Developer)
		w.Join(w.shop, w.rita, authz.Reporter)
		w.Join(w.shop, w.mary, authz.Maintainer)
		w.Join(w.den, w.dora, authz.Developer)
		w.Join(w.den, w.dave, authz.Reporter)
		w.exec("UPDATE projects SET lfs_enabled = ?", true)
		fn(t, w)
	})
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.World.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

// of returns a project as the administrator sees it; the service asks for the actor itself.
func (w *world) of(as authz.Actor, id project.ID) *project.Project {
	w.T.Helper()
	p := *w.Find(w.admin, id)
	p.LevelKnown = false
	return &p
}

func pointer(text string) lfs.Pointer {
	sum := sha256.Sum256([]byte(text))
	return lfs.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(text))}
}

func (w *world) store(as authz.Actor, id project.ID, text string) lfs.Pointer {
	w.T.Helper()
	o := pointer(text)
	if err := w.Store(w.T.Context(), as, w.of(as, id), o, strings.NewReader(text)); err != nil {
		w.T.Fatal(err)
	}
	return o
}

func (w *world) read(as authz.Actor, id project.ID, o lfs.Pointer) (string, error) {
	w.T.Helper()
	from, err := w.Open(w.T.Context(), as, w.of(as, id), o.OID)
	if err != nil {
		return "", err
	}
	defer from.Close()
	text, err := io.ReadAll(from)
	return string(text), err
}

// left counts the objects on disk.
func (w *world) left() (n int) {
	w.T.Helper()
	for _, err := range w.objects.List(w.T.Context(), "") {
		if err != nil {
			w.T.Fatal(err)
		}
		n++
	}
	return n
}

func wants(t *testing.T, err error, kind errs.Kind) {
	t.Helper()
	if err == nil || errs.KindOf(err) != kind {
		t.Errorf("got %v (%v), want %v", err, errs.KindOf(err), kind)
	}
}

func TestService_Store(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		o := w.store(w.dave, w.shop, "content")
		w.store(w.dave, w.shop, "content") // again
		if text, err := w.read(w.rita, w.shop, o); err != nil || text != "content" {
			t.Errorf("read: %q, %v", text, err)
		}
		if err := w.Verify(t.Context(), w.dave, w.of(w.dave, w.shop), o); err != nil {
			t.Error(err)
		}
		wants(t, w.Verify(t.Context(), w.dave, w.of(w.dave, w.shop), lfs.Pointer{OID: o.OID, Size: 1}), errs.NotFound)
		sizes, err := w.Sizes(t.Context(), []project.ID{w.shop, w.den})
		if err != nil || sizes[w.shop] != 7 || len(sizes) != 1 {
			t.Errorf("sizes: %v, %v", sizes, err)
		}
	})
}

func TestService_Store_refuses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		good := pointer("content")
		for name, row := range map[string]struct {
			as   authz.Actor
			o    lfs.Pointer
			from io.Reader
			kind errs.Kind
		}{
			"nobody":          {authz.Actor{}, good, strings.NewReader("content"), errs.NotFound},
			"a stranger":      {w.stan, good, strings.NewReader("content"), errs.NotFound},
			"a reader":        {w.rita, good, strings.NewReader("content"), errs.Forbidden},
			"other content":   {w.dave, good, strings.NewReader("Content"), errs.Unprocessable},
			"too short":       {w.dave, good, strings.NewReader("conten"), errs.Unprocessable},
			"too long":        {w.dave, good, strings.NewReader("content!"), errs.Unprocessable},
			"a wrong size":    {w.dave, lfs.Pointer{OID: good.OID, Size: 6}, strings.NewReader("content"), errs.Unprocessable},
			"a negative size": {w.dave, lfs.Pointer{OID: good.OID, Size: -1}, strings.NewReader("content"), errs.Unprocessable},
			"a path":          {w.dave, lfs.Pointer{OID: "../../../../etc/passwd", Size: 7}, strings.NewReader("content"), errs.Unprocessable},
			"upper case":      {w.dave, lfs.Pointer{OID: strings.ToUpper(good.OID), Size: 7}, strings.NewReader("content"), errs.Unprocessable},
			"a broken line":   {w.dave, good, io.MultiReader(strings.NewReader("con"), iotest.ErrReader(io.ErrUnexpectedEOF)), errs.Internal},
		} {
			err := w.Store(t.Context(), row.as, w.of(row.as, w.shop), row.o, row.from)
			if err == nil || errs.KindOf(err) != row.kind {
				t.Errorf("%s: %v (%v), want %v", name, err, errs.KindOf(err), row.kind)
			}
		}
		if _, err := w.read(w.dave, w.shop, good); !errs.Is(err, errs.NotFound) {
			t.Errorf("what was refused is there: %v", err)
		}
		if n := w.left(); n != 0 {
			t.Errorf("%d objects are left", n)
		}
		w.exec("UPDATE projects SET lfs_enabled = ? WHERE id = ?", false, w.shop)
		wants(t, w.Store(t.Context(), w.dave, w.of(w.dave, w.shop), good, strings.NewReader("content")), errs.Forbidden)
		if err := w.settings.Set(t.Context(), "lfs_enabled", false); err != nil {
			t.Fatal(err)
		}
		if err := w.Require(t.Context(), w.dave, w.of(w.dave, w.shop), lfs.Download); !errors.Is(err, lfs.ErrOff) {
			t.Errorf("off for all: %v", err)
		}
	})
}

// Knowing the name of an object opens nothing: an attacker who names what another project
// has gets it neither by asking nor by pretending to upload it.
// TestService_Require_group asks for the objects of a project whose group switches them off.
func TestService_Require_group(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		top := w.Group("switched", authz.Private, 0)
		id := w.Project("switched/app", authz.Private, w.Group("switched/inner", authz.Private, top))
		w.Join(id, w.dave, authz.Developer)
		w.exec("UPDATE projects SET lfs_enabled = ?", true)
		if err := w.Require(t.Context(), w.dave, w.of(w.dave, id), lfs.Upload); err != nil {
			t.Fatal(err)
		}
		w.exec("UPDATE groups SET lfs_enabled = ? WHERE namespace_id = ?", false, top)
		wants(t, w.Require(t.Context(), w.dave, w.of(w.dave, id), lfs.Upload), errs.Forbidden)
	})
}

func TestService_nameIsNoKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		o := w.store(w.dave, w.shop, "secret plans")
		if _, err := w.read(w.dora, w.den, o); !errs.Is(err, errs.NotFound) {
			t.Errorf("open: %v", err)
		}
		has, err := w.Has(t.Context(), w.den, []string{o.OID})
		if err != nil || len(has) != 0 {
			t.Errorf("has: %v, %v", has, err)
		}
		wants(t, w.Verify(t.Context(), w.dora, w.of(w.dora, w.den), o), errs.NotFound)
		wants(t, w.Store(t.Context(), w.dora, w.of(w.dora, w.den), o, strings.NewReader("")), errs.Unprocessable)
		wants(t, w.Store(t.Context(), w.dora, w.of(w.dora, w.den), o, strings.NewReader("secret plane")), errs.Unprocessable)
		if _, err := w.read(w.dora, w.den, o); !errs.Is(err, errs.NotFound) {
			t.Errorf("open after pretending: %v", err)
		}
		w.store(w.dora, w.den, "secret plans") // who has it may have it
		if text, err := w.read(w.dora, w.den, o); err != nil || text != "secret plans" {
			t.Errorf("open after uploading: %q, %v", text, err)
		}
		if n := w.left(); n != 1 {
			t.Errorf("%d objects for one content", n)
		}
	})
}

func TestService_LinkAll(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.store(w.dave, w.shop, "a"), w.store(w.dave, w.shop, "b")
		if err := w.Link(t.Context(), w.shop, w.den, []string{b.OID, pointer("never seen").OID}); err != nil {
			t.Fatal(err)
		}
		if has, err := w.Has(t.Context(), w.den, []string{a.OID, b.OID, "", "\x00", "\xff", strings.ToUpper(b.OID)}); err != nil || len(has) != 1 || has[b.OID] != b {
			t.Errorf("after Link: %v, %v", has, err)
		}
		for range 2 {
			if err := w.LinkAll(t.Context(), w.shop, w.den); err != nil {
				t.Fatal(err)
			}
		}
		if has, err := w.Has(t.Context(), w.den, []string{a.OID, b.OID}); err != nil || len(has) != 2 {
			t.Errorf("after LinkAll: %v, %v", has, err)
		}
		if uses, err := w.Uses(t.Context(), w.den); err != nil || !uses {
			t.Errorf("uses: %v, %v", uses, err)
		}
	})
}

func TestService_Sweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		kept, gone := w.store(w.dave, w.shop, "kept"), w.store(w.dora, w.den, "gone")
		stray := pointer("stray")
		at := "lfs/" + stray.OID[:2] + "/" + stray.OID[2:4] + "/" + stray.OID[4:]
		if _, err := w.objects.Put(t.Context(), at, strings.NewReader("stray"), blob.Wanted{}); err != nil {
			t.Fatal(err)
		}
		w.exec("DELETE FROM projects WHERE id = ?", w.den)
		sweep := func(want int) {
			t.Helper()
			if err := w.Service.Sweep(t.Context(), lfs.Sweep{}); err != nil {
				t.Fatal(err)
			}
			if n := w.left(); n != want {
				t.Errorf("%d objects are left, want %d", n, want)
			}
		}
		sweep(3) // none is old enough
		w.later = 20 * 365 * 24 * time.Hour
		sweep(1)
		if text, err := w.read(w.dave, w.shop, kept); err != nil || text != "kept" {
			t.Errorf("kept: %q, %v", text, err)
		}
		if n, err := db.Get[int](t.Context(), w.World.DB, "SELECT COUNT(*) FROM lfs_objects WHERE oid = ?", gone.OID); err != nil || n != 0 {
			t.Errorf("%d rows of what is gone, %v", n, err)
		}
	})
}
