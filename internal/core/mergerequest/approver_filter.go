package mergerequest

import (
	"tenon/internal/base/db"
	"tenon/internal/core/filter"
)

// maxApproverFilters is how many users of a filter count, the first ones.
const maxApproverFilters = 5

// approvedBy are the users whose approvals count for the head.
var approvedBy = rows.Table("approvals", "merge_request_id").And("x.head_sha = m.head_sha")

// Whether rules name a user: rules of the merge request, and those of its project while it has
// none of its own.
const (
	namedByOwn     = "EXISTS (SELECT 1 FROM approval_rules r JOIN approval_rule_users x ON x.rule_id = r.id WHERE r.merge_request_id = m.id"
	namedByProject = "EXISTS (SELECT 1 FROM approval_rules r JOIN approval_rule_users x ON x.rule_id = r.id WHERE r.project_id = m.target_project_id"
	hasOwnRules    = "EXISTS (SELECT 1 FROM approval_rules r WHERE r.merge_request_id = m.id AND r.rule_type IN ('any_approver', 'regular'))"
)

// isApprover adds that rules name a user, any user or none.
func isApprover(w *db.Where, who filter.Person) {
	is, args := "", []any(nil)
	if equals, more, ok := who.Equals(); ok {
		is, args = " AND x.user_id "+equals, more
	}
	cond := "(" + namedByOwn + is + ") OR " + namedByProject + is + ") AND NOT " + hasOwnRules + ")"
	args = append(args[:len(args):len(args)], args...)
	switch {
	case who.Nothing:
		w.Raw("1 = 0")
	case who.None:
		w.Raw("NOT " + cond)
	case who.Any, is != "":
		w.And(cond, args...)
	}
}

// approvers adds the conditions on who approved and who may.
func (f Filter) approvers(w *db.Where) {
	for _, who := range f.ApprovedBy[:min(len(f.ApprovedBy), maxApproverFilters)] {
		approvedBy.Is(w, who)
	}
	if f.Approved != nil {
		approvedBy.Is(w, filter.Person{Any: *f.Approved, None: !*f.Approved})
	}
	for _, who := range f.Approvers[:min(len(f.Approvers), maxApproverFilters)] {
		isApprover(w, who)
	}
}

// approverCandidates adds the requests that the first user of each filter approved, or may.
func (f Filter) approverCandidates(add func(query string, args ...any)) {
	if len(f.ApprovedBy) > 0 {
		if is, args, ok := f.ApprovedBy[0].Equals(); ok {
			add("SELECT merge_request_id AS id FROM approvals WHERE user_id "+is, args...)
		}
	}
	if len(f.Approvers) > 0 {
		if is, args, ok := f.Approvers[0].Equals(); ok {
			add(`SELECT r.merge_request_id AS id FROM approval_rule_users x JOIN approval_rules r ON r.id = x.rule_id
					WHERE r.merge_request_id IS NOT NULL AND x.user_id `+is+`
				UNION SELECT q.id FROM approval_rule_users x JOIN approval_rules r ON r.id = x.rule_id JOIN merge_requests q ON q.target_project_id = r.project_id
					WHERE x.user_id `+is, append(args[:len(args):len(args)], args...)...)
		}
	}
}
