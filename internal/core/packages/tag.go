package packages

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// Tag is a name for a version of a package, such as a distribution tag of npm.
type Tag struct {
	ID        int64   `db:"id"`
	PackageID ID      `db:"package_id"`
	Name      string  `db:"name"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// Tags returns the tags of packages that were read for the caller, by name.
func (s *Service) Tags(ctx context.Context, ids []ID) (map[ID][]Tag, error) {
	out := map[ID][]Tag{}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("t.package_id", ids)
	list, err := db.Select[Tag](ctx, s.DB, "SELECT "+db.Columns[Tag]("t")+" FROM package_tags t"+w.SQL()+" ORDER BY t.name, t.id", w.Args()...)
	if err != nil {
		return nil, errs.Wrap(err, "read tags of packages")
	}
	for _, t := range list {
		out[t.PackageID] = append(out[t.PackageID], t)
	}
	return out, nil
}
