package authz

import "tenon/internal/base/db"

// ReadableEpicsSQL returns a condition on rows of epics and of the namespaces of their groups that
// holds for the epics that the actor may read: confidential ones are for planners and their
// author.
func (p *Policy) ReadableEpicsSQL(as Actor, epic, namespace string) (cond string, args []any) {
	if as.Admin || as.Auditor {
		return p.within(as, namespace+".id", "true", nil)
	}
	visible, args := p.VisibleGroupsSQL(as, namespace)
	if !as.SignedIn() {
		return "(" + visible + " AND NOT " + epic + ".confidential)", args
	}
	planners, more := p.ReachSQL(as, Planner)
	return "(" + visible + " AND (NOT " + epic + ".confidential OR " + epic + ".author_id = ? OR " + namespace + ".id IN (" + db.Shared(planners) + ")))",
		append(append(args, as.UserID), more...)
}
