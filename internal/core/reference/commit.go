package reference

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// commits finds commits and ranges of projects whose code the actor may read, without a
// statement.
func (s *Service) commits(ctx context.Context, as authz.Actor, in Scope, refs []Reference, f *places, out []*Target) error {
	opened := map[project.ID]*gitcmd.Repo{}
	for i := range refs {
		ref := &refs[i]
		if ref.Kind != Commit && ref.Kind != CommitRange {
			continue
		}
		p := f.byPath[db.Fold(ref.path(in))]
		if ref.Place == "" && in.Project != nil {
			p = f.projects[in.Project.ID]
		}
		if p == nil {
			continue
		}
		r, ok := opened[p.ID]
		if !ok {
			may, err := s.Policy.Can(ctx, as, authz.ReadCode, p.Subject())
			if err != nil {
				return fmt.Errorf("resolve commits: %w", err)
			}
			if may {
				if r, err = s.Repos.Open(ctx, p); err != nil {
					return err
				}
			}
			opened[p.ID] = r
		}
		if r == nil {
			continue
		}
		t, err := s.commit(ctx, r, p, ref)
		if err != nil {
			return fmt.Errorf("resolve commits: %w", err)
		}
		out[i] = t
	}
	return nil
}

// commit finds one commit or range; nil where the repository does not have it.
func (s *Service) commit(ctx context.Context, r *gitcmd.Repo, p *project.Project, ref *Reference) (*Target, error) {
	t := &Target{Kind: ref.Kind, ProjectID: p.ID, Path: p.FullPath}
	from, err := named(ctx, r, ref.From)
	if from == nil || err != nil {
		return nil, err
	}
	if ref.Kind == Commit {
		t.Title, t.URL = from.Title(), s.URLs.Commit(p.FullPath, from.ID.String())
		return t, nil
	}
	to, err := named(ctx, r, ref.To)
	if to == nil || err != nil {
		return nil, err
	}
	t.Title = "Commits " + from.ID.String() + " through " + to.ID.String()
	t.URL = s.URLs.Compare(p.FullPath, from.ID.String(), ref.Dots, to.ID.String())
	return t, nil
}

// named reads the commit of an id, perhaps abbreviated.
func named(ctx context.Context, r *gitcmd.Repo, id string) (*gitstore.Commit, error) {
	rev, err := r.Resolve(ctx, id)
	if err == nil {
		var c *gitstore.Commit
		if c, err = r.Commit(ctx, rev.Commit); err == nil {
			return c, nil
		}
	}
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrWrongKind) || errors.Is(err, gitstore.ErrBadName) {
		return nil, nil
	}
	return nil, err
}
