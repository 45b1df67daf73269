package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// What holds where the settings say nothing.
const (
	defaultAttempts = 10
	defaultUnlock   = 10 * time.Minute
)

// attempt is what judging a password needs of an account; the zero value is no user.
type attempt struct {
	ID authz.UserID `db:"id"`
	Standing
	PasswordHash   string   `db:"password_hash"` // "" fits no password
	FailedAttempts int64    `db:"failed_attempts"`
	LockedAt       *db.Time `db:"locked_at"`
}

// AuthenticatePassword returns the person with this username or primary address and
// password, who asks from an address, "" for none. Whatever does not fit is Unauthorized, in the same time; who fits but may
// not act is Forbidden with the reason. Where too many sign on at once it is Unavailable.
//
// Wrong passwords are counted by account, whichever way they come; after too many in a row
// the account is locked for a while, and the right password is refused like a wrong one.
// Those who try one account come one after the other, so that no more are looked at in
// parallel than are allowed in all.
func (s *Service) AuthenticatePassword(ctx context.Context, login, password, from string) (authz.Actor, error) {
	who, err := s.prove(ctx, login, password, from)
	if err != nil {
		return authz.Actor{}, err
	}
	if err := s.Barred(&who.Standing); err != nil {
		return authz.Actor{}, err
	}
	return who.actor(), nil
}

// actor is the account with every right of it.
func (a *attempt) actor() authz.Actor {
	return authz.Actor{UserID: a.ID, Username: a.Username, Admin: a.Admin, Auditor: a.Auditor, External: a.External}
}

// prove returns the account with this name and password, whatever state it is in.
func (s *Service) prove(ctx context.Context, login, password, from string) (attempt, error) {
	id, err := s.namedBy(ctx, login)
	if err != nil {
		return attempt{}, err
	}
	turn := "name " + db.Fold(login)
	if id != 0 {
		turn = "id " + strconv.FormatInt(int64(id), 10)
	}
	done, err := s.turns.take(ctx, turn)
	if err != nil {
		return attempt{}, undecided(err)
	}
	defer done()
	who, err := s.attempt(ctx, id)
	if err != nil {
		return attempt{}, err
	}
	if s.locked(who.LockedAt) {
		who.PasswordHash = ""
	}
	fits, err := s.Hasher.Verify(ctx, who.PasswordHash, password)
	if err != nil {
		return attempt{}, undecided(err)
	}
	ctx = context.WithoutCancel(ctx) // who hangs up is counted all the same
	if !fits {
		if err := s.countFailure(ctx, who, from); err != nil {
			return attempt{}, err
		}
		return attempt{}, errs.New(errs.Unauthorized, "")
	}
	if who.FailedAttempts != 0 || who.LockedAt != nil {
		if err := s.clearFailures(ctx, id); err != nil {
			return attempt{}, err
		}
	}
	return who, nil
}

// namedBy finds the person that a username or primary address means, 0 where it is no user.
func (s *Service) namedBy(ctx context.Context, login string) (authz.UserID, error) {
	column := "u.username_fold"
	if strings.Contains(login, "@") {
		column = "e.email_fold"
	}
	id, err := db.Get[authz.UserID](ctx, s.DB, "SELECT u.id"+fromUsers+" WHERE "+column+" = ? AND u.user_type = 'human'", db.Fold(login))
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return 0, fmt.Errorf("read user: %w", err)
	}
	return id, nil
}

func (s *Service) attempt(ctx context.Context, id authz.UserID) (attempt, error) {
	who, err := db.Get[attempt](ctx, s.DB, "SELECT u.id, u.password_hash, u.failed_attempts, u.locked_at, "+StandingColumns+fromUsers+
		" WHERE u.id = ?", id)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return attempt{}, fmt.Errorf("read user: %w", err)
	}
	return who, nil
}

// Locked reports whether there were too many wrong passwords for an account, so that none
// is taken for a while. Tokens and keys go on working.
func (s *Service) Locked(u *User) bool { return s.locked(u.LockedAt) }

func (s *Service) locked(at *db.Time) bool {
	return at != nil && at.After(s.unlocked())
}

// unlocked is the moment up to which locks are over.
func (s *Service) unlocked() time.Time {
	period := defaultUnlock
	if minutes := s.Settings.Current().FailedLoginAttemptsUnlockPeriodInMinutes; minutes != nil {
		period = time.Duration(*minutes) * time.Minute
	}
	return s.Now().Add(-period)
}

// maxAttempts is how many wrong passwords in a row lock an account.
func (s *Service) maxAttempts() int {
	if n := s.Settings.Current().MaxLoginAttempts; n != nil {
		return *n
	}
	return defaultAttempts
}

// countFailure writes a wrong password down, with as much work for an unknown user and for one who is
// locked as for everybody else. A lock that is over begins the count again.
func (s *Service) countFailure(ctx context.Context, who attempt, from string) error {
	now, over := db.At(s.Now()), db.At(s.unlocked())
	as := authz.Actor{UserID: who.ID, Username: who.Username, Address: from}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Bus.Publish(ctx, SignOnFailed{Stamp: as.Stamp(s.Now())}); err != nil {
			return err
		}
		if who.ID == 0 {
			_, err := db.InsertRow(ctx, s.DB, "unknown_sign_ons", db.Values{
				"day": now.UTC().Format(time.DateOnly), "attempts": 1,
			}, "ON CONFLICT (day) DO UPDATE SET attempts = unknown_sign_ons.attempts + 1")
			return err
		}
		const count = "CASE WHEN locked_at IS NULL THEN failed_attempts + 1 ELSE 1 END"
		at, err := db.Get[*db.Time](ctx, s.DB, `UPDATE users SET
				failed_attempts = CASE WHEN locked_at > ? THEN failed_attempts ELSE `+count+` END,
				locked_at = CASE WHEN locked_at > ? THEN locked_at WHEN `+count+` >= ? THEN ? ELSE NULL END
			WHERE id = ? RETURNING locked_at`, over, over, s.maxAttempts(), now, who.ID)
		if errors.Is(err, db.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil || at == nil || s.locked(who.LockedAt) {
			return err
		}
		return s.Bus.Publish(ctx, AccessLocked{Stamp: authz.System().Stamp(s.Now()), UserID: who.ID, Username: who.Username})
	})
	if err != nil {
		return fmt.Errorf("count failed sign-on: %w", err)
	}
	return nil
}

func (s *Service) clearFailures(ctx context.Context, id authz.UserID) error {
	row := s.userAt(id)
	row.Now = nil
	_, err := db.Update(ctx, s.DB, row, func(_ context.Context, u *userRow) error {
		u.FailedAttempts, u.LockedAt = 0, nil
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("clear failed sign-ons: %w", err)
	}
	return nil
}

// Unlock ends the time in which an account takes no password. Only administrators may.
func (s *Service) Unlock(ctx context.Context, as authz.Actor, id authz.UserID) (*User, error) {
	u, err := s.moderated(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if u.FailedAttempts == 0 && u.LockedAt == nil {
		return u, nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.clearFailures(ctx, id); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AccessUnlocked{UserID: id, Username: u.Username, Stamp: as.Stamp(s.Now())})
	})
	if err != nil {
		return nil, fmt.Errorf("unlock user: %w", err)
	}
	return s.load(ctx, "u.id = ?", id)
}

// WithoutPassword returns those of some people who have no password: a link has to be
// handed over to them, or another password made. It is for administrators.
func (s *Service) WithoutPassword(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]bool, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	out := map[authz.UserID]bool{}
	if len(ids) == 0 {
		return out, nil
	}
	marks, args := db.Marks(ids)
	found, err := db.Select[authz.UserID](ctx, s.DB,
		"SELECT id FROM users WHERE password_hash = '' AND user_type = 'human' AND id IN ("+marks+") ORDER BY id", args...)
	if err != nil {
		return nil, fmt.Errorf("read users without password: %w", err)
	}
	for _, id := range found {
		out[id] = true
	}
	return out, nil
}
