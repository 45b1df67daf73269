package noteable

import "strings"

// Stored says where the things of a kind are, and which columns of that table name their place,
// "" for none.
type Stored struct {
	Kind           Kind
	Table          string
	Project, Group string
}

// Tables lists what rows of other tables name by kind and id without a reference that the
// database would follow.
func Tables() []Stored {
	return []Stored{
		{Issue, "issues", "project_id", ""},
		{MergeRequest, "merge_requests", "target_project_id", ""},
		{Snippet, "snippets", "project_id", ""},
		{Epic, "epics", "", "group_id"},
		{Note, "notes", "project_id", "group_id"},
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

// InProject gives conditions on such rows, one for each kind of things: they hold for the things
// of the project whose id each takes as its argument.
func InProject(kind, id string) []string {
	return in(kind, id, func(t Stored) string { return t.Project })
}

// InGroup is InProject for the things of a group itself.
func InGroup(kind, id string) []string {
	return in(kind, id, func(t Stored) string { return t.Group })
}

func in(kind, id string, column func(Stored) string) []string {
	var out []string
	for _, t := range Tables() {
		if c := column(t); c != "" {
			out = append(out, kind+" = '"+string(t.Kind)+"' AND "+id+" IN (SELECT going.id FROM "+t.Table+" going WHERE going."+c+" = ?)")
		}
	}
	return out
}
