package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Batch is how many rows an [Executor] touches in one transaction at most.
const Batch = 500

// Departure is the job that removes an account. It is safe to do twice and goes on
// where it was interrupted.
type Departure struct {
	UserID authz.UserID `json:"user_id"`
	By     authz.UserID `json:"by"`
	Hard   bool         `json:"hard"` // what the user made goes too
}

// Kind names the job.
func (Departure) Kind() string { return "user_departure" }

// Estate is what a departing user leaves, as those see it who keep parts of it.
type Estate struct {
	Departure
	Ghost authz.UserID // who owns from now on what stays
}

// Actor is the user who deletes the account, with the right to delete what goes with it.
func (e Estate) Actor() authz.Actor { return authz.Actor{UserID: e.By, Admin: true} }

// Executor does a part of what is to be done with an estate: about Batch rows in one
// transaction. It reports whether there may be more. What the schema removes with the
// user's row, or sets to null, needs no executor unless it may be much.
type Executor interface {
	Depart(ctx context.Context, e Estate) (more bool, err error)
}

// Removal is the way to delete an account.
type Removal struct {
	Hard bool // with all that the user made, and the groups that have no other owner
}

// Delete bars a user at once and removes the account in the background: what the user
// made moves to the ghost, or goes too. Only administrators may. Soft deletion of the only
// owner of a group is a Conflict, and the last administrator stays.
func (s *Service) Delete(ctx context.Context, as authz.Actor, id authz.UserID, how Removal) error {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return err
	case u.Type == Internal || u.Type == Ghost:
		return errs.Denied("An internal user cannot be deleted")
	}
	return s.dismiss(ctx, as, u, how.Hard)
}

// Reject deletes the account of a user who waits for approval.
func (s *Service) Reject(ctx context.Context, as authz.Actor, id authz.UserID) error {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return err
	case u.State != PendingApproval:
		return errs.New(errs.Conflict, "User does not have a pending request")
	}
	return s.dismiss(ctx, as, u, true)
}

// dismiss bars the user and enqueues the rest, in one transaction.
func (s *Service) dismiss(ctx context.Context, as authz.Actor, u *User, hard bool) error {
	by := as.UserID
	if as.Is(u.ID) {
		by = 0 // who is gone before the work is done
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := s.bar(ctx, as, u, barring{hard: hard})
		if err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, UserRemoved{Of: change.Deleted(as, s.Now(), authz.Place{}, was), Rejected: u.State == PendingApproval}); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, Departure{UserID: u.ID, By: by, Hard: hard})
	})
	if err != nil {
		return errs.Wrap(err, "delete user")
	}
	return nil
}

// barring is how a user is barred who is to be deleted.
type barring struct {
	hard  bool     // with the groups that have no other owner
	asked *db.Time // when the user asked for a deletion that comes later; nil for one that begins now
}

// bar blocks a user who may be deleted, in the transaction of ctx, and returns the account as it was.
func (s *Service) bar(ctx context.Context, as authz.Actor, u *User, how barring) (*User, error) {
	if _, err := db.ForUpdate[userRow](ctx, s.DB, s.userAt(u.ID).Provided(as.UnmodifiedAt)); err != nil {
		return nil, err
	}
	if u.Admin {
		if err := s.notTheLast(ctx, u.ID); err != nil { // one who is blocked already as well
			return nil, err
		}
	}
	if !how.hard {
		if sole, err := s.Places.Indispensable(ctx, u.ID); err != nil {
			return nil, err
		} else if sole {
			return nil, errs.New(errs.Conflict, "User cannot be removed while is the sole-owner of a group")
		}
	}
	out, err := s.change(ctx, s.userAt(u.ID), func(_ context.Context, row *userRow) error {
		row.State = Blocked
		if how.asked != nil {
			row.OwnDeletionAt = how.asked
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out.Any() {
		if err := s.Bus.Publish(ctx, stateChanged(as, &out, s.Now())); err != nil {
			return nil, err
		}
	}
	return &out.Before.User, nil
}

// RegisterJobs says how users depart, also as they asked for it, and how dormant ones are deactivated.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Depart, job.Unique(), job.Timeout(time.Hour))
	job.Register(r, s.DeleteAsAsked)
	job.Register(r, s.DeactivateDormant, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, 24*time.Hour, Dormant{})
}

// Depart does the job: every executor has its turn until nothing is left, then the
// account goes with all that is its own.
func (s *Service) Depart(ctx context.Context, d Departure) error {
	if known, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", d.UserID); err != nil || !known {
		return err
	}
	ghost, err := s.ghost(ctx)
	if err != nil {
		return err
	}
	estate := Estate{Departure: d, Ghost: ghost}
	for _, executor := range s.above.Executors {
		for more := true; more; {
			if more, err = executor.Depart(ctx, estate); err != nil {
				return fmt.Errorf("estate of user %d: %w", d.UserID, err)
			}
		}
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		place, err := db.Get[authz.NamespaceID](ctx, s.DB, "SELECT COALESCE(namespace_id, 0) FROM users WHERE id = ?"+s.DB.Dialect().ForUpdate(), d.UserID)
		if errors.Is(err, db.ErrNotFound) {
			return nil // another run was quicker
		}
		if err != nil {
			return err
		}
		if place != 0 {
			if err := s.Places.Uproot(ctx, place); err != nil {
				return err
			}
		}
		s.forget(ctx, d.UserID)
		_, err = db.Drop(ctx, s.DB, s.userAt(d.UserID))
		return err
	})
	if err != nil {
		return fmt.Errorf("remove user %d: %w", d.UserID, err)
	}
	return nil
}
