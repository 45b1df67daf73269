package packages

import (
	"cmp"
	"context"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// DeleteAll is Delete for several packages: all of them or none.
func (s *Service) DeleteAll(ctx context.Context, as authz.Actor, list []*View) error {
	for _, k := range list {
		if err := s.Require(ctx, as, authz.DestroyPackage, k.Project.Place()); err != nil {
			return err
		}
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b *View) int { return cmp.Compare(a.ID, b.ID) }) // as others lock them
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, k := range list {
			if err := s.Delete(ctx, as, k.Project, k.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return errs.Wrap(err, "delete packages")
}

// DeleteFiles is DeleteFile for several files of a project: all of them or none.
func (s *Service) DeleteFiles(ctx context.Context, as authz.Actor, p *project.Project, list []*PlacedFile) error {
	if err := s.Require(ctx, as, authz.DestroyPackage, p.Place()); err != nil {
		return err
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b *PlacedFile) int { return cmp.Compare(a.ID, b.ID) })
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, f := range list {
			if err := s.DeleteFile(ctx, as, p, f.PackageID, f.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return errs.Wrap(err, "delete package files")
}
