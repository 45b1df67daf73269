package snippet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/repo"
)

// attached returns the repository of a snippet.
func (s *Service) attached(sn *Snippet) *repo.Attached {
	return &repo.Attached{ID: sn.RepositoryID, Branch: sn.Branch, MaxBytes: s.MaxBytes(), Owner: &owner{service: s, id: sn.ID, branch: sn.Branch}}
}

// MaxBytes is how many bytes all files of a snippet may have, and one push.
func (s *Service) MaxBytes() int64 { return int64(s.Settings.Current().SnippetSizeLimit) }

// Remote returns the repository of a snippet to git clients: of the project, or of a user where
// the project is nil. It requires ReadSnippet.
func (s *Service) Remote(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*repo.Remote, error) {
	sn, _, err := s.find(ctx, as, p, id, authz.ReadSnippet)
	if err != nil {
		return nil, err
	}
	if p == nil && sn.ProjectID != nil {
		return nil, errs.Missing("Snippet")
	}
	in := authz.NamespaceID(0)
	if p != nil {
		in = p.NamespaceID
	}
	return s.Repos.RemoteOf(s.attached(sn), in), nil
}

// owner answers for the repository of a snippet.
type owner struct {
	service *Service
	id      ID
	branch  string
}

// Require asks whether the actor may read the snippet, or update it.
func (o *owner) Require(ctx context.Context, as authz.Actor, access repo.Access) error {
	ability := authz.ReadSnippet
	if access == repo.Pushing {
		ability = authz.UpdateSnippet
	}
	_, _, err := o.service.find(ctx, as, nil, o.id, ability)
	if access == repo.Pushing && errs.Is(err, errs.Forbidden) {
		return errs.Denied(textNoUpdate)
	}
	return err
}

// Judge lets the one branch move to commits with not too many files, which are not too large.
func (o *owner) Judge(ctx context.Context, _ authz.Actor, r *gitcmd.Repo, changes []repo.RefChange) error {
	for _, c := range changes {
		switch {
		case !c.Ref.IsBranch() || c.Ref.Short() != o.branch:
			return repo.Refuse(c.Ref, fmt.Sprintf(textOtherBranch, o.branch))
		case c.Deleted():
			return repo.Refuse(c.Ref, textDelete)
		}
		if err := judgeFiles(ctx, r, c, o.service.MaxBytes()); err != nil {
			return err
		}
	}
	return nil
}

func judgeFiles(ctx context.Context, r *gitcmd.Repo, c repo.RefChange, most int64) error {
	files, bytes := 0, int64(0)
	err := r.Walk(ctx, c.New, "", func(e gitcmd.PathEntry) error {
		if e.Kind() == gitstore.KindTree {
			return nil
		}
		if files++; files > maxFiles {
			return errEnough
		}
		if e.Kind() != gitstore.KindBlob {
			return nil
		}
		info, err := r.Info(ctx, e.ID)
		bytes += info.Size
		return err
	})
	switch {
	case errors.Is(err, errEnough):
		return repo.Refuse(c.Ref, fmt.Sprintf(textTooMany, maxFiles))
	case errors.Is(err, gitstore.ErrWrongKind):
		return repo.Refuse(c.Ref, "a branch must point at a commit")
	case err != nil:
		return fmt.Errorf("look at files of snippet: %w", err)
	case files == 0:
		return repo.Refuse(c.Ref, textNoFiles)
	case bytes > most:
		return repo.Refuse(c.Ref, fmt.Sprintf(textTooLarge, quota.Bytes(most)))
	}
	return nil
}

var errEnough = errors.New("enough was looked at")

// Sync is the job that reads the files of a snippet again, where the process was killed between
// a commit and the row of the snippet.
type Sync struct {
	By        authz.UserID `json:"by"`
	SnippetID ID           `json:"snippet_id"`
}

// Kind names the job.
func (Sync) Kind() string { return "snippet_sync" }

// syncAfter is when that job looks.
const syncAfter = time.Minute

// Record has the job look later, moves the references and reads the files.
func (o *owner) Record(ctx context.Context, as authz.Actor, move func(context.Context) error) error {
	s := o.service
	if err := s.Jobs.Enqueue(ctx, Sync{SnippetID: o.id, By: as.UserID}, job.At(s.Now().Add(syncAfter))); err != nil {
		return fmt.Errorf("record push to snippet: %w", err)
	}
	if err := move(ctx); err != nil {
		return err
	}
	return s.sync(ctx, as, o.id)
}

// RegisterJobs says how the repositories and the search of snippets follow their rows.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sync, job.Unique())
	job.Register(r, s.Fold, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Fold{})
}

// Sync brings the row of a snippet up to its repository. It asks for no permission.
func (s *Service) Sync(ctx context.Context, args Sync) error {
	err := s.sync(ctx, authz.Actor{UserID: args.By}, args.SnippetID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

func (s *Service) sync(ctx context.Context, as authz.Actor, id ID) error {
	sn, err := s.load(ctx, id)
	if err != nil {
		return err
	}
	was := sn.CommitID
	if err := s.look(ctx, sn); err != nil || sn.CommitID == was {
		return err
	}
	_, err = s.set(ctx, as, id, func(now *Snippet) error {
		now.FilesJSON, now.CommitID = sn.FilesJSON, sn.CommitID
		return nil
	})
	return err
}

// look reads which files the branch has.
func (s *Service) look(ctx context.Context, sn *Snippet) error {
	r, err := s.Repos.OpenAttached(ctx, s.attached(sn))
	if err != nil {
		return err
	}
	tip, err := r.Branch(ctx, sn.Branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		sn.CommitID = ""
		return sn.setFiles(nil)
	}
	if err != nil {
		return fmt.Errorf("read branch of snippet: %w", err)
	}
	var paths []string
	err = r.Walk(ctx, tip, "", func(e gitcmd.PathEntry) error {
		if e.Kind() == gitstore.KindBlob && len(paths) < maxFiles {
			paths = append(paths, e.Path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list files of snippet: %w", err)
	}
	slices.Sort(paths)
	sn.CommitID = tip.String()
	return sn.setFiles(paths)
}

// newRepository owns the repository of a snippet that is being created.
type newRepository struct{ service *Service }

// Require is not asked: clients do not know of the repository.
func (u *newRepository) Require(context.Context, authz.Actor, repo.Access) error {
	return errs.Missing("Snippet")
}

// Judge looks at the files.
func (u *newRepository) Judge(ctx context.Context, _ authz.Actor, r *gitcmd.Repo, changes []repo.RefChange) error {
	for _, c := range changes {
		if err := judgeFiles(ctx, r, c, u.service.MaxBytes()); err != nil {
			return err
		}
	}
	return nil
}

// Record moves the references; the snippet is made afterwards.
func (u *newRepository) Record(ctx context.Context, _ authz.Actor, move func(context.Context) error) error {
	return move(ctx)
}
