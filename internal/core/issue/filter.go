package issue

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/noteable"
)

// Wildcard chooses things by whether they have something at all.
type Wildcard = filter.Wildcard

// The wildcards.
const (
	None = filter.None
	Any  = filter.Any
)

// Filter selects issues; the zero value selects all that the actor may read.
type Filter struct {
	State         State // "" for both
	IDs           []ID
	IIDs          []IID
	Types         []Type
	Labels        []string // all of them
	LabelWildcard Wildcard
	Milestone     filter.Milestone
	Iteration     filter.Iteration
	Epic          EpicFilter
	Epics         []int64 // ids; any of them

	CreatedByMe, AssignedToMe bool
	Author, Assignee          filter.Person
	AssigneeUsernames         []string // all of them
	ClosedBy                  filter.Person
	Weight                    *int64
	WeightWildcard            Wildcard
	Health                    Health // "" for all
	HealthWildcard            Wildcard

	Search string   // words that all stand in one of the fields of In
	In     []string // title, description; empty means both

	Selection
	ClosedAfter, ClosedBefore *time.Time // inclusive; what is open was never closed

	NonArchived bool // leave out archived projects
	DirectOnly  bool // of a group: leave out what is in its subgroups
	Board       *OnBoard

	Or  filter.Or
	Not Exclusion

	OrderBy string // a key of orders, filter.ByRelevance for the best match of Search, created_at where empty
	Asc     bool

	page.Range
}

// Selection is the part of a Filter that calls send as it is. A field is a parameter of REST by its tags, and an argument of a list
// of GraphQL that has one of its name. What has the tag db selects the rows with this value in the column.
type Selection struct {
	filter.Times
	DueDate      string `param:"due_date" values:"0,any,today,tomorrow,overdue,week,month,next_month_and_previous_two_weeks," doc:"Due date filter"`
	Confidential *bool  `db:"confidential" param:"confidential" doc:"Confidential or not"`
	Reaction     string `json:"myReactionEmoji" param:"my_reaction_emoji" doc:"Return items the current user reacted to with this emoji, None or Any"` // in any case; ignored without an actor
}

// Exclusion leaves out what has one of its properties.
type Exclusion struct {
	filter.Not
	Iteration         filter.Iteration
	IIDs              []IID
	Types             []Type
	Health            Health   // "" leaves out none
	AssigneeUsernames []string // any of them
	Weight            *int64
	Epic              int64 // id; 0 leaves out none
}

// orders are the orders of a list. What has no value comes last in both directions.
var orders = rows.Orders(page.ID("i.id"), page.Orders{
	"":                  {page.Time("created_at", "i.created_at"), page.ID("i.id")},
	"due_date":          {page.Text("due_date", "i.due_date").Null(), page.ID("i.id")},
	"closed_at":         {page.Time("closed_at", "i.closed_at").Null(), page.ID("i.id")},
	"weight":            {page.Int("weight", "i.weight").Null(), page.ID("i.id")},
	"relative_position": {page.Int("relative_position", "i.relative_position"), page.ID("i.id")},
	"severity":          {page.Computed(gravity), page.ID("i.id")},
	"health_status":     {page.Computed(danger).Null(), page.ID("i.id")},
	inEpic:              {page.Int(inEpic, "(SELECT po.relative_position FROM epic_issues po WHERE po.issue_id = i.id)"), page.ID("i.id")},
})

// Severities and health statuses as numbers, the better ones first. Issues that are no incidents have the severity "unknown".
const (
	gravity = `(CASE WHEN i.issue_type <> 'incident' THEN 0 WHEN i.severity = 'low' THEN 1 WHEN i.severity = 'medium' THEN 2
		WHEN i.severity = 'high' THEN 3 WHEN i.severity = 'critical' THEN 4 ELSE 0 END)`
	danger = "(CASE i.health_status WHEN 'on_track' THEN 1 WHEN 'needs_attention' THEN 2 WHEN 'at_risk' THEN 3 END)"
)

// order returns the order of the list.
func (f Filter) order() page.Order {
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}

// sort gives a query its order.
func (f Filter) sort(q *page.Query) {
	q.Order = f.order()
	if f.OrderBy == filter.ByRelevance {
		q.Order, q.Common = rows.Relevance(f.Search)
	}
}

// rows are the issues of a list (i).
var rows = filter.Rows{Alias: "i", Kind: noteable.Issue}

// The parts that people have in issues, but for assignees.
var (
	authors = rows.Authors()
	closers = rows.Column("closed_by_id")
)

// where collects the conditions of the filter on a row of issues (i) of a place; that the row is
// there and the actor may read it is added by the caller.
func (f Filter) where(w *db.Where, as authz.Actor, in authz.Place, now time.Time) {
	f.ofRow(w, as, in, now)
	f.ofID(w, as, rows)
	f.notOfID(w, as, rows)
}

// ofID collects the conditions that ask for nothing but the id of a row.
func (f Filter) ofID(w *db.Where, as authz.Actor, rows filter.Rows) {
	assignees := rows.Assignees()
	rows.Labels(w, f.Labels, f.LabelWildcard)
	if f.AssignedToMe {
		assignees.Is(w, filter.Me(as))
	}
	assignees.Is(w, f.Assignee)
	assignees.HasAll(w, f.AssigneeUsernames)
	rows.Reaction(w, as, f.Reaction)
	rows.OrByID(w, f.Or)
}

// notOfID collects the conditions that leave out and ask for nothing but the id of a row.
func (f Filter) notOfID(w *db.Where, as authz.Actor, rows filter.Rows) {
	rows.NotByID(w, as, f.Not.Not)
	rows.Assignees().HasNone(w, f.Not.AssigneeUsernames)
}

// ofRow collects all other conditions.
func (f Filter) ofRow(w *db.Where, as authz.Actor, in authz.Place, now time.Time) {
	if f.State != "" {
		w.And("i.state = ?", f.State)
	}
	if len(f.IDs) > 0 {
		w.In("i.id", f.IDs)
	}
	if len(f.IIDs) > 0 {
		w.In("i.iid", f.IIDs)
	}
	if len(f.Types) > 0 {
		w.In("i.issue_type", f.Types)
	}
	rows.Milestone(w, f.Milestone, now)
	rows.Iteration(w, f.Iteration, now)
	if f.CreatedByMe {
		authors.Is(w, filter.Me(as))
	}
	authors.Is(w, f.Author)
	closers.Is(w, f.ClosedBy)
	rows.Search(w, filter.WordsIn(in, f.Search), f.In)
	rows.OrByColumn(w, f.Or)
	rows.Times(w, f.Times)
	w.Since("i.closed_at", f.ClosedAfter)
	w.Until("i.closed_at", f.ClosedBefore)
	f.due(w, now)
	if f.Weight != nil {
		w.And("i.weight = ?", *f.Weight)
	}
	f.WeightWildcard.Where(w, "i.weight IS NOT NULL")
	if f.Health != "" {
		w.And("i.health_status = ?", f.Health)
	}
	f.HealthWildcard.Where(w, "i.health_status IS NOT NULL")
	w.Equal("i", f.Selection)
	if f.Board != nil {
		f.Board.Where(w)
		if f.Board.Except != 0 {
			w.And("i.id <> ?", f.Board.Except)
		}
	}
	rows.NotByColumn(w, f.Not.Not, now)
	f.Not.where(w)
}

// due adds the due date.
func (f Filter) due(w *db.Where, now time.Time) {
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	today := now.UTC()
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch f.DueDate {
	case "0", "none":
		w.Raw("i.due_date IS NULL")
	case "any":
		w.Raw("i.due_date IS NOT NULL")
	case "today":
		w.And("i.due_date = ?", day(today))
	case "tomorrow":
		w.And("i.due_date = ?", day(today.AddDate(0, 0, 1)))
	case "overdue":
		w.And("i.due_date < ?", day(today))
	case "week":
		w.And("i.due_date BETWEEN ? AND ?", day(monday), day(monday.AddDate(0, 0, 6)))
	case "month":
		w.And("i.due_date BETWEEN ? AND ?", day(first), day(first.AddDate(0, 1, -1)))
	case "next_month_and_previous_two_weeks":
		w.And("i.due_date BETWEEN ? AND ?", day(today.AddDate(0, 0, -14)), day(first.AddDate(0, 2, -1)))
	}
}

// where adds what leaves out by a column of the row and lists of other kinds do not have.
func (n Exclusion) where(w *db.Where) {
	rows.NotIteration(w, n.Iteration)
	if len(n.IIDs) > 0 {
		w.NotIn("i.iid", n.IIDs)
	}
	if len(n.Types) > 0 {
		w.NotIn("i.issue_type", n.Types)
	}
	if n.Health != "" {
		w.And("(i.health_status IS NULL OR i.health_status <> ?)", n.Health)
	}
	if n.Weight != nil {
		w.And("(i.weight IS NULL OR i.weight <> ?)", *n.Weight)
	}
}
