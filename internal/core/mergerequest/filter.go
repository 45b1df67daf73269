package mergerequest

import (
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
)

// The words that select by the presence of labels, compared without regard to case.
const (
	wordNone = "none"
	wordAny  = "any"
)

// where adds the filter's conditions on m; false says that no row can match.
func (f Filter) where(w *db.Where, as authz.Actor) bool {
	if f.Author.Nothing || f.Assignee.Nothing || f.Reviewer.Nothing {
		return false
	}
	if f.UpdatedAfter != nil && f.UpdatedBefore != nil && f.UpdatedAfter.After(*f.UpdatedBefore) {
		return false
	}
	if f.State != "" {
		w.And("m.state = ?", f.State)
	}
	if f.IIDs != nil {
		w.In("m.iid", f.IIDs)
	}
	f.people(w)
	f.labels(w)
	f.branches(w)
	f.times(w)
	if f.Draft != nil {
		if *f.Draft {
			w.And("(m.draft OR m.title_fold LIKE ?)", "draft - %")
		} else {
			w.And("NOT (m.draft OR m.title_fold LIKE ?)", "draft - %")
		}
	}
	for _, term := range db.Terms(words(f.Search)) {
		f.search(w, term)
	}
	return f.unborn(as)
}

// unborn judges filters over what nothing in the instance can have yet: milestones,
// reactions, deployments, approvals. Only their absence matches.
func (f Filter) unborn(as authz.Actor) bool {
	if f.Deployed || f.Approved {
		return false
	}
	if f.Milestone != "" && !strings.EqualFold(f.Milestone, wordNone) {
		return false
	}
	if as.SignedIn() && f.Reaction != "" && !strings.EqualFold(f.Reaction, wordNone) {
		return false
	}
	// What nothing has is left out of nothing, but "without no milestone" is nothing.
	return !strings.EqualFold(f.Not.Milestone, wordNone)
}

func (f Filter) people(w *db.Where) {
	f.Author.where(w, "", "m.author_id")
	f.MergeUser.where(w, "", "m.merge_user_id")
	f.Assignee.where(w, "merge_request_assignees", "")
	f.Reviewer.where(w, "merge_request_reviewers", "")
	f.Not.Author.whereNot(w, "", "m.author_id")
	f.Not.Assignee.whereNot(w, "merge_request_assignees", "")
	f.Not.Reviewer.whereNot(w, "merge_request_reviewers", "")
}

// where adds the condition that the person has this part: a row in table, or the column
// own of the request itself.
func (p Person) where(w *db.Where, table, own string) {
	cond, args := p.condition(table, own)
	if cond != "" {
		w.And(cond, args...)
	}
}

func (p Person) whereNot(w *db.Where, table, own string) {
	if p.Nothing {
		return
	}
	cond, args := p.condition(table, own)
	if cond != "" {
		w.And("NOT ("+cond+")", args...)
	}
}

func (p Person) condition(table, own string) (string, []any) {
	exists := "EXISTS (SELECT 1 FROM " + table + " x WHERE x.merge_request_id = m.id"
	switch {
	case p.None:
		return "NOT " + exists + ")", nil
	case p.Any:
		return exists + ")", nil
	case p.ID != 0 && table == "":
		return own + " = ?", []any{p.ID}
	case p.ID != 0:
		return exists + " AND x.user_id = ?)", []any{p.ID}
	case p.Username != "" && table == "":
		return own + " IN (SELECT u.id FROM users u WHERE u.username_fold = ?)", []any{db.Fold(p.Username)}
	case p.Username != "":
		return exists + " AND x.user_id IN (SELECT u.id FROM users u WHERE u.username_fold = ?))", []any{db.Fold(p.Username)}
	}
	return "", nil
}

const labelled = "EXISTS (SELECT 1 FROM label_links k WHERE k.target_type = 'MergeRequest' AND k.target_id = m.id)"

func (f Filter) labels(w *db.Where) {
	is := func(word string) func(string) bool {
		return func(s string) bool { return strings.EqualFold(s, word) }
	}
	switch {
	case slices.ContainsFunc(f.Labels, is(wordNone)):
		w.Raw("NOT " + labelled)
	case slices.ContainsFunc(f.Labels, is(wordAny)):
		w.Raw(labelled)
	default:
		label.HavingAll(w, noteable.MergeRequest, "m.id", f.Labels)
	}
	label.HavingNone(w, noteable.MergeRequest, "m.id", f.Not.Labels)
}

func (f Filter) branches(w *db.Where) {
	if f.SourceBranch != "" {
		w.And("m.source_branch = ?", f.SourceBranch)
	}
	if f.TargetBranch != "" {
		w.And("m.target_branch = ?", f.TargetBranch)
	}
	if f.SourceProject != 0 {
		w.And("m.source_project_id = ?", f.SourceProject)
	}
}

func (f Filter) times(w *db.Where) {
	if f.CreatedAfter != nil {
		w.And("m.created_at >= ?", *f.CreatedAfter)
	}
	if f.CreatedBefore != nil {
		w.And("m.created_at <= ?", *f.CreatedBefore)
	}
	if f.UpdatedAfter != nil {
		w.And("m.updated_at >= ?", *f.UpdatedAfter)
	}
	if f.UpdatedBefore != nil {
		w.And("m.updated_at <= ?", *f.UpdatedBefore)
	}
}

func (f Filter) search(w *db.Where, term string) {
	pattern := "%" + db.LikePattern(term) + "%"
	const inTitle, inText = `m.title_fold LIKE ? ESCAPE '\'`, `m.description_fold LIKE ? ESCAPE '\'`
	switch {
	case f.SearchTitle && !f.SearchText:
		w.And(inTitle, pattern)
	case f.SearchText && !f.SearchTitle:
		w.And(inText, pattern)
	default:
		w.And("("+inTitle+" OR "+inText+")", pattern, pattern)
	}
}
