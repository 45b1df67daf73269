// Package setting keeps the instance's settings: typed, with the contract's defaults,
// one row for each value that was changed.
package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
)

// refreshEvery is how often a server reads what others wrote into its database.
const refreshEvery = 30 * time.Second

// Store reads and writes the settings. It is safe for concurrent use.
type Store struct {
	db      *db.DB
	now     func() time.Time
	box     *secret.Box
	every   time.Duration // how often Start reads
	current atomic.Pointer[Settings]
	loading sync.Mutex // what was read earlier comes into force earlier

	stop chan struct{}
	done sync.WaitGroup
}

// New builds the store; Open must be called before Current.
func New(d *db.DB, now func() time.Time) *Store {
	s := &Store{db: d, now: now, every: refreshEvery}
	defaults := Defaults()
	defaults.created = now()
	defaults.updated = defaults.created
	s.current.Store(&defaults)
	return s
}

// Sealed has secrets sealed with a key. Without one no secret is stored.
func (s *Store) Sealed(box *secret.Box) *Store {
	s.box = box
	return s
}

// Current returns the settings in force. The result is shared: do not change it.
func (s *Store) Current() *Settings { return s.current.Load() }

// state is what is known of the settings as a whole.
type state struct {
	created, updated time.Time
	broken           []Broken
	everywhere       []netip.Prefix // of GloballyAllowedIPs
}

// CreatedAt is when the instance was made.
func (s *Settings) CreatedAt() time.Time { return s.created }

// UpdatedAt is when a setting was changed last.
func (s *Settings) UpdatedAt() time.Time { return s.updated }

// Broken is a stored value that is not in force, because this release does not take it.
type Broken struct {
	Name   string
	Reason string
}

// Broken lists the stored values that are not in force; the defaults are.
func (s *Settings) Broken() []Broken { return s.broken }

type row struct {
	Name      string  `db:"name"`
	Value     string  `db:"value"`
	UpdatedAt db.Time `db:"updated_at"`
}

// Open reads the stored values over the defaults and puts them in force.
func (s *Store) Open(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	next, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.current.Store(next)
	return nil
}

// Start reads the settings again from time to time, as another process may have changed them.
func (s *Store) Start() {
	s.stop = make(chan struct{})
	s.done.Go(func() {
		tick := time.NewTicker(s.every)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				ctx, cancel := context.WithTimeout(context.Background(), refreshEvery)
				_ = s.Open(ctx) // what was read before stays in force
				cancel()
			}
		}
	})
}

// Stop ends what Start began.
func (s *Store) Stop(context.Context) error {
	if s.stop != nil {
		close(s.stop)
		s.done.Wait()
	}
	return nil
}

// read returns the stored values over the defaults.
func (s *Store) read(ctx context.Context) (*Settings, error) {
	rows, err := db.Select[row](ctx, s.db, "SELECT name, value, updated_at FROM settings ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("load settings: %w", err)
	}
	created, err := db.Select[db.Time](ctx, s.db, "SELECT created_at FROM instance")
	if err != nil {
		return nil, fmt.Errorf("load instance: %w", err)
	}
	next := Defaults()
	next.created = s.Current().created
	if len(created) > 0 {
		next.created = created[0].Time
	}
	next.updated = next.created
	for _, r := range rows {
		if r.UpdatedAt.After(next.updated) {
			next.updated = r.UpdatedAt.Time
		}
		e := byName()[r.Name]
		if e == nil || e.Name != r.Name {
			continue // a setting of a newer version
		}
		if reason := s.take(e, &next, r.Value); reason != "" {
			next.broken = append(next.broken, Broken{r.Name, reason})
		}
	}
	next.parse()
	return &next, nil
}

// take puts a stored value into settings, or says why it cannot be in force.
func (s *Store) take(e *Entry, into *Settings, text string) string {
	if e.Secret && text != "null" {
		var kept sealed
		if err := json.Unmarshal([]byte(text), &kept); err != nil || s.box == nil {
			return "cannot be read"
		}
		plain, ok := s.box.Try(e.sealedAs(), kept.Text)
		if !ok {
			return "was sealed with another key"
		}
		e.in(into).Set(reflect.ValueOf(&plain))
		return ""
	}
	fresh := reflect.New(e.Type)
	if err := json.Unmarshal([]byte(text), fresh.Interface()); err != nil {
		return "is of another type"
	}
	if problem := e.problem(fresh.Elem()); problem != "" {
		return problem
	}
	e.in(into).Set(fresh.Elem())
	return ""
}

// sealed is a secret at rest.
type sealed struct {
	Text string `json:"sealed"`
}

func (e *Entry) sealedAs() string { return "settings." + e.Name }

// Set stores one value by its API name and puts it in force once the transaction is
// committed. An unknown name or a value of the wrong type is Invalid. It asks for no
// permission: the caller did.
func (s *Store) Set(ctx context.Context, name string, value any) error {
	e := Lookup(name)
	if e == nil {
		return errs.Plain(name + " is not a setting")
	}
	probe := Defaults()
	if err := e.set(&probe, value); err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context) error { return s.put(ctx, e, e.Value(&probe)) })
}

// change runs fn in a transaction and puts in force what was committed. Where that fails the
// old values are in force until the next start or the next change, and the caller gets the error.
func (s *Store) change(ctx context.Context, fn func(ctx context.Context) error) error {
	outer := ctx // the transaction's own ends with it
	var failed error
	err := s.db.InTx(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		s.db.AfterCommit(ctx, func() { failed = s.Open(context.WithoutCancel(outer)) })
		return nil
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("settings are stored, and not in force before the next change or start: %w", failed)
	}
	return err
}

// put stores one value that fits, in the transaction of ctx.
func (s *Store) put(ctx context.Context, e *Entry, value any) error {
	if text, ok := value.(*string); ok && e.Secret && text != nil {
		if s.box == nil {
			return errors.New("store setting " + e.Name + ": there is no key to seal it with")
		}
		value = sealed{s.box.Seal(e.sealedAs(), *text)}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode setting %s: %w", e.Name, err)
	}
	_, err = db.InsertRow(ctx, s.db, "settings", db.Values{
		"name": e.Name, "value": string(text), "updated_at": s.now(),
	}, "ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at")
	if err != nil {
		return fmt.Errorf("store setting %s: %w", e.Name, err)
	}
	return nil
}
