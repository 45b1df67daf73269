package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// undecided says why a password was not looked at.
func undecided(err error) error {
	if errors.Is(err, secret.ErrBusy) {
		return &errs.Error{Kind: errs.Unavailable, Message: "Too many sign-ons at once. Please try again later.", Err: err}
	}
	return fmt.Errorf("verify password: %w", err)
}

// Admit returns the actor behind an account that proved itself without a token or a
// password, such as by an SSH key, and notes that the user was active. NotFound is the
// answer where there is no such user, Forbidden with the reason where it may not act.
func (s *Service) Admit(ctx context.Context, id authz.UserID) (authz.Actor, error) {
	r, err := db.Get[Standing](ctx, s.DB, "SELECT "+StandingColumns+fromUsers+" WHERE u.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return authz.Actor{}, errs.Missing("User")
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("read user: %w", err)
	}
	if err := s.Barred(&r); err != nil {
		return authz.Actor{}, err
	}
	s.active.Note(id, s.Now())
	return authz.Actor{
		UserID: id, Username: r.Username, Admin: r.Admin, Auditor: r.Auditor, External: r.External, Bot: r.Type != Human,
	}, nil
}

// ActorFor returns the actor that a user is, with every right of the account: ref is an id
// or a username. It asks for no permission; the server's own commands use it.
// NotFound is the answer where there is no such user.
func (s *Service) ActorFor(ctx context.Context, ref string) (authz.Actor, error) {
	condition, arg := "u.username_fold = ?", any(db.Fold(ref))
	if digits := strings.TrimPrefix(ref, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		id, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			id = 0 // beyond every id there is
		}
		condition, arg = "u.id = ?", any(id)
	}
	u, err := s.load(ctx, condition, arg)
	if err != nil {
		return authz.Actor{}, err
	}
	return u.Actor(), nil
}

// StandIn is ActorFor for a user who wants to act as another user: who may not act at all is
// Forbidden with the reason.
func (s *Service) StandIn(ctx context.Context, ref string) (authz.Actor, error) {
	as, err := s.ActorFor(ctx, ref)
	if err != nil {
		return authz.Actor{}, err
	}
	r, err := db.Get[Standing](ctx, s.DB, "SELECT "+StandingColumns+fromUsers+" WHERE u.id = ?", as.UserID)
	if errors.Is(err, db.ErrNotFound) {
		return authz.Actor{}, errs.Missing("User")
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("read user: %w", err)
	}
	if err := s.Barred(&r); err != nil {
		return authz.Actor{}, err
	}
	return as, nil
}
