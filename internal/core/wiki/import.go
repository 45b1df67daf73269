package wiki

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// Taking describes how the wiki of a project or group is taken from an archive.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "wiki", In: tree.Both, Take: func(ctx context.Context, w *tree.Writing, from *os.Root) error {
		name := bundle(w.At.Group, w.Number)
		if _, err := from.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		wiki, err := s.ensure(ctx, w.At)
		if err != nil {
			return err
		}
		branch, err := s.Repos.TakeBundle(ctx, w, s.attached(wiki), from, name)
		if branch == "" || err != nil {
			return err
		}
		wiki.Branch = branch
		if err := s.readImported(ctx, wiki); err != nil {
			return err
		}
		w.Took("wiki")
		return nil
	}}}
}

// readImported writes the rows of the pages of a wiki that was filled. It publishes nothing.
func (s *Service) readImported(ctx context.Context, of *Wiki) error {
	r, tip, err := s.tip(ctx, of)
	if err != nil || tip.IsZero() {
		return err
	}
	entries, err := files(ctx, r, tip)
	if err != nil {
		return err
	}
	found := map[string]string{}
	for _, e := range entries {
		found[e.Path] = e.ID.String()
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, db.Row{Table: "wikis", ID: int64(of.ID)}, func(ctx context.Context, row *Wiki) error {
			row.Branch, row.CommitID = of.Branch, tip.String()
			_, err := s.compare(ctx, row.ID, found, nil)
			return err
		})
		if err != nil {
			return fmt.Errorf("record imported wiki: %w", err)
		}
		return nil
	})
}
