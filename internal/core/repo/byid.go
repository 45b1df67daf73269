package repo

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CommitID names a commit among all projects.
type CommitID struct {
	Project project.ID
	ID      gitstore.ObjectID
}

// CommitsByIDs returns, in their short form, those of the commits that there are and whose code the actor may
// read. It takes one statement, for the projects with the actor's levels.
func (s *Service) CommitsByIDs(ctx context.Context, as authz.Actor, ids []CommitID) (map[CommitID]*gitstore.Commit, error) {
	var of []project.ID
	for _, id := range ids {
		of = append(of, id.Project)
	}
	projects, err := s.CodeByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	return s.CommitsIn(ctx, projects, ids)
}

// CommitsIn is CommitsByIDs where the projects whose code the actor may read are known; commits of others are left out. It asks for no
// permission.
func (s *Service) CommitsIn(ctx context.Context, projects map[project.ID]*project.Project, ids []CommitID) (map[CommitID]*gitstore.Commit, error) {
	out := make(map[CommitID]*gitstore.Commit, len(ids))
	wanted := map[project.ID][]gitstore.ObjectID{}
	for _, id := range ids {
		wanted[id.Project] = append(wanted[id.Project], id.ID)
	}
	for id, p := range projects {
		if wanted[id] == nil {
			continue
		}
		r, err := s.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, commit := range wanted[id] {
			c, err := r.ShortCommit(ctx, commit)
			if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrWrongKind) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("commits by id: %w", err)
			}
			out[CommitID{id, commit}] = c
		}
	}
	return out, nil
}

// CodeByIDs returns those of the projects with these ids whose code the actor may read, with
// its level there, in one statement.
func (s *Service) CodeByIDs(ctx context.Context, as authz.Actor, ids []project.ID) (map[project.ID]*project.Project, error) {
	return s.Projects.ByIDsWith(ctx, as, ids, authz.ReadCode)
}
