package servicehook_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/servicehook"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// world has the project shop with a maintainer, and a chat that takes messages.
type world struct {
	*coretest.World
	hooks        *servicehook.Service
	integrations *integration.Service
	settings     *setting.Store
	jobs         *job.Queue
	mia          authz.Actor
	id           project.ID
	rules        safehttp.Rules
	chat         *httptest.Server

	mu     sync.Mutex
	status int
	posted []string // texts
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d), rules: safehttp.Rules{Local: true}, status: http.StatusOK}
		box, err := secret.NewBox(secret.NewKey())
		check(t, err)
		dialer := &safehttp.Dialer{Rules: func() safehttp.Rules { return w.rules }}
		w.settings = setting.New(d, w.Now)
		enqueue := job.EnqueuerFunc(func(ctx context.Context, a job.Args, o ...job.Option) error { return w.jobs.Enqueue(ctx, a, o...) })
		w.integrations = integration.New(integration.Deps{DB: d, Policy: w.Policy, Projects: w.Projects, Bus: w.Bus, Settings: w.settings, Box: box, Now: w.Now, Outbound: dialer, Jobs: enqueue})
		w.hooks = servicehook.New(servicehook.Deps{
			DB: d, Settings: w.settings, Integrations: w.integrations, Outbound: dialer, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
			Jobs: enqueue, Log: slog.New(slog.DiscardHandler),
		})
		var registry job.Registry
		w.hooks.RegisterJobs(&registry)
		w.integrations.RegisterJobs(&registry)
		w.jobs, err = job.New(d, &registry, job.Config{})
		check(t, err)
		w.mia = w.User("mia")
		w.id = w.Project("team/shop", authz.Private, w.Group("team", authz.Private, 0))
		w.Join(w.id, w.mia, authz.Maintainer)
		w.chat = httptest.NewServer(http.HandlerFunc(w.take))
		t.Cleanup(w.chat.Close)
		fn(t, w)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// take is an incoming webhook as Mattermost has it.
func (w *world) take(rw http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(text))
	var m struct{ Channel, Text string }
	err := json.Unmarshal([]byte(form.Get("payload")), &m)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.posted = append(w.posted, err.Error())
	}
	w.posted = append(w.posted, strings.TrimSpace(m.Channel+" "+m.Text))
	rw.WriteHeader(w.status)
}

// taken returns what the chat was told since the last call.
func (w *world) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.posted
	w.posted = nil
	return out
}

func (w *world) at() authz.Place {
	w.T.Helper()
	p := w.Find(w.mia, w.id)
	return p.Place()
}

func (w *world) set(t *testing.T, v kind.Values, flags map[string]bool) {
	t.Helper()
	all := kind.Values{"webhook": w.chat.URL}
	for name, value := range v {
		all[name] = value
	}
	_, err := w.integrations.Set(t.Context(), w.mia, w.at(), "mattermost", integration.Input{Settings: all, Flags: flags})
	check(t, err)
}

// tell hands an event to integrations, and does what it leads to.
func (w *world) tell(t *testing.T, trigger payload.Trigger, body string) []string {
	t.Helper()
	w.receive(t, trigger, body)
	_ = w.jobs.Drain(t.Context())
	return w.taken()
}

func (w *world) receive(t *testing.T, trigger payload.Trigger, body string) {
	t.Helper()
	p := w.Find(w.mia, w.id)
	check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
		return w.hooks.Receive(ctx, &payload.Message{Trigger: trigger, At: w.Now(), Namespace: p.NamespaceID, Project: p, JSON: []byte(body)})
	}))
}

func (w *world) listens(t *testing.T, trigger payload.Trigger) bool {
	t.Helper()
	p := w.Find(w.mia, w.id)
	query, args := w.hooks.Listening(payload.Audience{Trigger: trigger, Namespace: p.NamespaceID, Project: p.ID})
	if query == "" {
		return false
	}
	found, err := db.Select[int](t.Context(), w.DB, query, args...)
	check(t, err)
	return len(found) > 0
}

// waiting counts the calls that are not made yet.
func (w *world) waiting(t *testing.T) int {
	t.Helper()
	n, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM integration_calls")
	check(t, err)
	return n
}

const (
	inShop = `"project":{"name":"Shop","namespace":"Team","path_with_namespace":"team/shop","web_url":"http://tenon.test/team/shop","default_branch":"main"}`
	zero   = "0000000000000000000000000000000000000000"
)

func push(ref, before, after string) string {
	return `{"object_kind":"push","ref":"` + ref + `","before":"` + before + `","after":"` + after + `","user_name":"Mia","user_username":"mia",` + inShop +
		`,"commits":[{"id":"abcdef0123456789","title":"Fix <b> & @all","url":"http://c","author":{"name":"Mia"}}]}`
}

// TestService_gate tells one chat of many events: which it is notified of, and in which words.
func TestService_gate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.listens(t, payload.Push) {
			t.Fatal("somebody listens before there is an integration")
		}
		issue := func(action, labels string) string {
			return `{"object_kind":"issue","user":{"name":"Mia","username":"mia"},` + inShop + `,"labels":[` + labels +
				`],"object_attributes":{"iid":4,"title":"Broken","url":"http://i","action":"` + action + `","description":"It *is*"}}`
		}
		pipeline := func(status, ref, protected string) string {
			return `{"object_kind":"pipeline","user":{"name":"Mia","username":"mia"},` + inShop + `,"object_attributes":{"id":9,"ref":"` + ref + `","status":"` + status +
				`","duration":75,"protected_ref":` + protected + `},"builds":[{"stage":"test","name":"unit","status":"failed"}]}`
		}
		sha := strings.Repeat("ab", 20)
		for _, tt := range []struct {
			name    string
			v       kind.Values
			trigger payload.Trigger
			body    string
			want    string
		}{
			{
				"a push", nil, payload.Push, push("refs/heads/main", sha, strings.Repeat("cd", 20)),
				"Mia (mia) pushed to branch <http://tenon.test/team/shop/-/commits/main|main> of <http://tenon.test/team/shop|Team / Shop>" +
					" (<http://tenon.test/team/shop/-/compare/" + sha + "..." + strings.Repeat("cd", 20) + "|Compare changes>)",
			},
			{"a push of another branch", nil, payload.Push, push("refs/heads/topic", sha, sha), ""},
			{
				"a new branch",
				kind.Values{"branches_to_be_notified": "all"},
				payload.Push, push("refs/heads/topic", zero, sha),
				"Mia (mia) pushed new branch <http://tenon.test/team/shop/-/commits/topic|topic> to <http://tenon.test/team/shop|Team / Shop>",
			},
			{
				"a branch that is removed", nil, payload.Push, push("refs/heads/topic", sha, zero), "Mia (mia) removed branch topic from <http://tenon.test/team/shop|Team / Shop>",
			},
			{"an issue that is opened", nil, payload.Issue, issue("open", ""), "[<http://tenon.test/team/shop|Team / Shop>] Issue <http://i|#4 Broken> opened by Mia (mia)"},
			{"an issue that is changed", nil, payload.Issue, issue("update", ""), ""},
			{"an issue without the label", kind.Values{"labels_to_be_notified": "~bug, ops"}, payload.Issue, issue("open", `{"title":"other"}`), ""},
			{
				"an issue with one of the labels", nil, payload.Issue, issue("close", `{"title":"ops"}`),
				"[<http://tenon.test/team/shop|Team / Shop>] Issue <http://i|#4 Broken> closed by Mia (mia)",
			},
			{"an issue with one label of all", kind.Values{"labels_to_be_notified_behavior": "match_all"}, payload.Issue, issue("close", `{"title":"ops"}`), ""},
			{"a push has no labels", kind.Values{"branches_to_be_notified": "protected"}, payload.Push, push("refs/heads/main", sha, zero), ""},
			{
				"a pipeline that failed", nil, payload.Pipeline, pipeline("failed", "main", "true"),
				"<http://tenon.test/team/shop|Team / Shop>: Pipeline <http://tenon.test/team/shop/-/pipelines/9|#9> of branch " +
					"<http://tenon.test/team/shop/-/commits/main|main> by Mia (mia) has failed in 01:15",
			},
			{"a pipeline that passed", nil, payload.Pipeline, pipeline("success", "main", "true"), ""},
			{"a pipeline that runs", nil, payload.Pipeline, pipeline("running", "main", "true"), ""},
			{"a pipeline of a branch that is not protected", nil, payload.Pipeline, pipeline("failed", "topic", "false"), ""},
			{
				"a pipeline that passed, where they count",
				kind.Values{"notify_only_broken_pipelines": false},
				payload.Pipeline, pipeline("success", "main", "true"),
				"<http://tenon.test/team/shop|Team / Shop>: Pipeline <http://tenon.test/team/shop/-/pipelines/9|#9> of branch " +
					"<http://tenon.test/team/shop/-/commits/main|main> by Mia (mia) has passed in 01:15",
			},
		} {
			w.set(t, tt.v, nil)
			if got := strings.Join(w.tell(t, tt.trigger, tt.body), "\n"); got != tt.want {
				t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
			}
		}
		deployment := func(status string) string {
			return `{"object_kind":"deployment","status":"` + status + `","environment":"production","deployable_id":7,"deployable_url":"http://j","short_sha":"abcdef01",` +
				`"commit_url":"http://c","commit_title":"Fix","ref":"main","user":{"name":"Mia","username":"mia"},` + inShop + `}`
		}
		w.set(t, nil, map[string]bool{"deployment_events": true})
		for status, want := range map[string]string{
			"running": "Starting deploy to production", "success": "Deploy to production succeeded", "failed": "Deploy to production failed",
			"canceled": "Deploy to production canceled",
		} {
			if got := strings.Join(w.tell(t, payload.Deployment, deployment(status)), "\n"); got != want {
				t.Errorf("a deployment, %s: got %q, want %q", status, got, want)
			}
		}
		w.set(t, kind.Values{"branches_to_be_notified": "all", "push_channel": "dev, ops", "channel": "town"}, map[string]bool{"issues_events": false})
		if got := w.tell(t, payload.Push, push("refs/heads/x", sha, zero)); len(got) != 2 || !strings.HasPrefix(got[0], "dev ") || !strings.HasPrefix(got[1], "ops ") {
			t.Errorf("channels of the event: %q", got)
		}
		if w.listens(t, payload.Issue) || !w.listens(t, payload.Push) || w.listens(t, payload.Milestone) {
			t.Error("who listens does not follow the flags")
		}
		if got := w.tell(t, payload.Issue, issue("open", "")); len(got) > 0 {
			t.Errorf("told of what is switched off: %q", got)
		}
		incident := strings.Replace(issue("open", ""), `"iid":4`, `"iid":4,"type":"Incident"`, 1)
		if got := w.tell(t, payload.Issue, incident); len(got) > 0 {
			t.Errorf("told of incidents, which are switched off: %q", got)
		}
		w.set(t, kind.Values{"incident_channel": "night", "labels_to_be_notified": nil}, map[string]bool{"issues_events": false, "incident_events": true})
		if got := w.tell(t, payload.Issue, issue("open", "")); len(got) > 0 || !w.listens(t, payload.Issue) {
			t.Errorf("told of an issue where incidents alone are switched on: %q", got)
		}
		if got, want := w.tell(t, payload.Issue, incident), "night [<http://tenon.test/team/shop|Team / Shop>] Incident <http://i|#4 Broken> opened by Mia (mia)"; strings.Join(got, "\n") != want {
			t.Errorf("incident: got %q, want %q", got, want)
		}
	})
}

// TestService_group tells the chat of a group of pages of its wiki, and of nothing else.
func TestService_group(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		parent := w.Find(w.mia, w.id).ParentID
		at := authz.Place{Group: true, ID: int64(parent), Namespace: parent, Subject: authz.Subject{Namespace: parent}}
		root := authz.Actor{UserID: w.mia.UserID, Admin: true}
		_, err := w.integrations.Set(t.Context(), root, at, "mattermost", integration.Input{Settings: kind.Values{"webhook": w.chat.URL}})
		check(t, err)
		for trigger, want := range map[payload.Trigger]string{
			payload.WikiPage:  "Mia (mia) created <http://w|wiki page> (<http://d|Compare changes>) in <http://tenon.test/groups/team|Team>: *Home*",
			payload.Milestone: "",
		} {
			check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
				return w.hooks.Receive(ctx, &payload.Message{Trigger: trigger, At: w.Now(), Namespace: parent, JSON: []byte(`{"object_kind":"wiki_page","user":{"name":"Mia","username":"mia"},` +
					`"group":{"group_name":"Team","full_path":"team"},"object_attributes":{"title":"Home","url":"http://w","diff_url":"http://d","action":"create"}}`)})
			}))
			_ = w.jobs.Drain(t.Context())
			if got := strings.Join(w.taken(), "\n"); got != want {
				t.Errorf("%s: got %q, want %q", trigger, got, want)
			}
		}
	})
}

// TestService_attempts shows what becomes of a call that fails, and of one whose integration was deleted meanwhile.
func TestService_attempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(t, kind.Values{"branches_to_be_notified": "all"}, nil)
		body := push("refs/heads/x", strings.Repeat("ab", 20), zero)
		again := func() {
			_, err := w.DB.Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = ? WHERE state IN ('available', 'retryable')", db.At(time.Now().Add(-time.Hour)))
			check(t, err)
			_ = w.jobs.Drain(t.Context())
		}
		for _, tt := range []struct {
			status, tries int
		}{{http.StatusBadGateway, 3}, {http.StatusTooManyRequests, 3}, {http.StatusNotFound, 1}, {http.StatusFound, 1}} {
			w.status = tt.status
			n := len(w.tell(t, payload.Push, body))
			for range 5 {
				again()
				n += len(w.taken())
			}
			if n != tt.tries || w.waiting(t) != 0 {
				t.Errorf("%d is tried %d times, want %d; %d calls wait", tt.status, n, tt.tries, w.waiting(t))
			}
		}
		w.status = http.StatusOK

		w.rules = safehttp.Rules{}
		if got := w.tell(t, payload.Push, body); len(got) > 0 || w.waiting(t) != 0 {
			t.Errorf("an address that is not allowed any more is called: %q", got)
		}
		w.rules = safehttp.Rules{Local: true}

		w.receive(t, payload.Push, body)
		check(t, w.integrations.Disable(t.Context(), w.mia, w.at(), "mattermost"))
		_ = w.jobs.Drain(t.Context())
		if got := w.taken(); len(got) > 0 || w.waiting(t) != 0 {
			t.Errorf("an integration that is disabled meanwhile is told: %q", got)
		}

		w.set(t, kind.Values{"branches_to_be_notified": "all"}, nil)
		w.receive(t, payload.Push, body)
		coretest.Setter(t, w.settings)("silent_mode_enabled", true)
		_ = w.jobs.Drain(t.Context())
		if got := w.taken(); len(got) > 0 || w.waiting(t) != 0 {
			t.Errorf("told in silent mode: %q", got)
		}
	})
}
