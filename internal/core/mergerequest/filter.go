package mergerequest

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/noteable"
)

// where adds the filter's conditions on m in a list of a place; false says that no row can match.
func (f Filter) where(w *db.Where, as authz.Actor, in authz.Place, now time.Time) bool {
	if f.Author.Nothing || f.Assignee.Nothing || f.Reviewer.Nothing {
		return false
	}
	if f.UpdatedAfter != nil && f.UpdatedBefore != nil && f.UpdatedAfter.After(*f.UpdatedBefore) {
		return false
	}
	stateIs(w, f.State)
	if f.IIDs != nil {
		w.In("m.iid", f.IIDs)
	}
	if query, args := f.ofIssue(); query != "" {
		w.And("m.id IN ("+query+")", args...)
	}
	f.people(w, as)
	f.approvers(w)
	f.labels(w)
	f.branches(w)
	rows.Times(w, f.Times)
	w.Since("m.merged_at", f.MergedAfter)
	w.Until("m.merged_at", f.MergedBefore)
	if f.Draft != nil {
		if *f.Draft {
			w.And("(m.draft OR m.title_fold LIKE ?)", "draft - %")
		} else {
			w.And("NOT (m.draft OR m.title_fold LIKE ?)", "draft - %")
		}
	}
	rows.Search(w, filter.WordsIn(in, f.Search), f.In)
	rows.Reaction(w, as, f.Reaction)
	rows.Or(w, f.Or)
	rows.Milestone(w, f.Milestone, now)
	rows.Not(w, as, f.Not.Not, now)
	reviewers.IsNot(w, f.Not.Reviewer)
	f.Deployed.where(w)
	return true
}

// stateIs selects a state, all where it is "". The known ones stand in the text: an index holds the
// open requests alone, so that SQLite would plan the statement again for each bound value.
func stateIs(w *db.Where, state State) {
	switch state {
	case "":
	case StateOpened:
		w.Raw("m.state = 'opened'")
	case StateClosed:
		w.Raw("m.state = 'closed'")
	case StateMerged:
		w.Raw("m.state = 'merged'")
	default:
		w.And("m.state = ?", state)
	}
}

// rows are the merge requests of a list (m).
var rows = filter.Rows{Alias: "m", Kind: noteable.MergeRequest}

// The parts that people have in merge requests.
var (
	authors   = rows.Authors()
	mergers   = rows.Column("merge_user_id")
	assignees = rows.Assignees()
	reviewers = rows.Table("merge_request_reviewers", "merge_request_id")
)

// ofIssue returns the requests that name an issue, "" for all.
func (f Filter) ofIssue() (query string, args []any) {
	if f.Issue == 0 {
		return "", nil
	}
	query = "SELECT r.merge_request_id AS id FROM merge_request_issues r WHERE r.issue_id = ?"
	if f.Closing {
		query += " AND r.closes"
	}
	return query, []any{f.Issue}
}

// people adds the conditions on author, assignees, reviewers and who merged it.
func (f Filter) people(w *db.Where, as authz.Actor) {
	if f.CreatedByMe {
		authors.Is(w, filter.Me(as))
	}
	if f.AssignedToMe {
		assignees.Is(w, filter.Me(as))
	}
	if f.ReviewsForMe {
		reviewers.Is(w, filter.Me(as))
	}
	authors.Is(w, f.Author)
	mergers.Is(w, f.MergeUser)
	assignees.Is(w, f.Assignee)
	reviewers.Is(w, f.Reviewer)
}

func (f Filter) labels(w *db.Where) {
	titles, which := f.Labels, filter.Wildcard("")
	for _, title := range f.Labels {
		if word := filter.Word(title); word != "" && which != filter.None {
			titles, which = nil, word
		}
	}
	rows.Labels(w, titles, which)
}

func (f Filter) branches(w *db.Where) {
	w.Equal("m", f.Selection)
	if f.SourceBranches != nil {
		w.In("m.source_branch", f.SourceBranches)
	}
	if f.TargetBranches != nil {
		w.In("m.target_branch", f.TargetBranches)
	}
}

// where adds the condition on the deployments of m.
func (d Deployed) where(w *db.Where) {
	if d.By != 0 {
		w.And("m.id IN (SELECT x.merge_request_id AS id FROM deployment_merge_requests x WHERE x.deployment_id = ?)", d.By)
	}
	if d.Environment == "" && d.After == nil && d.Before == nil {
		return
	}
	var in db.Where
	in.Raw("x.merge_request_id = m.id AND d.status = 'success'")
	if d.Environment != "" {
		in.And("e.name = ?", d.Environment)
	}
	in.Since("d.finished_at", d.After)
	in.Until("d.finished_at", d.Before)
	w.And(`EXISTS (SELECT 1 FROM deployment_merge_requests x JOIN deployments d ON d.id = x.deployment_id
		JOIN environments e ON e.id = d.environment_id`+in.SQL()+")", in.Args()...)
}
