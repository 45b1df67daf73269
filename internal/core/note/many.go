package note

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// ByIDs returns those of the notes with these ids that the actor may read, whatever they are
// on. It takes one statement for the notes and as many for their targets as there are kinds
// of those, twice at most.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Note, error) {
	out := make(map[ID]*Note, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("n.id", ids)
	marks, args := db.Marks(ids)
	sources, sourceArgs, err := s.sources(ctx, as, "n.id IN ("+marks+")", args)
	if err != nil {
		return nil, err
	}
	w.And(sources, sourceArgs...)
	notes, err := db.Select[shortened](ctx, s.DB, "SELECT "+shortColumns+" FROM notes n"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("notes by id: %w", err)
	}
	refs := make([]noteable.Ref, len(notes))
	for i := range notes {
		refs[i] = notes[i].on()
	}
	internal, err := s.readableOn(ctx, as, refs)
	if err != nil {
		return nil, err
	}
	notes = slices.DeleteFunc(notes, func(n shortened) bool {
		all, ok := internal[n.on()]
		return !ok || n.Internal && !all
	})
	if err := s.lengthen(ctx, notes); err != nil {
		return nil, err
	}
	for i := range notes {
		out[notes[i].ID] = &notes[i].Note
	}
	return out, nil
}

// Commenters returns the users who commented on things of one kind that were read for the actor, as far as
// it reads their comments, those who did first before the others.
func (s *Service) Commenters(ctx context.Context, as authz.Actor, things []noteable.Ref) (map[noteable.Ref][]authz.UserID, error) {
	out := make(map[noteable.Ref][]authz.UserID, len(things))
	rows, err := s.tally(ctx, as, things, "n.author_id AS value", "n.noteable_id, n.author_id ORDER BY MIN(n.id)")
	for _, r := range rows {
		on := noteable.Ref{Kind: things[0].Kind, ID: r.ID}
		out[on] = append(out[on], authz.UserID(r.Value))
	}
	return out, err
}

// CountDiscussions counts the discussions on things of one kind that were read for the actor, those of
// which it reads a comment.
func (s *Service) CountDiscussions(ctx context.Context, as authz.Actor, things []noteable.Ref) (map[noteable.Ref]int64, error) {
	out := make(map[noteable.Ref]int64, len(things))
	rows, err := s.tally(ctx, as, things, "COUNT(DISTINCT n.discussion_id) AS value", "n.noteable_id ORDER BY n.noteable_id")
	for _, r := range rows {
		out[noteable.Ref{Kind: things[0].Kind, ID: r.ID}] = r.Value
	}
	return out, err
}

type tallied struct {
	ID    int64 `db:"noteable_id"`
	Value int64 `db:"value"`
}

// tally sums up the comments on things of one kind that the actor reads, in one statement and those that
// say what it reads.
func (s *Service) tally(ctx context.Context, as authz.Actor, things []noteable.Ref, value, group string) ([]tallied, error) {
	internal, err := s.readableOn(ctx, as, things)
	if err != nil || len(internal) == 0 {
		return nil, err
	}
	all, some := []int64{-1}, []int64{-1}
	for on, sees := range internal {
		if sees {
			all = append(all, on.ID)
		} else {
			some = append(some, on.ID)
		}
	}
	slices.Sort(all)
	slices.Sort(some)
	ofAll, args := db.Marks(all)
	ofSome, more := db.Marks(some)
	rows, err := db.Select[tallied](ctx, s.DB, "SELECT n.noteable_id, "+value+` FROM notes n WHERE n.noteable_type = ? AND NOT n.system
		AND (n.noteable_id IN (`+ofAll+`) OR n.noteable_id IN (`+ofSome+`) AND NOT n.internal)
		GROUP BY `+group, slices.Concat([]any{things[0].Kind}, args, more)...)
	if err != nil {
		return nil, fmt.Errorf("sum up comments: %w", err)
	}
	return rows, nil
}

// readableOn returns those of the things whose notes the actor may read, and whether internal
// ones are among these.
func (s *Service) readableOn(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]bool, error) {
	kinds := map[noteable.Kind][]noteable.Ref{}
	for _, ref := range refs {
		if list := kinds[ref.Kind]; !slices.Contains(list, ref) {
			kinds[ref.Kind] = append(list, ref)
		}
	}
	out := make(map[noteable.Ref]bool, len(refs))
	for kind, list := range kinds {
		known := s.Kinds.Find(kind)
		on := On{Kind: kind, Anonymous: true}
		if known == nil || !on.opens(as, known) {
			continue
		}
		visits := on.visits(as, known)
		subjects, err := known.Provider.Subjects(ctx, as, list)
		if err != nil {
			return nil, err
		}
		for ref, subject := range subjects {
			may, err := s.Policy.Can(ctx, as, authz.ReadNote, subject)
			if err == nil && (may || visits || known.Public) {
				out[ref], err = s.Policy.SeesInternalNotes(ctx, as, subject)
			}
			if err != nil {
				return nil, fmt.Errorf("notes on many things: %w", err)
			}
		}
	}
	return out, nil
}
