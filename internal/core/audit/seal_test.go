package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

func signer(t testing.TB) *secret.Signer {
	t.Helper()
	box, err := secret.NewBox(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box.Signer()
}

// trail is an audit trail under test.
type trail struct {
	*audit.Service
	w   *coretest.World
	bus event.Bus
	ann authz.Actor
	t   *testing.T
}

func newTrail(t *testing.T, d *db.DB) *trail {
	t.Helper()
	w := coretest.New(t, d)
	a := &trail{w: w, t: t, ann: w.User("ann")}
	a.Service = audit.New(audit.Deps{DB: d, Policy: w.Policy, Signer: signer(t), Log: slog.New(slog.DiscardHandler), Now: w.Now})
	a.Subscribe(&a.bus)
	return a
}

// write records n events.
func (a *trail) write(n int) {
	a.t.Helper()
	for range n {
		e := account.SignedOn{Stamp: a.ann.Stamp(a.w.Now())}
		if err := a.w.DB.InTx(a.t.Context(), func(ctx context.Context) error { return a.bus.Publish(ctx, e) }); err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *trail) seal() {
	a.t.Helper()
	for {
		n, err := a.Seal(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func (a *trail) exec(query string, args ...any) {
	a.t.Helper()
	if _, err := a.w.DB.Exec(a.t.Context(), query, args...); err != nil {
		a.t.Fatal(err)
	}
}

// verify is what Verify finds, in short: the last event that is sealed, and the first one that is broken.
func (a *trail) verify(seal string) (string, string) {
	a.t.Helper()
	r, err := a.Verify(a.t.Context(), authz.System(), seal, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	text, last := fmt.Sprintf("%t", r.Valid), ""
	if r.SealedUpTo != nil {
		text += fmt.Sprintf(" up to %d", r.SealedUpTo.ID)
		last = r.SealedUpTo.Seal
	}
	if b := r.FirstBroken; b != nil {
		id := "?"
		if b.ID != nil {
			id = fmt.Sprint(*b.ID)
		}
		text += ", " + id + " " + b.Reason
	}
	return text, last
}

func (a *trail) want(want, seal string) {
	a.t.Helper()
	if got, _ := a.verify(seal); got != want {
		a.t.Errorf("got %q, want %q", got, want)
	}
}

// copied inserts a row by SQL, without a proof of the server.
const copied = `INSERT INTO audit_events (author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details, details,
	ip_address, created_at, sealed) SELECT 99, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details, details,
	ip_address, created_at, CAST(? AS BIGINT) FROM audit_events WHERE id = 2`

// Whatever happens to a sealed event is found, and the first one is named.
func TestService_Verify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   []string
		args []any
		want string
	}{
		{name: "nothing", want: "true up to 5"},
		{name: "text", do: []string{`UPDATE audit_events SET details = '{"custom_message":"other"}' WHERE id = 3`}, want: "false up to 2, 3 changed"},
		{name: "author", do: []string{"UPDATE audit_events SET author_name = 'Bob' WHERE id = 1"}, want: "false, 1 changed"},
		{name: "id", do: []string{"UPDATE audit_events SET id = 50 WHERE id = 5"}, want: "false up to 4, 5 missing"},
		{name: "seal", do: []string{"UPDATE audit_seals SET seal = '00' WHERE number = 4"}, want: "false up to 3, 4 changed"},
		{name: "gone", do: []string{"DELETE FROM audit_events WHERE id = 2"}, want: "false up to 1, 2 missing"},
		{name: "first gone", do: []string{"DELETE FROM audit_events WHERE id = 1"}, want: "false, 1 missing"},
		{name: "last gone", do: []string{"DELETE FROM audit_events WHERE id = 5"}, want: "false up to 4, 5 missing"},
		{name: "last gone with its seal", do: []string{"DELETE FROM audit_events WHERE id = 5", "DELETE FROM audit_seals WHERE number = 5"}, want: "false up to 4, ? missing"},
		{name: "all gone", do: []string{"DELETE FROM audit_events", "DELETE FROM audit_seals"}, want: "false, ? missing"},
		{
			name: "last gone with its seal and the end of the chain", want: "false up to 4, ? the record of the last seal was changed",
			do: []string{"DELETE FROM audit_events WHERE id = 5", "DELETE FROM audit_seals WHERE number = 5", "UPDATE audit_chain SET number = 4"},
		},
		{name: "inserted as sealed", do: []string{copied}, args: []any{1}, want: "false up to 5, 6 inserted"},
		{name: "inserted", do: []string{copied}, args: []any{0}, want: "false up to 5, 6 inserted"},
		{name: "taken for not sealed", do: []string{"UPDATE audit_events SET sealed = 0 WHERE id = 2"}, want: "false up to 1, 2 changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				a := newTrail(t, d)
				a.write(5)
				a.seal()
				for _, query := range tt.do {
					a.exec(query, tt.args...)
				}
				a.want(tt.want, "")
				a.seal()
				a.want(tt.want, "")
			})
		})
	}
}

// A seal that was noted shows that no other trail was put in the place of the one it is of.
func TestService_Verify_seal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.want("true", "")
		a.write(3)
		a.want("true", "")
		a.seal()
		_, noted := a.verify("")
		a.write(250)
		a.seal()
		a.want("true up to 253", noted)
		a.exec("DELETE FROM audit_events")
		a.exec("DELETE FROM audit_seals")
		a.exec("DELETE FROM audit_chain")
		a.write(4)
		a.seal()
		a.want("true up to 257", "")
		a.want("false up to 257, ? the given seal is not in the chain", noted)
	})
}

// Events of older releases are sealed without a proof; one that is written among them later is not.
func TestService_Seal_older(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.write(230)
		a.exec("UPDATE audit_events SET proof = ''")
		a.exec("INSERT INTO audit_chain (id, number, seal, unproved) VALUES (1, 0, '', 230)")
		a.exec("DELETE FROM audit_events WHERE id = 100")
		a.seal()
		a.want("true up to 230", "")
		a.write(1)
		a.seal()
		a.exec("UPDATE audit_events SET id = 100, sealed = 0 WHERE id = 231")
		a.want("false up to 230, 231 missing", "")
	})
}

// An event that is committed after one with a higher id is sealed after it, and a clock that goes back changes nothing.
func TestService_Seal_order(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.write(3)
		a.exec("UPDATE audit_events SET id = 10 WHERE id = 2")
		a.seal()
		a.exec("UPDATE audit_events SET created_at = created_at WHERE id = 1")
		a.write(1)
		a.exec("UPDATE audit_events SET id = 2 WHERE id = (SELECT MAX(id) FROM audit_events WHERE sealed = 0)")
		a.seal()
		a.want("true up to 2", "")
	})
}

// Callers who come while a run goes on get its result, also where the one who began it leaves.
func TestService_Verify_once(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.write(20)
		a.seal()
		var all sync.WaitGroup
		first, leave := context.WithCancel(t.Context())
		for i := range 8 {
			all.Go(func() {
				ctx := t.Context()
				if i == 0 {
					ctx = first
				}
				if r, err := a.Verify(ctx, authz.System(), "", nil); i > 0 && (err != nil || !r.Valid) {
					t.Errorf("got %+v, %v", r, err)
				}
			})
		}
		leave()
		all.Wait()
	})
}

// A trail with more text than an answer may hold is verified in a request.
func TestService_Verify_large(t *testing.T) {
	t.Parallel()
	a := newTrail(t, dbtest.Open(t, false))
	a.write(40)
	a.exec("UPDATE audit_events SET proof = '', details = ?", `{"custom_message":"`+strings.Repeat("x", 2<<20)+`"}`)
	a.exec("INSERT INTO audit_chain (id, number, seal, unproved) VALUES (1, 0, '', 40)")
	a.seal()
	ctx, leave := budget.NewRoom(budget.Total).Enter(t.Context())
	defer leave()
	if r, err := a.Verify(ctx, authz.System(), "", nil); err != nil || !r.Valid {
		t.Errorf("got %+v, %v", r, err)
	}
}

// What is committed is sealed within ten seconds, without anybody asking for it.
func TestService_Start(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.write(1) // before a crash
		a.Start()
		a.write(3)
		for began := time.Now(); ; {
			if got, _ := a.verify(""); got == "true up to 4" {
				break
			} else if time.Since(began) > 10*time.Second {
				t.Fatalf("got %q", got)
			}
		}
		a.write(2)
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.want("true up to 6", "")
	})
}

// Connections that the database ends while events are written and sealed leave none without its seal.
func TestService_Start_terminated(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	a := newTrail(t, d)
	a.Start()
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written, lost atomic.Int64
	for range 3 {
		writers.Go(func() {
			for ctx.Err() == nil {
				e := account.SignedOn{Stamp: a.ann.Stamp(a.w.Now())}
				if err := d.InTx(ctx, func(ctx context.Context) error { return a.bus.Publish(ctx, e) }); err != nil {
					lost.Add(1)
				} else {
					written.Add(1)
				}
			}
		})
	}
	for round := range int64(5) {
		for written.Load() < 300*(round+1) {
			pause(t)
		}
		_, err := d.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err != nil {
			t.Logf("terminate: %v", err)
		}
	}
	stop()
	writers.Wait()
	for began := time.Now(); ; pause(t) {
		r, err := a.Verify(t.Context(), authz.System(), "", nil)
		if err == nil && r.Events >= written.Load() {
			waiting, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM audit_events WHERE sealed <> 1")
			if err == nil && waiting == 0 && r.Valid {
				break
			}
		}
		if time.Since(began) > 90*time.Second {
			t.Fatalf("%d events, and %+v, %v", written.Load(), r, err)
		}
	}
	if lost.Load() == 0 {
		t.Error("no connection was lost")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pause lets others go on for a moment.
func pause(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(10 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// A clock that goes back breaks neither the chain nor lists by time, whose latest events are the newest.
func TestService_Seal_clock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := newTrail(t, d)
		a.write(3)
		a.seal()
		back := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
		late := &trail{w: a.w, t: t, ann: a.ann, Service: audit.New(audit.Deps{
			DB: d, Policy: a.w.Policy, Signer: signer(t), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { back = back.Add(time.Hour); return back },
		})}
		late.Subscribe(&late.bus)
		late.write(2)
		a.seal()
		a.write(1)
		a.seal()
		a.want("true up to 6", "")

		year := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, tt := range []struct {
			name string
			f    audit.Filter
			want string
		}{
			{"all", audit.Filter{}, "6 5 4 3 2 1"},
			{"before", audit.Filter{CreatedBefore: &year}, "5 4"},
			{"after", audit.Filter{CreatedAfter: &year}, "6 3 2 1"},
			{"before now", audit.Filter{CreatedBefore: new(a.w.Now())}, "6 3 2 1 5 4"},
			{"of a type", audit.Filter{EntityType: audit.User, CreatedBefore: &year}, "5 4"},
		} {
			tt.f.Range = page.Range{Limit: 2, Keyset: true}
			var got []string
			for {
				list, err := a.List(t.Context(), authz.System(), authz.Place{}, tt.f)
				if err != nil {
					t.Fatal(err)
				}
				for i := range list.Items {
					got = append(got, fmt.Sprint(list.Items[i].ID))
				}
				if tt.f.Cursor = list.Next(); tt.f.Cursor == "" {
					break
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
			}
		}
	})
}
