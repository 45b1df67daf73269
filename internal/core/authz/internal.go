package authz

import (
	"context"
	"slices"

	"tenon/internal/base/db"
)

// SeesInternalNotes reports whether the actor reads the internal notes on things of the project or
// group that s describes, and whether counters include them for it. It is the one rule of all
// lists, counters and reads; it asks nothing about the thing itself.
func (p *Policy) SeesInternalNotes(ctx context.Context, as Actor, s Subject) (bool, error) {
	level, err := p.Level(ctx, as, s)
	return err == nil && SeesInternal(as, level), err
}

// SeesInternal is SeesInternalNotes for an actor whose level is known.
func SeesInternal(as Actor, level Level) bool {
	return as.Admin || as.Auditor || level >= Rules[InternalNote].Min
}

// CountedSQL returns the column of the notes that the actor may read on rows of a table (alias),
// in projects whose namespace is in column.
func (p *Policy) CountedSQL(as Actor, alias, column string) (expr string, args []any) {
	switch {
	case as.Admin, as.Auditor:
		return alias + ".notes_count", nil
	case !as.SignedIn():
		return alias + ".public_notes_count", nil
	}
	level, args := p.LevelSQL(as, column)
	return "CASE WHEN " + level + " >= ? THEN " + alias + ".notes_count ELSE " + alias + ".public_notes_count END", append(args, Rules[InternalNote].Min)
}

// InternalSQL returns a condition that leaves out rows about internal notes that the actor may not read.
// The column internal of alias says whether a row is about one, and group_id and project_id of place where
// the note stands.
func (p *Policy) InternalSQL(as Actor, alias, place string) (cond string, args []any) {
	switch {
	case as.Admin, as.Auditor:
		return "true", nil
	case !as.SignedIn():
		return "NOT " + alias + ".internal", nil
	}
	reached, args := p.ReachSQL(as, Rules[InternalNote].Min)
	return "(NOT " + alias + ".internal OR " + place + ".group_id IN (" + db.Shared(reached) + ")" +
			" OR EXISTS (SELECT 1 FROM projects ip WHERE ip.id = " + place + ".project_id AND ip.namespace_id IN (" + reached + ")))",
		append(slices.Clip(args), args...)
}
