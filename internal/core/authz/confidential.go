package authz

import "tenon/internal/base/db"

// ConfidentialSQL returns a condition on a row of issues (alias) of the one project that
// s describes, which holds for the issues the actor may read: confidential ones are
// for planners, their author and their assignees. It asks nothing of the project.
func ConfidentialSQL(as Actor, s Subject, alias string) (cond string, args []any) {
	if SeesConfidential(as, s) {
		return "true", nil
	}
	return concerned(as, alias)
}

// SeesConfidential reports whether the actor may read all confidential issues of the
// project that s describes, if it may read its issues. It asks nothing of the project.
func SeesConfidential(as Actor, s Subject) bool {
	return as.Admin || as.Auditor || s.Known && s.Level >= Planner
}

// ConfidentialAnywhereSQL is ConfidentialSQL for issues of many projects, the namespace
// of whose project is in column.
func (p *Policy) ConfidentialAnywhereSQL(as Actor, alias, column string) (cond string, args []any) {
	if as.Admin || as.Auditor {
		return "true", nil
	}
	cond, args = concerned(as, alias)
	if !as.SignedIn() {
		return cond, args
	}
	reached, more := p.ReachSQL(as, Planner)
	return "(" + cond + " OR " + column + " IN (" + db.Shared(reached) + "))", append(args, more...)
}

// concerned holds for issues that are not confidential or the actor's own.
func concerned(as Actor, alias string) (cond string, args []any) {
	if !as.SignedIn() {
		return "NOT " + alias + ".confidential", nil
	}
	return "(NOT " + alias + ".confidential OR " + alias + ".author_id = ? OR EXISTS (SELECT 1 FROM issue_assignees ca" +
		" WHERE ca.issue_id = " + alias + ".id AND ca.user_id = ?))", []any{as.UserID, as.UserID}
}
