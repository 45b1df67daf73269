package importexport

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// readStats counts the rows of entities that are finished, by relation. Nested relations are counted with the report.
func (s *Service) readStats(ctx context.Context, list []Entity) error {
	projects, groups := map[int64]*Entity{}, map[int64]*Entity{}
	for i := range list {
		e := &list[i]
		e.Stats = map[string]EntityStats{}
		switch {
		case e.Status != BulkFinished:
		case e.ProjectID != nil:
			projects[int64(*e.ProjectID)] = e
		case e.NamespaceID != nil:
			groups[int64(*e.NamespaceID)] = e
		}
	}
	for _, of := range []struct {
		table, key string
		entities   map[int64]*Entity
		files      []file
	}{
		{"file_imports", "project_id", projects, projectLayout.all()},
		{"imported_groups", "namespace_id", groups, groupFiles},
	} {
		if len(of.entities) == 0 {
			continue
		}
		ids := make([]int64, 0, len(of.entities))
		for id := range of.entities {
			ids = append(ids, id)
		}
		type row struct {
			ID     int64  `db:"id"`
			Counts string `db:"counts"`
		}
		var w db.Where
		w.In(of.key, ids)
		found, err := db.Select[row](ctx, s.DB, "SELECT "+of.key+" AS id, counts FROM "+of.table+w.SQL()+" ORDER BY id", w.Args()...)
		if err != nil {
			return fmt.Errorf("rows of entities: %w", err)
		}
		for _, r := range found {
			counts := (&progress{Counts: r.Counts}).counts()
			for _, f := range of.files {
				if c := counts[f.name]; c != nil && c.Read > 0 {
					of.entities[r.ID].Stats[f.name] = EntityStats{Fetched: c.Read, Imported: c.Written + c.Merged + c.Changed}
				}
			}
		}
	}
	return nil
}
