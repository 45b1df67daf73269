package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// dormant is how many days without activity let an account be deactivated.
const dormant = 90

// Block bars a user from everything. Only administrators may, and not themselves. It
// reports whether the user was not blocked before.
func (s *Service) Block(ctx context.Context, as authz.Actor, id authz.UserID) (bool, error) {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return false, err
	case u.State == LDAPBlocked:
		return false, errs.Denied("LDAP blocked users cannot be modified by the API")
	case as.Is(u.ID):
		return false, errs.Denied("The API initiating user cannot be blocked by the API")
	case u.State == Blocked:
		return false, nil
	case u.Type == Internal || u.Type == Ghost:
		return false, denied("An internal user cannot be blocked")
	}
	return s.become(ctx, as, u, Blocked, Active, Deactivated, PendingApproval)
}

// Unblock lets a blocked user act again. It reports whether the user was blocked.
func (s *Service) Unblock(ctx context.Context, as authz.Actor, id authz.UserID) (bool, error) {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return false, err
	case u.State == LDAPBlocked:
		return false, errs.Denied("LDAP blocked users cannot be unblocked by the API")
	case u.State == Deactivated:
		return false, errs.Denied("Deactivated users cannot be unblocked by the API")
	}
	return s.become(ctx, as, u, Active, Blocked, PendingApproval, Banned)
}

// Activate wakes a deactivated user.
func (s *Service) Activate(ctx context.Context, as authz.Actor, id authz.UserID) error {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return err
	case u.State != Active && u.State != Deactivated:
		return denied("Error occurred. A blocked user must be unblocked to be activated")
	}
	_, err = s.become(ctx, as, u, Active, Deactivated)
	return err
}

// Deactivate puts a user to sleep who has done nothing for a while. It reports whether
// the user was awake.
func (s *Service) Deactivate(ctx context.Context, as authz.Actor, id authz.UserID) (bool, error) {
	u, err := s.moderated(ctx, as, id)
	since := s.Now().AddDate(0, 0, -dormant)
	switch {
	case err != nil:
		return false, err
	case u.State == Deactivated:
		return false, nil
	case u.State != Active:
		return false, denied("Error occurred. A blocked user cannot be deactivated")
	case u.Type == Internal || u.Type == Ghost:
		return false, denied("Internal users cannot be deactivated")
	case u.activeSince(since), s.wasActive(u.ID, since):
		return false, denied(fmt.Sprintf("The user you are trying to deactivate has been active in the past %d days and cannot be deactivated", dormant))
	}
	return s.become(ctx, as, u, Deactivated, Active)
}

// activeSince reports whether the user did anything on that day or later.
func (u *User) activeSince(t time.Time) bool {
	day := t.UTC().Format(time.DateOnly)
	return u.LastActivityOn != nil && *u.LastActivityOn > day || u.CurrentSignInAt != nil && u.CurrentSignInAt.After(t)
}

// Ban bars an active user and hides what the user made.
func (s *Service) Ban(ctx context.Context, as authz.Actor, id authz.UserID) error {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return err
	case as.Is(u.ID):
		return errs.Denied("The API initiating user cannot be banned by the API")
	case u.State != Active:
		return denied("You cannot ban " + string(u.State) + " users.")
	}
	_, err = s.become(ctx, as, u, Banned, Active)
	return err
}

// Unban undoes Ban.
func (s *Service) Unban(ctx context.Context, as authz.Actor, id authz.UserID) error {
	u, err := s.moderated(ctx, as, id)
	switch {
	case err != nil:
		return err
	case u.State != Banned:
		return denied("You cannot unban " + string(u.State) + " users.")
	}
	_, err = s.become(ctx, as, u, Active, Banned)
	return err
}

// Approve lets a user act who waits for it.
func (s *Service) Approve(ctx context.Context, as authz.Actor, id authz.UserID) error {
	u, err := s.moderated(ctx, as, id)
	if err != nil {
		return err
	}
	done := false
	if u.State == PendingApproval {
		if done, err = s.become(ctx, as, u, Active, PendingApproval); err != nil {
			return err
		}
	}
	if !done {
		return errs.New(errs.Conflict, "The user you are trying to approve is not pending approval")
	}
	return nil
}

// DeleteIdentity forgets a user's account with another provider. Only administrators may.
func (s *Service) DeleteIdentity(ctx context.Context, as authz.Actor, id authz.UserID, provider string) error {
	u, err := s.moderated(ctx, as, id)
	if err != nil {
		return err
	}
	row := db.Row{Table: "identities", Key: "user_id", ID: u.ID, If: as.UnmodifiedAt, Missing: errs.Missing("Identity")}
	row.And.And("provider = ?", provider)
	type identity struct {
		CreatedAt db.Time `db:"created_at"`
	}
	_, err = db.Delete[identity](ctx, s.DB, row, nil)
	return errs.Wrap(err, "delete identity")
}

// denied refuses with a sentence that stands alone.
func denied(sentence string) error {
	return &errs.Error{Kind: errs.Forbidden, Message: sentence, Bare: true}
}

// moderated reads the user whose state an administrator wants to change.
func (s *Service) moderated(ctx context.Context, as authz.Actor, id authz.UserID) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.load(ctx, "u.id = ?", id)
}

// become moves a user from one of some states to another, and reports whether it did.
func (s *Service) become(ctx context.Context, as authz.Actor, u *User, to State, from ...State) (bool, error) {
	if !slices.Contains(from, u.State) {
		return false, nil
	}
	moved := false
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.change(ctx, s.userAt(u.ID), func(_ context.Context, row *userRow) error {
			if slices.Contains(from, row.State) {
				row.State = to
				if to == Active {
					row.OwnDeletionAt = nil
				}
			}
			return nil
		})
		if moved = out.Any(); err != nil || !moved {
			return err
		}
		return s.Bus.Publish(ctx, stateChanged(as, &out, s.Now()))
	})
	if err != nil {
		return false, errs.Wrap(err, "change state of user")
	}
	return moved, nil
}

// notTheLast refuses, in the transaction of ctx, to take the only administrator who can
// act out of office. Two of them who do it to each other come one after the other.
func (s *Service) notTheLast(ctx context.Context, id authz.UserID) error {
	if err := s.DB.Lock(ctx, "last administrator"); err != nil {
		return err
	}
	others, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM users
		WHERE admin AND state = 'active' AND user_type = 'human' AND id <> ?)`, id)
	if err != nil {
		return fmt.Errorf("look for administrators: %w", err)
	}
	if !others {
		return denied("The last administrator cannot be removed from office, blocked or deactivated")
	}
	return nil
}
