package limit_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
)

// desk is the service over settings of its own, with a clock that stands until it is moved.
type desk struct {
	*limit.Service
	t        *testing.T
	settings *setting.Store
	at       atomic.Int64
	refused  sync.Map // by class: how often
}

func newDesk(t *testing.T, d *db.DB) *desk {
	t.Helper()
	k := &desk{t: t}
	k.at.Store(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).UnixNano())
	k.settings = setting.New(d, k.now)
	k.Service = limit.New(limit.Deps{Settings: k.settings, Now: k.now, Refused: func(class string) {
		n, _ := k.refused.LoadOrStore(class, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
	}})
	return k
}

func (k *desk) now() time.Time       { return time.Unix(0, k.at.Load()).UTC() }
func (k *desk) pass(d time.Duration) { k.at.Add(int64(d)) }

func (k *desk) set(name string, value any) {
	k.t.Helper()
	if err := k.settings.Set(k.t.Context(), name, value); err != nil {
		k.t.Fatal(err)
	}
}

var (
	ann     = authz.Actor{UserID: 2, Username: "ann", Address: "192.0.2.1"}
	bob     = authz.Actor{UserID: 3, Username: "bob", Address: "192.0.2.1"}
	root    = authz.Actor{UserID: 1, Username: "root", Admin: true, Address: "192.0.2.1"}
	nobody  = authz.Actor{Address: "192.0.2.1"}
	another = authz.Actor{Address: "192.0.2.2"}
	token   = authz.Actor{Deploy: authz.Deploy{TokenID: 2}, Address: "192.0.2.1"}
)

func TestService_Check(t *testing.T) {
	t.Parallel()
	const standard = ""
	for _, c := range []struct {
		name    string
		class   limit.Class
		setting string // "" where none changes it
		most    int
		every   time.Duration
		who     authz.Actor
		other   authz.Actor // has counters of its own
		text    string
		in      bool // what is asked for counts
	}{
		{"notes", limit.NotesCreate, "notes_create_limit", 300, time.Minute, ann, bob, standard, false},
		{"issues", limit.IssuesCreate, "issues_create_limit", 300, time.Minute, ann, bob, standard, false},
		{"search", limit.Search, "search_rate_limit", 30, time.Minute, ann, bob, standard, false},
		{"search by nobody", limit.Search, "search_rate_limit_unauthenticated", 10, time.Minute, nobody, another, standard, false},
		{"users by id", limit.UsersByID, "users_get_by_id_limit", 300, 10 * time.Minute, ann, bob, standard, false},
		{"projects", limit.ProjectsList, "projects_api_rate_limit_unauthenticated", 400, 10 * time.Minute, nobody, another, standard, false},
		{"followers", limit.UserFollowers, "users_api_limit_followers", 100, time.Minute, ann, nobody, standard, false},
		{"following", limit.UserFollowing, "users_api_limit_following", 100, time.Minute, nobody, ann, standard, false},
		{"status", limit.UserStatus, "users_api_limit_status", 240, time.Minute, ann, bob, standard, false},
		{"SSH keys", limit.UserSSHKeys, "users_api_limit_ssh_keys", 120, time.Minute, ann, bob, standard, false},
		{"SSH key", limit.UserSSHKey, "users_api_limit_ssh_key", 120, time.Minute, ann, bob, standard, false},
		{"GPG keys", limit.UserGPGKeys, "users_api_limit_gpg_keys", 120, time.Minute, ann, bob, standard, false},
		{"GPG key", limit.UserGPGKey, "users_api_limit_gpg_key", 120, time.Minute, ann, bob, standard, false},
		{"imports", limit.ProjectImport, "project_import_limit", 6, time.Minute, ann, bob, standard, false},
		{"large commits", limit.LargeCommits, "large_commit_request_limit", 3, 30 * time.Second, ann, bob, standard, false},
		{"archives of nobody", limit.Archive, "archive_request_limit_unauthenticated", 100, time.Minute, nobody, another, "This archive has been requested too many times. Try again later.", true},
		{"changelogs", limit.Changelog, "changelog_request_limit", 5, time.Minute, ann, bob, "This changelog has been requested too many times. Try again later.", true},
		{"members", limit.MembersDelete, "members_delete_limit", 60, time.Minute, ann, bob, standard, true},
		{"raw files", limit.RawBlob, "raw_blob_request_limit", 300, time.Minute, ann, ann, standard, true},
		{"large blobs", limit.LargeBlob, "large_blob_request_limit", 5, time.Minute, ann, ann, standard, true},
		{"addresses of users", limit.UserEmails, "user_email_lookup_limit", 60, time.Minute, ann, bob, standard, false},
		{"projects of a user", limit.UserProjects, "user_projects_api_limit", 300, time.Minute, ann, bob, standard, false},
		{"contributed projects", limit.UserContributed, "user_contributed_projects_api_limit", 100, time.Minute, ann, bob, standard, false},
		{"starred projects", limit.UserStarred, "user_starred_projects_api_limit", 100, time.Minute, ann, bob, standard, false},
		{"a project", limit.ProjectGet, "project_api_limit", 400, time.Minute, ann, bob, standard, false},
		{"members of a project", limit.ProjectMembers, "project_members_api_limit", 200, time.Minute, ann, bob, standard, false},
		{"groups invited to a project", limit.ProjectInvitedGroups, "project_invited_groups_api_limit", 60, time.Minute, ann, bob, standard, false},
		{"groups", limit.GroupsList, "groups_api_limit", 200, time.Minute, ann, bob, standard, false},
		{"a group", limit.GroupGet, "group_api_limit", 400, time.Minute, ann, bob, standard, false},
		{"projects of a group", limit.GroupProjects, "group_projects_api_limit", 600, 10 * time.Minute, ann, bob, standard, false},
		{"shared groups", limit.GroupSharedGroups, "group_shared_groups_api_limit", 60, time.Minute, ann, bob, standard, false},
		{"groups invited to a group", limit.GroupInvitedGroups, "group_invited_groups_api_limit", 60, time.Minute, ann, bob, standard, false},
		{"archived groups", limit.GroupArchive, "group_archive_unarchive_api_limit", 60, time.Minute, ann, bob, standard, false},
		{"commands over SSH", limit.ShellCommands, "gitlab_shell_operation_limit", 600, time.Minute, ann, bob, standard, true},
		{"jobs of a project", limit.ProjectJobs, "project_jobs_api_rate_limit", 600, time.Minute, ann, ann, standard, true},
		{"jobs for runners", limit.JobRequests, "runner_jobs_request_api_limit", 2000, time.Minute, ann, ann, standard, true},
		{"requests about a job", limit.JobEndpoints, "runner_jobs_endpoints_api_limit", 200, time.Minute, ann, ann, standard, true},
		{"logs of a job", limit.JobLogs, "runner_jobs_patch_trace_api_limit", 200, time.Minute, ann, ann, standard, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, dbtest.Open(t, false))
			try := func(as authz.Actor, project int64) error {
				if c.in {
					return k.CheckIn(c.class, as, project, "README.md")
				}
				return k.Check(c.class, as)
			}
			for i := range c.most {
				if err := try(c.who, 7); err != nil {
					t.Fatalf("call %d: %v", i+1, err)
				}
			}
			k.pass(c.every - time.Second)
			err := try(c.who, 7)
			var refusal *errs.Error
			var e *ratelimit.Exceeded
			if !errors.As(err, &refusal) || refusal.Kind != errs.TooMany || refusal.Message != c.text {
				t.Errorf("one too many: got %v", err)
			}
			if !errors.As(err, &e) || e.Limit.Name != string(c.class) || e.After != c.every || e.Observed != c.most+1 || e.Wait != time.Second {
				t.Errorf("one too many: got %+v", e)
			}
			if n, ok := k.refused.Load(string(c.class)); !ok || n.(*atomic.Int64).Load() != 1 {
				t.Errorf("the refusal was not told once")
			}
			if c.other.UserID != c.who.UserID || c.other.Address != c.who.Address {
				if err := try(c.other, 7); err != nil {
					t.Errorf("another caller: %v", err)
				}
			} else if try(bob, 7) == nil {
				t.Error("another caller has a counter of its own")
			}
			if c.in && try(c.who, 8) != nil {
				t.Error("another project is refused")
			}
			if c.setting != "" {
				k.set(c.setting, c.most+10)
				if err := try(c.who, 7); err != nil {
					t.Errorf("with a higher limit: %v", err)
				}
				k.set(c.setting, 1)
				if try(c.who, 7) == nil {
					t.Error("a lower limit is not in force at once")
				}
				k.set(c.setting, 0)
				if err := try(c.who, 7); err != nil {
					t.Errorf("switched off: %v", err)
				}
				k.set(c.setting, c.most)
			}
			k.pass(time.Second)
			if err := try(c.who, 7); err != nil {
				t.Errorf("in the next window: %v", err)
			}
		})
	}
}

func TestService_Check_exempt(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	for _, name := range []string{
		"notes_create_limit", "users_get_by_id_limit", "projects_api_rate_limit_unauthenticated", "archive_request_limit_unauthenticated", "search_rate_limit",
	} {
		k.set(name, 1)
	}
	k.set("notes_create_limit_allowlist", []string{"Ann"})
	for range 3 {
		for what, err := range map[string]error{
			"who is on the list":                k.Check(limit.NotesCreate, ann),
			"an administrator":                  k.Check(limit.UsersByID, root),
			"an auditor":                        k.Check(limit.UsersByID, authz.Actor{UserID: 9, Auditor: true}),
			"lists of projects to users":        k.Check(limit.ProjectsList, ann),
			"archives to users by default":      k.CheckIn(limit.Archive, ann, 7, ""),
			"a class that is not there":         k.Check("no such class", ann),
			"a service that is switched off":    new(limit.Service).Check(limit.NotesCreate, bob),
			"a throttle of one switched off":    asError(new(limit.Service).Throttle(limit.API, bob)),
			"throttles, which are off at first": asError(k.Throttle(limit.API, nobody)),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	k.set("archive_request_limit", 1)
	if a, b := k.CheckIn(limit.Archive, ann, 7, ""), k.CheckIn(limit.Archive, ann, 7, ""); a != nil || b == nil {
		t.Errorf("archives to users where they are limited: %v, %v", a, b)
	}
	// A user, a deploy token and a deploy key with one number, and a group and a project,
	// are not one another.
	for _, as := range []authz.Actor{ann, token, {Deploy: authz.Deploy{KeyID: 2}}} {
		if err := k.Check(limit.Search, as); err != nil {
			t.Errorf("%+v: %v", as, err)
		}
	}
	k.set("members_delete_limit", 1)
	if a, b := k.CheckIn(limit.MembersDelete, ann, 7, ""), k.CheckAt(limit.MembersDelete, ann, authz.Place{Group: true, ID: 7}); a != nil || b != nil {
		t.Errorf("project and group: %v, %v", a, b)
	}
	if k.CheckAt(limit.MembersDelete, ann, authz.Place{Group: true, ID: 7}) == nil {
		t.Error("groups have no limit")
	}
}

func asError(e *ratelimit.Exceeded) error {
	if e == nil {
		return nil
	}
	return e
}

// Of fifty who come at once exactly as many pass as may.
func TestService_Check_parallel(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 20 {
				if k.Check(limit.NotesCreate, ann) == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 300 {
		t.Errorf("%d passed, want 300", passed.Load())
	}
}

func TestService_Throttle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		traffic limit.Traffic
		who     authz.Actor
		other   authz.Actor
		prefix  string // of the settings
		shown   string // in RateLimit-Name
		instead string // counts where this one is off, "" for none
	}{
		{"API, nobody", limit.API, nobody, another, "throttle_unauthenticated_api", "throttle_unauthenticated_api", ""},
		{"API, users", limit.API, ann, bob, "throttle_authenticated_api", "throttle_authenticated_api", ""},
		{"files, nobody", limit.FilesAPI, nobody, another, "throttle_unauthenticated_files_api", "throttle_unauthenticated_files_api", "throttle_unauthenticated_api"},
		{"files, users", limit.FilesAPI, ann, bob, "throttle_authenticated_files_api", "throttle_authenticated_files_api", "throttle_authenticated_api"},
		{"packages, nobody", limit.PackagesAPI, nobody, another, "throttle_unauthenticated_packages_api", "throttle_unauthenticated_packages_api", "throttle_unauthenticated_api"},
		{"packages, users", limit.PackagesAPI, ann, bob, "throttle_authenticated_packages_api", "throttle_authenticated_packages_api", "throttle_authenticated_api"},
		{"pages, nobody", limit.Web, nobody, another, "throttle_unauthenticated", "throttle_unauthenticated_web", ""},
		{"pages, users", limit.Web, ann, token, "throttle_authenticated_web", "throttle_authenticated_web", ""},
		{"git, nobody", limit.GitHTTP, nobody, another, "throttle_unauthenticated_git_http", "throttle_unauthenticated_git_http", "throttle_unauthenticated_web"},
		{"git, tokens", limit.GitHTTP, token, ann, "throttle_authenticated_git_http", "throttle_authenticated_git_http", "throttle_authenticated_web"},
		{"large files, users", limit.GitLFS, ann, bob, "throttle_authenticated_git_lfs", "throttle_authenticated_git_lfs", "throttle_authenticated_git_http"},
		{"deprecated, nobody", limit.DeprecatedAPI, nobody, another, "throttle_unauthenticated_deprecated_api", "throttle_unauthenticated_deprecated_api", "throttle_unauthenticated_api"},
		{"deprecated, users", limit.DeprecatedAPI, ann, bob, "throttle_authenticated_deprecated_api", "throttle_authenticated_deprecated_api", "throttle_authenticated_api"},
		{"protected paths, nobody", limit.ProtectedPath, nobody, another, "throttle_protected_paths", "throttle_protected_paths", "throttle_unauthenticated_web"},
		{"protected paths, users", limit.ProtectedPath, ann, bob, "throttle_protected_paths", "throttle_protected_paths", "throttle_authenticated_web"},
		{"large files, nobody", limit.GitLFS, nobody, another, "throttle_unauthenticated_git_http", "throttle_unauthenticated_git_http", "throttle_unauthenticated_web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, dbtest.Open(t, false))
			for range 5 {
				if e := k.Throttle(c.traffic, c.who); e != nil {
					t.Fatalf("while it is off: %v", e)
				}
			}
			k.set(c.prefix+"_requests_per_period", 3)
			k.set(c.prefix+"_period_in_seconds", 20)
			k.set(c.prefix+"_enabled", true)
			for i := range 3 {
				if e := k.Throttle(c.traffic, c.who); e != nil {
					t.Fatalf("request %d: %v", i+1, e)
				}
			}
			k.pass(5 * time.Second)
			e := k.Throttle(c.traffic, c.who)
			if e == nil || e.Limit.Name != c.shown || e.After != 15*time.Second || e.Observed != 4 || e.Body() != "Retry later\n" {
				t.Fatalf("one too many: %+v", e)
			}
			if e := k.Throttle(c.traffic, c.other); e != nil {
				t.Errorf("another caller: %v", e)
			}
			k.set("rate_limiting_response_text", "Slow down, please")
			if e := k.Throttle(c.traffic, c.who); e == nil || e.Body() != "Slow down, please\n" {
				t.Errorf("with a text of one's own: %+v", e)
			}
			k.set(c.prefix+"_enabled", false)
			if e := k.Throttle(c.traffic, c.who); e != nil {
				t.Errorf("switched off again: %v", e)
			}
			if c.instead == "" {
				return
			}
			prefix := c.instead
			if prefix == "throttle_unauthenticated_web" {
				prefix = "throttle_unauthenticated"
			}
			k.set(prefix+"_requests_per_period", 1)
			k.set(prefix+"_enabled", true)
			if a, b := k.Throttle(c.traffic, c.who), k.Throttle(c.traffic, c.who); a != nil || b == nil || b.Limit.Name != c.instead {
				t.Errorf("without a throttle of its own: %v, %v", a, b)
			}
		})
	}
}

// Thirty failures in three minutes keep a network out for an hour.
func TestService_GitFailed(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	const mallory, sister, neighbour = "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"
	for range 29 {
		k.GitFailed(mallory)
		k.GitFailed("127.0.0.1")
	}
	k.pass(3 * time.Minute)
	k.GitFailed(mallory)
	if k.GitBanned(mallory) {
		t.Error("kept out by failures that are long ago")
	}
	for i := range 29 {
		if k.GitBanned(mallory) {
			t.Fatalf("kept out after %d failures", i+1)
		}
		k.GitFailed([]string{mallory, sister}[i%2])
		k.GitFailed("127.0.0.1")
		k.GitFailed("::1")
	}
	if !k.GitBanned(mallory) || !k.GitBanned(sister) || k.GitBanned(neighbour) || k.GitBanned("127.0.0.1") || k.GitBanned("::1") {
		t.Error("who is kept out is not who failed")
	}
	if err := k.RefuseGit(); !errs.Is(err, errs.Forbidden) {
		t.Errorf("the answer: %v", err)
	}
	k.pass(time.Hour - time.Second)
	if !k.GitBanned(mallory) {
		t.Error("let in too early")
	}
	k.pass(time.Second)
	if k.GitBanned(mallory) {
		t.Error("still kept out after an hour")
	}
	var off limit.Service
	for range 40 {
		off.GitFailed(mallory)
	}
	if off.GitBanned(mallory) {
		t.Error("kept out by a service that is switched off")
	}
}

// A setting says how many failures keep a network out; 0 is none.
func TestService_GitFailed_setting(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	k.set("git_failed_authentication_limit", 2)
	k.GitFailed("192.0.2.1")
	if k.GitBanned("192.0.2.1") {
		t.Error("kept out after one failure")
	}
	if k.GitFailed("192.0.2.1"); !k.GitBanned("192.0.2.1") {
		t.Error("not kept out after two failures")
	}
	k.set("git_failed_authentication_limit", 0)
	for range 100 {
		k.GitFailed("192.0.2.2")
	}
	if k.GitBanned("192.0.2.2") {
		t.Error("kept out where there is no limit")
	}
}

// TestService_CheckAddress refuses users who come from one address too many, whether or not rate limits are on.
func TestService_CheckAddress(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	off := limit.New(limit.Deps{Settings: k.settings, Now: k.now, Off: true})
	for _, s := range []*limit.Service{k.Service, off} {
		k.set("unique_ips_limit_enabled", false)
		from := func(as authz.Actor, address string, want bool) {
			t.Helper()
			as.Address = address
			err, e := s.CheckAddress(as), s.Throttle(limit.API, as)
			if (err == nil) != want || (e == nil) != want {
				t.Errorf("user %d from %s: %v, %v, want %v", as.UserID, address, err, e, want)
			}
			if e != nil && (e.Status() != 403 || !strings.Contains(e.Body(), "too many IP addresses") || !errs.Is(err, errs.Forbidden)) {
				t.Errorf("the refusal: %d %s, %v", e.Status(), e.Body(), err)
			}
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
			from(ann, address, true)
		}
		k.set("unique_ips_limit_per_user", 2)
		k.set("unique_ips_limit_time_window", 600)
		k.set("unique_ips_limit_enabled", true)
		from(ann, "192.0.2.1", true)
		from(ann, "2001:db8::1", true)
		from(ann, "192.0.2.3", false)
		from(ann, "192.0.2.1", true)
		from(ann, "2001:db8::2", true) // of the same network
		from(bob, "192.0.2.3", true)
		from(nobody, "192.0.2.9", true)
		from(authz.Actor{UserID: ann.UserID, Job: authz.JobCredential{ID: 7}}, "192.0.2.9", true)
		k.pass(599 * time.Second)
		from(ann, "192.0.2.1", true)
		from(ann, "192.0.2.3", false)
		k.pass(time.Second)
		from(ann, "192.0.2.3", true) // the other network is forgotten
		from(ann, "2001:db8::1", false)
		k.pass(time.Hour)
	}
}

// Lists of projects are counted by another name for callers who are known.
func TestService_Check_known(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.Open(t, false))
	k.set("projects_api_limit", 1)
	for _, c := range []struct {
		as   authz.Actor
		want string
	}{{ann, "projects_api"}, {nobody, ""}} {
		_ = k.Check(limit.ProjectsList, c.as)
		got := ""
		if e, ok := errors.AsType[*ratelimit.Exceeded](k.Check(limit.ProjectsList, c.as)); ok {
			got = e.Limit.Name
		}
		if got != c.want {
			t.Errorf("user %d: limit %q, want %q", c.as.UserID, got, c.want)
		}
	}
}
