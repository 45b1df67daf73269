package mergerequest

import (
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// texts are searched.
var texts = filter.Trigrams("merge_requests")

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// maxLabels is how many labels are looked up to find the rarest.
const maxLabels = 4

// candidates are the conditions that an index serves beside the order of the list: on the
// requests of a project, or of all of them where it is nil.
func (s *Service) candidates(as authz.Actor, in *project.Project, f Filter) []page.Candidates {
	var out []page.Candidates
	add := func(query string, args ...any) { out = append(out, page.Candidates{SQL: query, Args: args}) }
	requests := func(cond string, args ...any) {
		if in != nil {
			cond, args = "target_project_id = ? AND "+cond, append([]any{in.ID}, args...)
		}
		add("SELECT id FROM merge_requests WHERE "+cond, args...)
	}
	var place authz.NamespaceID
	if in != nil {
		place = in.NamespaceID
		if len(f.IIDs) > 0 {
			marks, args := db.Marks(f.IIDs)
			requests("iid IN ("+marks+")", args...)
		}
		if f.UpdatedAfter != nil && f.OrderBy != "updated_at" {
			requests("updated_at >= ?", *f.UpdatedAfter)
		}
		if f.TargetBranch != "" {
			requests("target_branch = ?", f.TargetBranch)
		}
	}
	if f.SourceProject != 0 && f.SourceBranch != "" {
		add("SELECT id FROM merge_requests WHERE source_project_id = ? AND source_branch = ?", f.SourceProject, f.SourceBranch)
	}
	if query, args := f.ofIssue(); query != "" {
		add(query, args...)
	}
	f.partOf(as, requests, add)
	if !slices.ContainsFunc(f.Labels, func(title string) bool { return filter.Word(title) != "" }) {
		for _, title := range f.Labels[:min(len(f.Labels), maxLabels)] {
			query, args := label.Labelled(noteable.MergeRequest, title, place)
			out = append(out, page.Candidates{SQL: query, Args: args, Repeats: true})
		}
	}
	if query, args, ok := f.Milestone.Indexed("merge_requests"); ok {
		add(query, args...)
	}
	if query, args, ok := s.DB.Holding(texts, filter.Terms(f.Search)); ok {
		add(query, args...)
	}
	return out
}

// partOf adds the conditions on people. Requests are those of the place, and all adds a query
// on all of them.
func (f Filter) partOf(as authz.Actor, requests, all func(query string, args ...any)) {
	const assigned = "SELECT merge_request_id AS id FROM merge_request_assignees WHERE user_id "
	const reviewed = "SELECT merge_request_id AS id FROM merge_request_reviewers WHERE user_id "
	if f.CreatedByMe {
		requests("author_id = ?", as.UserID)
	}
	if f.AssignedToMe {
		all(assigned+"= ?", as.UserID)
	}
	if f.ReviewsForMe {
		all(reviewed+"= ?", as.UserID)
	}
	f.approverCandidates(all)
	if is, args, ok := f.Author.Equals(); ok {
		requests("author_id "+is, args...)
	}
	if is, args, ok := f.MergeUser.Equals(); ok {
		all("SELECT id FROM merge_requests WHERE merge_user_id "+is, args...)
	}
	if is, args, ok := f.Assignee.Equals(); ok {
		all(assigned+is, args...)
	}
	if is, args, ok := f.Reviewer.Equals(); ok {
		all(reviewed+is, args...)
	}
}

// ofPlaces are the requests of a group or the instance that the conditions show to the actor,
// and the places that they are in.
func (s *Service) ofPlaces(as authz.Actor, in authz.Place, f Filter, from string, shown db.Where) (page.Candidates, *page.Places) {
	place, args, ok := inGroup(f.DirectOnly), []any{in.Namespace}, true
	if in.IsInstance() {
		place, args, ok = s.Policy.VisibleProjectIDsSQL(as)
	}
	var rest db.Where
	state := f.State
	f.State = ""
	all := page.Candidates{Exact: f.where(&rest, as, authz.Place{}, s.Now()) && rest.SQL() == "", Costly: true}
	stateIs(&shown, state)
	more := strings.TrimPrefix(from, across)
	var places *page.Places
	if ok {
		places = &page.Places{
			SQL: place, Args: args, From: "CROSS JOIN projects p" + more, On: "p.namespace_id = place.id", Rows: "merge_requests m",
		}
		if more != "" {
			places.On += " AND n.id = p.namespace_id"
		}
		from = "(" + place + ") place CROSS JOIN projects p CROSS JOIN merge_requests m" + more
		shown.Raw("p.namespace_id = place.id")
	}
	all.SQL, all.Args = "SELECT m.id FROM "+from+shown.SQL(), append(slices.Clip(args), shown.Args()...)
	return all, places
}
