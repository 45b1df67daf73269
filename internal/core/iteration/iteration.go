// Package iteration holds the iterations of groups and the cadences that they come in.
package iteration

import (
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies an iteration among all.
type ID int64

// IID numbers an iteration within its group.
type IID int64

// CadenceID identifies a cadence.
type CadenceID int64

// State says where an iteration is on a day.
type State string

// The states.
const (
	Upcoming State = "upcoming"
	Current  State = "current"
	Closed   State = "closed"
	Opened   State = "opened" // upcoming or current; of filters
)

const (
	maxTitle       = 255
	maxDescription = 1_048_576
	maxWeeks       = 52
	maxAdvance     = 10
)

// Iteration is one iteration of a group.
type Iteration struct {
	ID          ID                `db:"id"`
	IID         IID               `db:"iid"`
	CadenceID   CadenceID         `db:"cadence_id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"` // of the group
	Sequence    int64             `db:"sequence"`     // within the cadence, by date
	Title       *string           `db:"title" fold:"title_fold"`
	Description *string           `db:"description"`
	StartDate   string            `db:"start_date"` // YYYY-MM-DD
	DueDate     string            `db:"due_date"`   // YYYY-MM-DD
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`

	Path string `db:"path,readonly"` // full path of the group
}

// Name is the title, or the days of an iteration without one.
func (i *Iteration) Name() string {
	if i.Title != nil && *i.Title != "" {
		return *i.Title
	}
	return i.StartDate + " - " + i.DueDate
}

// StateAt returns the state at a time.
func (i *Iteration) StateAt(now time.Time) State {
	switch today := now.UTC().Format(time.DateOnly); {
	case i.DueDate < today:
		return Closed
	case i.StartDate > today:
		return Upcoming
	}
	return Current
}

// Cadence is a series of iterations of a group.
type Cadence struct {
	ID          CadenceID         `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"` // of the group
	Title       string            `db:"title" fold:"title_fold"`
	Description *string           `db:"description"`
	Active      bool              `db:"active"`
	Automatic   bool              `db:"automatic"`         // its iterations are made from the start date on
	StartDate   *string           `db:"start_date"`        // YYYY-MM-DD; of an automatic one
	Weeks       int64             `db:"duration_in_weeks"` // of an automatic one's iterations
	Advance     int64             `db:"upcoming"`          // how many are made in advance
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`
}

// Filter selects iterations; the zero value selects those of the place itself.
type Filter struct {
	State     State // "" for all
	IDs       []ID
	IIDs      []IID
	Cadences  []CadenceID
	Title     string
	Search    string   // part of a field of In, without regard to case
	In        []string // title, cadence_title; empty means title
	Ancestors bool     // those of the groups above as well
	From, To  string   // YYYY-MM-DD: those that overlap these days; "" for all

	ByCadence bool // sorts by cadence before the due date
	Desc      bool

	UpdatedAfter, UpdatedBefore *time.Time // inclusive

	page.Range
}

// CadenceInput is what a new cadence is made of. An automatic one makes its iterations.
type CadenceInput struct {
	Title       string
	Description *string
	Inactive    bool
	Automatic   bool
	StartDate   *string // YYYY-MM-DD; required of an automatic one
	Weeks       int64   // of an automatic one, from 1 to 52
	Advance     int64   // of an automatic one, from 1 to 10
}

// Input is what a new iteration is made of.
type Input struct {
	Cadence     CadenceID
	Title       *string
	Description *string
	StartDate   string // YYYY-MM-DD
	DueDate     string // YYYY-MM-DD
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Title, Description *string
	StartDate, DueDate *string // YYYY-MM-DD; of cadences that are not automatic
}

// Created is published when an iteration was made.
type Created struct{ change.Of[Iteration] }

// Updated is published when an iteration was changed.
type Updated struct{ change.Of[Iteration] }

// Deleted is published when an iteration was deleted. Its issues have none afterwards.
type Deleted struct{ change.Of[Iteration] }

// check collects what is wrong with an iteration as it will be stored.
func (i *Iteration) check() errs.Fields {
	var bad errs.Fields
	bad.Check(i.Title == nil || utf8.RuneCountInString(*i.Title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	bad.Check(i.Description == nil || utf8.RuneCountInString(*i.Description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	for _, d := range [][2]string{{"start_date", i.StartDate}, {"due_date", i.DueDate}} {
		_, err := time.Parse(time.DateOnly, d[1])
		bad.Check(d[1] != "", d[0], "can't be blank")
		bad.Check(err == nil || d[1] == "", d[0], "is invalid")
	}
	bad.Check(i.DueDate >= i.StartDate, "due_date", "must be greater than start date")
	return bad
}

// check collects what is wrong with a cadence as it will be stored.
func (c *Cadence) check() errs.Fields {
	var bad errs.Fields
	bad.Check(c.Title != "", "title", "can't be blank")
	bad.Check(utf8.RuneCountInString(c.Title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	bad.Check(c.Description == nil || utf8.RuneCountInString(*c.Description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	if !c.Automatic {
		return bad
	}
	bad.Check(c.StartDate != nil, "start_date", "can't be blank")
	if c.StartDate != nil {
		_, err := time.Parse(time.DateOnly, *c.StartDate)
		bad.Check(err == nil, "start_date", "is invalid")
	}
	bad.Check(c.Weeks >= 1 && c.Weeks <= maxWeeks, "duration_in_weeks", "is not included in the list")
	bad.Check(c.Advance >= 1 && c.Advance <= maxAdvance, "iterations_in_advance", "is not included in the list")
	return bad
}

// About names it for events.
func (i Iteration) About() change.Subject {
	return change.Subject{Type: "Iteration", ID: int64(i.ID), Title: i.Name()}
}

func (i *Iteration) place() authz.Place {
	return authz.Place{Group: true, ID: int64(i.NamespaceID), Namespace: i.NamespaceID, Path: i.Path}
}
