// Package notify says who is told of what happens, how, and tells them by mail.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Level says how much a user hears of.
type Level string

// The levels.
const (
	Disabled      Level = "disabled"      // nothing
	Participating Level = "participating" // of what the user takes part in
	Watch         Level = "watch"         // of everything
	Global        Level = "global"        // as in the group above, or as the user says for everything
	OnMention     Level = "mention"       // of mentions
	Custom        Level = "custom"        // as OnMention, and of chosen events
)

var levels = []Level{Disabled, Participating, Watch, Global, OnMention, Custom}

// Events are those that users of the level custom choose from, by the names of the API in
// their order; those of epics are for groups.
var Events = []string{
	"new_release", "new_note", "new_issue", "reopen_issue", "close_issue", "reassign_issue", "issue_due", "new_merge_request",
	"push_to_merge_request", "reopen_merge_request", "close_merge_request", "reassign_merge_request", "change_reviewer_merge_request",
	"merge_merge_request", "failed_pipeline", "fixed_pipeline", "success_pipeline", "moved_project", "merge_when_pipeline_succeeds", "new_epic",
}

// byDefault are the events that are on where the user says nothing.
var byDefault = []string{"failed_pipeline", "fixed_pipeline", "moved_project"}

// Setting is what one user said of one place.
type Setting struct {
	UserID    authz.UserID
	Namespace authz.NamespaceID // of a group or project; 0 for the user's own setting
	Level     Level
	Email     string          // that mail goes to, of the user's own setting; "" is the primary address
	Chosen    map[string]bool // of Events; those that are missing are as byDefault
}

// Wants reports whether an event is chosen.
func (s *Setting) Wants(event string) bool {
	if on, ok := s.Chosen[event]; ok {
		return on
	}
	return slices.Contains(byDefault, event)
}

// EventsOf returns for each event whether it is chosen, where the level is Custom; nil at all
// others. The events of epics are those of groups.
func (s *Setting) EventsOf(group bool) map[string]bool {
	if s.Level != Custom {
		return nil
	}
	out := make(map[string]bool, len(Events))
	for _, name := range Events {
		if name != "new_epic" || group {
			out[name] = s.Wants(name)
		}
	}
	return out
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Level  *string
	Email  *string // of the user's own setting alone
	Events map[string]bool
}

type settingRow struct {
	UserID    authz.UserID `db:"user_id"`
	Namespace *int64       `db:"namespace_id"`
	Level     Level        `db:"level"`
	Email     string       `db:"email"`
	Events    string       `db:"events"` // JSON
}

func (r *settingRow) setting() (Setting, error) {
	s := Setting{UserID: r.UserID, Level: r.Level, Email: r.Email, Chosen: map[string]bool{}}
	if r.Namespace != nil {
		s.Namespace = authz.NamespaceID(*r.Namespace)
	}
	if err := json.Unmarshal([]byte(r.Events), &s.Chosen); err != nil {
		return s, fmt.Errorf("events of notification setting: %w", err)
	}
	return s, nil
}

// Find returns the actor's setting for a group or project, Global where there is none; or that for everywhere, Participating where there
// is none.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place) (*Setting, error) {
	if err := s.require(ctx, as, authz.ReadOwnNotifications, at); err != nil {
		return nil, err
	}
	return s.find(ctx, as.UserID, at.Subject.Namespace)
}

func (s *Service) require(ctx context.Context, as authz.Actor, ability authz.Ability, at authz.Place) error {
	if !at.IsInstance() {
		if err := s.Policy.Require(ctx, as, at.Ability(authz.ReadProject, authz.ReadGroup), at.Subject); err != nil {
			return err
		}
	}
	return s.Policy.Require(ctx, as, ability, at.Subject)
}

func (s *Service) find(ctx context.Context, user authz.UserID, namespace authz.NamespaceID) (*Setting, error) {
	r, err := db.Get[settingRow](ctx, s.DB, "SELECT "+db.Columns[settingRow]("")+` FROM notification_settings
		WHERE user_id = ? AND COALESCE(namespace_id, 0) = ?`, user, namespace)
	if errors.Is(err, db.ErrNotFound) {
		level := Global
		if namespace == 0 {
			level = Participating
		}
		return &Setting{UserID: user, Namespace: namespace, Level: level, Chosen: map[string]bool{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read notification setting: %w", err)
	}
	found, err := r.setting()
	return &found, err
}

// CodeInvalid is a notification setting that breaks a rule; the field says which.
const CodeInvalid errs.Code = "notification_setting_invalid"

// Update changes the actor's setting for a place.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Setting, error) {
	if err := s.require(ctx, as, authz.UpdateOwnNotifications, at); err != nil {
		return nil, err
	}
	if c.Level != nil && !slices.Contains(levels, Level(*c.Level)) {
		return nil, errs.Plain("'" + *c.Level + "' is not a valid level")
	}
	var out *Setting
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, fmt.Sprintf("notification settings of %d", as.UserID)); err != nil {
			return err
		}
		var err error
		if out, err = s.find(ctx, as.UserID, at.Subject.Namespace); err != nil {
			return err
		}
		if c.Level != nil {
			out.Level = Level(*c.Level)
		}
		if c.Email != nil && at.Subject.Namespace == 0 {
			if err := s.owned(ctx, as.UserID, *c.Email); err != nil {
				return err
			}
			out.Email = *c.Email
		}
		for name, on := range c.Events {
			out.Chosen[name] = on
		}
		return s.save(ctx, out)
	})
	if err != nil {
		return nil, errs.Wrap(err, "update notification setting")
	}
	return out, nil
}

func (s *Service) save(ctx context.Context, set *Setting) error {
	events, err := json.Marshal(set.Chosen)
	if err != nil {
		return err
	}
	var namespace *authz.NamespaceID
	if set.Namespace != 0 {
		namespace = &set.Namespace
	}
	now := db.At(s.Now())
	changed, err := s.DB.Exec(ctx, `UPDATE notification_settings SET level = ?, email = ?, events = ?, updated_at = ?
		WHERE user_id = ? AND COALESCE(namespace_id, 0) = ?`, set.Level, set.Email, string(events), now, set.UserID, set.Namespace)
	if err != nil || changed > 0 {
		return err
	}
	_, err = db.InsertRow(ctx, s.DB, "notification_settings", db.Values{
		"user_id": set.UserID, "namespace_id": namespace, "level": set.Level, "email": set.Email, "events": string(events),
		"created_at": now, "updated_at": now,
	}, "")
	return err
}

// owned refuses an address that the user has not proved to read.
func (s *Service) owned(ctx context.Context, user authz.UserID, email string) error {
	if email == "" {
		return nil
	}
	ok, err := s.owns(ctx, user, email)
	if err == nil && !ok {
		err = errs.Broken(CodeInvalid, "notification_email", "must be an email you have verified")
	}
	return err
}

// owns reports whether an address is a confirmed one of the user.
func (s *Service) owns(ctx context.Context, user authz.UserID, email string) (bool, error) {
	ok, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM emails e WHERE e.user_id = ? AND e.email_fold = ?
		AND e.confirmed_at IS NOT NULL AND NOT e.pending)`, user, db.Fold(email))
	if err != nil {
		return false, fmt.Errorf("look for address: %w", err)
	}
	return ok, nil
}

// Address is where mail of a setting goes: the one that was chosen, while the user still has
// it, or the primary address.
func (s *Service) Address(ctx context.Context, set *Setting) (string, error) {
	if set.Email != "" {
		err := s.owned(ctx, set.UserID, set.Email)
		if err == nil || !errs.Is(err, errs.Invalid) {
			return set.Email, err
		}
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{set.UserID})
	if err != nil {
		return "", err
	}
	if u := users[set.UserID]; u != nil {
		return u.Email, nil
	}
	return "", nil
}

// Users reads users.
type Users interface {
	Load(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.User, error)
	AddressOwners(ctx context.Context, emails []string) (map[string]authz.UserID, error)
}
