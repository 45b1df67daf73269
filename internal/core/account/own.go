package account

import (
	"context"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
)

// OwnDelay is how long the deletion that a user asks for waits where the settings delay it.
const OwnDelay = 7 * 24 * time.Hour

// OwnDeletion is the job that deletes an account whose user asked for it, unless an administrator unblocked the user meanwhile.
type OwnDeletion struct {
	UserID authz.UserID `json:"user_id"`
	Asked  db.Time      `json:"asked"`
}

// Kind names the job.
func (OwnDeletion) Kind() string { return "own_user_deletion" }

// MayRename reports whether the actor may change the own name.
func (s *Service) MayRename(as authz.Actor) bool {
	return as.Admin || !s.Settings.Current().UpdatingNameDisabledForUsers
}

// Rename changes the actor's own name. Where the settings keep names, only administrators may.
func (s *Service) Rename(ctx context.Context, as authz.Actor, name string) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{}); err != nil {
		return nil, err
	}
	if !s.MayRename(as) {
		return nil, errs.Denied("Only administrators change names on this server")
	}
	u, err := s.load(ctx, "u.id = ?", as.UserID)
	if err != nil {
		return nil, err
	}
	return s.update(ctx, as, u, Changes{Name: &name})
}

// MayDeleteOwn reports whether users may delete their own account.
func (s *Service) MayDeleteOwn() bool { return s.Settings.Current().AllowAccountDeletion }

// DeleteOwn bars the actor at once and removes the account in the background, as [Service.Delete] does, or after [OwnDelay]
// where the settings say so. Who does not know the password is Unauthorized, and counted; the only owner of a group is a Conflict.
func (s *Service) DeleteOwn(ctx context.Context, as authz.Actor, password string) error {
	if err := s.Policy.Require(ctx, as, authz.DeleteOwnUser, authz.Subject{}); err != nil {
		return err
	}
	if !s.MayDeleteOwn() {
		return errs.Denied("Account deletion is not allowed")
	}
	who, err := s.prove(ctx, as.Username, password, as.Address)
	if err != nil {
		return err
	}
	if who.ID != as.UserID {
		return errs.New(errs.Unauthorized, "") // renamed meanwhile
	}
	u, err := s.load(ctx, "u.id = ?", as.UserID)
	if err != nil {
		return err
	}
	if !s.Settings.Current().DelayUserAccountSelfDeletion {
		return s.dismiss(ctx, as, u, false)
	}
	asked := db.At(s.Now())
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.bar(ctx, as, u, barring{asked: &asked}); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, OwnDeletion{UserID: u.ID, Asked: asked}, job.At(asked.Add(OwnDelay)))
	})
	return errs.Wrap(err, "delete own user")
}

// DeleteAsAsked does the job.
func (s *Service) DeleteAsAsked(ctx context.Context, args OwnDeletion) error {
	u, err := s.load(ctx, "u.id = ?", args.UserID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		row, err := db.ForUpdate[userRow](ctx, s.DB, s.userAt(u.ID))
		if errs.Is(err, errs.NotFound) || err == nil && (row.State != Blocked || row.OwnDeletionAt == nil || !row.OwnDeletionAt.Equal(args.Asked.Time)) {
			return nil
		}
		if err != nil {
			return errs.Wrap(err, "delete own user")
		}
		return s.dismiss(ctx, u.Actor(), u, false)
	})
}
