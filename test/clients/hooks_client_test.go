package clients

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// hookReceiver keeps the calls of hooks.
type hookReceiver struct {
	*httptest.Server

	mu   sync.Mutex
	seen []string // path, event, custom header and token of each
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, strings.Join([]string{q.URL.Path, q.Header.Get("X-Gitlab-Event"), q.Header.Get("X-Who"), q.Header.Get("X-Gitlab-Token")}, " "))
	}))
	t.Cleanup(r.Close)
	return r
}

// last returns the newest call, "" for none, and how many there were.
func (r *hookReceiver) last() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		return "", 0
	}
	return r.seen[len(r.seen)-1], len(r.seen)
}

// local lets hooks call this machine.
func (s *story) local(t *testing.T) {
	t.Helper()
	got(s.root.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{AllowLocalRequestsFromWebHooksAndServices: new(true)})).must(t)
}

// eventOf returns the newest event in the log of a hook.
func (s *story) eventOf(t *testing.T, path string) int64 {
	t.Helper()
	list, _ := raw[[]struct {
		ID int64 `json:"id"`
	}](t, s.root, http.MethodGet, path+"/events", nil)
	if len(list) == 0 {
		t.Fatalf("%s has no events", path)
	}
	return list[0].ID
}

// TestHooks manages hooks of a project, a group and the instance with every method of the Go client that writes.
func TestHooks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		s := &story{server: servertest.Start(t, database), began: time.Now()}
		s.root = s.client(t, servertest.RootToken)
		s.local(t)
		rec := newHookReceiver(t)
		said := func(what, want string) {
			t.Helper()
			if is, _ := rec.last(); is != want {
				t.Errorf("%s: called with %q, want %q", what, is, want)
			}
		}
		group := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Team"), Path: new("team")})).must(t).ID
		p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), NamespaceID: &group, InitializeWithReadme: new(true)})).must(t).ID
		header, variable := &gitlab.SetHookCustomHeaderOptions{Value: new("ann")}, new("shop")

		h := got(s.root.Projects.AddProjectHook(p, &gitlab.AddProjectHookOptions{URL: new(rec.URL + "/shop"), Name: new("deploy"), Token: new("planted"), IssuesEvents: new(true)})).must(t)
		if !h.PushEvents || !h.IssuesEvents || h.Name != "deploy" || h.ProjectID != p || h.AlertStatus != "executable" {
			t.Errorf("hook of the project: %+v", h)
		}
		done(s.root.Projects.SetProjectCustomHeader(p, h.ID, "X-Who", header)).must(t)
		done(s.root.Projects.SetProjectWebhookURLVariable(p, h.ID, "who", &gitlab.SetProjectWebhookURLVariableOptions{Value: variable})).must(t)
		edited := got(s.root.Projects.EditProjectHook(p, h.ID, &gitlab.EditProjectHookOptions{URL: new(rec.URL + "/{who}"), Token: new("new"), IssuesEvents: new(false), PushEventsBranchFilter: new("main")})).must(t)
		if edited.IssuesEvents || !edited.PushEvents || edited.URL != rec.URL+"/{who}" || edited.PushEventsBranchFilter != "main" || len(edited.CustomHeaders) != 1 || len(edited.URLVariables) != 1 {
			t.Errorf("edited hook of the project: %+v", edited)
		}
		done(s.root.Projects.TriggerTestProjectHook(p, h.ID, gitlab.ProjectHookEventPush)).must(t)
		said("test of the project's", "/shop Push Hook ann new")
		done(s.root.Projects.DeleteProjectCustomHeader(p, h.ID, "X-Who")).must(t)
		got(s.root.Projects.EditProjectHook(p, h.ID, &gitlab.EditProjectHookOptions{URL: new(rec.URL + "/shop")})).must(t)
		done(s.root.Projects.DeleteProjectWebhookURLVariable(p, h.ID, "who")).must(t)
		if after := got(s.root.Projects.GetProjectHook(p, h.ID)).must(t); len(after.CustomHeaders) != 0 || len(after.URLVariables) != 0 {
			t.Errorf("after header and variable were deleted: %+v", after)
		}
		done(s.root.Projects.DeleteProjectHook(p, h.ID)).must(t)
		if list := got(s.root.Projects.ListProjectHooks(p, nil)).must(t); len(list) != 0 {
			t.Errorf("hooks of the project that are left: %+v", list)
		}

		g := got(s.root.Groups.AddGroupHook(group, &gitlab.AddGroupHookOptions{URL: new(rec.URL + "/shop/group"), SubGroupEvents: new(true)})).must(t)
		done(s.root.Groups.SetGroupCustomHeader(group, g.ID, "X-Who", header)).must(t)
		done(s.root.Groups.SetGroupHookURLVariable(group, g.ID, "who", &gitlab.SetHookURLVariableOptions{Value: variable})).must(t)
		if e := got(s.root.Groups.EditGroupHook(group, g.ID, &gitlab.EditGroupHookOptions{URL: new(rec.URL + "/{who}/group"), Token: new("group"), MemberEvents: new(true)})).must(t); !e.MemberEvents || !e.SubGroupEvents || e.GroupID != group {
			t.Errorf("edited hook of the group: %+v", e)
		}
		done(s.root.Groups.TriggerTestGroupHook(group, g.ID, gitlab.GroupHookTriggerPush)).must(t)
		said("test of the group's", "/shop/group Push Hook ann group")
		_, before := rec.last()
		done(s.root.Groups.ResendGroupHookEvent(group, g.ID, s.eventOf(t, "groups/"+number(group)+"/hooks/"+number(g.ID)))).must(t)
		if _, n := rec.last(); n != before+1 {
			t.Errorf("%d calls after an event was sent again, want %d", n, before+1)
		}
		done(s.root.Groups.DeleteGroupCustomHeader(group, g.ID, "X-Who")).must(t)
		got(s.root.Groups.EditGroupHook(group, g.ID, &gitlab.EditGroupHookOptions{URL: new(rec.URL + "/shop/group")})).must(t)
		done(s.root.Groups.DeleteGroupHookURLVariable(group, g.ID, "who")).must(t)
		if after := got(s.root.Groups.GetGroupHook(group, g.ID)).must(t); len(after.CustomHeaders) != 0 {
			t.Errorf("after the header of the group's was deleted: %+v", after)
		}
		done(s.root.Groups.DeleteGroupHook(group, g.ID)).must(t)
		if list := got(s.root.Groups.ListGroupHooks(group, nil)).must(t); len(list) != 0 {
			t.Errorf("hooks of the group that are left: %+v", list)
		}

		i := got(s.root.SystemHooks.AddHook(&gitlab.AddHookOptions{URL: new(rec.URL + "/all/shop"), PushEvents: new(true), RepositoryUpdateEvents: new(false)})).must(t)
		if !i.PushEvents || i.RepositoryUpdateEvents || !i.EnableSSLVerification {
			t.Errorf("hook of the instance: %+v", i)
		}
		done(s.root.SystemHooks.SetHookURLVariable(i.ID, "who", &gitlab.SetHookURLVariableOptions{Value: variable})).must(t)
		if e := got(s.root.SystemHooks.EditHook(i.ID, &gitlab.EditHookOptions{URL: new(rec.URL + "/all/{who}"), Token: new("all"), TagPushEvents: new(true)})).must(t); !e.TagPushEvents || !e.PushEvents {
			t.Errorf("edited hook of the instance: %+v", e)
		}
		if sample := got(s.root.SystemHooks.TestHook(i.ID)).must(t); sample.EventName != "project_create" || sample.Name != "Ruby" {
			t.Errorf("sample: %+v", sample)
		}
		until(t, "the hook of the instance is called", func() bool { is, _ := rec.last(); return is == "/all/shop System Hook  all" })
		got(s.root.SystemHooks.EditHook(i.ID, &gitlab.EditHookOptions{URL: new(rec.URL + "/all/shop")})).must(t)
		done(s.root.SystemHooks.DeleteHookURLVariable(i.ID, "who")).must(t)
		done(s.root.SystemHooks.DeleteHook(i.ID)).must(t)
		if _, res, err := s.root.SystemHooks.GetHook(i.ID); err == nil || res.StatusCode != http.StatusNotFound {
			t.Errorf("hook of the instance after it was deleted: %v", err)
		}
	})
}

// managed is a resource as Terraform manages it.
type managed struct {
	name   string
	create func(t *testing.T)
	read   func(t *testing.T) any
	apply  func(t *testing.T) // what it was created with
	change func(t *testing.T)
	remove func(t *testing.T)
	absent func(t *testing.T) bool
	source func(page gitlab.ListOptions) (any, *gitlab.Response, error) // what its data source reads; nil where there is none
}

// TestHooks_terraform plays the calls of Terraform's resources and data sources of hooks and integrations, whose provider is not installed here: create, read,
// a plan without changes, update, delete.
func TestHooks_terraform(t *testing.T) {
	s := &story{server: servertest.Start(t, ""), began: time.Now()}
	s.root = s.client(t, servertest.RootToken)
	group := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Team"), Path: new("team")})).must(t).ID
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), NamespaceID: &group})).must(t).ID
	var hook int64
	missing := func(res *gitlab.Response, err error) bool { return err != nil && res.StatusCode == http.StatusNotFound }
	inactive := func(active bool, err error) bool { return err == nil && !active }
	const url = "https://8.8.8.8/hook"
	services := s.root.Services
	for _, r := range []managed{
		{
			"gitlab_project_hook",
			func(t *testing.T) {
				hook = got(s.root.Projects.AddProjectHook(p, &gitlab.AddProjectHookOptions{URL: new(url), Token: new("planted"), PushEvents: new(true), EnableSSLVerification: new(true)})).must(t).ID
			},
			func(t *testing.T) any { return got(s.root.Projects.GetProjectHook(p, hook)).must(t) },
			func(t *testing.T) {
				got(s.root.Projects.EditProjectHook(p, hook, &gitlab.EditProjectHookOptions{URL: new(url), Token: new("planted"), PushEvents: new(true), EnableSSLVerification: new(true)})).must(t)
			},
			func(t *testing.T) {
				got(s.root.Projects.EditProjectHook(p, hook, &gitlab.EditProjectHookOptions{URL: new(url), PushEvents: new(false), NoteEvents: new(true)})).must(t)
			},
			func(t *testing.T) { done(s.root.Projects.DeleteProjectHook(p, hook)).must(t) },
			func(*testing.T) bool {
				_, res, err := s.root.Projects.GetProjectHook(p, hook)
				return missing(res, err)
			},
			func(page gitlab.ListOptions) (any, *gitlab.Response, error) {
				return s.root.Projects.ListProjectHooks(p, &gitlab.ListProjectHooksOptions{ListOptions: page})
			},
		},
		{
			"gitlab_group_hook",
			func(t *testing.T) {
				hook = got(s.root.Groups.AddGroupHook(group, &gitlab.AddGroupHookOptions{URL: new(url), Token: new("planted"), SubGroupEvents: new(true)})).must(t).ID
			},
			func(t *testing.T) any { return got(s.root.Groups.GetGroupHook(group, hook)).must(t) },
			func(t *testing.T) {
				got(s.root.Groups.EditGroupHook(group, hook, &gitlab.EditGroupHookOptions{URL: new(url), Token: new("planted"), SubGroupEvents: new(true)})).must(t)
			},
			func(t *testing.T) {
				got(s.root.Groups.EditGroupHook(group, hook, &gitlab.EditGroupHookOptions{URL: new(url), SubGroupEvents: new(false), NoteEvents: new(true)})).must(t)
			},
			func(t *testing.T) { done(s.root.Groups.DeleteGroupHook(group, hook)).must(t) },
			func(*testing.T) bool {
				_, res, err := s.root.Groups.GetGroupHook(group, hook)
				return missing(res, err)
			},
			func(page gitlab.ListOptions) (any, *gitlab.Response, error) {
				return s.root.Groups.ListGroupHooks(group, &gitlab.ListGroupHooksOptions{ListOptions: page})
			},
		},
		{
			"gitlab_system_hook",
			func(t *testing.T) {
				hook = got(s.root.SystemHooks.AddHook(&gitlab.AddHookOptions{URL: new(url), Token: new("planted"), PushEvents: new(true)})).must(t).ID
			},
			func(t *testing.T) any { return got(s.root.SystemHooks.GetHook(hook)).must(t) },
			func(t *testing.T) {
				got(s.root.SystemHooks.EditHook(hook, &gitlab.EditHookOptions{URL: new(url), Token: new("planted"), PushEvents: new(true)})).must(t)
			},
			func(t *testing.T) {
				got(s.root.SystemHooks.EditHook(hook, &gitlab.EditHookOptions{URL: new(url), PushEvents: new(false), TagPushEvents: new(true)})).must(t)
			},
			func(t *testing.T) { done(s.root.SystemHooks.DeleteHook(hook)).must(t) },
			func(*testing.T) bool { _, res, err := s.root.SystemHooks.GetHook(hook); return missing(res, err) },
			func(gitlab.ListOptions) (any, *gitlab.Response, error) { return s.root.SystemHooks.ListHooks() },
		},
		service("gitlab_integration_external_wiki", func() error {
			_, _, err := services.SetExternalWikiService(p, &gitlab.SetExternalWikiServiceOptions{ExternalWikiURL: new("https://wiki.example.com")})
			return err
		}, func() error {
			_, _, err := services.SetExternalWikiService(p, &gitlab.SetExternalWikiServiceOptions{ExternalWikiURL: new("https://other.example.com")})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetExternalWikiService(p)
			return v, v != nil && v.Active, err
		}, func() error { _, err := services.DeleteExternalWikiService(p); return err }, inactive),
		service("gitlab_integration_github", func() error {
			_, _, err := services.SetGithubService(p, &gitlab.SetGithubServiceOptions{Token: new("planted"), RepositoryURL: new("https://github.com/a/b"), StaticContext: new(true)})
			return err
		}, func() error {
			_, _, err := services.SetGithubService(p, &gitlab.SetGithubServiceOptions{Token: new("planted"), RepositoryURL: new("https://github.com/a/c"), StaticContext: new(false)})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetGithubService(p)
			return v, v != nil && v.Active, err
		},
			func() error { _, err := services.DeleteGithubService(p); return err }, inactive),
		service("gitlab_integration_jira", func() error {
			_, _, err := services.SetJiraService(p, &gitlab.SetJiraServiceOptions{URL: new("https://jira.example.com"), Username: new("ann"), Password: new("planted"), CommitEvents: new(true)})
			return err
		}, func() error {
			_, _, err := services.SetJiraService(p, &gitlab.SetJiraServiceOptions{URL: new("https://jira.example.com"), Username: new("bob"), Password: new("planted"), CommitEvents: new(false)})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetJiraService(p)
			return v, v != nil && v.Active, err
		},
			func() error { _, err := services.DeleteJiraService(p); return err }, inactive),
		service("gitlab_integration_microsoft_teams", func() error {
			_, _, err := services.SetMicrosoftTeamsService(p, &gitlab.SetMicrosoftTeamsServiceOptions{WebHook: new("https://teams.example.com/planted"), PushEvents: new(true)})
			return err
		}, func() error {
			_, _, err := services.SetMicrosoftTeamsService(p, &gitlab.SetMicrosoftTeamsServiceOptions{WebHook: new("https://teams.example.com/planted"), PushEvents: new(false)})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetMicrosoftTeamsService(p)
			return v, v != nil && v.Active, err
		}, func() error { _, err := services.DeleteMicrosoftTeamsService(p); return err }, inactive),
		service("gitlab_integration_pipelines_email", func() error {
			_, _, err := services.SetPipelinesEmailService(p, &gitlab.SetPipelinesEmailServiceOptions{Recipients: new("a@example.com"), NotifyOnlyBrokenPipelines: new(true)})
			return err
		}, func() error {
			_, _, err := services.SetPipelinesEmailService(p, &gitlab.SetPipelinesEmailServiceOptions{Recipients: new("b@example.com"), NotifyOnlyBrokenPipelines: new(false)})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetPipelinesEmailService(p)
			return v, v != nil && v.Active, err
		}, func() error { _, err := services.DeletePipelinesEmailService(p); return err }, inactive),
		service("gitlab_integration_slack", func() error {
			_, _, err := services.SetSlackService(p, &gitlab.SetSlackServiceOptions{WebHook: new("https://slack.example.com/planted"), Channel: new("general")})
			return err
		}, func() error {
			_, _, err := services.SetSlackService(p, &gitlab.SetSlackServiceOptions{WebHook: new("https://slack.example.com/planted"), Channel: new("town")})
			return err
		}, func() (any, bool, error) {
			v, _, err := services.GetSlackService(p)
			return v, v != nil && v.Active, err
		},
			func() error { _, err := services.DeleteSlackService(p); return err }, inactive),
	} {
		r.create(t)
		first := r.read(t)
		if text, err := json.Marshal(first); err != nil || strings.Contains(string(text), "planted") {
			t.Errorf("%s: read %s, %v", r.name, text, err)
		}
		if r.source != nil && !listed(t, r.source, first) {
			t.Errorf("%s: its data source does not have %+v", r.name, first)
		}
		r.apply(t)
		if diff := cmp.Diff(first, r.read(t), unstamped); diff != "" {
			t.Errorf("%s: the plan is not empty:\n%s", r.name, diff)
		}
		r.change(t)
		second := r.read(t)
		if cmp.Equal(first, second, unstamped) {
			t.Errorf("%s: nothing has changed: %+v", r.name, second)
		}
		r.remove(t)
		if !r.absent(t) {
			t.Errorf("%s: there after it was deleted", r.name)
		}
	}
}

// listed reports whether a data source, which reads one page after the other, has a row as the resource reads it.
func listed(t *testing.T, source func(page gitlab.ListOptions) (any, *gitlab.Response, error), row any) bool {
	t.Helper()
	page := gitlab.ListOptions{Page: 1, PerPage: 1}
	for {
		list, res, err := source(page)
		if err != nil {
			t.Fatal(err)
		}
		rows := reflect.ValueOf(list)
		for i := range rows.Len() {
			if cmp.Equal(rows.Index(i).Interface(), row) {
				return true
			}
		}
		if res.NextPage == 0 {
			return false
		}
		page.Page = res.NextPage
	}
}

// unstamped leaves out when a resource was changed.
var unstamped = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".UpdatedAt" }, cmp.Ignore())

// service is an integration as Terraform manages it.
func service(name string, set, change func() error, read func() (any, bool, error), remove func() error, inactive func(bool, error) bool) managed {
	checked := func(f func() error) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	return managed{
		name, checked(set), func(t *testing.T) any {
			t.Helper()
			v, active, err := read()
			if err != nil || !active {
				t.Fatalf("%s: active %v, %v", name, active, err)
			}
			return v
		}, checked(set), checked(change), checked(remove), func(*testing.T) bool { _, active, err := read(); return inactive(active, err) }, nil,
	}
}

// TestHooks_receiver has the program webhook of Debian take a push and check the token of the hook. test/setup.sh installs it.
func TestHooks_receiver(t *testing.T) {
	program, err := exec.LookPath("webhook")
	if err != nil {
		absent(t, "webhook")
	}
	s := &story{server: servertest.Start(t, ""), began: time.Now()}
	s.root = s.client(t, servertest.RootToken)
	s.local(t)
	folder := t.TempDir()
	taken := filepath.Join(folder, "taken")
	rules := `[{"id": "push", "execute-command": "/bin/sh", "command-working-directory": "` + folder + `", "trigger-rule-mismatch-http-response-code": 403,
		"pass-arguments-to-command": [{"source": "string", "name": "-c"}, {"source": "string", "name": "printf '%s %s' \"$HOOK_REF\" \"$HOOK_USER\" >taken.new && mv taken.new taken"}],
		"pass-environment-to-command": [{"source": "payload", "envname": "HOOK_REF", "name": "ref"}, {"source": "payload", "envname": "HOOK_USER", "name": "user_username"}],
		"trigger-rule": {"and": [{"match": {"type": "value", "value": "planted", "parameter": {"source": "header", "name": "X-Gitlab-Token"}}},
			{"match": {"type": "value", "value": "Push Hook", "parameter": {"source": "header", "name": "X-Gitlab-Event"}}}]}}]`
	if err := os.WriteFile(filepath.Join(folder, "hooks.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err == nil {
		err = listener.Close() // the program takes the port
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-hooks", filepath.Join(folder, "hooks.json"), "-ip", "127.0.0.1", "-port", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	at := "http://127.0.0.1:" + port + "/hooks/push"
	until(t, "webhook takes calls", func() bool {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := new(http.Client).Do(q)
		if err != nil {
			return false
		}
		return res.Body.Close() == nil
	})
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), InitializeWithReadme: new(true)})).must(t).ID
	h := got(s.root.Projects.AddProjectHook(p, &gitlab.AddProjectHookOptions{URL: &at, Token: new("other")})).must(t)
	done(s.root.Projects.TriggerTestProjectHook(p, h.ID, gitlab.ProjectHookEventPush)).must(t)
	log, _ := raw[[]struct {
		Status string `json:"response_status"`
	}](t, s.root, http.MethodGet, "projects/"+number(p)+"/hooks/"+number(h.ID)+"/events", nil)
	if len(log) != 1 || log[0].Status != "403" {
		t.Errorf("calls with another token: %+v, want one that is refused", log)
	}
	got(s.root.Projects.EditProjectHook(p, h.ID, &gitlab.EditProjectHookOptions{URL: &at, Token: new("planted")})).must(t)
	got(s.root.Branches.CreateBranch(p, &gitlab.CreateBranchOptions{Branch: new("topic"), Ref: new("main")})).must(t)
	until(t, "webhook has run its command", func() bool { _, err := os.Stat(taken); return err == nil })
	if text, err := os.ReadFile(taken); err != nil || string(text) != "refs/heads/topic root" {
		t.Errorf("taken: %q, %v", text, err)
	}
}
