package label

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

var columns = db.Columns[Label]("l")

// short are the columns with the description cut, and without its folded form.
var short = strings.NewReplacer("l.description_fold", "'' AS description_fold", "l.description", budget.CutColumn("l.description")).Replace(columns)

// within adds the condition that a label belongs to the place, or to a group above it.
func (f Filter) within(w *db.Where, at authz.Place) {
	switch {
	case f.OwnOnly && f.Parent:
		w.And("(l.namespace_id = ? OR l.namespace_id = (SELECT o.parent_id FROM namespaces o WHERE o.id = ?))", at.Namespace, at.Namespace)
	case f.OwnOnly:
		w.And("l.namespace_id = ?", at.Namespace)
	default:
		w.And("l.namespace_id IN "+namespace.AboveSQL, at.Namespace)
	}
}

// below adds the condition that a label belongs to the group, or to what is asked for below
// it and shown to the actor.
func (s *Service) below(w *db.Where, as authz.Actor, at authz.Place, f Filter) {
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	cond := "n.id = ?"
	more := []any{at.Namespace}
	if f.Descendants {
		cond = "n.kind = 'group' AND n.id IN (SELECT d.namespace_id FROM namespace_ancestors d WHERE d.ancestor_id = ?)"
	}
	if f.Projects {
		projects := "n.parent_id = ?"
		if f.Descendants {
			projects = "n.id IN (SELECT d.namespace_id FROM namespace_ancestors d WHERE d.ancestor_id = ?)"
		}
		cond = "(" + cond + " OR n.kind = 'project' AND " + projects + ")"
		more = append(more, at.Namespace)
	}
	own := "l.namespace_id IN (SELECT n.id FROM namespaces n WHERE " + cond + " AND " + visible + ")"
	more = append(more, args...)
	if !f.OwnOnly {
		own = "(" + own + " OR l.namespace_id IN " + namespace.AboveSQL + ")"
		more = append(more, at.Namespace)
	}
	w.And(own, more...)
}

// list reads a page of the labels of a place.
func (s *Service) list(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Label], error) {
	var w db.Where
	if !at.IsProject() && (f.Descendants || f.Projects) {
		s.below(&w, as, at, f)
	} else {
		f.within(&w, at)
	}
	if f.Archived != nil {
		w.And("l.archived = ?", *f.Archived)
	}
	if f.Search != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Search)) + "%"
		w.And(`(l.title_fold LIKE ? ESCAPE '\' OR l.description_fold LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	return page.Select[Label](ctx, s.DB, page.Query{Columns: columns, From: "labels l", Where: w, Order: order}, f.Range)
}

// order is by title, whatever its case.
var order = page.Order{page.Text("title_fold", "l.title_fold"), page.Text("title", "l.title"), page.ID("l.id")}

// one reads the label of the place, or of the nearest group above it, for which cond holds.
func (s *Service) one(ctx context.Context, at authz.Place, f Filter, cond string, arg any) (*Label, error) {
	var w db.Where
	f.within(&w, at)
	w.And(cond, arg)
	l, err := db.Get[Label](ctx, s.DB, "SELECT "+columns+` FROM labels l JOIN namespace_ancestors d
		ON d.ancestor_id = l.namespace_id AND d.namespace_id = ?`+w.SQL()+" ORDER BY d.depth LIMIT 1",
		append([]any{at.Namespace}, w.Args()...)...)
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// named reads the labels that a place may use by title, the nearest of equal titles.
func (s *Service) named(ctx context.Context, ns authz.NamespaceID, titles []string) (map[string]Label, error) {
	out := make(map[string]Label, len(titles))
	if len(titles) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("d.namespace_id = ?", ns)
	w.In("l.title", titles)
	labels, err := db.Select[Label](ctx, s.DB, "SELECT "+columns+` FROM labels l
		JOIN namespace_ancestors d ON d.ancestor_id = l.namespace_id`+w.SQL()+" ORDER BY d.depth DESC, l.id", w.Args()...)
	if err != nil {
		return nil, err
	}
	for _, l := range labels {
		out[l.Title] = l // the nearest comes last
	}
	return out, nil
}

// Usage is how often a label is attached to what the actor may read.
type Usage struct {
	LabelID      ID    `db:"label_id"`
	OpenIssues   int64 `db:"open_issues"`
	ClosedIssues int64 `db:"closed_issues"`
	OpenRequests int64 `db:"open_requests"`
}

// Usages counts the issues and merge requests of the place's project, or of the visible
// projects below the place's group, that carry the labels. Labels on nothing are left out.
func (s *Service) Usages(ctx context.Context, as authz.Actor, at authz.Place, ids []ID) (map[ID]Usage, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadLabel, at.Subject); err != nil {
		return nil, err
	}
	out := make(map[ID]Usage, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var place, issues, requests db.Where
	visible, visibleArgs := s.Policy.VisibleProjectsSQL(as, "n")
	place.And("d.ancestor_id = ?", at.Namespace)
	place.And(visible, visibleArgs...)
	open, openArgs := s.Policy.ConfidentialAnywhereSQL(as, "i", "n.id")
	issues.And("ll.target_type = 'Issue'")
	issues.In("ll.label_id", ids)
	issues.And(open, openArgs...)
	requests.And("ll.target_type = 'MergeRequest' AND m.state = 'opened'")
	requests.In("ll.label_id", ids)

	args := append(place.Args(), issues.Args()...)
	args = append(append(args, place.Args()...), requests.Args()...)
	rows, err := db.Select[Usage](ctx, s.DB, `SELECT x.label_id, SUM(x.open_issues) AS open_issues,
			SUM(x.closed_issues) AS closed_issues, SUM(x.open_requests) AS open_requests FROM (
		SELECT ll.label_id, CASE WHEN i.state = 'opened' THEN 1 ELSE 0 END AS open_issues,
			CASE WHEN i.state = 'closed' THEN 1 ELSE 0 END AS closed_issues, 0 AS open_requests
		FROM label_links ll JOIN issues i ON i.id = ll.target_id JOIN projects p ON p.id = i.project_id
		JOIN namespaces n ON n.id = p.namespace_id JOIN namespace_ancestors d ON d.namespace_id = n.id`+
		place.SQL()+issues.AndSQL()+`
		UNION ALL
		SELECT ll.label_id, 0, 0, 1
		FROM label_links ll JOIN merge_requests m ON m.id = ll.target_id JOIN projects p ON p.id = m.target_project_id
		JOIN namespaces n ON n.id = p.namespace_id JOIN namespace_ancestors d ON d.namespace_id = n.id`+
		place.SQL()+requests.AndSQL()+`) x GROUP BY x.label_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("count uses of labels: %w", err)
	}
	for _, u := range rows {
		out[u.LabelID] = u
	}
	return out, nil
}
