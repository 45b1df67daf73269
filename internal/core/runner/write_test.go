package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// refusal is what a client reads of an error, with its kind.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	return errs.KindOf(err).String() + ": " + err.Error()
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		var heard []runner.Updated
		event.On(w.Bus, "test", func(_ context.Context, e runner.Updated) error { heard = append(heard, e); return nil })
		instance, _ := w.row(runner.InstanceType, nil)
		group, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.group})
		own, _ := w.row(runner.ProjectType, nil, w.top)
		yes := true
		for _, tt := range []struct {
			name string
			as   authz.Actor
			r    *runner.Runner
			want string
		}{
			{"administrator", w.admin, instance, ""},
			{"owner", w.owner, instance, "forbidden: No access granted"},
			{"owner", w.owner, group, ""},
			{"maintainer", w.maintainer, group, "forbidden: No access granted"},
			{"maintainer", w.maintainer, own, ""},
			{"developer", w.developer, own, "forbidden: No access granted"},
			{"anonymous", authz.Actor{}, own, "unauthorized: unauthorized"},
		} {
			if _, err := w.runners.Update(ctx, tt.as, tt.r.ID, runner.Changes{Paused: &yes}); refusal(err) != tt.want {
				t.Errorf("%s pauses runner %d: %q, want %q", tt.name, tt.r.ID, refusal(err), tt.want)
			}
		}
		if len(heard) != 3 || !heard[2].After.Paused || heard[2].Before.Paused {
			t.Errorf("events: %+v", heard)
		}
		no, tags, short, long := false, []string{" b ", "a", "b", ""}, int64(599), strings.Repeat("x", 1025)
		r, err := w.runners.Update(ctx, w.maintainer, own.ID, runner.Changes{Tags: &tags, RunUntagged: &no, Protected: &yes})
		if err != nil || !slices.Equal(r.Tags(), []string{"b", "a"}) || r.RunUntagged || r.AccessLevel() != "ref_protected" {
			t.Errorf("update: %+v, %v", r, err)
		}
		many := make([]string, 51)
		for i := range many {
			many[i] = fmt.Sprint("tag", i)
		}
		for want, c := range map[string]runner.Changes{
			"invalid: maximum_timeout needs to be at least 10 minutes":                             {Timeout: &runner.Timeout{Seconds: &short}},
			"invalid: tags_list can not be empty when runner is not allowed to pick untagged jobs": {Tags: &[]string{}},
			"invalid: tags_list Too many tags specified. Please limit the number of tags to 50":    {Tags: &many},
			"invalid: tags_list has a tag that is too long (maximum is 255 characters)":            {Tags: &[]string{long}},
			"invalid: description is too long (maximum is 1024 characters)":                        {Description: &long},
			"invalid: maintenance_note is too long (maximum is 1024 characters)":                   {MaintenanceNote: &long},
		} {
			if _, err := w.runners.Update(ctx, w.maintainer, own.ID, c); refusal(err) != want {
				t.Errorf("got %q, want %q", refusal(err), want)
			}
		}
		if _, err := w.runners.Update(ctx, w.admin, 9999, runner.Changes{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a runner that is not there: %v", err)
		}
		old := w.maintainer
		old.UnmodifiedSince = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, err := w.runners.Update(ctx, old, own.ID, runner.Changes{Paused: &no}); !errs.Is(err, errs.PreconditionFailed) {
			t.Errorf("with a condition: %v", err)
		}
	})
}

func TestService_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		shared, _ := w.row(runner.ProjectType, nil, w.top, w.else_)
		own, token := w.row(runner.ProjectType, nil, w.top)
		if err := w.runners.Delete(ctx, w.stranger, own.ID); refusal(err) != "forbidden: No access granted" {
			t.Errorf("stranger: %v", err)
		}
		if err := w.runners.Delete(ctx, w.maintainer, shared.ID); refusal(err) != "forbidden: Runner associated with more than one project" {
			t.Errorf("one of two projects: %v", err)
		}
		if err := w.runners.Delete(ctx, w.maintainer, own.ID); err != nil {
			t.Error(err)
		}
		if _, err := w.runners.Authenticate(ctx, token); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the token of a deleted runner: %v", err)
		}
		if err := w.runners.Delete(ctx, w.admin, shared.ID); err != nil {
			t.Error(err)
		}
	})
}

// An attacker who maintains a project of his own could attach runners of others to it, or take
// them away from theirs, if one end alone were checked.
func TestService_Assign(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		w.Join(w.else_, w.stranger, authz.Maintainer)
		w.Join(w.else_, w.maintainer, authz.Maintainer)
		r, _ := w.row(runner.ProjectType, nil, w.top)
		locked, _ := w.row(runner.ProjectType, coretest.Row{"locked": true}, w.top)
		group, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.group})
		instance, _ := w.row(runner.InstanceType, nil)
		to := w.Find(w.admin, w.else_)
		to.LevelKnown = false // one project for all
		for _, tt := range []struct {
			name string
			as   authz.Actor
			id   runner.ID
			want string
		}{
			{"a runner of others", w.stranger, r.ID, "forbidden: No access granted"},
			{"a project of others", w.owner, r.ID, "forbidden: forbidden"},
			{"a locked one", w.maintainer, locked.ID, "forbidden: Runner is locked"},
			{"one of a group", w.maintainer, group.ID, "forbidden: Runner is a group runner"},
			{"one of the instance", w.maintainer, instance.ID, "forbidden: No access granted"},
			{"one of the instance", w.admin, instance.ID, "forbidden: Runner is an instance runner"},
			{"one that is not there", w.maintainer, 9999, "not found: Runner not found"},
			{"both ends", w.maintainer, r.ID, ""},
			{"again", w.maintainer, r.ID, "invalid: runner_id has already been taken"},
			{"a locked one by an administrator", w.admin, locked.ID, ""},
		} {
			if _, err := w.runners.Assign(ctx, tt.as, to, tt.id); refusal(err) != tt.want {
				t.Errorf("assign %s: %q, want %q", tt.name, refusal(err), tt.want)
			}
		}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			id   runner.ID
			want string
		}{
			{"a project of others", w.developer, r.ID, "forbidden: forbidden"},
			{"a locked one", w.maintainer, locked.ID, "forbidden: Runner is locked"},
			{"one that is not there", w.stranger, 9999, "not found: Runner not found"},
			{"one of its own", w.stranger, r.ID, ""},
			{"again", w.stranger, r.ID, "not found: Runner not found"},
		} {
			if err := w.runners.Unassign(ctx, tt.as, to, tt.id); refusal(err) != tt.want {
				t.Errorf("unassign %s: %q, want %q", tt.name, refusal(err), tt.want)
			}
		}
		const last = "forbidden: Only one project associated with the runner. Please remove the runner instead"
		if err := w.runners.Unassign(ctx, w.admin, w.Find(w.admin, w.top), r.ID); refusal(err) != last {
			t.Errorf("the last project: %v", err)
		}
	})
}

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		all := map[runner.ID]string{}
		put := func(name string, kind runner.Type, row coretest.Row, projects ...int) {
			r, _ := w.row(kind, row)
			for _, p := range projects {
				w.Insert("runner_projects", coretest.Row{"runner_id": r.ID, "project_id": p})
			}
			all[r.ID] = name
		}
		now := w.now()
		put("instance", runner.InstanceType, coretest.Row{"contacted_at": now.Add(-time.Minute), "version": "16.0.2"})
		put("paused", runner.InstanceType, coretest.Row{"paused": true, "contacted_at": now.Add(-3 * time.Hour), "version": "15.9"})
		put("stale", runner.InstanceType, coretest.Row{"created_at": now.AddDate(-1, 0, 0)})
		put("group", runner.GroupType, coretest.Row{"namespace_id": w.group})
		put("below", runner.GroupType, coretest.Row{"namespace_id": w.below})
		put("top", runner.ProjectType, nil, int(w.top))
		put("else", runner.ProjectType, nil, int(w.else_))
		for id, name := range all {
			for _, tag := range map[string][]string{"instance": {"linux", "arm"}, "paused": {"linux"}}[name] {
				w.tag(id, tag)
			}
		}
		names := func(list page.Page[runner.Runner], err error) string {
			if err != nil {
				return refusal(err)
			}
			var out []string
			for _, r := range list.Items {
				out = append(out, all[r.ID])
			}
			return strings.Join(out, " ")
		}
		no := false
		for _, tt := range []struct {
			f    runner.Filter
			want string
		}{
			{runner.Filter{}, "instance paused stale group below top else"},
			{runner.Filter{Type: runner.GroupType}, "group below"},
			{runner.Filter{Status: "online"}, "instance"},
			{runner.Filter{Status: "offline"}, "paused"},
			{runner.Filter{Status: "stale"}, "stale"},
			{runner.Filter{Status: "never_contacted"}, "stale group below top else"},
			{runner.Filter{Status: "paused"}, "paused"},
			{runner.Filter{Paused: &no, Type: runner.InstanceType}, "instance stale"},
			{runner.Filter{Scope: "shared"}, "instance paused stale"},
			{runner.Filter{Scope: "specific"}, "group below top else"},
			{runner.Filter{Scope: "other"}, "invalid: Scope contains invalid value"},
			{runner.Filter{Tags: []string{"linux"}}, "instance paused"},
			{runner.Filter{Tags: []string{"linux", "arm"}}, "instance"},
			{runner.Filter{Version: "16."}, "instance"},
			{runner.Filter{Version: "%"}, ""},
		} {
			tt.f.Range = page.Range{Limit: 20}
			if got := names(w.runners.ListAll(ctx, w.admin, tt.f)); got != tt.want {
				t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
			}
		}
		f := runner.Filter{Range: page.Range{Limit: 20}}
		if got := names(w.runners.ListAll(ctx, w.owner, f)); got != "forbidden: forbidden" {
			t.Errorf("all, to a user: %q", got)
		}
		for as, want := range map[*authz.Actor]string{
			&w.owner: "group below top", &w.maintainer: "top", &w.developer: "", &w.admin: "", &w.stranger: "",
		} {
			if got := names(w.runners.List(ctx, *as, f)); got != want {
				t.Errorf("of %s: %q, want %q", as.Username, got, want)
			}
		}
		if got := names(w.runners.List(ctx, w.owner, runner.Filter{Scope: "shared"})); got != "invalid: Scope contains invalid value" {
			t.Errorf("a scope of another list: %q", got)
		}
		sub, top := w.Find(w.owner, w.sub), w.Find(w.maintainer, w.top)
		if got := names(w.runners.ListOf(ctx, w.owner, sub.Place(), f)); got != "instance paused stale group below" {
			t.Errorf("of a project: %q", got)
		}
		if got := names(w.runners.ListOf(ctx, w.maintainer, top.Place(), f)); got != "instance paused stale group top" {
			t.Errorf("of another project: %q", got)
		}
		if got := names(w.runners.ListOf(ctx, w.developer, w.Find(w.developer, w.top).Place(), f)); got != "forbidden: forbidden" {
			t.Errorf("to a developer: %q", got)
		}
	})
}

func TestService_Register(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		p, g := w.Find(w.maintainer, w.top).Place(), w.groupPlace(w.owner, w.group)
		p.Subject.Known, g.Subject.Known = false, false // one place for all
		places := []authz.Place{p, g}
		tokens, err := w.runners.RegistrationTokens(ctx, w.maintainer, places)
		if err != nil || len(tokens) != 1 || !strings.HasPrefix(tokens[p.Namespace], "GR1348941") || len(tokens[p.Namespace]) != 29 {
			t.Fatalf("to a maintainer of the project: %v, %v", tokens, err)
		}
		again, err := w.runners.RegistrationTokens(ctx, w.owner, places)
		if err != nil || len(again) != 2 || again[p.Namespace] != tokens[p.Namespace] {
			t.Fatalf("to the owner of the group: %v, %v", again, err)
		}
		reads := w.maintainer
		reads.Scopes = authz.Scopes{authz.ScopeReadAPI}
		if got, err := w.runners.RegistrationTokens(ctx, reads, places); err != nil || len(got) != 0 {
			t.Errorf("to a token that reads: %v, %v", got, err)
		}
		for _, as := range []authz.Actor{w.developer, w.stranger, {}} {
			if got, err := w.runners.RegistrationTokens(ctx, as, places); err != nil || len(got) != 0 {
				t.Errorf("to %q: %v, %v", as.Username, got, err)
			}
		}
		kept, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM registration_tokens WHERE sealed LIKE ? OR digest = ?", "%"+tokens[p.Namespace]+"%", tokens[p.Namespace])
		if err != nil || kept != 0 {
			t.Errorf("%d tokens are readable, %v", kept, err)
		}
		version, text := "16.0.2", "mine"
		r, token, err := w.runners.Register(ctx, authz.Actor{Address: "127.0.0.3"}, runner.Registration{
			Token: tokens[p.Namespace], Info: runner.Info{Version: &version}, Address: "127.0.0.3", Changes: runner.Changes{Description: &text, Tags: &[]string{"x"}},
		})
		if err != nil || r.Type != runner.ProjectType || len(token) != 20 || r.TokenExpiresAt != nil || r.ContactedAt != nil || *r.Version != version {
			t.Fatalf("register: %+v, %q, %v", r, token, err)
		}
		if found, err := w.runners.Verify(ctx, token, "s_1", "127.0.0.3"); err != nil || found.ID != r.ID || found.ContactedAt == nil {
			t.Errorf("verify: %+v, %v", found, err)
		}
		of, _, err := w.runners.Register(ctx, authz.Actor{}, runner.Registration{Token: again[g.Namespace]})
		if err != nil || of.Type != runner.GroupType || *of.NamespaceID != w.group || !of.RunUntagged {
			t.Errorf("register for a group: %+v, %v", of, err)
		}
		if _, err := w.runners.ResetRegistration(ctx, w.owner, authz.Place{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("reset of the instance by a user: %v", err)
		}
		whole, err := w.runners.ResetRegistration(ctx, w.admin, authz.Place{})
		if err != nil || len(whole) != 20 {
			t.Fatalf("reset of the instance: got %q, %v, want 20 characters without a prefix", whole, err)
		}
		if in, _, err := w.runners.Register(ctx, authz.Actor{}, runner.Registration{Token: whole}); err != nil || in.Type != runner.InstanceType {
			t.Errorf("register for the instance: %+v, %v", in, err)
		}
		fresh, err := w.runners.ResetRegistration(ctx, w.maintainer, p)
		if err != nil || fresh == tokens[p.Namespace] {
			t.Errorf("reset: %q, %v", fresh, err)
		}
		for name, bad := range map[string]string{"former": tokens[p.Namespace], "none": "", "unknown": "GR1348941aaaaaaaaaaaaaaaaaaaa"} {
			if _, _, err := w.runners.Register(ctx, authz.Actor{}, runner.Registration{Token: bad}); refusal(err) != "forbidden: invalid token supplied" {
				t.Errorf("%s token: %v", name, err)
			}
		}
		w.set("valid_runner_registrars", `["group"]`)
		if _, _, err := w.runners.Register(ctx, authz.Actor{}, runner.Registration{Token: fresh}); refusal(err) != "forbidden: invalid token supplied" {
			t.Errorf("a kind of place that registers none: %v", err)
		}
		w.set("allow_runner_registration_token", "false")
		if _, _, err := w.runners.Register(ctx, authz.Actor{}, runner.Registration{Token: whole}); refusal(err) != "forbidden: runner registration disallowed" {
			t.Errorf("with the setting off: %v", err)
		}
	})
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		no := false
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   runner.Input
			want string
		}{
			{"administrator", w.admin, runner.Input{Type: runner.InstanceType}, ""},
			{"user", w.owner, runner.Input{Type: runner.InstanceType}, "forbidden: Insufficient permissions"},
			{"owner", w.owner, runner.Input{Type: runner.GroupType, GroupID: w.group}, ""},
			{"hidden group", w.stranger, runner.Input{Type: runner.GroupType, GroupID: w.group}, "bad request: Missing/invalid group"},
			{"public group", w.stranger, runner.Input{Type: runner.GroupType, GroupID: w.other}, "forbidden: Insufficient permissions"},
			{"maintainer", w.maintainer, runner.Input{Type: runner.ProjectType, ProjectID: int64(w.top)}, ""},
			{"developer", w.developer, runner.Input{Type: runner.ProjectType, ProjectID: int64(w.top)}, "forbidden: Insufficient permissions"},
			{"no project", w.maintainer, runner.Input{Type: runner.ProjectType, ProjectID: 9999}, "bad request: Missing/invalid project"},
			{"no tags", w.admin, runner.Input{Type: runner.InstanceType, Changes: runner.Changes{RunUntagged: &no}}, "bad request: Tags list can not be empty when runner is not allowed to pick untagged jobs"},
			{"anonymous", authz.Actor{}, runner.Input{Type: runner.InstanceType}, "unauthorized: unauthorized"},
		} {
			r, token, err := w.runners.Create(ctx, tt.as, tt.in)
			if refusal(err) != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, refusal(err), tt.want)
			}
			if err == nil && (len(token) != 25 || !strings.HasPrefix(token, "glrt-") || *r.CreatorID != tt.as.UserID) {
				t.Errorf("%s: %+v, %q", tt.name, r, token)
			}
		}
	})
}

func TestService_ResetToken(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		r, old := w.row(runner.ProjectType, nil, w.top)
		if _, _, err := w.runners.ResetToken(ctx, w.developer, r.ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("by a developer: %v", err)
		}
		w.set("project_runner_token_expiration_interval", "7200")
		_, next, err := w.runners.ResetToken(ctx, w.maintainer, r.ID)
		if err != nil || next == old || !strings.HasPrefix(next, "glrt-") {
			t.Fatalf("reset: %q, %v", next, err)
		}
		if _, err := w.runners.Authenticate(ctx, old); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the former token: %v", err)
		}
		got, last, err := w.runners.ResetOwnToken(ctx, authz.Actor{}, next)
		if err != nil || last == next || got.TokenExpiresAt == nil || got.TokenExpiresAt.Sub(w.now()) > 2*time.Hour {
			t.Fatalf("by the program: %+v, %q, %v", got, last, err)
		}
		if _, _, err := w.runners.ResetOwnToken(ctx, authz.Actor{}, next); !errs.Is(err, errs.Forbidden) {
			t.Errorf("by the program with the former token: %v", err)
		}
		if _, err := w.runners.Verify(ctx, last, "s_1", ""); err != nil {
			t.Fatal(err)
		}
		list, err := w.runners.Managers(ctx, w.maintainer, r.ID, page.Range{Limit: 20})
		if err != nil || len(list.Items) != 1 || list.Items[0].SystemID != "s_1" {
			t.Errorf("managers: %+v, %v", list.Items, err)
		}
		if err := w.runners.DeleteManager(ctx, last, "s_2"); !errs.Is(err, errs.NotFound) {
			t.Errorf("a machine that is not there: %v", err)
		}
		if err := w.runners.DeleteManager(ctx, last, "s_1"); err != nil {
			t.Error(err)
		}
		if err := w.runners.DeleteManager(ctx, next, "s_1"); !errs.Is(err, errs.Forbidden) {
			t.Errorf("with a former token: %v", err)
		}
		if err := w.runners.Unregister(ctx, authz.Actor{}, next); !errs.Is(err, errs.Forbidden) {
			t.Errorf("unregister with a former token: %v", err)
		}
		if err := w.runners.Unregister(ctx, authz.Actor{}, last); err != nil {
			t.Error(err)
		}
		if _, err := w.runners.Find(ctx, w.admin, r.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("after it was unregistered: %v", err)
		}
	})
}

// The maintenance note is for those who may update a runner, and a runner's projects are for
// those who belong to them.
func TestService_View(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		note := coretest.Row{"maintenance_note": "Rack 7"}
		instance, _ := w.row(runner.InstanceType, note)
		own, _ := w.row(runner.ProjectType, note, w.top, w.else_)
		group, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.group})
		for _, tt := range []struct {
			as       authz.Actor
			r        *runner.Runner
			note     bool
			projects int
		}{
			{w.admin, instance, true, 0}, {w.developer, instance, false, 0}, {w.maintainer, own, true, 1}, {w.admin, own, true, 2},
		} {
			v, err := w.runners.View(ctx, tt.as, tt.r)
			if err != nil || (v.Note != nil) != tt.note || len(v.Projects) != tt.projects || v.Digest != "" {
				t.Errorf("runner %d for %s: %+v, %v", tt.r.ID, tt.as.Username, v, err)
			}
		}
		if v, err := w.runners.View(ctx, w.owner, group); err != nil || v.Group == nil || v.Group.ID != w.group {
			t.Errorf("of a group: %+v, %v", v, err)
		}
		list, err := w.runners.Projects(ctx, w.maintainer, own.ID, page.Range{Limit: 20})
		if err != nil || len(list.Items) != 1 || list.Items[0].ID != w.top {
			t.Errorf("projects: %+v, %v", list.Items, err)
		}
	})
}

func TestService_Subscribe(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		w.runners.Subscribe(w.Bus)
		shared, _ := w.row(runner.ProjectType, nil, w.top, w.else_)
		own, _ := w.row(runner.ProjectType, nil, w.top)
		err := d.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Deleted{Fact: project.Fact{Before: w.Find(w.owner, w.top), Stamp: w.owner.Stamp(w.now())}})
		})
		if err != nil {
			t.Fatal(err)
		}
		all, err := w.runners.Load(ctx, []runner.ID{shared.ID, own.ID})
		if err != nil || all[shared.ID] == nil || all[own.ID] != nil {
			t.Errorf("after the deletion of a project: %v, %v", all, err)
		}
	})
}
