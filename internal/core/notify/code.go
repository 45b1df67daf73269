package notify

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// findSnippet reads a snippet of a project: there are no comments on personal ones.
func (s *Service) findSnippet(ctx context.Context, ref noteable.Ref) (*thing, error) {
	id := snippet.ID(ref.ID)
	found, err := s.Snippets.ByIDs(ctx, authz.System(), []snippet.ID{id})
	if err != nil || found[id] == nil || found[id].ProjectID == nil {
		return nil, err
	}
	sn := found[id]
	p, err := s.project(ctx, *sn.ProjectID)
	if p == nil || err != nil {
		return nil, err
	}
	return &thing{
		ref: ref, place: ofProject(p), noun: "snippet", sign: "$", root: "snippet_", header: "Snippet",
		url: s.URLs.Snippet(p.FullPath, ref.ID), title: sn.Title,
	}, nil
}

// findCommit reads a commit. Users whose verified addresses it names take part in it.
func (s *Service) findCommit(ctx context.Context, ref noteable.Ref) (*thing, error) {
	p, err := s.project(ctx, project.ID(ref.Project))
	if p == nil || err != nil {
		return nil, err
	}
	c, err := s.Repos.FindCommit(ctx, authz.System(), p, ref.Commit)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &thing{
		ref: ref, place: ofProject(p), noun: "commit", root: "commit_", header: "Commit", url: s.URLs.Commit(p.FullPath, ref.Commit), title: c.Title(),
	}
	addresses := []string{db.Fold(c.Author.Email), db.Fold(c.Committer.Email)}
	owners, err := s.Accounts.AddressOwners(ctx, addresses)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if id := owners[a]; id != 0 {
			t.committers = append(t.committers, id)
		}
	}
	return t, nil
}

// project reads a project, nil where it is gone.
func (s *Service) project(ctx context.Context, id project.ID) (*project.Project, error) {
	found, err := s.Projects.Load(ctx, []project.ID{id})
	return found[id], err
}
