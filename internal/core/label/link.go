package label

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// maxTitles bounds how many labels one call names and a thing has: each may have to be made, while no user
// else writes.
const maxTitles = 500

func tooMany() error {
	return errs.Plain(fmt.Sprintf("labels are too many (maximum is %d)", maxTitles))
}

// ByNames returns the labels with these titles that the place may use, in the order of the
// titles, without those that there are not. More than 500 titles are Invalid. It asks for no
// permission: who sees the place sees its labels.
func (s *Service) ByNames(ctx context.Context, at authz.Place, titles []string) ([]Label, error) {
	titles, known, err := s.byNames(ctx, at, titles)
	return inOrder(titles, known), err
}

// EnsureByNames is ByNames that makes the missing ones where the actor may manage labels. Titles
// that no label can have are left out.
func (s *Service) EnsureByNames(ctx context.Context, as authz.Actor, at authz.Place, titles []string) ([]Label, error) {
	titles, known, err := s.byNames(ctx, at, titles)
	if err != nil || len(known) == len(titles) {
		return inOrder(titles, known), err
	}
	create, err := s.Policy.Can(ctx, as, authz.AdminLabel, at.Subject)
	if err != nil {
		return nil, err
	}
	for _, title := range titles {
		if _, ok := known[title]; ok || !create {
			continue
		}
		made, ok, err := s.make(ctx, as, at, title)
		if err != nil {
			return nil, fmt.Errorf("create label: %w", err)
		}
		if ok {
			known[title] = made
		}
	}
	return inOrder(titles, known), nil
}

// byNames finds labels by title, and returns the titles without blank ones and doublets.
func (s *Service) byNames(ctx context.Context, at authz.Place, titles []string) ([]string, map[string]Label, error) {
	titles = tidy(titles)
	if len(titles) == 0 {
		return nil, nil, nil
	}
	if len(titles) > maxTitles {
		return nil, nil, tooMany()
	}
	known, err := s.named(ctx, at.Namespace, titles)
	if err != nil {
		return nil, nil, fmt.Errorf("labels by name: %w", err)
	}
	return titles, known, nil
}

func inOrder(titles []string, known map[string]Label) []Label {
	var out []Label
	for _, title := range titles {
		if l, ok := known[title]; ok {
			out = append(out, l)
		}
	}
	return out
}

// TitlesByIDs returns the titles of those of the labels with these ids that the actor may see and the
// place may use, in the order of the ids.
func (s *Service) TitlesByIDs(ctx context.Context, as authz.Actor, at authz.Place, ids []ID) ([]string, error) {
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var titles []string
	for _, id := range ids {
		if l := found[id]; l != nil {
			titles = append(titles, l.Title)
		}
	}
	known, err := s.named(ctx, at.Namespace, titles)
	if err != nil {
		return nil, fmt.Errorf("labels by id: %w", err)
	}
	return slices.DeleteFunc(titles, func(title string) bool { return found[known[title].ID] == nil }), nil
}

// make creates a label by title alone; ok is false where no label can have the title.
func (s *Service) make(ctx context.Context, as authz.Actor, at authz.Place, title string) (made Label, ok bool, err error) {
	now := db.At(s.Now())
	l := Label{NamespaceID: at.Namespace, Title: title, Color: defaultColor, CreatedAt: now, UpdatedAt: now}
	if l.validate() != nil {
		return Label{}, false, nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		id, err := db.Get[ID](ctx, s.DB, `INSERT INTO labels (namespace_id, title, title_fold, description_fold, color, created_at, updated_at)
			VALUES (?, ?, ?, '', ?, ?, ?) ON CONFLICT (namespace_id, title) DO NOTHING RETURNING id`,
			l.NamespaceID, l.Title, db.Fold(l.Title), l.Color, l.CreatedAt, l.UpdatedAt)
		if errors.Is(err, db.ErrNotFound) { // another user just made it
			id, err = db.Get[ID](ctx, s.DB, "SELECT id FROM labels WHERE namespace_id = ? AND title = ?", l.NamespaceID, l.Title)
			l.ID = id
			return err
		}
		if err != nil {
			return err
		}
		l.ID = id
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, &l)})
	})
	return l, err == nil, err
}

// linked are the columns of linked labels, without folded texts, which no transport shows there. Long
// descriptions are cut.
var linked = "l.id, l.namespace_id, l.title, " + budget.CutColumn("l.description") + ", l.color, l.created_at, l.updated_at"

// ForTargets returns the labels of things of one kind, each thing's sorted by title.
func (s *Service) ForTargets(ctx context.Context, kind noteable.Kind, ids []int64) (map[int64][]Label, error) {
	out := make(map[int64][]Label, len(ids))
	if len(ids) == 1 {
		labels, err := s.ofOne(ctx, noteable.Ref{Kind: kind, ID: ids[0]})
		if err != nil {
			return nil, fmt.Errorf("labels of %s: %w", kind, err)
		}
		if len(labels) > 0 {
			out[ids[0]] = labels
		}
		return out, nil
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		var w db.Where
		w.And("ll.target_type = ?", kind)
		w.In("ll.target_id", chunk)
		err := s.eachLink(ctx, &w, func(on noteable.Ref, l Label) { out[on.ID] = append(out[on.ID], l) })
		if err != nil {
			return nil, fmt.Errorf("labels of %s: %w", kind, err)
		}
	}
	return out, nil
}

// ofOne returns the labels of one issue, merge request or epic, sorted by title. Grouping them as eachLink does doubles what it costs.
func (s *Service) ofOne(ctx context.Context, on noteable.Ref) ([]Label, error) {
	labels, err := db.Select[Label](ctx, s.DB, "SELECT "+linked+" FROM label_links ll JOIN labels l ON l.id = ll.label_id"+
		" WHERE ll.target_type = ? AND ll.target_id = ?", on.Kind, on.ID)
	slices.SortFunc(labels, inList)
	for i := range labels {
		labels[i].Description = budget.CutAt(labels[i].Description)
	}
	return labels, err
}

// inList is the order of the labels of an issue.
func inList(a, b Label) int {
	return cmp.Or(strings.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID))
}

// eachLink calls fn for each label of the issues, merge requests and epics that a condition on the links ll
// selects, in the order of titles. A label is read once, however many of them have it.
func (s *Service) eachLink(ctx context.Context, w *db.Where, fn func(on noteable.Ref, l Label)) error {
	type row struct {
		Label

		Targets string `db:"targets"` // kind and id of each
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+linked+", string_agg(ll.target_type || ' ' || CAST(ll.target_id AS TEXT), ',') AS targets"+
		" FROM label_links ll JOIN labels l ON l.id = ll.label_id"+w.SQL()+" GROUP BY l.id", w.Args()...)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b row) int { return inList(a.Label, b.Label) })
	for i := range rows {
		rows[i].Description = budget.CutAt(rows[i].Description)
		for target := range strings.SplitSeq(rows[i].Targets, ",") {
			kind, text, _ := strings.Cut(target, " ")
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			fn(noteable.Ref{Kind: noteable.Kind(kind), ID: id}, rows[i].Label)
		}
	}
	return nil
}

// Known is what was read for an actor before, for things of several kinds at once; what is nil
// was not.
type Known struct {
	Projects map[project.ID]*project.Project     // with the actor's level
	Labels   map[noteable.Kind]map[int64][]Label // by the id of the thing
}

// ForNoteables is ForTargets for things of several kinds, at most as many as a page has.
func (s *Service) ForNoteables(ctx context.Context, refs []noteable.Ref) (map[noteable.Kind]map[int64][]Label, error) {
	out := map[noteable.Kind]map[int64][]Label{}
	ids := map[noteable.Kind][]int64{}
	for _, ref := range refs {
		ids[ref.Kind] = append(ids[ref.Kind], ref.ID)
	}
	var conds []string
	var args []any
	for _, kind := range slices.Sorted(maps.Keys(ids)) {
		marks, more := db.Marks(ids[kind])
		conds = append(conds, "ll.target_type = ? AND ll.target_id IN ("+marks+")")
		args = append(append(args, kind), more...)
		out[kind] = map[int64][]Label{}
	}
	if len(conds) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("("+strings.Join(conds, " OR ")+")", args...)
	if err := s.eachLink(ctx, &w, func(on noteable.Ref, l Label) { out[on.Kind][on.ID] = append(out[on.Kind][on.ID], l) }); err != nil {
		return nil, fmt.Errorf("labels of things: %w", err)
	}
	return out, nil
}

// Attach puts labels on a thing that has none yet. Call it in the transaction that makes
// the thing.
func (s *Service) Attach(ctx context.Context, to noteable.Ref, labels []Label) error {
	if len(labels) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(labels))
	for i := range labels {
		args = append(args, to.Kind, to.ID, labels[i].ID)
	}
	_, err := s.DB.Exec(ctx, "INSERT INTO label_links (target_type, target_id, label_id) VALUES "+
		strings.Repeat("(?, ?, ?), ", len(labels)-1)+"(?, ?, ?) ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return fmt.Errorf("attach labels: %w", err)
	}
	return nil
}

// Apply returns a thing of the place, which has the labels present, those that a asks for and
// says what changed. Unknown titles are made or left out as EnsureByNames does; more than 500
// labels of one thing are Invalid. Call it in the transaction that changes the thing; the caller
// has asked for the permission.
func (s *Service) Apply(ctx context.Context, as authz.Actor, at authz.Place, to noteable.Ref, present []Label, a Assignment) (added, removed []Label, err error) {
	if a.Empty() {
		return nil, nil, nil
	}
	wanted := present
	if a.Set != nil {
		if wanted, err = s.EnsureByNames(ctx, as, at, *a.Set); err != nil {
			return nil, nil, err
		}
	}
	more, err := s.EnsureByNames(ctx, as, at, a.Add)
	if err != nil {
		return nil, nil, err
	}
	wanted = slices.Concat(wanted, more)
	drop := tidy(a.Remove)
	wanted = slices.DeleteFunc(wanted, func(l Label) bool {
		return slices.Contains(drop, l.Title) || slices.Contains(drop, strconv.FormatInt(int64(l.ID), 10))
	})
	added, removed = missing(wanted, present), missing(present, wanted)
	if len(added) > 0 && len(present)+len(added)-len(removed) > maxTitles {
		return nil, nil, tooMany()
	}
	if err := s.Attach(ctx, to, added); err != nil {
		return nil, nil, err
	}
	if len(removed) > 0 {
		var w db.Where
		w.And("target_type = ? AND target_id = ?", to.Kind, to.ID)
		ids := make([]ID, len(removed))
		for i := range removed {
			ids[i] = removed[i].ID
		}
		w.In("label_id", ids)
		if _, err := s.DB.Exec(ctx, "DELETE FROM label_links"+w.SQL(), w.Args()...); err != nil {
			return nil, nil, fmt.Errorf("detach labels: %w", err)
		}
	}
	return added, removed, nil
}

// ByTitle orders labels by title.
func ByTitle(a, b Label) int { return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID)) }

// With returns labels by title, with those that were added and without those that were removed.
func With(present, added, removed []Label) []Label {
	return slices.SortedFunc(slices.Values(append(missing(present, removed), added...)), ByTitle)
}

// Detach takes all labels off a thing that is being deleted, in the caller's transaction.
func (s *Service) Detach(ctx context.Context, from noteable.Ref) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM label_links WHERE target_type = ? AND target_id = ?", from.Kind, from.ID); err != nil {
		return fmt.Errorf("detach labels: %w", err)
	}
	return nil
}

// missing lists the labels of a that b lacks, each once.
func missing(a, b []Label) []Label {
	var out []Label
	has := func(in []Label, id ID) bool {
		return slices.ContainsFunc(in, func(l Label) bool { return l.ID == id })
	}
	for _, l := range a {
		if !has(b, l.ID) && !has(out, l.ID) {
			out = append(out, l)
		}
	}
	return out
}
