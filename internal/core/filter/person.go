package filter

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// Person selects by who has a part in a thing. The zero value selects all.
type Person struct {
	ID       authz.UserID
	Username string
	Any      bool // any user at all
	None     bool // no user
	Nothing  bool // matches nothing
}

// One selects by a user's id: nil selects all, and an id that no user has nothing.
func One(id *authz.UserID) Person {
	if id == nil {
		return Person{}
	}
	return Person{ID: *id, Nothing: *id == 0}
}

// Me selects by the actor's part; an actor without an account has a part in nothing.
func Me(as authz.Actor) Person { return One(&as.UserID) }

// Equals is the condition on a column with user ids, without the column's name. It is not ok
// where the filter does not ask for one user.
func (p Person) Equals() (cond string, args []any, ok bool) {
	switch {
	case p.None, p.Any, p.Nothing:
	case p.ID != 0:
		return "= ?", []any{p.ID}, true
	case p.Username != "":
		return "= " + byUsername, []any{db.Fold(p.Username)}, true
	}
	return "", nil, false
}

// Part is a part that users have in a row: its author, or its assignees.
type Part struct {
	column string // of the row; "" for a table of its own
	from   string // EXISTS (SELECT 1 FROM table x WHERE ... , to be closed
	count  string // the same as SELECT COUNT(*)
}

// Column is a part with one user: the id is in a column of the row.
func (r Rows) Column(name string) Part { return Part{column: r.Alias + "." + name} }

// Table is a part with any number of users: their ids are in the column user_id of a table, and
// key is its column with the id of the row.
func (r Rows) Table(table, key string) Part {
	from := " FROM " + table + " x WHERE x." + key + " = " + r.Alias + ".id"
	return Part{from: "EXISTS (SELECT 1" + from, count: "(SELECT COUNT(*)" + from}
}

// And narrows a part that is a table of its own to rows (x) with a condition.
func (p Part) And(cond string) Part {
	p.from, p.count = p.from+" AND "+cond, p.count+" AND "+cond
	return p
}

const byUsername = "(SELECT u.id FROM users u WHERE u.username_fold = ?)"

// Is adds that the person has the part.
func (p Part) Is(w *db.Where, who Person) {
	switch {
	case who.Nothing:
		w.Raw("1 = 0")
	case who.None && p.column != "":
		w.Raw(p.column + " IS NULL")
	case who.None:
		w.Raw("NOT " + p.from + ")")
	case who.Any && p.column != "":
		w.Raw(p.column + " IS NOT NULL")
	case who.Any:
		w.Raw(p.from + ")")
	case who.ID != 0 && p.column != "":
		w.And(p.column+" = ?", who.ID)
	case who.ID != 0:
		w.And(p.from+" AND x.user_id = ?)", who.ID)
	case who.Username != "" && p.column != "":
		w.And(p.column+" = "+byUsername, db.Fold(who.Username))
	case who.Username != "":
		w.And(p.from+" AND x.user_id = "+byUsername+")", db.Fold(who.Username))
	}
}

// IsNot adds that the person does not have the part. Nothing leaves out no row.
func (p Part) IsNot(w *db.Where, who Person) {
	switch {
	case who.Nothing:
	case who.None:
		p.Is(w, Person{Any: true})
	case who.Any:
		p.Is(w, Person{None: true})
	case who.ID != 0 && p.column != "":
		w.And(p.column+" <> ?", who.ID)
	case who.ID != 0:
		w.And("NOT "+p.from+" AND x.user_id = ?)", who.ID)
	case who.Username != "" && p.column != "":
		w.And(p.column+" NOT IN "+byUsername, db.Fold(who.Username))
	case who.Username != "":
		w.And("NOT "+p.from+" AND x.user_id IN "+byUsername+")", db.Fold(who.Username))
	}
}

// HasAll adds that all users of the names have the part, which is a table of its own.
func (p Part) HasAll(w *db.Where, usernames []string) {
	if names := folded(usernames); len(names) > 0 {
		marks, args := db.Marks(names)
		w.And(p.count+" AND x.user_id IN (SELECT u.id FROM users u WHERE u.username_fold IN ("+marks+"))) = ?", append(args, len(names))...)
	}
}

// HasAny adds that at least one user of the names has the part.
func (p Part) HasAny(w *db.Where, usernames []string) {
	if len(usernames) == 0 {
		return
	}
	marks, args := db.Marks(folded(usernames))
	users := "IN (SELECT u.id FROM users u WHERE u.username_fold IN (" + marks + "))"
	if p.column != "" {
		w.And(p.column+" "+users, args...)
		return
	}
	w.And(p.from+" AND x.user_id "+users+")", args...)
}

// HasNone adds that no user of the names has the part, which is a table of its own.
func (p Part) HasNone(w *db.Where, usernames []string) {
	if names := folded(usernames); len(names) > 0 {
		marks, args := db.Marks(names)
		w.And("NOT "+p.from+" AND x.user_id IN (SELECT u.id FROM users u WHERE u.username_fold IN ("+marks+")))", args...)
	}
}

// folded returns the names as columns named _fold have them, each once.
func folded(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = db.Fold(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Unassign takes a member off the rows in the place that it leaves, where that is asked for.
func (r Rows) Unassign(ctx context.Context, d *db.DB, e namespace.MemberRemoved) error {
	if !e.Unassign {
		return nil
	}
	rows, project := "issues", "project_id"
	if r.Kind == noteable.MergeRequest {
		rows, project = "merge_requests", "target_project_id"
	}
	table, key := r.assignees()
	_, err := d.Exec(ctx, "DELETE FROM "+table+" WHERE user_id = ? AND "+key+" IN (SELECT t.id FROM "+rows+" t JOIN projects p ON p.id = t."+project+`
		JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id = ?)`, e.Row().UserID, e.Place.Namespace)
	if err != nil {
		return fmt.Errorf("unassign member: %w", err)
	}
	return nil
}
