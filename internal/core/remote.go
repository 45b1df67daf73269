package core

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/snippet"
)

// Remote finds the repository that a git client names by its path without ".git":
//
//	<project>                the project's own
//	<project>.wiki           the wiki of a project
//	<group>.wiki             the wiki of a group
//	<project>/snippets/<id>  a snippet of a project
//	snippets/<id>            a personal snippet
//
// A repository that the actor may not know of is NotFound; where the path is one that a project
// had before, the cause is [*project.Moved].
func (s *Services) Remote(ctx context.Context, as authz.Actor, path string) (*repo.Remote, error) {
	if id, ok := numbered(strings.CutPrefix(path, "snippets/")); ok {
		return s.Snippets.Remote(ctx, as, nil, snippet.ID(id))
	}
	for _, find := range []func(context.Context, authz.Actor, string) (*repo.Remote, error){s.snippetRemote, s.wikiRemote} {
		if at, err := find(ctx, as, path); at != nil || err != nil {
			return at, err
		}
	}
	p, err := s.Projects.Find(ctx, as, path)
	if err != nil {
		return nil, err
	}
	return s.Repos.Remote(p), nil
}

// snippetRemote finds the repository of a snippet of a project; nil where the path names none.
func (s *Services) snippetRemote(ctx context.Context, as authz.Actor, path string) (*repo.Remote, error) {
	at := strings.LastIndex(path, "/snippets/")
	if at < 0 {
		return nil, nil
	}
	id, ok := numbered(path[at+len("/snippets/"):], true)
	if !ok {
		return nil, nil
	}
	p, err := s.followed(ctx, as, path[:at])
	if errs.Is(err, errs.NotFound) {
		return nil, nil // a project in a group of this name, perhaps
	}
	if err != nil {
		return nil, err
	}
	return s.Snippets.Remote(ctx, as, p, snippet.ID(id))
}

// wikiRemote finds the repository of a wiki; nil where the path names none.
func (s *Services) wikiRemote(ctx context.Context, as authz.Actor, path string) (*repo.Remote, error) {
	of, ok := strings.CutSuffix(path, ".wiki")
	if !ok || of == "" {
		return nil, nil
	}
	p, err := s.followed(ctx, as, of)
	if err == nil {
		return s.Wikis.Remote(ctx, as, p.Place())
	}
	if !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	g, err := s.Namespaces.Find(ctx, as, of)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Wikis.Remote(ctx, as, g.Place())
}

// followed finds a project by a path that it has or had.
func (s *Services) followed(ctx context.Context, as authz.Actor, path string) (*project.Project, error) {
	p, err := s.Projects.Find(ctx, as, path)
	if moved, was := errors.AsType[*project.Moved](err); was {
		return s.Projects.FindByID(ctx, as, project.ID(moved.MovedTo()))
	}
	return p, err
}

// numbered reads an id; ok says that there was a text.
func numbered(text string, ok bool) (int64, bool) {
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0
}
