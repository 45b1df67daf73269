package filter

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Not leaves out rows that have one of the properties; the zero value leaves out none. Rows of
// other kinds than issues and merge requests have neither assignees nor milestones, and those
// conditions are ignored.
type Not struct {
	Author, Assignee Person
	Labels           []string // any of them
	Milestone        Milestone
	Reaction         string // as NotReaction has it
}

// Not adds that a row has none of the properties. Now says which milestones are upcoming or
// started.
func (r Rows) Not(w *db.Where, as authz.Actor, x Not, now time.Time) {
	r.NotByColumn(w, x, now)
	r.NotByID(w, as, x)
}

// NotByColumn adds the conditions of Not that a row has columns for.
func (r Rows) NotByColumn(w *db.Where, x Not, now time.Time) {
	r.Authors().IsNot(w, x.Author)
	if r.assigned() {
		r.NotMilestone(w, x.Milestone, now)
	}
}

// NotByID adds the conditions of Not that ask for nothing but the id of a row.
func (r Rows) NotByID(w *db.Where, as authz.Actor, x Not) {
	r.NotLabels(w, x.Labels)
	r.NotReaction(w, as, x.Reaction)
	if r.assigned() {
		r.Assignees().IsNot(w, x.Assignee)
	}
}

// assigned reports whether the rows have assignees and milestones.
func (r Rows) assigned() bool { return r.Kind == noteable.Issue || r.Kind == noteable.MergeRequest }

// Authors is the part of those who made the rows.
func (r Rows) Authors() Part { return r.Column("author_id") }

// Assignees is the part of the assignees of issues and merge requests.
func (r Rows) Assignees() Part { return r.Table(r.assignees()) }

// assignees is the table of assignees, and its column with the id of the row.
func (r Rows) assignees() (table, key string) {
	if r.Kind == noteable.MergeRequest {
		return "merge_request_assignees", "merge_request_id"
	}
	return "issue_assignees", "issue_id"
}
