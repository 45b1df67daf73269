package statuscheck_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/hookevent"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
	"tenon/internal/core/statuscheck"
	"tenon/internal/core/timelog"
)

// world has the external status checks of a project.
type world struct {
	*approvaltest.World
	checks    *statuscheck.Service
	approvals *approval.Service
	dialer    *safehttp.Dialer
	rules     safehttp.Rules // of outbound requests
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: approvaltest.New(t, d)}
	w.dialer = &safehttp.Dialer{Rules: func() safehttp.Rules { return w.rules }}
	box, err := secret.NewBox(secret.NewKey())
	approvaltest.Check(t, err)
	payloads := payload.New(payload.Deps{
		DB: d, Accounts: w.Accounts, Projects: w.Projects, Repos: w.Repos, Protections: w.Protections, MergeRequests: w.MergeRequests,
		Times: timelog.New(timelog.Deps{Settings: w.Settings}), URLs: w.URLs,
	})
	w.checks = statuscheck.New(statuscheck.Deps{
		Payloads: payloads, DB: d, Policy: w.Policy, Bus: w.Bus, MergeRequests: w.MergeRequests,
		Outbound: w.dialer, Settings: w.Settings, Box: box, Jobs: job.EnqueuerFunc(w.Enqueue), Now: w.Now, URLs: w.URLs,
	})
	w.approvals = approval.New(approval.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, MergeRequests: w.MergeRequests, Protections: w.Protections, Settings: w.Settings, Now: w.Now,
	})
	w.MergeRequests.Connect(mergerequest.Above{Approvals: w.approvals, Requirements: []mergerequest.Requirement{w.checks}})
	events := hookevent.New(hookevent.Deps{
		DB: d, Settings: w.Settings, Accounts: w.Accounts, Projects: w.Projects, Payloads: payloads, Jobs: job.EnqueuerFunc(w.Enqueue), Log: slog.New(slog.DiscardHandler), Now: w.Now,
	})
	events.Connect(hookevent.Above{Recipients: []payload.Recipient{w.checks}})
	events.Subscribe(w.Bus)
	w.Start(w.checks.RegisterJobs, events.RegisterJobs)
	return w
}

// drain does all background work.
func (w *world) drain() { w.T.Helper(); approvaltest.Check(w.T, w.Jobs.Drain(w.T.Context())) }

// demand has merges wait for all checks.
func (w *world) demand() {
	w.Exec(`UPDATE projects SET settings = '{"only_allow_merge_if_all_status_checks_passed":true}' WHERE id = ?`, w.ID)
}

// delivery is what a service got.
type delivery struct {
	path   string
	header http.Header
	body   map[string]any
	raw    []byte
}

// service is a server on this machine that collects what it gets, and answers with status.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	told   []delivery
	status int
	to     string // where an answer leads
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{status: http.StatusOK}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP takes a delivery.
func (s *service) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := delivery{path: r.URL.Path, header: r.Header}
	d.raw, _ = io.ReadAll(r.Body)
	_ = json.Unmarshal(d.raw, &d.body)
	s.told = append(s.told, d)
	if s.to != "" {
		rw.Header().Set("Location", s.to)
	}
	rw.WriteHeader(s.status)
}

// take returns what the service got since the last time.
func (s *service) take() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.told
	s.told = nil
	return out
}

// answer changes how the service answers.
func (s *service) answer(status int, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.to = status, to
}
