package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Comment is a comment that was found.
type Comment struct {
	*note.Note

	IID *int64 // of what it is on; nil where that has none
}

type commentRow struct {
	ID  note.ID `db:"id"`
	IID *int64  `db:"iid"`
}

// commentColumns are those of commentRow. The notes have the alias c in every statement, because
// conditions of ReadableSQL use n.
func (s *Service) commentColumns() string {
	out := "c.id, CASE c.noteable_type"
	for _, k := range s.searched() {
		if k.Numbered {
			out += " WHEN '" + string(k.Kind) + "' THEN (SELECT o.iid FROM " + k.Table + " o WHERE o.id = c.noteable_id)"
		}
	}
	return out + " WHEN '' THEN NULL END AS iid" // a CASE needs one
}

// shortest is how many characters a term has that is looked for in the comments of more than
// one project: shorter ones have no index.
const shortest = 3

// Notes finds comments by their text, the latest first unless the query asks for the oldest.
// Outside of one project a term needs three characters; without one nothing is found.
func (s *Service) Notes(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[Comment], error) {
	none := page.None[Comment](q.Range)
	blank, err := s.require(ctx, as, at, Notes, q)
	if blank || err != nil {
		return none, err
	}
	terms := q.terms()
	long := func(term string) bool { return utf8.RuneCountInString(term) >= shortest }
	if !at.IsProject() && !slices.ContainsFunc(terms, long) {
		return none, nil
	}
	var w db.Where
	w.Raw("NOT c.system")
	for _, term := range terms {
		w.And(db.Folded("c.body", "c.body_fold")+` LIKE ? ESCAPE '\'`, "%"+db.LikePattern(term)+"%")
	}
	list := page.Query{Columns: s.commentColumns(), From: "notes c", Key: "c.id", Narrow: "notes c", Order: page.Order{page.ID("c.id")}}
	if !q.ByCreation || !q.Asc {
		list.Order = list.Order.Desc()
	}
	if query, args, ok := s.DB.Holding(s.Deps.Notes.Indexed(), terms); ok {
		list.Candidates = append(list.Candidates, page.Candidates{SQL: query, Args: args})
	}
	list.Candidates = append(list.Candidates, s.commentsOf(as, at, q, &w)...)
	if err := s.readComments(ctx, as, at, &w); err != nil {
		return none, err
	}
	list.Where = w
	found, err := page.Select[commentRow](ctx, s.DB, list, q.Range)
	if err != nil {
		return none, fmt.Errorf("search notes: %w", err)
	}
	ids := make([]note.ID, len(found.Items))
	for i, row := range found.Items {
		ids[i] = row.ID
	}
	notes, err := s.Deps.Notes.Load(ctx, ids)
	if err != nil {
		return none, err
	}
	found = page.Without(found, func(row *commentRow) bool { return notes[row.ID] == nil })
	return page.Map(found, func(row *commentRow) Comment { return Comment{notes[row.ID], row.IID} }), nil
}

// commentsOf adds the place to the conditions, and returns what an index finds of it.
func (s *Service) commentsOf(as authz.Actor, at authz.Place, q Query, w *db.Where) []page.Candidates {
	if at.IsProject() {
		w.And("c.project_id = ?", at.ID)
		return []page.Candidates{{SQL: "SELECT id FROM notes WHERE project_id = ?", Args: []any{at.ID}}}
	}
	if !q.Archived {
		// An expression, which PostgreSQL evaluates for the comments that it reads: of NOT EXISTS it makes a join with all projects.
		w.Raw("NOT COALESCE((SELECT cp.archived OR " + namespace.InArchived("cp.namespace_id") + " FROM projects cp WHERE cp.id = c.project_id), false)")
	}
	const below = "SELECT gp.id FROM namespace_ancestors ga JOIN projects gp ON gp.namespace_id = ga.namespace_id WHERE ga.ancestor_id = ?"
	if at.Group {
		w.And("c.project_id IN ("+below+")", at.Namespace)
		return []page.Candidates{{SQL: "SELECT x.id FROM (" + below + ") place CROSS JOIN notes x WHERE x.project_id = place.id", Args: []any{at.Namespace}, Costly: true}}
	}
	return nil
}

// readComments adds that the actor may read the comments.
func (s *Service) readComments(ctx context.Context, as authz.Actor, at authz.Place, w *db.Where) error {
	if p := project.Of(at); p != nil {
		return s.readCommentsIn(ctx, as, p, w)
	}
	code, more := s.Policy.ReadableCodeSQL(as, "p", "n")
	kinds := kindConditions{}
	kinds.add(noteable.Commit, "EXISTS (SELECT 1 FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id = c.project_id AND NOT p.pending_delete AND "+code+")", more)
	for _, kind := range s.searched() {
		cond, more := kind.Provider.(noteable.Readable).ReadableSQL(as, "c.noteable_id")
		kinds.add(kind.Kind, cond, more)
	}
	kinds.where(w)
	internal, more := s.Policy.InternalSQL(as, "c", "c")
	w.And(internal, more...)
	return nil
}

// searched lists the kinds whose comments are found, but for commits.
func (s *Service) searched() []noteable.Known {
	return slices.DeleteFunc(slices.Clone(s.Kinds.All()), func(k noteable.Known) bool {
		_, readable := k.Provider.(noteable.Readable)
		return !k.Searched || !readable
	})
}

// ReadableIn is implemented by things whose project tells by itself, or almost, whether the
// actor may read them: their rows need not be looked at.
type ReadableIn interface {
	// ReadableInSQL is ReadableSQL for things of a project that the actor has found.
	ReadableInSQL(ctx context.Context, as authz.Actor, p *project.Project, column string) (cond string, args []any, err error)
}

// readCommentsIn is readComments for the comments of a project.
func (s *Service) readCommentsIn(ctx context.Context, as authz.Actor, p *project.Project, w *db.Where) error {
	code, err := s.Policy.Can(ctx, as, authz.ReadCode, p.Subject())
	if err != nil {
		return err
	}
	kinds := kindConditions{}
	if code {
		kinds.add(noteable.Commit, "1 = 1", nil)
	}
	for _, kind := range s.searched() {
		cond, args := "", []any(nil)
		if things, ok := kind.Provider.(ReadableIn); ok {
			cond, args, err = things.ReadableInSQL(ctx, as, p, "c.noteable_id")
		} else {
			cond, args = kind.Provider.(noteable.Readable).ReadableSQL(as, "c.noteable_id")
		}
		if err != nil {
			return err
		}
		kinds.add(kind.Kind, cond, args)
	}
	kinds.where(w)
	internal, err := s.Policy.SeesInternalNotes(ctx, as, p.Subject())
	if err == nil && !internal {
		w.Raw("NOT c.internal")
	}
	return err
}

// kindConditions are the conditions on comments, by the kind of what they are on.
type kindConditions struct {
	conds []string
	args  []any
}

func (k *kindConditions) add(kind noteable.Kind, cond string, args []any) {
	k.conds = append(k.conds, " WHEN ? THEN "+cond)
	k.args = append(append(k.args, kind), args...)
}

// where adds the conditions as a CASE: of alternatives SQLite would look up each in the index by kinds, and read all comments.
func (k *kindConditions) where(w *db.Where) {
	w.And("CASE c.noteable_type"+strings.Join(k.conds, "")+" ELSE false END", k.args...)
}
