package importexport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// Report says what became of the rows of an import.
type Report struct {
	Relations []RelationReport // in the order of the format
	Items     []ReportItem     // the first 10,000 rows that were not written as they are, and files that were left out, for 30 days
	Failure   string           // why the import failed, "" where it did not

	s    *Service
	kept []keptFile
}

// RelationReport counts the rows of a relation.
type RelationReport struct {
	Name string
	tree.Counts
}

// ReportItem is a row that was not written as it is.
type ReportItem struct {
	ID       int64       `db:"id"`
	Relation string      `db:"relation"`
	Line     int64       `db:"line"` // from 1; 0 for a file
	Action   tree.Action `db:"action"`
	Reason   string      `db:"reason"`
	Title    string      `db:"title"`
	KeptIn   *int64      `db:"kept_in"` // file of lines that has the row
}

// Sum counts the rows of all relations together.
func (r *Report) Sum() tree.Counts {
	var sum tree.Counts
	for i := range r.Relations {
		sum.Add(&r.Relations[i].Counts)
	}
	return sum
}

// WithRows are the relations that had any.
func (r *Report) WithRows() []RelationReport {
	return slices.DeleteFunc(slices.Clone(r.Relations), func(rel RelationReport) bool { return rel.Counts == tree.Counts{} })
}

// keptItems is how long items are kept, in days.
const keptItems = 30

const itemColumns = "i.id, i.relation, i.line, i.action, i.reason, i.title, i.kept_in"

// ProjectReport returns the report of the import of a project, for those who administer the project and the user who imported it. It
// requires ReadImport.
func (s *Service) ProjectReport(ctx context.Context, as authz.Actor, ref string) (*Report, error) {
	p, err := s.Projects.ImportOf(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	row, err := db.Get[importRow](ctx, s.DB, "SELECT "+importColumns+" FROM file_imports WHERE project_id = ?", p.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	if !p.Administers(as) && row.UserID != as.UserID {
		return nil, errs.Denied("")
	}
	items, err := db.Select[ReportItem](ctx, s.DB, "SELECT "+itemColumns+" FROM file_import_items i WHERE i.project_id = ? ORDER BY i.id LIMIT ?", p.ID, maxItems)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	kept, err := db.Select[keptFile](ctx, s.DB, "SELECT "+keptColumns+" FROM import_lines i WHERE i.project_id = ? ORDER BY i.id LIMIT ?", p.ID, maxGroups)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	out, err := s.report(tree.Projects, []progress{row.progress}, items, kept)
	if err == nil && p.ImportError != nil {
		out.Failure = *p.ImportError
	}
	return out, err
}

// GroupReport returns the report of the import of a group with the groups below it, for those who administer the group and the user who
// imported it. It requires ReadGroup.
func (s *Service) GroupReport(ctx context.Context, as authz.Actor, ref string) (*Report, error) {
	g, err := s.Namespaces.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	const below = " JOIN namespace_ancestors a ON a.namespace_id = %s.namespace_id WHERE a.ancestor_id = ?"
	rows, err := db.Select[importedGroup](ctx, s.DB, "SELECT "+db.Columns[importedGroup]("g")+" FROM imported_groups g"+fmt.Sprintf(below, "g")+" ORDER BY g.id LIMIT ?", g.ID, maxGroups)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	failed, err := db.Select[string](ctx, s.DB, "SELECT COALESCE(i.error, '') FROM group_imports i WHERE i.namespace_id = ? ORDER BY i.id", g.ID)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	if len(failed) == 0 && !slices.ContainsFunc(rows, func(r importedGroup) bool { return r.NamespaceID == g.ID }) {
		return nil, errs.Missing("")
	}
	if err := s.mayReport(ctx, as, g); err != nil {
		return nil, err
	}
	items, err := db.Select[ReportItem](ctx, s.DB, "SELECT "+itemColumns+" FROM imported_group_items i"+fmt.Sprintf(below, "i")+" ORDER BY i.id LIMIT ?", g.ID, maxItems)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	kept, err := db.Select[keptFile](ctx, s.DB, "SELECT "+keptColumns+" FROM import_lines i"+fmt.Sprintf(below, "i")+" ORDER BY i.id LIMIT ?", g.ID, maxGroups)
	if err != nil {
		return nil, fmt.Errorf("report of import: %w", err)
	}
	parts := make([]progress, len(rows))
	for i := range rows {
		parts[i] = rows[i].progress
	}
	out, err := s.report(tree.Groups, parts, items, kept)
	if err == nil && len(failed) > 0 {
		out.Failure = failed[0]
	}
	return out, err
}

// BulkReport returns the report of a direct transfer, all its groups and projects together, for the user who began it and administrators. It
// requires TransferDirectly.
func (s *Service) BulkReport(ctx context.Context, as authz.Actor, id BulkID) (*Report, error) {
	if err := s.mayTransfer(ctx, as); err != nil {
		return nil, err
	}
	began, err := db.Select[authz.UserID](ctx, s.DB, "SELECT user_id FROM bulk_imports WHERE id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("report of transfer: %w", err)
	}
	if len(began) == 0 || began[0] != as.UserID && !as.Admin {
		return nil, errs.Missing("")
	}
	var parts []progress
	var kept []keptFile
	items := []ReportItem{}
	for _, of := range []struct{ parts, items, key string }{
		{"imported_groups", "imported_group_items", "namespace_id"},
		{"file_imports", "file_import_items", "project_id"},
	} {
		entities := " JOIN bulk_import_entities e ON e." + of.key + " = i." + of.key + " WHERE e.bulk_import_id = ? ORDER BY i.id LIMIT ?"
		some, err := db.Select[progress](ctx, s.DB, "SELECT "+db.Columns[progress]("i")+" FROM "+of.parts+" i"+entities, id, maxGroups)
		if err != nil {
			return nil, fmt.Errorf("report of transfer: %w", err)
		}
		parts = append(parts, some...)
		rows, err := db.Select[ReportItem](ctx, s.DB, "SELECT "+itemColumns+" FROM "+of.items+" i"+entities, id, maxItems-len(items))
		if err != nil {
			return nil, fmt.Errorf("report of transfer: %w", err)
		}
		items = append(items, rows...)
		lines, err := db.Select[keptFile](ctx, s.DB, "SELECT "+keptColumns+" FROM import_lines i"+entities, id, maxGroups)
		if err != nil {
			return nil, fmt.Errorf("report of transfer: %w", err)
		}
		kept = append(kept, lines...)
	}
	return s.report(tree.Projects, parts, items, kept)
}

// mayReport requires AdminGroup, or that the user imported the group.
func (s *Service) mayReport(ctx context.Context, as authz.Actor, g *namespace.Group) error {
	err := s.Policy.Require(ctx, as, authz.AdminGroup, g.Subject())
	if !errs.Is(err, errs.Forbidden) || !as.SignedIn() {
		return err
	}
	n, more := db.Get[int](ctx, s.DB, `SELECT count(*) FROM group_imports i WHERE i.user_id = ?
		AND (i.namespace_id = ? OR EXISTS (SELECT 1 FROM imported_groups g WHERE g.import_id = i.id AND g.namespace_id = ?))`, as.UserID, g.ID, g.ID)
	if more != nil {
		return fmt.Errorf("who imported the group: %w", more)
	}
	if n == 0 {
		return err
	}
	return nil
}

// report sums up the parts of an import.
func (s *Service) report(of tree.Trees, parts []progress, items []ReportItem, kept []keptFile) (*Report, error) {
	all, err := s.Catalogue(of)
	if err != nil {
		return nil, err
	}
	sums := map[string]tree.Counts{}
	for i := range parts {
		for name, c := range parts[i].counts() {
			sum := sums[name]
			sum.Add(c)
			sums[name] = sum
		}
	}
	out := &Report{Relations: []RelationReport{}, Items: items, s: s, kept: kept}
	for _, rel := range all.All() {
		if c, ok := sums[rel.Name]; ok {
			out.Relations = append(out.Relations, RelationReport{rel.Name, c})
			delete(sums, rel.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out.Relations = append(out.Relations, RelationReport{name, sums[name]})
	}
	return out, nil
}
