// Package subscription says who hears of what happens on issues, merge requests, epics,
// snippets, commits and labels: those who subscribed, and those who take part.
package subscription

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
)

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Labels *label.Service
	Kinds  *noteable.Kinds // what users subscribe to
	Now    func() time.Time
}

// Service reads and changes subscriptions.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// On names a thing of a project or group.
type On struct {
	Place authz.Place
	Kind  noteable.Kind
	Key   noteable.Key
}

// Subscribe registers what happens with subscriptions when things are deleted
// and labels become those of groups.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "subscriptions"
	event.On(b, name, s.copied)
	event.On(b, name, func(ctx context.Context, e noteable.Deleted) error { return s.clear(ctx, e.Noteable()) })
	event.On(b, name, s.labelPromoted)
}

// copied writes down for an issue that got the notes of another who is mentioned in them.
func (s *Service) copied(ctx context.Context, e issue.Created) error {
	if !e.WithNotes {
		return nil
	}
	_, err := s.DB.Exec(ctx, `INSERT INTO mentions (target_type, target_id, user_id, internal, project_id)
		SELECT m.target_type, CAST(? AS BIGINT), m.user_id, m.internal, CAST(? AS BIGINT) FROM mentions m
		WHERE m.target_type = ? AND m.target_id = ? ON CONFLICT DO NOTHING`, e.Row().ID, e.Row().ProjectID, noteable.Issue, e.CopyOf)
	if err != nil {
		return fmt.Errorf("copy mentions: %w", err)
	}
	return nil
}

func (s *Service) clear(ctx context.Context, on noteable.Ref) error {
	for _, table := range []string{"subscriptions", "mentions"} {
		if _, err := s.DB.Exec(ctx, "DELETE FROM "+table+" WHERE target_type = ? AND target_id = ?", on.Kind, on.ID); err != nil {
			return fmt.Errorf("clear %s: %w", table, err)
		}
	}
	return nil
}

// Set subscribes the actor to a thing, or ends that; what is so already is no error.
func (s *Service) Set(ctx context.Context, as authz.Actor, on On, want bool) error {
	set := s.Remove
	if want {
		set = s.Add
	}
	err := set(ctx, as, on)
	if errs.Is(err, errs.NotModified) {
		return nil
	}
	return err
}

// Add subscribes the actor to a thing. It returns NotModified where it is already.
func (s *Service) Add(ctx context.Context, as authz.Actor, on On) error {
	return s.set(ctx, as, on, true)
}

// Remove unsubscribes the actor from a thing, also where it takes part. It returns NotModified
// where the actor is not subscribed.
func (s *Service) Remove(ctx context.Context, as authz.Actor, on On) error {
	return s.set(ctx, as, on, false)
}

func (s *Service) set(ctx context.Context, as authz.Actor, on On, want bool) error {
	kind := s.Kinds.Find(on.Kind)
	if kind == nil {
		return fmt.Errorf("subscriptions: nothing finds things of kind %q", on.Kind)
	}
	t, err := kind.Provider.Locate(ctx, as, on.Place, on.Key)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateSubscription, t.Subject); err != nil {
		return err
	}
	if t.Kind == noteable.Commit {
		return s.chooseCommit(ctx, as.UserID, t.Ref, want)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		present, err := s.of(ctx, as.UserID, []noteable.Ref{t.Ref})
		if err != nil {
			return err
		}
		if present[t.Ref] == want {
			return errs.New(errs.NotModified, "")
		}
		return s.choose(ctx, as.UserID, t, want)
	})
	return errs.Wrap(err, "change subscription")
}

// End unsubscribes a user from a thing, also one who is not subscribed and hears of it as a watcher
// of its project. It asks for no permission and is for core.
func (s *Service) End(ctx context.Context, user authz.UserID, t noteable.Target) error {
	if t.Kind == noteable.Commit {
		if err := s.chooseCommit(ctx, user, t.Ref, false); !errs.Is(err, errs.NotModified) {
			return err
		}
		return nil
	}
	return errs.Wrap(s.choose(ctx, user, t, false), "end subscription")
}

// choose writes what a user chose for a thing.
func (s *Service) choose(ctx context.Context, user authz.UserID, t noteable.Target, want bool) error {
	projectID, groupID := t.Place()
	_, err := db.InsertRow(ctx, s.DB, "subscriptions", db.Values{
		"target_type": t.Kind, "target_id": t.ID, "user_id": user, "project_id": projectID, "group_id": groupID, "subscribed": want,
		"created_at": db.At(s.Now()),
	}, "ON CONFLICT (target_type, target_id, user_id) DO UPDATE SET subscribed = excluded.subscribed")
	return err
}

// Of reports which of the things the actor is subscribed to: what it chose, or whether it
// takes part. It asks for no permission to see them.
func (s *Service) Of(ctx context.Context, as authz.Actor, things ...noteable.Ref) (map[noteable.Ref]bool, error) {
	if !as.SignedIn() {
		return nil, nil
	}
	out, err := s.of(ctx, as.UserID, things)
	return out, errs.Wrap(err, "read subscriptions")
}

func (s *Service) of(ctx context.Context, user authz.UserID, things []noteable.Ref) (map[noteable.Ref]bool, error) {
	out := make(map[noteable.Ref]bool, len(things))
	kinds := map[noteable.Kind][]noteable.Ref{}
	for _, ref := range things {
		kinds[ref.Kind] = append(kinds[ref.Kind], ref)
	}
	type row struct {
		ID         int64 `db:"id"`
		Subscribed bool  `db:"subscribed"`
	}
	for kind, refs := range kinds {
		part, ok := s.takes(kind)
		if !ok {
			continue
		}
		var w db.Where
		w.In("t.id", noteable.IDs(refs))
		takes, args := part.concerns(kind, user)
		rows, err := db.Select[row](ctx, s.DB, `SELECT t.id, COALESCE((SELECT s.subscribed FROM subscriptions s
				WHERE s.target_type = ? AND s.target_id = t.id AND s.user_id = ?), `+takes+`) AS subscribed
			FROM `+part.table+" t"+w.SQL()+" ORDER BY t.id", append(append([]any{kind, user}, args...), w.Args()...)...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[noteable.Ref{Kind: kind, ID: r.ID}] = r.Subscribed
		}
	}
	return out, nil
}
