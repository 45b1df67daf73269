package account_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		_, mona := h.user("mona", func(in *account.Input) { in.Name = "Mona Lisa"; in.Admin = false })
		h.user("al", func(in *account.Input) { in.Name = "Albert Monaco"; in.Auditor = true })
		h.user("ext", func(in *account.Input) {
			in.External = ptr(true)
			in.Name = "Zoë ÉXT"
			in.Provider = "ldapmain"
			in.ExternUID = "uid=ext"
		})
		h.user("boss", func(in *account.Input) { in.Admin = true; in.Provider = "github"; in.ExternUID = "1" })
		late := h.clock()
		h.pass(time.Hour)
		gone, _ := h.user("gone")
		set := func(id authz.UserID, column string, value any) {
			t.Helper()
			if _, err := d.Exec(t.Context(), "UPDATE users SET "+column+" = ? WHERE id = ?", value, id); err != nil {
				t.Fatal(err)
			}
		}
		set(gone.ID, "state", account.Blocked)
		bot, _ := h.user("robot")
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
			{"administrator", h.root, account.Filter{}, all},
			{"somebody", mona, account.Filter{}, open},
			{"nobody by username", authz.Actor{}, account.Filter{Username: ptr("MONA")}, []string{"mona"}},
			{"nobody by hidden username", authz.Actor{}, account.Filter{Username: ptr("gone")}, []string{}},
			{"active", h.root, account.Filter{Active: true}, open},
			{"exclude active", h.root, account.Filter{ExcludeActive: true}, []string{"gone"}},
			{"blocked", h.root, account.Filter{Blocked: true}, []string{"gone"}},
			{"blocked, hidden", mona, account.Filter{Blocked: true}, []string{}},
			{"external", mona, account.Filter{External: true}, []string{"ext"}},
			{"exclude external", mona, account.Filter{ExcludeExternal: true}, []string{"robot", "boss", "al", "mona", "root"}},
			{"without bots", mona, account.Filter{WithoutProjectBots: true}, []string{"boss", "ext", "al", "mona", "root"}},
			{"humans", mona, account.Filter{Humans: true}, []string{"boss", "ext", "al", "mona", "root"}},
			{"no humans", mona, account.Filter{ExcludeHumans: true}, []string{"robot"}},
			{"no internal", mona, account.Filter{ExcludeInternal: true}, open},
			{"administrators", h.root, account.Filter{Admins: true}, []string{"boss", "root"}},
			{"administrators, asked by others", mona, account.Filter{Admins: true}, open},
			{"auditors", h.root, account.Filter{Auditors: true}, []string{"al"}},
			{"auditors, asked by others", mona, account.Filter{Auditors: true}, open},
			{"no directory", mona, account.Filter{SkipLDAP: true}, []string{"robot", "boss", "al", "mona", "root"}},
			{"single sign-on of a group", h.root, account.Filter{SAMLProvider: 7}, []string{}},
			{"single sign-on of a group, asked by others", mona, account.Filter{SAMLProvider: 7}, open},
			{"several at once", h.root, account.Filter{Humans: true, Active: true, ExcludeExternal: true, Admins: true}, []string{"boss", "root"}},
			{"attributes, asked by others", mona, account.Filter{Attributes: map[string]string{"room": "1"}}, open},
			{"attributes", h.root, account.Filter{Attributes: map[string]string{"room": "1"}}, []string{}},
			{"without projects, asked by others", mona, account.Filter{WithoutProjects: true}, open},
			{"identity", h.root, account.Filter{Provider: "github", ExternUID: "1"}, []string{"boss"}},
			{"no identity", h.root, account.Filter{Provider: "github", ExternUID: "2"}, []string{}},
			{"public address", mona, account.Filter{PublicEmail: ptr("mona@example.com")}, []string{"mona"}},
			{"hidden address", mona, account.Filter{PublicEmail: ptr("al@example.com")}, []string{}},
			{"no address", mona, account.Filter{PublicEmail: ptr("")}, []string{}},
			{"second factor", h.root, account.Filter{TwoFactor: "enabled"}, []string{}},
			{"no second factor", h.root, account.Filter{TwoFactor: "disabled"}, all},
			{"without projects", h.root, account.Filter{WithoutProjects: true}, all},
			{"created after", h.root, account.Filter{CreatedAfter: ptr(late.Add(time.Second))}, []string{"robot", "gone"}},
			{"created before", h.root, account.Filter{CreatedBefore: ptr(late)}, []string{"boss", "ext", "al", "mona", "root"}},
			{"search names, exact username first", mona, account.Filter{Search: ptr("mona")}, []string{"mona", "al"}},
			{"search with an at sign", mona, account.Filter{Search: ptr(" @Mona ")}, []string{"mona", "al"}},
			{"search two letters", mona, account.Filter{Search: ptr("al")}, []string{"al"}},
			{"search a part of two letters", mona, account.Filter{Search: ptr("mo")}, []string{}},
			{"search other letters", mona, account.Filter{Search: ptr("éxt")}, []string{"ext"}},
			{"search public address", mona, account.Filter{Search: ptr("MONA@example.com")}, []string{"mona"}},
			{"search hidden address", mona, account.Filter{Search: ptr("al@example.com")}, []string{}},
			{"search hidden address as administrator", h.root, account.Filter{Search: ptr("al@example.com")}, []string{"al"}},
			{"search nothing", mona, account.Filter{Search: ptr("  ")}, []string{}},
			{"search wildcards", mona, account.Filter{Search: ptr("%%%")}, []string{}},
			{"by username", h.root, account.Filter{OrderBy: "username", Asc: true}, []string{"al", "boss", "ext", "gone", "mona", "robot", "root"}},
			{"by name", h.root, account.Filter{OrderBy: "name", Asc: true, Range: page.Range{Limit: 2}}, []string{"root", "al"}},
			{"by time", h.root, account.Filter{OrderBy: "created_at", Range: page.Range{Limit: 2, Offset: 1}}, []string{"gone", "boss"}},
			{"order of others", mona, account.Filter{OrderBy: "username", Asc: true}, open},
		} {
			list, err := h.List(t.Context(), c.as, c.f)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			sameList(t, c.name, usernames(list.Items), c.want)
			if c.f.Limit == 0 && list.Total != len(c.want) {
				t.Errorf("%s: got total %d, want %d", c.name, list.Total, len(c.want))
			}
		}
		_, err := h.List(t.Context(), authz.Actor{}, account.Filter{})
		wantErr(t, err, errs.Forbidden, "Not authorized to access /api/v4/users")
		_, err = h.List(t.Context(), mona, account.Filter{Provider: "github", ExternUID: "1"})
		wantErr(t, err, errs.Forbidden, "forbidden")
		if n := dbtest.Count(t, d, func() {
			if _, err := h.List(t.Context(), h.root, account.Filter{}); err != nil {
				t.Error(err)
			}
		}); n != 1 {
			t.Errorf("got %d statements, want 1", n)
		}
	})
}

func TestService_Find(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		u, as := h.user("mona")
		if got, err := h.Find(t.Context(), as, 1); err != nil || got.Username != "root" {
			t.Errorf("got %+v, %v, want root", got, err)
		}
		if got, err := h.ByUsername(t.Context(), as, "MONA"); err != nil || got.ID != u.ID {
			t.Errorf("got %+v, %v, want mona", got, err)
		}
		_, err := h.Find(t.Context(), as, 99)
		wantErr(t, err, errs.NotFound, "User not found")
		_, err = h.Find(t.Context(), authz.Actor{}, 1)
		wantErr(t, err, errs.Forbidden, "Not authorized!")
		_, err = h.Current(t.Context(), authz.Actor{})
		wantErr(t, err, errs.Unauthorized, "unauthorized")

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
