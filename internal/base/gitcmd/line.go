package gitcmd

import (
	"context"
	"slices"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// maxLine bounds how far a line is followed in process.
const maxLine = 100

// line returns the commits of a selection, newest first, where it is plain to see: from one
// commit back to another along single parents, or to where a known merge base says that
// the other's history begins; a merge of such a line into the other likewise. Elsewhere
// it says no, and git has to look.
func (r *Repo) line(ctx context.Context, o LogOptions) (ids []gitstore.ObjectID, ok bool) {
	if len(o.From) != 1 || len(o.Not) != 1 || o.Path != "" || o.Author != "" || o.Message != "" || !o.Since.IsZero() || !o.Until.IsZero() || o.NoMerges {
		return nil, false
	}
	at, not := o.From[0], o.Not[0]
	stop := map[gitstore.ObjectID]bool{not: true}
	if !o.FirstParent {
		r.addBase(stop, at, not)
	}
	for len(ids) < maxLine {
		c, err := r.ShortCommit(ctx, at)
		switch {
		case err != nil:
			return nil, false
		case stop[at]:
			return o.cut(ids), true
		case len(c.Parents) == 0:
			return nil, false
		case len(c.Parents) == 1 || o.FirstParent:
			at = c.Parents[0]
		case len(ids) == 0 && len(c.Parents) == 2 && c.Parents[0] == not:
			at = c.Parents[1]
			r.addBase(stop, at, not)
		default:
			return nil, false
		}
		ids = append(ids, c.ID)
	}
	return nil, false
}

// addBase adds the merge base of two commits where it is known. No commit that leads to
// it along single parents is in the history of the other: it would be a better base.
func (r *Repo) addBase(stop map[gitstore.ObjectID]bool, a, b gitstore.ObjectID) {
	for _, pair := range [][2]gitstore.ObjectID{{a, b}, {b, a}} {
		bases, _ := lru.Get[[]gitstore.ObjectID](r.git.results, baseKey(r.Path(), pair[:]))
		if len(bases) > 0 {
			stop[bases[0]] = true
		}
	}
}

// cut applies what bounds and orders a list.
func (o LogOptions) cut(ids []gitstore.ObjectID) []gitstore.ObjectID {
	ids = ids[min(o.Skip, len(ids)):]
	if o.Limit > 0 {
		ids = ids[:min(o.Limit, len(ids))]
	}
	if o.Reverse {
		slices.Reverse(ids)
	}
	return ids
}
