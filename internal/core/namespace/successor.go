package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// InsideSQL selects the namespaces of a project or group that is given as its argument: itself and all below it.
const InsideSQL = "(SELECT inside.namespace_id FROM namespace_ancestors inside WHERE inside.ancestor_id = ?)"

// Successor is the row that takes the place of another one where a project or group is transferred.
type Successor[ID ~int64] struct{ From, To ID }

// Titled is a table whose rows belong to a project or group and are used by title in all below it, such as labels.
// Rows of T have the columns id, namespace_id and title.
type Titled[T any, ID ~int64] struct {
	Table, Alias  string
	Columns, From string // of a statement that reads rows; From has Table under Alias

	// Key gives the id and the title of a row.
	Key func(*T) (ID, string)
	// Copy creates such a row in the project or group that was transferred.
	Copy func(context.Context, T) (ID, error)
}

// Successors gives for those of the rows that a project or group cannot use after its transfer the ones
// that take their places: of that title in the groups that it is in now, or copies in itself. Call it
// in the transaction of the transfer. It asks for no permission.
func Successors[T any, ID ~int64](ctx context.Context, d *db.DB, at authz.NamespaceID, ids []ID, of Titled[T, ID]) ([]Successor[ID], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In(of.Alias+".id", ids)
	w.And(of.Alias+".namespace_id NOT IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)", at)
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
	out := make([]Successor[ID], 0, len(former))
	for i := range former {
		from, title := of.Key(&former[i])
		to, ok := known[title]
		if !ok {
			if to, err = of.Copy(ctx, former[i]); err != nil {
				return nil, fmt.Errorf("copy of %s of a former group: %w", of.Table, err)
			}
			known[title] = to
		}
		out = append(out, Successor[ID]{from, to})
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

// Replace calls swap for each row that a transferred place uses and cannot use any more, and its successor.
// query selects the ids of the rows that it uses, successors is that of their package.
func Replace[ID ~int64](ctx context.Context, d *db.DB, query string, args []any, successors func(context.Context, []ID) ([]Successor[ID], error),
	swap func(ctx context.Context, from, to ID) error,
) error {
	used, err := db.Select[ID](ctx, d, query, args...)
	if err != nil {
		return fmt.Errorf("what a transferred place uses: %w", err)
	}
	for start := 0; start < len(used); start += db.MaxArgs / 2 {
		next, err := successors(ctx, used[start:min(start+db.MaxArgs/2, len(used))])
		if err != nil {
			return err
		}
		for _, n := range next {
			if err := swap(ctx, n.From, n.To); err != nil {
				return err
			}
		}
	}
	return nil
}
