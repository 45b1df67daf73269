// Package milestone holds the milestones of projects and groups.
package milestone

import (
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// ID identifies a milestone among all.
type ID int64

// IID numbers a milestone within its project or group.
type IID int64

// State says whether work towards a milestone goes on.
type State string

// The states.
const (
	Active State = "active"
	Closed State = "closed"
)

const (
	maxTitle       = 255
	maxDescription = 1_048_576
)

// The codes of milestones that break rules; the fields of the error say which.
const (
	CodeNotCreated errs.Code = "milestone_not_created"
	CodeNotUpdated errs.Code = "milestone_not_updated"
)

// Milestone is one milestone of a project or group.
type Milestone struct {
	ID          ID                `db:"id"`
	IID         IID               `db:"iid"`
	NamespaceID authz.NamespaceID `db:"namespace_id"` // of the project or group
	Title       string            `db:"title" fold:"title_fold"`
	Description *string           `db:"description" fold:"description_fold"`
	State       State             `db:"state"`
	StartDate   *string           `db:"start_date"` // YYYY-MM-DD
	DueDate     *string           `db:"due_date"`   // YYYY-MM-DD
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`

	ProjectID *project.ID `db:"project_id,readonly"` // nil for a group's
	Path      string      `db:"path,readonly"`       // full path of the project or group
}

// Expired reports whether the due date has passed at a time.
func (m *Milestone) Expired(now time.Time) bool {
	return m.DueDate != nil && *m.DueDate < now.UTC().Format(time.DateOnly)
}

// Input is what a new milestone is made of.
type Input struct {
	Title       string
	Description *string
	StartDate   *string // YYYY-MM-DD
	DueDate     *string // YYYY-MM-DD
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Title       *string
	Description *string
	StartDate   *string // "" clears
	DueDate     *string // "" clears
	StateEvent  string  // close, activate, or "" for none
}

// Filter selects milestones; the zero value selects those of the place itself.
type Filter struct {
	State       State // "" for both
	IDs         []ID
	IIDs        []IID // ignored with Ancestors and Descendants
	Title       string
	Search      string // part of title or description, without regard to case
	InTitle     string // part of the title, without regard to case
	Ancestors   bool   // those of the groups above the place as well
	Descendants bool   // those of the subgroups and projects below the place as well

	UpdatedAfter, UpdatedBefore *time.Time // inclusive

	From, To string // YYYY-MM-DD: those that have a date and overlap these days; "" for all

	NonArchived bool   // leave out those of archived projects and groups; for Search
	OrderBy     string // a key of orders, "" for due_date; of Search created_at, or "" for the best match
	Asc         bool   // with OrderBy

	page.Range
}

// Created is published when a milestone was made.
type Created struct{ change.Of[Milestone] }

// Copied is published when milestones of former groups were copied to where a project or group was
// transferred.
type Copied struct {
	authz.Stamp

	Milestones []Milestone // at least one, the copies
	Place      authz.Place
}

// Updated is published when a milestone was changed, closed or activated.
type Updated struct{ change.Of[Milestone] }

// Deleted is published when a milestone was deleted. What it was the milestone of has none.
type Deleted struct{ change.Of[Milestone] }

// Promoted is published when a project's milestone became its group's, before those that it
// replaces are deleted.
type Promoted struct {
	change.Of[Milestone] // in the group

	Replaces []ID // milestones of the title in the projects of the group
}

// check collects what is wrong with a milestone as it will be stored.
func (m *Milestone) check() errs.Fields {
	var bad errs.Fields
	bad.Check(m.Title != "", "title", "can't be blank")
	bad.Check(utf8.RuneCountInString(m.Title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	if m.Description != nil {
		bad.Check(utf8.RuneCountInString(*m.Description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	}
	for _, d := range []struct {
		name string
		day  *string
	}{{"start_date", m.StartDate}, {"due_date", m.DueDate}} {
		if d.day != nil {
			_, err := time.Parse(time.DateOnly, *d.day)
			bad.Check(err == nil, d.name, "is invalid")
		}
	}
	if m.StartDate != nil && m.DueDate != nil {
		bad.Check(*m.DueDate >= *m.StartDate, "due_date", "must be greater than start date")
	}
	return bad
}

// apply writes the changes into m.
func (c Changes) apply(m *Milestone) {
	if c.Title != nil {
		m.Title = strings.TrimSpace(*c.Title)
	}
	if c.Description != nil {
		m.Description = c.Description
	}
	if c.StartDate != nil {
		m.StartDate = day(c.StartDate)
	}
	if c.DueDate != nil {
		m.DueDate = day(c.DueDate)
	}
	switch c.StateEvent {
	case "close":
		m.State = Closed
	case "activate":
		m.State = Active
	}
}

// day returns a date, nil for "".
func day(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return s
}

// failed makes the error of a code from what is wrong, nil where nothing is.
func failed(code errs.Code, bad errs.Fields) error {
	if len(bad) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Code: code, Fields: bad}
}

// About names it for events.
func (m Milestone) About() change.Subject {
	return change.Subject{Type: "Milestone", ID: int64(m.ID), IID: int64(m.IID), Title: m.Title}
}
