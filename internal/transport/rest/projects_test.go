package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/badge"
	"tenon/internal/core/coretest"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/importexport"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/upload"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// newPlaces is a server with users, groups, members and projects, without repositories.
func newPlaces(t *testing.T, d *db.DB) *people {
	t.Helper()
	p := newPeople(t, d)
	bus := &event.Bus{}
	p.Namespaces = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: p.Policy, Bus: bus, Settings: p.Settings, Attributes: p.Attributes, Now: p.Now})
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	p.Projects = project.New(project.Deps{
		Limits:   &limit.Service{},
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{} }}, Box: box,
		DB: d, Policy: p.Policy, Bus: bus, Accounts: p.Accounts, Attributes: p.Attributes, Namespaces: p.Namespaces,
		Settings: p.Settings, Now: p.Now,
		Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			p.enqueued = append(p.enqueued, args)
			return nil
		}),
	})
	p.Runners = runner.New(runner.Deps{
		Plans: &planlimit.Service{},
		DB:    d, Policy: p.Policy, Bus: bus, Settings: p.Settings, Namespaces: p.Namespaces, Projects: p.Projects, Box: box, Now: p.Now, Log: slog.New(slog.DiscardHandler),
	})
	p.BotTokens = accesstoken.New(accesstoken.Deps{DB: d, Policy: p.Policy, Bus: bus, Accounts: p.Accounts, Tokens: p.Tokens, Namespaces: p.Namespaces, Now: p.Now})
	p.DeployKeys = deploykey.New(deploykey.Deps{DB: d, Policy: p.Policy, Bus: bus, Accounts: p.Accounts, Keys: p.Keys, Projects: p.Projects, Now: p.Now})
	p.LFS = lfs.New(lfs.Deps{DB: d, Policy: p.Policy, Settings: p.Settings, Accounts: p.Accounts, Tokens: p.Tokens, Now: p.Now})
	p.Uploads = upload.New(upload.Deps{DB: d, Policy: p.Policy, Bus: bus, Settings: p.Settings, Projects: p.Projects, Now: p.Now})
	p.Projects.Connect(coretest.Above(project.Above{LargeFiles: p.LFS, Uploads: p.Uploads}))
	p.Add(badge.New(badge.Deps{DB: d, Policy: p.Policy, Now: p.Now, Host: "tenon.example"}))
	p.Add(importexport.New(importexport.Deps{DB: d, Policy: p.Policy, Projects: p.Projects, Namespaces: p.Namespaces, Settings: p.Settings, Now: p.Now}))
	p.kit = api.New(api.Config{
		ExternalURL: "https://tenon.example", Authenticate: (&httpkit.SignOn{Accounts: p.Accounts, Tokens: p.Tokens}).Authenticate, FindUser: (&httpkit.SignOn{Accounts: p.Accounts}).FindUser,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Limits: &limit.Service{},
	}, slices.Concat(p.userRoutes(), p.tokenRoutes(), p.keyRoutes(), p.deployKeyRoutes(), p.groupRoutes(), p.projectRoutes(), p.memberRoutes(), p.billableRoutes(), p.namespaceRoutes(), p.shareRoutes(), p.accessRequestRoutes(),
		p.invitationRoutes(), p.starRoutes(), p.transferRoutes(), p.forkRoutes(), p.placeTokenRoutes(), p.deployTokenRoutes(), p.impersonationTokenRoutes(), p.topicRoutes(), p.templateRoutes(), p.badgeRoutes(), p.attributeRoutes(), p.importRoutes()))
	return p
}

// get sends a request, expects the status and decodes the answer.
func get[T any](p *people, token, method, path, form string, status int) T {
	p.t.Helper()
	var out T
	w, body := p.call(token, method, path, form)
	if w.Code != status {
		p.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, form, w.Code, body, status)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		p.t.Fatalf("%s %s: the client cannot read the answer: %v\n%s", method, path, err, body)
	}
	return out
}

func TestProjects(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=internal", 201)
		if g.WebURL != "https://tenon.example/groups/team" || g.FullPath != "team" || g.DefaultBranchProtectionDefaults == nil {
			t.Errorf("group: got %+v", g)
		}
		app := get[gitlab.Project](p, ann, "POST", "/projects",
			fmt.Sprintf("name=My+App&namespace_id=%d&visibility=internal&topics[]=go&build_timeout=900&wiki_enabled=false"+
				"&container_expiration_policy_attributes[cadence]=7d", g.ID), 201)
		if app.PathWithNamespace != "team/my-app" || app.NameWithNamespace != "Team / My App" || app.Visibility != gitlab.InternalVisibility ||
			app.HTTPURLToRepo != "https://tenon.example/team/my-app.git" || app.SSHURLToRepo != "git@tenon.example:team/my-app.git" ||
			app.WebURL != "https://tenon.example/team/my-app" || app.DefaultBranch != "main" || !app.EmptyRepo ||
			app.WikiAccessLevel != gitlab.DisabledAccessControl || app.BuildTimeout != 900 || !slices.Equal(app.Topics, []string{"go"}) ||
			app.ContainerExpirationPolicy.Cadence != "7d" || app.Links.Self != fmt.Sprintf("https://tenon.example/api/v4/projects/%d", app.ID) ||
			app.Namespace.Kind != "group" || app.Permissions != nil {
			t.Errorf("project: got %+v", app)
		}
		own := get[gitlab.Project](p, ann, "GET", "/projects/team%2FMy-App?license=true&statistics=true", "", 200)
		if own.Permissions == nil || own.Permissions.GroupAccess == nil || own.Permissions.GroupAccess.AccessLevel != gitlab.OwnerPermissions ||
			own.Permissions.ProjectAccess != nil || own.Statistics == nil || own.CIDefaultGitDepth != 20 {
			t.Errorf("as the owner: got %+v", own)
		}
		_, stranger := p.call(bob, "GET", fmt.Sprintf("/projects/%d", app.ID), "")
		if strings.Contains(stranger, "runners_token") || !strings.Contains(stranger, `"permissions":{"project_access":null,"group_access":null}`) {
			t.Errorf("as a stranger: got %s", stranger)
		}
		p.want("", "GET", fmt.Sprintf("/projects/%d", app.ID), "", 404, `{"message":"404 Project Not Found"}`)
		p.want("", "PUT", fmt.Sprintf("/projects/%d", app.ID), "name=x", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "PUT", fmt.Sprintf("/projects/%d", app.ID), "name=x", 403, `{"message":"403 Forbidden"}`)
		for i, form := range []string{"name=&path=only-path", "name=Only+name&path=", `name=++&path=blank-name`} {
			made := get[gitlab.Project](p, ann, "POST", "/projects", form, 201)
			if want := []string{"only-path only-path", "Only name only-name", "blank-name blank-name"}[i]; made.Name+" "+made.Path != want {
				t.Errorf("%s: got %q and %q, want %q", form, made.Name, made.Path, want)
			}
		}
		if w, got := p.call(ann, "POST", "/projects", "name=&path="); w.Code != 400 || !strings.Contains(got, "can't be blank") {
			t.Errorf("without both: got %d %s", w.Code, got)
		}
		p.want(ann, "POST", "/projects", "description=x", 400, `{"error":"name, path are missing, at least one parameter must be provided"}`)
		p.want(ann, "POST", "/projects", "name=x&visibility=open", 400, `{"error":"visibility does not have a valid value"}`)
		p.want(ann, "POST", "/projects", "name=x&namespace_id=999", 400, `{"message":{"namespace":["is not valid"]}}`)
		p.want(ann, "POST", "/projects", fmt.Sprintf("name=My+App&namespace_id=%d", g.ID), 400, `{"message":{"project_namespace.name":`+
			`["has already been taken"],"name":["has already been taken"],"path":["has already been taken"]}}`)

		get[gitlab.Project](p, ann, "PUT", fmt.Sprintf("/projects/%d", app.ID), "path=app&description=words", 200)
		w, body := p.call(ann, "GET", "/projects/team%2Fmy-app?simple=true", "")
		if to := fmt.Sprintf("https://tenon.example/api/v4/projects/%d?simple=true", app.ID); w.Code != 301 || w.Header().Get("Location") != to ||
			body != "This resource has been moved permanently to "+to {
			t.Errorf("old path: got %d, %q, %s", w.Code, w.Header().Get("Location"), body)
		}
		p.want(ann, "PUT", "/projects/team%2Fmy-app", "name=x", 405, `{"message":"Non GET methods are not allowed for moved projects"}`)

		get[gitlab.Project](p, ann, "POST", fmt.Sprintf("/projects/%d/archive", app.ID), "", 201)
		p.want(bob, "DELETE", "/projects/team%2Fapp", "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "DELETE", "/projects/team%2Fapp", "", 202, `{"message":"202 Accepted"}`)
		p.want(ann, "GET", "/projects/team%2Fapp", "", 404, `{"message":"404 Project Not Found"}`)
	})
}

func TestProjects_limit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		id, ann := p.signUp("ann")
		p.call(adminToken, "PUT", fmt.Sprintf("/users/%d", id), "projects_limit=1")
		if _, err := d.Exec(t.Context(), "UPDATE users SET projects_limit = 1 WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		get[gitlab.Project](p, ann, "POST", "/projects", "name=one", 201)
		p.want(ann, "POST", "/projects", "name=two", 403,
			`{"error":["You've reached your limit of 1 projects created. Contact your GitLab administrator."]}`)
	})
}

// TestArtifactsSize writes max_artifacts_size: above what the instance allows it is for administrators, and what they wrote stays when
// others send it again.
func TestArtifactsSize(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		for collection, refused := range map[string]string{
			"/projects": `{"message":{"max_artifacts_size":["must be less than or equal to 100"]}}`,
			"/groups":   `{"message":{"max_artifacts_size":["must be less than or equal to 100"]}}`,
		} {
			id := get[gitlab.Project](p, ann, "POST", collection, "name=one&path=one-of-ann&max_artifacts_size=100", 201).ID
			at := fmt.Sprintf("%s/%d", collection, id)
			p.want(ann, "PUT", at, "max_artifacts_size=101", 400, refused)
			p.want(ann, "PUT", at, "max_artifacts_size=0", 400, strings.ReplaceAll(refused, "less than or equal to 100", "greater than or equal to 1"))
			get[gitlab.Project](p, adminToken, "PUT", at, "max_artifacts_size=500", 200)
			get[gitlab.Project](p, ann, "PUT", at, "max_artifacts_size=500&description=words", 200)
			p.want(ann, "PUT", at, "max_artifacts_size=400", 400, refused)
			if w, body := p.call(ann, "PUT", at, "max_artifacts_size="); w.Code != 200 || !strings.Contains(body, `"max_artifacts_size":null`) {
				t.Errorf("PUT %s without a limit of its own: got %d %s", at, w.Code, body)
			}
			if w, body := p.call(ann, "POST", collection, "name=two&path=two-of-ann&max_artifacts_size=101"); w.Code != 400 {
				t.Errorf("POST %s above the instance's: got %d %s", collection, w.Code, body)
			}
		}
	})
}

func TestProjects_list(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		get[gitlab.Project](p, ann, "POST", "/projects", "name=p0&visibility=public", 201)
		one := dbtest.Count(t, d, func() { p.call(ann, "GET", "/projects", "") })
		var ids []int64
		for i := range 5 {
			made := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=p%d&visibility=public", i+1), 201)
			ids = append(ids, made.ID)
		}
		if many := dbtest.Count(t, d, func() { p.call(ann, "GET", "/projects", "") }); many != one || many > 8 {
			t.Errorf("a list of 6 takes %d statements, of 1 %d", many, one)
		}
		w, _ := p.call(ann, "GET", "/projects?per_page=2", "")
		if w.Header().Get("X-Total") != "6" || w.Header().Get("X-Next-Page") != "2" {
			t.Errorf("headers: got %v", w.Header())
		}
		list := get[[]gitlab.Project](p, ann, "GET", "/projects?pagination=keyset&order_by=id&sort=asc&per_page=2&id_after="+fmt.Sprint(ids[0]), "", 200)
		if len(list) != 2 || list[0].ID != ids[1] || list[1].ID != ids[2] {
			t.Errorf("by keyset: got %+v, want %v", list, ids[1:3])
		}
		w, _ = p.call(ann, "GET", "/projects?pagination=keyset&order_by=id&sort=asc&per_page=2", "")
		if link := w.Header().Get("Link"); !strings.Contains(link, "id_after="+fmt.Sprint(ids[0])) || !strings.HasSuffix(link, `; rel="next"`) || w.Header().Get("X-Total") != "" {
			t.Errorf("keyset link: got %q", link)
		}
		p.want(ann, "GET", "/projects?pagination=keyset", "", 405, `{"error":"Keyset pagination is not yet available for this type of request"}`)
		p.want(ann, "GET", "/projects?updated_after=2026-01-01", "", 400,
			"{\"message\":\"400 Bad request - `updated_at` filter and `updated_at` sorting must be paired\"}")
		_, anonymous := p.call("", "GET", "/projects?per_page=1", "")
		if strings.Contains(anonymous, "_links") || !strings.Contains(anonymous, `"path":"p5"`) {
			t.Errorf("anonymous: got %s", anonymous)
		}
		mine := get[[]gitlab.Project](p, "", "GET", "/users/ANN/projects?per_page=100", "", 200)
		if len(mine) != 6 {
			t.Errorf("projects of a user: got %d", len(mine))
		}
		p.want(ann, "GET", "/users/nobody/projects", "", 404, `{"message":"404 User Not Found"}`)
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		top := get[gitlab.Group](p, ann, "POST", "/groups", "name=Top&path=top&visibility=public&default_branch_protection=1&project_creation_level=maintainer", 201)
		sub := get[gitlab.Group](p, ann, "POST", "/groups", fmt.Sprintf("name=Sub&path=sub&parent_id=%d", top.ID), 201)
		get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=app&namespace_id=%d&visibility=private", sub.ID), 201)
		if sub.FullName != "Top / Sub" || sub.ParentID != top.ID || sub.Visibility != gitlab.PrivateVisibility || top.ProjectCreationLevel != gitlab.MaintainerProjectCreation {
			t.Errorf("groups: got %+v and %+v", top, sub)
		}
		p.want(ann, "POST", "/groups", "name=x", 400, `{"error":"path is missing"}`)
		p.want(ann, "POST", "/groups", "name=Top&path=TOP", 400, `{"message":"Failed to save group {:path=>[\"has already been taken\"]}"}`)
		p.want(bob, "POST", "/groups", fmt.Sprintf("name=x&path=xx&parent_id=%d", top.ID), 403, `{"message":"403 Forbidden"}`)
		p.want(bob, "GET", "/groups/top%2Fsub", "", 404, `{"message":"404 Group Not Found"}`)
		p.want(bob, "PUT", "/groups/top", "name=x", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "GET", "/groups?top_level_only=true", "", 200, `[]`)
		if all := get[[]gitlab.Group](p, bob, "GET", "/groups?all_available=true", "", 200); len(all) != 1 || all[0].ID != top.ID {
			t.Errorf("all available: got %+v", all)
		}
		if below := get[[]gitlab.Group](p, ann, "GET", "/groups/top/descendant_groups", "", 200); len(below) != 1 || below[0].ID != sub.ID {
			t.Errorf("descendants: got %+v", below)
		}
		if list := get[[]gitlab.Project](p, ann, "GET", "/groups/top/projects?include_subgroups=true", "", 200); len(list) != 1 {
			t.Errorf("projects with subgroups: got %+v", list)
		}
		type content struct {
			Projects       []gitlab.Project `json:"projects"`
			SharedProjects []gitlab.Project `json:"shared_projects"`
		}
		if in := get[content](p, ann, "GET", fmt.Sprintf("/groups/%d", sub.ID), "", 200); len(in.Projects) != 1 || in.SharedProjects == nil {
			t.Errorf("projects in the group: got %+v", in)
		}
		changed := get[gitlab.Group](p, ann, "PUT", "/groups/top", "description=words&emails_disabled=true", 200)
		if changed.Description != "words" || changed.EmailsEnabled {
			t.Errorf("changed: got %+v", changed)
		}
		if ns := get[[]gitlab.Namespace](p, ann, "GET", "/namespaces", "", 200); len(ns) != 3 {
			t.Errorf("namespaces: got %+v", ns)
		}
		if ns := get[gitlab.Namespace](p, ann, "GET", "/namespaces/top", "", 200); ns.Kind != "group" || ns.MembersCountWithDescendants != 1 {
			t.Errorf("namespace: got %+v", ns)
		}
		p.want(ann, "GET", "/namespaces/bob", "", 404, `{"message":"404 Namespace Not Found"}`)
		p.want(ann, "GET", "/namespaces/top/exists", "", 200, `{"exists":true,"suggests":["top1"]}`)
		p.want(ann, "GET", "/namespaces/free/exists", "", 200, `{"exists":false,"suggests":[]}`)
		p.want("", "GET", "/namespaces", "", 401, `{"message":"401 Unauthorized"}`)

		p.want(ann, "DELETE", "/groups/top", "", 202, `{"message":"202 Accepted"}`)
		p.want(ann, "GET", "/groups/top", "", 404, `{"message":"404 Group Not Found"}`)
		gone := get[gitlab.Group](p, ann, "GET", fmt.Sprintf("/groups/%d", top.ID), "", 200)
		if gone.MarkedForDeletionOn == nil || gone.Path != fmt.Sprintf("top-deletion_scheduled-%d", top.ID) {
			t.Errorf("marked: got %+v", gone)
		}
		p.want(ann, "DELETE", fmt.Sprintf("/groups/%d", top.ID), "", 400, `{"message":"Group has already been marked for deletion"}`)
		get[gitlab.Group](p, ann, "POST", fmt.Sprintf("/groups/%d/restore", top.ID), "", 201)
		get[gitlab.Group](p, ann, "GET", "/groups/top", "", 200)
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		bobID, bob := p.signUp("bob")
		catID, _ := p.signUp("cat")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		p.want(ann, "PUT", "/groups/team", "two_factor_grace_period=-1", 400,
			`{"message":{"two_factor_grace_period":["must be greater than or equal to 0"]}}`)
		p.want(ann, "PUT", "/groups/team", "default_branch=--help", 400, `{"message":{"default_branch":["is not a valid branch name"]}}`)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=app&namespace_id=%d&visibility=public", g.ID), 201)
		members := fmt.Sprintf("/projects/%d/members", app.ID)
		m := get[gitlab.ProjectMember](p, ann, "POST", members, fmt.Sprintf("user_id=%d&access_level=40&expires_at=2026-12-31", bobID), 201)
		if m.Username != "bob" || m.AccessLevel != gitlab.MaintainerPermissions || m.ExpiresAt.String() != "2026-12-31" || m.CreatedBy.Username != "ann" {
			t.Errorf("member: got %+v", m)
		}
		p.want(ann, "POST", members, "access_level=30", 400, `{"error":"user_id, username are missing, at least one parameter must be provided"}`)
		p.want(ann, "POST", members, "username=bob&access_level=30", 409, `{"message":"Member already exists"}`)
		p.want(ann, "POST", members, "username=cat&access_level=31", 400, `{"message":{"access_level":["is not included in the list"]}}`)
		p.want(ann, "POST", members, "user_id=999&access_level=30", 404, `{"message":"404 User Not Found"}`)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Prefix+members, strings.NewReader(`{"user_id":null,"access_level":30}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Private-Token": {ann}}
		nobody := httptest.NewRecorder()
		if p.kit.ServeHTTP(nobody, r); nobody.Code != http.StatusNotFound || nobody.Body.String() != `{"message":"404 User Not Found"}` {
			t.Errorf("null for a user: got %d %s", nobody.Code, nobody.Body)
		}
		p.want(ann, "POST", members, "access_level=30&user_id=1"+strings.Repeat(",1", 100), 400, `{"message":"Too many users specified (limit is 100)"}`)
		p.want(bob, "POST", members, "username=cat&access_level=50", 400,
			`{"message":"cat: the member access level can't be higher than the current user's one","status":"error"}`)
		p.want(ann, "POST", members, fmt.Sprintf("user_id=%d,%d,999&access_level=20", bobID, catID), 201,
			fmt.Sprintf(`{"status":"error","message":{"%d":"Member already exists","999":"User not found"}}`, bobID))
		if list := get[[]gitlab.ProjectMember](p, bob, "GET", members, "", 200); len(list) != 2 {
			t.Errorf("direct members: got %+v", list)
		}
		if list := get[[]gitlab.ProjectMember](p, "", "GET", members+"/all", "", 200); len(list) != 3 {
			t.Errorf("all members: got %+v", list)
		}
		get[gitlab.ProjectMember](p, bob, "PUT", fmt.Sprintf("%s/%d", members, catID), "access_level=30", 200)
		p.want(bob, "GET", members+"/999", "", 404, `{"message":"404 Not found"}`)
		w, _ := p.call(bob, "DELETE", fmt.Sprintf("%s/%d", members, catID), "")
		if w.Code != http.StatusNoContent {
			t.Errorf("remove: got %d", w.Code)
		}
		get[gitlab.Project](p, bob, "POST", "/projects", "name=own", 201)
		if list := get[[]gitlab.ProjectMember](p, bob, "GET", "/projects/bob%2Fown/members", "", 200); len(list) != 1 || list[0].AccessLevel != gitlab.OwnerPermissions {
			t.Errorf("members of a personal project: got %+v", list)
		}
		p.want(bob, "POST", "/projects/bob%2Fown/members", "username=bob&access_level=50", 409, `{"message":"Member already exists"}`)
		p.want(bob, "DELETE", fmt.Sprintf("/projects/bob%%2Fown/members/%d", bobID), "", 403, `{"message":"403 Forbidden"}`)
		if own := get[gitlab.Project](p, bob, "GET", "/projects/bob%2Fown", "", 200); own.Owner.Username != "bob" ||
			own.Permissions.ProjectAccess.AccessLevel != gitlab.OwnerPermissions || own.Namespace.Kind != "user" {
			t.Errorf("personal project: got %+v", own)
		}
		p.want(bob, "POST", fmt.Sprintf("/groups/%d/members", g.ID), "username=cat&access_level=10", 403, `{"message":"403 Forbidden"}`)
	})
}
