package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/starter"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// FillTemplate fills the repository of a new project from a built-in template, with one
// commit by the user who made the project. What a crash left undone, another run does. A
// failure is the end: from then on people may push.
func (s *Service) FillTemplate(ctx context.Context, args project.FillTemplate) error {
	defer s.locks.lock(fillLock(args.ProjectID))()
	all, err := s.Projects.Load(ctx, []project.ID{args.ProjectID})
	if err != nil {
		return err
	}
	p := all[args.ProjectID]
	if p == nil || !p.Filling() {
		return nil
	}
	if err := s.Projects.RecordImport(ctx, p.ID, project.ImportStarted, ""); err != nil {
		return err
	}
	err = s.fillTemplate(ctx, p, args)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) { // the server stops: the next start goes on
		return err
	}
	noted := s.Projects.RecordImport(context.WithoutCancel(ctx), p.ID, project.ImportFailed, "The template could not be copied.")
	err = fmt.Errorf("fill from template: %w", err)
	if noted != nil { // still being filled
		return errors.Join(err, noted)
	}
	return job.Permanent(err)
}

func (s *Service) fillTemplate(ctx context.Context, p *project.Project, args project.FillTemplate) error {
	t, ok := starter.Project(args.Template)
	if !ok {
		return fmt.Errorf("there is no template %q", args.Template)
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	ref, err := gitstore.BranchRef(s.firstBranch(p))
	if err != nil {
		return fmt.Errorf("first branch: %w", err)
	}
	quarantine, err := r.Quarantine(ctx) // whose objects are durable once it is committed
	if err != nil {
		return fmt.Errorf("open quarantine: %w", err)
	}
	defer func() { _ = quarantine.Discard() }()
	commit, err := s.templateCommit(ctx, quarantine.Repo, p, t, args.By)
	if err != nil {
		return err
	}
	if err := quarantine.Commit(ctx); err != nil {
		return fmt.Errorf("commit quarantine: %w", err)
	}
	err = r.Begin(ctx, []gitstore.Ref{{Name: ref, ID: commit, Peeled: commit}})
	if err != nil && !errors.Is(err, gitstore.ErrExists) { // an earlier run came so far
		return fmt.Errorf("first branch: %w", err)
	}
	return s.Filled(ctx, p, r, ref.Short(), "")
}

// templateCommit writes a commit with the files of a template. It is the same one each time.
func (s *Service) templateCommit(ctx context.Context, r *gitcmd.Repo, p *project.Project, t starter.Template, by authz.UserID) (gitstore.ObjectID, error) {
	changes := make([]gitstore.TreeChange, len(t.Files))
	for i, f := range t.Files {
		id, err := r.WriteBlob(ctx, []byte(f.Content))
		if err != nil {
			return gitstore.ObjectID{}, fmt.Errorf("write file: %w", err)
		}
		changes[i] = gitstore.TreeChange{Path: f.Path, Mode: gitstore.ModeFile, ID: id}
	}
	tree, err := r.BuildTree(ctx, gitstore.ObjectID{}, changes)
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("build tree: %w", err)
	}
	author, err := s.signatureOf(ctx, by, p.CreatedAt.Time)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	id, err := r.CommitTree(ctx, gitstore.CommitInput{
		Tree: tree, Author: author, Message: fmt.Sprintf("Initialized from '%s' project template", t.Title),
	})
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("write commit: %w", err)
	}
	return id, nil
}

// signatureOf names a user as the author of a commit made at a moment; where the account is
// gone, no user.
func (s *Service) signatureOf(ctx context.Context, id authz.UserID, at time.Time) (gitstore.Signature, error) {
	users, err := s.Accounts.Load(ctx, []authz.UserID{id})
	if err != nil {
		return gitstore.Signature{}, err
	}
	u := users[id]
	if u == nil {
		return gitstore.Signature{Name: "Ghost User", Email: "ghost@" + s.Accounts.CommitHost(), When: at}, nil
	}
	return gitstore.Signature{Name: u.Name, Email: u.CommitAddress(s.Accounts.CommitHost()), When: at}, nil
}
