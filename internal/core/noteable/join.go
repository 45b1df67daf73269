package noteable

import "strings"

// Join is the table of a kind in a statement about rows that name noteables by kind and id.
type Join struct {
	Description
	Alias string
}

// Joins adds to a statement the noteables that its rows name by the columns kind and id: joins is
// SQL for its FROM. Each kind that has accepts is joined under an alias of its own.
func (k *Kinds) Joins(kind, id string, has func(d *Description) bool) (joins string, each []Join) {
	for i := range k.list {
		d := &k.list[i].Description
		if d.Table == "" || !has(d) {
			continue
		}
		alias := "of_" + d.Table
		joins += " LEFT JOIN " + d.Table + " " + alias + " ON " + kind + " = '" + string(d.Kind) + "' AND " + alias + ".id = " + id
		each = append(each, Join{*d, alias})
	}
	return joins, each
}

// Columns lists one column of all joined tables, for COALESCE; "NULL" for none of them.
func Columns(each []Join, column string) string {
	if len(each) == 0 {
		return "NULL"
	}
	names := make([]string, len(each))
	for i, j := range each {
		names[i] = j.Alias + "." + column
	}
	return strings.Join(names, ", ")
}
