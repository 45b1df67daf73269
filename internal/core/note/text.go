package note

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// texts are searched: those of comments. TestTexts_migration of core compares it with the triggers.
var texts = db.Trigrams{Table: "notes", Columns: []string{db.Folded("body", "body_fold")}, Late: true}.Bounded("body", "NOT system")

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// Load reads notes by id, in no order. It asks for no permission.
func (s *Service) Load(ctx context.Context, ids []ID) (map[ID]*Note, error) {
	out := make(map[ID]*Note, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	marks, args := db.Marks(ids)
	list, err := db.Select[shortened](ctx, s.DB, "SELECT "+shortColumns+" FROM notes n WHERE n.id IN ("+marks+")", args...)
	if err == nil {
		err = s.lengthen(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("load notes: %w", err)
	}
	for i := range list {
		out[list[i].ID] = &list[i].Note
	}
	return out, nil
}

// Fold is the job that folds the bodies of comments which are older than the column of folds.
type Fold struct{}

// Kind names the job.
func (Fold) Kind() string { return "note_fold" }

// foldedAtOnce is how many bodies one transaction folds.
const foldedAtOnce = 200

// Fold folds what lacks its fold, a part at a time. Until then a search finds these comments
// by their letters of ASCII in any case, and by others as they are written.
func (s *Service) Fold(ctx context.Context, _ Fold) error {
	type row struct {
		ID   ID     `db:"id"`
		Body string `db:"body"`
	}
	for {
		rows, err := db.Select[row](ctx, s.DB, "SELECT id, body FROM notes WHERE NOT system AND "+db.UnfoldedSQL("body", "body_fold")+" ORDER BY id LIMIT ?", foldedAtOnce)
		if err != nil {
			return fmt.Errorf("find comments without a fold: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			for _, r := range rows {
				if _, err := s.DB.Exec(ctx, "UPDATE notes SET body_fold = ? WHERE id = ? AND body = ?", db.Fold(r.Body), r.ID, r.Body); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("fold comments: %w", err)
		}
	}
}
