package issue

import (
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// candidates adds the conditions of a list that an index serves beside its order.
func (s *Service) candidates(q *page.Query, as authz.Actor, in authz.Place, f Filter, sc scope) {
	where := func(rest Filter) (ofRow *db.Where, ofID []db.Where) {
		row := sc.where
		rest.ofRow(&row, as, in, s.Now())
		ofID = make([]db.Where, 2)
		rest.ofID(&ofID[0], as, found)
		rest.notOfID(&ofID[1], as, found)
		return &row, ofID
	}
	q.Candidates = f.indexed(as, project.Of(in), where)
	if query, args, ok := s.DB.Holding(texts, filter.Terms(f.Search)); ok {
		q.Candidates = append(q.Candidates, page.Candidates{SQL: query, Args: args})
	}
	if f.Epic.ID != 0 {
		q.Candidates = append(q.Candidates, page.Candidates{SQL: "SELECT issue_id AS id FROM epic_issues WHERE epic_id = ?", Args: []any{f.Epic.ID}})
	}
	if query, args, ok := f.Board.labelled(); ok {
		q.Candidates = append(q.Candidates, page.Candidates{SQL: query, Args: args})
	}
	for i := range q.Candidates {
		if c := &q.Candidates[i]; c.Rest == nil {
			c.Rest, c.Keyed = where(f)
		}
	}
	if in.IsProject() {
		return
	}
	place, args, ok := inGroup(f.DirectOnly), []any{in.Namespace}, true
	if in.IsInstance() {
		place, args, ok = s.Policy.VisibleProjectIDsSQL(as)
	}
	shown, more := sc.where, strings.TrimPrefix(sc.from, across)
	if f.State != "" {
		shown.And("i.state = ?", f.State)
	}
	all := page.Candidates{Exact: f.plain(as), Costly: true}
	if ok {
		q.Places = &page.Places{SQL: place, Args: args, From: "CROSS JOIN projects p" + more, On: "p.namespace_id = place.id", Rows: "issues i"}
		if more != "" {
			q.Places.On += " AND n.id = p.namespace_id"
		}
		shown.Raw("p.namespace_id = place.id")
		all.SQL = "SELECT i.id FROM (" + place + ") place CROSS JOIN projects p CROSS JOIN issues i" + more + shown.SQL()
	} else { // the projects with the most issues come first, so that counting ends soon
		all.SQL = "SELECT i.id FROM projects p CROSS JOIN issues i" + shown.SQL() + " ORDER BY p.open_issues_count DESC"
	}
	all.Args = append(slices.Clip(args), shown.Args()...)
	q.Candidates = append(q.Candidates, all)
}

// namesEpics reports whether the filter has a condition on epics.
func (f Filter) namesEpics() bool {
	return f.Epic != (EpicFilter{}) || len(f.Epics) > 0 || f.Not.Epic != 0
}

// plain reports whether the filter asks for nothing but a state.
func (f Filter) plain(as authz.Actor) bool {
	f.State = ""
	var w db.Where
	f.where(&w, as, authz.Place{}, time.Time{})
	return w.SQL() == ""
}

// found are issues among candidates, whose rows are not read yet.
var found = filter.Rows{Alias: "candidate", Kind: noteable.Issue}

// indexed are the conditions on issues alone, or on those of one project. Where gives those of
// a list with another filter.
func (f Filter) indexed(as authz.Actor, in *project.Project, where func(rest Filter) (ofRow *db.Where, ofID []db.Where)) []page.Candidates {
	var out []page.Candidates
	add := func(query string, args ...any) { out = append(out, page.Candidates{SQL: query, Args: args}) }
	// met adds candidates that meet by themselves what rest leaves out.
	met := func(rest Filter, repeats bool, query string, args ...any) {
		c := page.Candidates{SQL: query, Args: args, Repeats: repeats}
		c.Rest, c.Keyed = where(rest)
		out = append(out, c)
	}
	// From issues: the rows of the project alone, where there is one.
	issues := func(cond string, args ...any) {
		if in != nil {
			cond, args = "project_id = ? AND "+cond, append([]any{in.ID}, args...)
		}
		add("SELECT id FROM issues WHERE "+cond, args...)
	}
	const assigned = "SELECT issue_id AS id FROM issue_assignees WHERE user_id "
	if f.CreatedByMe {
		issues("author_id = ?", as.UserID)
	}
	if is, args, ok := f.Author.Equals(); ok {
		issues("author_id "+is, args...)
	}
	if f.AssignedToMe {
		add(assigned+"= ?", as.UserID)
	}
	if is, args, ok := f.Assignee.Equals(); ok {
		rest := f
		rest.Assignee = filter.Person{}
		met(rest, false, assigned+is, args...)
	}
	if len(f.AssigneeUsernames) > 0 {
		if is, args, ok := (filter.Person{Username: f.AssigneeUsernames[0]}).Equals(); ok {
			add(assigned+is, args...)
		}
	}
	if is, args, ok := f.ClosedBy.Equals(); ok {
		add("SELECT id FROM issues WHERE closed_by_id "+is, args...)
	}
	var place authz.NamespaceID // 0 for any
	if in != nil {
		place = in.NamespaceID
	}
	for _, title := range f.Labels[:min(len(f.Labels), maxLabels)] {
		query, args := label.Labelled(noteable.Issue, title, place)
		rest := f
		rest.Labels = slices.DeleteFunc(slices.Clone(f.Labels), func(other string) bool { return other == title })
		met(rest, true, query, args...)
	}
	if len(f.IDs) > 0 {
		marks, args := db.Marks(f.IDs)
		add("SELECT id FROM issues WHERE id IN ("+marks+")", args...)
	}
	if len(f.Iteration.IDs) > 0 {
		marks, args := db.Marks(f.Iteration.IDs)
		add("SELECT id FROM issues WHERE iteration_id IN ("+marks+")", args...)
	}
	if query, args, ok := f.Milestone.Indexed("issues"); ok {
		rest := f
		if m := f.Milestone; m.Which == "" && m.Titles == nil && (m.ID == 0 || m.Title == "") {
			rest.Milestone = filter.Milestone{} // it asks for nothing more
		}
		met(rest, false, query, args...)
	}
	if f.Reaction != "" && as.SignedIn() && !strings.EqualFold(f.Reaction, string(None)) {
		add("SELECT DISTINCT awardable_id AS id FROM award_emoji WHERE user_id = ? AND awardable_type = 'Issue'", as.UserID)
	}
	if in != nil {
		f.ofProject(issues)
	}
	return out
}

// maxLabels is how many labels are looked up to find the rarest.
const maxLabels = 4

// ofProject are the conditions for which a project has an index.
func (f Filter) ofProject(issues func(cond string, args ...any)) {
	if len(f.IIDs) > 0 {
		marks, args := db.Marks(f.IIDs)
		issues("iid IN ("+marks+")", args...)
	}
	if f.UpdatedAfter != nil && f.OrderBy != "updated_at" {
		issues("updated_at >= ?", *f.UpdatedAfter)
	}
	if f.CreatedAfter != nil && f.OrderBy != "" && f.OrderBy != "created_at" {
		issues("created_at >= ?", *f.CreatedAfter)
	}
	if f.Confidential != nil && *f.Confidential {
		issues("confidential")
	}
	if f.Weight != nil {
		issues("weight = ?", *f.Weight)
	} else if f.WeightWildcard == Any {
		issues("weight IS NOT NULL")
	}
	if f.Health != "" {
		issues("health_status = ?", f.Health)
	} else if f.HealthWildcard == Any {
		issues("health_status IS NOT NULL")
	}
	if f.DueDate != "" && f.DueDate != "0" && f.DueDate != "none" {
		issues("due_date IS NOT NULL")
	}
	if len(f.Types) > 0 && !slices.Contains(f.Types, Plain) {
		marks, args := db.Marks(f.Types)
		issues("issue_type <> 'issue' AND issue_type IN ("+marks+")", args...)
	}
}

// maxLess is how many conditions may leave issues out of a list that is counted as what is left
// of all issues.
const maxLess = 10

// less says what the filter leaves out of the issues of a project with a state, where it does
// nothing else and indexes find what that is; nil otherwise.
func (f Filter) less(as authz.Actor, in *project.Project, sc scope) *page.Less {
	out := page.Less{Base: sc.where}
	if f.State != "" {
		out.Base.And("i.state = ?", f.State)
	}
	without := func(query string, args ...any) {
		out.Without = append(out.Without, page.Candidates{SQL: query, Args: args})
	}
	for _, title := range f.Not.Labels[:min(len(f.Not.Labels), maxLess)] {
		query, args := label.Labelled(noteable.Issue, title, in.NamespaceID)
		without(query, args...)
	}
	f.Not.Labels = f.Not.Labels[len(out.Without):]
	if m := f.Not.Milestone; m.ID == 0 && m.Which == "" && m.Titles == nil && m.Title != "" {
		query, args, _ := m.Indexed("issues")
		without(query, args...)
		f.Not.Milestone = filter.Milestone{}
	}
	if is, args, ok := f.Not.Author.Equals(); ok {
		without("SELECT id FROM issues WHERE project_id = ? AND author_id "+is, append([]any{in.ID}, args...)...)
		f.Not.Author = filter.Person{}
	}
	if is, args, ok := f.Not.Assignee.Equals(); ok {
		without("SELECT issue_id AS id FROM issue_assignees WHERE user_id "+is, args...)
		f.Not.Assignee = filter.Person{}
	}
	if len(out.Without) == 0 || f.namesEpics() || !f.plain(as) {
		return nil
	}
	return &out
}
