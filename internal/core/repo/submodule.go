package repo

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// actionSubmodule makes a submodule name another commit.
const actionSubmodule = "submodule"

// SubmoduleInput says which commit a submodule shall name.
type SubmoduleInput struct {
	Path    string
	Commit  string // of the other repository, in full
	Branch  string // to commit to
	Message string // "" says what is done
}

// UpdateSubmodule makes a commit in which a submodule names another commit. It asks for
// the same right as Commit.
func (s *Service) UpdateSubmodule(ctx context.Context, as authz.Actor, p *project.Project, in SubmoduleInput) (*gitstore.Commit, error) {
	if err := s.MayCommit(ctx, as, p, in.Branch); err != nil {
		return nil, err
	}
	empty, err := s.Empty(ctx, p)
	if err != nil {
		return nil, err
	}
	if empty {
		return nil, errs.Plain("The repository is empty")
	}
	id, err := gitstore.ParseObjectID(in.Commit)
	if err != nil || id.IsZero() {
		return nil, errs.Plain("Invalid parameters")
	}
	if in.Message == "" {
		in.Message = "Update submodule " + in.Path + " with oid " + id.String()
	}
	return s.Commit(ctx, as, p, CommitInput{
		Branch: in.Branch, Message: in.Message, Actions: []Action{{Kind: actionSubmodule, Path: in.Path, submodule: id}},
	})
}

// moveSubmodule makes a submodule that is there name another commit.
func (t *treeEdit) moveSubmodule(a *Action, old staged, exists bool) error {
	switch {
	case !exists || old.mode != gitstore.ModeSubmodule:
		return errs.Plain("Invalid submodule path")
	case old.id == a.submodule:
		return errs.Plain("The submodule " + a.Path + " is already at " + a.submodule.String())
	}
	t.staged[a.Path] = staged{mode: gitstore.ModeSubmodule, id: a.submodule}
	return nil
}
