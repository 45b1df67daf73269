package wiki

import (
	"context"
	"fmt"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// Search finds pages by their paths and by what they hold. It returns the branch that the pages
// are on. Paths are those of files. It requires ReadWiki, or ReadGroupWiki.
func (s *Service) Search(ctx context.Context, as authz.Actor, at authz.Place, f repo.FileSearch) (list page.Page[repo.Found], branch string, err error) {
	none := page.None[repo.Found](f.Range)
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return none, "", err
	}
	w, err := s.find(ctx, at)
	if err != nil || w == nil {
		return none, "", err
	}
	choose := f.Path
	f.Path = func(path string) bool { return formatOf(path) != "" && (choose == nil || choose(path)) }
	f.Ref, f.Key = "", "wiki "+f.Key
	if list, err = s.Repos.SearchAttached(ctx, s.attached(w), f); err != nil {
		return none, "", fmt.Errorf("search wiki: %w", err)
	}
	return list, w.Branch, nil
}
