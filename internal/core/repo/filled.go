package repo

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
)

// Filled gives a project whose repository was filled from elsewhere its default branch, protected like that of any other:
// head where there is one of that name. The note says what did not come along, "" for nothing. It asks for no
// permission and is for core.
func (s *Service) Filled(ctx context.Context, p *project.Project, r *gitcmd.Repo, head, note string) error {
	if err := dropMisleading(ctx, r); err != nil {
		return err
	}
	refs, err := r.Refs(ctx, gitstore.Branches)
	if err != nil {
		return fmt.Errorf("list branches: %w", err)
	}
	branch := ""
	for _, ref := range refs {
		if name := ref.Name.Short(); branch == "" || name == head {
			branch = name
		}
	}
	if branch != "" {
		ref, err := gitstore.BranchRef(branch)
		if err != nil {
			return fmt.Errorf("default branch of import: %w", err)
		}
		if err := r.SetHead(ctx, ref); err != nil {
			return fmt.Errorf("default branch of import: %w", err)
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Projects.RecordPush(ctx, p.ID, branch, s.Now()); err != nil {
			return err
		}
		if branch != "" {
			if err := s.Protections.ProtectFirst(ctx, p.ID, branch); err != nil {
				return err
			}
		}
		if err := s.Projects.RecordImport(ctx, p.ID, project.ImportFinished, note); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, Measuring{ProjectID: p.ID})
	})
}

// dropMisleading removes what no push may bring: branches and tags whose names look like
// a commit's or like full names.
func dropMisleading(ctx context.Context, r *gitcmd.Repo) error {
	var gone []gitstore.RefUpdate
	for prefix, valid := range map[string]func(string) bool{
		gitstore.Branches: gitstore.ValidBranchName, gitstore.Tags: gitstore.ValidTagName,
	} {
		refs, err := r.Refs(ctx, prefix)
		if err != nil {
			return fmt.Errorf("list imported references: %w", err)
		}
		for _, ref := range refs {
			if !valid(ref.Name.Short()) {
				gone = append(gone, gitstore.RefUpdate{Ref: ref.Name, AnyOld: true})
			}
		}
	}
	if err := r.UpdateRefs(ctx, gone); err != nil {
		return fmt.Errorf("remove misleading references: %w", err)
	}
	return nil
}
