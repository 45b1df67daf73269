// Package broadcast keeps the messages with which administrators address all users.
package broadcast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/cached"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a message.
type ID int64

// Types of messages.
const (
	Banner       = "banner" // across the page; a push shows it as well
	Notification = "notification"
)

// Themes are how a message may look; the first is the default.
var Themes = []string{"indigo", "light-indigo", "blue", "light-blue", "green", "light-green", "red", "light-red", "dark", "light"}

// Bounds of what is stored.
const (
	maxMessages = 1_000
	maxShown    = 20 // messages that a page shows
	maxMessage  = 10_000
	maxPath     = 255
)

// Message is one message to all users.
type Message struct {
	ID          ID                   `db:"id"`
	Message     string               `db:"message"`
	StartsAt    db.Time              `db:"starts_at"`
	EndsAt      db.Time              `db:"ends_at"`
	Color       string               `db:"color"` // #RRGGBB, as the next
	Font        string               `db:"font"`
	Theme       string               `db:"theme"`
	Levels      db.List[authz.Level] `db:"target_access_levels"` // only for users with one of these roles where the page is; all where empty
	Path        string               `db:"target_path"`          // of the pages, in which * stands for anything; "" is every page
	Type        string               `db:"broadcast_type"`
	Dismissable bool                 `db:"dismissable"`
	CreatedAt   db.Time              `db:"created_at"`
	UpdatedAt   db.Time              `db:"updated_at"`

	Active bool `db:"-" change:"-"` // whether it is shown, when it was read
}

// About is the message as the subject of an event.
func (m Message) About() change.Subject {
	title, _, _ := strings.Cut(m.Message, "\n")
	if short := []rune(title); len(short) > 100 {
		title = string(short[:100])
	}
	return change.Subject{Type: "BroadcastMessage", ID: int64(m.ID), Title: title}
}

// activeAt reports whether a message is shown at a time.
func (m *Message) activeAt(now time.Time) bool {
	return !m.StartsAt.After(now) && m.EndsAt.After(now)
}

// Changes are the attributes of a message that a call sets; nil leaves one alone.
type Changes struct {
	Message, Color, Font, Theme, Path, Type *string
	StartsAt, EndsAt                        *time.Time
	Levels                                  []authz.Level
	Dismissable                             *bool
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service keeps the messages. Those that are shown, or will be, are in memory.
type Service struct {
	Deps
	*cached.Value[[]Message]
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{Deps: d}
	s.Value = cached.New(s.read)
	return s
}

var columns = db.Columns[Message]("m")

func (s *Service) read(ctx context.Context) (*[]Message, error) {
	list, err := db.Select[Message](ctx, s.DB, "SELECT "+columns+" FROM broadcast_messages m WHERE m.ends_at > ? ORDER BY m.id DESC LIMIT ?", db.At(s.Now()), maxMessages)
	if err != nil {
		return nil, fmt.Errorf("read broadcast messages: %w", err)
	}
	return &list, nil
}

// Shown returns the messages for a page with this path, the newest first: those for some roles alone where the actor has one of them
// in the group or project of the page, which may be none. It takes no statement where no message is for some roles alone. A nil
// service shows none.
func (s *Service) Shown(ctx context.Context, as authz.Actor, path string, in authz.Subject) ([]Message, error) {
	if s == nil {
		return nil, nil
	}
	now := s.Now()
	var out []Message
	for _, m := range *s.Current() {
		if !m.activeAt(now) || m.Path != "" && !matches(m.Path, path) {
			continue
		}
		if len(m.Levels) > 0 {
			if !as.SignedIn() || in == (authz.Subject{}) {
				continue
			}
			level, err := s.Policy.Level(ctx, as, in)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(m.Levels, level) {
				continue
			}
		}
		if out = append(out, m); len(out) == maxShown {
			break
		}
	}
	return out, nil
}

// look says whether a message is shown now.
func (s *Service) look(m *Message) *Message {
	m.Active = m.activeAt(s.Now())
	return m
}

// matches compares a path with a target, which may lack the slash at its beginning.
func matches(target, path string) bool {
	trim := func(s string) string { return strings.Trim(s, "/") }
	return pattern.Wildcard(trim(target), trim(path))
}

// List returns a page of all messages, the newest first.
func (s *Service) List(ctx context.Context, as authz.Actor, r page.Range) (page.Page[Message], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadBroadcasts, authz.Subject{}); err != nil {
		return page.Page[Message]{}, err
	}
	list, err := page.Select[Message](ctx, s.DB, page.Query{Columns: columns, From: "broadcast_messages m", Order: page.Order{page.ID("m.id")}.Desc()}, r)
	for i := range list.Items {
		s.look(&list.Items[i])
	}
	return list, errs.Wrap(err, "list broadcast messages")
}

// Find returns a message.
func (s *Service) Find(ctx context.Context, as authz.Actor, id ID) (*Message, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadBroadcasts, authz.Subject{}); err != nil {
		return nil, err
	}
	m, err := db.Get[Message](ctx, s.DB, "SELECT "+columns+" FROM broadcast_messages m WHERE m.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find broadcast message: %w", err)
	}
	return s.look(&m), nil
}

// The events of a message.
type (
	// Created says that a message is new.
	Created struct{ change.Of[Message] }

	// Updated says that a message changed.
	Updated struct{ change.Of[Message] }

	// Deleted says that a message is gone.
	Deleted struct{ change.Of[Message] }
)

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("broadcast_message_created", "Created broadcast message {title}")
}

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("broadcast_message_updated", "Updated broadcast message {title}")
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("broadcast_message_deleted", "Deleted broadcast message {title}")
}

// Create adds a message. It is shown from now on for an hour where the call does not say otherwise.
func (s *Service) Create(ctx context.Context, as authz.Actor, c Changes) (*Message, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBroadcasts, authz.Subject{}); err != nil {
		return nil, err
	}
	now := s.Now()
	m := Message{
		StartsAt: db.At(now), Color: "#E75E40", Font: "#FFFFFF", Theme: Themes[0], Levels: db.List[authz.Level]{}, Type: Banner,
		CreatedAt: db.At(now), UpdatedAt: db.At(now),
	}
	if c.StartsAt != nil {
		m.StartsAt = db.At(*c.StartsAt)
	}
	m.EndsAt = db.At(m.StartsAt.Add(time.Hour))
	if err := c.apply(&m); err != nil {
		return nil, err
	}
	err := s.Change(ctx, s.DB, func(ctx context.Context) error {
		full := errs.New(errs.Unprocessable, "There are 1,000 broadcast messages already")
		if err := db.Create(ctx, s.DB, "broadcast_messages", &m, db.Bound{Table: "broadcast_messages", Most: maxMessages, Full: full}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, now, authz.Place{}, &m)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create broadcast message")
	}
	return s.look(&m), nil
}

func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "broadcast_messages", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
}

// Update changes a message.
func (s *Service) Update(ctx context.Context, as authz.Actor, id ID, c Changes) (*Message, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBroadcasts, authz.Subject{}); err != nil {
		return nil, err
	}
	var out db.Change[Message]
	err := s.Change(ctx, s.DB, func(ctx context.Context) (err error) {
		out, err = db.Update(ctx, s.DB, s.row(as, id), func(_ context.Context, m *Message) error { return c.apply(m) })
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), authz.Place{}, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update broadcast message")
	}
	return s.look(&out.After), nil
}

// Delete deletes a message.
func (s *Service) Delete(ctx context.Context, as authz.Actor, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminBroadcasts, authz.Subject{}); err != nil {
		return err
	}
	err := s.Change(ctx, s.DB, func(ctx context.Context) error {
		gone, err := db.Delete[Message](ctx, s.DB, s.row(as, id), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), authz.Place{}, &gone)})
	})
	return errs.Wrap(err, "delete broadcast message")
}

func (c *Changes) apply(m *Message) error {
	for to, from := range map[*string]*string{&m.Message: c.Message, &m.Color: c.Color, &m.Font: c.Font, &m.Theme: c.Theme, &m.Path: c.Path, &m.Type: c.Type} {
		if from != nil {
			*to = *from
		}
	}
	if c.StartsAt != nil {
		m.StartsAt = db.At(*c.StartsAt)
	}
	if c.EndsAt != nil {
		m.EndsAt = db.At(*c.EndsAt)
	}
	if c.Levels != nil {
		m.Levels = c.Levels
	}
	if c.Dismissable != nil {
		m.Dismissable = *c.Dismissable
	}
	return m.check()
}

var color = pattern.New(`^#[0-9A-Fa-f]{3}([0-9A-Fa-f]{3})?$`)

func (m *Message) check() error {
	var f errs.Fields
	f.Check(strings.TrimSpace(m.Message) != "", "message", "can't be blank")
	f.Length("message", &m.Message, maxMessage)
	f.Length("target_path", &m.Path, maxPath)
	f.Check(strings.Count(m.Path, "*") <= 10, "target_path", "has more than 10 wildcards")
	f.Check(color().MatchString(m.Color), "color", "must be a valid color code")
	f.Check(color().MatchString(m.Font), "font", "must be a valid color code")
	f.Check(slices.Contains(Themes, m.Theme), "theme", "is not included in the list")
	f.Check(m.Type == Banner || m.Type == Notification, "broadcast_type", "is not included in the list")
	f.Check(m.EndsAt.After(m.StartsAt.Time), "ends_at", "must be after starts_at")
	for _, l := range m.Levels {
		f.Check(slices.Contains([]authz.Level{authz.Guest, authz.Reporter, authz.Developer, authz.Maintainer, authz.Owner}, l), "target_access_levels", "is not included in the list")
	}
	f.Check(len(m.Levels) <= 5, "target_access_levels", "has more than 5 values")
	return f.Err()
}
