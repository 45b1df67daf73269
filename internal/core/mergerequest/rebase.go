package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// errorRebase is what merge_error says after a rebase that git could not do by itself.
const errorRebase = "Rebase failed: Rebase locally, resolve all conflicts, then push the branch."

// errRebaseBusy is the answer while another rebase of the request, or its merge, is under way.
var errRebaseBusy = errs.New(errs.Conflict, "Failed to enqueue the rebase operation, possibly due to a long-lived transaction. Try again later.")

// rebaseTakes bounds how long one runs.
const rebaseTakes = 10 * time.Minute

// rebasing is a rebase that waits or runs.
type rebasing struct {
	RequestID ID           `db:"merge_request_id" json:"merge_request_id"`
	UserID    authz.UserID `db:"user_id" json:"user_id"`
	SkipCI    bool         `db:"skip_ci" json:"skip_ci,omitempty"`
	CreatedAt db.Time      `db:"created_at" json:"-"`
}

// RebaseOptions are wishes for a rebase.
type RebaseOptions struct {
	SkipCI bool // its commits get no pipelines
}

// Kind names the job.
func (rebasing) Kind() string { return "merge_request_rebase" }

// Rebase begins to put the source branch of a request on top of its target branch, in the
// background; how it ends is seen from Rebasing and from the request's merge_error.
// Forbidden where the branch is gone or the actor may not push over it, Conflict where a
// rebase or a merge is under way.
func (s *Service) Rebase(ctx context.Context, as authz.Actor, p *project.Project, iid IID, o RebaseOptions) error {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	if _, err := s.mayRebase(ctx, as, p, m); err != nil {
		return err
	}
	if m.State == StateLocked {
		return errRebaseBusy
	}
	wanted := rebasing{RequestID: m.ID, UserID: as.UserID, SkipCI: o.SkipCI, CreatedAt: s.stamp()}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM merge_requests WHERE id = ?", m.ID); err != nil {
			return err
		}
		n, err := db.InsertRow(ctx, s.DB, "merge_request_rebases", db.Values{
			"merge_request_id": wanted.RequestID, "user_id": wanted.UserID, "skip_ci": wanted.SkipCI, "created_at": wanted.CreatedAt,
		}, "ON CONFLICT (merge_request_id) DO NOTHING")
		if err != nil {
			return fmt.Errorf("note rebase: %w", err)
		}
		if n == 0 {
			return errRebaseBusy
		}
		if _, err := s.DB.Exec(ctx, "UPDATE merge_requests SET merge_error = NULL WHERE id = ? AND state = 'opened'", m.ID); err != nil {
			return fmt.Errorf("note rebase: %w", err)
		}
		return s.Jobs.Enqueue(ctx, wanted)
	})
	return err
}

// Rebasing reports whether a rebase of the request waits or runs.
func (s *Service) Rebasing(ctx context.Context, m *MergeRequest) (bool, error) {
	yes, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM merge_request_rebases WHERE merge_request_id = ?)", m.ID)
	if err != nil {
		return false, fmt.Errorf("look for rebase: %w", err)
	}
	return yes, nil
}

// mayRebase requires a source branch that the actor may push over, and returns its project.
func (s *Service) mayRebase(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*project.Project, error) {
	source, err := s.source(ctx, p, m)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errs.Denied("Source branch does not exist")
	}
	tip, err := s.tip(ctx, source, m.SourceBranch)
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, errs.Denied("Source branch does not exist")
	}
	if err := s.Repos.MayCommit(ctx, as, source, m.SourceBranch); errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) {
		return nil, errs.Denied("Cannot push to source branch")
	} else if err != nil {
		return nil, err
	}
	access, err := s.Protections.BranchAccess(ctx, as, source, m.SourceBranch)
	if err == nil && !access.ForcePush {
		err = errs.Denied("Source branch is protected from force push")
	}
	return source, err
}

// rebase does what a user has asked for, if he may still do it. It is tried again only
// where the server was stopped meanwhile: a branch that stands where it should stays.
func (s *Service) rebase(ctx context.Context, job rebasing) error {
	err := s.rebaseNow(ctx, job)
	if err != nil && ctx.Err() != nil {
		return err
	}
	reason := ""
	known, refused := errors.AsType[*errs.Error](err)
	switch {
	case errors.Is(err, repo.ErrRebase):
		reason = errorRebase
	case refused:
		reason = "Rebase failed: " + known.Message
	case err != nil:
		s.Log.Error("rebase failed", "merge_request_id", job.RequestID, "error", err)
		reason = "Rebase failed: an error occurred, please try again"
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if reason != "" {
			if _, err := s.DB.Exec(ctx, "UPDATE merge_requests SET merge_error = ? WHERE id = ?", reason, job.RequestID); err != nil {
				return err
			}
		}
		_, err := s.DB.Exec(ctx, "DELETE FROM merge_request_rebases WHERE merge_request_id = ?", job.RequestID)
		return err
	})
	if err != nil {
		return fmt.Errorf("end rebase: %w", err)
	}
	return nil
}

func (s *Service) rebaseNow(ctx context.Context, job rebasing) error {
	p, m, err := s.still(ctx, job.RequestID)
	if err != nil || m == nil {
		return err
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{job.UserID})
	if err != nil {
		return err
	}
	u := users[job.UserID]
	if u == nil || m.State == StateMerged {
		return nil // gone, or done in the meantime
	}
	if u.State != account.Active {
		return errs.Denied("Cannot push to source branch")
	}
	source, err := s.mayRebase(ctx, u.Actor(), p, m)
	if err != nil {
		return err
	}
	onto, err := s.tip(ctx, p, m.TargetBranch)
	if err != nil {
		return err
	}
	if onto.IsZero() {
		return errs.Missing("Branch")
	}
	in := repo.RebaseInput{
		Branch: m.SourceBranch, Onto: onto, Of: p,
		Before: func(ctx context.Context, head gitstore.ObjectID) error {
			if _, err := s.DB.Exec(ctx, "UPDATE merge_requests SET rebase_commit_sha = ? WHERE id = ?", hexOf(head), m.ID); err != nil {
				return fmt.Errorf("record rebase: %w", err)
			}
			return nil
		},
	}
	if job.SkipCI {
		in.Options = []string{ci.SkipOption}
	}
	return s.Repos.Rebase(ctx, u.Actor(), source, in)
}
