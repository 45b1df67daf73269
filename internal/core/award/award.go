// Package award holds the emoji with which people react to things.
package award

import (
	"context"
	"fmt"
	"time"

	"github.com/yuin/goldmark-emoji/definition"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
)

// ID identifies an award.
type ID int64

// Award is one reaction of one user.
type Award struct {
	ID        ID            `db:"id"`
	Name      string        `db:"name"` // canonical, without colons
	UserID    authz.UserID  `db:"user_id"`
	Kind      noteable.Kind `db:"awardable_type"`
	TargetID  int64         `db:"awardable_id"`
	CreatedAt db.Time       `db:"created_at"`
	UpdatedAt db.Time       `db:"updated_at"`
}

// Added is published when a user reacted.
type Added struct {
	change.Of[Award]

	Target noteable.Target
}

// Removed is published when a reaction was taken back.
type Removed struct {
	change.Of[Award]

	Target noteable.Target
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Kinds  *noteable.Kinds
	Now    func() time.Time
}

// Service reads and changes awards.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// CodeInvalid is an award emoji that breaks a rule; the field says which. It is a Conflict where
// the actor gave the same one before.
const CodeInvalid errs.Code = "award_emoji_invalid"

// Add reacts to a thing with an emoji, named without colons. It is NotFound where the actor may
// not react, as the API says.
func (s *Service) Add(ctx context.Context, as authz.Actor, to noteable.Target, name string) (*Award, error) {
	err := s.Policy.Require(ctx, as, authz.AwardEmoji, to.Subject)
	if err == nil && to.Locked {
		err = s.Policy.Require(ctx, as, authz.CreateNoteLocked, to.Subject)
	}
	if errs.Is(err, errs.Forbidden) || err == nil && to.System {
		err = errs.Missing("Award Emoji")
	}
	if err != nil {
		return nil, err
	}
	name, ok := Canonical(name)
	if !ok {
		return nil, errs.Broken(CodeInvalid, "name", "is not a valid emoji name")
	}
	now := db.At(s.Now())
	a := &Award{Name: name, UserID: as.UserID, Kind: to.Kind, TargetID: to.ID, CreatedAt: now, UpdatedAt: now}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "award_emoji", a); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Added{change.Created(as, now.Time, place(&to), a), to})
	})
	if db.Duplicate(err, "award_emoji") {
		return nil, &errs.Error{Kind: errs.Conflict, Code: CodeInvalid, Fields: []errs.Field{{Name: "name", Messages: []string{"has already been taken"}}}}
	}
	if err != nil {
		return nil, fmt.Errorf("add award: %w", err)
	}
	return a, nil
}

// Votes are the thumbs of one thing.
type Votes struct {
	TargetID int64 `db:"awardable_id"`
	Up       int64 `db:"up"`
	Down     int64 `db:"down"`
}

// ForTargets counts the thumbs of things of one kind; those without any are left out.
func (s *Service) ForTargets(ctx context.Context, kind noteable.Kind, ids []int64) (map[int64]Votes, error) {
	out := make(map[int64]Votes, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("awardable_type = ?", kind)
	w.In("awardable_id", ids)
	rows, err := db.Select[Votes](ctx, s.DB, `SELECT awardable_id, SUM(CASE WHEN name = 'thumbsup' THEN 1 ELSE 0 END) AS up,
		SUM(CASE WHEN name = 'thumbsdown' THEN 1 ELSE 0 END) AS down FROM award_emoji`+w.SQL()+" GROUP BY awardable_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count votes: %w", err)
	}
	for _, v := range rows {
		out[v.TargetID] = v
	}
	return out, nil
}

// Clear removes all reactions to a thing that is being deleted, in the caller's transaction.
func (s *Service) Clear(ctx context.Context, to noteable.Ref) error {
	_, err := s.DB.Exec(ctx, "DELETE FROM award_emoji WHERE awardable_type = ? AND awardable_id = ?", to.Kind, to.ID)
	if err != nil {
		return fmt.Errorf("clear awards: %w", err)
	}
	return nil
}

// ClearNotes removes all reactions to the notes of a thing that is being deleted, in the
// caller's transaction and before the notes are gone.
func (s *Service) ClearNotes(ctx context.Context, of noteable.Ref) error {
	_, err := s.DB.Exec(ctx, `DELETE FROM award_emoji WHERE awardable_type = 'Note' AND awardable_id IN
		(SELECT n.id FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ?)`, of.Kind, of.ID)
	if err != nil {
		return fmt.Errorf("clear awards of notes: %w", err)
	}
	return nil
}

// lone is a text that is one emoji between colons and nothing else.
var lone = pattern.New(`^\s*:([0-9A-Za-z_+-]+):\s*$`)

// Only returns the emoji's name where a text consists of one emoji, such as ":+1:".
func Only(text string) (name string, ok bool) {
	if len(text) > 200 {
		return "", false
	}
	m := lone().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return Canonical(m[1])
}

// Canonical returns the name under which an emoji is kept: the aliases of the thumbs
// become thumbsup and thumbsdown. Unknown names are not ok.
func Canonical(name string) (canonical string, ok bool) {
	switch name {
	case "+1":
		return "thumbsup", true
	case "-1":
		return "thumbsdown", true
	}
	_, ok = definition.Github().Get(name)
	return name, ok
}

// Emoji is what there is to know of an emoji.
type Emoji struct {
	Description string
	Text        string // the characters, "" for one that Unicode does not have
	Version     string // of Unicode, the first that has them; "" as Text
}

// Emoji returns that of the award.
func (a *Award) Emoji() Emoji {
	known, ok := definition.Github().Get(a.Name)
	if !ok {
		known, ok = definition.Github().Get(map[string]string{"thumbsup": "+1", "thumbsdown": "-1"}[a.Name])
	}
	switch {
	case !ok:
		return Emoji{Description: a.Name}
	case !known.IsUnicode():
		return Emoji{Description: known.Name}
	}
	text := string(known.Unicode)
	return Emoji{known.Name, text, version(text)}
}

// About names it for events.
func (a Award) About() change.Subject {
	return change.Subject{Type: "AwardEmoji", ID: int64(a.ID), Title: a.Name}
}

// place is the project or group of the target.
func place(t *noteable.Target) authz.Place {
	if t.ProjectID != 0 {
		return authz.Place{ID: t.ProjectID, Path: t.ProjectPath, Subject: t.Subject}
	}
	return authz.Place{Group: t.GroupID != 0, ID: int64(t.GroupID), Namespace: t.GroupID, Path: t.GroupPath, Subject: t.Subject}
}
