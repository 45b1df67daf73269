package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/project"
)

// TestService_inherit follows the chat of a group into its projects: those that are there, new ones, those that leave, and those that
// have settings of their own.
func TestService_inherit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		top := w.Group("top", authz.Private, 0)
		sub := w.Group("top/sub", authz.Private, top)
		near, far, own := w.Project("top/near", authz.Private, top), w.Project("top/sub/far", authz.Private, sub), w.Project("top/own", authz.Private, top)
		w.Member(top, w.maintainer, authz.Owner)
		ctx, at := t.Context(), func(id project.ID) authz.Place {
			t.Helper()
			p := w.Find(w.maintainer, id)
			p.LevelKnown = false
			return p.Place()
		}
		group := coretest.GroupAt
		chat := func(place authz.Place, room string) {
			t.Helper()
			_, err := w.integrations.Set(ctx, w.maintainer, place, "telegram", integration.Input{
				Settings: kind.Values{"room": room, "token": "token of " + room}, Flags: map[string]bool{"push_events": room != "quiet"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		settle := func() {
			t.Helper()
			if err := w.jobs.Drain(ctx); err != nil {
				t.Fatal(err)
			}
		}
		// room is where messages of a project go, with the token that goes along; "-" for nowhere.
		room := func(id project.ID) string {
			t.Helper()
			i, err := w.integrations.Find(ctx, w.maintainer, at(id), "telegram")
			if err != nil {
				return "-"
			}
			all, err := w.integrations.Opened(i)
			if err != nil {
				t.Fatal(err)
			}
			if all.Text("token") != "token of "+all.Text("room") {
				t.Errorf("the token of %q is %q", all.Text("room"), all.Text("token"))
			}
			return fmt.Sprint(all.Text("room"), map[bool]string{true: " inherited"}[i.InheritedID != nil], map[bool]string{true: " push"}[i.Flags.Push])
		}
		is := func(when string, want ...string) {
			t.Helper()
			if got := strings.Join([]string{room(near), room(far), room(own)}, ", "); got != strings.Join(want, ", ") {
				t.Errorf("%s: got %s, want %s", when, got, strings.Join(want, ", "))
			}
		}

		chat(at(own), "mine")
		chat(group(top, authz.Private), "all")
		is("before the job", "-", "-", "mine push")
		settle()
		is("the group has a chat", "all inherited push", "all inherited push", "mine push")

		chat(group(top, authz.Private), "quiet")
		settle()
		is("the group changes it", "quiet inherited", "quiet inherited", "mine push")

		chat(group(sub, authz.Private), "sub")
		settle()
		is("the subgroup has its own", "quiet inherited", "sub inherited push", "mine push")

		if _, err := w.integrations.Set(ctx, w.maintainer, at(own), "telegram", integration.Input{Inherit: true}); err != nil {
			t.Fatal(err)
		}
		chat(at(near), "near")
		settle()
		is("one project inherits, another does not any more", "near push", "sub inherited push", "quiet inherited")

		_, err := w.integrations.Set(ctx, w.maintainer, at(own), "jira", integration.Input{Inherit: true})
		if err == nil || err.Error() != "Default integration not found." {
			t.Errorf("nothing to inherit: %v", err)
		}
		if _, err := w.integrations.Set(ctx, w.maintainer, group(top, authz.Private), "jenkins", integration.Input{}); err == nil {
			t.Error("a group has a kind that is for projects alone")
		}

		late := w.Project("top/late", authz.Private, top)
		p := at(late)
		if err := d.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Created{Fact: change.Created(w.maintainer, w.Now(), p, w.Find(w.maintainer, late))})
		}); err != nil {
			t.Fatal(err)
		}
		settle()
		if got := room(late); got != "quiet inherited" {
			t.Errorf("a new project: %s", got)
		}

		// A project that leaves keeps neither the settings nor the secrets of the group.
		if _, err := d.Exec(ctx, "DELETE FROM namespace_ancestors WHERE namespace_id = ? AND ancestor_id = ?", p.Namespace, top); err != nil {
			t.Fatal(err)
		}
		w.Join(late, w.maintainer, authz.Maintainer)
		if err := d.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Transferred{Fact: change.About(w.maintainer, w.Now(), p, w.Find(w.maintainer, late))})
		}); err != nil {
			t.Fatal(err)
		}
		settle()
		if got := room(late); got != "-" {
			t.Errorf("a project that left the group: %s", got)
		}

		if err := w.integrations.Disable(ctx, w.maintainer, group(sub, authz.Private), "telegram"); err != nil {
			t.Fatal(err)
		}
		if err := w.integrations.Disable(ctx, w.maintainer, group(top, authz.Private), "telegram"); err != nil {
			t.Fatal(err)
		}
		settle()
		is("the groups have none any more", "near push", "-", "-")

		tracker := integration.Input{Settings: kind.Values{"project_url": "https://t.example.com", "issues_url": "https://t.example.com/:id"}}
		if _, err := w.integrations.Set(ctx, w.maintainer, at(near), "youtrack", tracker); err != nil {
			t.Fatal(err)
		}
		if _, err := w.integrations.Set(ctx, w.maintainer, group(top, authz.Private), "clickup", tracker); err != nil {
			t.Fatal(err)
		}
		settle()
		if a, b := w.Find(w.maintainer, near).External().Tracker, w.Find(w.maintainer, far).External().Tracker; a == nil || a.Title != "JetBrains YouTrack" || b == nil || b.Title != "ClickUp" {
			t.Errorf("trackers: %+v and %+v", a, b)
		}
	})
}
