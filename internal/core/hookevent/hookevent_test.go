package hookevent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/hookevent"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
	"tenon/internal/core/timelog"
)

// recipient keeps what it is told.
type recipient struct {
	listens bool
	asked   int
	told    []*payload.Message
}

func (r *recipient) Listening(a payload.Audience) (string, []any) {
	r.asked++
	return "SELECT 1 WHERE ?", []any{r.listens && a.Trigger == payload.MergeRequest}
}

func (r *recipient) Receive(_ context.Context, m *payload.Message) error {
	r.told = append(r.told, m)
	return nil
}

// TestService opens, renames and closes a merge request: each event is told once, in order, as the merge request was at the time.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, to := approvaltest.New(t, d), &recipient{}
		s := hookevent.New(hookevent.Deps{
			DB: d, Settings: w.Settings, Projects: w.Projects, Jobs: job.EnqueuerFunc(w.Enqueue), Log: slog.New(slog.DiscardHandler), Now: w.Now,
			Payloads: payload.New(payload.Deps{
				DB: d, Accounts: w.Accounts, Projects: w.Projects, Repos: w.Repos, Times: timelog.New(timelog.Deps{Settings: w.Settings}), URLs: w.URLs,
			}),
		})
		s.Connect(hookevent.Above{Recipients: []payload.Recipient{to}})
		s.Subscribe(w.Bus)
		w.Start(s.RegisterJobs)

		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		if to.asked == 0 {
			t.Fatal("nobody was asked whether they listen")
		}
		waiting := func() int64 {
			n, err := db.Get[int64](t.Context(), d, "SELECT COUNT(*) FROM hook_events")
			approvaltest.Check(t, err)
			return n
		}
		approvaltest.Equal(t, "events while nobody listens", waiting(), 0)

		to.listens = true
		title, old := "Better title", m.Title
		undone := errors.New("undone")
		fails := true
		event.On(w.Bus, "a reaction that fails", func(context.Context, mergerequest.Updated) error {
			if fails {
				return undone
			}
			return nil
		})
		_, err := w.MergeRequests.Update(t.Context(), w.Maintainer, w.As(w.Maintainer), m.IID, mergerequest.Changes{Title: &title})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		approvaltest.Equal(t, "events of a change that is undone", waiting(), 0)
		fails = false

		_, err = w.MergeRequests.Update(t.Context(), w.Maintainer, w.As(w.Maintainer), m.IID, mergerequest.Changes{Title: &title})
		approvaltest.Check(t, err)
		_, err = w.MergeRequests.Update(t.Context(), w.Maintainer, w.As(w.Maintainer), m.IID, mergerequest.Changes{Event: mergerequest.Close})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "recorded events", waiting(), 2)
		approvaltest.Check(t, w.Jobs.Drain(t.Context()))
		told := to.told
		approvaltest.Equal(t, "messages", len(told), 2)
		approvaltest.Equal(t, "waiting events", waiting(), 0)

		type body struct {
			Kind       string `json:"object_kind"`
			Attributes struct {
				Title, Action, State string
			} `json:"object_attributes"`
			Changes map[string]struct{ Previous, Current any }
		}
		var first, second body
		approvaltest.Check(t, json.Unmarshal(told[0].JSON, &first))
		approvaltest.Check(t, json.Unmarshal(told[1].JSON, &second))
		approvaltest.Equal(t, "kind", first.Kind, "merge_request")
		approvaltest.Equal(t, "title", first.Attributes.Title, title)
		approvaltest.Equal(t, "first action", first.Attributes.Action, "update")
		approvaltest.Equal(t, "state at the time", first.Attributes.State, "opened")
		approvaltest.Equal(t, "previous title", first.Changes["title"].Previous, any(old))
		approvaltest.Equal(t, "second action", second.Attributes.Action, "close")
		if told[0].Event >= told[1].Event || told[0].Chain == "" || told[0].Chain == told[1].Chain {
			t.Errorf("events %d and %d with chains %q and %q", told[0].Event, told[1].Event, told[0].Chain, told[1].Chain)
		}
	})
}
