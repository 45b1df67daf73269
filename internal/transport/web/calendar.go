package web

import (
	"fmt"
	"time"

	"tenon/internal/core/authz"
)

const day = 24 * time.Hour

// calendar is what a user has done on each day of a year.
type calendar struct {
	Total int
	Days  []calendarDay
	Names []calendarName
	Width int // of the picture; weeks are columns of cell
}

// calendarDay is a square in a calendar.
type calendarDay struct {
	X, Y  int
	Class string // the more, the darker
	Text  string
}

// calendarName is the name of a day of the week beside its row.
type calendarName struct {
	Y    int
	Text string
}

const (
	cell   = 13 // distance of the squares of a calendar
	margin = 32 // for the names
)

// calendar counts the events of a user in the 52 weeks before this one, and in this one. Weeks begin with the day that the settings name.
func (x *visit) calendar(of authz.UserID) (*calendar, error) {
	today := time.Now().UTC().Truncate(day)
	first := time.Weekday(x.Settings.Current().FirstDayOfWeek)
	begin := today.Add(-day * time.Duration(52*7+int(today.Weekday()-first+7)%7))
	counts, err := x.Activity.Calendar(x.r.Context(), x.as, of, begin)
	if err != nil {
		return nil, err
	}
	c := &calendar{}
	for i, at := 0, begin; !at.After(today); i, at = i+1, at.Add(day) {
		n := counts[at]
		c.Total += n
		c.Width = margin + (i/7+1)*cell
		c.Days = append(c.Days, calendarDay{margin + i/7*cell, i % 7 * cell, shade(n), contributions(n) + " on " + at.Format(time.DateOnly)})
		if i < 7 && i%2 == 0 {
			c.Names = append(c.Names, calendarName{i*cell + 10, at.Weekday().String()[:3]})
		}
	}
	return c, nil
}

// shade is the class of a day with so many events.
func shade(n int) string {
	switch {
	case n == 0:
		return "none"
	case n < 10:
		return "few"
	case n < 30:
		return "some"
	}
	return "many"
}

func contributions(n int) string {
	switch n {
	case 0:
		return "No contributions"
	case 1:
		return "1 contribution"
	}
	return fmt.Sprint(n, " contributions")
}
