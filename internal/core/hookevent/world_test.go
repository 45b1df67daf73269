package hookevent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/hookevent"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/payload"
	"tenon/internal/core/timelog"
)

// world has a project whose events a listener is notified of.
type world struct {
	*approvaltest.World
	events    *hookevent.Service
	approvals *approval.Service
	listener  *listener
}

// listener is notified of events.
type listener struct {
	triggers []payload.Trigger // that it asks for
	local    bool              // in groups and projects alone
	received []*payload.Message
	fails    error
	away     int // how often the database is away
}

// Listening finds something where the listener asks for the trigger.
func (l *listener) Listening(a payload.Audience) (query string, args []any) {
	id := 1
	if !slices.Contains(l.triggers, a.Trigger) || l.local && a.Namespace == 0 {
		id = 0
	}
	return "SELECT 1 FROM users u WHERE u.id = ?", []any{id}
}

// Receive keeps a message.
func (l *listener) Receive(_ context.Context, m *payload.Message) error {
	if l.away > 0 {
		l.away--
		return fmt.Errorf("write deliveries: %w", errs.ErrAway)
	}
	if l.fails == nil {
		l.received = append(l.received, m)
	}
	return l.fails
}

// take returns what was received since the last time.
func (l *listener) take() []*payload.Message {
	out := l.received
	l.received = nil
	return out
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: approvaltest.New(t, d), listener: &listener{triggers: []payload.Trigger{payload.MergeRequest}}}
		w.approvals = approval.New(approval.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, MergeRequests: w.MergeRequests, Protections: w.Protections, Settings: w.Settings, Now: w.Now,
		})
		w.MergeRequests.Connect(mergerequest.Above{Approvals: w.approvals, Commands: alonetest.Commands{}})
		payloads := payload.New(payload.Deps{
			DB: d, Accounts: w.Accounts, Projects: w.Projects, Repos: w.Repos, Protections: w.Protections, MergeRequests: w.MergeRequests, Now: w.Now,
			Namespaces: namespace.New(namespace.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Now: w.Now}),
			Times:      timelog.New(timelog.Deps{Settings: w.Settings}), URLs: w.URLs,
		})
		w.events = hookevent.New(hookevent.Deps{
			DB: d, Settings: w.Settings, Accounts: w.Accounts, Projects: w.Projects, Payloads: payloads, Jobs: job.EnqueuerFunc(w.Enqueue), Log: slog.New(slog.DiscardHandler), Now: w.Now,
		})
		w.connect(w.listener)
		w.events.Subscribe(w.Bus)
		w.Start(w.events.RegisterJobs)
		fn(t, w)
	})
}

// connect says who is notified.
func (w *world) connect(recipients ...payload.Recipient) {
	w.events.Connect(hookevent.Above{Recipients: recipients})
}

// again lets the time of a job come that has failed.
func (w *world) again() {
	w.T.Helper()
	w.Exec("UPDATE river_job SET scheduled_at = created_at WHERE kind = 'hand_over_hook_events'")
}

// drain does all background work.
func (w *world) drain() {
	w.T.Helper()
	w.again()
	approvaltest.Check(w.T, w.Jobs.Drain(w.T.Context()))
}

// silence switches silent mode.
func (w *world) silence(on bool) {
	w.T.Helper()
	coretest.Setter(w.T, w.Settings)("silent_mode_enabled", on)
}

// recorded counts the events that wait.
func (w *world) recorded() int64 {
	w.T.Helper()
	n, err := db.Get[int64](w.T.Context(), w.DB, "SELECT COUNT(*) FROM hook_events")
	approvaltest.Check(w.T, err)
	return n
}

// update changes a merge request as the developer.
func (w *world) update(iid mergerequest.IID, c mergerequest.Changes) {
	w.T.Helper()
	_, err := w.MergeRequests.Update(w.T.Context(), w.Developer, w.As(w.Developer), iid, c)
	approvaltest.Check(w.T, err)
}

// body decodes the body of a message.
func body(t *testing.T, m *payload.Message) map[string]any {
	t.Helper()
	var out map[string]any
	approvaltest.Check(t, json.Unmarshal(m.JSON, &out))
	return out
}

// action is what a body says happened, or the state of a pipeline or job.
func action(b map[string]any) any {
	for _, path := range [][]string{{"object_attributes", "action"}, {"action"}, {"object_attributes", "status"}, {"build_status"}, {"event_name"}} {
		if v := at(b, path...); v != nil {
			return v
		}
	}
	return ""
}

// at returns a value of a body.
func at(of map[string]any, path ...string) any {
	for _, name := range path[:len(path)-1] {
		of, _ = of[name].(map[string]any)
	}
	return of[path[len(path)-1]]
}

// first returns the first commit before another one.
func (w *world) first(sha string) string {
	w.T.Helper()
	id, err := gitstore.ParseObjectID(sha)
	approvaltest.Check(w.T, err)
	ids, err := w.Git().Log(w.T.Context(), gitcmd.LogOptions{From: []gitstore.ObjectID{id}})
	approvaltest.Check(w.T, err)
	return ids[len(ids)-1].String()
}
