package label

import (
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// labelled begins the query for the labels of a thing whose id is appended. A thing may
// have labels of the same title, from its project and from groups above.
func labelled(what string, kind noteable.Kind, id string) (string, []any) {
	return "SELECT " + what + " FROM label_links ll JOIN labels l ON l.id = ll.label_id WHERE ll.target_type = ? AND ll.target_id = " + id, []any{kind}
}

// Labelled selects the ids of the things of a kind that have a label of the title, once for each
// such label: one of the project in or of any group, or of any place where it is 0. Groups
// that the project does not stand in count because things keep their labels when a project
// or a group above it is transferred.
func Labelled(kind noteable.Kind, title string, in authz.NamespaceID) (query string, args []any) {
	var w db.Where
	w.And("l.title = ? AND ll.label_id = l.id AND ll.target_type = ?", title, kind)
	if in != 0 {
		w.And("(l.namespace_id = ? OR l.namespace_id IN (SELECT g.namespace_id FROM groups g))", in)
	}
	return "SELECT ll.target_id AS id FROM labels l CROSS JOIN label_links ll" + w.SQL(), w.Args()
}

// singly is how many titles are looked up one by one: the database plans best with few.
const singly = 3

// HavingAll adds the condition that the thing whose id the SQL id gives has a label of
// each title. Beyond the first few, all titles are looked up at once.
func HavingAll(w *db.Where, kind noteable.Kind, id string, titles []string) {
	titles = distinct(titles)
	query, args := labelled("1", kind, id)
	for _, title := range titles[:min(singly, len(titles))] {
		w.And("EXISTS ("+query+" AND l.title = ?)", append(slices.Clip(args), title)...)
	}
	if len(titles) <= singly {
		return
	}
	query, args = labelled("COUNT(DISTINCT l.title)", kind, id)
	marks, more := db.Marks(titles)
	w.And("("+query+" AND l.title IN ("+marks+")) = ?", append(append(args, more...), len(titles))...)
}

// HavingAny adds the condition that the thing has a label of one of the titles.
func HavingAny(w *db.Where, kind noteable.Kind, id string, titles []string) {
	if len(titles) == 0 {
		return
	}
	query, args := labelled("1", kind, id)
	marks, more := db.Marks(titles)
	w.And("EXISTS ("+query+" AND l.title IN ("+marks+"))", append(args, more...)...)
}

// HavingNone adds the condition that the thing has no label of any of the titles.
func HavingNone(w *db.Where, kind noteable.Kind, id string, titles []string) {
	if len(titles) == 0 {
		return
	}
	query, args := labelled("1", kind, id)
	marks, more := db.Marks(titles)
	w.And("NOT EXISTS ("+query+" AND l.title IN ("+marks+"))", append(args, more...)...)
}

func distinct(titles []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(titles)))
}
