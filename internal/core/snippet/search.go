package snippet

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// The folded texts of a snippet that are searched.
var (
	description = db.Folded("description", "description_fold")
	files       = db.Folded("files", "files_fold")
)

// texts are searched: titles, descriptions and the paths of files.
var texts = db.Trigrams{Table: "snippets", Columns: []string{"title_fold", description, files}}.Bounded("COALESCE(description, '')", "")

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// Query selects snippets that hold all terms in their title, description and paths.
type Query struct {
	Terms  []string // folded
	Oldest bool     // first, instead of the latest
	page.Range
}

// Search returns the snippets of users and projects that the actor may read and that a query selects. It
// requires ListSnippets.
func (s *Service) Search(ctx context.Context, as authz.Actor, of Query) (page.Page[Snippet], error) {
	if err := s.Policy.Require(ctx, as, authz.ListSnippets, authz.Subject{}); err != nil {
		return page.Page[Snippet]{}, err
	}
	var w db.Where
	for _, term := range of.Terms {
		pattern := "%" + db.LikePattern(term) + "%"
		w.And(`(s.title_fold LIKE ? ESCAPE '\' OR `+db.Folded("s.description", "s.description_fold")+` LIKE ? ESCAPE '\' OR `+
			db.Folded("s.files", "s.files_fold")+` LIKE ? ESCAPE '\')`, pattern, pattern, pattern)
	}
	cond, args := s.readable(as)
	w.And(cond, args...)
	tables := strings.TrimPrefix(from, " FROM ")
	q := page.Query{Columns: columns, From: tables, Where: w, Key: "s.id", Narrow: tables, Order: order}
	if of.Oldest {
		q.Order = order.Desc()
	}
	if query, args, ok := s.DB.Holding(texts, of.Terms); ok {
		q.Candidates = []page.Candidates{{SQL: query, Args: args}}
	}
	out, err := page.Select[Snippet](ctx, s.DB, q, of.Range)
	if err != nil {
		return out, fmt.Errorf("search snippets: %w", err)
	}
	return out, nil
}

// Fold is the job that folds the texts of snippets which are older than the columns of folds.
type Fold struct{}

// Kind names the job.
func (Fold) Kind() string { return "snippet_fold" }

// foldedAtOnce is how many snippets one transaction folds.
const foldedAtOnce = 200

// Fold folds what lacks its fold, a part at a time.
func (s *Service) Fold(ctx context.Context, _ Fold) error {
	type row struct {
		ID          ID      `db:"id"`
		Description *string `db:"description"`
		Files       string  `db:"files"`
	}
	for {
		rows, err := db.Select[row](ctx, s.DB, "SELECT id, description, files FROM snippets WHERE "+db.UnfoldedSQL("description", "description_fold")+
			" OR "+db.UnfoldedSQL("files", "files_fold")+" ORDER BY id LIMIT ?", foldedAtOnce)
		if err != nil {
			return fmt.Errorf("find snippets without folds: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			for _, r := range rows {
				text := ""
				if r.Description != nil {
					text = *r.Description
				}
				if _, err := s.DB.Exec(ctx, "UPDATE snippets SET description_fold = ?, files_fold = ? WHERE id = ? AND files = ? AND COALESCE(description, '') = ?",
					db.Fold(text), db.Fold(r.Files), r.ID, r.Files, text); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("fold snippets: %w", err)
		}
	}
}
