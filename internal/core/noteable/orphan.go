package noteable

import (
	"strings"

	"tenon/internal/base/db"
)

// stored is the table of a kind, and its column for the group of what is in no project, "" for
// none.
type stored struct {
	kind  Kind
	table string
	group string
}

// tables lists what rows of other tables name by kind and id without a reference that the
// database would follow.
func (k *Kinds) tables() []stored {
	out := []stored{{Note, "notes", "group_id"}}
	for _, known := range k.All() {
		if known.Table != "" {
			out = append(out, stored{known.Kind, known.Table, known.Group})
		}
	}
	return out
}

// OrphanSQL is a condition on rows that name a noteable by columns for its kind and its id: it holds
// where there is no such noteable any more.
func (k *Kinds) OrphanSQL(kind, id string) string {
	var all []string
	for _, t := range k.tables() {
		all = append(all, kind+" = '"+string(t.kind)+"' AND NOT EXISTS (SELECT 1 FROM "+t.table+" gone WHERE gone.id = "+id+")")
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

// InTable returns the condition on such rows that name what a table has by its ids, and its arguments;
// ok is false for a table that has no noteables.
func (k *Kinds) InTable(kind, id, table string, ids []int64) (cond string, args []any, ok bool) {
	for _, t := range k.tables() {
		if t.table == table {
			marks, args := db.Marks(ids)
			return kind + " = '" + string(t.kind) + "' AND " + id + " IN (" + marks + ")", args, true
		}
	}
	return "", nil, false
}

// InGroups returns for each kind that belongs to groups the condition on such rows that name what
// a group has; its one argument is the group.
func (k *Kinds) InGroups(kind, id string) []string {
	var out []string
	for _, t := range k.tables() {
		if t.group != "" {
			out = append(out, kind+" = '"+string(t.kind)+"' AND "+id+" IN (SELECT going.id FROM "+t.table+" going WHERE going."+t.group+" = ?)")
		}
	}
	return out
}
