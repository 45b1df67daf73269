package project_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// fixture is the service on one database, with a clock that stands still.
type fixture struct {
	*project.Service
	t        *testing.T
	db       *db.DB
	bus      *event.Bus
	spaces   *namespace.Service
	settings *setting.Store
	accounts *account.Service
	today    time.Time
	admin    authz.Actor

	mu   sync.Mutex
	jobs []job.Args
}

func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, db: d, bus: &event.Bus{}, today: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), admin: authz.System()}
		now := func() time.Time { return f.today }
		policy := authz.New(d, now)
		box, err := secret.NewBox(secret.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		f.settings = setting.New(d, now)
		f.spaces = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: f.bus, Settings: f.settings, Now: now})
		f.accounts = account.New(account.Deps{
			Limits: &limit.Service{}, DB: d, Policy: policy, Bus: f.bus, Settings: f.settings, Places: f.spaces, Now: now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "example.com"}, ""),
		})
		f.Service = project.New(project.Deps{
			Limits: &limit.Service{},
			DB:     d, Policy: policy, Bus: f.bus, Accounts: f.accounts, Namespaces: f.spaces, Settings: f.settings, Now: now,
			Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.jobs = append(f.jobs, args)
				return nil
			}),
			Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{} }}, Box: box,
			Imports: project.ImportCaps{Running: 3, PerUser: 2},
		})
		f.Connect(coretest.Above(project.Above{}))
		fn(t, f)
	})
}

func (f *fixture) user(name string, limit int64) authz.Actor {
	f.t.Helper()
	u, err := f.accounts.Create(context.Background(), authz.System(), account.Input{
		Username: name, Name: name, Email: name + "@example.com", ForceRandomPassword: true, ProjectsLimit: &limit,
	})
	if err != nil {
		f.t.Fatalf("create user %s: %v", name, err)
	}
	return u.Actor()
}

func (f *fixture) group(as authz.Actor, path string, v authz.Visibility) *namespace.Group {
	f.t.Helper()
	g, err := f.spaces.Create(context.Background(), as, namespace.GroupInput{
		GroupChanges: namespace.GroupChanges{Name: &path, Path: &path, Visibility: &v},
	})
	if err != nil {
		f.t.Fatalf("create group %s: %v", path, err)
	}
	return g
}

func (f *fixture) project(as authz.Actor, name string, g *namespace.Group, v authz.Visibility) *project.Project {
	f.t.Helper()
	p, err := f.Create(context.Background(), as, input(name, g, v))
	if err != nil {
		f.t.Fatalf("create project %s: %v", name, err)
	}
	return p
}

func input(name string, g *namespace.Group, v authz.Visibility) project.Input {
	in := project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: &name}, Visibility: &v}}
	if g != nil {
		in.NamespaceID = &g.ID
	}
	return in
}

func (f *fixture) add(as authz.Actor, g *namespace.Group, who authz.Actor, level authz.Level) {
	f.t.Helper()
	if _, err := f.spaces.Add(context.Background(), as, g.Place(), namespace.MemberInput{UserID: who.UserID, Level: level}); err != nil {
		f.t.Fatalf("add %s: %v", who.Username, err)
	}
}

func wantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Error() != text {
		t.Errorf("got error %v, want %s: %q", err, kind, text)
	}
}

func ptr[T any](v T) *T { return &v }

func TestService_Find(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		ext := f.user("ext", 10)
		ext.External = true
		g := f.group(ann, "Team", authz.Public)
		secret, inside, open := f.project(ann, "Secret", g, authz.Private), f.project(ann, "Inside", g, authz.Internal), f.project(ann, "Open", g, authz.Public)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			see  []*project.Project
		}{
			{"anonymous", authz.Actor{}, []*project.Project{open}},
			{"external", ext, []*project.Project{open}},
			{"stranger", bob, []*project.Project{inside, open}},
			{"owner", ann, []*project.Project{secret, inside, open}},
			{"administrator", f.admin, []*project.Project{secret, inside, open}},
		} {
			for _, p := range []*project.Project{secret, inside, open} {
				_, err := f.Find(ctx, tt.as, strings.ToUpper(p.FullPath))
				_, err2 := f.Find(ctx, tt.as, fmt.Sprint(p.ID))
				if seen := slices.Contains(tt.see, p); (err == nil) != seen || (err2 == nil) != seen {
					t.Errorf("%s reads %s: %v, %v", tt.name, p.Path, err, err2)
				}
			}
			found, err := f.List(ctx, tt.as, project.Filter{Range: page.Range{Limit: 10}, Asc: true})
			list, total := found.Items, found.Total
			var got []project.ID
			for _, p := range list {
				got = append(got, p.ID)
			}
			var want []project.ID
			for _, p := range tt.see {
				want = append(want, p.ID)
			}
			if err != nil || total != len(want) || !slices.Equal(got, want) {
				t.Errorf("%s lists %v of %d, %v, want %v", tt.name, got, total, err, want)
			}
		}
		for _, ref := range []string{"secret", "0", "-1", "99999999999999999999", "team/", "team//secret", ""} {
			_, err := f.Find(ctx, ann, ref)
			wantError(t, err, errs.NotFound, "Project not found")
		}
		if n := dbtest.Count(t, f.db, func() { _, _ = f.Find(ctx, bob, "team/open") }); n != 1 {
			t.Errorf("Find takes %d statements, want 1", n)
		}
	})
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		_, err := f.Create(ctx, ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("Grüße aus  der Küche!"), Description: ptr("d")}, Topics: &[]string{" a ", "b", "A", ""}}})
		wantError(t, err, errs.Invalid, "name can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces. "+
			"It must start with a letter, digit, emoji, or '_'.")
		p, err := f.Create(ctx, ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("Grüße aus  der Küche")}, Topics: &[]string{" a ", "b", "A", ""}, DefaultBranch: ptr("trunk"), Features: map[string]string{"issues": "private", "pages": "public"}, Settings: project.SettingsChanges{
			PlainSettings: project.PlainSettings{BuildTimeout: ptr(int64(900))},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if p.FullPath != "ann/gru-e-aus-der-kuche" || p.FullName != "ann / Grüße aus  der Küche" || !p.Personal || p.Level != authz.Owner {
			t.Errorf("got %q, %q, personal %v, level %d", p.FullPath, p.FullName, p.Personal, p.Level)
		}
		if !slices.Equal(p.Topics(), []string{"a", "b"}) || p.InitialBranch() != "trunk" || p.DefaultBranch != nil {
			t.Errorf("got topics %v, branches %q and %v", p.Topics(), p.InitialBranch(), p.DefaultBranch)
		}
		if p.IssuesAccess != authz.FeatureMembers || p.Access("pages") != "public" || p.Access("wiki") != "enabled" ||
			p.Settings().BuildTimeout != 900 || !p.Settings().PackagesEnabled {
			t.Errorf("got features %v, %s, settings %+v", p.Features, p.FeaturesJSON, p.Settings())
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob, none := f.user("ann", 10), f.user("bob", 1), f.user("none", 0)
		open, hidden := f.group(ann, "open", authz.Internal), f.group(ann, "hidden", authz.Private)
		f.add(ann, open, bob, authz.Reporter)
		f.project(ann, "Taken", open, authz.Internal)
		f.project(bob, "first", nil, authz.Private)
		path := func(path string) project.Input {
			return project.Input{NamespaceID: &open.ID, Changes: project.Changes{Attributes: project.Attributes{Path: &path, Name: ptr("name")}}}
		}
		const (
			first  = "path can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"
			second = "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
				"nor end with '-', '_', '.', '.git', or '.atom'."
		)
		long := strings.Repeat("ö", 501)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   project.Input
			kind errs.Kind
			want string
		}{
			{"anonymous", authz.Actor{}, input("new-one", open, authz.Private), errs.Unauthorized, "unauthorized"},
			{"reporter", bob, input("new-one", open, authz.Private), errs.Invalid, "namespace is not valid"},
			{"hidden group", bob, input("new-one", hidden, authz.Private), errs.Invalid, "namespace is not valid"},
			{
				"no namespace", bob,
				project.Input{NamespaceID: ptr(namespace.ID(9999)), Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}}},
				errs.Invalid,
				"namespace is not valid",
			},
			{
				"full", bob, input("second", nil, authz.Private), errs.Forbidden,
				"You've reached your limit of 1 projects created. Contact your GitLab administrator.",
			},
			{
				"no room at all", none, input("first", nil, authz.Private), errs.Forbidden,
				"You cannot create projects in your personal namespace. Contact your GitLab administrator.",
			},
			{
				"taken", ann, input("Taken", open, authz.Private), errs.Invalid,
				"project_namespace.name has already been taken, name has already been taken, path has already been taken",
			},
			{"path taken", ann, path("tAKEN"), errs.Invalid, "path has already been taken"},
			{"reserved", ann, path("Blob"), errs.Invalid, "path is a reserved name"},
			{"two dots", ann, path("a..b"), errs.Invalid, "path " + second},
			{"dash", ann, path("-a"), errs.Invalid, first + ", " + second},
			{"git", ann, path("a.git"), errs.Invalid, first + ", " + second},
			{"too open", ann, input("new-one", open, authz.Public), errs.Invalid, "visibility_level public is not allowed in a internal namespace."},
			{
				"bad branch", ann,
				project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}, DefaultBranch: ptr("a..b")}},
				errs.Invalid,
				"default_branch is not a valid branch name",
			},
			{"config path", ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}, Settings: project.SettingsChanges{
				PlainSettings: project.PlainSettings{CIConfigPath: ptr("a/../b")},
			}}}, errs.Invalid, "ci_config_path cannot include leading slash or directory traversal."},
			{"long texts", ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x"), SuggestionCommitMessage: &long, IssueBranchTemplate: &long, MergeCommitTemplate: &long, SquashCommitTemplate: &long}, Settings: project.SettingsChanges{PlainSettings: project.PlainSettings{CIConfigPath: &long, MergeRequestTitleRegex: &long}}}}, errs.Invalid, "ci_config_path is too long (maximum is 255 characters), " +
				"suggestion_commit_message is too long (maximum is 255 characters), issue_branch_template is too long (maximum is 255 characters), " +
				"merge_request_title_regex is too long (maximum is 255 characters), " +
				"merge_commit_template is too long (maximum is 500 characters), squash_commit_template is too long (maximum is 500 characters)"},
			{"clone depth below zero", ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}, Settings: project.SettingsChanges{
				PlainSettings: project.PlainSettings{CIDefaultGitDepth: ptr(int64(-1))},
			}}}, errs.Invalid, "ci_cd_settings.default_git_depth must be greater than or equal to 0"},
			{"clone depth", ann, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}, Settings: project.SettingsChanges{
				PlainSettings: project.PlainSettings{CIDefaultGitDepth: ptr(int64(1001))},
			}}}, errs.Invalid, "ci_cd_settings.default_git_depth must be less than or equal to 1000"},
			{"for somebody else", ann, project.Input{Owner: bob.UserID, Changes: project.Changes{Attributes: project.Attributes{Name: ptr("x")}}}, errs.Forbidden, "forbidden"},
		} {
			_, err := f.Create(t.Context(), tt.as, tt.in)
			t.Run(tt.name, func(t *testing.T) { wantError(t, err, tt.kind, tt.want) })
		}
		p, err := f.Create(t.Context(), f.admin, project.Input{Owner: ann.UserID, Changes: project.Changes{Attributes: project.Attributes{Name: ptr("gift")}}})
		if err != nil || p.FullPath != "ann/gift" || *p.CreatorID != ann.UserID {
			t.Errorf("administrator for somebody: got %+v, %v", p, err)
		}
	})
}

func TestService_Create_race(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann", 10)
		g := f.group(ann, "team", authz.Private)
		results := make([]error, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				in := input(fmt.Sprintf("name %d", i), g, authz.Private)
				in.Path = ptr("same")
				_, results[i] = f.Create(context.Background(), ann, in)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			wantError(t, err, errs.Invalid, "path has already been taken")
		}
		if won != 1 {
			t.Errorf("%d of %d parallel creations won, want 1", won, len(results))
		}
	})
}

// heads is a repository service that knows one branch.
type heads struct{}

func (heads) HasBranch(_ context.Context, _ *project.Project, branch string) (bool, error) {
	return branch == "trunk", nil
}

func (heads) SetHead(_ context.Context, _ *project.Project, branch string) error {
	if branch != "trunk" {
		return errs.Missing("Branch")
	}
	return nil
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		f.Connect(coretest.Above(project.Above{Heads: heads{}}))
		ctx, ann, bob, cat := t.Context(), f.user("ann", 10), f.user("bob", 10), f.user("cat", 10)
		g := f.group(ann, "team", authz.Internal)
		f.add(ann, g, bob, authz.Maintainer)
		f.add(ann, g, cat, authz.Developer)
		p := f.project(ann, "app", g, authz.Internal)
		id := fmt.Sprint(p.ID)

		_, err := f.Update(ctx, cat, id, project.Changes{Attributes: project.Attributes{Description: ptr("x")}})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Update(ctx, bob, id, project.Changes{Visibility: ptr(authz.Private)})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Update(ctx, ann, id, project.Changes{Visibility: ptr(authz.Public)})
		wantError(t, err, errs.Invalid, "visibility_level public is not allowed in a internal namespace.")
		_, err = f.Update(ctx, bob, id, project.Changes{DefaultBranch: ptr("none")})
		wantError(t, err, errs.Invalid, "base Could not change HEAD: branch 'none' does not exist")

		got, err := f.Update(ctx, bob, id, project.Changes{Attributes: project.Attributes{Name: ptr("Renamed"), Path: ptr("renamed"), MergeMethod: ptr("ff"), MergeCommitTemplate: ptr("%{title}")}, DefaultBranch: ptr("trunk"), Features: map[string]string{"wiki": "disabled"}})
		if err != nil {
			t.Fatal(err)
		}
		if got.FullPath != "team/renamed" || got.Name != "Renamed" || *got.DefaultBranch != "trunk" || got.MergeMethod != "ff" ||
			got.Access("wiki") != "disabled" || *got.MergeCommitTemplate != "%{title}" {
			t.Errorf("got %+v", got)
		}
		_, err = f.Find(ctx, cat, "team/app")
		var moved *project.Moved
		if !errors.As(err, &moved) || moved.ID != p.ID || !errs.Is(err, errs.NotFound) {
			t.Errorf("old path: got %v, want that it moved", err)
		}
		if _, err = f.Find(ctx, authz.Actor{}, "team/app"); errors.As(err, &moved) || !errs.Is(err, errs.NotFound) {
			t.Errorf("old path as a stranger: got %v, want nothing but not found", err)
		}

		if _, err := f.Archive(ctx, ann, id); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Update(ctx, bob, id, project.Changes{Attributes: project.Attributes{Description: ptr("x")}}); err != nil || *got.Description != "x" || !got.Archived {
			t.Errorf("edited in the archive: got %+v, %v", got, err)
		}
		_, err = f.Update(ctx, ann, id, project.Changes{DefaultBranch: ptr("main")})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Unarchive(ctx, bob, id)
		wantError(t, err, errs.Forbidden, "forbidden")
		if back, err := f.Unarchive(ctx, ann, id); err != nil || back.Archived {
			t.Errorf("unarchive: got %+v, %v", back, err)
		}
	})
}

// store counts the repositories that were removed.
type store struct{ removed []project.ID }

func (s *store) Create(context.Context, *project.Project, project.CreateOptions) error { return nil }

func (s *store) Remove(_ context.Context, p *project.Project) error {
	s.removed = append(s.removed, p.ID)
	return nil
}

func TestService_Delete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		repos := &store{}
		f.Connect(coretest.Above(project.Above{Repositories: repos}))
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		g := f.group(ann, "team", authz.Internal)
		f.add(ann, g, bob, authz.Maintainer)
		p := f.project(ann, "app", g, authz.Internal)

		wantError(t, f.Mark(ctx, bob, "team/app"), errs.Forbidden, "forbidden")
		if err := f.Mark(ctx, ann, "team/app"); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{"team/app", fmt.Sprint(p.ID)} {
			_, err := f.Find(ctx, ann, ref)
			wantError(t, err, errs.NotFound, "Project not found")
		}
		again := f.project(ann, "app", g, authz.Internal) // name and path are free
		if !slices.Equal(f.jobs, []job.Args{project.Purge{ProjectID: p.ID}}) {
			t.Errorf("jobs: got %v", f.jobs)
		}
		for range 2 {
			if err := f.Purge(ctx, project.Purge{ProjectID: p.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Purge(ctx, project.Purge{ProjectID: again.ID}); err != nil { // not deleted: left alone
			t.Fatal(err)
		}
		if !slices.Equal(repos.removed, []project.ID{p.ID}) {
			t.Errorf("repositories removed: got %v, want %d", repos.removed, p.ID)
		}
		left, err := db.Get[int](ctx, f.db, "SELECT COUNT(*) FROM namespaces WHERE id = ?", p.NamespaceID)
		if err != nil || left != 0 {
			t.Errorf("namespace of the deleted project: %d rows, %v", left, err)
		}

		if err := f.MarkGroup(ctx, ann, "team"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.FindByID(ctx, bob, again.ID); err != nil {
			t.Errorf("project of a marked group: %v", err)
		}
		f.today = f.today.AddDate(0, 0, 7)
		if err := f.PurgeMarked(ctx, project.PurgeMarked{}); err != nil {
			t.Fatal(err)
		}
		if last := f.jobs[len(f.jobs)-1]; last != (project.PurgeGroup{GroupID: g.ID, Marked: true}) {
			t.Fatalf("last job: got %v", last)
		}
		for range 2 {
			if err := f.PurgeGroup(ctx, project.PurgeGroup{GroupID: g.ID, Marked: true}); err != nil {
				t.Fatal(err)
			}
		}
		left, err = db.Get[int](ctx, f.db, "SELECT COUNT(*) FROM namespaces WHERE kind <> 'user'")
		if err != nil || left != 0 {
			t.Errorf("after the group is gone: %d namespaces, %v", left, err)
		}
	})
}

func TestProject_Rested(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ago  time.Duration
		want bool
	}{{0, false}, {59 * time.Second, false}, {time.Minute, true}, {time.Hour, true}} {
		p := project.Project{LastActivityAt: db.At(now.Add(-tt.ago))}
		if got := p.Rested(now); got != tt.want {
			t.Errorf("%s after its last activity: rested = %t, want %t", tt.ago, got, tt.want)
		}
	}
}
