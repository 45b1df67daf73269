package namespace

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// InsideSQL selects the namespaces of a project or group that is given as its argument: itself and all below it.
const InsideSQL = "(" + insideQuery + ")"

// AboveSQL selects the namespaces whose rows a project or group that is given as its argument has as well: itself and all above it.
const AboveSQL = "(" + aboveQuery + ")"

// AroundSQL selects both, for an argument that is given twice.
const AroundSQL = "(" + aboveQuery + " UNION " + insideQuery + ")"

const (
	aboveQuery  = "SELECT above.ancestor_id FROM namespace_ancestors above WHERE above.namespace_id = ?"
	insideQuery = "SELECT inside.namespace_id FROM namespace_ancestors inside WHERE inside.ancestor_id = ?"
)

// Inherits reports whether a project or group has a row of a table: one of its own, or of a group above it.
func Inherits(ctx context.Context, d *db.DB, at authz.NamespaceID, table string, id int64) (bool, error) {
	has, err := db.Get[bool](ctx, d, "SELECT EXISTS (SELECT 1 FROM "+table+" x WHERE x.id = ? AND x.namespace_id IN "+AboveSQL+")", id, at)
	if err != nil {
		return false, fmt.Errorf("inherited row of %s: %w", table, err)
	}
	return has, nil
}

// Pairs returns successors as pairs of ids.
func Pairs[ID ~int64](all []Successor[ID]) []db.Pair {
	out := make([]db.Pair, len(all))
	for i, s := range all {
		out[i] = db.Pair{A: int64(s.From), B: int64(s.To)}
	}
	return out
}

// Successor is the row that takes the place of another one where a project or group is transferred.
type Successor[ID ~int64] struct{ From, To ID }

// Titled is a table whose rows belong to a project or group and are used by title in all below it, such as labels.
// Rows of T have the columns id, namespace_id and title.
type Titled[T any, ID ~int64] struct {
	Table, Alias  string
	Columns, From string // of a statement that reads rows; From has Table under Alias

	// Key returns the id and the title of a row.
	Key func(*T) (ID, string)
	// Copy creates such rows, at least one, in the project or group that was transferred, and returns
	// their ids in the order of the rows.
	Copy func(context.Context, []T) ([]ID, error)
}

// Successors returns for those of the rows that a project or group cannot use after its transfer the ones
// that take their places: of that title in the groups that it is in now, or copies in itself. Call it
// in the transaction of the transfer. It asks for no permission.
func Successors[T any, ID ~int64](ctx context.Context, d *db.DB, at authz.NamespaceID, ids []ID, of Titled[T, ID]) ([]Successor[ID], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In(of.Alias+".id", ids)
	w.And(of.Alias+".namespace_id NOT IN "+AboveSQL, at)
	w.And(of.Alias+".namespace_id NOT IN "+InsideSQL, at)
	former, err := db.Select[T](ctx, d, "SELECT "+of.Columns+" FROM "+of.From+w.SQL()+" ORDER BY "+of.Alias+".id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("%s of former groups: %w", of.Table, err)
	}
	titles := make([]string, len(former))
	for i := range former {
		_, titles[i] = of.Key(&former[i])
	}
	known, err := nearest[ID](ctx, d, at, of.Table, titles)
	if err != nil {
		return nil, err
	}
	var missing []T
	var absent []string // the titles of what is missing
	for i := range former {
		if _, ok := known[titles[i]]; !ok && !slices.Contains(absent, titles[i]) {
			missing, absent = append(missing, former[i]), append(absent, titles[i])
		}
	}
	if len(missing) > 0 {
		copies, err := of.Copy(ctx, missing)
		if err != nil {
			return nil, fmt.Errorf("copies of %s of a former group: %w", of.Table, err)
		}
		for i, title := range absent {
			known[title] = copies[i]
		}
	}
	out := make([]Successor[ID], len(former))
	for i, title := range titles {
		from, _ := of.Key(&former[i])
		out[i] = Successor[ID]{from, known[title]}
	}
	return out, nil
}

// nearest reads the rows of a table that a place may use by title, the nearest of equal titles.
func nearest[ID ~int64](ctx context.Context, d *db.DB, at authz.NamespaceID, table string, titles []string) (map[string]ID, error) {
	type row struct {
		ID    ID     `db:"id"`
		Title string `db:"title"`
	}
	out := make(map[string]ID, len(titles))
	if len(titles) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("a.namespace_id = ?", at)
	w.In("x.title", titles)
	rows, err := db.Select[row](ctx, d, "SELECT x.id, x.title FROM "+table+" x JOIN namespace_ancestors a ON a.ancestor_id = x.namespace_id"+
		w.SQL()+" ORDER BY a.depth DESC, x.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("%s by title: %w", table, err)
	}
	for _, r := range rows {
		out[r.Title] = r.ID // the nearest comes last
	}
	return out, nil
}

// Replace calls swap for the rows that a transferred place uses and cannot use any more with their successors.
// query selects the ids of the rows that it uses, successors is that of their package.
func Replace[ID ~int64](ctx context.Context, d *db.DB, query string, args []any, successors func(context.Context, []ID) ([]Successor[ID], error),
	swap func(ctx context.Context, all []Successor[ID]) error,
) error {
	used, err := db.Select[ID](ctx, d, query, args...)
	if err != nil {
		return fmt.Errorf("what a transferred place uses: %w", err)
	}
	for part := range slices.Chunk(used, db.MaxArgs/2) {
		next, err := successors(ctx, part)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			continue
		}
		if err := swap(ctx, next); err != nil {
			return err
		}
	}
	return nil
}
