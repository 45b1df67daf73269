package noteable

import (
	"strings"

	"tenon/internal/base/db"
)

// Stored names the table of a kind, and its column for the group of what is in no project, "" for none.
type Stored struct {
	Kind  Kind
	Table string
	Group string
}

// Tables lists what rows of other tables name by kind and id without a reference that the
// database would follow.
func Tables() []Stored {
	return []Stored{
		{Issue, "issues", ""},
		{MergeRequest, "merge_requests", ""},
		{Snippet, "snippets", ""},
		{Epic, "epics", "group_id"},
		{Note, "notes", "group_id"},
	}
}

// GoneSQL is a condition on rows that name a thing by columns for its kind and its id: it holds
// where there is no such thing any more.
func GoneSQL(kind, id string) string {
	var all []string
	for _, t := range Tables() {
		all = append(all, kind+" = '"+string(t.Kind)+"' AND NOT EXISTS (SELECT 1 FROM "+t.Table+" gone WHERE gone.id = "+id+")")
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

// InTable returns the condition on such rows that name what a table has by its ids, and its arguments;
// ok is false for a table that is not among Tables.
func InTable(kind, id, table string, ids []int64) (cond string, args []any, ok bool) {
	for _, t := range Tables() {
		if t.Table == table {
			marks, args := db.Marks(ids)
			return kind + " = '" + string(t.Kind) + "' AND " + id + " IN (" + marks + ")", args, true
		}
	}
	return "", nil, false
}
