package pypi

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/packages"
)

// Described is what a version of a Python package says of itself; "" is nothing.
type Described struct {
	PackageID              packages.ID `db:"package_id"`
	RequiresPython         string      `db:"requires_python"`
	Summary                string      `db:"summary"`
	Keywords               string      `db:"keywords"`
	AuthorEmail            string      `db:"author_email"`
	MetadataVersion        string      `db:"metadata_version"`
	Description            string      `db:"description"`
	DescriptionContentType string      `db:"description_content_type"`
}

// Described returns what packages say of themselves that were read for the caller.
func (s *Service) Described(ctx context.Context, ids []packages.ID) (map[packages.ID]*Described, error) {
	var w db.Where
	w.In("y.package_id", ids)
	rows, err := db.Select[Described](ctx, s.DB, "SELECT "+db.Columns[Described]("y")+" FROM pypi_packages y"+w.SQL()+" ORDER BY y.package_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read descriptions of Python packages: %w", err)
	}
	out := make(map[packages.ID]*Described, len(rows))
	for i := range rows {
		out[rows[i].PackageID] = &rows[i]
	}
	return out, nil
}
