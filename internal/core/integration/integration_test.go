package integration_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/integrationtest"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// world has the project shop, with a maintainer, a developer and a stranger.
type world struct {
	*coretest.World
	integrations                    *integration.Service
	rules                           safehttp.Rules
	maintainer, developer, stranger authz.Actor
	id                              project.ID
	facts                           []change.Fact
	settings                        *setting.Store
	jobs                            *job.Queue
}

// nowhere resolves no name.
type nowhere struct{}

func (nowhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, fmt.Errorf("no such host")
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	bus := w.Bus
	w.settings = setting.New(d, w.Now)
	if err := w.settings.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	event.On(bus, "test", func(_ context.Context, e integration.Created) error { return w.hear(e) })
	event.On(bus, "test", func(_ context.Context, e integration.Updated) error { return w.hear(e) })
	event.On(bus, "test", func(_ context.Context, e integration.Disabled) error { return w.hear(e) })
	w.integrations = integration.New(integration.Deps{
		DB: d, Policy: w.Policy, Projects: w.Projects, Bus: bus, Settings: w.settings, Box: box, Now: w.Now,
		Jobs:     job.EnqueuerFunc(func(ctx context.Context, a job.Args, o ...job.Option) error { return w.jobs.Enqueue(ctx, a, o...) }),
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return w.rules }, Resolver: nowhere{}},
	})
	var registry job.Registry
	w.integrations.RegisterJobs(&registry)
	if w.jobs, err = job.New(d, &registry, job.Config{}); err != nil {
		t.Fatal(err)
	}
	w.integrations.Subscribe(bus)
	w.maintainer, w.developer, w.stranger = w.User("mia"), w.User("dev"), w.User("sam")
	w.id = w.Project("team/shop", authz.Private, w.Group("team", authz.Private, 0))
	w.Join(w.id, w.maintainer, authz.Maintainer)
	w.Join(w.id, w.developer, authz.Developer)
	return w
}

func (w *world) hear(e change.Event) error {
	w.facts = append(w.facts, e.Changed())
	return nil
}

// at returns the project without the level of an actor.
func (w *world) at() authz.Place {
	w.T.Helper()
	p := w.Find(w.maintainer, w.id)
	p.LevelKnown = false
	return p.Place()
}

// set sets up an integration as the maintainer.
func (w *world) set(slug string, values kind.Values) (*integration.Integration, error) {
	w.T.Helper()
	return w.integrations.Set(w.T.Context(), w.maintainer, w.at(), slug, integration.Input{Settings: values})
}

func (w *world) must(slug string, values kind.Values) *integration.Integration {
	w.T.Helper()
	i, err := w.set(slug, values)
	if err != nil {
		w.T.Fatalf("set up %s: %v", slug, err)
	}
	return i
}

// stored is all that the database has of integrations.
func (w *world) stored() string {
	w.T.Helper()
	rows, err := db.Select[integration.Integration](w.T.Context(), w.DB, "SELECT "+db.Columns[integration.Integration]("i")+" FROM integrations i ORDER BY i.id")
	if err != nil {
		w.T.Fatal(err)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, r.Slug, r.Stored, *cmpOr(r.Sealed))
	}
	return b.String()
}

func cmpOr(text *string) *string {
	if text == nil {
		return new(string)
	}
	return text
}

// A maintainer sets up an integration, changes one setting, disables it and sets it up again.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := t.Context()
		_, err := w.integrations.Find(ctx, w.maintainer, w.at(), "jenkins")
		if !errs.Is(err, errs.NotFound) {
			t.Errorf("before it is set up: %v", err)
		}
		if err := w.integrations.Disable(ctx, w.maintainer, w.at(), "jenkins"); err != nil || len(w.facts) != 0 {
			t.Errorf("disable what is not there: %v, %d events", err, len(w.facts))
		}
		i := w.must("jenkins", kind.Values{"jenkins_url": "https://ci.example.com", "project_name": "shop", "username": "u", "password": "planted"})
		if !i.Active || !i.Secrets["password"] || i.Settings["password"] != nil || i.Settings["enable_ssl_verification"] != true || !i.Flags.Push || i.Flags.Deployment {
			t.Errorf("set up: %+v", i)
		}
		if strings.Contains(w.stored(), "planted") {
			t.Errorf("stored: %s", w.stored())
		}
		again, err := w.integrations.Set(ctx, w.maintainer, w.at(), "jenkins", integration.Input{
			Settings: kind.Values{"project_name": "other"}, Flags: map[string]bool{"push_events": false, "pipeline_events": false},
		})
		if err != nil || again.ID != i.ID || again.Settings.Text("project_name") != "other" || again.Settings.Text("username") != "u" || !again.Secrets["password"] {
			t.Errorf("merge: %+v, %v", again, err)
		}
		if again.Flags.Push || !again.Flags.Pipeline {
			t.Errorf("flags: %+v, want push off, and pipelines on, which Jenkins does not take", again.Flags)
		}
		w.must("jenkins", kind.Values{"project_name": "other"})
		if len(w.facts) != 2 {
			t.Errorf("%d events, want none where nothing changes", len(w.facts))
		}
		if list, err := w.integrations.List(ctx, w.maintainer, w.at()); err != nil || len(list) != 1 || list[0].Slug != "jenkins" {
			t.Errorf("list: %v, %v", list, err)
		}
		if err := w.integrations.Disable(ctx, w.maintainer, w.at(), "jenkins"); err != nil {
			t.Error(err)
		}
		off, err := w.integrations.Find(ctx, w.maintainer, w.at(), "jenkins")
		if err != nil || off.Active || len(off.Settings) != 0 || len(off.Secrets) != 0 || !off.Flags.Push {
			t.Errorf("disabled: %+v, %v", off, err)
		}
		if list, err := w.integrations.List(ctx, w.maintainer, w.at()); err != nil || len(list) != 0 {
			t.Errorf("list of active ones: %v, %v", list, err)
		}
		back := w.must("jenkins", kind.Values{"jenkins_url": "https://ci.example.com", "project_name": "shop"})
		if back.ID != i.ID || back.Settings["enable_ssl_verification"] != true || back.Secrets["password"] || back.Settings["username"] != nil {
			t.Errorf("set up again: %+v", back)
		}
		var subjects []string
		for _, f := range w.facts {
			subjects = append(subjects, fmt.Sprint(f.Subject.Type, f.Subject.Title, f.Place.Path, f.Has("active")))
			for name := range f.Changes() {
				if name == "properties" || name == "sealed" {
					t.Errorf("an event shows %s", name)
				}
			}
		}
		want := []string{"Integrationjenkinsteam/shopfalse", "Integrationjenkinsteam/shopfalse", "Integrationjenkinsteam/shoptrue", "Integrationjenkinsteam/shoptrue"}
		if !slices.Equal(subjects, want) {
			t.Errorf("events %q, want %q", subjects, want)
		}
	})
}

func TestService_permissions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx, at := t.Context(), w.at()
		w.must("external-wiki", kind.Values{"external_wiki_url": "https://wiki.example.com"})
		for as, want := range map[*authz.Actor]errs.Kind{&w.developer: errs.Forbidden, &w.stranger: errs.NotFound} {
			_, list := w.integrations.List(ctx, *as, at)
			_, find := w.integrations.Find(ctx, *as, at, "external-wiki")
			_, set := w.integrations.Set(ctx, *as, at, "external-wiki", integration.Input{})
			disable := w.integrations.Disable(ctx, *as, at, "external-wiki")
			for what, err := range map[string]error{"list": list, "find": find, "set": set, "disable": disable} {
				if !errs.Is(err, want) {
					t.Errorf("%s by %s: %v", what, as.Username, err)
				}
			}
		}
		old := w.maintainer
		old.UnmodifiedSince = w.Now().Add(-time.Hour)
		_, set := w.integrations.Set(ctx, old, at, "external-wiki", integration.Input{})
		for what, err := range map[string]error{"set": set, "disable": w.integrations.Disable(ctx, old, at, "external-wiki")} {
			if !errs.Is(err, errs.PreconditionFailed) {
				t.Errorf("%s of what has changed: %v", what, err)
			}
		}
	})
}

// Only one tracker and one wiki are active at a time.
func TestService_Set_exclusive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		tracker := kind.Values{"project_url": "https://x.example.com", "issues_url": "https://x.example.com/:id", "new_issue_url": "https://x.example.com/new"}
		w.must("redmine", tracker)
		_, err := w.set("bugzilla", tracker)
		if err == nil || err.Error() != "base Another issue tracker is already in use. Only one issue tracker service can be active at a time" {
			t.Errorf("a second tracker: %v", err)
		}
		w.must("redmine", tracker)
		if err := w.integrations.Disable(t.Context(), w.maintainer, w.at(), "redmine"); err != nil {
			t.Error(err)
		}
		w.must("bugzilla", tracker)
		w.must("external-wiki", kind.Values{"external_wiki_url": "https://wiki.example.com"})
		if _, err := w.set("confluence", kind.Values{"confluence_url": "https://x.atlassian.net/wiki"}); err == nil || !strings.Contains(err.Error(), "Another third-party wiki") {
			t.Errorf("a second wiki: %v", err)
		}
	})
}

func TestService_Set_refusals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		full := func(slug string, changes kind.Values) kind.Values {
			out := integrationtest.Values(kind.Find(slug), true)
			maps.Copy(out, changes)
			return out
		}
		for _, tt := range []struct {
			slug   string
			values kind.Values
			want   string
		}{
			{"nothing", nil, "Integration not found"},
			{"gitlab-slack-application", nil, "You cannot create the GitLab for Slack app integration from the API"},
			{"zentao", full("zentao", nil), "Projects cannot set it up at this level of the API"},
			{"external-wiki", kind.Values{}, "external_wiki_url can't be blank"},
			{"external-wiki", kind.Values{"external_wiki_url": "http://127.0.0.1:80/"}, "external_wiki_url is blocked: Requests to loopback addresses are not allowed"},
			{"external-wiki", kind.Values{"external_wiki_url": "http://10.0.0.1/"}, "external_wiki_url is blocked: Requests to the local network are not allowed"},
			{"external-wiki", kind.Values{"external_wiki_url": "http://localhost/"}, "external_wiki_url is blocked: Requests to localhost are not allowed"},
			{"external-wiki", kind.Values{"external_wiki_url": "javascript:alert(1)"}, "external_wiki_url is blocked: Only allowed schemes are http, https"},
			{"external-wiki", kind.Values{"external_wiki_url": "https://u:p@wiki.example.com"}, "external_wiki_url must not contain a user name or password"},
			{"external-wiki", kind.Values{"external_wiki_url": "https://x.example.com/" + strings.Repeat("x", 4096)}, "external_wiki_url is too long (maximum is 4096 characters)"},
			{"confluence", kind.Values{"confluence_url": "https://x.example.com/wiki"}, "confluence_url URL must be to a Confluence Cloud Workspace hosted on atlassian.net"},
			{"ewm", full("ewm", kind.Values{"issues_url": "https://ewm.example.com/"}), "issues_url must contain :id"},
			{"discord", full("discord", kind.Values{"push_channel": "https://evil.example.com/"}), "push_channel URL must point to discord.com"},
			{"slack", full("slack", kind.Values{"push_channel": strings.Repeat("a,", 10) + "a"}), "base cannot have more than 10 channels"},
			{"slack", full("slack", kind.Values{"branches_to_be_notified": "some"}), "branches_to_be_notified is not included in the list"},
			{"pushover", full("pushover", kind.Values{"priority": "3"}), "priority is not included in the list"},
			{"pipelines-email", full("pipelines-email", kind.Values{"recipients": strings.Repeat("a@example.com,", 31)}), "recipients can't exceed 30"},
			{"emails-on-push", full("emails-on-push", kind.Values{"recipients": strings.Repeat("a@example.com ", 751)}), "recipients can't exceed 750"},
			{"irker", full("irker", kind.Values{"recipients": "#dev", "default_irc_uri": nil}), "recipients are all invalid"},
			{"irker", full("irker", kind.Values{"server_port": int64(65536)}), "server_port must be less than or equal to 65535"},
			{"jira", full("jira", kind.Values{"jira_issue_transition_id": "one"}), "jira_issue_transition_id IDs must be a list of numbers that can be split with , or ;"},
			{"jira", full("jira", kind.Values{"jira_auth_type": int64(0), "username": ""}), "username can't be blank"},
			{"harbor", full("harbor", kind.Values{"password": "short"}), "password is invalid"},
			{"campfire", full("campfire", kind.Values{"room": "0"}), "room is not a number"},
			{"campfire", full("campfire", kind.Values{"subdomain": "evil.com/"}), "subdomain is invalid"},
			{"datadog", full("datadog", kind.Values{"datadog_site": "", "api_url": ""}), "datadog_site can't be blank"},
			{"datadog", full("datadog", kind.Values{"datadog_site": "evil.com/?"}), "datadog_site is invalid"},
			{"apple-app-store", full("apple-app-store", kind.Values{"app_store_private_key": "none"}), "app_store_private_key is invalid"},
			{"google-play", full("google-play", kind.Values{"service_account_key": "none"}), "service_account_key is invalid"},
			{"linear", kind.Values{"workspace_url": "https://example.com/x"}, "workspace_url URL must point to a workspace URL like https://linear.app/example"},
		} {
			_, err := w.set(tt.slug, tt.values)
			if err == nil || err.Error() != tt.want {
				t.Errorf("%s: got %v, want %s", tt.slug, err, tt.want)
			}
		}
		if text := w.stored(); text != "" {
			t.Errorf("stored although refused: %s", text)
		}
		w.must("custom-issue-tracker", full("custom-issue-tracker", kind.Values{"project_url": "https://does.not.resolve.invalid"}))
		w.rules.Local = true
		w.must("external-wiki", kind.Values{"external_wiki_url": "http://127.0.0.1/"})
	})
}

// The older flag of branches decides where the newer setting does not come with it.
func TestService_Set_legacyBranches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		for _, slug := range []string{"slack", "pipelines-email"} {
			base := integrationtest.Values(kind.Find(slug), false)
			for _, tt := range []struct {
				sent kind.Values
				want string
			}{
				{nil, "default"},
				{kind.Values{"notify_only_default_branch": false}, "all"},
				{kind.Values{"notify_only_default_branch": true}, "default"},
				{kind.Values{"notify_only_default_branch": true, "branches_to_be_notified": "protected"}, "protected"},
				{nil, "protected"},
			} {
				values := maps.Clone(base)
				maps.Copy(values, tt.sent)
				if got := w.must(slug, values).Settings.Text("branches_to_be_notified"); got != tt.want {
					t.Errorf("%s %v: branches %s, want %s", slug, tt.sent, got, tt.want)
				}
			}
		}
	})
}

// The attack: a maintainer who may not read the secret of an integration sets another address, at which the secret then arrives
// (CVE-2022-2497, CVE-2022-2882, CVE-2022-3483, CVE-2023-0483). For each kind of the catalogue, and each setting that decides where
// secrets go, another value removes the secrets that do not come with it.
func TestAttack_newDestination(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, k := range kind.All() {
		for _, s := range k.Settings {
			if !s.Where {
				continue
			}
			was := integrationtest.Values(k, true)
			for _, moved := range []any{"https://evil.example.com/", "", nil} {
				checked++
				after := k.Merge(was, kind.Values{s.Name: moved})
				for _, secret := range k.Settings {
					if secret.Sealed() && after[secret.Name] != nil {
						t.Errorf("%s: %s stays after %s became %v", k.Slug, secret.Name, s.Name, moved)
					}
				}
				sent := k.Part(was, (*kind.Setting).Sealed)
				sent[s.Name] = moved
				if got := k.Part(k.Merge(was, sent), (*kind.Setting).Sealed); !maps.EqualFunc(got, k.Part(was, (*kind.Setting).Sealed), func(a, b any) bool { return a == b }) {
					t.Errorf("%s: secrets that came with %s are %v", k.Slug, s.Name, got)
				}
			}
			if same := k.Merge(was, kind.Values{s.Name: was[s.Name]}); !maps.EqualFunc(same, was, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
				t.Errorf("%s: the same %s changes settings", k.Slug, s.Name)
			}
		}
		for _, s := range k.Settings {
			if s.URL && !s.Where && !s.Sealed() && slices.ContainsFunc(k.Settings, func(s kind.Setting) bool { return s.Secret }) {
				t.Errorf("%s: %s is an address that secrets may be sent to: mark it as Where", k.Slug, s.Name)
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d destinations", checked)
	}
}

// Every kind stores all its settings, and no secret is readable anywhere.
func TestAttack_secretsAtRest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		for _, k := range kind.All() {
			values := integrationtest.Values(k, true)
			i, err := w.set(k.Slug, values)
			if k.Unavailable != "" {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", k.Slug, err)
				continue
			}
			found, err := w.integrations.Find(t.Context(), w.maintainer, w.at(), k.Slug)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range k.Settings {
				switch {
				case s.Legacy:
				case s.Sealed() && (!found.Secrets[s.Name] || found.Settings[s.Name] != nil):
					t.Errorf("%s: %s is not sealed", k.Slug, s.Name)
				case !s.Sealed() && fmt.Sprint(found.Settings[s.Name]) != fmt.Sprint(values[s.Name]):
					t.Errorf("%s: %s is %v, want %v", k.Slug, s.Name, found.Settings[s.Name], values[s.Name])
				}
			}
			if k.Class.Exclusive() {
				if err := w.integrations.Disable(t.Context(), w.maintainer, w.at(), i.Slug); err != nil {
					t.Error(err)
				}
			}
		}
		if text := w.stored(); strings.Contains(text, integrationtest.Secret) || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("stored: %s", text)
		}
	})
}

// A project has links and variables of what is active, and reads nothing of integrations otherwise.
func TestService_external(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := t.Context()
		disable := func(slug string) {
			t.Helper()
			if err := w.integrations.Disable(ctx, w.maintainer, w.at(), slug); err != nil {
				t.Fatal(err)
			}
		}
		shop := func() *project.Project { return w.Find(w.maintainer, w.id) }
		updated := shop().UpdatedAt
		w.must("jira", kind.Values{"url": "https://jira.example.com/", "username": "u", "password": "planted-secret", "jira_issue_prefix": "X."})
		e := shop().External()
		want := project.Tracker{
			Link: project.Link{Title: "Jira issues", URL: "https://jira.example.com", Kind: "jira"}, IssueURL: "https://jira.example.com/browse/:id",
			Reference: `(X\.(?:[A-Z][A-Z0-9_]+-\d+))`,
		}
		if e.Tracker == nil || *e.Tracker != want {
			t.Errorf("tracker %+v, want %+v", e.Tracker, want)
		}
		w.must("external-wiki", kind.Values{"external_wiki_url": "https://wiki.example.com"})
		if wiki := shop().External().Wiki; wiki == nil || *wiki != (project.Link{Title: "External wiki", URL: "https://wiki.example.com", Kind: "external-wiki"}) {
			t.Errorf("wiki %+v", wiki)
		}
		disable("jira")
		disable("external-wiki")
		disable("redmine") // which was never set up
		if p := shop(); p.ExternalJSON != nil || p.UpdatedAt != updated {
			t.Errorf("after all: %v, changed at %v and %v", p.ExternalJSON, p.UpdatedAt, updated)
		}

		names := func(protected bool) string {
			t.Helper()
			list, err := w.integrations.JobVariables(ctx, shop(), protected)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, v := range list {
				if v.Masked == v.Public || !v.Raw {
					t.Errorf("variable %+v", v)
				}
				out = append(out, v.Key+"="+v.Value)
			}
			return strings.Join(out, " ")
		}
		w.must("harbor", kind.Values{"url": "https://harbor.example.com", "project_name": "p", "username": "u", "password": "long-enough"})
		w.must("google-play", kind.Values{"package_name": "com.example.app", "service_account_key": "{}"})
		const harbor = "HARBOR_URL=https://harbor.example.com HARBOR_HOST=harbor.example.com HARBOR_OCI=oci://harbor.example.com HARBOR_PROJECT=p HARBOR_USERNAME=u HARBOR_PASSWORD=long-enough"
		if got := names(false); got != harbor {
			t.Errorf("variables %s", got)
		}
		if got := names(true); got != harbor+" SUPPLY_PACKAGE_NAME=com.example.app SUPPLY_JSON_KEY_DATA={}" {
			t.Errorf("variables of a protected branch %s", got)
		}
		disable("harbor")
		if got := names(true); !strings.HasPrefix(got, "SUPPLY") {
			t.Errorf("variables without Harbor %s", got)
		}
		disable("google-play")
		if p := shop(); p.ExternalJSON != nil || names(true) != "" {
			t.Errorf("variables of nothing: %v", p.ExternalJSON)
		}
	})
}
