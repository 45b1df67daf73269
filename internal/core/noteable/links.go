package noteable

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Links is a table whose rows name issues, merge requests, comments and the like by kind and id, without
// a reference that the database would follow.
type Links struct {
	DB       *db.DB
	Kinds    *Kinds
	Table    string
	Kind, ID string // the columns that name what a row is about
	Key      string // a column of numbers by which Clean goes
}

// Remove deletes the rows about rows of a table that are about to be deleted.
func (l Links) Remove(ctx context.Context, table string, ids []int64) error {
	cond, args, ok := l.Kinds.InTable(l.Kind, l.ID, table, ids)
	if !ok {
		return nil
	}
	return l.remove(ctx, cond, args...)
}

// RemoveInGroup deletes the rows about what a group has that is about to be deleted, without its projects.
func (l Links) RemoveInGroup(ctx context.Context, group authz.NamespaceID) error {
	for _, cond := range l.Kinds.InGroups(l.Kind, l.ID) {
		if err := l.remove(ctx, cond, group); err != nil {
			return err
		}
	}
	return nil
}

func (l Links) remove(ctx context.Context, cond string, args ...any) error {
	if _, err := l.DB.Exec(ctx, "DELETE FROM "+l.Table+" WHERE "+cond, args...); err != nil {
		return fmt.Errorf("delete from %s: %w", l.Table, err)
	}
	return nil
}

// cleanBatch is how many keys one statement of Clean looks at.
const cleanBatch = 1000

// Clean deletes the rows about what is gone, which older versions left. It is for the administrator's
// command line.
func (l Links) Clean(ctx context.Context) error {
	last, err := db.Get[int64](ctx, l.DB, "SELECT COALESCE(MAX("+l.Key+"), 0) FROM "+l.Table)
	for from := int64(0); err == nil && from < last; from += cleanBatch {
		_, err = l.DB.Exec(ctx, "DELETE FROM "+l.Table+" WHERE "+l.Key+" > ? AND "+l.Key+" <= ? AND "+l.Kinds.OrphanSQL(l.Kind, l.ID), from, from+cleanBatch)
	}
	if err != nil {
		return fmt.Errorf("clean %s: %w", l.Table, err)
	}
	return nil
}

// Check reports how many rows are about what is gone. It is for the administrator's command line.
func (l Links) Check(ctx context.Context) ([]string, error) {
	n, err := db.Get[int64](ctx, l.DB, "SELECT COUNT(*) FROM "+l.Table+" WHERE "+l.Kinds.OrphanSQL(l.Kind, l.ID))
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", l.Table, err)
	}
	if n == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s: %d name things that are gone; --repair deletes them", l.Table, n)}, nil
}
