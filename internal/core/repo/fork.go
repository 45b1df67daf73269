package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CopyFork is the job that fills the repository of a new fork.
type CopyFork struct {
	ProjectID project.ID `json:"project_id"`
	SourceID  project.ID `json:"source_id"`
	Branch    string     `json:"branch,omitempty"` // the only one to copy, or ""
}

// Kind names the job.
func (CopyFork) Kind() string { return "fork_copy" }

// ForkCopied is published when the repository of a fork holds what its source held. By
// is System.
type ForkCopied struct {
	authz.Stamp

	ProjectID project.ID
	SourceID  project.ID
}

// HasBranch reports whether the project's repository has a branch.
func (s *Service) HasBranch(ctx context.Context, p *project.Project, branch string) (bool, error) {
	r, err := s.Open(ctx, p)
	if err != nil {
		return false, err
	}
	_, err = r.Branch(ctx, branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// FillFork fills the repository of a fork. Whatever a crash left undone, another run does.
// A failure is the end: from then on people may push to the fork. It comes again
// later where the source is being filled itself, or another fork makes the pool.
func (s *Service) FillFork(ctx context.Context, args CopyFork) error {
	defer s.locks.lock(fillLock(args.ProjectID))()
	both, err := s.Projects.Load(ctx, []project.ID{args.ProjectID, args.SourceID})
	if err != nil {
		return err
	}
	fork, source := both[args.ProjectID], both[args.SourceID]
	switch {
	case fork == nil || !fork.Filling():
		return nil
	case source == nil:
		err := s.Projects.RecordImport(ctx, fork.ID, project.ImportFailed, "The source project is gone.")
		return errors.Join(err, job.Permanent(errors.New("source of fork is gone")))
	case source.Filling():
		return s.Jobs.Enqueue(ctx, args, job.At(s.Now().Add(15*time.Second)))
	}
	if err := s.Projects.RecordImport(ctx, fork.ID, project.ImportStarted, ""); err != nil {
		return err
	}
	err = s.fillFork(ctx, fork, source, args.Branch)
	if errors.Is(err, errPoolBusy) { // no worker stands idle until a great pool is made
		return s.Jobs.Enqueue(ctx, args, job.At(s.Now().Add(time.Second)))
	}
	if err != nil {
		err = fmt.Errorf("fill fork: %w", err)
		if errors.Is(ctx.Err(), context.Canceled) { // the server stops: the next start goes on
			return err
		}
		noted := s.Projects.RecordImport(context.WithoutCancel(ctx), fork.ID, project.ImportFailed, "The repository could not be copied.")
		if noted != nil { // still being filled
			return errors.Join(err, noted)
		}
		return job.Permanent(err)
	}
	return nil
}

func (s *Service) fillFork(ctx context.Context, fork, source *project.Project, branch string) error {
	from, err := s.Open(ctx, source)
	if err != nil {
		return err
	}
	to, err := s.Open(ctx, fork)
	if err != nil {
		return err
	}
	refs, err := forkedRefs(ctx, from, branch)
	if err != nil {
		return err
	}
	// A fork of one branch shares nothing: the pool holds the others as well.
	shares := branch == "" && len(refs) > 0 && fork.ForkRootID != nil
	if shares {
		if err := s.joinPool(ctx, fork, source, to, from); err != nil {
			return err
		}
	}
	ids := make([]gitstore.ObjectID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	copied, err := to.Copy(ctx, from, ids)
	if err != nil {
		return err
	}
	if err := to.Begin(ctx, refs); err != nil && !errors.Is(err, gitstore.ErrExists) {
		return err
	}
	if shares {
		if err := s.retirePool(ctx, to, source.ID, copied); err != nil {
			return err
		}
	}
	return s.finishFork(ctx, fork, source, to, branch)
}

// forkedRefs lists what a fork gets: all branches and tags, or one branch.
func forkedRefs(ctx context.Context, from *gitcmd.Repo, branch string) ([]gitstore.Ref, error) {
	if branch != "" {
		id, err := from.Branch(ctx, branch)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, nil // deleted since: the fork stays empty
		}
		return []gitstore.Ref{{Name: gitstore.RefName(gitstore.Branches + branch), ID: id, Peeled: id}}, err
	}
	branches, err := from.Refs(ctx, gitstore.Branches)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	tags, err := from.Refs(ctx, gitstore.Tags)
	if err != nil {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	return append(branches, tags...), nil
}

// finishFork gives the fork its default branch, protected like that of any project.
func (s *Service) finishFork(ctx context.Context, fork, source *project.Project, r *gitcmd.Repo, branch string) error {
	if branch == "" && source.DefaultBranch != nil {
		branch = *source.DefaultBranch
	}
	if branch != "" {
		ref, err := gitstore.BranchRef(branch)
		if err == nil {
			_, err = r.Ref(ctx, ref)
		}
		switch {
		case errors.Is(err, gitstore.ErrNotFound):
			branch = ""
		case err != nil:
			return fmt.Errorf("default branch of fork: %w", err)
		default:
			if err := r.SetHead(ctx, ref); err != nil {
				return fmt.Errorf("default branch of fork: %w", err)
			}
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Projects.RecordPush(ctx, fork.ID, branch, s.Now()); err != nil {
			return err
		}
		if branch != "" {
			if err := s.Protections.ProtectFirst(ctx, fork.ID, branch); err != nil {
				return err
			}
		}
		if err := s.Projects.RecordImport(ctx, fork.ID, project.ImportFinished, ""); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, ForkCopied{Stamp: authz.System().Stamp(s.Now()), ProjectID: fork.ID, SourceID: source.ID})
	})
}

// Bring copies a commit of one project, with all that it needs, into the repository of
// another one. It moves no reference and asks for no permission. A commit that is not
// there is gitstore.ErrNotFound.
func (s *Service) Bring(ctx context.Context, from, to *project.Project, commit gitstore.ObjectID) error {
	source, err := s.Open(ctx, from)
	if err != nil {
		return err
	}
	target, err := s.Open(ctx, to)
	if err != nil {
		return err
	}
	quarantine, err := target.Quarantine(ctx)
	if err != nil {
		return fmt.Errorf("bring commits: %w", err)
	}
	defer func() { _ = quarantine.Discard() }()
	copied, err := quarantine.Copy(ctx, source, []gitstore.ObjectID{commit})
	if err != nil {
		return fmt.Errorf("bring commits: %w", err)
	}
	if s.LFS != nil && copied > 0 {
		oids, err := arrivedPointers(ctx, quarantine.Repo)
		if err != nil {
			return err
		}
		if err := s.LFS.Link(ctx, from.ID, to.ID, oids); err != nil {
			return err
		}
	}
	if err := quarantine.Commit(ctx); err != nil {
		return fmt.Errorf("bring commits: %w", err)
	}
	return nil
}

// fillLock keeps the filling of a repository, the end of its link to a pool and its
// removal from happening at the same time.
func fillLock(id project.ID) lockKey { return lockKey{id, "\x00fill"} }

// LockFilling waits until nothing else fills or removes the repository of a project, and keeps others from it until
// unlock is called.
func (s *Service) LockFilling(id project.ID) (unlock func()) { return s.locks.lock(fillLock(id)) }
