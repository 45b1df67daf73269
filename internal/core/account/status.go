package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark-emoji/definition"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Status is what a user says of the moment. The zero value says nothing.
type Status struct {
	UserID       authz.UserID `db:"user_id"`
	Emoji        string       `db:"emoji"`        // name without colons
	Message      string       `db:"message"`      // one line of text
	Availability string       `db:"availability"` // not_set or busy
	ClearAt      *db.Time     `db:"clear_at"`     // from when on it says nothing; nil is never
	UpdatedAt    db.Time      `db:"updated_at"`
}

// Empty reports that the user says nothing.
func (s *Status) Empty() bool { return s.UserID == 0 }

// StatusChanges changes a status; nil leaves alone, "" takes away.
type StatusChanges struct {
	Emoji, Message, Availability *string
	ClearAfter                   *string // one of clearTimes
}

// clearTimes are the times after which a status may end, by the contract's names.
var clearTimes = map[string]time.Duration{
	"30_minutes": 30 * time.Minute, "3_hours": 3 * time.Hour, "8_hours": 8 * time.Hour, "1_day": 24 * time.Hour,
	"3_days": 72 * time.Hour, "7_days": 7 * 24 * time.Hour, "30_days": 30 * 24 * time.Hour,
}

const (
	defaultEmoji = "speech_balloon"
	notSet       = "not_set"
	maxStatus    = 100 // characters of a message
)

// OwnStatus returns the actor's own status.
func (s *Service) OwnStatus(ctx context.Context, as authz.Actor) (Status, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnUser, authz.Subject{}); err != nil {
		return Status{}, err
	}
	return s.status(ctx, as.UserID)
}

// StatusOf returns the status of the user with this number or username, to anybody.
func (s *Service) StatusOf(ctx context.Context, as authz.Actor, ref string) (Status, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUserStatus, authz.Subject{}); err != nil {
		return Status{}, err
	}
	if s.Hidden(as) {
		return Status{}, errs.Missing("User")
	}
	condition, arg := "username_fold = ?", any(db.Fold(ref))
	if ref != "" && strings.Trim(ref, "0123456789") == "" {
		n, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			n = 0 // beyond every number there is
		}
		condition, arg = "id = ?", any(n)
	}
	id, err := db.Get[authz.UserID](ctx, s.DB, "SELECT id FROM users WHERE "+condition, arg)
	if errors.Is(err, db.ErrNotFound) {
		return Status{}, errs.Missing("User")
	}
	if err != nil {
		return Status{}, fmt.Errorf("find user: %w", err)
	}
	return s.status(ctx, id)
}

func (s *Service) status(ctx context.Context, user authz.UserID) (Status, error) {
	st, err := db.Get[Status](ctx, s.DB, "SELECT "+db.Columns[Status]("t")+` FROM user_statuses t
		WHERE t.user_id = ? AND (t.clear_at IS NULL OR t.clear_at > ?)`, user, s.Now())
	if errors.Is(err, db.ErrNotFound) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("read status: %w", err)
	}
	return st, nil
}

// SetStatus changes the actor's own status. One that says nothing any more is removed.
func (s *Service) SetStatus(ctx context.Context, as authz.Actor, c StatusChanges) (Status, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{}); err != nil {
		return Status{}, err
	}
	if err := c.check(); err != nil {
		return Status{}, err
	}
	var out Status
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM user_statuses WHERE user_id = ?", as.UserID); err != nil {
			return err
		}
		// The row of the user is there where that of the status is not yet.
		if _, err := db.ForUpdate[userRow](ctx, s.DB, s.userAt(as.UserID)); err != nil {
			return err
		}
		next, err := s.status(ctx, as.UserID)
		if err != nil {
			return err
		}
		c.apply(&next, s.Now())
		if next.Emoji == "" && next.Message == "" && next.Availability == notSet {
			out = Status{}
			_, err := s.DB.Exec(ctx, "DELETE FROM user_statuses WHERE user_id = ?", as.UserID)
			return err
		}
		if next.Emoji == "" {
			next.Emoji = defaultEmoji
		}
		next.UserID, next.UpdatedAt = as.UserID, db.At(s.Now())
		out = next
		_, err = db.InsertRow(ctx, s.DB, "user_statuses", next, `ON CONFLICT (user_id) DO UPDATE SET emoji = excluded.emoji,
			message = excluded.message, availability = excluded.availability, clear_at = excluded.clear_at, updated_at = excluded.updated_at`)
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("set status: %w", err)
	}
	return out, nil
}

func (c *StatusChanges) check() error {
	var f errs.Fields
	if emoji := or(c.Emoji, ""); emoji != "" {
		_, known := definition.Github().Get(emoji)
		f.Check(known, "emoji", "is not a valid emoji name")
	}
	f.Check(utf8.RuneCountInString(or(c.Message, "")) <= maxStatus, "message", "is too long (maximum is 100 characters)")
	return f.Err()
}

func (c *StatusChanges) apply(to *Status, now time.Time) {
	to.Emoji = or(c.Emoji, to.Emoji)
	to.Message = strings.TrimSpace(or(c.Message, to.Message))
	if to.Availability = or(c.Availability, to.Availability); to.Availability == "" {
		to.Availability = notSet
	}
	if c.ClearAfter == nil {
		return
	}
	to.ClearAt = nil
	if after, ok := clearTimes[*c.ClearAfter]; ok {
		at := db.At(now.Add(after))
		to.ClearAt = &at
	}
}
