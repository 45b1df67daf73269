// Package label holds the labels of projects and groups and what they are attached to.
package label

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a label.
type ID int64

const (
	maxTitle       = 255
	maxDescription = 512 << 10 // characters
	defaultColor   = "#6699cc" // of labels made by naming them on an issue
)

// Label is one label of a project or group.
type Label struct {
	ID          ID                `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"` // of the project or group
	Title       string            `db:"title" fold:"title_fold"`
	Description *string           `db:"description" fold:"description_fold"`
	Color       string            `db:"color"`    // "#rgb" or "#rrggbb", as it was given
	Archived    bool              `db:"archived"` // left out where labels are offered
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`

	Priority *int64 `db:"-"` // in the project that the label was read for; nil for none
}

// TextColor is the colour in which text on the label can be read.
func (l *Label) TextColor() string { return textColor(l.Color) }

// Input is what a new label is made of.
type Input struct {
	Title       string
	Color       string // "#rgb", "#rrggbb" or the CSS name of a colour
	Description *string
	Priority    *int64 // in the project
	Archived    bool
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Title         *string
	Color         *string
	Description   *string
	Priority      *int64 // in the project
	ClearPriority bool
	Archived      *bool
}

// Filter selects labels; the zero value selects those of the place and of the groups above it.
type Filter struct {
	Search  string // part of title or description, without regard to case
	OwnOnly bool   // leave out the labels of groups above
	Parent  bool   // with OwnOnly: those of the group that the place is in as well

	Archived    *bool // archived ones only, or the others only; nil for both
	Descendants bool  // of a group: those of its subgroups as well
	Projects    bool  // of a group: those of the projects in it, or in the subgroups asked for, as well
	page.Range
}

// Assignment says which labels a thing shall have; the zero value changes nothing.
type Assignment struct {
	Set    *[]string // titles of all labels it shall have
	Add    []string  // titles
	Remove []string  // titles, or ids in digits
}

// Empty reports that nothing is asked for.
func (a Assignment) Empty() bool { return a.Set == nil && len(a.Add) == 0 && len(a.Remove) == 0 }

// Created is published when a label was made.
type Created struct{ change.Of[Label] }

// Updated is published when a label was changed.
type Updated struct{ change.Of[Label] }

// Deleted is published when a label was deleted with all that it was attached to.
type Deleted struct{ change.Of[Label] }

// validate checks a label as it will be stored.
func (l *Label) validate() error {
	var bad errs.Fields
	switch {
	case l.Title == "":
		bad.Add("title", "can't be blank")
	case strings.ContainsRune(l.Title, ','):
		bad.Add("title", "is invalid")
	}
	if utf8.RuneCountInString(l.Title) > maxTitle {
		bad.Add("title", "is too long (maximum is 255 characters)")
	}
	if l.Description != nil && utf8.RuneCountInString(*l.Description) > maxDescription {
		bad.Add("description", "is too long (maximum is 524288 characters)")
	}
	bad.Check(validColor(l.Color), "color", "must be a valid color code")
	return bad.Err()
}

// Titles lists the titles in the order of the labels.
func Titles(labels []Label) []string {
	out := make([]string, len(labels))
	for i := range labels {
		out[i] = labels[i].Title
	}
	return out
}

// tidy trims titles and drops empty and repeated ones.
func tidy(titles []string) []string {
	out := make([]string, 0, len(titles))
	for _, t := range titles {
		t = strings.TrimSpace(t)
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// About names it for events.
func (l Label) About() change.Subject {
	return change.Subject{Type: "Label", ID: int64(l.ID), Title: l.Title}
}
