package authz

import (
	"slices"

	"tenon/internal/base/db"
)

// Access is a query, not a copy: memberships and shares are rows on namespaces, and
// the closure of the tree carries them downwards. Every list filters by the same
// expressions that Require asks for one subject.

// LevelSQL returns an SQL expression for the actor's level of membership in the
// namespace that column names, and its arguments: the highest of its own and inherited
// memberships and of shares with groups it belongs to. It knows nothing
// of visibility. Where the actor's address is not let in it is Barred. CROSS JOIN keeps SQLite from beginning with all memberships of the
// actor, who may have hundreds; PostgreSQL orders such joins as it likes.
func (p *Policy) LevelSQL(as Actor, column string) (expr string, args []any) {
	expr, args = p.memberSQL(as, column)
	if !p.holds(as) {
		return expr, args
	}
	barred, more := barredSQL(as, column, 0)
	return "(CASE WHEN " + barred + " THEN -1 ELSE " + expr + " END)", append(more, args...)
}

// memberSQL is LevelSQL without the question for addresses.
func (p *Policy) memberSQL(as Actor, column string) (expr string, args []any) {
	switch {
	case as.Admin:
		return "50", nil
	case as.Deploys():
		return deployLevelSQL(as.Deploy, column)
	case !as.SignedIn():
		return "0", nil
	}
	return p.levelOf(column, "?", as.UserID)
}

// levelOf is LevelSQL for the user that an expression with these arguments names.
func (p *Policy) levelOf(column, user string, of ...any) (expr string, args []any) {
	today := p.today()
	return `(SELECT COALESCE(MAX(x.level), 0) FROM (
		SELECT m.access_level AS level
		FROM namespace_ancestors a
		CROSS JOIN members m
		WHERE m.namespace_id = a.ancestor_id AND a.namespace_id = ` + column + ` AND m.user_id = ` + user + ` AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT CASE WHEN s.access_level < m.access_level THEN s.access_level ELSE m.access_level END
		FROM namespace_ancestors a
		CROSS JOIN shares s
		CROSS JOIN namespace_ancestors g
		CROSS JOIN members m
		WHERE s.namespace_id = a.ancestor_id AND g.namespace_id = s.group_id AND m.namespace_id = g.ancestor_id
			AND a.namespace_id = ` + column + ` AND m.user_id = ` + user + ` AND (m.expires_on IS NULL OR m.expires_on > ?)
			AND (s.expires_on IS NULL OR s.expires_on > ?)) x)`,
		slices.Concat(of, []any{today}, of, []any{today, today})
}

// deployLevelSQL is LevelSQL for a deploy key or token: what reads is a reporter, what
// may push a developer, as far as the rules are open to either.
func deployLevelSQL(d Deploy, column string) (expr string, args []any) {
	// The names of tables in here must not hide the one in column.
	if d.KeyID != 0 {
		return `(SELECT COALESCE(MAX(CASE WHEN dk.can_push THEN 30 ELSE 20 END), 0) FROM deploy_key_projects dk
			JOIN projects dp ON dp.id = dk.project_id WHERE dp.namespace_id = ` + column + ` AND dk.key_id = ?)`, []any{d.KeyID}
	}
	return `(SELECT COALESCE(MAX(20), 0) FROM namespace_ancestors da WHERE da.namespace_id = ` + column + ` AND da.ancestor_id = ?)`,
		[]any{d.Place}
}

// reachSQL selects the ids of all namespaces in which the signed-in actor has a
// membership of at least Guest, by itself, by inheritance or through a share.
func (p *Policy) reachSQL(as Actor) (query string, args []any) { return p.ReachSQL(as, Guest) }

// ReachSQL selects the ids of all namespaces in which the signed-in actor has at least
// the level, by its own membership, by inheritance or through a share, some of them more
// than once. Administrators get no more than their memberships here.
func (p *Policy) ReachSQL(as Actor, least Level) (query string, args []any) {
	query, args = p.membershipsSQL(as, least)
	return p.reached(as, "namespace_id", query, args)
}

// reached narrows a query of namespaces to those that the actor reaches from its address, and by External.
func (p *Policy) reached(as Actor, column, query string, args []any) (string, []any) {
	cond, more := p.outsideSQL(as, "far."+column)
	if cond == "" {
		return query, args
	}
	return "SELECT far." + column + " FROM (" + query + ") far WHERE NOT " + cond, slices.Concat(args, more)
}

// membershipsSQL is ReachSQL without the question for addresses.
func (p *Policy) membershipsSQL(as Actor, least Level) (query string, args []any) {
	today := p.today()
	return `SELECT d.namespace_id
		FROM members m
		JOIN namespace_ancestors d ON d.ancestor_id = m.namespace_id
		WHERE m.user_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT d.namespace_id
		FROM members m
		JOIN namespace_ancestors g ON g.ancestor_id = m.namespace_id
		JOIN shares s ON s.group_id = g.namespace_id
		JOIN namespace_ancestors d ON d.ancestor_id = s.namespace_id
		WHERE m.user_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?)
			AND s.access_level >= ? AND (s.expires_on IS NULL OR s.expires_on > ?)`,
		[]any{as.UserID, least, today, as.UserID, least, today, least, today}
}

// VisibleProjectsSQL returns a condition on a row of namespaces (alias) of kind project
// that holds for those the actor may see.
func (p *Policy) VisibleProjectsSQL(as Actor, alias string) (cond string, args []any) {
	switch {
	case as.Admin, as.Auditor:
		return p.within(as, alias+".id", "true", nil)
	case !as.SignedIn():
		return p.within(as, alias+".id", alias+".visibility >= 20", nil)
	}
	reached, args := p.reachSQL(as)
	return p.within(as, alias+".id", "("+alias+openSQL(as)+" OR "+alias+".id IN ("+db.Shared(reached)+"))", args)
}

// VisibleProjectIDsSQL selects the namespaces of the projects that VisibleProjectsSQL holds
// for, each once, as id, and some that no project has. Those of the actor come first. It
// is for actors who see few: not ok means that the actor sees all.
func (p *Policy) VisibleProjectIDsSQL(as Actor) (query string, args []any, ok bool) {
	const open = "SELECT v.id FROM namespaces v WHERE v.kind = 'project' AND v"
	switch {
	case (as.Admin || as.Auditor) && !p.holds(as):
		return "", nil, false
	case as.Admin, as.Auditor:
		query = open + ".visibility >= 0"
	case !as.SignedIn():
		query = open + ".visibility >= 20"
	default:
		reached, more := p.reachSQL(as)
		query, args = "SELECT DISTINCT reached.namespace_id AS id FROM ("+reached+") reached UNION ALL "+
			open+openSQL(as)+" AND v.id NOT IN ("+reached+")", append(more, more...)
	}
	query, args = p.reached(as, "id", query, args)
	return query, args, true
}

// VisibleGroupsSQL returns a condition on a row of namespaces (alias) of kind group that
// holds for those the actor may see: open ones, its own, and those that hold something
// of its own.
func (p *Policy) VisibleGroupsSQL(as Actor, alias string) (cond string, args []any) {
	switch {
	case as.Admin, as.Auditor:
		return p.within(as, alias+".id", "true", nil)
	case !as.SignedIn():
		return p.within(as, alias+".id", alias+".visibility >= 20", nil)
	}
	reached, args := p.ReachSQL(as, Minimal)
	return p.within(as, alias+".id", "("+alias+openSQL(as)+" OR "+alias+".id IN (SELECT u.ancestor_id FROM namespace_ancestors u"+
		" WHERE u.namespace_id IN ("+db.Shared(reached)+")))", args)
}

// VisiblePlacesSQL returns a condition on a row of namespaces (alias) that holds for the
// projects and groups that the actor may see, but for projects that are being deleted. It is a CASE,
// by which no engine looks for rows: with an OR, SQLite would look for the few that a query names among all namespaces.
func (p *Policy) VisiblePlacesSQL(as Actor, alias string) (cond string, args []any) {
	projects, args := p.VisibleProjectsSQL(as, alias)
	groups, more := p.VisibleGroupsSQL(as, alias)
	return "CASE " + alias + ".kind WHEN 'group' THEN " + groups + " WHEN 'project' THEN " + projects +
			" AND NOT EXISTS (SELECT 1 FROM projects gone WHERE gone.namespace_id = " + alias + ".id AND gone.pending_delete) ELSE false END",
		append(more, args...)
}

// ReadableCodeSQL returns a condition on rows of projects and of their namespaces that holds for
// the projects whose code the actor may read.
func (p *Policy) ReadableCodeSQL(as Actor, project, namespace string) (cond string, args []any) {
	cond = project + ".repository_access > 0"
	if as.Admin || as.Auditor {
		return p.within(as, namespace+".id", cond, nil)
	}
	open := namespace + ".visibility <> 0 AND " + project + ".repository_access = 20"
	visible, args := p.VisibleProjectsSQL(as, namespace)
	if !as.SignedIn() {
		return "(" + open + " AND " + visible + ")", args
	}
	planners, more := p.ReachSQL(as, Planner)
	return "(" + cond + " AND (" + namespace + ".id IN (" + db.Shared(planners) + ") OR " + open + " AND " + visible + "))", append(more, args...)
}

// ReadableWikiSQL returns a condition on rows of projects and of their namespaces that holds for
// the projects whose wiki the actor may read.
func (p *Policy) ReadableWikiSQL(as Actor, project, namespace string) (cond string, args []any) {
	if as.Admin || as.Auditor {
		return p.within(as, namespace+".id", project+".wiki_access > 0", nil)
	}
	visible, args := p.VisibleProjectsSQL(as, namespace)
	open := project + ".wiki_access = 20 AND " + visible
	if !as.SignedIn() {
		return "(" + open + ")", args
	}
	reached, more := p.reachSQL(as)
	return "(" + open + " OR " + project + ".wiki_access > 0 AND " + namespace + ".id IN (" + db.Shared(reached) + "))", append(args, more...)
}

// openSQL is the tail of a condition for what a signed-in stranger may see.
func openSQL(as Actor) string {
	if as.External {
		return ".visibility >= 20"
	}
	return ".visibility >= 10"
}

// OrNil returns the level, nil for NoAccess and Barred.
func (l Level) OrNil() *Level {
	if l <= NoAccess {
		return nil
	}
	return &l
}
