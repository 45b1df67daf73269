package account_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		_, mona := h.User("mona", func(in *account.Input) { in.Name = "Mona Lisa"; in.Admin = false })
		h.User("al", func(in *account.Input) { in.Name = "Albert Monaco"; in.Auditor = true })
		h.User("ext", func(in *account.Input) {
			in.External = new(true)
			in.Name = "Zoë ÉXT"
			in.Provider = "ldapmain"
			in.ExternUID = "uid=ext"
		})
		h.User("boss", func(in *account.Input) { in.Admin = true; in.Provider = "github"; in.ExternUID = "1" })
		late := h.Now()
		h.Pass(time.Hour)
		gone, _ := h.User("gone")
		set := func(id authz.UserID, column string, value any) {
			t.Helper()
			if _, err := d.Exec(t.Context(), "UPDATE users SET "+column+" = ? WHERE id = ?", value, id); err != nil {
				t.Fatal(err)
			}
		}
		set(gone.ID, "state", account.Blocked)
		bot, _ := h.User("robot")
		set(bot.ID, "user_type", account.Bot)
		set(mona.UserID, "public_email", "mona@example.com")

		all := []string{"robot", "gone", "boss", "ext", "al", "mona", "root"}
		open := []string{"robot", "boss", "ext", "al", "mona", "root"}
		for _, c := range []struct {
			name string
			as   authz.Actor
			f    account.Filter
			want []string
		}{
			{"administrator", h.Root, account.Filter{}, all},
			{"somebody", mona, account.Filter{}, open},
			{"nobody by username", authz.Actor{}, account.Filter{Username: new("MONA")}, []string{"mona"}},
			{"nobody by hidden username", authz.Actor{}, account.Filter{Username: new("gone")}, []string{}},
			{"active", h.Root, account.Filter{Active: true}, open},
			{"exclude active", h.Root, account.Filter{ExcludeActive: true}, []string{"gone"}},
			{"blocked", h.Root, account.Filter{Blocked: true}, []string{"gone"}},
			{"blocked, hidden", mona, account.Filter{Blocked: true}, []string{}},
			{"external", mona, account.Filter{External: true}, []string{"ext"}},
			{"exclude external", mona, account.Filter{ExcludeExternal: true}, []string{"robot", "boss", "al", "mona", "root"}},
			{"without bots", mona, account.Filter{WithoutProjectBots: true}, []string{"boss", "ext", "al", "mona", "root"}},
			{"humans", mona, account.Filter{Humans: true}, []string{"boss", "ext", "al", "mona", "root"}},
			{"no humans", mona, account.Filter{ExcludeHumans: true}, []string{"robot"}},
			{"no internal", mona, account.Filter{ExcludeInternal: true}, open},
			{"administrators", h.Root, account.Filter{Admins: true}, []string{"boss", "root"}},
			{"administrators, asked by others", mona, account.Filter{Admins: true}, open},
			{"auditors", h.Root, account.Filter{Auditors: true}, []string{"al"}},
			{"auditors, asked by others", mona, account.Filter{Auditors: true}, open},
			{"no directory", mona, account.Filter{SkipLDAP: true}, []string{"robot", "boss", "al", "mona", "root"}},
			{"single sign-on of a group", h.Root, account.Filter{SAMLProvider: 7}, []string{}},
			{"single sign-on of a group, asked by others", mona, account.Filter{SAMLProvider: 7}, open},
			{"several at once", h.Root, account.Filter{Humans: true, Active: true, ExcludeExternal: true, Admins: true}, []string{"boss", "root"}},
			{"attributes, asked by others", mona, account.Filter{Attributes: map[string]string{"room": "1"}}, open},
			{"attributes", h.Root, account.Filter{Attributes: map[string]string{"room": "1"}}, []string{}},
			{"without projects, asked by others", mona, account.Filter{WithoutProjects: true}, open},
			{"identity", h.Root, account.Filter{Provider: "github", ExternUID: "1"}, []string{"boss"}},
			{"no identity", h.Root, account.Filter{Provider: "github", ExternUID: "2"}, []string{}},
			{"public address", mona, account.Filter{PublicEmail: new("mona@example.com")}, []string{"mona"}},
			{"hidden address", mona, account.Filter{PublicEmail: new("al@example.com")}, []string{}},
			{"no address", mona, account.Filter{PublicEmail: new("")}, []string{}},
			{"second factor", h.Root, account.Filter{TwoFactor: "enabled"}, []string{}},
			{"no second factor", h.Root, account.Filter{TwoFactor: "disabled"}, all},
			{"without projects", h.Root, account.Filter{WithoutProjects: true}, all},
			{"created after", h.Root, account.Filter{CreatedAfter: new(late.Add(time.Second))}, []string{"robot", "gone"}},
			{"created before", h.Root, account.Filter{CreatedBefore: new(late)}, []string{"boss", "ext", "al", "mona", "root"}},
			{"search names, exact username first", mona, account.Filter{Search: new("mona")}, []string{"mona", "al"}},
			{"search with an at sign", mona, account.Filter{Search: new(" @Mona ")}, []string{"mona", "al"}},
			{"search two letters", mona, account.Filter{Search: new("al")}, []string{"al"}},
			{"search a part of two letters", mona, account.Filter{Search: new("mo")}, []string{}},
			{"search other letters", mona, account.Filter{Search: new("éxt")}, []string{"ext"}},
			{"search public address", mona, account.Filter{Search: new("MONA@example.com")}, []string{"mona"}},
			{"search hidden address", mona, account.Filter{Search: new("al@example.com")}, []string{}},
			{"search hidden address as administrator", h.Root, account.Filter{Search: new("al@example.com")}, []string{"al"}},
			{"search nothing", mona, account.Filter{Search: new("  ")}, []string{}},
			{"search wildcards", mona, account.Filter{Search: new("%%%")}, []string{}},
			{"by username", h.Root, account.Filter{OrderBy: "username", Asc: true}, []string{"al", "boss", "ext", "gone", "mona", "robot", "root"}},
			{"by name", h.Root, account.Filter{OrderBy: "name", Asc: true, Range: page.Range{Limit: 2}}, []string{"root", "al"}},
			{"by time", h.Root, account.Filter{OrderBy: "created_at", Range: page.Range{Limit: 2, Offset: 1}}, []string{"gone", "boss"}},
			{"order of others", mona, account.Filter{OrderBy: "username", Asc: true}, open},
		} {
			list, err := h.List(t.Context(), c.as, c.f)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			accounttest.SameList(t, c.name, usernames(list.Items), c.want)
			if c.f.Limit == 0 && list.Total != len(c.want) {
				t.Errorf("%s: got total %d, want %d", c.name, list.Total, len(c.want))
			}
		}
		_, err := h.List(t.Context(), authz.Actor{}, account.Filter{})
		accounttest.WantError(t, err, errs.Forbidden, "Not authorized to access /api/v4/users")
		_, err = h.List(t.Context(), mona, account.Filter{Provider: "github", ExternUID: "1"})
		accounttest.WantError(t, err, errs.Forbidden, "forbidden")
		if n := dbtest.Count(t, d, func() {
			if _, err := h.List(t.Context(), h.Root, account.Filter{}); err != nil {
				t.Error(err)
			}
		}); n != 1 {
			t.Errorf("got %d statements, want 1", n)
		}
	})
}

// TestService_List_emails counts searches by an email address.
func TestService_List_emails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		_, mona := h.User("mona")
		deps := h.Deps
		deps.Limits = limit.New(limit.Deps{Settings: h.Settings, Now: func() time.Time { return time.Unix(0, 0) }})
		s := account.New(deps)
		if err := h.Settings.Set(t.Context(), "user_email_lookup_limit", 2); err != nil {
			t.Fatal(err)
		}
		search := func(text string) error {
			_, err := s.List(t.Context(), mona, account.Filter{Search: &text, Range: page.Range{Limit: 20}})
			return err
		}
		for i, want := range []bool{true, true, false} {
			if err := search("mona@example.com"); (err == nil) != want || err != nil && !errs.Is(err, errs.TooMany) {
				t.Errorf("search %d: %v, want %v", i+1, err, want)
			}
		}
		if err := search("mona"); err != nil {
			t.Errorf("search by name: %v", err)
		}
		if err := h.Settings.Set(t.Context(), "user_email_lookup_limit", 0); err != nil {
			t.Fatal(err)
		}
		if err := search("mona@example.com"); err != nil {
			t.Errorf("without a limit: %v", err)
		}
	})
}

func TestService_Find(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, as := h.User("mona")
		if got, err := h.Find(t.Context(), as, 1); err != nil || got.Username != "root" {
			t.Errorf("got %+v, %v, want root", got, err)
		}
		if got, err := h.ByUsername(t.Context(), as, "MONA"); err != nil || got.ID != u.ID {
			t.Errorf("got %+v, %v, want mona", got, err)
		}
		_, err := h.Find(t.Context(), as, 99)
		accounttest.WantError(t, err, errs.NotFound, "User not found")
		_, err = h.Find(t.Context(), authz.Actor{}, 1)
		accounttest.WantError(t, err, errs.Forbidden, "Not authorized!")
		_, err = h.Current(t.Context(), authz.Actor{})
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")

		byID, err := h.ByIDs(t.Context(), []authz.UserID{u.ID, 1, 99})
		if err != nil || len(byID) != 2 || byID[1].Username != "root" || byID[u.ID].Username != "mona" {
			t.Errorf("got %v, %v, want two summaries", byID, err)
		}
		for ref, want := range map[string]string{"2": "mona", "Mona": "mona", "root": "root"} {
			if got, err := h.ActorFor(t.Context(), ref); err != nil || got.Username != want {
				t.Errorf("%s: got %+v, %v, want %s", ref, got, err, want)
			}
		}
		for _, ref := range []string{"99", "nobody", "", "-1", "99999999999999999999"} {
			if _, err := h.ActorFor(t.Context(), ref); !errs.Is(err, errs.NotFound) {
				t.Errorf("%q: got %v, want NotFound", ref, err)
			}
		}
	})
}

func usernames(users []*account.User) []string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = u.Username
	}
	return out
}
