package badge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/badge"
	"tenon/internal/core/coretest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// world has the badges of the project group/shop, which reads no code but for members.
type world struct {
	*coretest.World
	badges       *badge.Service
	owner, guest authz.Actor
	id           project.ID
	group        authz.Place
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	w.badges = badge.New(badge.Deps{
		DB: d, Policy: w.Policy, Now: w.Now, Host: "tenon.test",
		Tip: func(context.Context, *project.Project) (string, error) { return "c0ffee", nil },
	})
	w.owner, w.guest = w.User("olga"), w.User("gus")
	id := w.Group("group", authz.Private, 0)
	w.id = w.Project("group/shop", authz.Private, id)
	w.Member(id, w.owner, authz.Owner)
	w.Join(w.id, w.guest, authz.Guest)
	g := namespace.Group{ID: id, Visibility: authz.Private}
	w.group = g.Place()
	return w
}

func (w *world) in(who authz.Actor) authz.Place { w.T.Helper(); return w.Find(who, w.id).Place() }

func TestService_Preview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	const good = "https://tenon.test/%{project_path}/badge.svg"
	long := good + "?" + strings.Repeat("x", 256-len(good))
	for _, tt := range []struct {
		name, link, image string
		want              string
	}{
		{"good", "http://%{gitlab_server}/%{project_id}", good, ""},
		{"blank", " ", good, "link_url can't be blank"},
		{"no scheme", "tenon.test/x", good, "link_url is blocked: Only allowed schemes are http, https"},
		{"script", good, "javascript:alert(1)", "image_url is blocked: Only allowed schemes are http, https"},
		{"unknown placeholder in the query", "https://tenon.test/?a=%{secret}", good, "link_url is blocked: URI is invalid"},
		{"no host", "https:///x", good, "link_url is blocked: URI is invalid"},
		{"long", good, long, "image_url is too long (maximum is 255 characters)"},
	} {
		_, err := w.badges.Preview(t.Context(), w.owner, w.in(w.owner), badge.Changes{LinkURL: &tt.link, ImageURL: &tt.image})
		if tt.want == "" && err != nil || tt.want != "" && (!errs.Is(err, errs.Invalid) || err.Error() != tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestService_Render(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	const all = "%{gitlab_server}/%{project_path}/%{project_namespace}/%{group_name}/%{commit_sha}/%{latest_tag}/%{other}"
	for _, tt := range []struct {
		name string
		as   authz.Actor
		want string
	}{
		{"who reads code", w.owner, "tenon.test/group/shop/group/group/c0ffee/%{latest_tag}/%{other}"},
		{"who does not", w.guest, "tenon.test/group/shop/group/group//%{latest_tag}/%{other}"},
	} {
		got, err := w.badges.Render(t.Context(), tt.as, w.Find(tt.as, w.id), all, "plain")
		if err != nil || fmt.Sprint(got) != fmt.Sprint([]string{tt.want, "plain"}) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if got, err := w.badges.Render(t.Context(), w.owner, nil, all); err != nil || got[0] != all {
		t.Errorf("of a group: got %q, %v, want it as it is", got, err)
	}
	p := w.Find(w.owner, w.id)
	p.Name = `A "shop" <b>`
	if got, err := w.badges.Render(t.Context(), w.owner, p, "/%{project_title}"); err != nil || strings.ContainsAny(got[0], `"<> `) {
		t.Errorf("a title is not escaped: %q, %v", got, err)
	}
}

// TestService_above shows the badges of the groups above a project there, and changes them at their group alone.
func TestService_above(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		create := func(at authz.Place, name string) *badge.Badge {
			t.Helper()
			b, err := w.badges.Create(ctx, w.owner, at, badge.Changes{Name: &name, LinkURL: new("https://a.test"), ImageURL: new("https://a.test/i.png")})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		of, own := create(w.group, "group's"), create(w.in(w.owner), "own")
		names := func(at authz.Place, name string) string {
			t.Helper()
			list, err := w.badges.List(ctx, w.owner, at, badge.Filter{Name: name, Range: page.Range{Limit: 10}})
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, b := range list.Items {
				out = append(out, *b.Name+" of "+string(b.Kind))
			}
			return strings.Join(out, ", ")
		}
		for _, tt := range []struct{ got, want string }{
			{names(w.in(w.owner), ""), "group's of group, own of project"},
			{names(w.in(w.owner), "own"), "own of project"},
			{names(w.group, ""), "group's of group"},
		} {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		}
		if _, err := w.badges.Update(ctx, w.owner, w.in(w.owner), of.ID, badge.Changes{Name: new("x")}); !errs.Is(err, errs.NotFound) {
			t.Errorf("update at the project: %v", err)
		}
		err := w.badges.Delete(ctx, w.owner, w.in(w.owner), of.ID)
		if e, ok := errors.AsType[*errs.Error](err); !ok || e.Code != badge.CodeOfGroup {
			t.Errorf("delete at the project: %v", err)
		}
		if _, err := w.badges.Find(ctx, w.owner, w.group, own.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("the project's at the group: %v", err)
		}
		if err := w.badges.Delete(ctx, w.guest, w.in(w.guest), own.ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a guest deletes: %v", err)
		}
		if err := w.badges.Delete(ctx, w.owner, w.group, of.ID); err != nil {
			t.Error(err)
		}
		if got := names(w.in(w.owner), ""); got != "own of project" {
			t.Errorf("left: %q", got)
		}
	})
}
