package filter

import (
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/milestone"
)

// Wildcards of milestones beside None and Any.
const (
	Upcoming Wildcard = "upcoming" // the next one due of each project and group
	Started  Wildcard = "started"
)

// Milestone selects by the milestone of a row; the zero value selects all.
type Milestone struct {
	ID    milestone.ID
	Title string
	Which Wildcard

	Titles []string // any of these; nil for all

	Release string // tag of a release of the project of the row, which has the milestone; "" for all
}

// MilestoneNamed reads a title or, in any case, a wildcard: None, Any, Upcoming, Started,
// the last two also as "#upcoming" and "#started".
func MilestoneNamed(title string) Milestone {
	switch w := Wildcard(strings.TrimPrefix(strings.ToLower(title), "#")); w {
	case Upcoming, Started:
		return Milestone{Which: w}
	}
	if w := Word(title); w != "" {
		return Milestone{Which: w}
	}
	return Milestone{Title: title}
}

// active begins the query for the ids of milestones that are not closed.
const active = "SELECT x.id FROM milestones x WHERE x.state = 'active'"

// Milestone adds that a row has the milestone. Now says which are upcoming or started.
func (r Rows) Milestone(w *db.Where, m Milestone, now time.Time) {
	column, today := r.Alias+".milestone_id", now.UTC().Format(time.DateOnly)
	if m.ID != 0 {
		w.And(column+" = ?", m.ID)
	}
	if m.Title != "" {
		w.And(column+" IN (SELECT x.id FROM milestones x WHERE x.title = ?)", m.Title)
	}
	if len(m.Titles) > 0 {
		marks, args := db.Marks(m.Titles)
		w.And(column+" IN (SELECT x.id FROM milestones x WHERE x.title IN ("+marks+"))", args...)
	}
	if m.Release != "" {
		w.And(column+` IN (SELECT x.milestone_id FROM release_milestones x JOIN releases y ON y.id = x.release_id
			WHERE y.project_id = `+r.project()+` AND y.tag_name = ? AND y.pending IS NULL)`, m.Release)
	}
	m.Which.Where(w, column+" IS NOT NULL")
	switch m.Which {
	case Upcoming:
		w.And(column+" IN ("+active+` AND x.due_date > ? AND NOT EXISTS (SELECT 1 FROM milestones y
			WHERE y.namespace_id = x.namespace_id AND y.state = 'active' AND y.due_date > ? AND y.due_date < x.due_date))`, today, today)
	case Started:
		w.And(column+" IN ("+active+" AND x.start_date <= ?)", today)
	}
}

// NotMilestone adds that a row does not have the milestone. Upcoming and Started leave those
// whose milestone is active and not so.
func (r Rows) NotMilestone(w *db.Where, m Milestone, now time.Time) {
	column, today := r.Alias+".milestone_id", now.UTC().Format(time.DateOnly)
	if m.Title != "" {
		w.And("("+column+" IS NULL OR "+column+" NOT IN (SELECT x.id FROM milestones x WHERE x.title = ?))", m.Title)
	}
	if len(m.Titles) > 0 {
		marks, args := db.Marks(m.Titles)
		w.And("("+column+" IS NULL OR "+column+" NOT IN (SELECT x.id FROM milestones x WHERE x.title IN ("+marks+")))", args...)
	}
	switch m.Which {
	case None:
		w.Raw(column + " IS NOT NULL")
	case Any:
		w.Raw(column + " IS NULL")
	case Upcoming:
		w.And(column+" IN ("+active+" AND x.due_date <= ?)", today)
	case Started:
		w.And(column+" IN ("+active+" AND x.start_date > ?)", today)
	}
}

// Indexed is the query for the ids of the rows of a table that have the milestone, where an
// index finds them; not ok where it asks for no milestone by title or id.
func (m Milestone) Indexed(table string) (query string, args []any, ok bool) {
	switch {
	case m.ID != 0:
		return "SELECT id FROM " + table + " WHERE milestone_id = ?", []any{m.ID}, true
	case m.Title != "":
		return "SELECT id FROM " + table + " WHERE milestone_id IN (SELECT x.id FROM milestones x WHERE x.title = ?)", []any{m.Title}, true
	}
	return "", nil, false
}
