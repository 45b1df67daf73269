package epic

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// byHand is the order of children that users chose.
const byHand = "relative_position"

// ChildrenOf returns a page of those children of an epic that the actor may read, in the order that
// users chose unless the filter says otherwise. The epic must have been read for the actor.
func (s *Service) ChildrenOf(ctx context.Context, as authz.Actor, of *Epic, f Filter) (page.Page[Epic], error) {
	if may, err := s.Policy.Can(ctx, as, authz.ReadEpic, authz.Subject{}); err != nil || !may {
		return page.None[Epic](f.Range), err
	}
	if f.OrderBy == "" {
		f.OrderBy, f.Asc = byHand, true
	}
	var w db.Where
	w.And("e.parent_id = ?", of.ID)
	list, err := s.selected(ctx, as, w, f)
	if err != nil {
		return list, fmt.Errorf("list children of epic: %w", err)
	}
	return list, nil
}

// Kin is how many children and issues an epic has that the actor may read.
type Kin struct {
	ID       ID    `db:"id"`
	Children int64 `db:"children"`
	Issues   int64 `db:"issues"`
}

// KinOf counts the children and issues of epics, in one statement. Those without any are left out.
func (s *Service) KinOf(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Kin, error) {
	out := make(map[ID]Kin, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadEpic, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var children, issues db.Where
	children.In("e.parent_id", ids)
	s.readable(&children, as)
	issues.In("x.epic_id", ids)
	cond, args := s.Deps.Issues.ReadableSQL(as, "x.issue_id")
	issues.And(cond, args...)
	rows, err := db.Select[Kin](ctx, s.DB, `SELECT y.id, SUM(y.children) AS children, SUM(y.issues) AS issues FROM (
			SELECT e.parent_id AS id, 1 AS children, 0 AS issues FROM epics e JOIN namespaces n ON n.id = e.group_id`+children.SQL()+`
			UNION ALL SELECT x.epic_id, 0, 1 FROM epic_issues x`+issues.SQL()+`
		) y GROUP BY y.id`, append(children.Args(), issues.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("count children and issues of epics: %w", err)
	}
	for _, k := range rows {
		out[k.ID] = k
	}
	return out, nil
}
