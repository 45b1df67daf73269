package note

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/noteable"
)

// Depart is the account.Executor of notes: those that a departing user wrote become the
// ghost's, or go.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	if e.Hard {
		return s.departHard(ctx, e)
	}
	n, err := s.DB.Exec(ctx, "UPDATE notes SET author_id = ? WHERE id IN (SELECT id FROM notes WHERE author_id = ? ORDER BY id LIMIT ?)",
		e.Ghost, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over notes: %w", err)
	}
	return n == account.Batch, nil
}

// departHard deletes a batch of notes, with the reactions to them, and counts them off.
func (s *Service) departHard(ctx context.Context, e account.Estate) (bool, error) {
	found := 0
	now := s.Now()
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		notes, err := db.Select[Note](ctx, s.DB, "SELECT "+columns+" FROM notes n WHERE n.author_id = ? ORDER BY n.id LIMIT ?", e.UserID, account.Batch)
		if found = len(notes); err != nil || found == 0 {
			return err
		}
		ids := make([]ID, len(notes))
		off := map[noteable.Ref]noteable.Counts{}
		var order []noteable.Ref // so that two servers do not deadlock
		for i := range notes {
			n := &notes[i]
			ids[i] = n.ID
			by := n.counts()
			ref := n.on()
			sum, seen := off[ref]
			if !seen {
				order = append(order, ref)
			}
			off[ref] = sum.Less(by)
			if err := s.Awards.Clear(ctx, noteable.Ref{Kind: noteable.Note, ID: int64(n.ID)}); err != nil {
				return err
			}
		}
		order = slices.DeleteFunc(order, func(ref noteable.Ref) bool {
			return s.Kinds.Find(ref.Kind) == nil || off[ref] == (noteable.Counts{})
		})
		threads := make([]noteable.Counts, len(order))
		for i, ref := range order {
			if err := s.countOff(ctx, ref, off[ref], now); err != nil {
				return err
			}
			if threads[i], err = s.threadsOf(ctx, ref); err != nil {
				return err
			}
		}
		marks, args := db.Marks(ids)
		if _, err := s.DB.Exec(ctx, "DELETE FROM notes WHERE id IN ("+marks+")", args...); err != nil {
			return err
		}
		for i, ref := range order {
			left, err := s.threadsOf(ctx, ref)
			if err != nil {
				return err
			}
			if left != threads[i] {
				if err := s.countOff(ctx, ref, left.Less(threads[i]), now); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("delete notes of user: %w", err)
	}
	return found > 0, nil
}

// countOff changes the counters of a thing that may be gone.
func (s *Service) countOff(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) error {
	_, err := s.count(ctx, on, by, at)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

// threadsOf counts the threads of a thing of a kind that counts them.
func (s *Service) threadsOf(ctx context.Context, on noteable.Ref) (noteable.Counts, error) {
	if !s.Kinds.Of(on.Kind).Threads {
		return noteable.Counts{}, nil
	}
	return s.threads(ctx, on, "")
}
