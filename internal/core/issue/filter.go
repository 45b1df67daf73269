package issue

import (
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Place is where issues are looked for: a project, a group with all below it, or, where
// both are empty, everywhere.
type Place struct {
	Project *project.Project
	Group   authz.Subject
}

// Wildcard chooses things by whether they have something at all.
type Wildcard string

// The wildcards.
const (
	None Wildcard = "none"
	Any  Wildcard = "any"
)

// Filter selects issues; the zero value selects all that the actor may read.
type Filter struct {
	State         State // "" for both
	IIDs          []IID
	Types         []Type
	Labels        []string // all of them
	LabelWildcard Wildcard
	Milestone     string // title, or None or Any in lower case; no issue has one yet
	NotMilestone  string

	CreatedByMe, AssignedToMe bool
	AuthorID                  *authz.UserID
	AuthorUsername            string
	AssigneeID                *authz.UserID
	AssigneeWildcard          Wildcard
	AssigneeUsernames         []string // all of them
	ClosedByID                *authz.UserID
	Weight                    *int64
	WeightWildcard            Wildcard
	Reaction                  string // the actor's own; None or Any in any case. Ignored without an actor

	Search string   // words that all stand in one of the fields of In
	In     []string // title, description; empty means both

	CreatedAfter, CreatedBefore *time.Time // inclusive
	UpdatedAfter, UpdatedBefore *time.Time
	DueDate                     string // 0, any, today, tomorrow, overdue, week, month, next_month_and_previous_two_weeks
	Confidential                *bool
	NonArchived                 bool // leave out archived projects

	Not Exclusion

	OrderBy string // a key of orders, created_at where empty
	Asc     bool

	page.Range
}

// Exclusion leaves out what has one of its properties.
type Exclusion struct {
	Labels            []string
	IIDs              []IID
	AuthorID          *authz.UserID
	AuthorUsername    string
	AssigneeID        *authz.UserID
	AssigneeUsernames []string
}

// orders are the orders of a list. What has no value comes last in both directions.
var orders = page.Orders{
	"":                  {page.Time("created_at", "i.created_at"), page.ID("i.id")},
	"updated_at":        {page.Time("updated_at", "i.updated_at"), page.ID("i.id")},
	"due_date":          {page.Text("due_date", "i.due_date").Null(), page.ID("i.id")},
	"title":             {page.Text("title", "i.title_fold"), page.ID("i.id")},
	"weight":            {page.Int("weight", "i.weight").Null(), page.ID("i.id")},
	"relative_position": {page.ID("i.id")},
	"milestone_due":     {page.ID("i.id")},
	"popularity":        {page.ID("i.id")},
	"label_priority":    {page.Computed(labelPriority).Null(), page.ID("i.id")},
	"priority":          {page.Computed(labelPriority).Null(), page.ID("i.id")},
}

const labelPriority = `(SELECT MIN(l.priority) FROM label_links ll JOIN labels l ON l.id = ll.label_id
	WHERE ll.target_type = 'Issue' AND ll.target_id = i.id)`

// order gives the order of the list.
func (f Filter) order() page.Order {
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}

const (
	hasAnyLabel    = "EXISTS (SELECT 1 FROM label_links ll WHERE ll.target_type = 'Issue' AND ll.target_id = i.id)"
	hasAssignee    = "EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id AND ia.user_id = ?)"
	hasAnyAssignee = "EXISTS (SELECT 1 FROM issue_assignees ia WHERE ia.issue_id = i.id)"
	assigneesBy    = ` FROM issue_assignees ia JOIN users u ON u.id = ia.user_id WHERE ia.issue_id = i.id AND u.username_fold IN (`
	byUsername     = "(SELECT u.id FROM users u WHERE u.username_fold = ?)"
)

// where collects the conditions of the filter on a row of issues (i); the place and the
// actor's rights are added by the caller.
func (f Filter) where(w *db.Where, as authz.Actor, now time.Time) {
	if f.State != "" {
		w.And("i.state = ?", f.State)
	}
	if len(f.IIDs) > 0 {
		w.In("i.iid", f.IIDs)
	}
	if len(f.Types) > 0 {
		w.In("i.issue_type", f.Types)
	}
	label.HavingAll(w, noteable.Issue, "i.id", f.Labels)
	wildcard(w, f.LabelWildcard, hasAnyLabel)
	if f.Milestone != "" && f.Milestone != string(None) {
		w.Raw("1 = 0")
	}
	if f.NotMilestone == string(None) {
		w.Raw("1 = 0")
	}
	f.people(w, as)
	f.words(w)
	f.times(w, now)
	if f.Weight != nil {
		w.And("i.weight = ?", *f.Weight)
	}
	wildcard(w, f.WeightWildcard, "i.weight IS NOT NULL")
	f.reaction(w, as)
	if f.Confidential != nil {
		w.And("i.confidential = ?", *f.Confidential)
	}
	f.Not.where(w)
}

// folded gives the names as columns named _fold have them, each once.
func folded(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = db.Fold(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wildcard adds that a thing exists, or that it does not.
func wildcard(w *db.Where, which Wildcard, exists string) {
	switch which {
	case Any:
		w.Raw(exists)
	case None:
		w.Raw("NOT (" + exists + ")")
	}
}

// reaction adds that the actor reacted with an emoji, with any or with none.
func (f Filter) reaction(w *db.Where, as authz.Actor) {
	const reacted = `EXISTS (SELECT 1 FROM award_emoji e WHERE e.awardable_type = 'Issue' AND e.awardable_id = i.id AND e.user_id = ?`
	switch name := strings.ToLower(f.Reaction); {
	case name == "" || !as.SignedIn():
	case name == string(None):
		w.And("NOT "+reacted+")", as.UserID)
	case name == string(Any):
		w.And(reacted+")", as.UserID)
	default:
		w.And(reacted+" AND e.name = ?)", as.UserID, f.Reaction)
	}
}

// people adds the conditions on author, assignees and who closed it.
func (f Filter) people(w *db.Where, as authz.Actor) {
	if f.CreatedByMe {
		w.And("i.author_id = ?", as.UserID)
	}
	if f.AssignedToMe {
		w.And(hasAssignee, as.UserID)
	}
	if f.AuthorID != nil {
		w.And("i.author_id = ?", *f.AuthorID)
	}
	if f.AuthorUsername != "" {
		w.And("i.author_id = "+byUsername, db.Fold(f.AuthorUsername))
	}
	if f.AssigneeID != nil {
		w.And(hasAssignee, *f.AssigneeID)
	}
	wildcard(w, f.AssigneeWildcard, hasAnyAssignee)
	if names := folded(f.AssigneeUsernames); len(names) > 0 {
		marks, args := db.Marks(names)
		w.And("(SELECT COUNT(*)"+assigneesBy+marks+")) = ?", append(args, len(names))...)
	}
	if f.ClosedByID != nil {
		w.And("i.closed_by_id = ?", *f.ClosedByID)
	}
}

// words adds the search: every word in the same field.
func (f Filter) words(w *db.Where) {
	words := db.Terms(strings.Fields(db.Fold(f.Search)))
	if len(words) == 0 {
		return
	}
	columns := map[string]string{"title": "i.title_fold", "description": "i.description_fold"}
	fields := slices.Compact(slices.Sorted(slices.Values(f.In)))
	if len(fields) == 0 {
		fields = []string{"title", "description"}
	}
	var alternatives []string
	var args []any
	for _, field := range fields {
		column, ok := columns[field]
		if !ok {
			continue
		}
		var all []string
		for _, word := range words {
			all = append(all, column+` LIKE ? ESCAPE '\'`)
			args = append(args, "%"+db.LikePattern(word)+"%")
		}
		alternatives = append(alternatives, "("+strings.Join(all, " AND ")+")")
	}
	if len(alternatives) == 0 {
		alternatives = []string{"1 = 0"}
	}
	w.And("("+strings.Join(alternatives, " OR ")+")", args...)
}

// times adds the bounds of time and the due date.
func (f Filter) times(w *db.Where, now time.Time) {
	for _, bound := range []struct {
		cond string
		at   *time.Time
	}{
		{"i.created_at >= ?", f.CreatedAfter},
		{"i.created_at <= ?", f.CreatedBefore},
		{"i.updated_at >= ?", f.UpdatedAfter},
		{"i.updated_at <= ?", f.UpdatedBefore},
	} {
		if bound.at != nil {
			w.And(bound.cond, *bound.at)
		}
	}
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

// where adds what leaves out.
func (n Exclusion) where(w *db.Where) {
	label.HavingNone(w, noteable.Issue, "i.id", n.Labels)
	if len(n.IIDs) > 0 {
		w.NotIn("i.iid", n.IIDs)
	}
	if n.AuthorID != nil {
		w.And("i.author_id <> ?", *n.AuthorID)
	}
	if n.AuthorUsername != "" {
		w.And("i.author_id NOT IN "+byUsername, db.Fold(n.AuthorUsername))
	}
	if n.AssigneeID != nil {
		w.And("NOT "+hasAssignee, *n.AssigneeID)
	}
	if names := folded(n.AssigneeUsernames); len(names) > 0 {
		marks, args := db.Marks(names)
		w.And("NOT EXISTS (SELECT 1"+assigneesBy+marks+"))", args...)
	}
}
