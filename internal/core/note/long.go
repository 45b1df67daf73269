package note

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
)

// maxShort is how many bytes of text a note of a list has at most to come with the page. The texts
// of longer ones are read afterwards, as far as they fit into one answer together.
const maxShort = 64 << 10

// shortColumns are the columns without the text of long notes, and how long that is.
var shortColumns = strings.Replace(columns, "n.body,", fmt.Sprintf("CASE WHEN octet_length(n.body) <= %[1]d THEN n.body ELSE '' END AS body,", maxShort), 1) +
	fmt.Sprintf(", CASE WHEN octet_length(n.body) <= %d THEN 0 ELSE octet_length(n.body) END AS long", maxShort)

// shortened is a note as shortColumns read it.
type shortened struct {
	Note
	Long int64 `db:"long"` // bytes of the text that is left out; 0 where it is there
}

// lengthen reads the texts that are left out of notes. It refuses more than a list may have.
func (s *Service) lengthen(ctx context.Context, notes []shortened) error {
	var ids []ID
	var all int64
	at := map[ID]*Note{}
	for i := range notes {
		if n := &notes[i]; n.Long > 0 {
			ids, all, at[n.ID] = append(ids, n.ID), all+n.Long, &n.Note
		}
	}
	switch {
	case len(ids) == 0:
		return nil
	case all > budget.MaxList && len(ids) > 1:
		return budget.ErrList
	}
	type text struct {
		ID   ID     `db:"id"`
		Body string `db:"body"`
	}
	marks, args := db.Marks(ids)
	texts, err := db.Select[text](ctx, s.DB, "SELECT id, body FROM notes WHERE id IN ("+marks+") ORDER BY id", args...)
	if err != nil {
		return fmt.Errorf("texts of long notes: %w", err)
	}
	for _, t := range texts {
		at[t.ID].Body = t.Body
	}
	return nil
}
