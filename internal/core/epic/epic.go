// Package epic holds the epics of groups: what issues of several projects work towards.
package epic

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// ID identifies an epic among all.
type ID int64

// IID numbers an epic within its group.
type IID int64

// State says whether work on an epic goes on.
type State string

// The states.
const (
	StateOpened State = "opened"
	StateClosed State = "closed"
)

const (
	maxTitle       = 255
	maxDescription = 1_048_576
	defaultColor   = "#1068bf"
)

// Epic is one epic as the actor who read it sees it.
type Epic struct {
	ID               ID                `db:"id"`
	IID              IID               `db:"iid"`
	GroupID          authz.NamespaceID `db:"group_id"`
	AuthorID         authz.UserID      `db:"author_id"`
	ParentID         *ID               `db:"parent_id"`         // also where the actor may not read it; see Parent
	Position         int64             `db:"relative_position"` // orders the children of the parent
	Title            string            `db:"title" fold:"title_fold"`
	Description      *string           `db:"description" fold:"description_fold"`
	State            State             `db:"state"`
	Confidential     bool              `db:"confidential"`
	Color            string            `db:"color"` // #rgb or #rrggbb
	StartIsFixed     bool              `db:"start_date_is_fixed"`
	StartFixed       *string           `db:"start_date_fixed"` // YYYY-MM-DD, also where it is not in use
	DueIsFixed       bool              `db:"due_date_is_fixed"`
	DueFixed         *string           `db:"due_date_fixed"` // as StartFixed
	ClosedAt         *db.Time          `db:"closed_at"`
	ClosedByID       *authz.UserID     `db:"closed_by_id"`
	NotesCount       int64             `db:"notes_count"`        // comments of all readers
	PublicNotesCount int64             `db:"public_notes_count"` // the same without internal ones
	Origin           tree.Origin       `db:"imported_from"`
	CreatedAt        db.Time           `db:"created_at"`
	UpdatedAt        db.Time           `db:"updated_at"`

	Path      string        `db:"path,readonly"`     // full path of the group
	Labels    []label.Label `db:"-" change:"labels"` // by title
	Inherited Dates         `db:"-"`                 // of its issues and child epics that the actor may read
	Parent    *Address      `db:"-"`                 // nil where it has none that the actor may read
}

// Dates are the first and the last day of something, YYYY-MM-DD; nil for none.
type Dates struct{ Start, Due *string }

// Address says where an epic is.
type Address struct {
	ID      ID
	IID     IID
	GroupID authz.NamespaceID
}

// Dates are the days that count: the fixed or the inherited ones.
func (e *Epic) Dates() Dates {
	out := e.Inherited
	if e.StartIsFixed {
		out.Start = e.StartFixed
	}
	if e.DueIsFixed {
		out.Due = e.DueFixed
	}
	return out
}

// TextColor is the color of text on the epic's color.
func (e *Epic) TextColor() string {
	_, text, _ := label.Color(e.Color)
	return text
}

// Input is what a new epic is made of.
type Input struct {
	Title                    string
	Description              *string
	Confidential             bool
	Color                    string   // "" for the usual one
	Labels                   []string // titles; unknown ones are made where the actor may manage labels
	StartIsFixed, DueIsFixed bool
	StartFixed, DueFixed     *string // YYYY-MM-DD
	ParentID                 ID      // 0 for none

	CreatedAt *time.Time // taken from owners only
}

// Changes are those of Update; nil leaves alone. What has a tag is stored in its column.
type Changes struct {
	Title        *string `db:"title"`
	Description  *string `db:"description"`
	Confidential *bool   `db:"confidential"`
	Color        *string `db:"color"`
	StateEvent   string  // close, reopen, or "" for none
	StartIsFixed *bool   `db:"start_date_is_fixed"`
	DueIsFixed   *bool   `db:"due_date_is_fixed"`
	StartFixed   *string `db:"start_date_fixed" empty:"null"`
	DueFixed     *string `db:"due_date_fixed" empty:"null"`
	ParentID     *ID     // 0 clears
	Labels       label.Assignment

	UpdatedAt *time.Time // taken from owners only
}

// Reference is how the epic is named inside its group, "&1".
func (i IID) Reference() string { return "&" + strconv.FormatInt(int64(i), 10) }

// Ref names the epic for labels and notes.
func (e *Epic) Ref() noteable.Ref { return noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)} }

// About names the epic.
func (e Epic) About() change.Subject {
	return change.Subject{Type: string(noteable.Epic), ID: int64(e.ID), IID: int64(e.IID), Title: e.Title}
}

// subject is what permissions on the epic are asked about.
func (e *Epic) subject(as authz.Actor, g *namespace.Group) authz.Subject {
	s := g.Subject()
	s.Own, s.Confidential = as.Is(e.AuthorID), e.Confidential
	return s
}

// validate checks an epic as it will be stored.
func (e *Epic) validate() error {
	var bad errs.Fields
	e.Title = strings.TrimSpace(e.Title)
	bad.Check(e.Title != "", "title", "can't be blank")
	bad.Check(utf8.RuneCountInString(e.Title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	if e.Description != nil {
		bad.Check(utf8.RuneCountInString(*e.Description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	}
	stored, _, ok := label.Color(e.Color)
	bad.Check(ok, "color", "must be a valid color code")
	e.Color = stored
	for _, d := range []struct {
		name string
		day  *string
	}{{"start_date_fixed", e.StartFixed}, {"due_date_fixed", e.DueFixed}} {
		if d.day != nil {
			_, err := time.Parse(time.DateOnly, *d.day)
			bad.Check(err == nil, d.name, "is invalid")
		}
	}
	return bad.Err()
}

// apply writes the changes of columns into e.
func (c Changes) apply(e *Epic, as authz.Actor, now time.Time) {
	db.Assign(e, &c)
	switch {
	case c.StateEvent == "close" && e.State == StateOpened:
		at := db.At(now)
		e.State, e.ClosedAt, e.ClosedByID = StateClosed, &at, &as.UserID
	case c.StateEvent == "reopen" && e.State == StateClosed:
		e.State, e.ClosedAt, e.ClosedByID = StateOpened, nil, nil
	}
}

// day returns a date, nil for "".
func day(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return s
}
