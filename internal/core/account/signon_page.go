package account

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// CodePasswordExpired refuses a person whose name and password fit, and who has to choose
// another password first with [Service.ChangePassword].
const CodePasswordExpired errs.Code = "password_expired"

// SignOn is AuthenticatePassword for a person who begins a session from an address. It
// activates a deactivated account, counts the sign-on, and refuses an expired password as
// Forbidden with CodePasswordExpired. begin stores the session, in the transaction that
// locks the account: a password that changes meanwhile ends it, or refuses the sign-on.
func (s *Service) SignOn(ctx context.Context, login, password, address string, begin func(ctx context.Context, as authz.Actor) error) error {
	if err := s.Limits.SignIn(db.Fold(login)); err != nil {
		return err
	}
	who, err := s.prove(ctx, login, password, address)
	if err != nil {
		return err
	}
	if who.State == Deactivated {
		if err := s.reactivate(ctx, who); err != nil {
			return err
		}
		who.State = Active
	}
	if err := s.barredAtPage(&who.Standing); err != nil {
		return err
	}
	as, row, now := who.actor(), s.userAt(who.ID), db.At(s.Now())
	as.Address, row.Now = address, nil
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.Update(ctx, s.DB, row, func(_ context.Context, u *userRow) error {
			if u.PasswordHash != who.PasswordHash || u.State != Active {
				return errs.New(errs.Unauthorized, "") // changed meanwhile
			}
			u.SignInCount++
			u.LastSignInAt, u.LastSignInIP = u.CurrentSignInAt, u.CurrentSignInIP
			if u.LastSignInAt == nil {
				u.LastSignInAt, u.LastSignInIP = &now, &address
			}
			u.CurrentSignInAt, u.CurrentSignInIP = &now, &address
			return nil
		}); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, SignedOn{Stamp: as.Stamp(s.Now())}); err != nil {
			return err
		}
		return begin(ctx, as)
	})
	if errors.Is(err, db.ErrNotFound) {
		return errs.New(errs.Unauthorized, "") // deleted meanwhile
	}
	return errs.Wrap(err, "sign on")
}

// barredAtPage is barred, with a code where only the password is in the way.
func (s *Service) barredAtPage(a *Standing) error {
	err := s.Barred(a)
	if err == nil || !a.PasswordExpired {
		return err
	}
	rest := *a
	if rest.PasswordExpired = false; s.Barred(&rest) != nil {
		return err
	}
	return errs.Coded(errs.Forbidden, CodePasswordExpired, "Your password expired. Choose another one.")
}

// reactivate lets a deactivated account act again, as its own person.
func (s *Service) reactivate(ctx context.Context, who attempt) error {
	_, err := s.become(ctx, who.actor(), &User{ID: who.ID, State: who.State}, Active, Deactivated)
	return err
}

// ChangePassword gives the person with this name and current password, who asks from an address, another one. What
// is wrong with the new one is Invalid with a map; name and current password are judged as
// AuthenticatePassword does.
func (s *Service) ChangePassword(ctx context.Context, login, current, password, from string) error {
	if err := s.Limits.SignIn(db.Fold(login)); err != nil {
		return err
	}
	who, err := s.prove(ctx, login, current, from)
	if err != nil {
		return err
	}
	if err := s.barredAtPage(&who.Standing); err != nil && !isCode(err, CodePasswordExpired) {
		return err
	}
	u, err := s.load(ctx, "u.id = ?", who.ID)
	if err != nil {
		return err
	}
	var f errs.Fields
	checkPassword(&f, s.Settings.Current(), password, u.Username, u.Name, u.Email)
	f.Check(password != current, "password", "must not be the current one")
	if err := f.Err(); err != nil {
		return err
	}
	hash, err := s.Hasher.Hash(ctx, password)
	if err != nil {
		return fmt.Errorf("hash password: %w", err)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.setPassword(ctx, u.from(from), u.ID, hash, func(row *userRow) error {
			if row.PasswordHash != who.PasswordHash {
				return errs.New(errs.Unauthorized, "") // changed meanwhile
			}
			return nil
		})
	})
	return errs.Wrap(err, "change password")
}

// from is the user as an actor who asks from an address.
func (u *User) from(address string) authz.Actor {
	as := u.Actor()
	as.Address = address
	return as
}

// setPassword stores the hash of a password that its person chose, in the transaction of
// ctx. allow looks at the locked row before.
func (s *Service) setPassword(ctx context.Context, as authz.Actor, id authz.UserID, hash string, allow func(row *userRow) error) error {
	out, err := s.change(ctx, s.userAt(id), func(_ context.Context, row *userRow) error {
		if err := allow(row); err != nil {
			return err
		}
		row.PasswordHash, row.PasswordExpired = hash, false
		row.FailedAttempts, row.LockedAt = 0, nil
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.dropLink(ctx, id); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, UserUpdated{Of: change.Between(as, s.Now(), authz.Place{}, &out.Before.User, &out.After.User), NewPassword: true})
}

// isCode reports whether an error has a code.
func isCode(err error, code errs.Code) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Code == code
}
