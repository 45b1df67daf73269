package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

// What people read when large objects keep a push out.
const (
	textLFSMissing = `LFS objects are missing. Ensure LFS is properly set up or try a manual "git lfs push --all".`
	textLocked     = "The path '%s' is locked in Git LFS by %s"
)

// judgePointers refuses new files in a quarantine that point to large objects which the
// project has not.
func (s *Service) judgePointers(ctx context.Context, p *project.Project, inside *gitcmd.Repo) error {
	if !s.LFS.Enabled(p) {
		return nil
	}
	oids, err := arrivedPointers(ctx, inside)
	if err != nil {
		return err
	}
	if len(oids) == 0 {
		return nil
	}
	has, err := s.LFS.Has(ctx, p.ID, oids)
	if err != nil {
		return err
	}
	if len(has) < len(oids) {
		return refuse("", textLFSMissing)
	}
	return nil
}

// arrivedPointers names the large objects that new files in a quarantine stand for.
func arrivedPointers(ctx context.Context, inside *gitcmd.Repo) ([]string, error) {
	seen := map[string]bool{}
	var oids []string
	err := inside.ArrivedBlobs(ctx, lfs.LeastPointer, lfs.MostPointer, func(content []byte) error {
		pointer, ok := lfs.ParsePointer(content)
		if ok && !seen[pointer.OID] {
			seen[pointer.OID] = true
			oids = append(oids, pointer.OID)
		}
		return nil
	})
	return oids, err
}

// judgeLocks refuses changes of paths that others have locked.
func (s *Service) judgeLocks(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, changes []RefChange) error {
	if !s.LFS.Enabled(p) {
		return nil
	}
	if restrained, err := s.LFS.Restrains(ctx, as, p.ID); err != nil || !restrained {
		return err
	}
	for _, c := range changes {
		if !c.Ref.IsBranch() || c.Deleted() {
			continue
		}
		paths, err := changedPaths(ctx, r, p, c)
		if err != nil {
			return err
		}
		at, owner, err := s.LFS.LockedByOthers(ctx, as, p.ID, paths)
		if err != nil {
			return err
		}
		if at != "" {
			return refuse(c.Ref, fmt.Sprintf(textLocked, at, owner))
		}
	}
	return nil
}

// changedPaths returns the paths in which a branch differs from what it was; a new branch
// from where it left the default one.
func changedPaths(ctx context.Context, r *gitcmd.Repo, p *project.Project, c RefChange) ([]string, error) {
	from := c.Old
	if from.IsZero() && p.DefaultBranch != nil {
		tip, err := r.Branch(ctx, *p.DefaultBranch)
		if err == nil {
			from, err = r.MergeBase(ctx, tip, c.New)
		}
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return nil, fmt.Errorf("find where the branch began: %w", err)
		}
	}
	d, err := r.Diff(ctx, from, c.New, gitcmd.DiffOptions{NoPatch: true, NoRenames: true, MaxFiles: maxLockedDiff})
	if err != nil {
		return nil, fmt.Errorf("compare with locked paths: %w", err)
	}
	paths := make([]string, len(d.Files))
	for i := range d.Files {
		paths[i] = d.Files[i].NewPath
	}
	return paths, nil
}

// maxLockedDiff bounds how many changed files of a branch are held against locks.
const maxLockedDiff = 100_000

// Large opens the large object that a file of the project points to; nil where it points
// to none, or to one that the project has not. The file can be read from its beginning
// afterwards.
func (s *Service) Large(ctx context.Context, p *project.Project, file *gitcmd.BlobReader) (*blob.Object, error) {
	if file.Size >= lfs.MaxPointer || !s.LFS.Enabled(p) {
		return nil, nil
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	file.Reader = bytes.NewReader(content)
	return s.large(ctx, p.ID, content)
}

func (s *Service) large(ctx context.Context, id project.ID, content []byte) (*blob.Object, error) {
	pointer, ok := lfs.ParsePointer(content)
	if !ok {
		return nil, nil
	}
	o, err := s.LFS.Content(ctx, id, pointer.OID)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	return o, err
}

// largeFiles reports whether archives of a project may have to hold large objects.
func (s *Service) largeFiles(ctx context.Context, p *project.Project) (bool, error) {
	if !s.LFS.Enabled(p) {
		return false, nil
	}
	return s.LFS.Uses(ctx, p.ID)
}
