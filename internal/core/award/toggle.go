package award

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Toggle takes the actor's reaction with an emoji back, or reacts where there is none. The reaction
// is nil where it was taken back.
func (s *Service) Toggle(ctx context.Context, as authz.Actor, to noteable.Target, name string) (*Award, error) {
	if err := s.Policy.Require(ctx, as, authz.AwardEmoji, to.Subject); err != nil {
		return nil, err
	}
	var made *Award
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		id, err := s.own(ctx, as, to, name)
		made = nil
		if errs.Is(err, errs.Unprocessable) {
			made, err = s.Add(ctx, as, to, name)
			return err
		}
		if err != nil {
			return err
		}
		return s.Remove(ctx, as.Unconditional(), to, id)
	})
	return made, err
}

// RemoveByName takes the actor's reaction with an emoji back. It requires AwardEmoji; where there is no
// such reaction it is Unprocessable.
func (s *Service) RemoveByName(ctx context.Context, as authz.Actor, to noteable.Target, name string) error {
	if err := s.Policy.Require(ctx, as, authz.AwardEmoji, to.Subject); err != nil {
		return err
	}
	id, err := s.own(ctx, as, to, name)
	if err != nil {
		return err
	}
	return s.Remove(ctx, as, to, id)
}

// own finds the actor's reaction with an emoji; without one it is Unprocessable.
func (s *Service) own(ctx context.Context, as authz.Actor, to noteable.Target, name string) (ID, error) {
	if canonical, ok := Canonical(name); ok {
		name = canonical
	}
	id, err := db.Get[ID](ctx, s.DB, "SELECT id FROM award_emoji WHERE awardable_type = ? AND awardable_id = ? AND name = ? AND user_id = ?",
		to.Kind, to.ID, name, as.UserID)
	if errors.Is(err, db.ErrNotFound) {
		return 0, errs.Sentences(errs.Unprocessable, fmt.Sprintf("User has not awarded emoji of type %s on the awardable", name))
	}
	if err != nil {
		return 0, fmt.Errorf("find own award: %w", err)
	}
	return id, nil
}
