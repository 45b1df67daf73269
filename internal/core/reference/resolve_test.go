package reference_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/reference"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// everybody knows of users.
type everybody struct{}

func (everybody) Hidden(authz.Actor) bool { return false }

// A text in an open project refers to things there, in a private project beside it and in
// none: each reader finds what it may read, in as many statements for many as for one.
func TestService_Resolve(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		w := coretest.New(t, d)
		u, err := url.Parse("https://code.example")
		if err != nil {
			t.Fatal(err)
		}
		urls := weburl.New(u, "")
		labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, URLs: urls})
		issues := issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, Now: w.Now, URLs: urls})
		s := reference.New(reference.Deps{Settings: setting.New(d, w.Now), DB: d, Policy: w.Policy, Accounts: everybody{}, Projects: w.Projects, URLs: urls})
		s.Connect(reference.Above{Finders: []reference.Finder{issues, labels}})

		member, stranger := w.User("member"), w.User("stranger")
		team := w.Group("team", authz.Public, 0)
		hidden := w.Group("hidden", authz.Private, 0)
		open := w.Project("team/open", authz.Public, team)
		secret := w.Project("team/secret", authz.Private, team)
		w.Join(secret, member, authz.Developer)
		w.Join(open, member, authz.Developer)
		w.Member(hidden, member, authz.Guest)
		for i, row := range []coretest.Row{
			{"title": "first"}, {"title": "kept", "confidential": true}, {"title": "own", "confidential": true, "author_id": stranger.UserID},
		} {
			row["project_id"], row["iid"], row["issue_type"], row["state"] = open, i+1, "issue", "opened"
			if row["author_id"] == nil {
				row["author_id"] = member.UserID
			}
			w.Insert("issues", row)
		}
		w.Insert("issues", coretest.Row{
			"project_id": secret, "iid": 1, "title": "there", "issue_type": "task", "state": "closed", "author_id": member.UserID,
		})
		here := w.Find(member, open)
		for _, row := range []coretest.Row{
			{"namespace_id": team, "title": "bug", "title_fold": "bug", "color": "#fff"},
			{"namespace_id": here.NamespaceID, "title": "two words", "title_fold": "two words", "color": "#000"},
		} {
			w.Insert("labels", row)
		}
		const text = `#1 #2 #3 #9 team/secret#1 secret#1 https://code.example/team/secret/-/issues/1 ~bug ~"two words" ~none team/open~bug
			@member @HIDDEN @none @team/open Team/OPEN#1 &1 %1 !1`
		refs := s.Parse(text)
		got := func(as authz.Actor, in reference.Scope, refs []reference.Reference) string {
			t.Helper()
			targets, err := s.Resolve(ctx, as, in, refs)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for i, target := range targets {
				if target != nil {
					out = append(out, text[refs[i].Start:refs[i].End]+"="+strings.TrimPrefix(target.URL, "https://code.example"))
				}
			}
			return strings.Join(out, " ")
		}
		const (
			first  = "#1=/team/open/-/issues/1"
			kept   = "#2=/team/open/-/issues/2"
			own    = "#3=/team/open/-/issues/3"
			there  = "team/secret#1=/team/secret/-/work_items/1 secret#1=/team/secret/-/work_items/1"
			byURL  = "https://code.example/team/secret/-/issues/1=/team/secret/-/work_items/1"
			ofText = `~bug=/team/open/-/issues?label_name=bug ~"two words"=/team/open/-/issues?label_name=two+words`
			bug    = "team/open~bug=/team/open/-/issues?label_name=bug"
			user   = "@member=/member"
			group  = "@HIDDEN=/groups/hidden"
			named  = "Team/OPEN#1=/team/open/-/issues/1"
		)
		for name, tt := range map[string]struct {
			as   authz.Actor
			in   reference.Scope
			want []string
		}{
			"member":      {member, reference.Of(here), []string{first, kept, own, there, byURL, ofText, bug, user, group, named}},
			"stranger":    {stranger, reference.Of(here), []string{first, own, ofText, bug, user, named}},
			"anonymous":   {authz.Actor{}, reference.Of(here), []string{first, ofText, bug, user, named}},
			"no place":    {stranger, reference.Scope{}, []string{bug, user, named}},
			"of a group":  {stranger, reference.Scope{Group: team, GroupPath: "team"}, []string{"~bug=/groups/team/-/issues?label_name=bug", bug, user, named}},
			"of a hidden": {stranger, reference.Scope{Group: hidden, GroupPath: "hidden"}, []string{bug, user, named}},
			"unread":      {stranger, reference.Of(w.Find(member, secret)), []string{bug, user, named}},
		} {
			if got, want := got(tt.as, tt.in, refs), strings.Join(tt.want, " "); got != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, want)
			}
		}
		mentioned, err := s.Mentioned(ctx, member, "@stranger hello @member `@none` @hidden @member")
		if err != nil || len(mentioned.Users) != 2 || len(mentioned.Groups) != 1 || !mentioned.Addressed[stranger.UserID] || mentioned.Addressed[member.UserID] {
			t.Errorf("mentioned %+v, %v, want stranger, addressed, member and hidden", mentioned, err)
		}
		statements := func(text string) int {
			t.Helper()
			return dbtest.Count(t, d, func() {
				if _, err := s.Resolve(ctx, stranger, reference.Of(here), s.Parse(text)); err != nil {
					t.Error(err)
				}
			})
		}
		one, many := statements("#1 team/secret#1 ~bug @member"), statements(strings.Repeat(text+" #11 #12 ~x @y a/b#1 ", 100))
		if one != many || many > 8 {
			t.Errorf("%d statements for some references, %d for many, want as many and at most 8", one, many)
		}
	})
}
