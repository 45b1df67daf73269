package epic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
)

// AncestorsOf returns those of the epics above each of the epics with these ids that a filter selects, up
// to the first that the actor may not read, in the order of the filter, whose page is ignored. The
// epics must have been read for the actor. It takes as many statements for many epics as for one.
func (s *Service) AncestorsOf(ctx context.Context, as authz.Actor, ids []ID, f Filter) (map[ID][]*Epic, error) {
	out := make(map[ID][]*Epic, len(ids))
	if may, err := s.Policy.Can(ctx, as, authz.ReadEpic, authz.Subject{}); err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var above, of db.Where
	of.In("b.id", ids)
	above.And("up.depth < ?", maxDepth)
	s.readable(&above, as)
	type row struct {
		Root ID `db:"root"`
		ID   ID `db:"id"`
	}
	rows, err := db.Select[row](ctx, s.DB, `WITH RECURSIVE up (root, id, parent_id, depth) AS (
			SELECT b.id, b.id, b.parent_id, 0 FROM epics b`+of.SQL()+`
			UNION ALL SELECT up.root, e.id, e.parent_id, up.depth + 1 FROM up JOIN epics e ON e.id = up.parent_id JOIN namespaces n ON n.id = e.group_id`+above.SQL()+`
		) SELECT up.root, up.id FROM up WHERE up.depth > 0 ORDER BY up.root, up.id`, slices.Concat(of.Args(), above.Args())...)
	if err != nil {
		return nil, fmt.Errorf("ancestors of epics: %w", err)
	}
	below := map[ID][]ID{}
	for _, r := range rows {
		below[r.ID] = append(below[r.ID], r.Root)
	}
	var w db.Where
	w.In("e.id", slices.Sorted(maps.Keys(below)))
	f.Range = page.Range{Limit: max(len(below), 1), Uncounted: true}
	list, err := s.selected(ctx, as, w, f)
	for i := range list.Items {
		e := &list.Items[i]
		for _, root := range below[e.ID] {
			out[root] = append(out[root], e)
		}
	}
	return out, err
}

// MembersByIDs returns those of the issues in epics with these ids whose issue and epic the actor may
// read.
func (s *Service) MembersByIDs(ctx context.Context, as authz.Actor, ids []LinkID) (map[LinkID]*Member, error) {
	out := make(map[LinkID]*Member, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("x.id", ids)
	rows, err := db.Select[memberRow](ctx, s.DB, "SELECT "+db.Columns[memberRow]("x")+" FROM epic_issues x"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("issues in epics: %w", err)
	}
	issues, epics := make([]issue.ID, len(rows)), make([]ID, len(rows))
	for i, r := range rows {
		issues[i], epics[i] = r.IssueID, r.EpicID
	}
	foundIssues, err := s.Deps.Issues.ByIDs(ctx, as, issues)
	if err != nil {
		return nil, err
	}
	foundEpics, err := s.ByIDs(ctx, as, epics)
	for _, r := range rows {
		if i, e := foundIssues[r.IssueID], foundEpics[r.EpicID]; i != nil && e != nil {
			out[r.ID] = &Member{ID: r.ID, Epic: e, Issue: i}
		}
	}
	return out, err
}
