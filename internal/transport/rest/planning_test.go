package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/board"
	"tenon/internal/core/coretest"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/quickaction"
	"tenon/internal/core/reference"
	"tenon/internal/core/setting"
	"tenon/internal/core/snippet"
	"tenon/internal/core/subscription"
	"tenon/internal/core/timelog"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// planning is a server of labels, issues and notes with a public project team/app. The
// token of a user is the username.
type planning struct {
	*coretest.World
	*Server
	t     testing.TB
	kit   *api.Kit
	users map[string]authz.Actor
	id    project.ID
}

func newPlanning(t testing.TB, d *db.DB) *planning {
	t.Helper()
	w := coretest.New(t, d)
	p := &planning{World: w, t: t, users: map[string]authz.Actor{}}
	settings := setting.New(d, w.Now)
	limits := limit.New(limit.Deps{Settings: settings, Now: func() time.Time { return time.Date(2026, 11, 22, 10, 0, 5, 0, time.UTC) }, Off: true})
	places := namespace.New(namespace.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Limits: limits, Now: w.Now})
	urls := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "tenon.example")
	labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, URLs: urls})
	times := timelog.New(timelog.Deps{DB: d, Settings: settings, Now: w.Now})
	milestones := milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Namespaces: places, Now: w.Now, URLs: urls})
	iterations := iteration.New(iteration.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	attributes := attribute.New(attribute.Deps{DB: d, Policy: w.Policy, Now: w.Now})
	accounts := account.New(account.Deps{
		Limits: limits, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Hasher: secret.NewWeakHasher(), Now: w.Now, Places: places,
		Attributes: attributes, URLs: urls,
	})
	issues := issue.New(issue.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Projects: w.Projects, Labels: labels, Milestones: milestones, Iterations: iterations, Times: times, Limits: limits, Now: w.Now, URLs: urls})
	epics := epic.New(epic.Deps{
		Limits: limits,
		DB:     d, Policy: w.Policy, Bus: w.Bus, Labels: labels, Issues: issues, Projects: w.Projects, Namespaces: places, Now: w.Now, URLs: urls,
	})
	awards := award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	projects := project.New(project.Deps{
		Limits: limits,
		DB:     d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Attributes: attributes, Namespaces: places, Settings: settings, Now: w.Now,
	})
	projects.Connect(coretest.Above(project.Above{}))
	references := reference.New(reference.Deps{DB: d, Policy: w.Policy, Settings: settings, Accounts: accounts, Projects: projects, URLs: urls})
	references.Connect(reference.Above{Finders: []reference.Finder{
		issues, epics, labels, milestones,
		snippet.New(snippet.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Projects: projects, URLs: urls, Now: w.Now}),
	}})
	boards := board.New(board.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Labels: labels, Milestones: milestones, Now: w.Now})
	things := noteable.Collect(issues, epics)
	subscriptions := subscription.New(subscription.Deps{DB: d, Policy: w.Policy, Labels: labels, Kinds: things, Now: w.Now})
	commands := quickaction.New(quickaction.Deps{
		Times: times, Policy: w.Policy, Accounts: accounts, Projects: w.Projects, Issues: issues, Epics: epics, Milestones: milestones, Iterations: iterations, Boards: boards,
		References: references, Awards: awards, Subscriptions: subscriptions, Now: w.Now,
	})
	epics.Connect(epic.Above{Commands: commands})
	notes := note.New(note.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Awards: awards, Now: w.Now, Commands: commands,
		Kinds: things,
	})
	issues.Connect(issue.Above{Epics: epics, Subscriptions: subscriptions, Commands: commands, Discussions: notes})
	p.Server = &Server{Services: &core.Services{
		Kinds:    things,
		Accounts: accounts, Namespaces: places, Projects: projects, Labels: labels, Milestones: milestones, Iterations: iterations, Boards: boards, Issues: issues, Epics: epics, Times: times, Awards: awards,
		References: references, Commands: commands,
		Notes:         notes,
		Subscriptions: subscriptions,
		Policy:        w.Policy, Settings: settings, URLs: urls, Limits: limits,
	}, Now: w.Now}
	p.kit = api.New(api.Config{
		ExternalURL: "https://tenon.example", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), FindUser: (&httpkit.SignOn{Accounts: p.Accounts}).FindUser, Limits: &limit.Service{},
		Authenticate: func(_ context.Context, c httpkit.Credential) (authz.Actor, error) {
			as, ok := p.users[c.Secret]
			if !ok {
				return as, errs.New(errs.Unauthorized, "")
			}
			return as, nil
		},
	}, slices.Concat(p.labelRoutes(), p.milestoneRoutes(), p.iterationRoutes(), p.boardRoutes(), p.issueRoutes(), p.epicRoutes(), p.epicIssueRoutes(), p.relatedEpicRoutes(), p.todoRoutes(), p.subscriptionRoutes(), p.issueLinkRoutes(), p.timeTrackingRoutes(), p.noteRoutes(), p.discussionRoutes(), p.awardRoutes(), p.markdownRoutes()))
	p.id = w.Project("team/app", authz.Public, w.Group("team", authz.Public, 0))
	for name, level := range map[string]authz.Level{"owner": authz.Owner, "planner": authz.Planner, "guest": authz.Guest, "stranger": 0} {
		as := w.User(name)
		as.Scopes = authz.AllScopes()
		p.users[name] = as
		if level > 0 {
			w.Join(p.id, as, level)
		}
	}
	root := w.Admin("root")
	root.Scopes = authz.AllScopes()
	p.users["root"] = root
	return p
}

// send makes a request as a user with a JSON body, "" for none.
func (p *planning) send(as, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(p.t.Context(), method, api.Prefix+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		r.Header.Set("Private-Token", as)
	}
	w := httptest.NewRecorder()
	p.kit.ServeHTTP(w, r)
	return w
}

// want sends a request and compares the status and, where it is not "", the body.
func (p *planning) want(as, method, path, body string, status int, answer string) {
	p.t.Helper()
	w := p.send(as, method, path, body)
	if got := w.Body.String(); w.Code != status || answer != "" && got != answer {
		p.t.Errorf("%s: %s %s %.200s\n got %d %.600s\nwant %d %s", as, method, path, body, w.Code, got, status, answer)
	}
}

// do sends a request that has to succeed and decodes its answer.
func (p *planning) do(as, method, path, body string) map[string]any {
	p.t.Helper()
	w := p.send(as, method, path, body)
	if w.Code > 201 {
		p.t.Fatalf("%s: %s %s %s: %d %s", as, method, path, body, w.Code, w.Body)
	}
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// pick returns a value of each element of a list, joined by spaces.
func (p *planning) pick(as, path, key string) string {
	p.t.Helper()
	w := p.send(as, "GET", path, "")
	var list []map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		return w.Body.String()
	}
	var out []string
	for _, e := range list {
		b, err := json.Marshal(e[key])
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, strings.Trim(string(b), `"`))
	}
	return strings.Join(out, " ")
}
