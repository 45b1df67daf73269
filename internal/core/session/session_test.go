package session_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/session"
	"tenon/internal/core/setting"
)

const (
	password = "a long enough passphrase"
	week     = 7 * 24 * time.Hour // the setting's default
)

// house is a service over a fresh database with an administrator and ann.
type house struct {
	*session.Service
	session.Deps // of the service
	world        *accounttest.World
	t            *testing.T
	d            *db.DB
	root         authz.Actor
	ann          authz.UserID
	settings     *setting.Store
}

func newHouse(t *testing.T, d *db.DB) *house {
	t.Helper()
	w := accounttest.New(t, d)
	w.Enqueue = func(context.Context, job.Args, ...job.Option) error { return nil }
	u, _ := w.User("ann", func(in *account.Input) {
		in.Name, in.Password, in.ForceRandomPassword, in.SkipConfirmation = "Ann", password, false, true
	})
	h := &house{world: w, t: t, d: d, root: w.Root, ann: u.ID, settings: w.Settings}
	h.Deps = session.Deps{DB: d, Policy: w.Policy, Accounts: w.Service, Settings: w.Settings, Now: w.Now, Log: slog.New(slog.DiscardHandler)}
	h.Service = session.New(h.Deps)
	h.Subscribe(w.Bus)
	return h
}

// signOn begins a session for ann.
func (h *house) signOn() (string, authz.Actor) {
	h.t.Helper()
	key, as, err := h.SignOn(h.t.Context(), "Ann", password, session.Client{Address: "192.0.2.1", Agent: "Browser/1"})
	if err != nil {
		h.t.Fatal(err)
	}
	return key, as
}

// good reports whether a session's secret is taken.
func (h *house) good(key string) bool {
	h.t.Helper()
	_, err := h.Authenticate(h.t.Context(), key)
	if err != nil && !errs.Is(err, errs.Unauthorized) {
		h.t.Fatalf("Authenticate: got %v, want none or unauthorized", err)
	}
	return err == nil
}

func each(t *testing.T, fn func(t *testing.T, h *house)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newHouse(t, d)) })
}

func TestService_SignOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		key, as := h.signOn()
		got, err := h.Authenticate(t.Context(), key)
		if err != nil || got.UserID != h.ann || got.Username != "ann" || got.Session != as.Session || got.Session == 0 || got.Admin || got.Scopes != nil {
			t.Errorf("Authenticate: got %+v, %v; want ann with session %d", got, err, as.Session)
		}
		again, _ := h.signOn()
		if again == key || !h.good(key) || !h.good(again) {
			t.Errorf("got the secret %q after %q, want another one and both good", again, key)
		}
		if n, err := db.Get[int](t.Context(), h.d, "SELECT COUNT(*) FROM sessions WHERE digest LIKE ?", "%"+key+"%"); err != nil || n != 0 {
			t.Errorf("the secret is stored: %d rows, %v", n, err)
		}
		u, err := h.Accounts.Find(t.Context(), h.root, h.ann)
		if err != nil || u.SignInCount != 2 || u.CurrentSignInIP == nil || *u.CurrentSignInIP != "192.0.2.1" || u.LastSignInAt == nil {
			t.Errorf("got %+v, %v; want two sign-ons counted", u, err)
		}
	})
}

func TestService_SignOn_refused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, tt := range []struct {
			login, password string
			want            errs.Kind
		}{
			{"ann", "wrong", errs.Unauthorized},
			{"nobody", password, errs.Unauthorized},
			{"", "", errs.Unauthorized},
			{"ann@example.com", password, 0},
		} {
			key, _, err := h.SignOn(t.Context(), tt.login, tt.password, session.Client{})
			if tt.want == 0 && err != nil || tt.want != 0 && (!errs.Is(err, tt.want) || key != "") {
				t.Errorf("%q, %q: got %q, %v; want %v", tt.login, tt.password, key, err, tt.want)
			}
		}
		if _, err := h.Accounts.Block(t.Context(), h.root, h.ann); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", "wrong", session.Client{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("blocked with a wrong password: got %v, want unauthorized", err)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", password, session.Client{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("blocked: got %v, want the reason", err)
		}
		for _, key := range []string{"", "x", strings.Repeat("x", 4096)} {
			if h.good(key) {
				t.Errorf("%.10q is taken as a session", key)
			}
		}
	})
}

// A session ends by itself: unused for a week, a month after the sign-on.
func TestService_Authenticate_lapsed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		idle, _ := h.signOn()
		used, _ := h.signOn()
		for range 4 {
			h.world.Pass(week - time.Hour)
			if !h.good(used) {
				t.Fatal("a session in use lapsed")
			}
			if err := h.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if h.good(idle) {
			t.Error("a session that was not used for a month is good")
		}
		if h.world.Pass(4 * 24 * time.Hour); h.good(used) {
			t.Error("a session is good more than a month after the sign-on")
		}
		fresh, _ := h.signOn()
		h.world.Pass(week - time.Second)
		if !h.good(fresh) {
			t.Error("a session lapsed before its time")
		}
		h.world.Pass(week)
		if h.good(fresh) {
			t.Error("a session is good when nothing used it for a week")
		}
	})
}

// The setting session_expire_delay holds for the sessions that there are, too.
func TestService_Authenticate_expireDelay(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		key, as := h.signOn()
		for _, tt := range []struct {
			minutes int
			pass    time.Duration
			want    bool
		}{
			{30, 29 * time.Minute, true},
			{30, 30 * time.Minute, false},
			{60 * 24 * 60, 59 * 24 * time.Hour, true}, // longer than a session lives otherwise
			{60 * 24 * 60, 59 * 24 * time.Hour, false},
		} {
			if err := h.settings.Set(t.Context(), "session_expire_delay", tt.minutes); err != nil {
				t.Fatal(err)
			}
			h.world.Pass(tt.pass)
			list, err := h.List(t.Context(), as)
			if err != nil || (len(list) == 1) != tt.want {
				t.Errorf("%s of %d minutes: got %d sessions, %v; want one: %v", tt.pass, tt.minutes, len(list), err, tt.want)
			}
			if got := h.good(key); got != tt.want {
				t.Errorf("%s of %d minutes: got %v, want %v", tt.pass, tt.minutes, got, tt.want)
			}
		}
	})
}

// With session_expire_from_init the time of a session does not begin again when it is used.
func TestService_Authenticate_expireFromInit(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if err := h.settings.Set(t.Context(), "session_expire_delay", 60); err != nil {
			t.Fatal(err)
		}
		for _, fromInit := range []bool{false, true} {
			key, _ := h.signOn()
			h.world.Pass(40 * time.Minute)
			if !h.good(key) {
				t.Error("not good 40 minutes after the sign-in")
			}
			if err := h.settings.Set(t.Context(), "session_expire_from_init", fromInit); err != nil {
				t.Fatal(err)
			}
			h.world.Pass(40 * time.Minute)
			if h.good(key) == fromInit {
				t.Errorf("80 minutes after the sign-in and 40 after the last request: good %v, from the sign-in %v", !fromInit, fromInit)
			}
		}
	})
}

// What ends all sessions of a user.
func TestService_Subscribe(t *testing.T) {
	for name, end := range map[string]func(h *house) error{
		"password changed by the user": func(h *house) error {
			return h.Accounts.ChangePassword(h.t.Context(), "ann", password, "another long passphrase", "")
		},
		"password changed by an administrator": func(h *house) error {
			text := "another long passphrase"
			_, err := h.Accounts.Update(h.t.Context(), h.root, h.ann, account.Changes{Password: &text})
			return err
		},
		"password chosen by a link": func(h *house) error {
			key, _, err := h.Accounts.PasswordLink(h.t.Context(), h.root, h.ann)
			return errors.Join(err, h.Accounts.UseLink(h.t.Context(), key, "another long passphrase", ""))
		},
		"blocked": func(h *house) error {
			_, err := h.Accounts.Block(h.t.Context(), h.root, h.ann)
			return err
		},
		"banned": func(h *house) error { return h.Accounts.Ban(h.t.Context(), h.root, h.ann) },
		"deleted": func(h *house) error {
			return h.Accounts.Delete(h.t.Context(), h.root, h.ann, account.Removal{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				one, _ := h.signOn()
				two, _ := h.signOn()
				roots, _, err := h.SignOn(t.Context(), "root", "root's own password", session.Client{})
				if err != nil {
					t.Fatal(err)
				}
				if err := end(h); err != nil {
					t.Fatal(err)
				}
				if h.good(one) || h.good(two) {
					t.Error("a session is still good")
				}
				if n, err := db.Get[int](t.Context(), h.d, "SELECT COUNT(*) FROM sessions WHERE user_id = ?", h.ann); err != nil || n != 0 {
					t.Errorf("got %d rows, %v; want none", n, err)
				}
				if !h.good(roots) {
					t.Error("the session of another user ended")
				}
			})
		})
	}
}

func TestService_End(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		mine, as := h.signOn()
		other, them := h.signOn()
		list, err := h.List(t.Context(), as)
		if err != nil || len(list) != 2 || int64(list[0].ID) != them.Session || list[0].Agent != "Browser/1" || list[0].Address != "192.0.2.1" {
			t.Errorf("List: got %+v, %v; want both, the newest first", list, err)
		}
		if err := h.End(t.Context(), h.root, session.ID(as.Session)); !errs.Is(err, errs.NotFound) {
			t.Errorf("End by somebody else: got %v, want not found", err)
		}
		if err := h.End(t.Context(), authz.Actor{}, session.ID(as.Session)); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("End by nobody: got %v, want unauthorized", err)
		}
		if err := h.End(t.Context(), as, session.ID(them.Session)); err != nil || h.good(other) || !h.good(mine) {
			t.Errorf("End: got %v; want the other one ended alone", err)
		}
		for range 2 {
			if err := h.SignOff(t.Context(), as); err != nil {
				t.Errorf("SignOff: got %v, want none", err)
			}
		}
		if h.good(mine) {
			t.Error("the session is good after its end")
		}
	})
}

func TestService_SignOn_most(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first, _ := h.signOn()
		for range session.Most - 1 {
			h.signOn()
		}
		if !h.good(first) {
			t.Fatal("the oldest session ended too early")
		}
		last, as := h.signOn()
		if h.good(first) || !h.good(last) {
			t.Error("the oldest session should have ended, and no other")
		}
		if list, err := h.List(t.Context(), as); err != nil || len(list) != session.Most {
			t.Errorf("got %d sessions, %v; want %d", len(list), err, session.Most)
		}
	})
}

// A password that an administrator gave has to be replaced first, and the answer says so to
// who knows it alone. A deactivated account is woken by its person.
func TestService_SignOn_states(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		given, chosen := "given by an administrator", "chosen by the person herself"
		if _, err := h.Accounts.Update(t.Context(), h.root, h.ann, account.Changes{Password: &given}); err != nil {
			t.Fatal(err)
		}
		_, _, err := h.SignOn(t.Context(), "ann", given, session.Client{})
		if e, ok := errors.AsType[*errs.Error](err); !ok || e.Code != account.CodePasswordExpired {
			t.Errorf("expired password: got %v, want %s", err, account.CodePasswordExpired)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", "wrong", session.Client{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("wrong password: got %v, want unauthorized", err)
		}
		for _, tt := range []struct{ current, next string }{{given, given}, {given, "short"}, {given, ""}} {
			if err := h.Accounts.ChangePassword(t.Context(), "ann", tt.current, tt.next, ""); !errs.Is(err, errs.Invalid) {
				t.Errorf("to %q: got %v, want invalid", tt.next, err)
			}
		}
		if err := h.Accounts.ChangePassword(t.Context(), "ann", "wrong", chosen, ""); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("with a wrong password: got %v, want unauthorized", err)
		}
		if err := h.Accounts.ChangePassword(t.Context(), "ann", given, chosen, ""); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", chosen, session.Client{}); err != nil {
			t.Errorf("after the change: got %v", err)
		}
		h.world.Pass(100 * 24 * time.Hour)
		if _, err := h.Accounts.Deactivate(t.Context(), h.root, h.ann); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", "wrong", session.Client{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("deactivated, wrong password: got %v, want unauthorized", err)
		}
		if _, _, err := h.SignOn(t.Context(), "ann", chosen, session.Client{}); err != nil {
			t.Errorf("deactivated: got %v, want a session", err)
		}
	})
}

// What a browser calls itself is kept in a bounded and printable form.
func TestService_SignOn_agent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		agent := "Br\x00ow\nser\xff" + strings.Repeat("\u00e9", 400)
		_, as, err := h.SignOn(t.Context(), "ann", password, session.Client{Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		list, err := h.List(t.Context(), as)
		if want := "Browser" + strings.Repeat("\u00e9", 248); err != nil || len(list) != 1 || list[0].Agent != want {
			t.Errorf("got %v, %v; want %q", fmt.Sprint(list), err, want)
		}
	})
}
