// Package filter has the conditions that lists of issues, merge requests, epics and snippets
// share: people, labels, times, the words of a search and reactions.
package filter

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
)

// Rows are the rows of a list in a statement.
type Rows struct {
	Alias string // of their table
	Kind  noteable.Kind
}

// Orders are the orders of lists of every kind, with more of this one. The column tie sorts
// rows of equal rank.
func (r Rows) Orders(tie page.Column, more page.Orders) page.Orders {
	priority := page.Computed(`(SELECT MIN(lp.priority) FROM label_links ll JOIN label_priorities lp ON lp.label_id = ll.label_id
		WHERE ll.target_type = ? AND ll.target_id = `+r.Alias+".id"+r.inProject()+")", r.Kind).Null()
	upvotes := page.Computed("(SELECT COUNT(*) FROM award_emoji ae WHERE ae.awardable_type = ? AND ae.awardable_id = "+r.Alias+".id AND ae.name = 'thumbsup')", r.Kind)
	due := page.Computed("(SELECT x.due_date FROM milestones x WHERE x.id = " + r.Alias + ".milestone_id)").Null()
	out := page.Orders{
		"updated_at":     {page.Time("updated_at", r.Alias+".updated_at"), tie},
		"title":          {page.Text("title", r.Alias+".title_fold"), tie},
		"milestone_due":  {due, tie},
		"label_priority": {priority, tie},
		"priority":       {due, priority, tie},
		"popularity":     {upvotes, tie},
	}
	maps.Copy(out, more)
	return out
}

// project is the column of the project of a row, "" where rows have none.
func (r Rows) project() string {
	switch r.Kind {
	case noteable.Issue:
		return r.Alias + ".project_id"
	case noteable.MergeRequest:
		return r.Alias + ".target_project_id"
	}
	return ""
}

// inProject is the condition that a priority of a label is the one in the project of the row.
func (r Rows) inProject() string {
	if column := r.project(); column != "" {
		return " AND lp.project_id = " + column
	}
	return ""
}

// Wildcard chooses things by whether they have something at all; "" chooses all.
type Wildcard string

// The wildcards.
const (
	None Wildcard = "none"
	Any  Wildcard = "any"
)

// Word reads a wildcard in any case; "" for everything else.
func Word(s string) Wildcard {
	switch w := Wildcard(strings.ToLower(s)); w {
	case None, Any:
		return w
	}
	return ""
}

// Where adds that a thing exists, or that it does not.
func (x Wildcard) Where(w *db.Where, exists string, args ...any) {
	switch x {
	case Any:
		w.And(exists, args...)
	case None:
		w.And("NOT ("+exists+")", args...)
	}
}

// Labels adds that a row has all labels, or any or none at all.
func (r Rows) Labels(w *db.Where, titles []string, which Wildcard) {
	label.HavingAll(w, r.Kind, r.Alias+".id", titles)
	which.Where(w, "EXISTS (SELECT 1 FROM label_links ll WHERE ll.target_type = ? AND ll.target_id = "+r.Alias+".id)", r.Kind)
}

// NotLabels adds that a row has none of the labels.
func (r Rows) NotLabels(w *db.Where, titles []string) {
	label.HavingNone(w, r.Kind, r.Alias+".id", titles)
}

// Times are inclusive bounds; nil leaves open.
type Times struct {
	CreatedAfter  *time.Time `param:"created_after" doc:"Return items created on or after this time"`
	CreatedBefore *time.Time `param:"created_before" doc:"Return items created on or before this time"`
	UpdatedAfter  *time.Time `param:"updated_after" doc:"Return items updated on or after this time"`
	UpdatedBefore *time.Time `param:"updated_before" doc:"Return items updated on or before this time"`
}

// Times adds the bounds.
func (r Rows) Times(w *db.Where, t Times) {
	w.Since(r.Alias+".created_at", t.CreatedAfter)
	w.Until(r.Alias+".created_at", t.CreatedBefore)
	w.Since(r.Alias+".updated_at", t.UpdatedAfter)
	w.Until(r.Alias+".updated_at", t.UpdatedBefore)
}

// Terms cuts a search into its folded terms: quotes keep several words together.
func Terms(search string) []string {
	var out []string
	for i, part := range strings.Split(search, `"`) {
		if i%2 == 0 {
			out = append(out, strings.Fields(part)...)
		} else if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return db.Terms(out)
}

// whole is the folded text of a search as one, without its quotes.
func whole(search string) string {
	return db.Fold(strings.TrimSpace(strings.ReplaceAll(search, `"`, "")))
}

// Words are what a search looks for. The zero value selects all rows.
type Words struct {
	Terms []string // folded; they are in the same field
	Whole string   // folded; the field is equal to it. "" where parts of a field match
}

// WordsIn cuts a search of a place. A search of the whole instance matches parts of texts if a
// term has three characters or more; a shorter one has to be equal to the title or description.
func WordsIn(at authz.Place, search string) Words {
	out := Words{Terms: Terms(search)}
	if at.IsInstance() && len(out.Terms) > 0 && !slices.ContainsFunc(out.Terms, db.Partial) {
		out.Whole = whole(search)
	}
	return out
}

// Search adds that the words stand in the same field of a row: title or description, or either
// where in is empty. Other fields hold nothing.
func (r Rows) Search(w *db.Where, words Words, in []string) {
	if len(words.Terms) == 0 {
		return
	}
	if len(in) == 0 {
		in = []string{"title", "description"}
	}
	var alternatives []string
	var args []any
	for _, field := range []string{"title", "description"} { // the shorter one is looked at first
		if !slices.Contains(in, field) {
			continue
		}
		column := r.Alias + "." + field + "_fold"
		if words.Whole != "" {
			alternatives = append(alternatives, column+" = ?")
			args = append(args, words.Whole)
			continue
		}
		var all []string
		for _, term := range words.Terms {
			all = append(all, column+` LIKE ? ESCAPE '\'`)
			args = append(args, "%"+db.LikePattern(term)+"%")
		}
		alternatives = append(alternatives, "("+strings.Join(all, " AND ")+")")
	}
	if len(alternatives) == 0 {
		alternatives = []string{"1 = 0"}
	}
	w.And("("+strings.Join(alternatives, " OR ")+")", args...)
}

// Relevance is the order of what a search finds: rows whose title is what was looked for,
// titles that begin with it, titles that hold all its terms, then the rest; the latest first
// among equals. The order that it falls back to where it would have to rank too many is common.
func (r Rows) Relevance(search string) (order, common page.Order) {
	title := r.Alias + ".title_fold"
	whole := whole(search)
	rank := "(CASE WHEN " + title + " = ? THEN 3 WHEN " + title + ` LIKE ? ESCAPE '\' THEN 2`
	args := []any{whole, db.LikePattern(whole) + "%"}
	if terms := Terms(search); len(terms) > 0 {
		rank += " WHEN " + strings.Join(slices.Repeat([]string{title + ` LIKE ? ESCAPE '\'`}, len(terms)), " AND ") + " THEN 1"
		for _, term := range terms {
			args = append(args, "%"+db.LikePattern(term)+"%")
		}
	}
	common = page.Order{page.ID(r.Alias + ".id")}.Desc()
	return append(page.Order{page.Computed(rank+" ELSE 0 END)", args...).Desc()}, common...), common
}

// ByRelevance names the order of [Rows.Relevance].
const ByRelevance = "relevance"

// Reaction adds that the actor reacted with an emoji, or with any or none at all. It is
// ignored where the name is empty or the actor is not signed in.
func (r Rows) Reaction(w *db.Where, as authz.Actor, name string) {
	if name == "" || !as.SignedIn() {
		return
	}
	if which := Word(name); which != "" {
		cond, args := r.reacted(as, "")
		which.Where(w, cond, args...)
		return
	}
	cond, args := r.reacted(as, name)
	w.And(cond, args...)
}

// NotReaction adds that the actor did not react with the emoji, which is ignored as in
// Reaction. Wildcards mean the opposite of what they mean there.
func (r Rows) NotReaction(w *db.Where, as authz.Actor, name string) {
	switch Word(name) {
	case Any:
		r.Reaction(w, as, string(None))
		return
	case None:
		r.Reaction(w, as, string(Any))
		return
	}
	if name == "" || !as.SignedIn() {
		return
	}
	cond, args := r.reacted(as, name)
	w.And("NOT "+cond, args...)
}

// reacted is the condition that the actor reacted with an emoji, with any where name is "".
func (r Rows) reacted(as authz.Actor, name string) (string, []any) {
	cond := "EXISTS (SELECT 1 FROM award_emoji ae WHERE ae.awardable_type = ? AND ae.awardable_id = " + r.Alias + ".id AND ae.user_id = ?"
	if name == "" {
		return cond + ")", []any{r.Kind, as.UserID}
	}
	return cond + " AND ae.name = ?)", []any{r.Kind, as.UserID, name}
}

// Trigrams are those of a table whose titles and descriptions are searched. They come late.
func Trigrams(table string) db.Trigrams {
	return db.Trigrams{Table: table, Columns: []string{"title_fold", "description_fold"}, Late: true}.Bounded("description_fold", "")
}
