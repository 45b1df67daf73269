package note

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// View is a note as those who may read it see it: the note has no value that a part holds.
type View struct {
	Note
	Author     *account.Summary // nil where the account is gone
	Resolution *ResolutionView  // nil for notes that cannot be resolved
}

// ResolutionView says whether a note is resolved.
type ResolutionView struct {
	Resolved bool
	By       *account.Summary // nil where unresolved, or the account is gone
}

// ViewOptions is what the caller of Views has read before; nil reads it.
type ViewOptions struct {
	People map[authz.UserID]*account.Summary // others than those of the notes as well
}

// Views shows notes that were read for the caller, of any things, in one statement at most, and one more where some are on diffs.
func (s *Service) Views(ctx context.Context, notes []Note, want ViewOptions) ([]View, error) {
	people := want.People
	if people == nil {
		var err error
		if people, err = s.Accounts.ByIDs(ctx, usersOf(notes)); err != nil {
			return nil, fmt.Errorf("views of notes: %w", err)
		}
	}
	suggestions, err := s.Suggestions(ctx, notes)
	if err != nil {
		return nil, err
	}
	out := make([]View, len(notes))
	for i := range notes {
		out[i] = newView(&notes[i], people)
		out[i].Suggested = suggestions[notes[i].ID]
	}
	return out, nil
}

// usersOf are the users that notes name.
func usersOf(notes []Note) []authz.UserID {
	ids := make([]authz.UserID, 0, len(notes))
	for i := range notes {
		ids = append(ids, notes[i].AuthorID)
		if by := notes[i].ResolvedByID; by != nil {
			ids = append(ids, *by)
		}
	}
	return ids
}

func newView(n *Note, people map[authz.UserID]*account.Summary) View {
	v := View{Note: *n, Author: people[n.AuthorID]}
	if n.Resolvable() {
		v.Resolution = &ResolutionView{Resolved: n.ResolvedAt != nil}
		if n.ResolvedByID != nil {
			v.Resolution.By = people[*n.ResolvedByID]
		}
	}
	v.ResolvedByID = nil
	return v
}
